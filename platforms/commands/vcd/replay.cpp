// SPDX-License-Identifier: Apache-2.0
// weft vcd replay: what came to a block in a waveform comes to it again.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "platforms/cli/output.h"
#include "platforms/cli/result_files.h"
#include "platforms/cli/waves.h"
#include "platforms/commands/command.h"
#include "platforms/commands/vcd/blocks.h"
#include "platforms/commands/vcd/lane_lines.h"
#include "platforms/commands/vcd/lane_replay.h"
#include "platforms/config/document.h"
#include "platforms/config/text.h"
#include "platforms/machine/waves/wave_file.h"
#include "platforms/results/write_file.h"
#include "traces/files/format_error.h"

namespace weft::platforms {

namespace fs = std::filesystem;

namespace {

struct ReplayOptions {
  BlockOptions block;
  std::string file;
  std::vector<std::string> patches;
  std::vector<std::string> overrides;
  std::string at = "fabric.switch.reduction";
  std::string vcd;
  std::string stimulus;
  bool json = false;
};

fabric::ReductionEngine::Config engine_of(const ReplayOptions& options, const vcd::BlockTrace& trace) {
  const auto bytes = static_cast<int>(trace.data_bits / 8);
  fabric::ReductionEngine::Config config;
  const Frequency seen = clock_of(trace);
  config.clock = is_clock_of_engines(seen) ? seen : Frequency(0);
  config.fp32 = config.fp16 = config.bf16 = config.int32 = bytes;
  Document document = Document::from_text("{}", "weft vcd replay", options.overrides, Catalogue(), options.patches);
  std::optional<Node> node = document.root();
  for (std::size_t from = 0; from <= options.at.size();) {
    const std::size_t dot = std::min(options.at.find('.', from), options.at.size());
    node = node->child(options.at.substr(from, dot - from));
    from = dot + 1;
  }
  node->read(config);
  document.check_unused();
  if (config.clock.count() == 0) {
    throw UsageError("--set: expected " + options.at + ".clock=1GHz or another clock, since that of " + options.file +
                     " is " + to_text(seen));
  }
  return config;
}

/// In TLM form: the model of a lane, and what comes to its pins.
LaneReplay::Counters replay_model(const ReplayOptions& options, const fs::path& file, const vcd::BlockTrace& trace,
                                  const std::vector<LaneLine>& lines) {
  const fabric::ReductionEngine::Config config = engine_of(options, trace);
  Dispatcher dispatcher("dispatcher");
  LaneReplay lane("reduction", config, trace, lines, dispatcher);
  WaveFile waves(file, {"*"}, dispatcher, /*free_clocks=*/true);
  lane.record(waves);
  dispatcher.run_to_end();
  waves.close(lane.end() + cycle_time(4, config.clock));
  return lane.counters();
}

std::string hex(const std::string& bits) {
  std::string digits;
  for (std::size_t end = bits.size(); end > 0; end = end > 4 ? end - 4 : 0) {
    int digit = 0;
    for (std::size_t i = end > 4 ? end - 4 : 0; i < end; ++i) digit = 2 * digit + (bits[i] == '1' ? 1 : 0);
    digits += "0123456789abcdef"[digit];
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

/// In RTL form: a file for tests/rtl/lane_tb.sv, which says how it is read.
void write_stimulus(const fs::path& file, const vcd::BlockTrace& trace, const std::vector<LaneLine>& lines) {
  constexpr std::uint64_t kLongestGap = 255;
  constexpr std::uint64_t kLongestStall = 65535;
  std::string text;
  std::uint64_t from = 0;  // the first cycle in which the line could be offered
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const LaneLine& line = lines[n];
    std::string gaps;
    std::string data;
    std::uint64_t joined = from;
    for (std::size_t input = trace.inputs.size(); input-- > 0;) {
      const vcd::Beat* const beat = line.beats[input];
      const std::uint64_t gap = beat == nullptr || beat->offered <= from ? 0 : beat->offered - from;
      gaps += fmt::format("{:02x}", std::min(gap, kLongestGap));
      if (beat != nullptr) joined = std::max(joined, beat->offered);
      if ((line.adds >> input & 1) == 0) {
        data += std::string(trace.data_bits / 4, '0');
        continue;
      }
      if (!words_of(beat->data)) {
        throw traces::FormatError(
            trace.file, 0,
            fmt::format("expected known data at input {} in cycle {}: a platform has them with --data", input,
                        beat->taken));
      }
      data += hex(beat->data);
    }
    std::uint64_t stall = 0;
    if (n < trace.output.size()) stall = trace.output[n].taken - trace.output[n].offered;
    text += fmt::format("{:x} {:x} {:x} {} {:x} {:x} {:x} {}\n", static_cast<int>(line.kind), line.children, line.adds,
                        gaps, std::min(stall, kLongestStall), line.last ? 1 : 0, line.id, data);
    from = joined + 1;
  }
  write_file(file, text);
}

int replay(const ReplayOptions& options) {
  if (options.vcd.empty() && options.stimulus.empty()) {
    throw UsageError("vcd replay: expected --vcd FILE for a run of the model, or --stimulus FILE for RTL");
  }
  check_wave_file(options.vcd);
  ResultFiles files;
  files.spare(options.file);
  const fs::path stimulus =
      options.stimulus.empty() ? fs::path() : files.file("--stimulus", options.stimulus, ResultKind::kStimulus);
  const fs::path waves = options.vcd.empty() ? fs::path() : files.file("--vcd", options.vcd, ResultKind::kWaves);
  const vcd::BlockTrace trace = options.block.read(options.file, true);
  print_warnings(trace.remarks);
  if (trace.data_bits == 0 || trace.data_bits % 32 != 0) {
    throw UsageError("--input: expected data of whole words of 32 bits, which says how wide a beat is");
  }
  if (trace.inputs.size() > 32) throw UsageError("--input: expected at most 32 inputs");
  const LaneLines found = lines_of(trace);
  nlohmann::ordered_json result = {{"file", options.file}, {"inputs", trace.inputs.size()}, {"chunks", found.chunks}};
  std::string text = fmt::format("{}: {} chunks from {} inputs\n", options.file, found.chunks, trace.inputs.size());
  if (!options.stimulus.empty()) {
    write_stimulus(stimulus, trace, found.lines);
    result["beats"] = found.lines.size();
    text += fmt::format("wrote {}, {} beats for tests/rtl/lane_tb.sv with CHILDREN={} and BYTES={}\n", options.stimulus,
                        found.lines.size(), trace.inputs.size(), trace.data_bits / 8);
  }
  if (!options.vcd.empty()) {
    const LaneReplay::Counters counters = replay_model(options, waves, trace, found.lines);
    result["sums"] = counters.sums;
    result["cycles"] = counters.cycles;
    result["blocked"] = counters.blocked;
    text +=
        fmt::format("wrote {}, {} sums of the model at reduction.out_*, in {} cycles; its output was blocked in {}\n",
                    options.vcd, counters.sums, counters.cycles, counters.blocked);
  }
  files.keep();
  if (options.json) {
    print_json(result);
  } else {
    print(text);
  }
  return kDone;
}

}  // namespace

Command replay_command(const Arguments& parent) {
  auto options = std::make_shared<ReplayOptions>();
  const Arguments app = parent.add_subcommand(
      "replay", "Replays the inputs of a reduction engine from a waveform into the model, or into RTL");
  app.add_option("WAVE", options->file, "A VCD file, also in gzip or FST; - is standard input")
      .type_name("FILE")
      .required();
  options->block.add_to(app, false);
  app.add_option("--vcd", options->vcd, "Runs the model, and writes its waveform, reduction.*").type_name("FILE");
  app.add_option("--stimulus", options->stimulus, "Writes the beats for tests/rtl/lane_tb.sv").type_name("FILE");
  app.add_option("--patch", options->patches, "What `calibrate` wrote: values of the engine; can be repeated")
      .one_at_a_time()
      .type_name("FILE");
  app.add_option("--set", options->overrides, "path=value: overrides a value of the engine; can be repeated")
      .one_at_a_time()
      .type_name("PATH=VALUE");
  app.add_option("--at", options->at, "Where a patch has the engine").shows_default();
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return replay(*options); }};
}

}  // namespace weft::platforms
