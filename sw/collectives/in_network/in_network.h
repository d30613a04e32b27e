// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/fields.h"
#include "sw/collectives/group.h"
#include "sw/collectives/in_network/staging.h"
#include "sw/firmware/rank.h"

/// Collectives by the switches: sums that form on the way and copies that part on the way (SHARP: Graham et al.,
/// COM-HPC 2016 and ISC 2020; NVLink SHARP).
namespace weft::collectives {

/// `up-down`: a sum goes up the tree and down to everybody, so that a member sends and receives the buffer once.
/// `reduce-multicast`: each member takes the sum of its own block and multicasts it, as NVLink SHARP's kernels do with
/// multimem loads and stores: (n + 1) / n of the buffer each way.
enum class AllReducePattern : std::uint8_t { kUpDown, kReduceMulticast };
inline EnumNames<AllReducePattern> enum_names(AllReducePattern /*tag*/) {
  return {{"up-down", AllReducePattern::kUpDown}, {"reduce-multicast", AllReducePattern::kReduceMulticast}};
}

/// What a member of a ReduceScatter does with the block that it is to have: sends it into the tree with the others, or
/// abstains there and has a copy engine add it to the sum of the rest, which leaves the link to other traffic.
enum class OwnBlock : std::uint8_t { kNetwork, kLocal };
inline EnumNames<OwnBlock> enum_names(OwnBlock /*tag*/) {
  return {{"network", OwnBlock::kNetwork}, {"local", OwnBlock::kLocal}};
}

/// When a streaming tree is locked for its communicator: before each reduction, by an empty one in the low-latency
/// tree, so that others can have it in between (SHARP_COLL_SAT_LOCK_BATCH_SIZE=1), or once and for all when the
/// communicator is made, as NCCL's plugin has it (SHARP_COLL_LOCK_ON_COMM_INIT=1; both in NVIDIA SHARP Collective
/// Library, revisions 2.6.1 and 3.5.1).
enum class TreeLock : std::uint8_t { kCommunicator, kCollective };
inline EnumNames<TreeLock> enum_names(TreeLock /*tag*/) {
  return {{"communicator", TreeLock::kCommunicator}, {"collective", TreeLock::kCollective}};
}

/// What becomes of a communicator whose trees do not fit into the switches' tables.
enum class WhenFull : std::uint8_t { kRing, kRefuse };
inline EnumNames<WhenFull> enum_names(WhenFull /*tag*/) {
  return {{"ring", WhenFull::kRing}, {"refuse", WhenFull::kRefuse}};
}

/// One member's part in the collectives of a group whose members are on one network. It has three trees: one for
/// low-latency reductions, one for streaming ones, and one for multicast.
///
/// A reduction of up to `low_latency_limit` bytes takes the low-latency tree; the reductions of a ReduceScatter, one
/// for each member, do where all fit into that tree's window, after a meeting of all in an empty reduction there. A
/// larger one takes the streaming tree, with `lock` collective after such a meeting. An Allgather and a Broadcast are
/// preceded by one too, since nobody may send before all are ready to receive; sums that are multicast are not, since
/// no sum exists before all have sent.
class InNetworkMember {
 public:
  struct Config {
    static constexpr std::string_view kAlgorithm = "in-network";

    AllReducePattern all_reduce = AllReducePattern::kUpDown;
    Bytes low_latency_limit = Bytes(4 << 10);
    int low_latency_window = 8;
    int window = 256;
    TreeLock lock = TreeLock::kCollective;
    Bytes chunk = Bytes(64 << 10);
    OwnBlock own_block = OwnBlock::kNetwork;
    Staging staging;
    WhenFull when_full = WhenFull::kRing;
    /// Members that sum for all others where an AllReduce is staged, the first ones; no field: `nccl` says it. 0: all.
    int heads = 0;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("all_reduce", all_reduce, "How an AllReduce is done");
      visit("low_latency_limit", low_latency_limit, "Reductions up to this size take the low-latency tree",
            Range{0, 1LL << 40});
      visit("low_latency_window", low_latency_window,
            "Chunks of the low-latency tree, a segment each, that may be open", Range{1, 65536});
      visit("window", window, "Chunks of the streaming tree that may be open", Range{1, 65536});
      visit("lock", lock,
            "When the streaming tree is locked: once for a communicator, or by an empty reduction before each sum");
      visit("chunk", chunk, "Bytes that are summed for one member, or multicast by one, as one message",
            Range{256, 1 << 30});
      visit("own_block", own_block, "ReduceScatter: where a member's own share of its sum is added");
      visit("staging", staging, "Buffers between the caller's memory and the network");
      visit("when_full", when_full,
            "What to do when the trees do not fit into the switches' tables: use rings, or refuse");
    }
  };

  InNetworkMember(firmware::Rank& rank, int position, int size, const Config& config, const std::string& name);

  /// Connects the member to its trees, by number, among `ends`.
  void connect(const firmware::Interface& interface, const std::vector<std::uint32_t>& ends, std::uint32_t low_latency,
               std::uint32_t streaming, std::uint32_t multicast, const std::string& name);

  /// Memory for sums to which the own block is added in place; when all groups of the communicator stand, so that it
  /// lies at the same address at all of its members.
  void allocate_scratch(const std::string& name);

  firmware::Task barrier() { return meet(); }
  firmware::Task all_reduce(std::uint64_t buffer, std::uint64_t bytes, ElementType type);
  firmware::Task reduce_scatter(std::uint64_t input, std::uint64_t output, BlockMap blocks, ElementType type);
  firmware::Task allgather(std::uint64_t buffer, BlockMap blocks);
  firmware::Task broadcast(int root, std::uint64_t buffer, std::uint64_t bytes);

 private:
  static constexpr std::uint64_t kScratchChunks = 16;

  struct Progress {
    std::uint64_t reduced = 0;
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
  };
  void begin();
  void take(const nic::Completion& entry);
  /// Takes completions until `condition` holds.
  template <typename Condition>
  firmware::Task until(Condition condition);
  firmware::Task meet();
  /// Takes the streaming tree.
  firmware::Task lock();
  firmware::Task reduce_and_multicast(std::uint64_t buffer, BlockMap blocks, ElementType type);
  /// Posts a receive for the last chunk of every other member's block, and returns how many: chunks come in order.
  std::uint64_t expect_others(const BlockMap& blocks);
  /// Multicasts a chunk; with the last one of `chunks`, members are told and this one gets a completion.
  void multicast(std::uint64_t buffer, const Chunks& chunks, std::uint64_t index);
  /// Chunks of the largest block.
  [[nodiscard]] std::uint64_t rounds(const BlockMap& blocks) const;
  /// Posts the reductions of chunk `round` of every block, in the same order everywhere, the sum of each for its owner;
  /// that of the own block goes to `sum`; without what this member would add, if it `abstains`.
  void post_round(firmware::GroupQueuePair& tree, std::uint64_t round, std::uint64_t input, std::uint64_t sum,
                  const BlockMap& blocks, ElementType type, bool abstains = false);

  /// Sums of the own block over the other members, to which copy engines add what this one has. Where the output is the
  /// own block of the input, the sums come to `scratch_` beside it, of which a chunk is used again when its sum has
  /// been added.
  struct OwnSums {
    Chunks own;
    std::uint64_t met;  ///< results before them
    std::uint64_t input;
    std::uint64_t output;
    ElementType type;
    bool in_place;
    std::uint64_t begun = 0;  ///< chunks that the engines have been given
    std::uint64_t ended = 0;  ///< so many, and perhaps others behind them
    std::vector<bool> added;  ///< by chunk
  };
  /// Where the sum of the own chunk `index` comes to.
  [[nodiscard]] std::uint64_t sum_at(const OwnSums& sums, std::uint64_t index) const;
  /// Until the first `count` chunks have been added.
  firmware::Task add_own(OwnSums& sums, std::uint64_t count);

  // Staging (staged_all_reduce.cpp)
  struct Stages;
  [[nodiscard]] int heads() const { return config_.heads == 0 ? size_ : std::min(config_.heads, size_); }
  [[nodiscard]] std::uint64_t step_bytes(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t slot(std::uint64_t step) const;
  firmware::Task staged_all_reduce(std::uint64_t buffer, std::uint64_t bytes, ElementType type);
  firmware::Task copy_in(Stages& stages);
  firmware::Task copy_out(Stages& stages);

  firmware::Rank& rank_;
  int position_;
  int size_;
  Config config_;
  std::uint64_t chunk_ = 0;          ///< of the collective that runs
  std::vector<std::uint32_t> ends_;  ///< by member
  firmware::CompletionQueue* completions_;
  firmware::CompletionQueue* added_ = nullptr;
  firmware::GroupQueuePair low_latency_;
  firmware::GroupQueuePair streaming_;
  firmware::GroupQueuePair multicast_;
  Progress progress_;
  std::uint64_t scratch_ = 0;  ///< kScratchChunks chunks
  std::uint64_t staging_ = 0;
  firmware::CompletionQueue* copied_in_ = nullptr;
  firmware::CompletionQueue* copied_out_ = nullptr;
};

/// The members of a group of one network.
class InNetworkGroup final : public Group {
 public:
  /// Makes the trees of `ranks`, which one network joins. Returns nothing when the tables of its switches are full.
  /// Throws ConfigError when there is no such network, when its switches cannot reduce, or when interfaces hold too few
  /// receives.
  static std::unique_ptr<InNetworkGroup> join(const std::vector<firmware::Rank*>& ranks,
                                              const InNetworkMember::Config& config, const std::string& name);
  ~InNetworkGroup() override = default;

  /// Whether the switches of the network that joins `ranks` can reduce.
  static bool can_reduce(const std::vector<firmware::Rank*>& ranks);
  /// Whether the interfaces of `ranks` hold as many receives as join() asks for.
  static bool can_receive(const std::vector<firmware::Rank*>& ranks);

  [[nodiscard]] int size() const override { return static_cast<int>(members_.size()); }
  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) override;
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                ElementType type) override;
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) override;
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) override;
  firmware::Task barrier(int member, std::uint64_t token) override;

  /// See InNetworkMember.
  void allocate_scratch(const std::string& name);
  /// Gives the trees back to the switches; for a group that was not used.
  void leave();

 private:
  InNetworkGroup() = default;

  std::vector<std::unique_ptr<InNetworkMember>> members_;
  fabric::Fabric* network_ = nullptr;
  std::vector<std::uint32_t> trees_;
};

}  // namespace weft::collectives
