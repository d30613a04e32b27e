// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sw/collectives/algorithm.h"
#include "sw/collectives/config.h"
#include "sw/collectives/group.h"
#include "sw/collectives/multicast/multicast.h"
#include "sw/collectives/tree/tree_broadcast.h"
#include "sw/collectives/watch.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

struct CompressedAmount;
class CompressedCollectives;

/// What a message has: as far as it is known, which decides whether it can travel compressed.
struct Carries {
  std::optional<ElementType> type = std::nullopt;
  compression::Traffic traffic = compression::Traffic::kOther;
};

/// For those who compare what comes with a reference. Throws ConfigError if memories have numbers and `config`
/// compresses some of it with a loss.
void require_exact_sums(const CommunicatorConfig& config, const firmware::Rank& rank);

/// A group of ranks with the connections and staging memory of its collectives. Every member calls the same operations
/// in the same order, each on a thread of its own processor; a communicator runs one at a time.
///
/// Buffers are symmetric: the same address on every member (see MemoryMap). Block i of a buffer is part i of `size()`
/// equal parts, which differ by an element where the size does not divide.
class Communicator {
 public:
  using Config = CommunicatorConfig;

  /// Throws ConfigError where the algorithm finds something wrong in the configuration or in the ranks.
  Communicator(std::vector<firmware::Rank*> ranks, const Config& config, std::string name);
  // Groups refer to it.
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

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
  [[nodiscard]] std::string_view algorithm_of(dimensions::Operation what, std::uint64_t bytes, ElementType type) const;
  [[nodiscard]] std::string_view algorithm_of(Rooted what) const;
  [[nodiscard]] std::string_view algorithm_of_barrier() const;
  /// In which of NCCL's protocols, where NCCL's choice is followed: LL, LL128 or Simple; else empty.
  [[nodiscard]] std::string_view protocol_of(dimensions::Operation what, std::uint64_t bytes, ElementType type) const;
  [[nodiscard]] std::string_view protocol_of(Rooted what, std::uint64_t bytes) const;
  /// What the multicast algorithm has done for all members so far; nothing with another.
  [[nodiscard]] std::optional<MulticastCounters> multicast_counters() const;
  /// When a member ended the phases of its latest multicast; nothing with another algorithm.
  [[nodiscard]] std::optional<MulticastPhases> multicast_phases(int member) const;

  /// What compresses a collective of some traffic, which has begun or will; null where it travels as it is. Throws
  /// ConfigError where a scope's compressor cannot.
  [[nodiscard]] CompressedCollectives* compressed(dimensions::Operation what, Carries carries, std::uint64_t bytes);

  /// Throws ConfigError for a collective that neither the algorithm nor what is in its place has.
  void check(dimensions::Operation operation) const;
  void check_barrier() const { check(dimensions::Operation::kAllReduce); }
  // These four travel compressed if the configuration has it so. What is summed has elements of `type` for a
  // compressor, too, unless `carries` has another.
  /// Gathers every member's block into all of `buffer`. The own block is in place already.
  firmware::Task allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule,
                           Carries carries = {});
  /// Sums `input` over all members and leaves the own block at `output`. With several nodes of several members, partial
  /// sums may be left in `input`.
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                ElementType type, Carries carries = {});
  /// Sums `buffer` over all members, in place.
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type,
                            Carries carries = {});
  /// The same as it is.
  firmware::Task all_reduce_whole(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type);
  /// Part i of `input` goes to member i, whose `output` has it as part `member`: equal parts, what does not divide is
  /// left.
  firmware::Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                            Carries carries = {});
  /// The same of parts that differ (Group::exchange), where can_exchange().
  firmware::Task exchange(int member, std::uint64_t input, std::uint64_t output, std::uint64_t place, Parts parts);
  [[nodiscard]] bool can_exchange() const {
    const Doer* doer = doer_of(dimensions::Operation::kAllToAll);
    return doer != nullptr && doer->group->exchanges_parts();
  }
  /// Tokens to several members each, and what is summed of them back (Group::dispatch), where can_dispatch().
  firmware::Task dispatch(int member, std::uint64_t input, std::uint64_t output, Tokens tokens);
  firmware::Task combine(int member, std::uint64_t input, std::uint64_t output, Tokens tokens, ElementType type);
  [[nodiscard]] bool can_dispatch() const {
    const Doer* doer = doer_of(dimensions::Operation::kAllToAll);
    return doer != nullptr && doer->group->dispatches();
  }
  /// Whether the algorithm, or what is in its place, has such a collective.
  [[nodiscard]] bool has(dimensions::Operation what) const { return doer_of(what) != nullptr; }
  /// The same. BroadcastConfig's trees bring a Broadcast
  /// to any.
  [[nodiscard]] bool has(Rooted what) const {
    return (what == Rooted::kBroadcast && broadcast_ != nullptr) || doer_of(what) != nullptr;
  }
  /// SMs that the kernel of such a collective keeps on `member` while it runs: none where the host, interfaces or DMA
  /// engines do the work, or where collectives are no kernels (`accelerator.shared_cores`). Of an AllToAll, also
  /// whether its parts are equal.
  [[nodiscard]] int kernel_cores(int member, dimensions::Operation what, std::uint64_t bytes, Carries carries = {},
                                 bool of_equal_parts = true);
  [[nodiscard]] int kernel_cores(int member, Rooted what) const;
  /// Copies `buffer` from member `root` to all.
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes);
  /// See Group::rooted().
  firmware::Task rooted(int member, Rooted what, int root, std::uint64_t buffer, std::uint64_t bytes, ElementType type);
  /// Returns when all members have entered.
  firmware::Task barrier(int member);

 private:
  /// Where its collectives are kernels.
  static int kernel_cores(const firmware::Rank& rank, const Group& group, dimensions::Operation what,
                          std::uint64_t bytes, bool of_equal_parts);
  /// Who does collectives: the algorithm that was asked for, or another in its place.
  struct Doer {
    const Algorithm* algorithm = nullptr;
    std::unique_ptr<Group> group;  ///< null: nobody
    std::string whose;             ///< "collective my-ring", for messages
  };

  [[nodiscard]] firmware::Processor& processor_of(int member) { return *rank(member).processor; }
  firmware::Processor::Delay enter(int member) { return processor_of(member).delay(config_.entry); }
  [[nodiscard]] static Doer doer(const Algorithm& algorithm, std::unique_ptr<Group> group);
  /// Rings where these ranks can have no group of the algorithm.
  [[nodiscard]] Doer make(const Algorithm& algorithm);
  [[nodiscard]] std::unique_ptr<Group> make_group(const Algorithm& algorithm);
  /// Null where a collective is refused.
  template <typename What>
  [[nodiscard]] const Doer* doer_of(What what) const {
    for (const Doer* doer : {&own_, &other_}) {
      if (doer->group != nullptr && doer->algorithm->has(what)) return doer;
    }
    return nullptr;
  }
  /// Throws ConfigError for one that is refused.
  [[nodiscard]] const Doer& doer_for(dimensions::Operation what) const;
  [[nodiscard]] const Doer& doer_of_barrier() const;
  /// A collective begins by its group: ranks keep that it did, and remark() says what ran by another algorithm.
  Group& begin(const Doer& doer);
  Group& begin(const Doer& doer, std::string_view what);
  /// What a member's thread does from now on: a collective, which the critical path calls by the group's name and who
  /// does it, as threads of its own that the algorithm may have. `what` outlives it.
  [[nodiscard]] firmware::Processor::Part part_of(int member, const Doer& doer, std::string_view what);
  /// compressed(), of a collective that a member begins now.
  CompressedCollectives* begin_compressed(int member, dimensions::Operation what, Carries carries, std::uint64_t bytes);

  std::vector<firmware::Rank*> ranks_;
  Config config_;
  std::string name_;
  const Algorithm& algorithm_;
  int channels_ = 1;
  std::string remark_;
  std::map<std::string_view, std::set<std::string_view>> replaced_;  ///< what ran by another than `algorithm_`, by that
  std::vector<std::uint64_t> token_;                                 ///< of a barrier, by member
  Doer other_;
  Doer own_;
  /// By traffic, where it has a compressor of its own, those that have been asked for.
  std::array<std::unique_ptr<CompressedCollectives>, compression::kTraffics> compressed_;
  std::map<std::string, std::set<std::string_view>> by_blocks_;  ///< collectives of a compressor's own, by its name
  std::unique_ptr<TreeBroadcast> broadcast_;                     ///< if not as the algorithm has it
  const MulticastGroup* multicast_ = nullptr;
  std::unique_ptr<Watch> watch_;                                                ///< where the critical path is kept
  std::map<std::pair<const Doer*, std::string_view>, std::uint32_t> contexts_;  ///< for that, of collectives so far
};

}  // namespace weft::collectives
