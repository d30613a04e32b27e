// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/vcd/lane_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "platforms/commands/vcd/blocks.h"
#include "traces/files/format_error.h"

namespace weft::platforms {
namespace {

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

LaneLine line_of(const vcd::BlockTrace& trace, const Chunk& chunk, std::size_t b, bool last) {
  LaneLine line;
  line.last = last;
  line.id = static_cast<std::uint32_t>(number_of(trace, chunk.id, "id"));
  line.beats.resize(trace.inputs.size());
  for (const auto& [input, operand] : chunk.operands) {
    line.children |= 1U << input;
    const bool there = operand.first + b < operand.end;
    const vcd::Beat* const beat = there ? &trace.inputs[input][operand.first + b] : nullptr;
    line.beats[input] = beat;
    // One that abstains has a beat for a packet in a model, and one for each of the others in RTL.
    if (beat == nullptr && trace.inputs[input][operand.first].adds) {
      refuse(trace, fmt::format("expected as many beats of input {} as of others for id {}", input, chunk.id));
    }
    if (beat == nullptr) continue;
    if (beat->adds) line.adds |= 1U << input;
    if (beat->adds && beat->data.size() != trace.data_bits) {
      refuse(trace, fmt::format("expected {} bits of data at input {}, as at the first, got {}", trace.data_bits, input,
                                beat->data.size()));
    }
    if (!beat->kind.empty()) line.kind = type_of(trace, beat->kind);
  }
  return line;
}

}  // namespace

LaneLines lines_of(const vcd::BlockTrace& trace) {
  const std::vector<Chunk> chunks = chunks_of(trace);
  LaneLines all;
  all.chunks = chunks.size();
  for (const Chunk& chunk : chunks) {
    std::size_t beats = 0;
    for (const auto& [input, operand] : chunk.operands) beats = std::max(beats, operand.end - operand.first);
    for (std::size_t b = 0; b < beats; ++b) all.lines.push_back(line_of(trace, chunk, b, b + 1 == beats));
  }
  return all;
}

std::optional<std::vector<std::uint32_t>> words_of(const std::string& bits) {
  std::vector<std::uint32_t> words((bits.size() + 31) / 32);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const char bit = bits[bits.size() - 1 - i];
    if (bit != '0' && bit != '1') return std::nullopt;
    if (bit == '1') words[i / 32] |= 1U << (i % 32);
  }
  return words;
}

}  // namespace weft::platforms
