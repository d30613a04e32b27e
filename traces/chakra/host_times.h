// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/chakra/node.h"

/// What a host spends on launching a node, as an attribute `host` of Weft's own: one thread launches all that a rank
/// does in the order of the nodes' ids, ahead of the accelerator.
namespace weft::chakra {

struct HostTimes {
  static constexpr std::int64_t kMost = 1'000'000'000'000'000;  ///< of a time: 1,000 s

  /// The host launches nothing more before a compute node has ended.
  bool waits = false;
  /// From the launch of the compute node before to the beginning of this one's, or to the end of a communication's.
  std::int64_t before_ps = 0;
  /// What is listed as a kernel may be several: from the launch of what is before to that of the first, and of the
  /// last.
  struct Kernel {
    std::int64_t first_ps = 0;
    std::int64_t last_ps = 0;

    bool operator==(const Kernel&) const = default;
  };
  /// Of a compute node. One that lists no kernels has one entry.
  std::vector<Kernel> kernels;

  bool operator==(const HostTimes&) const = default;
};

/// Nothing where the node does not say. Throws AttributeError.
[[nodiscard]] std::optional<HostTimes> host_times_of(const Node& node);
/// The node has none yet.
void set_host_times(Node& node, const HostTimes& times);

}  // namespace weft::chakra
