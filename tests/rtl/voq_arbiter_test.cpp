// SPDX-License-Identifier: Apache-2.0
// hw/rtl/voq_arbiter.sv against fabric::Switch where all packets have credit, and against the rule where they do not:
// in Verilator, then the same cycles in Icarus.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "Vvoq_arbiter.h"
#include "hw/core/random.h"
#include "tests/rtl/ports.h"
#include "tests/rtl/recorder.h"
#include "tests/rtl/simulators.h"
#include "tests/support/benches/star.h"

namespace weft::test {
namespace {

constexpr std::uint32_t kInputs = 8;
constexpr std::uint32_t kLanes = 2;

struct Turn {
  std::uint32_t lane = 0;
  std::uint32_t input = 0;

  friend bool operator==(const Turn&, const Turn&) = default;
};

class ArbiterBench {
 public:
  explicit ArbiterBench(Recorder* recorder = nullptr) : recorder_(recorder) {
    rtl.reset = 1;
    cycle();
    rtl.reset = 0;
  }
  void cycle() {
    rtl.eval();
    if (recorder_ != nullptr) {
      const bool grants = rtl.grant_valid != 0;
      recorder_->cycle({{rtl.reset, 1}, {rtl.waiting, 16}, {rtl.credit, 16}, {rtl.take, 1}},
                       {{rtl.grant_valid, 1}, {rtl.grant_lane, 1, grants}, {rtl.grant_input, 3, grants}});
    }
    clock(rtl);
  }
  /// The grant, which is taken.
  Turn next(std::uint32_t waiting) {
    rtl.waiting = static_cast<std::uint16_t>(waiting);
    rtl.credit = 0xffff;
    rtl.take = 1;
    rtl.eval();
    EXPECT_EQ(rtl.grant_valid, 1);
    const Turn turn = {rtl.grant_lane, rtl.grant_input};
    cycle();
    return turn;
  }

  Vvoq_arbiter rtl;

 private:
  Recorder* recorder_;
};

class VoqArbiter : public RtlTest {};

TEST_F(VoqArbiter, ServesAsTheSwitchDoes) {
  using namespace fabric::test_ends;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    fresh_kernel();
    Random random(seed, "arbiter");
    Star star(std::vector<fabric::LinkConfig>(kInputs + 1, link()));
    // A packet long enough for all others to be there when it has left; then only turns decide.
    const Turn first = {seed % kLanes, static_cast<std::uint32_t>(random.next() % kInputs)};
    std::array<std::array<int, kInputs>, kLanes> queued{};
    star.script.at(1_us, [&] {
      star.end(first.input).send(first.input, kInputs, 200'000, static_cast<std::uint8_t>(first.lane));
    });
    star.script.at(1100_ns, [&] {
      for (std::uint32_t input = 0; input < kInputs; ++input) {
        if (input == first.input) continue;  // its wire is busy
        for (std::uint64_t i = random.next() % 20; i != 0; --i) {
          const auto lane = static_cast<std::uint32_t>(random.next() % kLanes);
          star.end(input).send(input, kInputs, 64 + static_cast<std::uint32_t>(random.next() % 1000),
                               static_cast<std::uint8_t>(lane));
          ++queued[lane][input];
        }
      }
    });
    sc_core::sc_start();
    star.expect_nothing_left();

    ArbiterBench bench;
    EXPECT_EQ(bench.next(1U << (first.lane * kInputs + first.input)), first);
    const auto& arrivals = star.end(kInputs).arrivals;
    ASSERT_GT(arrivals.size(), 20U);
    for (std::size_t i = 1; i < arrivals.size(); ++i) {
      std::uint32_t waiting = 0;
      for (std::uint32_t bit = 0; bit < kLanes * kInputs; ++bit) {
        waiting |= static_cast<std::uint32_t>(queued[bit / kInputs][bit % kInputs] > 0) << bit;
      }
      const Turn turn = bench.next(waiting);
      ASSERT_EQ(turn, (Turn{arrivals[i].lane, arrivals[i].source})) << "packet " << i << " of seed " << seed;
      --queued[turn.lane][turn.input];
    }
  }
}

/// Switch::serve and pick_input in words of bits.
class TurnRule {
 public:
  /// False if nobody may send.
  bool pick(std::uint32_t waiting, std::uint32_t credit, Turn& turn) const {
    for (std::uint32_t step = 0; step < kLanes; ++step) {
      turn.lane = (next_lane_ + step) % kLanes;
      for (std::uint32_t i = 0; i < kInputs; ++i) {
        turn.input = (next_input_[turn.lane] + i) % kInputs;
        const std::uint32_t bit = 1U << (turn.lane * kInputs + turn.input);
        if ((waiting & bit) == 0) continue;
        if ((credit & bit) != 0) return true;
        break;
      }
    }
    return false;
  }
  void take(const Turn& turn) {
    next_input_[turn.lane] = (turn.input + 1) % kInputs;
    next_lane_ = (turn.lane + 1) % kLanes;
  }

 private:
  std::array<std::uint32_t, kLanes> next_input_{};
  std::uint32_t next_lane_ = 0;
};

TEST_F(VoqArbiter, PassesOverALaneWhoseNextPacketHasNoCredit) {
  std::uint64_t cycles = 0;
  {
    Recorder recorder(folder_ / "cycles");
    ArbiterBench bench(&recorder);
    TurnRule rule;
    Random random(1, "arbiter");
    int grants = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t bits = random.next();
      // From few that wait to all, and from few credits to all.
      const std::uint64_t sparse = random.next();
      const auto waiting = static_cast<std::uint32_t>(bits & ((sparse & 3) != 0 ? bits >> 16 : 0xffff) & 0xffff);
      const auto credit = static_cast<std::uint32_t>((bits >> 32 | ((sparse & 12) != 0 ? bits >> 48 : 0)) & 0xffff);
      bench.rtl.waiting = static_cast<std::uint16_t>(waiting);
      bench.rtl.credit = static_cast<std::uint16_t>(credit);
      bench.rtl.take = (sparse & 48) != 0;
      bench.rtl.eval();
      Turn turn;
      const bool may = rule.pick(waiting, credit, turn);
      ASSERT_EQ(bench.rtl.grant_valid != 0, may) << i;
      if (may) {
        ASSERT_EQ((Turn{bench.rtl.grant_lane, bench.rtl.grant_input}), turn) << i;
        ++grants;
        if (bench.rtl.take != 0) rule.take(turn);
      }
      bench.cycle();
    }
    EXPECT_GT(grants, 5'000);
    EXPECT_LT(grants, 19'900);
    cycles = recorder.cycles();
  }
  play("voq_arbiter.sv", "cycles", cycles);
}

}  // namespace
}  // namespace weft::test
