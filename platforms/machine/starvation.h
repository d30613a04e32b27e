// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hw/fabric/topology/plan.h"
#include "hw/nic/nic_config.h"
#include "platforms/machine/machine.h"
#include "platforms/machine/ring_model.h"

/// Settings beside the buffers of links (hw/fabric/credit_loop.h) that leave a link idle while something is away.
namespace weft::platforms {

/// A `read_ahead` below what keeps the link busy until the host link and memory have answered, one line for people;
/// nothing where it suffices. `interface` is its place in the platform, `memory` the memory's share of a read. Payload
/// on its way is `read_ahead` rounded up to segments, two at the least: the link has the share of its rate at which it
/// sends so much in the time of a read.
[[nodiscard]] std::vector<std::string> describe_starved_reads(const nic::NicConfig& config, const fabric::Plan& plan,
                                                              Time memory, const std::string& interface);

/// What rings through all ranks, node after node, do with their staging slots.
struct RingUse {
  bool sums = true;     ///< ReduceScatters, of an AllReduce too
  bool gathers = true;  ///< Allgathers and Broadcasts, which have slots where accelerators share their cores
};

/// The rings of `collectives` on such a machine as RingModel replays them: 16 neighbours stand for longer rings, and up
/// to four rings for all that share an interface. `node` joins those of a node and may be null. Left out: memory and
/// cores that other things keep busy, and that interfaces send what several rings ask for in turns, packet by packet.
/// What runs have is up to 12 % less.
[[nodiscard]] RingModel ring_model(const MachineConfig& config, const fabric::Plan& network, const fabric::Plan* node);

/// How much of the links' rate staging slots let large collectives by rings have, where that is less than 95 %: a line
/// each, with the number of slots that suffices.
[[nodiscard]] std::vector<std::string> describe_starved_rings(const MachineConfig& config, const fabric::Plan& network,
                                                              const fabric::Plan* node, RingUse use);

/// Rings that pass a node in one order, on links that join each pair of its accelerators: most links carry nothing. A
/// line for people, or none.
[[nodiscard]] std::vector<std::string> describe_idle_pairs(const MachineConfig& config, std::uint64_t followed);

/// Packets of Ultra Ethernet whose entropy no switch follows although there are several paths. A line for people, or
/// none.
[[nodiscard]] std::vector<std::string> describe_unsprayed(const nic::NicConfig& nic, const fabric::Plan& network,
                                                          const std::string& interface);

/// A `trim` that no queue can reach. A line for people, or none.
[[nodiscard]] std::vector<std::string> describe_idle_trimming(const fabric::Plan& network);

/// Marks that begin where packets are already cut, of which `nscc` hears nothing. A line for people, or none.
[[nodiscard]] std::vector<std::string> describe_late_marks(const nic::NicConfig& nic, const fabric::Plan& network);

}  // namespace weft::platforms
