// SPDX-License-Identifier: Apache-2.0
// What was told in any order is written in that of time, in however many parts it was told.
#include "platforms/machine/wave_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/vcd.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using Change = WaveOrder::Change;
using What = WaveOrder::What;
using Running = WaveOrder::Running;

constexpr std::uint32_t kPins = 40;
constexpr std::uint32_t kBytes = 4;

/// Pins of 64 bits, and behind them a bus.
void declare(vcd::Writer& writer, WaveOrder& order) {
  for (std::uint32_t i = 0; i < kPins; ++i) order.add(writer.bits("p" + std::to_string(i), 64));
  order.add(writer.bits("bus", 8 * kBytes));
}

struct Part {
  std::vector<Change> changes;
  std::vector<std::byte> bytes;
};

/// Told at `now`, of up to `ahead` later: bursts of one time and reversed pins among them.
Part random_part(std::mt19937& random, std::int64_t now, std::int64_t ahead) {
  Part part;
  const std::size_t count = random() % 400;
  const bool burst = random() % 4 == 0;
  for (std::size_t i = 0; i < count; ++i) {
    Change change{now + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(ahead)), random() % 8, 0, 0,
                  static_cast<What>(random() % 4)};
    if (burst) change.time = now;
    const bool bus = change.what == What::kBytes || change.what == What::kUnknown;
    change.pin = bus ? kPins : burst ? static_cast<std::uint32_t>(kPins - 1 - i % kPins) : random() % kPins;
    if (change.what == What::kBytes) {
      change.value = part.bytes.size();
      change.count = 1 + random() % kBytes;
      for (std::uint32_t byte = 0; byte < change.count; ++byte) part.bytes.push_back(std::byte(random() % 3));
    }
    part.changes.push_back(change);
  }
  return part;
}

class WaveOrderTest : public test::VcdTest {
 protected:
  std::string text_of(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
};

TEST_F(WaveOrderTest, WritesWhatAStableSortGives) {
  std::mt19937 random(5);
  for (const std::int64_t ahead : {1LL, 3'000LL, 5'000'000LL, 40'000'000'000LL}) {
    SCOPED_TRACE(ahead);
    vcd::Writer parts(folder_ / "parts.vcd");
    vcd::Writer whole(folder_ / "whole.vcd");
    WaveOrder order(parts);
    WaveOrder unused(whole);
    declare(parts, order);
    declare(whole, unused);
    std::vector<std::pair<Change, std::vector<std::byte>>> all;
    WaveOrder::Told told;
    std::int64_t now = 0;
    for (int i = 0; i < 60; ++i) {
      const Part part = random_part(random, now, ahead);
      told.changes = part.changes;
      told.bytes = part.bytes;
      for (const Change& change : part.changes) {
        const auto from = part.bytes.begin() + static_cast<std::ptrdiff_t>(change.count != 0 ? change.value : 0);
        all.push_back({change, {from, from + change.count}});
      }
      now += static_cast<std::int64_t>(random() % 5 == 0 ? 0 : random() % 2'000'000);
      told.until = Time(now);
      order.write(told);
      EXPECT_TRUE(told.changes.empty() && told.bytes.empty());
    }
    order.finish(Time());
    parts.close();

    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first.time, a.first.pin) < std::pair(b.first.time, b.first.pin);
    });
    std::array<std::uint64_t, kPins + 1> values{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [change, bytes] = all[i];
      std::uint64_t& value = values[change.pin];
      if (change.what == What::kSet) value = change.value;
      if (change.what == What::kAdd) value += change.value;
      if (i + 1 < all.size() && all[i + 1].first.time == change.time && all[i + 1].first.pin == change.pin) continue;
      const auto time = static_cast<std::uint64_t>(change.time);
      const vcd::Writer::Id id{change.pin};
      if (change.what == What::kBytes) {
        whole.change_bytes(time, id, bytes);
      } else if (change.what == What::kUnknown) {
        whole.change_bits(time, id, "x");
      } else {
        whole.change(time, id, value);
      }
    }
    whole.close();
    EXPECT_TRUE(text_of("parts.vcd") == text_of("whole.vcd"));
  }
}

/// Blocks grow with what waits, so that it is not gone through for each few changes.
TEST_F(WaveOrderTest, AsksForAsMuchAsWaits) {
  vcd::Writer writer(folder_ / "waits.vcd");
  WaveOrder order(writer);
  declare(writer, order);
  WaveOrder::Told told;
  const std::size_t least = told.limit;
  for (std::size_t i = 0; i < 3 * least; ++i) told.changes.push_back(Change{1000, i, 0, 0, What::kSet});
  told.until = 1_ns;
  order.write(told);
  EXPECT_EQ(told.limit, 3 * least);
  told.until = 2_ns;
  order.write(told);
  EXPECT_EQ(told.limit, least);
}

/// What a clock has to run later may be told, and handed over, before what it has to run now.
TEST_F(WaveOrderTest, ClocksRunWhereItIsToldLate) {
  const std::string file = folder_ / "clocks.vcd";
  vcd::Writer writer(file);
  WaveOrder order(writer);
  const vcd::Writer::Id id = writer.bits("clk");
  const Waves::Clock clock = order.clocks().add(1000_MHz, id);
  order.add(id);
  WaveOrder::Told told;
  told.changes.push_back(Change{0, 0, 0, 0, What::kSet});
  const auto tell = [&](Time from, Time to, Running::What what, Time until) {
    told.clocks.push_back({from, to, clock, what});
    told.until = until;
    order.write(told);
  };
  tell(20_ns, 21_ns, Running::What::kRun, 1_ns);
  tell(3_ns, 4_ns, Running::What::kRun, 10_ns);
  tell(12_ns, 12_ns, Running::What::kHold, 13_ns);
  tell(14_ns, 14_ns, Running::What::kRelease, 15_ns);
  EXPECT_TRUE(told.clocks.empty());
  order.finish(Time());
  writer.close();
  std::string rises;
  for (const std::string& change : changes_of(file)) {
    if (change.ends_with(" clk 1")) rises += change.substr(0, change.find(' ')) + " ";
  }
  EXPECT_EQ(rises, "3000 4000 12000 13000 14000 20000 21000 ");
}

}  // namespace
}  // namespace weft::platforms
