// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sw/collectives/algorithm.h"
#include "sw/collectives/ring/ring_group.h"

/// Rings as a communicator's configuration has them, for algorithms that stand on rings.
namespace weft::collectives {

[[nodiscard]] RingMember::Options ring_options(const CommunicatorConfig& config);

/// Members that a ring passes one after the other: of a node, or of as many neighbours as `order` has. Throws
/// ConfigError where `order` is none, or does not divide the members.
[[nodiscard]] std::vector<std::vector<int>> neighbours(const GroupSite& site);

/// The only protocol that the configuration leaves to rings and trees; nothing if it leaves it open.
[[nodiscard]] std::optional<Flags> protocol_flags(const CommunicatorConfig& config);

/// One ring through all members, node after node, once for each local position so that every interface is used; or in
/// `order`, as NCCL finds one by where accelerators and ports are in a host.
[[nodiscard]] std::unique_ptr<RingGroup> make_rings(const GroupSite& site, RingGroup::Choice choice);

}  // namespace weft::collectives
