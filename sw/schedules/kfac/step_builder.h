// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sw/kfac/layer_kernels.h"
#include "sw/schedules/kfac/kfac_plan.h"
#include "sw/schedules/kfac/schedule.h"

namespace weft::schedules {

/// What a schedule writes a step with: appends stage by stage and message by message, and remembers after which stage
/// each tensor is ready. Stages run one behind the other on each rank's compute stream. A message leaves when its
/// tensors are ready, beside what is computed. `await` makes the next stage wait for it. A single rank sends nothing
/// and waits for nothing.
class StepBuilder {
 public:
  StepBuilder(const KfacPlan& plan, const KfacDecisions& decisions);

  [[nodiscard]] const KfacConfig& config() const { return plan_.config_; }
  [[nodiscard]] const models::Network& network() const { return plan_.network_; }
  [[nodiscard]] const KfacLayout& layout() const { return plan_.layout_; }
  [[nodiscard]] std::size_t layers() const { return plan_.network_.layers.size(); }
  [[nodiscard]] int ranks() const { return plan_.ranks_; }
  [[nodiscard]] bool has_factors(std::size_t layer) const { return plan_.pair_of_[layer] >= 0; }
  /// Who inverts factor A of the layer, which has factors.
  [[nodiscard]] int owner(std::size_t layer) const;

  // The passes:
  /// The layer's input is kept compressed where `workload.activations` says so.
  void forward(std::size_t layer);
  /// Brings back the layer's input, if it was compressed. The backward pass does so itself.
  void restore(std::size_t layer);
  /// Where the layer completes a message of gradients and `workload.compression` says so, the message is
  /// compressed.
  void backward(std::size_t layer);
  /// The host averages metrics before what comes next. They queue behind the factors A, if these are sent by then.
  void average_metrics(bool behind_a = false);
  void update(std::size_t layer, KfacGradient gradient);

  // Gradients, in messages of up to `fusion_threshold`, which leave during the backward pass:
  /// Summed over ranks, compressed if `workload.compression` says so: these travel over all ranks alone.
  void send_gradients(int within = kAllRanks);
  void await_gradients();
  /// Each rank gets the sums of its own part.
  void reduce_scatter_gradients();
  /// The parts, in the order in which the next forward pass asks for them, when all have been reduced.
  void gather_gradients();
  /// What comes next waits until the step before has gathered the gradients of this layer.
  void await_gathered(std::size_t layer);

  // Weights:
  /// Begins the averaging of all weights in a slot.
  void start_average(int slot, int within = kAllRanks);
  /// Merges that of a slot, whose messages come one after the other.
  void join_average(int slot, int within = kAllRanks);

  // Factors, A being the `which`th 0 and G 1. A layer that has none is passed over.
  void factor(std::size_t layer, std::size_t which, const Doers& doers = {});
  /// Into the buffer from which it is sent.
  void pack_factor(std::size_t layer, std::size_t which);
  /// By AllReduces of the groups that were decided: with pipelining each when its last factor is packed, otherwise
  /// behind what there is so far.
  void send_factors();
  /// What comes next waits for all of them, and has the means over ranks.
  void receive_factors();
  /// Each factor by the owner that was decided.
  void invert();
  /// The same, and the inverses that one rank has are broadcast, each unpacked as it comes. Ranks that are sent one
  /// clear it first.
  void invert_and_share();
  /// Who takes what an owner has: those of `doers`, by a Broadcast within subgroups, in which its root has this
  /// position; no root: nothing is sent.
  struct Share {
    Doers doers = {};
    int within = kAllRanks;
    int root = kfac::kEveryone;
  };
  using ShareOf = std::function<Share(int owner)>;
  /// The same among some ranks, none of which clears anything.
  void invert_and_share(const ShareOf& share);
  /// By everyone alike, or each layer by its owner, who broadcasts what comes of it.
  void precondition();
  void precondition_and_share();
  /// By `doers`, of whom one in each subgroup broadcasts what comes of it.
  void precondition_and_share(const ShareOf& share);
  /// Scales what was preconditioned, as `workload.kl_clip` says.
  void clip();

  // A schedule's own:
  struct Own {
    KfacPart part = KfacPart::kForwardBackward;  ///< what its time counts as
    std::size_t layer = 0;
    std::vector<kfac::LayerKernel> kernels = {};
    Doers doers = {};
    /// What becomes of the rank's memory, where `workload.training` is on (contents.h).
    std::function<void(firmware::Rank&, int rank)> contents = {};
  };
  void compute(Own own);
  /// Leaves behind the latest stage.
  void send(KfacMessage message);
  /// What comes next waits for all messages of this step so far of a kind other than kDelayed.
  void await(KfacTraffic traffic);

  [[nodiscard]] KfacStep take();

 private:
  // What a schedule asks for: they throw OwnFailure that names the schedule, the call and what is missing.
  void require(bool is_there, const char* call, std::int64_t argument, const std::string& expected) const;
  void require_layer(const char* call, std::size_t layer) const;
  void require_slot(const char* call, int slot, int within) const;
  void require_within(const char* call, int within) const;

  [[nodiscard]] std::size_t last() const { return step_.stages.size() - 1; }
  /// The first layer's input is the batch, which stays.
  [[nodiscard]] bool keeps(std::size_t layer) const { return config().activations.on() && layer > 0; }
  [[nodiscard]] bool compresses() const { return config().compression.on() && ranks() > 1; }
  /// The number of factor `which`.
  [[nodiscard]] std::size_t factor_of(std::size_t layer, std::size_t which) const;
  [[nodiscard]] std::string layers_text(std::size_t from, std::size_t to) const;
  [[nodiscard]] std::string item_text(KfacWork work, int item) const;
  [[nodiscard]] KfacMessage gradients_of(std::size_t first, std::size_t count, const std::string& what) const;
  /// After which stage they leave: the last of their layers.
  [[nodiscard]] std::size_t gradients_ready(std::size_t first, std::size_t count) const;
  [[nodiscard]] std::size_t sent(KfacTraffic traffic) const;
  void compress_behind(std::size_t layer);
  void compress(std::size_t group, std::size_t round);
  void compress_on(std::size_t group);
  void send_compressed(std::size_t group, KfacMessage message);
  void add(KfacWork work, KfacPart part, int item, const Doers& doers, const std::vector<kfac::LayerKernel>& kernels);
  void push(KfacMessage message);
  /// Bytes of what is sent of a factor.
  [[nodiscard]] std::int64_t factor_element() const {
    return static_cast<std::int64_t>(size_of(config().sent_factor_type()));
  }
  void invert_and_share(const ShareOf& share, bool clears);

  const KfacPlan& plan_;
  const KfacDecisions& decisions_;
  KfacStep step_;
  std::array<std::size_t, kKfacTraffics> await_{};
  bool metrics_ = false;
  int within_ = kAllRanks;                   ///< over which ranks gradients are summed
  std::vector<std::size_t> gradient_ready_;  ///< by layer: the stage
  std::vector<std::size_t> factor_ready_;    ///< by factor
  /// By message of gradients and round of its compressor.
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> round_ready_;
};

}  // namespace weft::schedules
