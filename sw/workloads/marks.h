// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace weft::workloads {

/// Parts of a rank's graph that come one after the other and may be alike.
enum class Repeated : std::uint8_t {
  kSteps,
  /// A forward and a backward pass of each chunk of a stage, as many as it takes for the order of chunks to come again.
  kMicrobatches,
  kForwardBlocks,  ///< where the pipeline has one stage
  kBackwardBlocks,
};
inline constexpr int kRepeated = 4;

/// Where such a part begins or ends, between two nodes. A part ends as well where the next of its kind begins.
struct Mark {
  Repeated what = Repeated::kSteps;
  bool begins = true;
  /// The same for the same part on all ranks; parts in a row have numbers in a row.
  std::int64_t number = 0;
  int step = 0;
  int covers = 1;  ///< microbatches of a part
  /// By which tags of messages between stages are higher in the next part, to the end of the step; 0: there are none.
  std::int64_t tags = 0;
};
using TakeMark = std::function<void(const Mark&)>;

}  // namespace weft::workloads
