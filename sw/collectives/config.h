// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/config/named.h"
#include "hw/core/fields.h"
#include "sw/collectives/tree/tree_broadcast.h"
#include "sw/compression/scopes.h"

namespace weft::collectives {

/// The algorithm that takes the place of others where they cannot be (sw/collectives/ring).
inline constexpr std::string_view kRingAlgorithm = "ring";

/// A collective algorithm by its name, which is one of algorithms() (sw/collectives/algorithm.h).
struct Algorithm;
[[nodiscard]] const Names& registered(const Algorithm* kind);
using AlgorithmName = NameOf<Algorithm>;

/// NCCL's (NCCL_PROTO), of rings and trees. In LL each word has a flag, so that twice the bytes travel with fewer
/// waits, in LL128 each line of 128 bytes. `automatic` is what the cost model says, or simple where the algorithm is
/// not `nccl`.
enum class Protocol { kAutomatic, kSimple, kLl, kLl128 };
inline EnumNames<Protocol> enum_names(Protocol /*tag*/) {
  return {{"automatic", Protocol::kAutomatic},
          {"simple", Protocol::kSimple},
          {"ll", Protocol::kLl},
          {"ll128", Protocol::kLl128}};
}

/// How collectives run: `collectives` of a platform. What several algorithms follow stands here, what is one's own in
/// its section.
struct CommunicatorConfig {
  AlgorithmName algorithm;
  int channels = 0;
  std::vector<int> order;
  Bytes chunk = Bytes(512 << 10);
  int slots = 16;
  int slice = 0;
  int queue_pairs = 1;
  Protocol protocol = Protocol::kAutomatic;
  Bytes piece = Bytes(4 << 20);
  int pieces = 16;
  Time entry;
  BroadcastConfig broadcast;
  compression::MessageCompression compression;
  Sections sections{names_for<Algorithm>()};

  /// Of that many slots.
  [[nodiscard]] int most_slice(int of) const { return slice > 0 ? slice : std::max(of / 4, 1); }

  /// The section of this type.
  template <typename C>
  C& of() {
    return sections.of<C>();
  }
  template <typename C>
  [[nodiscard]] const C& of() const {
    return sections.of<C>();
  }

  template <typename Visitor>
  void fields(Visitor&& visit) {
    const std::string algorithms = names_for<Algorithm>().doc();
    visit("algorithm", algorithm, algorithms);
    visit("channels", channels,
          "Rings side by side, each with its own part of every block; 0: 4 if nodes have one accelerator each, else as "
          "many as a node has, from 8 to 32, or 8 within one node",
          Range{0, 64});
    visit("order", order,
          "ring: order in which it passes each group of so many neighbouring members, as positions in the group; "
          "empty: by their numbers",
          Range{0, 4095});
    visit("chunk", chunk, "Bytes of a staging slot, and of the longest message of a tree", Range{256, 1 << 30});
    visit("slots", slots, "Staging slots of a chunk each, per ring and member", Range{2, 1024});
    visit("slice", slice,
          "Most chunks in a message of a ring, but for a Broadcast; at most half of the slots. 0: a quarter of the "
          "slots, "
          "as in NCCL",
          Range{0, 512});
    visit("queue_pairs", queue_pairs,
          "Queue pairs of a ring's connection between nodes. Chunks take turns on them, so that routing by hash can "
          "spread the load",
          Range{1, 128});
    visit("protocol", protocol,
          "NCCL's protocol for ring, tree and nccl. simple; ll: each word has a flag: twice the bytes, fewer waits; "
          "ll128: each line of 128 bytes has a flag of 8; automatic: the choice of NCCL's cost model with nccl, else "
          "simple");
    visit("piece", piece, "Smallest piece that in-network collectives within and across nodes pass on",
          Range{256, 1LL << 40});
    visit("pieces", pieces, "Most pieces that a buffer is cut into", Range{1, 1024});
    visit("entry", entry, "Time that the caller's library spends on a collective before its first request",
          Range{0, 1'000'000'000});
    visit("broadcast", broadcast, "Algorithm of Broadcasts, if it differs from that of other collectives");
    visit("compression", compression,
          "Messages that travel compressed: those that the compressor can take, of all traffic or of some of it");
    sections.fields(visit);
  }
};

}  // namespace weft::collectives
