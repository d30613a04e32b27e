// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/nccl/symmetric.h"
#include "sw/collectives/slot_lane.h"

namespace weft::collectives {

/// One member's part in SymmetricKernels.
class SymmetricKernels::Member {
 public:
  using Members = std::vector<std::unique_ptr<Member>>;

  /// Memory of all members is aligned before; each uses so many copy engines.
  Member(firmware::Rank& rank, int number, int members, int engines, const std::string& name);
  /// Connects all with each other.
  static void join(Members& members);
  /// The member's end of a group of the network that copies; by `ends` it knows who has sent.
  void join_multicast(std::uint32_t group, std::vector<std::uint32_t> ends);

  firmware::Task allgather_words(std::uint64_t buffer, BlockMap blocks, SymmetricKernel how);
  firmware::Task reduce_scatter_words(std::uint64_t input, std::uint64_t output, BlockMap blocks, ElementType type,
                                      SymmetricKernel how);
  firmware::Task all_reduce_words(std::uint64_t buffer, std::uint64_t bytes, ElementType type, SymmetricKernel how);

  firmware::Task store_block(std::uint64_t buffer, BlockMap blocks);
  /// Sums of the own block over all members, to `output`; stored at the others' as well if `to_all`.
  firmware::Task load_and_add(std::uint64_t input, std::uint64_t output, Extent own, ElementType type, bool to_all);

 private:
  static constexpr std::uint64_t kPiece = 4 << 10;  ///< of a block: 512 threads, 8 bytes each
  static constexpr std::uint64_t kLoad = 32 << 10;
  static constexpr std::uint64_t kLeastLoad = 4 << 10;
  static constexpr std::uint64_t kLoads = 32;  ///< of each other member that are under way or added
  /// What is loaded at a time: 8 blocks of 16 warps have 4 KiB of two members each. More would fill switches' buffers.
  static constexpr std::uint64_t kLoading = 1 << 20;
  static constexpr std::uint64_t kByEngine = 1ULL << 63;
  static constexpr std::uint64_t kByGroup = 1ULL << 62;

  /// A chunk of the own block whose addends are loaded.
  struct Load {
    std::uint64_t came = 0;
    bool added = false;
  };

  void take(const nic::Completion& entry);
  template <typename Condition>
  firmware::Task until(Condition condition);
  firmware::Task meet();

  /// Parts of a piece, one for a block.
  [[nodiscard]] Chunks cut(std::uint64_t bytes, SymmetricKernel how) const;
  [[nodiscard]] std::uint64_t longest_block(const BlockMap& blocks) const;
  [[nodiscard]] std::uint64_t longest_piece(SymmetricKernel how) const {
    return kPiece * static_cast<std::uint64_t>(std::min(how.blocks, engines_));
  }
  [[nodiscard]] std::uint64_t place(std::uint64_t first, int of) const {
    const auto members = static_cast<std::uint64_t>(members_);
    return first + ((pieces_ % 2) * members + static_cast<std::uint64_t>(of)) * 2 * kPiece *
                       static_cast<std::uint64_t>(engines_);
  }
  /// A copy engine for each part, from number `engine` on.
  void submit_copy(std::uint64_t source, std::uint64_t target, std::uint64_t bytes, SymmetricKernel how,
                   std::uint64_t& engine);
  /// target = other + the sources of all other members.
  void submit_sum(std::uint64_t source, std::uint64_t stride, std::uint64_t other, std::uint64_t target,
                  std::uint64_t bytes, ElementType type, Flags flags, std::uint64_t engine,
                  std::uint64_t id = kByEngine);
  /// Until all copies and sums have ended.
  firmware::Task moved();
  /// Before a piece is written where the one before the last was.
  firmware::Task begin_piece();
  /// Until those of all others are here.
  firmware::Task end_piece();
  /// What lies at `from` goes to a peer's place for this member.
  void send_words(int peer, std::uint64_t from, std::uint64_t bytes);
  firmware::Task send_words_to_all(std::uint64_t bytes, SymmetricKernel how);
  /// target = what lies at the places of all, in their order, so that all members have the same sums.
  void add_words(std::uint64_t target, std::uint64_t bytes, ElementType type, SymmetricKernel how);

  void begin_load(std::uint64_t input, const Chunks& chunks, std::uint64_t index);
  void add_load(std::uint64_t input, std::uint64_t output, const Chunks& chunks, std::uint64_t index, ElementType type);
  /// Of the member so many behind this one.
  [[nodiscard]] std::uint64_t load_place(std::uint64_t index, int behind) const {
    const std::uint64_t slot =
        (index % kLoads) * static_cast<std::uint64_t>(members_) + static_cast<std::uint64_t>(behind);
    return loads_ + slot * kLoad;
  }
  [[nodiscard]] int after(int number, int by) const { return (number + by) % members_; }
  /// Of a peer, among the others.
  [[nodiscard]] std::uint64_t other(int peer) const {
    return static_cast<std::uint64_t>(peer < number_ ? peer : peer - 1);
  }

  firmware::Rank& rank_;
  int number_;
  int members_;
  int engines_;
  firmware::CompletionQueue& completions_;
  std::vector<std::unique_ptr<firmware::StockedPair>> pairs_;  ///< by peer
  firmware::GroupQueuePair group_;
  std::vector<std::uint32_t> ends_;  ///< by member; empty without a group
  std::uint32_t stock_ = 0;          ///< of receives for what others multicast
  std::uint32_t used_ = 0;           ///< of these
  std::uint64_t came_ = 0;           ///< memory where words come, and own ones go from: two pieces of each member
  std::uint64_t going_ = 0;          ///< and where those that differ by member go from
  std::uint64_t loads_ = 0;
  std::uint64_t pieces_ = 0;  ///< of words so far
  std::uint64_t meetings_ = 0;
  InTurn words_;    ///< pieces that came, by other member
  InTurn signals_;  ///< of meetings
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::array<std::uint64_t, 2> sent_with_ = {};  ///< so many had been with the pieces at each place
  std::uint64_t begun_ = 0;                      ///< with the copy engines
  std::uint64_t ended_ = 0;
  std::vector<Load> under_way_;  ///< by index, modulo kLoads
  std::uint64_t loaded_ = 0;     ///< chunks, of all others
};

}  // namespace weft::collectives
