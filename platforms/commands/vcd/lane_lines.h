// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/core/element.h"
#include "traces/vcd/block_trace.h"

/// What came to a reduction engine in a waveform, in the order in which a lane can add it up.
namespace weft::platforms {

/// A beat of each input that takes part.
struct LaneLine {
  ElementType kind = ElementType::kFp32;
  std::uint32_t children = 0;  ///< which take part; child i is bit i
  std::uint32_t adds = 0;
  bool last = false;
  std::uint32_t id = 0;
  /// By input; null where it does not take part, or abstains with fewer beats than the others.
  std::vector<const vcd::Beat*> beats;
};

struct LaneLines {
  std::vector<LaneLine> lines;
  std::size_t chunks = 0;
};

/// Chunk by chunk, as they are complete: the n-th packet with an id belongs to the n-th with it of each other input;
/// where there are no ids, the n-th packet. Points into `trace`. Throws traces::FormatError of what no lane could add.
LaneLines lines_of(const vcd::BlockTrace& trace);

/// The words of a beat's data, the first one lowest; nothing if a bit is not known.
std::optional<std::vector<std::uint32_t>> words_of(const std::string& bits);

}  // namespace weft::platforms
