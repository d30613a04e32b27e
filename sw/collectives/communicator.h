// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/fields.h"
#include "sw/collectives/in_network.h"
#include "sw/collectives/ring.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// `ring`: one ring through all members, node after node, once for each local position so that every interface is used.
/// `hierarchical`: rings within nodes and rings of equal local position across nodes, one phase behind the other, node
/// block by node block. `in-network`: the switches add and copy.
enum class Algorithm { kRing, kHierarchical, kInNetwork };
inline EnumNames<Algorithm> enum_names(Algorithm /*tag*/) {
  return {
      {"ring", Algorithm::kRing}, {"hierarchical", Algorithm::kHierarchical}, {"in-network", Algorithm::kInNetwork}};
}

/// A group of ranks with the connections and staging memory of its collectives. Every member calls the same operations
/// in the same order, each on a thread of its own processor; a communicator runs one at a time.
///
/// Buffers are symmetric: the same address on every member (see MemoryMap). Block i of a buffer is part i of `size()`
/// equal parts, which differ by an element where the size does not divide.
class Communicator {
 public:
  struct Config {
    Algorithm algorithm = Algorithm::kRing;
    int channels = 0;
    Bytes chunk = Bytes(512 << 10);
    int slots = 16;
    InNetworkMember::Config in_network;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("algorithm", algorithm,
            "ring: one ring through all; hierarchical: within nodes and across them; in-network: by the switches");
      visit("channels", channels,
            "Rings side by side, each with its own part of every block; 0: 8 where nodes have more than "
            "one accelerator, else 4",
            Range{0, 64});
      visit("chunk", chunk, "What travels round a ring as one message", Range{256, 1 << 30});
      visit("slots", slots, "Staging slots of a chunk each, per ring and member", Range{2, 1024});
      visit("in_network", in_network, "The in-network algorithm");
    }
  };

  Communicator(std::vector<firmware::Rank*> ranks, const Config& config, std::string name);

  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  firmware::Rank& rank(int member) { return *ranks_[static_cast<std::size_t>(member)]; }
  /// Where block `member` of a buffer of `bytes` bytes lies.
  [[nodiscard]] Extent block(std::uint64_t bytes, int member, std::uint64_t granule) const {
    return split({0, bytes}, static_cast<std::uint64_t>(size()), static_cast<std::uint64_t>(member), granule);
  }

  /// Gathers every member's block into all of `buffer`. The own block is in place already.
  firmware::Task allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule);
  /// Sums `input` over all members and leaves the own block at `output`. The hierarchical algorithm leaves partial sums
  /// in `input`.
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                ElementType type);
  /// Sums `buffer` over all members, in place; in rings by a ReduceScatter and an Allgather.
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type);
  /// The hierarchical algorithm has none.
  [[nodiscard]] bool can_broadcast() const { return !hierarchical_; }
  /// Copies `buffer` from member `root` to all.
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes);
  /// Returns when all members have entered.
  firmware::Task barrier(int member);

 private:
  using Members = std::vector<std::unique_ptr<RingMember>>;
  /// Rings of one kind: by channel, then by position.
  struct Rings {
    std::vector<Members> channels;
    std::vector<std::vector<int>> order;  ///< member number by channel and position
  };

  [[nodiscard]] InNetworkMember::BlockMap blocks(std::uint64_t bytes, std::uint64_t granule) const;
  void make_ring(Rings& rings, const std::vector<int>& order, int channel, const std::string& name);
  RingMember& mine(const Rings& rings, int channel, int member) const;
  firmware::Task fan_out(int member, const char* what, std::vector<firmware::Task> tasks);
  [[nodiscard]] Extent channel_block(std::uint64_t bytes, int member, std::uint64_t granule, int channel,
                                     int channels) const;

  /// Node and local position of a member within this communicator.
  [[nodiscard]] std::pair<std::size_t, std::size_t> place(int member) const;
  firmware::Task hierarchical_allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule);
  firmware::Task hierarchical_reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                             ElementType type);

  std::vector<firmware::Rank*> ranks_;
  Config config_;
  std::string name_;
  bool hierarchical_ = false;
  int nodes_ = 1;
  int per_node_ = 1;
  int channels_ = 1;
  Rings flat_;
  std::vector<Rings> up_;                                   ///< by node
  std::vector<Rings> out_;                                  ///< by local position
  std::vector<std::unique_ptr<InNetworkMember>> switched_;  ///< by member; empty unless in-network
  std::vector<std::uint64_t> token_;                        ///< of a ring's barrier, by member
};

}  // namespace weft::collectives
