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
  json memory(const std::string& arguments) { return weft_json("memory " + arguments); }
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

TEST_F(MemoryTest, NamesTheDistanceThatBinds) {
  // One burst again and again: reads of one bank group.
  write("one.trc", trace(20'000, 0));
  const json one = memory("../one.trc");
  EXPECT_EQ(one["bound_by"], "tCCD long");
  EXPECT_GT(one["busy"]["ccdl"], 0.85);
  EXPECT_GT(one["row_hit_rate"], 0.99);
  EXPECT_EQ(memory("../stream.trc --set device.timing.ccds=4 --set device.timing.ccdl=4")["bound_by"], "tCCD short");

  // Each bank in turn, a long time: one at any time, of 32.
  std::string banks;
  for (int i = 0; i < 32'000; ++i) banks += "R " + std::to_string((i / 1000 * 4096LL) + (i % 1000 * 65536LL)) + "\n";
  write("banks.trc", banks);
  const json turns = memory("../banks.trc");
  EXPECT_EQ(turns["bound_by"], "tRC");
  EXPECT_GT(turns["busy"]["bank"], 0.75);

  // Rows of one bank, as far apart as a timing makes them.
  EXPECT_EQ(memory("../conflict.trc --set device.timing.ras=100")["bound_by"], "tRAS and tRP");
  EXPECT_EQ(memory("../conflict.trc --set device.timing.rtp=100")["bound_by"], "tRTP and tRP");
  std::string written;
  for (int i = 0; i < 8000; ++i) written += "W " + std::to_string(i * 65536LL) + "\n";
  write("written.trc", written);
  EXPECT_EQ(memory("../written.trc --set device.timing.wr=100")["bound_by"], "tWR and tRP");

  // Refreshes of one bank after the other take their share of time, four times as often when hot.
  const std::string per_bank = "../stream.trc --device hbm4 --set controller.refresh=per-bank";
  const double warm = memory(per_bank)["busy"]["refresh"];
  const double hot = memory(per_bank + " --set device.temperature=100")["busy"]["refresh"];
  EXPECT_GT(warm, 0.02);
  EXPECT_NEAR(hot / warm, 4, 0.5);
}

TEST_F(MemoryTest, FindsNothingThatBindsAFewRequests) {
  write("write.trc", "W 0\n");
  const json one = memory("../write.trc");
  EXPECT_EQ(one["bound_by"], "latency");
  for (const auto& [name, share] : one["busy"].items()) EXPECT_LE(share, 1) << name;
  // Nothing was read: there is no latency of it.
  for (const auto& [name, latency] : one["read_latency_ns"].items()) EXPECT_TRUE(latency.is_null()) << name;
}

TEST_F(MemoryTest, TakesTheStacksOfAMemoryAndOfAnAccelerator) {
  const json part = memory("../stream.trc --device hbm3-80g");
  EXPECT_NEAR(part["peak_gb_per_s"], 3350, 5);
  EXPECT_EQ(part["capacity_bytes"], 80LL << 30);
  EXPECT_EQ(part["config"]["stacks"], 5);
  EXPECT_EQ(part["config"]["controller"]["refresh"], "per-bank");
  json accelerator = memory("../stream.trc --device h100-sxm");
  EXPECT_EQ(accelerator["config"], part["config"]);
  EXPECT_EQ(accelerator["counters"], part["counters"]);
  EXPECT_EQ(memory("../stream.trc --device h100-sxm --set stacks=1 --set controller.ecc.mode=inline")["capacity_bytes"],
            15LL << 30);
}

TEST_F(MemoryTest, AHashSpreadsStridesOverBanks) {
  write("stride.trc", trace(8000, 8192));
  for (const char* file : {"../conflict.trc", "../stride.trc"}) {
    const double plain = memory(file)["bandwidth_gb_per_s"];
    const json mixed = memory(std::string(file) + " --set hash=row");
    EXPECT_GT(mixed["bandwidth_gb_per_s"], 2.5 * plain) << file;
    EXPECT_EQ(mixed["hash"], "pseudo_channel^row:0,bank_group^row:1,bank^row:3,stack_id^row:5");
  }
  EXPECT_NEAR(memory("../stream.trc --set hash=row")["bandwidth_gb_per_s"],
              memory("../stream.trc")["bandwidth_gb_per_s"], 1);
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

TEST_F(MemoryTest, AnIdleLeadDoesNotMatter) {
  const auto late = [&](std::int64_t lead_ns) {
    std::string text;
    for (int i = 0; i < 1000; ++i) {
      text += (i % 5 == 4 ? "W " : "R ") + std::to_string(i * 32) + " " + std::to_string(lead_ns + i) + ".250\n";
    }
    write("late.trc", text);
    json result = memory("../late.trc");
    result.erase("simulator");
    return result;
  };
  const json early = late(0);
  EXPECT_LT(early["energy"]["watts"], 1);
  EXPECT_EQ(late(1'000'000), early);    // many refreshes
  EXPECT_EQ(late(999'999'999), early);  // and no multiple of a clock
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
       {"--device: expected one of ddr4, ", "hbm2e", "hbm4, of kind dram; ", "hbm3-80g, ",
        "of kind hbm; or an accelerator", "got \"hbm9\""}},
      {"part of another kind", "memory ../stream.trc --device ndr-400g", {"\"ndr-400g\", which is of kind link"}},
      {"memory that says nothing of stacks",
       "memory ../stream.trc --device gddr6-11g",
       {"--device: expected a memory whose part says what it is made of, gddr6-11g does not (its stacks.count is 0)"}},
      {"refresh that the device lacks",
       "memory ../stream.trc --device ddr4 --set controller.refresh=per-bank",
       {"controller.refresh: expected all-bank or off, since the device has no per-bank refresh"}},
      {"hash of nothing", "memory ../stream.trc --set hash=columns", {"hash: expected off, row, or a list of channel"}},
      {"field as a platform names it",
       "memory ../stream.trc --device h100-sxm --set stacks.count=6",
       {"--set: expected stacks=NUMBER, stack_interleave, mapping, hash, or a field of device or controller",
        "got \"stacks.count=6\""}},
      {"and with all of its path",
       "memory ../stream.trc --device h100-sxm --set accelerator.hbm.stacks.count=6",
       {"--set: expected stacks=NUMBER, ", "got \"accelerator.hbm.stacks.count=6\""}},
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

/// Refreshes go on meanwhile and are counted, in no time.
TEST_F(MemoryTest, LeavesOutLongPauses) {
  const auto pause = [&](const std::string& ns) {
    write("pause.trc", "\xEF\xBB\xBF# with a mark of the byte order\nR 0x0 0\nR 0x40 " + ns + "\n");
    return memory("../pause.trc");
  };
  const json brief = pause("1000000");
  const json second = pause("1000000000");
  const json longest = pause("1000000000000");
  EXPECT_EQ(longest["reads"], 2);
  EXPECT_DOUBLE_EQ(longest["time_us"].get<double>() - second["time_us"].get<double>(), 999e6);
  const auto refreshes = [](const json& run) {
    return run["counters"]["bank_refreshes"].get<double>() + run["counters"]["refreshes"].get<double>();
  };
  EXPECT_GT(refreshes(brief), 100);
  // In whole rounds, of which the end of a run cuts one.
  EXPECT_NEAR(refreshes(second) / refreshes(brief), 1000, 5);
  EXPECT_NEAR(refreshes(longest) / refreshes(second), 1000, 0.1);
  EXPECT_NEAR(longest["energy"]["refresh_uj"].get<double>() / second["energy"]["refresh_uj"].get<double>(), 1000, 0.1);
}

TEST_F(MemoryTest, NamesTheOptionThatIsWrong) {
  expect_refused({"mapping", "memory ../stream.trc --mapping row,column", {"--mapping: expected"}});
  expect_refused({"mapping by --set", "memory ../stream.trc --set mapping=row,column", {"--set: mapping: expected"}});
}

}  // namespace
}  // namespace weft
