// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <systemc>

#include "hw/fabric/switch/output_arbiter.h"
#include "hw/rtl/pins.h"

/// Joins a SystemC module with the pins of hw/rtl/voq_arbiter.sv to the switches of a platform: it then chooses the
/// next packet of each output. What `verilator --sc` makes of that file is one; so is what it makes of any module with
/// the same ports, whatever its rule, and a model written in SystemC. `"arbiter": {"implementation": NAME}` then takes
/// it.
///
///     #include "Vmy_arbiter.h"
///     weft::rtl::provide_voq_arbiter<Vmy_arbiter, 32, 2>("my-arbiter");  // before the platform is built
///
/// The grant stands in the cycle in which the requests do, or in a later one. It counts at the rising edge at which
/// `take` and `grant_valid` are 1, for a queue whose bits of `waiting` and `credit` are 1 in that cycle.
namespace weft::rtl {

/// A module and a signal for each of its pins.
template <typename Arbiter, std::size_t kInputs, std::size_t kLanes>
class VoqArbiter final : public fabric::ArbiterPins {
 public:
  VoqArbiter(sc_core::sc_signal<bool>& clk, sc_core::sc_signal<bool>& reset) : arbiter_("block") {
    arbiter_.clk(clk);
    arbiter_.reset(reset);
    arbiter_.waiting(waiting_);
    arbiter_.credit(credit_);
    arbiter_.take(take_);
    arbiter_.grant_valid(grant_valid_);
    arbiter_.grant_lane(grant_lane_);
    arbiter_.grant_input(grant_input_);
  }

  void drive(const fabric::ArbiterInputs& inputs) override {
    waiting_.write(pins::from_words<Value<decltype(Arbiter::waiting)>>(inputs.waiting));
    credit_.write(pins::from_words<Value<decltype(Arbiter::credit)>>(inputs.credit));
    take_.write(inputs.take);
  }

  void sample(fabric::ArbiterOutputs& outputs) const override {
    outputs.valid = grant_valid_.read();
    outputs.lane = static_cast<std::uint32_t>(grant_lane_.read());
    outputs.input = static_cast<std::uint32_t>(grant_input_.read());
  }

 private:
  template <typename Port>
  using Value = pins::ValueOf<Port>;
  template <typename Port>
  using Signal = sc_core::sc_signal<Value<Port>>;

  static_assert(pins::has_bits<decltype(Arbiter::waiting)>(kInputs * kLanes), "waiting is not inputs * lanes bits");
  static_assert(pins::has_bits<decltype(Arbiter::credit)>(kInputs * kLanes), "credit is not inputs * lanes bits");

  Arbiter arbiter_;
  Signal<decltype(Arbiter::waiting)> waiting_{"waiting"};
  Signal<decltype(Arbiter::credit)> credit_{"credit"};
  Signal<decltype(Arbiter::take)> take_{"take"};
  Signal<decltype(Arbiter::grant_valid)> grant_valid_{"grant_valid"};
  Signal<decltype(Arbiter::grant_lane)> grant_lane_{"grant_lane"};
  Signal<decltype(Arbiter::grant_input)> grant_input_{"grant_input"};
};

/// Provides `Arbiter`, which was built with so many inputs and lanes, under a name.
template <typename Arbiter, std::size_t kInputs, std::size_t kLanes>
void provide_voq_arbiter(const std::string& name) {
  fabric::provide_arbiter(name, {{kInputs, kLanes}, [](sc_core::sc_signal<bool>& clk, sc_core::sc_signal<bool>& reset) {
                                   return std::make_unique<VoqArbiter<Arbiter, kInputs, kLanes>>(clk, reset);
                                 }});
}

}  // namespace weft::rtl
