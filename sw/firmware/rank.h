// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hw/memory/backing_store.h"
#include "sw/firmware/memory_map.h"
#include "sw/firmware/remote_window.h"
#include "sw/firmware/verbs.h"

namespace weft::firmware {

/// An accelerator with all that its firmware drives. The platform makes one for each accelerator of the machine.
struct Rank {
  int index = 0;  ///< in its job, whose ranks are numbered from 0; of a machine with one, as `place`
  int place = 0;  ///< in the machine
  int node = 0;   ///< which group of accelerators shares a scale-up network
  int local = 0;  ///< position in it
  Processor* processor = nullptr;
  Interface scale_out;
  Interface scale_up;  ///< its nic is null where a node has one accelerator
  Interface offload;   ///< scale_out's NIC as its own cores see it; its processor is null where it has none
  CommandWindow accelerator;
  int copy_engines = 1;
  int dma_engines = 0;  ///< beside them, numbered behind them
  Time dma_start;       ///< of each copy by one of these to another accelerator
  int streams = 1;      ///< of the accelerator's commands
  bool staged = false;  ///< collectives are kernels of its cores: what comes in rings passes through their buffers
  Time relay;           ///< from such a kernel by a thread of the host to scale_out, and from there to another kernel
  Time word_relay;      ///< the same of words with flags, which the other kernel polls
  Time line_relay;      ///< and of lines with flags
  Time line_latency;    ///< of a hop of its lines with flags, beyond one of words with flags
  memory::BackingStore* store = nullptr;  ///< debug access to its memory; null when data is off
  MemoryMap memory{Bytes()};
  RemoteWindow remote;                ///< of memory beyond its own, where the machine has any
  std::int64_t multicast_came = 0;    ///< chunks of multicasts that came as such
  std::int64_t multicast_missed = 0;  ///< and that it had to fetch
  /// What collectives have followed of their configuration: bits that are theirs.
  std::uint64_t followed = 0;
  /// Bits of the traffic that there was, by compression::Traffic, and of that some of which travelled compressed.
  std::uint32_t traffic = 0;
  std::uint32_t compressed = 0;
  /// By which algorithms they ran that this rank was the first member of.
  std::vector<std::string_view> algorithms;
  /// By group, messages that others have written to it and that its firmware has not asked for (collectives::Mesh).
  std::map<std::string, int> unawaited;

  /// The interface that reaches `peer`.
  [[nodiscard]] const Interface& towards(const Rank& peer) const {
    return node == peer.node && scale_up.nic != nullptr ? scale_up : scale_out;
  }
};

/// What `ranks` allocate next, in the same order, has the same address on all of them, whatever each has allocated
/// before: that address.
inline std::uint64_t align_memory(const std::vector<Rank*>& ranks) {
  std::uint64_t address = 0;
  for (const Rank* rank : ranks) address = std::max(address, rank->memory.used());
  for (Rank* rank : ranks) rank->memory.skip_to(address);
  return address;
}

/// Memory at the same address on all of `ranks`, which may have allocated differently before.
inline std::uint64_t allocate_together(const std::vector<Rank*>& ranks, const std::string& what, std::uint64_t bytes) {
  const std::uint64_t address = align_memory(ranks);
  for (Rank* rank : ranks) rank->memory.allocate(what, bytes);
  return address;
}

}  // namespace weft::firmware
