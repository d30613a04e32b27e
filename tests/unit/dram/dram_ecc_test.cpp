// SPDX-License-Identifier: Apache-2.0
// Error correction in the controller: what it reserves, which commands it adds, and what they cost.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hw/core/random.h"
#include "hw/memory/dram/replay.h"
#include "tests/support/benches/dram.h"
#include "tests/support/benches/dram_bench.h"

namespace weft::dram {
namespace {

MemoryConfig with_ecc(const std::string& part, EccMode mode) {
  MemoryConfig config = test::memory_of(part);
  config.controller.ecc.mode = mode;
  return config;
}

class DramEcc : public testing::TestWithParam<std::string> {};

TEST_P(DramEcc, BreaksNoRuleAndLosesNothing) {
  std::uint64_t seed = 1;
  for (const EccMode mode : {EccMode::kSideband, EccMode::kInline}) {
    for (const PagePolicy page : {PagePolicy::kOpen, PagePolicy::kClosed, PagePolicy::kAdaptive}) {
      for (const int cache : {1, 32}) {
        SCOPED_TRACE(testing::Message() << name_of(mode) << " page " << name_of(page) << " cache " << cache);
        MemoryConfig config = with_ecc(GetParam(), mode);
        config.controller.page = page;
        config.controller.ecc.cache = cache;
        config.controller.ecc.covers = seed % 3 == 0 ? 3 : 15;
        config.controller.ecc.latency = Time(seed % 2 == 0 ? 3'000 : 0);
        const bool all_bank = seed % 2 == 0 || config.device.timing.rfcpb == 0;
        config.controller.refresh = all_bank ? RefreshPolicy::kAllBank : RefreshPolicy::kPerBank;
        config.controller.write_queue = seed % 4 == 0 ? 2 : 32;
        config.controller.read_queue = seed % 5 == 0 ? 2 : 64;
        config.device.geometry.channels = seed % 2 == 0 ? 2 : 1;
        test::DramBench bench(config);
        test::stress(bench, seed++, 2000, 0.3);
        ASSERT_FALSE(HasFailure());
        const Counters counters = bench.memory.counters();
        EXPECT_GT(counters.modified, 0);
        EXPECT_EQ(counters.check_reads > 0, mode == EccMode::kInline);
        EXPECT_EQ(counters.check_writes > 0, mode == EccMode::kInline);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, DramEcc, testing::Values("hbm2", "hbm3", "gddr6", "ddr4"),
                         [](const auto& each) { return each.param; });

struct Replayed {
  Counters counters;
  double bytes_per_second = 0;
  double latency_ns = 0;
};

/// `next` says each request's address, as a multiple of bursts.
template <typename Next>
Replayed replayed(const MemoryConfig& config, int requests, bool write, bool partial, const Next& next) {
  MemorySystem memory(config);
  Replay replay(memory, 64);
  const auto burst = static_cast<std::uint64_t>(config.device.geometry.burst.count());
  for (int i = 0; i < requests; ++i) replay.request(write, next(i) * burst % memory.map().capacity(), partial);
  replay.finish();
  return {memory.counters(), replay.bytes_per_second(), replay.read_latency().mean_ps() * 1e-3};
}
std::uint64_t in_order(int i) {
  return static_cast<std::uint64_t>(i);
}

TEST(DramEccCost, StreamsHaveOneMoreBurstForThoseThatItCovers) {
  for (const int covers : {3, 15}) {
    MemoryConfig config = with_ecc("gddr6", EccMode::kInline);
    config.controller.ecc.covers = covers;
    config.controller.refresh = RefreshPolicy::kOff;
    // Whole rows of all banks.
    const int requests = 16 * 64 / (covers + 1) * covers * 8;
    const Replayed reads = replayed(config, requests, false, false, in_order);
    EXPECT_EQ(reads.counters.check_reads, requests / covers);
    EXPECT_EQ(reads.counters.reads, requests + requests / covers);
    const Replayed writes = replayed(config, requests, true, false, in_order);
    EXPECT_EQ(writes.counters.reads, 0);
    EXPECT_EQ(writes.counters.check_writes, requests / covers - config.controller.ecc.cache);  // the last are kept
    config.controller.ecc.mode = EccMode::kOff;
    const Replayed off = replayed(config, requests, false, false, in_order);
    EXPECT_NEAR(reads.bytes_per_second / off.bytes_per_second, covers / (covers + 1.0), 0.03) << covers;
  }
}

TEST(DramEccCost, RandomReadsAreTwiceAsMany) {
  Random random(1, "ecc");
  const auto anywhere = [&random](int) { return random.next() >> 8; };
  const Replayed reads = replayed(with_ecc("gddr6", EccMode::kInline), 4000, false, false, anywhere);
  EXPECT_NEAR(static_cast<double>(reads.counters.check_reads), 4000, 10);
  // In the row that is open for the data.
  EXPECT_NEAR(static_cast<double>(reads.counters.activates), 4000, 40);
}

TEST(DramEccCost, SidebandCostsItsLatencyAlone) {
  MemoryConfig config = with_ecc("hbm3", EccMode::kOff);
  const Replayed off = replayed(config, 20'000, false, false, in_order);
  config.controller.ecc.mode = EccMode::kSideband;
  const Replayed sideband = replayed(config, 20'000, false, false, in_order);
  EXPECT_EQ(sideband.bytes_per_second, off.bytes_per_second);
  EXPECT_EQ(sideband.latency_ns, off.latency_ns);
  EXPECT_EQ(sideband.counters.reads, off.counters.reads);
  EXPECT_EQ(config.capacity(), config.device.geometry.capacity());

  const auto idle = [&config] {
    MemorySystem memory(config);
    Replay replay(memory, 8);
    replay.request(false, std::uint64_t{0});
    replay.finish();
    return replay.read_latency().max();
  };
  const Time before = idle();
  config.controller.ecc.latency = Time(2'000);
  EXPECT_EQ(idle() - before, config.device.timing.clock * 4);  // 2 ns in clocks of 625 ps
}

TEST(DramEccCost, ReservesWhatCheckBitsTake) {
  const MemoryConfig config = with_ecc("gddr6", EccMode::kInline);
  EXPECT_EQ(config.capacity().count(), config.device.geometry.capacity().count() / 16 * 15);
  EXPECT_EQ(MemorySystem(config).map().capacity(), static_cast<std::uint64_t>(config.capacity().count()));
}

/// Notes reads and writes.
class Columns final : public CommandObserver {
 public:
  void on_command(const Command& command) override {
    if (command.kind == CommandKind::kRead || command.kind == CommandKind::kWrite) commands.push_back(command);
  }
  std::vector<Command> commands;
};

TEST(DramEccCost, PartOfABurstIsReadBeforeItIsWritten) {
  for (const EccMode mode : {EccMode::kOff, EccMode::kSideband, EccMode::kInline}) {
    MemoryConfig config = with_ecc("gddr6", mode);
    config.controller.ecc.latency = Time(5'710);
    Columns columns;
    MemorySystem memory(config, &columns);
    Replay replay(memory, 8);
    replay.request(true, std::uint64_t{96}, true);
    replay.finish();
    const Timing& t = config.device.timing;
    if (mode == EccMode::kOff) {
      ASSERT_EQ(columns.commands.size(), 1U);
      continue;
    }
    // Inline, the check bits of the burst as well; they stay in the controller.
    const std::size_t reads = mode == EccMode::kInline ? 2 : 1;
    ASSERT_EQ(columns.commands.size(), reads + 1);
    for (std::size_t i = 0; i < reads; ++i) EXPECT_EQ(columns.commands[i].kind, CommandKind::kRead);
    const Command& last = columns.commands[reads - 1];
    const Command& write = columns.commands.back();
    EXPECT_EQ(write.kind, CommandKind::kWrite);
    EXPECT_EQ(write.column, columns.commands.front().column);
    EXPECT_EQ(write.at, last.at + t.cl + 10 + t.bl);  // when all is back and corrected
    EXPECT_EQ(memory.counters().modified, 1);
  }
}

}  // namespace
}  // namespace weft::dram
