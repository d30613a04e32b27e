// SPDX-License-Identifier: Apache-2.0
// Waveforms of models: changes in any order, clocks that stand still, scopes.
#include "platforms/machine/waves/wave_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <system_error>

#include "hw/fabric/link_waves.h"
#include "tests/support/vcd.h"
#include "traces/vcd/sampler.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;

/// Tells changes of later times than its own, as models do.
class Teller final : public sc_core::sc_module, public EventTarget {
 public:
  Teller(sc_core::sc_module_name name, Dispatcher& dispatcher) : sc_module(name), dispatcher_(dispatcher) {
    dispatcher.attach(*this, this->name());
  }
  void start_of_simulation() override {
    for (std::uint32_t i = 0; i < kEvents; ++i) dispatcher_.post(Time(1000LL * i), *this, 1, i);
  }
  void on_event(Time now, std::uint32_t /*tag*/, std::uint64_t data) override {
    // Each tells of a time up to 7 ns ahead: 7, 6, ... 0, 7, ...
    waves->set(now + Time(1000 * static_cast<std::int64_t>(7 - data % 8)), pin, data);
    waves->add(now, sum, 2);
    waves->add(now + 500_ps, sum, -1);
  }
  static constexpr std::uint32_t kEvents = 40'000;
  WaveFile* waves = nullptr;
  Waves::Pin pin;
  Waves::Pin sum;

 private:
  Dispatcher& dispatcher_;
};

class WaveFileTest : public test::VcdTest {};

TEST_F(WaveFileTest, PutsChangesInOrder) {
  Dispatcher dispatcher("dispatcher");
  Teller teller("teller", dispatcher);
  const std::string file = folder_ / "order.vcd";
  WaveFile waves(file, {"a"}, dispatcher);
  teller.waves = &waves;
  teller.pin = waves.pin("a.value", 32);
  teller.sum = waves.pin("a.sum", 32);
  sc_core::sc_start();
  waves.close();
  vcd::Reader reader(file);
  std::uint64_t before = 0;
  std::uint64_t sums = 0;
  std::string sum;
  std::vector<std::pair<std::uint64_t, std::string>> values;
  for (vcd::Change change; reader.next(change);) {
    EXPECT_GE(change.time, before);
    before = change.time;
    if (change.section != vcd::Section::kNone) continue;
    const std::string& name = reader.header().signal_of(change.net).name;
    if (name == "a.value" && change.time >= 7'000) values.emplace_back(change.time, std::string(change.value));
    if (name == "a.sum") ++sums;
    if (name == "a.sum") sum = change.value;
  }
  // Eight tell of each time that is 7 modulo 8, of which the last one told counts.
  ASSERT_EQ(values.size(), Teller::kEvents / 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i].first, 8000 * i + 7000);
    EXPECT_EQ(std::stoull(values[i].second, nullptr, 2), 8 * i + 7);
  }
  EXPECT_EQ(sums, 2 * Teller::kEvents);
  EXPECT_EQ(std::stoull(sum, nullptr, 2), Teller::kEvents);
}

TEST_F(WaveFileTest, ClocksRunWhereTheyAreNeeded) {
  Dispatcher dispatcher("dispatcher");
  const auto edges_of = [&](bool free) {
    const std::string file = folder_ / "clocks.vcd";
    WaveFile waves(file, {"*"}, dispatcher, free);
    const Waves::Clock fast = waves.clock("a.clk", 1000_MHz);
    const Waves::Clock same = waves.clock("b.clk", 1000_MHz);
    const Waves::Clock slow = waves.clock("c.clk", 300_MHz);
    waves.run(fast, 2_ns, 3_ns);
    waves.run(same, 10_ns, 11_ns);
    waves.run(fast, 3_ns, 4_ns);
    waves.run(slow, 0_ns, 7_ns);
    waves.hold(fast, 20_ns);
    waves.hold(same, 21_ns);
    waves.release(fast, 22_ns);
    waves.release(same, 23_ns);
    waves.close(30_ns);
    std::vector<std::string> all;
    for (const char* name : {"b.clk", "c.clk"}) {
      vcd::Sampler sampler(file, {name, "", false}, {});
      std::string times;
      while (sampler.next()) times += std::to_string(sampler.time()) + " ";
      all.push_back(times);
    }
    return all;
  };
  EXPECT_EQ(edges_of(false),
            (std::vector<std::string>{"2000 3000 4000 10000 11000 20000 21000 22000 23000 ", "3333 6667 "}));
  const std::vector<std::string> free = edges_of(true);
  EXPECT_EQ(free[1], "3333 6667 10000 13333 16667 20000 23333 26667 30000 ");
  EXPECT_EQ(std::count(free[0].begin(), free[0].end(), ' '), 30);
}

TEST_F(WaveFileTest, ClocksOfAnyFrequencyRunInAnyOrder) {
  Dispatcher dispatcher("dispatcher");
  const std::string file = folder_ / "clocks.vcd";
  WaveFile waves(file, {"*"}, dispatcher);
  const std::vector<Frequency> frequencies = {1000_MHz, 300_MHz, Frequency(1'711'111'111)};
  std::vector<std::set<std::int64_t>> expected(frequencies.size());
  std::mt19937 random(7);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const ClockEdges edges(frequencies[i]);
    const Waves::Clock clock = waves.clock("c" + std::to_string(i), frequencies[i]);
    for (int span = 0; span < 60; ++span) {
      const Time from(static_cast<std::int64_t>(random() % 1'000'000));
      const Time to = from + Time(static_cast<std::int64_t>(random() % 20'000));
      waves.run(clock, from, to);
      for (std::int64_t edge = std::max<std::int64_t>(1, edges.from(from)); edges.at(edge) <= to; ++edge) {
        expected[i].insert(edges.at(edge).count());
      }
    }
  }
  waves.close();
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    vcd::Sampler sampler(file, {"c" + std::to_string(i), "", false}, {});
    std::set<std::int64_t> found;
    while (sampler.next()) found.insert(static_cast<std::int64_t>(sampler.time()));
    EXPECT_EQ(found, expected[i]) << i;
  }
}

TEST_F(WaveFileTest, LinksKeepUpWithSmallPackets) {
  Dispatcher dispatcher("dispatcher");
  for (const Rate rate : {100_Gbps, 400_Gbps, 800_Gbps, 3600_Gbps}) {
    SCOPED_TRACE(rate.count());
    const std::string file = folder_ / "link.vcd";
    WaveFile waves(file, {"*"}, dispatcher);
    fabric::LinkConfig config;
    config.rate = rate;
    config.flow_control = fabric::FlowControl::kLossy;
    fabric::LinkWaves link(waves, "l", config);
    Packet packet{};
    packet.wire_bytes = 66;
    const Time length = transfer_time(Bytes(66), rate);
    constexpr std::uint32_t kPackets = 1000;
    for (; packet.psn < kPackets; ++packet.psn) link.packet(packet, packet.wire_bytes, length * packet.psn, length);
    waves.close();
    vcd::Sampler sampler(file, {"l.clk", "", false}, {"l.valid", "l.ready", "l.last", "l.psn"});
    std::uint32_t packets = 0;
    std::uint64_t last = 0;
    while (sampler.next()) {
      if (sampler.value(0) != "1" || sampler.value(1) != "1" || sampler.value(2) != "1") continue;
      EXPECT_EQ(std::stoull(std::string(sampler.value(3)), nullptr, 2), packets++);
      last = sampler.time();
    }
    EXPECT_EQ(packets, kPackets);
    EXPECT_LE(last, static_cast<std::uint64_t>((length * kPackets).count()) + 2'000);
  }
}

/// The thread that writes fails, and whoever tells is told.
TEST_F(WaveFileTest, ThrowsWhatTheDiskRefuses) {
  Dispatcher dispatcher("dispatcher");
  Teller teller("teller", dispatcher);
  WaveFile other(folder_ / "other.vcd", {"a"}, dispatcher);
  teller.waves = &other;
  teller.pin = other.pin("a.value", 32);
  teller.sum = other.pin("a.sum", 32);
  sc_core::sc_start();
  const std::filesystem::path file = folder_ / "full.vcd";
  std::filesystem::create_symlink("/dev/full", file);
  {
    WaveFile waves(file, {"a"}, dispatcher);
    const Waves::Pin pin = waves.pin("a.value", 32);
    const auto tell = [&] {
      for (std::uint32_t i = 1; i < 2'000'000; ++i) waves.set(Time(10LL * i), pin, i);
    };
    EXPECT_THROW(tell(), std::system_error);
    EXPECT_THROW(waves.close(), std::system_error);
  }
  EXPECT_TRUE(std::filesystem::is_symlink(file));
}

TEST_F(WaveFileTest, WritesBytesAndChoosesScopes) {
  Dispatcher dispatcher("dispatcher");
  const std::string file = folder_ / "bytes.vcd";
  WaveFile waves(file, {"net.leaf1", "net.*.reduction", "nothing"}, dispatcher);
  EXPECT_TRUE(waves.wants("net.leaf0.reduction"));
  EXPECT_TRUE(waves.wants("net.leaf1.out10"));
  EXPECT_FALSE(waves.wants("net.leaf10.out0"));
  EXPECT_FALSE(waves.wants("net.leaf0.out0"));
  EXPECT_EQ(waves.unused(), "nothing");
  EXPECT_EQ(waves.offered(), (std::vector<std::string>{"net.leaf*.out* (3)", "net.leaf*.reduction (1)"}));
  const Waves::Pin bus = waves.bus("net.data", 3);
  const std::array<std::byte, 3> bytes = {std::byte{0x01}, std::byte{0x82}, std::byte{0x03}};
  waves.set_bytes(1_ns, bus, bytes.data(), 3);
  waves.set_bytes(2_ns, bus, bytes.data(), 2);
  waves.set_bytes(3_ns, bus, nullptr, 0);
  waves.set_bytes(4_ns, bus, bytes.data(), 0);
  waves.close();
  EXPECT_EQ(changes_of(file), (std::vector<std::string>{
                                  "0 net.data xxxxxxxxxxxxxxxxxxxxxxxx dumpvars",
                                  "1000 net.data 000000111000001000000001", "2000 net.data 000000001000001000000001",
                                  "3000 net.data xxxxxxxxxxxxxxxxxxxxxxxx", "4000 net.data 000000000000000000000000"}));
  // Without close() there is no file.
  { WaveFile lost(folder_ / "lost.vcd", {}, dispatcher); }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "lost.vcd"));
}

}  // namespace
}  // namespace weft::platforms
