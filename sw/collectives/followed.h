// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/element.h"

namespace weft::collectives {

/// What a rank's collectives have followed of their configuration, a bit each of firmware::Rank::followed: so that who
/// sets a field that none of them reads can be told.
enum class Followed : std::uint64_t {
  kRings = 1U << 0,             ///< rings, trees, PAT: channels, chunk, slots, queue_pairs, protocol, order, relay
  kPieces = 1U << 1,            ///< in-network within nodes and across them
  kAllReduce = 1U << 2,         ///< in-network: a long one, by the pattern that is set
  kScatter = 1U << 3,           ///< in-network: ReduceScatters
  kStreaming = 1U << 4,         ///< in-network: the streaming tree
  kMessages = 1U << 5,          ///< in-network: what is cut into chunks
  kStaging = 1U << 6,           ///< in-network: buffers of an AllReduce
  kCouldStage = 1U << 7,        ///< in-network: an AllReduce that staging would take
  kSums = 1U << 8,              ///< in-network: any sum of data
  kLock = 1U << 9,              ///< in-network: a sum that goes up the streaming tree once it is locked
  kNvls = 1U << 10,             ///< nccl: an AllReduce that goes another way with `nvls` than without
  kCollnet = 1U << 11,          ///< the same of `collnet`
  kNvlsSteps = 1U << 12,        ///< nccl: an AllReduce by NVLS or NVLSTree
  kFull = 1U << 13,             ///< trees for which switches had no room
  kLowLatency = 1U << 14,       ///< in-network: a low-latency tree, if for an empty sum
  kLowLatencyBytes = 1U << 15,  ///< in-network: a sum of data in one
  kMulticast = 1U << 16,        ///< by the library of multicast
  kOrder = 1U << 17,            ///< dimensions: plans of phases that could be in another order
  kSeveral = 1U << 18,          ///< dimensions: a collective that began beside another of its communicator
  kDimensions = 1U << 19,       ///< by the library of dimensions
  kBroadcastTree = 1U << 20,    ///< a Broadcast down a tree of BroadcastConfig
  kFp32 = 1U << 21,             ///< in-network: a sum in a streaming tree of this type; others follow in their order
  kPat = 1U << 25,              ///< nccl: one of blocks that goes another way with `pat` than without
  kSlots = 1U << 26,            ///< rings without flags, which use all their `slots`
  kLaneSlots = 1U << 27,        ///< trees and rings with flags, which use SlotLane::kMostUnderWay at the most
  kChunk = 1U << 28,            ///< what is cut into chunks of `chunk` at the most: all but rings with flags
  kVersion = 1U << 30,          ///< nccl: what another release does otherwise
  kCopyEngines = 1U << 31,      ///< nccl: a collective by copy engines
  kChannels = 1U << 29,         ///< trees, PAT and rings with flags: bytes for several `channels`
  kSymmetric = 1ULL << 32,      ///< nccl: a kernel for symmetric windows
};
inline constexpr std::uint64_t kAllFollowed = ~std::uint64_t{0};

/// Whether anything was in switches, or was to be.
[[nodiscard]] constexpr bool has_followed_switches(std::uint64_t followed) {
  constexpr Followed kOfSwitches[] = {Followed::kPieces,    Followed::kAllReduce, Followed::kScatter,
                                      Followed::kStreaming, Followed::kMessages,  Followed::kStaging,
                                      Followed::kSums,      Followed::kLock,      Followed::kNvlsSteps,
                                      Followed::kFull,      Followed::kLowLatency};
  for (const Followed each : kOfSwitches) {
    if ((followed & static_cast<std::uint64_t>(each)) != 0) return true;
  }
  return false;
}

/// A sum of this type in a streaming tree.
[[nodiscard]] constexpr Followed followed_of(ElementType type) {
  return static_cast<Followed>(static_cast<std::uint64_t>(Followed::kFp32) << static_cast<unsigned>(type));
}

inline void follow(std::uint64_t& followed, Followed what) {
  followed |= static_cast<std::uint64_t>(what);
}
[[nodiscard]] inline bool has_followed(std::uint64_t followed, Followed what) {
  return (followed & static_cast<std::uint64_t>(what)) != 0;
}

}  // namespace weft::collectives
