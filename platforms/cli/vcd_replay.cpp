// SPDX-License-Identifier: Apache-2.0
// weft vcd replay: what came to a block in a waveform comes to it again.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "platforms/cli/command.h"
#include "platforms/cli/output.h"
#include "platforms/cli/reduction_bench.h"
#include "platforms/cli/vcd_blocks.h"
#include "platforms/config/document.h"
#include "platforms/config/text.h"
#include "platforms/machine/wave_file.h"
#include "traces/format_error.h"

namespace weft::platforms {
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

/// A packet of one input.
struct Operand {
  std::size_t first = 0;  ///< of its beats
  std::size_t end = 0;
};

/// The packets of equal id, one from each input that takes part.
struct Chunk {
  std::string id;
  std::map<std::size_t, Operand> operands;  ///< by input
  std::uint64_t complete = 0;               ///< cycle in which the last input offered its first beat
};

[[noreturn]] void refuse(const vcd::BlockTrace& trace, const std::string& expected) {
  throw traces::FormatError(trace.file, 0, expected);
}

/// In the order in which they are complete. The n-th packet with an id belongs to the n-th with it of each other input;
/// where there are no ids, the n-th packet.
std::vector<Chunk> chunks_of(const vcd::BlockTrace& trace) {
  std::map<std::pair<std::string, std::size_t>, Chunk> by_id;
  for (std::size_t input = 0; input < trace.inputs.size(); ++input) {
    const std::vector<vcd::Beat>& beats = trace.inputs[input];
    std::map<std::string, std::size_t> seen;
    for (std::size_t first = 0; first < beats.size();) {
      std::size_t end = first;
      while (end < beats.size() && !beats[end].last) ++end;
      if (end == beats.size()) break;  // the file ends within it
      ++end;
      for (std::size_t b = first; b < end; ++b) {
        if (beats[b].id == beats[first].id) continue;
        refuse(trace, fmt::format("expected one id in all beats of a packet, got another one at input {} in cycle {}",
                                  input, beats[b].taken));
      }
      Chunk& chunk = by_id[{beats[first].id, seen[beats[first].id]++}];
      chunk.id = beats[first].id;
      chunk.operands[input] = {first, end};
      chunk.complete = std::max(chunk.complete, beats[first].offered);
      first = end;
    }
  }
  std::vector<Chunk> all;
  for (auto& [key, chunk] : by_id) all.push_back(std::move(chunk));
  std::stable_sort(all.begin(), all.end(), [](const Chunk& a, const Chunk& b) { return a.complete < b.complete; });
  if (all.empty())
    refuse(trace, "expected a whole packet at an input: are clock, reset, valid and ready those of the block?");
  return all;
}

/// Nothing if a bit is not known.
std::optional<std::vector<std::byte>> bytes_of(const std::string& bits) {
  std::vector<std::byte> bytes(bits.size() / 8);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    const char bit = bits[bits.size() - 1 - i];
    if (bit != '0' && bit != '1') return std::nullopt;
    if (bit == '1') bytes[i / 8] |= std::byte{1} << (i % 8);
  }
  return bytes;
}

fabric::ReductionEngine::Config engine_of(const ReplayOptions& options, const vcd::BlockTrace& trace) {
  const auto bytes = static_cast<int>(trace.data_bits / 8);
  fabric::ReductionEngine::Config config;
  config.clock = clock_of(trace);
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
  // Pins as wide as the waveform's.
  config.low_latency_bytes = bytes;
  return config;
}

ReductionBench::Operand operand_of(const vcd::BlockTrace& trace, const Chunk& chunk, std::size_t input,
                                   const std::vector<std::uint16_t>& children, Frequency clock) {
  const std::vector<vcd::Beat>& beats = trace.inputs[input];
  const Operand& packet = chunk.operands.at(input);
  const vcd::Beat& first = beats[packet.first];
  const vcd::Beat& last = beats[packet.end - 1];
  ReductionBench::Operand operand;
  operand.at = cycle_time(static_cast<std::int64_t>(first.offered), clock);
  operand.tail_lag = cycle_time(static_cast<std::int64_t>(last.offered + 1), clock) - operand.at;
  operand.port = static_cast<std::uint16_t>(input);
  operand.children = children;
  operand.chunk = static_cast<std::uint32_t>(number_of(trace, first.id, "id"));
  if (!first.kind.empty()) operand.type = type_of(trace, first.kind);
  bool known = true;
  for (std::size_t b = packet.first; b < packet.end; ++b) {
    if (beats[b].adds != first.adds) {
      refuse(trace, fmt::format("expected adds to be the same in all beats of a packet, got another one at input {} in "
                                "cycle {}: a model adds packets, not beats",
                                input, beats[b].taken));
    }
    if (!first.adds) continue;
    operand.bytes += static_cast<std::uint32_t>(trace.data_bits / 8);
    const auto bytes = bytes_of(beats[b].data);
    known = known && bytes;
    if (known) operand.data.insert(operand.data.end(), bytes->begin(), bytes->end());
  }
  if (!known) operand.data.clear();
  return operand;
}

/// In TLM form: an engine and what comes to it.
std::int64_t replay_model(const ReplayOptions& options, const vcd::BlockTrace& trace,
                          const std::vector<Chunk>& chunks) {
  const fabric::ReductionEngine::Config config = engine_of(options, trace);
  Dispatcher dispatcher("dispatcher");
  ReductionBench bench("reduction", config, trace.inputs.size(), dispatcher);
  std::map<std::string, std::uint64_t> open_until;
  for (const Chunk& chunk : chunks) {
    std::vector<std::uint16_t> children;
    std::uint64_t first = UINT64_MAX;
    for (const auto& [input, operand] : chunk.operands) {
      children.push_back(static_cast<std::uint16_t>(input));
      first = std::min(first, trace.inputs[input][operand.first].offered);
    }
    const auto before = open_until.find(chunk.id);
    if (before != open_until.end() && first <= before->second) {
      refuse(trace,
             fmt::format("expected id {} not to come again in cycle {}, when an input still lacks a packet with it",
                         chunk.id, first));
    }
    open_until[chunk.id] = chunk.complete;
    for (const std::uint16_t input : children) bench.give(operand_of(trace, chunk, input, children, config.clock));
  }
  WaveFile waves(options.vcd, {"*"}, dispatcher, /*free_clocks=*/true);
  bench.record(waves);
  sc_core::sc_start();
  waves.close(bench.last_sum() + cycle_time(4, config.clock));
  return bench.sums();
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
std::uint64_t write_stimulus(const ReplayOptions& options, const vcd::BlockTrace& trace,
                             const std::vector<Chunk>& chunks) {
  constexpr std::uint64_t kLongestGap = 255;
  constexpr std::uint64_t kLongestStall = 65535;
  std::string text;
  std::uint64_t lines = 0;
  std::uint64_t from = 0;  // the first cycle in which the line could be offered
  for (const Chunk& chunk : chunks) {
    std::size_t beats = 0;
    std::uint32_t children = 0;
    for (const auto& [input, operand] : chunk.operands) {
      beats = std::max(beats, operand.end - operand.first);
      children |= 1U << input;
    }
    for (std::size_t b = 0; b < beats; ++b, ++lines) {
      std::uint32_t adds = 0;
      std::string kind;
      std::string gaps;
      std::string data;
      std::uint64_t joined = from;
      for (std::size_t input = trace.inputs.size(); input-- > 0;) {
        const auto found = chunk.operands.find(input);
        const std::size_t place = found == chunk.operands.end() ? 0 : found->second.first + b;
        const bool there = found != chunk.operands.end() && place < found->second.end;
        const vcd::Beat* const beat = there ? &trace.inputs[input][place] : nullptr;
        // One that abstains has a beat for a packet in a model, and one for each of the others in RTL.
        const bool adds_beat = beat != nullptr && beat->adds;
        const std::uint64_t gap = beat == nullptr || beat->offered <= from ? 0 : beat->offered - from;
        gaps += fmt::format("{:02x}", std::min(gap, kLongestGap));
        if (beat != nullptr) joined = std::max(joined, beat->offered);
        if (beat != nullptr && !beat->kind.empty()) kind = beat->kind;
        if (!adds_beat) {
          if (beat == nullptr && found != chunk.operands.end() && trace.inputs[input][found->second.first].adds) {
            refuse(trace, fmt::format("expected as many beats of input {} as of others for id {}", input, chunk.id));
          }
          data += std::string(trace.data_bits / 4, '0');
          continue;
        }
        adds |= 1U << input;
        if (!bytes_of(beat->data)) {
          refuse(trace, fmt::format("expected known data at input {} in cycle {}: a platform has them with --data",
                                    input, beat->taken));
        }
        data += hex(beat->data);
      }
      std::uint64_t stall = 0;
      if (lines < trace.output.size()) stall = trace.output[lines].taken - trace.output[lines].offered;
      text += fmt::format(
          "{:x} {:x} {:x} {} {:x} {:x} {:x} {}\n", kind.empty() ? 0 : static_cast<int>(type_of(trace, kind)), children,
          adds, gaps, std::min(stall, kLongestStall), b + 1 == beats ? 1 : 0, number_of(trace, chunk.id, "id"), data);
      from = joined + 1;
    }
  }
  write_file(options.stimulus, text);
  return lines;
}

int replay(const ReplayOptions& options) {
  if (options.vcd.empty() && options.stimulus.empty()) {
    throw UsageError("vcd replay: expected --vcd FILE for a run of the model, or --stimulus FILE for RTL");
  }
  const vcd::BlockTrace trace = options.block.read(options.file, true);
  if (trace.data_bits == 0 || trace.data_bits % 8 != 0) {
    throw UsageError("--input: expected data of whole bytes, which says how wide a beat is");
  }
  if (trace.inputs.size() > 32) throw UsageError("--input: expected at most 32 inputs");
  const std::vector<Chunk> chunks = chunks_of(trace);
  nlohmann::ordered_json result = {{"file", options.file}, {"inputs", trace.inputs.size()}, {"chunks", chunks.size()}};
  std::string text = fmt::format("{}: {} chunks from {} inputs\n", options.file, chunks.size(), trace.inputs.size());
  if (!options.stimulus.empty()) {
    result["beats"] = write_stimulus(options, trace, chunks);
    text += fmt::format("wrote {}, {} beats for tests/rtl/lane_tb.sv with CHILDREN={} and BYTES={}\n", options.stimulus,
                        result["beats"].get<int>(), trace.inputs.size(), trace.data_bits / 8);
  }
  if (!options.vcd.empty()) {
    result["sums"] = replay_model(options, trace, chunks);
    text += fmt::format("wrote {}, {} sums of the model at reduction.out_*\n", options.vcd, result["sums"].get<int>());
  }
  if (options.json) {
    print_json(result);
  } else {
    print(text);
  }
  return kDone;
}

}  // namespace

std::function<int()> add_replay(CLI::App& parent) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* app = parent.add_subcommand(
      "replay", "What came to a reduction engine in a waveform comes to the model, or to RTL, again");
  app->add_option("WAVE", options->file, "A VCD file")->required();
  options->block.add_to(*app, false);
  app->add_option("--vcd", options->vcd, "Runs the model, and writes its waveform, reduction.*")->type_name("FILE");
  app->add_option("--stimulus", options->stimulus, "Writes the beats for tests/rtl/lane_tb.sv")->type_name("FILE");
  app->add_option("--patch", options->patches, "What `calibrate` wrote: values of the engine; can be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app->add_option("--set", options->overrides, "path=value: overrides a value of the engine; can be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  app->add_option("--at", options->at, "Where a patch has the engine")->capture_default_str();
  app->add_flag("--json", options->json, "Print JSON");
  return [options] { return replay(*options); };
}

}  // namespace weft::platforms
