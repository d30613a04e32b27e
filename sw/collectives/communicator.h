// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/fields.h"
#include "sw/collectives/group.h"
#include "sw/collectives/in_network/in_network.h"
#include "sw/collectives/in_network/two_level.h"
#include "sw/collectives/line/dimensional.h"
#include "sw/collectives/multicast/multicast.h"
#include "sw/collectives/nccl_choice.h"
#include "sw/collectives/pat/pat_group.h"
#include "sw/collectives/tree/tree_broadcast.h"
#include "sw/collectives/tree/tree_group.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// `ring`: one ring through all members, node after node, once for each local position so that every interface is used;
/// or in `order`, as NCCL finds one by where accelerators and ports are in a host. `tree`: the same, but AllReduces
/// through double binary trees over the nodes and chains within them. `nccl`: either, or by the switches or PAT
/// (NcclConfig), as NCCL's cost model says, in the protocol that it says. `hierarchical`: rings within nodes and rings
/// of equal local position across nodes, one phase behind the other, node block by node block. `in-network`: the
/// switches add and copy; with several members to a node, within the nodes and across them, by rings where one of the
/// two networks cannot. `multicast`: Allgather and Broadcast by reliable multicast among the interfaces of the network
/// that joins the nodes. `dimensions`: chunks pass the machine's dimensions one after the other, each with an algorithm
/// of its own.
enum class Algorithm { kRing, kTree, kNccl, kHierarchical, kInNetwork, kMulticast, kDimensions };
inline EnumNames<Algorithm> enum_names(Algorithm /*tag*/) {
  return {{"ring", Algorithm::kRing},
          {"tree", Algorithm::kTree},
          {"nccl", Algorithm::kNccl},
          {"hierarchical", Algorithm::kHierarchical},
          {"in-network", Algorithm::kInNetwork},
          {"multicast", Algorithm::kMulticast},
          {"dimensions", Algorithm::kDimensions}};
}

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

/// What `nccl` may take beside rings and trees: for AllReduces, where switches reduce, NCCL's NVLS, NVLSTree and
/// CollNet; for Allgathers and ReduceScatters PAT.
struct NcclConfig {
  bool nvls = true;
  int nvls_channels = 16;
  bool collnet = false;
  bool pat = true;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("nvls", nvls,
          "AllReduces of at least three accelerators of a node by its switches, where these reduce (NCCL_NVLS_ENABLE); "
          "NVLSTree on several nodes");
    visit("nvls_channels", nvls_channels,
          "Channels of its staging buffers: 16 on Hopper, 32 on Blackwell (NVLS_NCHANNELS of NCCL 2.26)",
          Range{1, 1024});
    visit("collnet", collnet,
          "AllReduces of several nodes by the switches that join them, where these reduce (NCCL_COLLNET_ENABLE, which "
          "is off where nobody sets it)");
    visit(
        "pat", pat,
        "Allgathers and ReduceScatters by PAT, where each node has one accelerator (NCCL_PAT_ENABLE, which is on from "
        "NCCL 2.23 on; false for older ones)");
  }
};

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
    std::vector<int> order;
    Bytes chunk = Bytes(512 << 10);
    int slots = 16;
    int queue_pairs = 1;
    Protocol protocol = Protocol::kAutomatic;
    Bytes piece = Bytes(4 << 20);
    int pieces = 16;
    Time entry;
    BroadcastConfig broadcast;
    NcclConfig nccl;
    InNetworkMember::Config in_network;
    MulticastConfig multicast;
    DimensionsConfig dimensions;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit(
          "algorithm", algorithm,
          "ring: one ring through all; tree: that, and AllReduces through trees; nccl: either, or by the switches, "
          "as NCCL would, in the protocol that it would take; hierarchical: within nodes and across them; in-network: "
          "by the switches; "
          "multicast: reliable multicast; dimensions: by an algorithm in each dimension");
      visit("channels", channels,
            "Rings side by side, each with its own part of every block; 0: 8 where nodes have more than "
            "one accelerator, else 4",
            Range{0, 64});
      visit("order", order,
            "ring: positions among so many neighbouring members each, in the order in which it passes them; empty: "
            "their own",
            Range{0, 4095});
      visit("chunk", chunk, "What travels round a ring as one message", Range{256, 1 << 30});
      visit("slots", slots, "Staging slots of a chunk each, per ring and member", Range{2, 1024});
      visit("queue_pairs", queue_pairs,
            "Of a ring's connection between nodes: its chunks take turns, so that routing by hash has more to spread",
            Range{1, 128});
      visit("protocol", protocol,
            "ring, tree, nccl: of NCCL's. simple; ll: each word has a flag, so that twice the bytes travel with fewer "
            "waits; ll128: each line of 128 bytes has one of 8; automatic: as NCCL's cost model says, or simple unless "
            "the algorithm is nccl");
      visit("piece", piece, "The least that in-network collectives within and across nodes hand on at a time",
            Range{256, 1LL << 40});
      visit("pieces", pieces, "How many such pieces a buffer is cut into at the most", Range{1, 1024});
      visit("entry", entry, "What the caller's library spends on a collective before its first request",
            Range{0, 1'000'000'000});
      visit("broadcast", broadcast, "By what a Broadcast runs, if not as the other collectives");
      visit("nccl", nccl, "What nccl may take beside rings and trees");
      visit("in_network", in_network, "The in-network algorithm");
      visit("multicast", multicast, "The multicast algorithm");
      visit("dimensions", dimensions, "The algorithm over dimensions");
    }
  };

  /// Throws ConfigError where `order` is none, or does not divide the members.
  Communicator(std::vector<firmware::Rank*> ranks, const Config& config, std::string name);

  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  firmware::Rank& rank(int member) { return *ranks_[static_cast<std::size_t>(member)]; }
  /// Where block `member` of a buffer of `bytes` bytes lies.
  [[nodiscard]] Extent block(std::uint64_t bytes, int member, std::uint64_t granule) const {
    return split({0, bytes}, static_cast<std::uint64_t>(size()), static_cast<std::uint64_t>(member), granule);
  }
  /// What is not as the configuration asked for, and why; empty if all is. It knows the collectives that were begun.
  [[nodiscard]] std::string remark() const;
  /// By which algorithm one of so many bytes runs: `nccl` chooses by the size, and another takes the place of one that
  /// has no such collective.
  [[nodiscard]] std::string_view algorithm_of(dimensions::Operation what, std::uint64_t bytes) const;
  [[nodiscard]] std::string_view algorithm_of(Rooted what) const;
  [[nodiscard]] std::string_view algorithm_of_barrier() const;
  /// What the multicast algorithm has done for all members so far; nothing with another.
  [[nodiscard]] std::optional<MulticastCounters> multicast_counters() const;
  /// When a member ended the phases of its latest multicast; nothing with another algorithm.
  [[nodiscard]] std::optional<MulticastPhases> multicast_phases(int member) const;

  /// Throws ConfigError for a collective that the algorithm has not.
  void check(dimensions::Operation operation) const { group_->check(operation); }
  void check_barrier() const { group_->check(dimensions::Operation::kAllReduce); }
  /// Gathers every member's block into all of `buffer`. The own block is in place already.
  firmware::Task allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule);
  /// Sums `input` over all members and leaves the own block at `output`. With several nodes of several members, partial
  /// sums may be left in `input`.
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                ElementType type);
  /// Sums `buffer` over all members, in place; in rings by a ReduceScatter and an Allgather, or through trees.
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type);
  /// Part i of `input` goes to member i, whose `output` has it as part `member`: equal parts, what does not divide is
  /// left. Over dimensions alone.
  firmware::Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes);
  /// Whether the algorithm has such a collective. A Broadcast is all but hierarchical's, and BroadcastConfig's trees
  /// bring one to any; the others are of dimensions alone.
  [[nodiscard]] bool has(Rooted what) const {
    return (what == Rooted::kBroadcast && broadcast_ != nullptr) || (has_broadcast_ && group_->has(what));
  }
  /// Copies `buffer` from member `root` to all.
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes);
  /// See Group::rooted().
  firmware::Task rooted(int member, Rooted what, int root, std::uint64_t buffer, std::uint64_t bytes, ElementType type);
  /// Returns when all members have entered.
  firmware::Task barrier(int member);

 private:
  firmware::Processor::Delay enter(int member) { return rank(member).processor->delay(config_.entry); }
  [[nodiscard]] std::unique_ptr<Group> make(Algorithm algorithm);
  [[nodiscard]] std::unique_ptr<Group> rings() const;
  /// With what switches could do for it, whatever NcclConfig says.
  [[nodiscard]] NcclGroup nccl_group() const;
  /// By `group`, if the algorithm is `nccl`.
  [[nodiscard]] static NcclWay way(const NcclGroup& group, Algorithm algorithm, NcclCollective what,
                                   std::uint64_t bytes);
  firmware::Task sum(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type);
  /// Which of NcclConfig a collective that goes this way follows.
  void follow_nccl(NcclCollective what, NcclWay how, std::uint64_t bytes);
  /// Whether one of blocks goes by PAT; `member` begins it.
  bool goes_by_pat(int member, std::uint64_t bytes);
  [[nodiscard]] PatGroup& pat();
  [[nodiscard]] TreeGroup& trees();
  /// What sums by the switches as `algorithm` has it; nothing where they have no room for it, which stays so.
  [[nodiscard]] Group* switches(NcclAlgorithm algorithm);
  [[nodiscard]] std::unique_ptr<Group> in_network() const;
  /// Of the in-network algorithm.
  [[nodiscard]] TwoLevel::Options two_level_options() const;
  /// A collective begins: keeps what remark() says of its algorithm.
  void note(std::string_view what, std::string_view runs);

  std::vector<firmware::Rank*> ranks_;
  Config config_;
  std::string name_;
  int channels_ = 1;
  bool has_broadcast_ = true;
  std::string remark_;
  Algorithm group_algorithm_ = Algorithm::kRing;                     ///< of `group_`, or of its sums
  std::map<std::string_view, std::set<std::string_view>> replaced_;  ///< what ran by another than `algorithm`, by that
  std::vector<std::uint64_t> token_;                                 ///< of a barrier, by member
  NcclGroup nccl_;
  NcclGroup able_;  ///< what it could be with all of NcclConfig
  std::unique_ptr<Group> group_;
  std::unique_ptr<TreeBroadcast> broadcast_;  ///< if not as `group_` has it
  std::unique_ptr<TreeGroup> trees_;          ///< once an AllReduce goes through them: they take memory
  std::unique_ptr<Group> switches_;           ///< the same, of `nccl`
  std::unique_ptr<PatGroup> pat_;             ///< the same
  const MulticastGroup* multicast_ = nullptr;
};

}  // namespace weft::collectives
