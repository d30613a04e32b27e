// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/fields.h"
#include "sw/collectives/algorithm.h"
#include "sw/collectives/deepep/tokens.h"
#include "sw/collectives/nodes.h"
#include "sw/firmware/stocked_pair.h"

namespace weft::collectives {

/// What `deepep` has for itself.
struct DeepEpConfig {
  static constexpr std::string_view kAlgorithm = "deepep";

  int sms = 20;
  Bytes chunk = Bytes(1 << 20);
  int slots = 4;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("sms", sms,
          "SMs that a dispatch or combine has, where collectives are kernels (accelerator.shared_cores), and engines "
          "that copy and sum, as far as there are any: 20 of an H800's 132 (DeepSeek-V3, arXiv 2412.19437, section "
          "3.2.2; Buffer.set_num_sms of DeepEP)",
          Range{1, 256});
    visit("chunk", chunk, "Bytes of a message between nodes, and of a staging slot", Range{256, 1 << 30});
    visit("slots", slots, "Staging slots for what comes from one node", Range{1, 32});
  }
};

/// Tokens to the accelerators that have their experts, and what these give back (DeepSeek's DeepEP, its kernels for
/// training, csrc/kernels/internode.cu).
///
/// Dispatch: what a member has for a node crosses the network once, to the member at its own position there, in
/// chunks; that member forwards each chunk over the scale-up network to the members that want it. Combine is the way
/// back: members write what they have to the one at the sender's position, which sums what belongs to the same token,
/// and sends the sums across the network. Within the sender's own node nothing crosses.
///
/// Chunks pass staging slots: `slots` for each node, which are given back when all has been forwarded or summed.
///
/// Left out: the exchange of how many tokens come, ahead of a dispatch; indices and weights of tokens, 72 bytes each;
/// the kernels for decoding, which write to experts without forwarding.
class DeepEp final : public Group {
 public:
  /// `nodes` have as many members each, in the order of the members.
  DeepEp(const GroupSite& site, Nodes nodes);
  ~DeepEp() override;

  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int kernel_cores(dimensions::Operation /*what*/, std::uint64_t /*bytes*/,
                                 bool /*of_equal_parts*/) const override {
    return config_.sms;
  }
  /// A dispatch of tokens that all differ.
  firmware::Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) override;
  firmware::Task dispatch(int member, std::uint64_t input, std::uint64_t output, Tokens tokens) override;
  firmware::Task combine(int member, std::uint64_t input, std::uint64_t output, Tokens tokens,
                         ElementType type) override;
  [[nodiscard]] bool dispatches() const override { return true; }

 private:
  class Dispatch;
  class Combine;

  /// What a completion says.
  struct Event {
    enum class What : std::uint8_t { kInvitation, kData, kDone };
    What what = What::kDone;
    int peer = 0;             ///< of the first two
    std::uint64_t token = 0;  ///< of what is done
  };
  /// One member's ends. A member does one collective at a time.
  struct Member {
    firmware::Rank* rank = nullptr;
    int number = 0;
    int node = 0;
    int local = 0;
    firmware::CompletionQueue* events = nullptr;
    std::vector<std::unique_ptr<firmware::StockedPair>> pairs;  ///< by peer; null where there was nothing to say yet
    std::vector<int> invitations;                               ///< by peer, that were not used yet
    int next_engine = 0;
  };

  Member& at(int member) { return *members_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] int member_of(int node, int local) const { return nodes_.row(node)[static_cast<std::size_t>(local)]; }
  [[nodiscard]] std::uint64_t chunk() const { return static_cast<std::uint64_t>(config_.chunk.count()); }
  firmware::StockedPair& pair(Member& from, int peer);
  void invite(Member& from, int peer);
  /// Takes an invitation by a peer, if there is one.
  static bool take_invitation(Member& of, int peer);
  void write(Member& from, int peer, std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
             std::uint64_t token);
  [[nodiscard]] std::uint32_t engine(Member& of) const;
  static void copy(const Member& of, std::uint32_t engine, std::uint64_t from, std::uint64_t to, std::uint64_t bytes,
                   std::uint64_t token);
  static void reduce(const Member& of, std::uint32_t engine, ElementType type, std::uint64_t one, std::uint64_t other,
                     std::uint64_t to, std::uint64_t bytes, std::uint64_t token);
  firmware::Task next(Member& of, Event& event);
  void make_staging();

  std::vector<firmware::Rank*> ranks_;
  Nodes nodes_;
  DeepEpConfig config_;
  std::string name_;
  std::vector<std::unique_ptr<Member>> members_;
  bool has_staging_ = false;
  std::uint64_t staging_ = 0;  ///< for each slot of a node, a chunk of each member of the own node
};

}  // namespace weft::collectives
