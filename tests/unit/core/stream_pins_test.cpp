// SPDX-License-Identifier: Apache-2.0
// What a transaction looks like at the pins of its interface.
#include "hw/core/stream_pins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace weft {
namespace {

using namespace weft::literals;

/// Keeps what it is told, and shows pins as flip-flops take them at an edge: with the values from before it.
class Told final : public Waves {
 public:
  bool wants(const std::string& /*scope*/) override { return true; }
  Pin pin(const std::string& name, int /*width*/) override {
    names_.push_back(name);
    return {static_cast<std::uint32_t>(names_.size() - 1)};
  }
  Pin bus(const std::string& name, std::size_t /*bytes*/) override { return pin(name, 0); }
  Clock clock(const std::string& /*name*/, Frequency /*frequency*/) override { return {}; }
  void set(Time at, Pin pin, std::uint64_t value) override { changes_[names_[pin.index]].emplace_back(at, value); }
  void add(Time /*at*/, Pin /*pin*/, std::int64_t /*difference*/) override { FAIL(); }
  void set_bytes(Time at, Pin bus, const std::byte* bytes, std::size_t count) override {
    set(at, bus, bytes == nullptr ? 0 : static_cast<std::uint64_t>(bytes[0]) + 256 * (count - 1));
  }
  void run(Clock /*clock*/, Time from, Time to) override { spans.emplace_back(from, to); }
  void hold(Clock /*clock*/, Time /*from*/) override { FAIL(); }
  void release(Clock /*clock*/, Time /*to*/) override { FAIL(); }

  /// The last change before the edge.
  std::uint64_t before(Time edge, const std::string& name) const {
    std::uint64_t value = 0;
    const auto changes = changes_.find(name);
    if (changes == changes_.end()) return value;
    for (const auto& [at, to] : changes->second) {
      if (at < edge) value = to;
    }
    return value;
  }
  /// An edge a character: '-' nothing, 'w' valid and not ready, else the data of what is handed over, or '#'; in upper
  /// case with last.
  std::string edges(int count, bool data) const {
    std::string text;
    for (int edge = 1; edge <= count; ++edge) {
      const Time at = Time(1000LL * edge);
      const bool valid = before(at, "x.s_valid") != 0;
      const bool ready = before(at, "x.s_ready") != 0;
      char shown = '-';
      if (valid && !ready) shown = 'w';
      if (valid && ready) shown = data ? static_cast<char>('a' + before(at, "x.s_data") % 256) : 'm';
      if (valid && ready && before(at, "x.s_last") != 0) shown = static_cast<char>(shown - 'a' + 'A');
      text += shown;
    }
    return text;
  }

  std::vector<std::pair<Time, Time>> spans;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::vector<std::pair<Time, std::uint64_t>>> changes_;
};

constexpr std::array<StreamPins::Field, 1> kFields = {{{"id", 8}}};

struct Bench {
  Told told;
  StreamPins pins;
  explicit Bench(std::size_t bytes) : pins(told, "x", "s_", {}, 1000_MHz, bytes, kFields) {}
};

TEST(StreamPins, BeatsFollowEachOther) {
  for (const std::size_t bytes : {0U, 2U}) {
    SCOPED_TRACE(bytes);
    Bench bench(bytes);
    std::array<std::byte, 7> data{};
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
    bench.pins.transfer(
        {.offered = 1500_ps, .from = 1500_ps, .to = 5500_ps, .beats = 4, .data = data.data(), .bytes = 7}, {9});
    // What happens at 1.5 ns shows from the edge at 2 ns and is handed over at 3 ns.
    EXPECT_EQ(bench.told.edges(9, bytes != 0), bytes != 0 ? "--aceG---" : "--mmmM---");
    EXPECT_EQ(bench.told.before(3_ns, "x.s_id"), 9U);
    // Its last beat has one byte.
    if (bytes != 0) {
      EXPECT_EQ(bench.told.before(6_ns, "x.s_data"), 6U);
    }
    ASSERT_EQ(bench.told.spans.size(), 1U);
    EXPECT_EQ(bench.told.spans[0], std::pair(Time(2_ns), Time(6_ns)));
    // The next one waits until it has left, and is not late for ever.
    bench.pins.transfer({.offered = 2_ns, .from = 2_ns, .to = 4_ns, .beats = 2}, {1});
    EXPECT_EQ(bench.told.edges(10, false), "--mmmMmM--");
    bench.pins.transfer({.offered = 12_ns, .from = 12_ns, .to = 13_ns, .beats = 1}, {1});
    EXPECT_EQ(bench.told.edges(14, false), "--mmmMmM----M-");
  }
}

TEST(StreamPins, WhoIsSlowIsSeen) {
  std::array<std::byte, 3> data = {std::byte{0}, std::byte{1}, std::byte{2}};
  Bench slow_sender(1);
  slow_sender.pins.transfer({.offered = 1_ns, .from = 1_ns, .to = 7_ns, .beats = 3, .data = data.data(), .bytes = 3},
                            {1});
  EXPECT_EQ(slow_sender.told.edges(8, true), "-a---bC-");
  Bench slow_receiver(1);
  slow_receiver.pins.transfer({.offered = 1_ns,
                               .from = 1_ns,
                               .to = 7_ns,
                               .beats = 3,
                               .receiver_sets_pace = true,
                               .data = data.data(),
                               .bytes = 3},
                              {1});
  EXPECT_EQ(slow_receiver.told.edges(8, true), "-awbwwC-");
  // It is there before it is taken.
  Bench waits(0);
  waits.pins.transfer({.offered = 1_ns, .from = 4_ns, .to = 6_ns, .beats = 2}, {1});
  EXPECT_EQ(waits.told.edges(8, false), "-wwwmM--");
}

TEST(StreamPins, EdgesAreWholeCycles) {
  const ClockEdges edges(Frequency(3'000'000'000));
  EXPECT_EQ(edges.at(1), 333_ps);
  EXPECT_EQ(edges.at(2), 667_ps);
  for (const std::int64_t edge : {0LL, 1LL, 2LL, 3LL, 1'000'000'007LL}) {
    EXPECT_EQ(edges.from(edges.at(edge)), edge);
    EXPECT_EQ(edges.from(edges.at(edge) + 1_ps), edge + 1);
  }
}

}  // namespace
}  // namespace weft
