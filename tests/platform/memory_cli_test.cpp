// SPDX-License-Identifier: Apache-2.0
// weft memory. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;

/// Reads of neighbouring bursts; of a row each with a stride of the row's bits in hbm3's default mapping.
std::string trace(int requests, std::int64_t stride) {
  std::string text;
  for (int i = 0; i < requests; ++i) text += "R " + std::to_string(i * stride) + "\n";
  return text;
}

class MemoryTest : public CliTest {
 protected:
  MemoryTest() {
    write("stream.trc", trace(8000, 32));
    write("conflict.trc", trace(500, 1 << 16));
  }
  json memory(const std::string& arguments) {
    const Ran ran = weft("memory " + arguments + " --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  }
};

TEST_F(MemoryTest, PrintsWhatBoundsATrace) {
  const Ran text = weft("memory ../stream.trc");
  ASSERT_EQ(text.code, 0) << text.err;
  for (const char* part : {"hbm3", "8000 reads, 0 writes", "GB/s of 51.20", "data bus", "read latency", "row hits",
                           "pJ/bit", "requests/s"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
  EXPECT_TRUE(nothing_written());

  json stream = memory("../stream.trc");
  EXPECT_EQ(stream["reads"], 8000);
  EXPECT_GT(stream["bandwidth_gb_per_s"], 44);
  EXPECT_GT(stream["row_hit_rate"], 0.9);
  EXPECT_EQ(stream["bound_by"], "data bus");
  EXPECT_LE(stream["read_latency_ns"]["p50"], stream["read_latency_ns"]["p99"]);
  EXPECT_LE(stream["read_latency_ns"]["p99"], stream["read_latency_ns"]["max"]);
  double sum = 0;
  for (const char* part : {"activate_uj", "read_uj", "write_uj", "io_uj", "refresh_uj", "background_uj"}) {
    sum += stream["energy"][part].get<double>();
  }
  EXPECT_NEAR(stream["energy"]["total_uj"], sum, 1e-9 * sum);
  EXPECT_EQ(stream["config"]["device"]["timing"]["clock"], "625ps");
  json again = memory("../stream.trc");
  stream.erase("simulator");
  again.erase("simulator");
  EXPECT_EQ(stream, again);

  std::string mixed;
  for (int i = 0; i < 8000; ++i) mixed += (i % 48 < 32 ? "R " : "W ") + std::to_string(i * 32) + "\n";
  write("mixed.trc", mixed);
  const json turning = memory("../mixed.trc");
  EXPECT_GT(turning["busy"]["turnaround"], 0.05);
  EXPECT_EQ(turning["bound_by"], "data bus");
  EXPECT_EQ(stream["busy"]["turnaround"], 0);

  const json conflict = memory("../conflict.trc");
  EXPECT_EQ(conflict["bound_by"], "tRC");
  EXPECT_LT(conflict["bandwidth_gb_per_s"], 0.8);
}

TEST_F(MemoryTest, TakesOtherDevicesAndFields) {
  EXPECT_NEAR(memory("../stream.trc --device hbm2 --set controller.refresh=off")["bandwidth_gb_per_s"], 32, 0.3);
  EXPECT_EQ(memory("../stream.trc --set controller.page=closed")["counters"]["row_conflicts"], 0);
  // One at a time: all of its latency is the memory's.
  const json one = memory("../conflict.trc --outstanding 1 --set controller.refresh=off");
  EXPECT_NEAR(one["read_latency_ns"]["p50"], 50, 2);
  EXPECT_EQ(memory("../stream.trc --outstanding 1")["bound_by"], "latency");
  const json wide = memory("../stream.trc --set device.geometry.channels=16");
  EXPECT_GT(wide["bandwidth_gb_per_s"], 300);
  EXPECT_EQ(memory("../stream.trc --mapping 128B")["mapping"],
            "offset:5,column:2,pseudo_channel:1,bank_group:2,column:3,bank:2,stack_id:1,row:14");
}

TEST_F(MemoryTest, KeepsTimesAndRates) {
  write("timed.trc", "# two reads\nR 0 100\nW 0x40 200.5\nR 0x80 1000\n");
  const json timed = memory("../timed.trc");
  EXPECT_NEAR(timed["time_us"], 0.9 + 0.035, 0.01);
  EXPECT_EQ(timed["counters"]["writes"], 1);
  const json slow = memory("../stream.trc --rate 2GB/s");
  EXPECT_NEAR(slow["bandwidth_gb_per_s"], 2, 0.01);
  EXPECT_EQ(slow["bound_by"], "latency");
}

TEST_F(MemoryTest, RefusesBadInput) {
  write("kind.trc", "R 0\nX 1\n");
  write("far.trc", "R 0\nR 0x40000000\n");
  write("back.trc", "R 0 5\nR 0 4\n");
  write("empty.trc", "# nothing\n");
  const std::vector<BadInput> cases = {
      {"no trace", "memory", {"trace"}},
      {"trace absent", "memory nofile.trc", {"nofile.trc: expected a trace of memory requests"}},
      {"neither read nor write", "memory ../kind.trc", {"../kind.trc:2: expected R, W or M", "X 1"}},
      {"address beyond", "memory ../far.trc", {"../far.trc:2: expected an address below 1073741824"}},
      {"time runs back", "memory ../back.trc", {"../back.trc:2: expected a time that is not before"}},
      {"nothing in it", "memory ../empty.trc", {"../empty.trc: expected at least one request"}},
      {"unknown device",
       "memory ../stream.trc --device hbm9",
       {"device: expected a part of kind dram", "hbm2e", "hbm9"}},
      {"part of another kind", "memory ../stream.trc --device hbm3-80g", {"of kind dram", "which is of kind hbm"}},
      {"unknown field", "memory ../stream.trc --set controller.pages=open", {"controller.pages", "page"}},
      {"number with a unit missing", "memory ../stream.trc --set device.timing.clock=1", {"device.timing.clock"}},
      {"contradiction",
       "memory ../stream.trc --set device.timing.ccdl=1",
       {"device.timing.ccdl: expected at least ccds"}},
      {"no power of two",
       "memory ../stream.trc --set device.geometry.banks=3",
       {"banks: expected a power of two", "got 3"}},
      {"unknown field of an address", "memory ../stream.trc --mapping offset,rov", {"mapping: expected", "rov"}},
      {"mapping too short",
       "memory ../stream.trc --mapping offset,row",
       {"mapping: expected 1 bits of pseudo_channel"}},
      {"rate without unit", "memory ../stream.trc --rate 5", {"--rate: expected a rate", "\"5\""}},
      {"no rate", "memory ../stream.trc --rate 1bps", {"--rate: expected a rate of at least 1Mbps"}},
      {"nothing outstanding", "memory ../stream.trc --outstanding 0", {"--outstanding"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

}  // namespace
}  // namespace weft
