// SPDX-License-Identifier: Apache-2.0
// The report of a deadlock: causes first, a screen long.
#include "platforms/machine/deadlock.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::platforms {
namespace {

std::vector<std::string> lines(int count, const std::string& before, const std::string& behind) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(before + std::to_string(i) + behind);
  return all;
}

TEST(DeadlockReport, SaysAllOfASmallMachine) {
  const std::vector<std::string> waiting = lines(10, "processor: thread rank ", " waits for a message (7)");
  EXPECT_EQ(
      DeadlockError({}, waiting).what(),
      "deadlock: nothing can happen any more, and this is unfinished:\n  processor: thread rank 0 waits for a "
      "message (7)" +
          [&] {
            std::string rest;
            for (std::size_t i = 1; i < waiting.size(); ++i) rest += "\n  " + waiting[i];
            return rest;
          }());
}

TEST(DeadlockReport, IsAScreenLongOfALargeOne) {
  std::vector<std::string> all = lines(1024, "processor: thread rank ", " waits for a message (7)");
  for (std::string& line :
       lines(512, "nic", ": queue pair 3 to end 1 has 2 unfinished work requests, first a write of 2KiB")) {
    all.push_back(std::move(line));
  }
  all.emplace_back("network.leaf0: 17 packets wait for an output");
  const DeadlockError error(lines(30, "nic", ": queue pair 0 to end 1 stands in error: retries ran out after 3"), all);
  const std::string text = error.what();
  EXPECT_TRUE(text.starts_with("nic0: queue pair 0 to end 1 stands in error: retries ran out after 3\n")) << text;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 28) << text;
  for (const char* part :
       {"nic9: queue pair", "and 20 more of these", "thread rank 0 waits", "nic0: queue pair 3 to end 1 has 2",
        "network.leaf0: 17 packets wait for an output",
        "and 1527 more; of all 1537:", "\n  1024 x thread rank * waits for a message\n",
        "\n  512 x queue pair * to end * has * unfinished work requests\n", "\n  1 x * packets wait for an output"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("nic10: queue pair"), std::string::npos);
  // What a job says comes between the causes and what is unfinished.
  const std::string with_job = error.text({"rank 3 has under way SEND 7"});
  EXPECT_LT(with_job.find("retries ran out"), with_job.find("rank 3 has under way"));
  EXPECT_LT(with_job.find("rank 3 has under way"), with_job.find("deadlock: "));
}

}  // namespace
}  // namespace weft::platforms
