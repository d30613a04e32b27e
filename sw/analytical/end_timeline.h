// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hw/core/probe.h"
#include "traces/chakra/node.h"

namespace weft::analytical {

/// Draws the nodes of the first ends from their issue to their end, on rows of an end: its CPU, its compute nodes,
/// collectives, messages (sends and receives), and remote memory where there is any.
class EndTimeline {
 public:
  EndTimeline(Probe& probe, std::uint32_t ends, bool remote_memory);

  [[nodiscard]] bool draws(std::uint32_t end) const { return end < tracks_.size(); }
  /// Of an end that it draws; a node stays where it is until it ends. Ends may share a node.
  void begin(Time now, std::uint32_t end, const chakra::Node& node) { begun_[end][&node] = now; }
  void end(Time now, std::uint32_t end, const chakra::Node& node);

 private:
  enum Row : std::uint8_t { kCompute, kCollectives, kMessages, kMemory, kCpu, kRows };
  [[nodiscard]] static Row row_of(const chakra::Node& node);
  [[nodiscard]] static SliceKind kind_of(const chakra::Node& node);

  Probe& probe_;
  std::vector<std::array<int, kRows>> tracks_;                        ///< by end
  std::vector<std::unordered_map<const chakra::Node*, Time>> begun_;  ///< by end
};

}  // namespace weft::analytical
