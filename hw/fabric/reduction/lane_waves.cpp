// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/reduction/lane_waves.h"

namespace weft::fabric {

LaneWaves::LaneWaves(Waves& waves, const std::string& scope, Frequency clock, const LaneShape& shape)
    : waves_(waves), clk_(waves.clock(scope + ".clk", clock)) {
  const int children = static_cast<int>(shape.children);
  const auto pin = [&](const char* name, int width = 1) { return waves.pin(scope + "." + name, width); };
  const auto bus = [&](const char* name, std::size_t bytes) { return waves.bus(scope + "." + name, bytes); };
  reset_ = pin("reset");
  kind_ = pin("kind", 2);
  children_ = pin("children", children);
  in_valid_ = pin("in_valid", children);
  in_ready_ = pin("in_ready", children);
  in_data_ = bus("in_data", shape.children * shape.bytes);
  in_last_ = pin("in_last", children);
  in_adds_ = pin("in_adds", children);
  in_id_ = bus("in_id", shape.children * sizeof(std::uint32_t));
  out_valid_ = pin("out_valid");
  out_ready_ = pin("out_ready");
  out_data_ = bus("out_data", shape.bytes);
  out_last_ = pin("out_last");
  out_adds_ = pin("out_adds");
  out_id_ = pin("out_id", 32);
  error_ = pin("error");
  waves.set(Time(), reset_, 1);
  waves.set(Time(), out_ready_, 1);
}

void LaneWaves::show(Time now, bool reset, const LaneInputs& inputs, const LaneOutputs& outputs, bool data_known) {
  const auto set = [&](Waves::Pin pin, std::uint64_t value) { waves_.set(now, pin, value); };
  const auto bytes = [&](Waves::Pin bus, const std::vector<std::uint32_t>& words, bool known = true) {
    const auto* const first = reinterpret_cast<const std::byte*>(words.data());
    waves_.set_bytes(now, bus, known ? first : nullptr, words.size() * sizeof(std::uint32_t));
  };
  set(reset_, reset ? 1 : 0);
  set(kind_, static_cast<std::uint64_t>(inputs.kind));
  set(children_, inputs.children);
  set(in_valid_, inputs.valid);
  set(in_ready_, outputs.ready);
  set(in_last_, inputs.last);
  set(in_adds_, inputs.adds);
  bytes(in_data_, inputs.data, data_known);
  bytes(in_id_, inputs.id);
  set(out_valid_, outputs.valid ? 1 : 0);
  set(out_ready_, inputs.out_ready ? 1 : 0);
  set(error_, outputs.error ? 1 : 0);
  if (!outputs.valid) return;
  set(out_last_, outputs.last ? 1 : 0);
  set(out_adds_, outputs.adds ? 1 : 0);
  set(out_id_, outputs.id);
  bytes(out_data_, outputs.data, data_known);
}

}  // namespace weft::fabric
