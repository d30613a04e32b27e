// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hw/fabric/plan.h"
#include "hw/nic/nic_config.h"
#include "sw/collectives/communicator.h"

/// Settings beside the buffers of links (hw/fabric/credit_loop.h) that leave a link idle while something is away.
namespace weft::platforms {

/// A `read_ahead` below what keeps the link busy until the host link and memory have answered, one line for people;
/// nothing where it suffices. `interface` is its place in the platform, `memory` the memory's share of a read. Payload
/// on its way is `read_ahead` rounded up to segments, two at the least; the link has the share of its rate that this is
/// of NicConfig::fitting_read_ahead().
[[nodiscard]] std::vector<std::string> describe_starved_reads(const nic::NicConfig& config, const fabric::Plan& plan,
                                                              Time memory, const std::string& interface);

/// How much of the links' rate the staging slots of rings let a ReduceScatter of a large buffer have, as
/// RingMember::reduce_scatter() passes chunks on.
///
/// Half of the slots' chunks go all the way round before the next ones, in steps of G, their time on a link that the
/// rings of C channels share. What a member sends in a step takes the slots of what it sent two steps before. The next
/// member has passed that on one step later, and is told so: the chunk goes there, from there to the one after it, the
/// acknowledgement and the slot come back. Where L(m) is the time from member m to the next, two steps take
/// 2 (L(m) + L(m + 1)) at the least, and over the whole ring a step takes three times the mean of L. A is the larger of
/// both, each per step. In the last of n - 1 steps a chunk stays and its slot is free at once, so that of those steps
///
///     (n - 1) G / ((n - 2) max(A, G) + max(L, G))
///
/// is the share. Left out: the time to add, and the firmware's, which make it less.
struct RingWindow {
  double share = 1;
  int slots = 0;     ///< that give all
  Time away;         ///< A
  Rate rate;         ///< of the slowest link between members
  Bytes window;      ///< of all slots of an interface
  std::string path;  ///< of the network, "fabric"

  /// Of rings node after node through so many members; `node` joins those of a node and may be null.
  RingWindow(const collectives::Communicator::Config& config, const fabric::Plan& network, const fabric::Plan* node,
             int members, int per_node);
};

/// The same for people where the share is below 95 %: one line, or nothing.
[[nodiscard]] std::vector<std::string> describe_starved_rings(const collectives::Communicator::Config& config,
                                                              const fabric::Plan& network, const fabric::Plan* node,
                                                              int members, int per_node);

}  // namespace weft::platforms
