// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sw/workloads/emitter.h"
#include "sw/workloads/marks.h"
#include "sw/workloads/parts.h"

namespace weft::workloads {

/// What is gathered and whose gradients are reduced as one: embedding, blocks by their number from 1, head.
using Unit = std::int64_t;

/// Allgathers of a step's parameters, in the order in which units come to compute, some units ahead of them.
class ParameterGathers {
 public:
  struct Set {
    std::string name;
    std::int64_t bytes = 0;  ///< when gathered
    Members among;
    models::Shard shard;
  };
  /// Emits what is done to a shard before it is gathered, and gives what its Allgather waits for.
  using Cast = std::function<Ids(const Set&)>;

  /// `uses`: the units that are to be gathered, in order.
  ParameterGathers(Emitter& emitter, std::vector<Unit> uses, int ahead, Cast cast)
      : emitter_(emitter), uses_(std::move(uses)), ahead_(ahead), cast_(std::move(cast)) {}

  /// A unit begins to compute: issues its Allgather if that is the next one, and those ahead. A unit is not gathered
  /// again while it computes, nor `kept`, which is gathered when it begins.
  /// `sets` tells what a unit consists of. Gives what the unit has to wait for.
  template <typename Sets>
  Ids begin(Unit unit, Unit kept, const Sets& sets) {
    if (begun_ < uses_.size() && uses_[begun_] == unit) {
      ++begun_;
      if (issued_ < begun_) issue(sets(unit));
    }
    while (issued_ < uses_.size() && issued_ < begun_ + static_cast<std::size_t>(ahead_) && uses_[issued_] != unit &&
           uses_[issued_] != kept) {
      issue(sets(uses_[issued_]));
    }
    return begun_ > 0 && uses_[begun_ - 1] == unit ? gathered_[begun_ - 1] : Ids{};
  }

  /// How many of the gathered units have begun to compute.
  [[nodiscard]] std::size_t begun() const { return begun_; }

 private:
  void issue(const std::vector<Set>& sets);

  Emitter& emitter_;
  std::vector<Unit> uses_;
  int ahead_;
  Cast cast_;
  std::size_t begun_ = 0;
  std::size_t issued_ = 0;
  std::vector<Ids> gathered_;
  Ids previous_;
};

/// One rank's graph, node by node: TransformerWorkload says what is in it.
class RankStep {
 public:
  RankStep(const WorkloadConfig& config, const Groups& groups, std::int64_t rank,
           const std::function<void(const chakra::Node&)>& take, TakeMark mark);

  RankSums run();

 private:
  struct Set {
    const char* name;
    std::int64_t elements;
    const Groups::Holders& holders;
    std::int64_t linear = 0;   ///< of the elements, those of linear layers of blocks
    std::int64_t weights = 0;  ///< which so many tensors have
    bool is_of_experts = false;
  };

  void step();
  void mark_begin(Repeated what, std::int64_t number);
  void mark_end(Repeated what);
  void operations();
  Ids cast(const ParameterGathers::Set& set);
  [[nodiscard]] optimizers::Problem what_to_update() const;
  Ids update(const Ids& gradients);
  void observe(Unit unit);

  // Weights in 8 bits
  void renew_weights(const Ids& updated);
  void scale_weights(const Ids& updated);
  void cast_shards(const Ids& updated);
  Ids cast_gathered(Unit unit, const Ids& gathered);
  /// Of the rank's blocks, those that are cast once in a step, by the rank.
  [[nodiscard]] std::int64_t cast_weights() const;
  /// Bytes of memory that the rank's weights take more than in the type of parameters.
  [[nodiscard]] std::int64_t more_for_weights() const;
  /// So many scales that ranks of tp agree on, of tensors of which each has a part that it does not gather.
  [[nodiscard]] std::int64_t scales_of_parts(std::int64_t tensors) const {
    return config_.has_transformer_engine() ? 0 : tensors;
  }
  [[nodiscard]] std::int64_t scales_of_weights(std::int64_t tensors) const {
    return config_.gathers_float8() ? 0 : scales_of_parts(tensors);
  }
  /// Of a set, what is gathered in 8 bits.
  [[nodiscard]] std::int64_t float8_elements(const Set& set) const { return config_.gathers_float8() ? set.linear : 0; }

  void operation(const PipelineOperation& operation);
  void operations_beside(const PipelineOperation& one, const PipelineOperation& other);
  /// The first operation of those that come again and again, and how many make a cycle of how many microbatches.
  struct Cycles {
    std::int64_t first = 0;
    std::int64_t length = 0;
    std::int64_t count = 0;
    std::int64_t covers = 1;  ///< microbatches
    std::int64_t steps = 1;   ///< by which a chunk's microbatches go on
  };
  [[nodiscard]] Cycles cycles() const;
  void forward(const PipelineOperation& operation);
  void backward(const PipelineOperation& operation);
  Ids embedding();
  Ids block(Unit unit, const Ids& in);
  void head(const Ids& in);
  Ids block_backward(Unit unit, const Ids& gradient);
  Ids mlp_backward(const Ids& gradient, const Ids& parameters, bool gathers);
  Ids head_backward(bool of_prediction = false);
  Ids predict(const Ids& in);
  Ids predict_backward();
  void weights(Part part, const Ids& data);
  void end_backward(Unit unit, bool reduces = true);
  /// Gradients of the unit's weights are there.
  void finish_gradients(Unit unit, bool reduces);
  void weights_alone(const PipelineOperation& operation);
  void embedding_backward(const Ids& gradient);
  Ids recompute(Unit unit, const Ids& start);
  Ids attention(const Ids& qkv, bool again = false);
  Ids attention_backward(const Ids& gradient);

  // Communication
  Ids gather_tokens(const std::string& what, const Ids& in);
  Ids start_gathering(const std::string& what, const Ids& in);
  Ids copy_out(const std::string& what, const Ids& gathered);
  Ids copy(const std::string& what, std::int64_t read, std::int64_t written, const Ids& data);
  Ids agree_on_scales(const std::string& what, std::int64_t tensors, const Ids& in);
  Ids cast_gradient(Part part, const std::string& what, const Ids& in);
  Ids gather_and_multiply(Part part, const std::string& what, const Ids& in, const Ids& also = {});
  Ids multiply_and_sum(Part part, const std::string& what, const Ids& in);
  Ids multiply_as_tokens_come(Part part, const std::string& what, const Ids& in);
  Ids multiply_and_send(Part part, const std::string& what, const Ids& in);
  Ids reorder(const std::string& what, const Ids& data);
  [[nodiscard]] std::int64_t tensor_rank(std::int64_t steps_on) const;
  Ids sum_tokens(const std::string& what, const Ids& in);

  // Experts
  enum class Way : std::uint8_t { kToExperts, kBack };
  Ids experts(const Ids& in);
  Ids experts_again(const Ids& in, bool whole);
  Ids experts_backward(const Ids& gradient, const Ids& parameters);
  Ids shared(Part part, const std::string& what, const Ids& in);
  Ids exchange_tokens(const std::string& what, Way way, const Ids& in);
  Ids dispatch_tokens(const std::string& what, Way way, const Ids& in);
  Ids gather_routed(const std::string& what, const Ids& in);
  Ids combine_tokens(const std::string& what, const std::string& exchange, const Ids& in);
  [[nodiscard]] bool has_experts(Unit unit) const {
    return unit != 0 && unit != last_unit() && config_.has_experts(unit - 1);
  }
  [[nodiscard]] std::int64_t token_bytes() const { return config_.model.d_model * config_.element_bytes; }
  Ids beside_weights(const Ids& summands, const std::function<Ids(const Ids&)>& sum,
                     const std::function<void()>& weights);
  Ids receive_activations(const PipelineOperation& operation);
  void send_activations(const PipelineOperation& operation, const Ids& data);
  void name_unit(Unit unit);
  Ids begin(Unit unit);
  void reduce_gradients(Unit unit);

  [[nodiscard]] Ids compute(Part part, const Ids& data, const std::string& more = "");
  [[nodiscard]] Emitter::Host host_of(Part part) const;
  [[nodiscard]] std::string name(const std::string& what) const;
  [[nodiscard]] std::string message_name(const char* what, std::int64_t to, bool forward) const;
  [[nodiscard]] std::vector<Set> sets(Unit unit) const;
  [[nodiscard]] std::vector<Unit> gather_order() const;
  [[nodiscard]] Unit last_unit() const { return config_.model.blocks_with_mtp() + 1; }
  /// The block of a module that predicts the token after the next, where there is one.
  [[nodiscard]] Unit prediction_unit() const { return config_.model.layers + 1; }
  [[nodiscard]] bool predicts(std::int64_t virtual_stage) const {
    return config_.model.mtp > 0 && virtual_stage + 1 == pipeline_.virtual_stages();
  }
  [[nodiscard]] Unit first_block(std::int64_t virtual_stage) const { return 1 + config_.first_layer(virtual_stage); }
  [[nodiscard]] const UnitShare& share_of(Unit unit) const {
    return unit == 0 ? share_.embedding() : unit == last_unit() ? share_.head() : share_.block(unit - 1);
  }
  [[nodiscard]] const UnitShare& here() const { return share_of(unit_); }
  /// Of the rank's stage.
  [[nodiscard]] std::int64_t blocks() const;
  [[nodiscard]] models::Recompute recomputes(Unit block) const { return recompute_of(config_.recompute, block - 1); }
  /// From its input on.
  [[nodiscard]] bool recomputes_most(Unit block) const {
    return recomputes(block) != models::Recompute::kNone && recomputes(block) != models::Recompute::kLatentProjections;
  }
  /// Parameters are gathered before they are used, and gradients scattered.
  [[nodiscard]] bool shards() const { return has_fsdp() || config_.distributed_optimizer; }
  [[nodiscard]] bool has_fsdp() const { return config_.parallel.degree(Axis::kShard) > 1; }
  /// With fsdp and without a pipeline, head and embedding are one unit.
  [[nodiscard]] bool has_root_unit() const { return shards() && config_.reshards(); }
  [[nodiscard]] bool is_tied_pair() const { return config_.has_table_copy(); }
  [[nodiscard]] std::int64_t activation_bytes() const {
    return config_.tokens() * config_.model.d_model * config_.element_bytes;
  }
  /// Of all tokens, as they are gathered for what is being emitted.
  [[nodiscard]] std::int64_t gathered_token_bytes() const {
    const bool is_block = unit_ != 0 && unit_ != last_unit();
    return config_.is_float8() && is_block ? activation_bytes() / config_.element_bytes : activation_bytes();
  }
  [[nodiscard]] std::int64_t shard_elements(const Set& set) const;
  [[nodiscard]] std::int64_t gathered_bytes(const Set& set) const;
  [[nodiscard]] models::Shard shard_of(const Set& set) const;
  [[nodiscard]] std::vector<Unit> units(std::int64_t chunk) const;
  [[nodiscard]] std::int64_t most_activations() const;
  [[nodiscard]] std::int64_t most_gathered() const;

  const WorkloadConfig& config_;
  const Groups& groups_;
  const Pipeline pipeline_;
  const std::int64_t rank_;
  const std::int64_t stage_;
  const std::int64_t tp_;
  const std::int64_t cp_;
  const RankShare share_;
  Emitter emitter_;
  const TakeMark mark_;
  std::vector<PipelineOperation> operations_;
  const std::shared_ptr<const optimizers::Optimizer> optimizer_;
  optimizers::Problem problem_;  ///< what the optimizer updates on this rank

  // Of a step.
  std::int64_t step_ = 0;
  std::int64_t blocks_marked_ = 0;
  std::vector<std::int64_t> backwards_;  ///< by chunk, those whose gradients of weights have begun
  /// Of a backward pass without gradients of weights, what these wait for.
  struct Later {
    Unit unit;
    Ids data;
    bool reduces;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Later>> later_;  ///< by chunk and microbatch
  std::vector<Ids> loss_;                                                      ///< by microbatch
  std::vector<Ids> pending_;                                                   ///< gradients that are being reduced
  ParameterGathers* gathers_ = nullptr;

  // Of the operation that is being emitted, for names.
  std::string prefix_;  ///< "layer3."
  std::int64_t microbatch_ = 0;
  std::int64_t batch_ = 0;      ///< of the chunk's backward passes, from 0
  std::int64_t chunk_tag_ = 0;  ///< of the next chunk, the same on all ranks of tp
  bool is_last_backward_ = false;
  bool is_merged_ = false;  ///< with another operation
  PipelineOperation operation_;
  Ids weights_wait_for_;  ///< of a unit whose backward pass is cut
  Unit unit_ = 0;
  Ids begins_after_;   ///< the compute node before this operation
  Ids receive_after_;  ///< and before the one that came before it
};

}  // namespace weft::workloads
