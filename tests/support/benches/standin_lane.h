// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <systemc>

#include "hw/core/element.h"
#include "hw/core/random.h"

namespace weft::test {

/// A lane with the pins of hw/rtl/reduction_lane.sv, written in SystemC: `kCycles` registers from beats to their sum,
/// which weft::add makes. It can refuse beats at random, and can be broken on purpose.
template <std::size_t kChildren, std::size_t kBytes, std::size_t kCycles>
class StandInLane final : public sc_core::sc_module {
 public:
  enum class Fault { kNone, kError, kWrongId, kDeaf };
  /// Of those that are built from here on.
  inline static double refuses = 0;
  inline static Fault fault = Fault::kNone;

  using Data = sc_dt::sc_bv<static_cast<int>(kChildren* kBytes * 8)>;
  using Ids = sc_dt::sc_bv<static_cast<int>(kChildren * 32)>;
  using Sum = sc_dt::sc_bv<static_cast<int>(kBytes * 8)>;

  SC_HAS_PROCESS(StandInLane);
  explicit StandInLane(sc_core::sc_module_name name) : sc_module(name), random_(1, "refuses") {
    SC_METHOD(clock);
    sensitive << clk.pos();
    dont_initialize();
    SC_METHOD(say_ready);
    sensitive << in_valid << children << open_ << out_valid << out_ready;
  }

  sc_core::sc_in<bool> clk{"clk"};
  sc_core::sc_in<bool> reset{"reset"};
  sc_core::sc_in<std::uint32_t> kind{"kind"};
  sc_core::sc_in<std::uint32_t> children{"children"};
  sc_core::sc_in<std::uint32_t> in_valid{"in_valid"};
  sc_core::sc_out<std::uint32_t> in_ready{"in_ready"};
  sc_core::sc_in<Data> in_data{"in_data"};
  sc_core::sc_in<std::uint32_t> in_last{"in_last"};
  sc_core::sc_in<std::uint32_t> in_adds{"in_adds"};
  sc_core::sc_in<Ids> in_id{"in_id"};
  sc_core::sc_out<bool> out_valid{"out_valid"};
  sc_core::sc_in<bool> out_ready{"out_ready"};
  sc_core::sc_out<Sum> out_data{"out_data"};
  sc_core::sc_out<bool> out_last{"out_last"};
  sc_core::sc_out<bool> out_adds{"out_adds"};
  sc_core::sc_out<std::uint32_t> out_id{"out_id"};
  sc_core::sc_out<bool> error{"error"};

 private:
  struct Beat {
    bool valid = false;
    bool last = false;
    bool adds = false;
    std::uint32_t id = 0;
    Sum sum;
  };

  [[nodiscard]] bool joined() const {
    const std::uint32_t part = children.read();
    return part != 0 && (in_valid.read() & part) == part;
  }
  [[nodiscard]] bool moves() const { return !out_valid.read() || out_ready.read(); }
  void say_ready() { in_ready.write(joined() && open_.read() && moves() ? children.read() : 0); }

  void clock() {
    if (reset.read()) {
      stages_.assign(kCycles, Beat());
      out_valid.write(false);
      open_.write(fault != Fault::kDeaf);
      return;
    }
    if (!moves()) return;
    const Beat beat = joined() && open_.read() ? join() : Beat();
    stages_.push_back(beat);
    stages_.pop_front();
    const Beat& out = stages_.front();
    out_valid.write(out.valid);
    out_last.write(out.last);
    out_adds.write(out.adds);
    out_id.write(fault == Fault::kWrongId ? out.id + 1 : out.id);
    out_data.write(out.sum);
    error.write(out.valid && fault == Fault::kError);
    open_.write(fault != Fault::kDeaf && random_.share() >= refuses);
  }

  Beat join() {
    Beat beat;
    beat.valid = true;
    std::array<std::byte, kBytes> sum{};
    std::uint32_t kinds = kind.read();
    bool first = true;
    for (std::size_t child = 0; child < kChildren; ++child) {
      if ((children.read() >> child & 1) == 0) continue;
      const bool last = (in_last.read() >> child & 1) != 0;
      const auto id = static_cast<std::uint32_t>(in_id.read().get_word(static_cast<int>(child)));
      EXPECT_TRUE(first || (last == beat.last && id == beat.id)) << "joined what does not belong together";
      first = false;
      beat.last = last;
      beat.id = id;
      if ((in_adds.read() >> child & 1) == 0) continue;
      std::array<std::byte, kBytes> operand{};
      for (std::size_t word = 0; word < kBytes / 4; ++word) {
        const auto value =
            static_cast<std::uint32_t>(in_data.read().get_word(static_cast<int>(child * kBytes / 4 + word)));
        std::memcpy(&operand[word * 4], &value, 4);
      }
      if (beat.adds) {
        add(static_cast<ElementType>(kinds), sum.data(), operand.data(), sum.data(), kBytes);
      } else {
        sum = operand;
      }
      beat.adds = true;
    }
    for (std::size_t word = 0; word < kBytes / 4; ++word) {
      std::uint32_t value = 0;
      std::memcpy(&value, &sum[word * 4], 4);
      beat.sum.set_word(static_cast<int>(word), value);
    }
    return beat;
  }

  sc_core::sc_signal<bool> open_{"open"};
  std::deque<Beat> stages_ = std::deque<Beat>(kCycles);
  Random random_;
};

}  // namespace weft::test
