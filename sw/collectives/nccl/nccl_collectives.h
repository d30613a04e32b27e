// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hw/core/fields.h"
#include "sw/collectives/algorithm.h"
#include "sw/collectives/in_network/two_level.h"
#include "sw/collectives/nccl/engine_copies.h"
#include "sw/collectives/nccl/exchange.h"
#include "sw/collectives/nccl/nccl_choice.h"
#include "sw/collectives/nccl/symmetric.h"
#include "sw/collectives/pat/pat_group.h"
#include "sw/collectives/ring/ring_group.h"
#include "sw/collectives/tree/tree_algorithm.h"

namespace weft::collectives {

/// Who copies in a collective (NCCL_CTA_POLICY): kernels on cores; or copy engines, where NCCL can: an Allgather and an
/// AllToAll of equal parts within a node.
enum class CtaPolicy : std::uint8_t { kDefault, kZero };
inline EnumNames<CtaPolicy> enum_names(CtaPolicy /*tag*/) {
  return {{"default", CtaPolicy::kDefault}, {"zero", CtaPolicy::kZero}};
}

/// Which release `nccl` is, and what it may take beside rings and trees: where switches reduce, NCCL's NVLS, NVLSTree
/// and CollNet; for Allgathers and ReduceScatters PAT; copy engines; kernels for symmetric windows.
struct NcclConfig {
  static constexpr std::string_view kAlgorithm = "nccl";

  NcclVersion version = kNewestNccl;
  bool nvls = true;
  int nvls_channels = 16;
  bool collnet = false;
  bool pat = true;
  CtaPolicy cta_policy = CtaPolicy::kDefault;
  bool symmetric = false;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit(
        "version", version,
        "Release whose choice is followed. PAT is of 2.23 and later; Allgathers and ReduceScatters by the switches of "
        "several nodes with NVLS, and symmetric windows, of 2.27; copy engines, and at most 16 SMs on Blackwell "
        "instead of 32, of 2.28");
    visit("nvls", nvls,
          "A node's switches run AllReduces of at least three accelerators, if they can reduce (NCCL_NVLS_ENABLE); "
          "NVLSTree on several nodes");
    visit("nvls_channels", nvls_channels,
          "Channels of its staging buffers: 16 on Hopper, 32 on Blackwell (NVLS_NCHANNELS of NCCL 2.26)",
          Range{1, 1024});
    visit("collnet", collnet,
          "The switches between nodes run AllReduces, Allgathers and ReduceScatters, if they can reduce "
          "(NCCL_COLLNET_ENABLE; off by default)");
    visit("pat", pat,
          "PAT runs Allgathers and ReduceScatters, if each node has one accelerator and version is 2.23 or later "
          "(NCCL_PAT_ENABLE)");
    visit("cta_policy", cta_policy,
          "zero: Allgathers, and AllToAlls of equal parts, of a group within one node are run by DMA engines "
          "(accelerator.dma) and keep no SMs; all others run as with default (NCCL_CTA_POLICY)");
    visit("symmetric", symmetric,
          "Buffers are symmetric windows (NCCL_WIN_COLL_SYMMETRIC): within a node kernels that load and store at the "
          "others run AllReduces, Allgathers and ReduceScatters, but for sums of int32; of 2.27 and later");
  }
};

/// Rings, trees, the switches or PAT, whatever NCCL's cost model says for a collective of so many bytes, in the
/// protocol that it says; for AllToAlls, sends and receives (exchange.h); or copy engines (engine_copies.h) or kernels
/// for symmetric windows (symmetric.h), if they are asked for. All but rings is made when it is first used, since it
/// takes memory.
class NcclCollectives final : public Group {
 public:
  /// Throws ConfigError where the release or the accelerators have no copy engines that are asked for, or the release
  /// has no symmetric windows.
  explicit NcclCollectives(const GroupSite& site);

  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] std::string_view way(dimensions::Operation what, std::uint64_t bytes, ElementType type) const override;
  [[nodiscard]] std::string_view way(Rooted what) const override;
  [[nodiscard]] std::string_view protocol(dimensions::Operation what, std::uint64_t bytes,
                                          ElementType type) const override;
  [[nodiscard]] std::string_view protocol(Rooted what, std::uint64_t bytes) const override;
  [[nodiscard]] std::string remark() const override;
  [[nodiscard]] int kernel_cores(dimensions::Operation what, std::uint64_t bytes, bool of_equal_parts) const override;
  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) override;
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                ElementType type) override;
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) override;
  firmware::Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) override;
  firmware::Task exchange(int member, std::uint64_t input, std::uint64_t output, std::uint64_t place,
                          Parts parts) override;
  [[nodiscard]] bool exchanges_parts() const override { return true; }
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) override;

 private:
  Exchange& sends_and_receives();
  /// Those of collectives by copy engines; null where these are not asked for or members are of several nodes.
  EngineCopies* engine_copies();
  /// The kernel for symmetric windows that does it; none where another way is gone.
  [[nodiscard]] std::optional<SymmetricKernel> symmetric(dimensions::Operation what, std::uint64_t bytes,
                                                         ElementType type) const;
  /// The same when a member begins it, whose kernels are made; without those that the switches have no room for.
  std::optional<SymmetricKernel> begin_symmetric(dimensions::Operation what, std::uint64_t bytes, ElementType type);
  /// Whether copy engines do it.
  [[nodiscard]] bool copies(dimensions::Operation what) const;
  /// Which way one of blocks goes; `member` begins it.
  NcclWay choose_for(int member, NcclCollective what, std::uint64_t bytes);
  /// Which of NcclConfig a collective that goes this way follows.
  void follow_config(NcclCollective what, NcclWay how, std::uint64_t bytes);
  [[nodiscard]] PatGroup& pat();
  /// What works by the switches as `algorithm` has it; nothing where they have no room for it, which stays so.
  [[nodiscard]] Group* switches(NcclAlgorithm algorithm);
  /// Blocks are even_blocks() of the whole.
  [[nodiscard]] std::uint64_t whole(const BlockMap& blocks) const {
    const Extent last = blocks(size() - 1);
    return last.offset + last.bytes;
  }

  std::vector<firmware::Rank*> ranks_;
  NcclConfig config_;
  TwoLevel::Options two_level_;
  PatMember::Options pat_options_;
  int channels_;
  std::string name_;
  std::string remark_;
  NcclGroup able_;  ///< what it could be with all of NcclConfig
  NcclGroup nccl_;
  std::unique_ptr<RingGroup> rings_;
  LateTrees trees_;
  std::unique_ptr<Group> switches_;
  std::unique_ptr<PatGroup> pat_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<EngineCopies> engine_copies_;
  std::set<std::tuple<NcclCollective, std::uint64_t, NcclAlgorithm>> looked_at_;  ///< for what else could be chosen
  std::unique_ptr<SymmetricKernels> symmetric_;
  std::set<std::string_view> by_kernels_;  ///< what copy engines were asked for and cannot do, since nodes are several
  std::set<std::string_view> by_slots_;    ///< and symmetric windows
};

}  // namespace weft::collectives
