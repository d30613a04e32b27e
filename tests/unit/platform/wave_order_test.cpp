// SPDX-License-Identifier: Apache-2.0
// What was told in any order is written in that of time, in however many parts it was told.
#include "platforms/machine/waves/wave_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "platforms/machine/waves/wave_writer.h"
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
void declare(vcd::Writer& writer, WaveWriter& lines) {
  for (std::uint32_t i = 0; i < kPins; ++i) lines.add(writer.bits("p" + std::to_string(i), 64));
  lines.add(writer.bits("bus", 8 * kBytes));
}

using Told = std::pair<Change, std::vector<std::byte>>;

/// At `now`, of up to `ahead` later: bursts of one time and reversed pins among them.
std::vector<Told> random_changes(std::mt19937& random, std::int64_t now, std::int64_t ahead) {
  std::vector<Told> told(random() % 400);
  const bool burst = random() % 4 == 0;
  std::size_t i = 0;
  for (auto& [change, bytes] : told) {
    change = Change{now + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(ahead)), random() % 8, 0, 0,
                    static_cast<What>(random() % 4)};
    if (burst) change.time = now;
    const bool bus = change.what == What::kBytes || change.what == What::kUnknown;
    change.pin = bus ? kPins : burst ? static_cast<std::uint32_t>(kPins - 1 - i % kPins) : random() % kPins;
    if (change.what == What::kBytes) bytes.resize(1 + random() % kBytes);
    for (std::byte& byte : bytes) byte = std::byte(random() % 3);
    ++i;
  }
  return told;
}

void tell(WaveOrder& order, const Told& told) {
  const auto& [change, bytes] = told;
  const Time at(change.time);
  const Waves::Pin pin{change.pin};
  if (change.what == What::kSet || change.what == What::kAdd) return order.tell(at, pin, change.what, change.value);
  order.tell(at, pin, change.what == What::kBytes ? bytes.data() : nullptr, bytes.size());
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
    WaveOrder order;
    WaveWriter lines(parts);
    WaveWriter unused(whole);
    declare(parts, lines);
    declare(whole, unused);
    std::vector<Told> all;
    WaveOrder::Part part;
    WaveSort sort;
    std::int64_t now = 0;
    for (int i = 0; i < 60; ++i) {
      for (const Told& told : random_changes(random, now, ahead)) {
        tell(order, told);
        all.push_back(told);
      }
      now += static_cast<std::int64_t>(random() % 5 == 0 ? 0 : random() % 2'000'000);
      order.take(Time(now), part);
      if (i % 3 == 0) sort(part);
      lines.write(part);
    }
    order.take(kNever, part);
    lines.finish(part, Time());
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

/// Parts grow with what waits, so that it is not gone through for each few changes.
TEST(WaveOrder, IsFullWhenAsMuchWasToldAsWaits) {
  WaveOrder order;
  WaveOrder::Part part;
  const auto tell_until_full = [&] {
    std::size_t told = 0;
    for (; !order.full(); ++told) order.tell(2_ns, {0}, What::kSet, told);
    return told;
  };
  const std::size_t least = tell_until_full();
  for (std::size_t i = 0; i < 2 * least; ++i) order.tell(2_ns, {0}, What::kSet, i);
  order.take(1_ns, part);
  EXPECT_TRUE(part.changes.empty());
  EXPECT_EQ(tell_until_full(), 3 * least);
  order.take(3_ns, part);
  EXPECT_EQ(part.changes.size(), 6 * least);
  EXPECT_EQ(tell_until_full(), least);
}

/// What a clock has to run later may be told, and handed over, before what it has to run now.
TEST_F(WaveOrderTest, ClocksRunWhereItIsToldLate) {
  const std::string file = folder_ / "clocks.vcd";
  vcd::Writer writer(file);
  WaveOrder order;
  WaveWriter lines(writer);
  const vcd::Writer::Id id = writer.bits("clk");
  const Waves::Clock clock = lines.clocks().add(1000_MHz, id);
  lines.add(id);
  order.tell(Time(), {0}, What::kSet, 0);
  WaveOrder::Part part;
  const auto tell = [&](Time from, Time to, Running::What what, Time until) {
    order.tell({from, to, clock, what});
    order.take(until, part);
    lines.write(part);
  };
  tell(20_ns, 21_ns, Running::What::kRun, 1_ns);
  tell(3_ns, 4_ns, Running::What::kRun, 10_ns);
  tell(12_ns, 12_ns, Running::What::kHold, 13_ns);
  tell(14_ns, 14_ns, Running::What::kRelease, 15_ns);
  order.take(kNever, part);
  lines.finish(part, Time());
  writer.close();
  std::string rises;
  for (const std::string& change : changes_of(file)) {
    if (change.ends_with(" clk 1")) rises += change.substr(0, change.find(' ')) + " ";
  }
  EXPECT_EQ(rises, "3000 4000 12000 13000 14000 20000 21000 ");
}

}  // namespace
}  // namespace weft::platforms
