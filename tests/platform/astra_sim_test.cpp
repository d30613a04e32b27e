// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's own inputs with the results that it gives: all that it finishes must be the same to the nanosecond, and
// what it fails at must end in a result or in a message that says what is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "platforms/config/input_error.h"
#include "platforms/import/astra_sim.h"
#include "tests/support/kernel.h"
#include "traces/csv.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::string error;
};

Outcome run(const fs::path& root, const traces::CsvTable::Row& row) {
  Outcome outcome;
  test::fresh_kernel();
  try {
    astra::System system = astra::read_system(root / row.text("network"), root / row.text("system"));
    astra::read_memory(root / row.text("memory"), system.config.end);
    const auto congestion =
        row.text("congestion") == "aware" ? analytical::Congestion::kAware : analytical::Congestion::kUnaware;
    const bool rendezvous = row.text("extra_options").find("rendezvous-protocol=true") != std::string::npos;
    Dispatcher dispatcher("dispatcher");
    analytical::Network network(dispatcher, system.config.network(), congestion, "congestion", rendezvous);
    dimensions::Workload traces;
    traces.prefix = root / row.text("workload_prefix");
    traces.custom = system.custom;
    if (!row.text("groups").empty()) traces.groups = astra::read_groups(root / row.text("groups"), network.ends());
    const analytical::Replay replay("replay", dispatcher, network, system.config.whole_collectives(), system.config.end,
                                    traces);
    sc_core::sc_start();
    replay.check_finished();
    outcome.first_ns = INT64_MAX;
    for (std::uint32_t e = 0; e < network.ends(); ++e) {
      outcome.first_ns = std::min(outcome.first_ns, replay.finished_at(e).count() / 1000);
      outcome.last_ns = std::max(outcome.last_ns, replay.finished_at(e).count() / 1000);
    }
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  return outcome;
}

TEST(AstraSim, ItsInputsGiveItsResults) {
  const fs::path root = fs::path(WEFT_SOURCE_DIR) / "../shared/astra";
  if (!fs::exists(root))
    GTEST_SKIP() << "ASTRA-sim's files are not beside this clone: " << root
                 << "; analytical_test and import_cli_test check the same arithmetic on inputs of their own";
  // Where it fails or hangs, and why Weft refuses the same input; the others must end.
  const std::map<std::string, std::string> refused = {
      {"inputs_hgx_h100_16gpu_ar1MB_a", "expected one dimension where links are shared"},
      {"nosplit", "preferred-dataset-splits: expected 1 or more, got nothing"},
      {"reduce8", "is a REDUCE: "},
      {"cycle8", "these can never be ready"},
  };
  int equal = 0;
  for (const traces::CsvTable::Row row : traces::CsvTable::read(root / "expected.csv")) {
    const std::string& name = row.text("case");
    SCOPED_TRACE(name);
    const Outcome outcome = run(root, row);
    const auto expected = std::find_if(refused.begin(), refused.end(),
                                       [&](const auto& each) { return name.find(each.first) != name.npos; });
    if (expected != refused.end()) {
      EXPECT_NE(outcome.error.find(expected->second), std::string::npos) << outcome.error;
      continue;
    }
    EXPECT_EQ(outcome.error, "");
    if (row.text("first_finish_ns").empty()) {
      EXPECT_GT(outcome.last_ns, 0);
      continue;
    }
    EXPECT_EQ(std::to_string(outcome.first_ns), row.text("first_finish_ns"));
    EXPECT_EQ(std::to_string(outcome.last_ns), row.text("last_finish_ns"));
    ++equal;
  }
  EXPECT_GE(equal, 157);
}

}  // namespace
}  // namespace weft::platforms
