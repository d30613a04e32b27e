// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/fields.h"
#include "sw/collectives/blocks.h"
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

/// One member's part in the collectives of a group whose members are on one network. It has three trees: one for
/// low-latency reductions, one for streaming ones, and one for multicast.
///
/// A reduction of up to `low_latency_limit` bytes takes the low-latency tree. A larger one first meets all others in an
/// empty reduction there, which stands for the lock that a streaming tree is taken with, then streams. What is
/// multicast is preceded by such a meeting too, since nobody may send before all are ready to receive.
class InNetworkMember {
 public:
  struct Config {
    AllReducePattern all_reduce = AllReducePattern::kUpDown;
    Bytes low_latency_limit = Bytes(4 << 10);
    int low_latency_window = 8;
    int window = 256;
    Time entry;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("all_reduce", all_reduce, "How an AllReduce is done");
      visit("low_latency_limit", low_latency_limit, "Reductions up to this size take the low-latency tree",
            Range{0, 1LL << 40});
      visit("low_latency_window", low_latency_window, "Its chunks, a segment each, that may be open", Range{1, 65536});
      visit("window", window, "The streaming tree's", Range{1, 65536});
      visit("entry", entry, "What the caller's library spends on a collective before its first request",
            Range{0, 1'000'000'000});
    }
  };

  /// Makes the groups of `ranks`, which one network joins, and a member for each. Throws ConfigError when there is no
  /// such network or when its switches cannot take the trees.
  static std::vector<std::unique_ptr<InNetworkMember>> join(const std::vector<firmware::Rank*>& ranks,
                                                            const Config& config, std::uint64_t chunk,
                                                            const std::string& name);

  /// Which bytes of a buffer member `i` owns.
  using BlockMap = std::function<Extent(int)>;

  /// Returns when all have entered.
  firmware::Task barrier();
  firmware::Task all_reduce(std::uint64_t buffer, std::uint64_t bytes, const BlockMap& blocks, ElementType type);
  /// Leaves the sum of the own block at `output`.
  firmware::Task reduce_scatter(std::uint64_t input, std::uint64_t output, const BlockMap& blocks, ElementType type);
  firmware::Task allgather(std::uint64_t buffer, const BlockMap& blocks);
  firmware::Task broadcast(int root, std::uint64_t buffer, std::uint64_t bytes);

  InNetworkMember(firmware::Rank& rank, int position, int size, const Config& config, std::uint64_t chunk)
      : rank_(rank), position_(position), size_(size), config_(config), chunk_(chunk) {}

 private:
  struct Progress {
    std::uint64_t reduced = 0;
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
  };
  /// Takes completions until `condition` holds.
  template <typename Condition>
  firmware::Task until(Condition condition);
  firmware::Task meet();
  firmware::Processor::Delay enter() { return rank_.processor->delay(config_.entry); }
  firmware::Task reduce_and_multicast(std::uint64_t buffer, const BlockMap& blocks, ElementType type);
  /// Chunks of the largest block.
  [[nodiscard]] std::uint64_t rounds(const BlockMap& blocks) const;
  /// Posts the reductions of chunk `round` of every block, in the same order everywhere, the sum of each for its owner;
  /// that of the own block goes to its place at `output`.
  void post_round(firmware::GroupQueuePair& tree, std::uint64_t round, std::uint64_t input, std::uint64_t output,
                  const BlockMap& blocks, ElementType type);

  firmware::Rank& rank_;
  int position_;
  int size_;
  Config config_;
  std::uint64_t chunk_;
  std::vector<std::uint32_t> ends_;  ///< by member
  firmware::CompletionQueue* completions_ = nullptr;
  firmware::GroupQueuePair low_latency_;
  firmware::GroupQueuePair streaming_;
  firmware::GroupQueuePair multicast_;
  Progress progress_;
};

}  // namespace weft::collectives
