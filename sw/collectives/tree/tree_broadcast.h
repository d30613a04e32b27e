// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/fields.h"
#include "sw/collectives/rooted.h"
#include "sw/collectives/slot_lane.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// By what a Broadcast runs: as `collectives.algorithm` has it, or by one of RootedAlgorithm's trees.
enum class BroadcastAlgorithm : std::uint8_t { kAutomatic, kChain, kDirect, kBinomial, kKNomial, kBinaryTree };
inline EnumNames<BroadcastAlgorithm> enum_names(BroadcastAlgorithm /*tag*/) {
  return {{"automatic", BroadcastAlgorithm::kAutomatic}, {"chain", BroadcastAlgorithm::kChain},
          {"direct", BroadcastAlgorithm::kDirect},       {"binomial", BroadcastAlgorithm::kBinomial},
          {"k-nomial", BroadcastAlgorithm::kKNomial},    {"binary-tree", BroadcastAlgorithm::kBinaryTree}};
}

/// Defaults are those of MPI libraries. Segment: 128 KiB, in which Open MPI cuts what is long for its members
/// (ompi_coll_tuned_bcast_intra_dec_fixed, until version 4.0). Depth: 2, the receives that a member of an Open MPI tree
/// has posted at a time (ompi_coll_base_bcast_intra_generic).
struct BroadcastConfig {
  BroadcastAlgorithm algorithm = BroadcastAlgorithm::kAutomatic;
  int radix = kLibraryRadix;
  Bytes segment = Bytes(128 << 10);
  int depth = 2;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("algorithm", algorithm,
          "automatic: by collectives.algorithm; chain, direct, binomial, k-nomial, binary-tree: segments go down such "
          "a tree of all members, ordered by their numbers from the root on");
    visit("radix", radix, "k of a k-nomial tree; 4 in UCC and Open MPI", Range{2, 1 << 20});
    visit("segment", segment,
          "Bytes that go down a tree as one message; 0: the whole buffer; 128KiB in Open MPI for long buffers",
          Range{0, 1 << 30});
    visit("depth", depth, "Segments that a member of a tree can hold before it has sent them on; 2 in Open MPI",
          Range{1, SlotLane::kMostUnderWay});
  }
};

/// Broadcasts down a tree, segment by segment: a member passes a segment on to its children, one after the other, as
/// soon as it has come. As in MPI libraries this is the host's work: no kernel of an accelerator takes part.
///
/// Segments are RDMA writes with immediate, straight to their place in the child's buffer, which has the same address
/// on every rank. A member that has entered tells its parent for how many segments it has room, at most `depth`, and
/// for one more whenever one has come, both by empty sends. The parent leaves when all that it sent has been
/// acknowledged, so that it may change its buffer.
///
/// Any member may be the root: connections are made by the first Broadcast that needs them.
class TreeBroadcast {
 public:
  /// `config.algorithm` is not automatic.
  TreeBroadcast(const std::vector<firmware::Rank*>& ranks, const BroadcastConfig& config, const std::string& name);
  ~TreeBroadcast();
  TreeBroadcast(const TreeBroadcast&) = delete;
  TreeBroadcast& operator=(const TreeBroadcast&) = delete;

  /// Copies `buffer` from member `root` to all. Every member calls it, as those of a Group.
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes);

 private:
  class Member;

  std::uint64_t segment_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace weft::collectives
