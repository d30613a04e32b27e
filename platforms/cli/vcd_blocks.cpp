// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/vcd_blocks.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "hw/fabric/reduction_engine.h"
#include "platforms/cli/command.h"
#include "traces/format_error.h"

namespace weft::platforms {

void BlockOptions::add_to(const Arguments& app, bool needs_output) {
  app.add_option("--clock", sampling.clock, "Values count at its rising edges").required();
  app.add_option("--reset", sampling.reset, "Edges while it is active do not count");
  app.add_flag("--reset-low", sampling.reset_low, "Reset is active when 0");
  app.add_option(
         "--input", inputs,
         "An input: what the names of its signals begin with (tb.lane.in_ for tb.lane.in_valid, ...ready, data, "
         "last, id, adds, kind), or KEY=SIGNAL,...; can be repeated")
      .one_at_a_time()
      .required();
  app.add_option("--split", split, "Each signal of --input holds so many inputs side by side, the first lowest")
      .check(Within(1, 1024));
  const Option out = app.add_option("--output", output, "The output, likewise");
  if (needs_output) out.required();
  app.add_option("--kind", kind, "Signal with the type of elements, where the inputs have none of their own");
}

vcd::BlockTrace BlockOptions::read(const std::string& file, bool with_data) const {
  vcd::Reader reader(file);
  const auto streams = [&](const char* option, const std::string& text, std::size_t parts) {
    try {
      return vcd::parse_streams(text, parts, reader);
    } catch (const std::invalid_argument& error) {
      throw UsageError(std::string(option) + ": " + error.what());
    }
  };
  std::vector<vcd::StreamNames> all;
  for (const std::string& text : inputs) {
    for (vcd::StreamNames& names : streams("--input", text, split)) {
      if (!kind.empty()) names.kind = kind;
      all.push_back(std::move(names));
    }
  }
  if (output.empty()) return vcd::read_block(std::move(reader), sampling, all, nullptr, with_data);
  const vcd::StreamNames out = streams("--output", output, 1).front();
  return vcd::read_block(std::move(reader), sampling, all, &out, with_data);
}

Frequency clock_of(const vcd::BlockTrace& trace) {
  if (trace.period <= 0) throw traces::FormatError(trace.file, 0, "expected at least two edges of the clock");
  const double seconds = trace.period * trace.timescale.seconds();
  return Frequency(std::llround(1 / seconds));
}

bool is_clock_of_engines(Frequency clock) {
  constexpr Range kClocks = fabric::ReductionEngine::Config::kClocks;
  return clock.count() >= kClocks.min && clock.count() <= kClocks.max;
}

std::uint64_t number_of(const vcd::BlockTrace& trace, const std::string& bits, const char* what) {
  std::uint64_t value = 0;
  for (const char bit : bits) {
    if (bit != '0' && bit != '1') {
      throw traces::FormatError(trace.file, 0, std::string("expected a known ") + what + ", got \"" + bits + "\"");
    }
    value = 2 * value + (bit == '1' ? 1 : 0);
  }
  return value;
}

ElementType type_of(const vcd::BlockTrace& trace, const std::string& bits) {
  const std::uint64_t number = number_of(trace, bits, "kind of elements");
  for (const auto& [name, type] : enum_names(ElementType{})) {
    if (static_cast<std::uint64_t>(type) == number) return type;
  }
  throw traces::FormatError(trace.file, 0,
                            "expected the kind of elements as 0 fp32, 1 bf16, 2 int32 or 3 fp16, got \"" + bits + "\"");
}

}  // namespace weft::platforms
