// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "hw/fabric/reduction/reduction_lane_engine.h"
#include "hw/rtl/pins.h"

/// Joins a SystemC module with the pins of hw/rtl/reduction_lane.sv to the switches of a platform. What `verilator
/// --sc` makes of that file is one; so is what it makes of any module with the same ports, whatever is inside, and a
/// model written in SystemC. `"reduction": {"implementation": NAME}` then takes it.
///
///     #include "Vmy_lane.h"
///     weft::rtl::provide_reduction_lane<Vmy_lane, 4, 64>("my-lane");  // before the platform is built
///
/// Beats are handed over as valid and ready say, at rising edges of `clk`. The lane gives one sum for each set of
/// beats, in order, with the id and the `last` that came with them, after as many cycles as it likes; it may refuse
/// beats for as long as it likes. docs/developer/rtl.md shows a whole project.
namespace weft::rtl {

/// A module and a signal for each of its pins.
template <typename Lane, std::size_t kChildren, std::size_t kBytes>
class ReductionLane final : public fabric::LanePins {
 public:
  ReductionLane(sc_core::sc_signal<bool>& clk, sc_core::sc_signal<bool>& reset) : lane_("lane") {
    lane_.clk(clk);
    lane_.reset(reset);
    lane_.kind(kind_);
    lane_.children(children_);
    lane_.in_valid(in_valid_);
    lane_.in_ready(in_ready_);
    lane_.in_data(in_data_);
    lane_.in_last(in_last_);
    lane_.in_adds(in_adds_);
    lane_.in_id(in_id_);
    lane_.out_valid(out_valid_);
    lane_.out_ready(out_ready_);
    lane_.out_data(out_data_);
    lane_.out_last(out_last_);
    lane_.out_adds(out_adds_);
    lane_.out_id(out_id_);
    lane_.error(error_);
  }

  void drive(const fabric::LaneInputs& inputs) override {
    kind_.write(static_cast<Value<decltype(Lane::kind)>>(inputs.kind));
    children_.write(static_cast<Value<decltype(Lane::children)>>(inputs.children));
    in_valid_.write(static_cast<Value<decltype(Lane::in_valid)>>(inputs.valid));
    in_last_.write(static_cast<Value<decltype(Lane::in_last)>>(inputs.last));
    in_adds_.write(static_cast<Value<decltype(Lane::in_adds)>>(inputs.adds));
    in_data_.write(pins::from_words<Value<decltype(Lane::in_data)>>(inputs.data));
    in_id_.write(pins::from_words<Value<decltype(Lane::in_id)>>(inputs.id));
    out_ready_.write(inputs.out_ready);
  }

  void sample(fabric::LaneOutputs& outputs) const override {
    outputs.ready = in_ready_.read();
    outputs.error = error_.read();
    outputs.valid = out_valid_.read();
    if (!outputs.valid) return;
    outputs.last = out_last_.read();
    outputs.adds = out_adds_.read();
    outputs.id = out_id_.read();
    pins::to_words(out_data_.read(), outputs.data);
  }

 private:
  template <typename Port>
  using Value = pins::ValueOf<Port>;
  template <typename Port>
  using Signal = sc_core::sc_signal<Value<Port>>;

  static_assert(pins::has_bits<decltype(Lane::in_data)>(kChildren * kBytes * 8),
                "in_data is not children * bytes * 8 bits");
  static_assert(pins::has_bits<decltype(Lane::in_id)>(kChildren * 32), "in_id is not children * 32 bits");
  static_assert(pins::has_bits<decltype(Lane::in_valid)>(kChildren), "in_valid is not one bit for each child");
  static_assert(pins::has_bits<decltype(Lane::out_data)>(kBytes * 8), "out_data is not bytes * 8 bits");
  static_assert(kChildren <= 64 && kBytes % 4 == 0, "at most 64 children, and whole words");

  Lane lane_;
  Signal<decltype(Lane::kind)> kind_{"kind"};
  Signal<decltype(Lane::children)> children_{"children"};
  Signal<decltype(Lane::in_valid)> in_valid_{"in_valid"};
  Signal<decltype(Lane::in_ready)> in_ready_{"in_ready"};
  Signal<decltype(Lane::in_data)> in_data_{"in_data"};
  Signal<decltype(Lane::in_last)> in_last_{"in_last"};
  Signal<decltype(Lane::in_adds)> in_adds_{"in_adds"};
  Signal<decltype(Lane::in_id)> in_id_{"in_id"};
  Signal<decltype(Lane::out_valid)> out_valid_{"out_valid"};
  Signal<decltype(Lane::out_ready)> out_ready_{"out_ready", true};
  Signal<decltype(Lane::out_data)> out_data_{"out_data"};
  Signal<decltype(Lane::out_last)> out_last_{"out_last"};
  Signal<decltype(Lane::out_adds)> out_adds_{"out_adds"};
  Signal<decltype(Lane::out_id)> out_id_{"out_id"};
  Signal<decltype(Lane::error)> error_{"error"};
};

/// Provides `Lane`, which was built with so many children and bytes a beat, under a name.
template <typename Lane, std::size_t kChildren, std::size_t kBytes>
void provide_reduction_lane(const std::string& name) {
  const fabric::PinsMaker pins = [](sc_core::sc_signal<bool>& clk, sc_core::sc_signal<bool>& reset) {
    return std::make_unique<ReductionLane<Lane, kChildren, kBytes>>(clk, reset);
  };
  fabric::provide_reduction_engine(name, [pins](const fabric::ReductionSite& site) {
    return std::make_unique<fabric::ReductionLaneEngine>("reduction", fabric::LaneShape{kChildren, kBytes}, pins, site);
  });
}

}  // namespace weft::rtl
