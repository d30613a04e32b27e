// SPDX-License-Identifier: Apache-2.0
// The controller of HBM banks: every command legal, every request served once, every read answered with what was last
// written.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/random.h"
#include "hw/memory/dram/replay.h"
#include "tests/support/benches/dram.h"
#include "tests/support/benches/dram_bench.h"

namespace weft::dram {
namespace {

using test::memory_of;
using test::stress;
using Bench = test::DramBench;
using namespace weft::literals;

class DramStress : public testing::TestWithParam<std::string> {};

TEST_P(DramStress, BreaksNoRuleAndLosesNothing) {
  std::uint64_t seed = 1;
  for (const PagePolicy page : {PagePolicy::kOpen, PagePolicy::kClosed, PagePolicy::kAdaptive}) {
    for (const RefreshPolicy refresh : {RefreshPolicy::kAllBank, RefreshPolicy::kPerBank, RefreshPolicy::kOff}) {
      if (refresh == RefreshPolicy::kPerBank && memory_of(GetParam()).device.timing.rfcpb == 0) continue;
      for (const char* mapping : {"burst", "128B"}) {
        SCOPED_TRACE(testing::Message() << "page " << name_of(page) << " refresh " << name_of(refresh) << " "
                                        << mapping);
        MemoryConfig config = memory_of(GetParam());
        config.mapping = mapping;
        config.controller.page = page;
        config.controller.refresh = refresh;
        config.hash = seed % 3 == 0 ? "row" : "off";
        config.controller.refresh_postpone = static_cast<int>(seed % 3 * 2);
        config.controller.refresh_stagger = seed % 2 == 0;
        config.controller.hit_cap = seed % 2 == 0 ? 2 : 16;
        config.controller.write_queue = seed % 3 == 0 ? 4 : 32;
        config.controller.read_queue = seed % 4 == 0 ? 1 : 64;
        config.device.temperature = seed % 5 == 0 ? 90 : 60;
        config.device.geometry.channels = seed % 2 == 0 ? 2 : 1;
        Bench bench(config);
        stress(bench, seed++, 2000);
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, DramStress, testing::ValuesIn(test::dram_parts()), [](const auto& each) {
  std::string name = each.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// Devices that nobody built: the rules hold for any timing.
TEST(DramController, AnyTimingIsKept) {
  Random random(7, "timing");
  const auto draw = [&random](int least, int most) { return test::draw(random, least, most); };
  for (int i = 0; i < 40; ++i) {
    MemoryConfig config;
    Geometry& g = config.device.geometry;
    g.pseudo_channels = 1 << draw(0, 2);
    g.stack_ids = 1 << draw(0, 2);
    g.bank_groups = 1 << draw(0, 2);
    g.banks = 1 << draw(0, 2);
    g.rows = 1 << draw(1, 6);
    g.columns = 1 << draw(2, 5);
    Timing& t = config.device.timing;
    t.bl = draw(1, 4);
    t.cl = draw(4, 30);
    t.cwl = draw(2, 20);
    t.rcdrd = draw(1, 40);
    t.rcdwr = draw(1, 40);
    t.rp = draw(1, 40);
    t.ras = draw(1, 60);
    t.rc = draw(1, 100);
    t.wr = draw(1, 40);
    t.rtp = draw(1, 20);
    t.ccds = t.bl + draw(0, 2);
    t.ccdl = t.ccds + draw(0, 3);
    t.ccdr = t.bl + draw(0, 3);
    t.rrds = draw(1, 8);
    t.rrdl = t.rrds + draw(0, 4);
    t.faw = draw(1, 60);
    t.wtrs = draw(1, 10);
    t.wtrl = t.wtrs + draw(0, 5);
    t.rtw = std::max(1, t.cl + t.bl - t.cwl) + draw(0, 5);
    t.rfc = draw(50, 400);
    t.refi = draw(2000, 6000);
    t.rfcpb = draw(20, 200);
    t.rrefd = draw(1, 10);
    t.activate_slots = draw(1, 3);
    t.precharge_slots = draw(1, 2);
    t.column_slots = draw(1, 2);
    config.controller.refresh = static_cast<RefreshPolicy>(draw(0, 2));
    config.controller.page = static_cast<PagePolicy>(draw(0, 2));
    SCOPED_TRACE(testing::Message() << "draw " << i);
    // Per-bank refreshes that take longer than there is time for fall behind, as they would.
    if (t.rfcpb + t.rc > t.refi / 2) config.controller.refresh = RefreshPolicy::kAllBank;
    Bench bench(config);
    stress(bench, static_cast<std::uint64_t>(i), 2000);
    ASSERT_FALSE(HasFailure());
  }
}

Clock latency_of_second(MemoryConfig config, std::uint64_t first, std::uint64_t second) {
  config.controller.refresh = RefreshPolicy::kOff;
  MemorySystem memory(config);
  Replay replay(memory, 8);
  replay.request(false, first);
  replay.finish();
  const auto before = std::make_unique<LatencyHistogram>(replay.read_latency());
  const Clock start = 10'000;
  replay.request(false, second, config.device.timing.clock * start);
  replay.finish();
  const double sum = replay.read_latency().mean_ps() * 2 - before->mean_ps();
  return static_cast<Clock>(sum + 0.5) / config.device.timing.clock.count();
}

/// From an idle memory: the sums of the data sheet, and the controller's latency.
TEST(DramController, UnloadedLatencies) {
  for (const std::string& part : test::dram_parts()) {
    const MemoryConfig config = memory_of(part);
    const Timing& t = config.device.timing;
    const MemorySystem memory(config);
    const std::uint64_t next_row = memory.map().address({.row = 1});
    const std::uint64_t next_column = memory.map().address({.column = 1});
    const std::uint64_t next_bank = memory.map().address({.bank = 1});
    const Clock controller = memory.clock_at(config.controller.latency);
    EXPECT_EQ(latency_of_second(config, 0, next_column), controller + t.cl + t.bl) << part;
    EXPECT_EQ(latency_of_second(config, 0, next_bank), controller + t.rcdrd + t.cl + t.bl) << part;
    EXPECT_EQ(latency_of_second(config, 0, next_row), controller + t.rp + t.rcdrd + t.cl + t.bl) << part;
  }
}

TEST(DramController, WritesAreForwardedAndKeepTheirOrder) {
  MemoryConfig config;
  Bench bench(config);
  for (int i = 0; i < 100; ++i) {
    bench.request(true, 64, 0);
    bench.request(false, 64, 0);
    bench.request(false, 128, 0);
    bench.request(true, 128, 0);
  }
  bench.finish();
  EXPECT_GT(bench.memory.counters().forwarded, 0);
}

Counters run(const MemoryConfig& config, int requests, std::uint64_t stride) {
  MemorySystem memory(config);
  Replay replay(memory, 64);
  for (int i = 0; i < requests; ++i) {
    replay.request(false, static_cast<std::uint64_t>(i) * stride % memory.map().capacity());
  }
  replay.finish();
  return memory.counters();
}

TEST(DramController, CountsHitsAndCommands) {
  MemoryConfig config;
  config.controller.refresh = RefreshPolicy::kOff;
  const Counters counters = run(config, 8192, 32);  // 8 rows of each of the banks of a stream
  EXPECT_EQ(counters.reads, 8192);
  EXPECT_EQ(counters.row_hits + counters.row_closed + counters.row_conflicts, counters.reads);
  EXPECT_EQ(counters.activates, 8192 / 32);
  EXPECT_EQ(counters.row_closed, 32);  // each bank once
  EXPECT_EQ(counters.precharges, counters.row_conflicts);
  EXPECT_EQ(counters.refreshes + counters.bank_refreshes + counters.turnarounds, 0);
}

TEST(DramController, ClosedPagesSaveThePrecharge) {
  MemoryConfig config;
  config.controller.refresh = RefreshPolicy::kOff;
  config.controller.page = PagePolicy::kClosed;
  const Counters closed = run(config, 4000, 32 * 1024 + 64);
  EXPECT_EQ(closed.row_conflicts, 0);
  EXPECT_EQ(closed.precharges, 0);
  EXPECT_EQ(closed.auto_precharges, closed.activates);
  // Adaptive learns it, and to leave rows open for a stream.
  config.controller.page = PagePolicy::kAdaptive;
  EXPECT_LT(run(config, 4000, 32 * 1024 + 64).row_conflicts, 400);
  EXPECT_GT(run(config, 4000, 32).row_hits, 3800);
}

/// A stream of hits in one bank while another row of it waits: the cap says how many pass.
TEST(DramController, HitsPassOnlyUpToTheCap) {
  for (const int cap : {1, 4, 64}) {
    MemoryConfig config;
    config.controller.refresh = RefreshPolicy::kOff;
    config.controller.hit_cap = cap;
    MemorySystem memory(config);
    std::uint64_t tag = 0;
    memory.push({{.column = 0, .row = 0}, false, Time(), tag++}, 0);
    memory.push({{.column = 0, .row = 1}, false, Time(), tag++}, 0);
    for (std::uint16_t i = 1; i < 32; ++i) memory.push({{.column = i, .row = 0}, false, Time(), tag++}, 0);
    int before = 0;
    while (memory.waiting() > 0) {
      const PseudoChannel::Served served = memory.step();
      if (!served.any) continue;
      if (served.tag == 1) break;
      ++before;
    }
    EXPECT_EQ(before, 1 + std::min(cap, 31));
  }
}

/// Reads and then writes, all hits of a row once it is open, as the bus served them: "6W 30R 4W".
std::string served_order(const MemoryConfig& config, int reads, int writes) {
  MemorySystem memory(config);
  for (int i = 0; i < reads + writes; ++i) {
    const bool write = i >= reads;
    const auto column = static_cast<std::uint16_t>(write ? i - reads : i);
    const Accept accept =
        memory.push({{.bank = static_cast<std::uint8_t>(write ? 1 : 0), .column = column}, write, Time()}, 0);
    EXPECT_EQ(accept, Accept::kQueued);
  }
  std::string order;
  int count = 0;
  bool writing = false;
  const auto tell = [&] {
    if (count > 0) order += (order.empty() ? "" : " ") + std::to_string(count) + (writing ? "W" : "R");
    count = 0;
  };
  while (memory.waiting() > 0) {
    const PseudoChannel::Served served = memory.step();
    if (!served.any) continue;
    if (served.write != writing) tell();
    writing = served.write;
    ++count;
  }
  tell();
  return order;
}

TEST(DramController, WritesAreDrainedBetweenTheMarks) {
  MemoryConfig config;
  config.controller.refresh = RefreshPolicy::kOff;
  config.controller.write_queue = 20;
  config.controller.write_high = 50;
  config.controller.write_low = 20;
  EXPECT_EQ(served_order(config, 30, 9), "30R 9W");      // not yet
  EXPECT_EQ(served_order(config, 30, 10), "6W 30R 4W");  // from half of the queue to a fifth
  config.controller.write_low = 40;
  EXPECT_EQ(served_order(config, 30, 10), "2W 30R 8W");
  config.controller.write_low = 0;
  EXPECT_EQ(served_order(config, 30, 10), "10W 30R");
  config.controller.write_high = 55;
  EXPECT_EQ(served_order(config, 30, 10), "30R 10W");
  EXPECT_EQ(served_order(config, 30, 11), "11W 30R");
}

/// Times of refreshes by pseudo channel.
struct RefreshTimes final : CommandObserver {
  void on_command(const Command& command) override {
    if (command.kind == CommandKind::kRefresh || command.kind == CommandKind::kRefreshBank) {
      at[command.pseudo_channel].push_back(command.at);
      ++by_bank[command.pseudo_channel][command.bank];
    }
  }
  std::map<int, std::vector<Clock>> at;
  std::map<int, std::map<int, int>> by_bank;
};

RefreshTimes refreshes_of(const MemoryConfig& config, Clock end) {
  RefreshTimes times;
  MemorySystem memory(config, &times);
  while (memory.next() < end) memory.step();
  return times;
}

TEST(DramController, RefreshesAreStaggeredOnRequest) {
  MemoryConfig config = memory_of("hbm2");
  const Clock interval = config.device.timing.refi;
  constexpr Clock kBus = 4;  // they share a row bus
  for (const bool stagger : {false, true}) {
    config.controller.refresh_stagger = stagger;
    RefreshTimes times = refreshes_of(config, 4 * interval);
    ASSERT_EQ(times.at.size(), 2U);
    EXPECT_NEAR(static_cast<double>(times.at[0][0]), static_cast<double>(interval), kBus);
    const Clock apart = times.at[1][0] - times.at[0][0];
    EXPECT_NEAR(static_cast<double>(apart), stagger ? static_cast<double>(interval) / 2 : 0, kBus);
  }
}

/// Each bank once in tREFI, twice when it is hot; evenly, whether there is traffic or not.
TEST(DramController, PerBankRefreshesComeAtTheirRate) {
  for (const int celsius : {60, 90}) {
    MemoryConfig config = memory_of("hbm3");
    config.controller.refresh = RefreshPolicy::kPerBank;
    config.device.temperature = celsius;
    const Clock interval = config.device.timing.refi / (celsius > 85 ? 2 : 1);
    const int banks = config.device.geometry.all_banks();
    RefreshTimes times = refreshes_of(config, 10 * interval + interval / 2);
    for (int i = 0; i < config.device.geometry.pseudo_channels; ++i) {
      EXPECT_NEAR(static_cast<double>(times.at[i].size()), 10.5 * banks, 2) << i;
      EXPECT_EQ(times.by_bank[i].size(), static_cast<std::size_t>(banks));
      for (const auto& [bank, count] : times.by_bank[i]) EXPECT_NEAR(count, 10.5, 1) << i << ' ' << bank;
    }
    RefreshTimes beside;
    MemorySystem memory(config, &beside);
    Replay replay(memory, 64);
    const Time end = config.device.timing.clock * (10 * interval);
    for (std::uint64_t at = 0; replay.elapsed() < end; at += 32) replay.request(false, at % (1U << 28));
    const double intervals = static_cast<double>(memory.clock_at(replay.elapsed())) / static_cast<double>(interval);
    for (auto& [i, all] : beside.at) {
      EXPECT_NEAR(static_cast<double>(all.size()), intervals * banks, 3) << i;
    }
    EXPECT_EQ(beside.at.size(), 2U);
  }
}

TEST(DramController, HeatRefreshesMoreOften) {
  MemoryConfig config;
  const auto refreshes = [&config](int celsius) {
    config.device.temperature = celsius;
    return run(config, 40'000, 32).refreshes;
  };
  const auto cool = static_cast<double>(refreshes(85));
  EXPECT_NEAR(static_cast<double>(refreshes(86)) / cool, 2, 0.3);
  EXPECT_NEAR(static_cast<double>(refreshes(96)) / cool, 5, 1);  // four times as often, and it all takes longer
}

TEST(DramController, SumsEnergy) {
  Device device;
  device.energy = {.activate = 1_pJ,
                   .read = 10_pJ,
                   .write = 100_pJ,
                   .refresh = 1000_pJ,
                   .refresh_bank = 10'000_pJ,
                   .io_per_bit = 500_fJ,
                   .background = Power(2)};
  const Counters counters{.reads = 3, .writes = 2, .activates = 7, .refreshes = 4, .bank_refreshes = 1};
  const EnergyUse use = energy_of(counters, device, Time(1'000'000));
  EXPECT_DOUBLE_EQ(use.activate, 7);
  EXPECT_DOUBLE_EQ(use.read, 30);
  EXPECT_DOUBLE_EQ(use.write, 200);
  EXPECT_DOUBLE_EQ(use.io, 5 * 256 * 0.5);
  EXPECT_DOUBLE_EQ(use.refresh, 14'000);
  EXPECT_DOUBLE_EQ(use.background, 2 * 2e-3 * 1e6);  // two pseudo channels for a microsecond
}

TEST(DramController, Percentiles) {
  const auto histogram = std::make_unique<LatencyHistogram>();
  for (int i = 1; i <= 1000; ++i) histogram->add(Time(i * 1000));
  EXPECT_EQ(histogram->count(), 1000);
  EXPECT_DOUBLE_EQ(histogram->mean_ps(), 500'500);
  EXPECT_EQ(histogram->max(), Time(1'000'000));
  EXPECT_NEAR(static_cast<double>(histogram->percentile(0.5).count()), 500'000, 500);
  EXPECT_NEAR(static_cast<double>(histogram->percentile(0.99).count()), 990'000, 1000);
  EXPECT_EQ(histogram->percentile(1), Time(1'000'000));
}

TEST(DramController, RefusesContradictions) {
  const auto fails = [](auto&& change, const std::string& path) {
    MemoryConfig config;
    change(config);
    try {
      MemorySystem memory(config);
      ADD_FAILURE() << path;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.path(), path);
    }
  };
  fails([](MemoryConfig& c) { c.device.geometry.banks = 3; }, "device.geometry.banks");
  fails([](MemoryConfig& c) { c.device.geometry.stack_ids = 16; }, "device.geometry.banks");
  fails([](MemoryConfig& c) { c.device.timing.ccdl = 1; }, "device.timing.ccdl");
  fails([](MemoryConfig& c) { c.device.timing.ccds = 1; }, "device.timing.ccds");
  fails([](MemoryConfig& c) { c.device.timing.rtw = 1; }, "device.timing.rtw");
  fails([](MemoryConfig& c) { c.device.timing.refi = 200; }, "device.timing.refi");
  fails([](MemoryConfig& c) { c.device.timing.refi = 400, c.device.temperature = 90; }, "device.temperature");
  fails([](MemoryConfig& c) { c.controller.write_low = 80; }, "controller.write_low");
  fails([](MemoryConfig& c) { c.mapping = "row"; }, "mapping");
  fails([](MemoryConfig& c) { c.hash = "columns"; }, "hash");
  fails([](MemoryConfig& c) { c.device.timing.rfcpb = 0, c.controller.refresh = RefreshPolicy::kPerBank; },
        "controller.refresh");
  const auto inline_fails = [&fails](auto&& change, const std::string& path) {
    fails([&](MemoryConfig& c) { c.controller.ecc.mode = EccMode::kInline, change(c); }, path);
  };
  inline_fails([](MemoryConfig& c) { c.controller.ecc.covers = 8; }, "controller.ecc.covers");
  inline_fails([](MemoryConfig& c) { c.controller.ecc.covers = 63; }, "controller.ecc.covers");
  inline_fails([](MemoryConfig& c) { c.controller.read_queue = 1; }, "controller.read_queue");
  inline_fails([](MemoryConfig& c) { c.controller.write_queue = 1; }, "controller.write_queue");
  inline_fails([](MemoryConfig& c) { c.mapping = "offset,column:2,pseudo_channel,bank_group,column,bank,row"; },
               "mapping");
}

}  // namespace
}  // namespace weft::dram
