// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/vcd/blocks.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "hw/fabric/reduction/reduction_engine.h"
#include "platforms/commands/command.h"
#include "traces/files/format_error.h"

namespace weft::platforms {

void BlockOptions::add_to(const Arguments& app, bool needs_output) {
  app.add_option("--clock", sampling.clock, "Values count at its rising edges").type_name("SIGNAL").required();
  app.add_option("--reset", sampling.reset, "Edges while it is active do not count").type_name("SIGNAL");
  app.add_flag("--reset-low", sampling.reset_low, "Reset is active when 0");
  app.add_option(
         "--input", inputs,
         "An input: what the names of its signals begin with (tb.lane.in_ for tb.lane.in_valid, ...ready, data, "
         "last, id, adds, kind), or KEY=SIGNAL,...; can be repeated")
      .type_name("SIGNALS")
      .one_at_a_time()
      .required();
  app.add_option("--split", split, "Each signal of --input holds so many inputs side by side, the first lowest")
      .check(Within(1, 1024));
  const Option out = app.add_option("--output", output, "The output, given as an input is").type_name("SIGNALS");
  if (needs_output) out.required();
  app.add_option("--kind", kind, "Signal with the type of elements, if the inputs have none of their own")
      .type_name("SIGNAL");
}

BlockOptions::Names BlockOptions::Names::mapped(const std::vector<vcd::NameRule>& rules) const {
  const auto map = [&rules](const std::string& name) { return name.empty() ? name : vcd::map_name(rules, name); };
  Names theirs = *this;
  theirs.sampling.clock = map(sampling.clock);
  theirs.sampling.reset = map(sampling.reset);
  for (vcd::StreamNames& input : theirs.inputs) input = vcd::map_names(rules, input);
  if (output) theirs.output = vcd::map_names(rules, *output);
  theirs.kind = map(kind);
  return theirs;
}

std::vector<std::string> BlockOptions::Names::all() const {
  std::vector<std::string> names = {sampling.clock};
  for (const std::string& name : {sampling.reset, kind}) {
    if (!name.empty()) names.push_back(name);
  }
  std::vector<vcd::StreamNames> streams = inputs;
  if (output) streams.push_back(*output);
  for (const vcd::StreamNames& stream : streams) {
    for (std::string& name : vcd::all_names(stream)) names.push_back(std::move(name));
  }
  return names;
}

BlockOptions::Names BlockOptions::names_in(const vcd::Reader& file) const {
  const auto stream = [&file](const char* option, const std::string& text) {
    try {
      return vcd::parse_stream(text, file);
    } catch (const std::invalid_argument& error) {
      throw UsageError(std::string(option) + ": " + error.what());
    }
  };
  Names names;
  names.sampling = sampling;
  for (const std::string& text : inputs) names.inputs.push_back(stream("--input", text));
  if (!output.empty()) names.output = stream("--output", output);
  names.kind = kind;
  return names;
}

vcd::BlockTrace BlockOptions::read(vcd::Reader file, const Names& names, bool with_data) const {
  std::vector<vcd::StreamNames> all;
  try {
    for (const vcd::StreamNames& whole : names.inputs) {
      for (vcd::StreamNames& input : vcd::split_stream(whole, split, file)) {
        if (!names.kind.empty()) input.kind = names.kind;
        all.push_back(std::move(input));
      }
    }
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--input: ") + error.what());
  }
  return vcd::read_block(std::move(file), names.sampling, all, names.output ? &*names.output : nullptr, with_data);
}

vcd::BlockTrace BlockOptions::read(const std::string& file, bool with_data) const {
  vcd::Reader reader(file);
  const Names names = names_in(reader);
  return read(std::move(reader), names, with_data);
}

std::vector<vcd::NameRule> parse_maps(const std::vector<std::string>& maps) {
  std::vector<vcd::NameRule> rules;
  for (const std::string& map : maps) {
    const std::size_t equals = map.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError("--map: expected FROM=TO, such as \"tb.dut.*=top.*\", got \"" + map + "\"");
    }
    rules.push_back({map.substr(0, equals), map.substr(equals + 1)});
  }
  return rules;
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
    const bool is_too_long = value > UINT64_MAX / 2;
    if (is_too_long || (bit != '0' && bit != '1')) {
      throw traces::FormatError(trace.file, 0,
                                std::string("expected a known ") + what + (is_too_long ? " of at most 64 bits" : "") +
                                    ", got \"" + bits + "\"");
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
