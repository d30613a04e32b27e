// SPDX-License-Identifier: Apache-2.0
// What a step keeps, and communicates with other stages and replicas. Passes are in step_order.cpp, blocks in
// step_blocks.cpp.
#include "sw/workloads/step/step.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weft::workloads {

using chakra::CollectiveType;

namespace {

/// In float8, gathers have elements of one byte among others.
Emitter::Elements elements_of(const WorkloadConfig& config) {
  Emitter::Elements bytes;
  bytes.fill(config.element_bytes);
  for (const Purpose purpose : {Purpose::kGradients, Purpose::kTiedEmbedding}) {
    bytes[static_cast<std::size_t>(purpose)] = config.gradient_bytes;
  }
  for (const Purpose purpose : {Purpose::kParameters, Purpose::kTensorParallel}) {
    if (config.is_float8()) bytes[static_cast<std::size_t>(purpose)] = 0;
  }
  return bytes;
}

}  // namespace

void ParameterGathers::issue(const std::vector<Set>& sets) {
  Ids ids;
  for (const Set& set : sets) {
    const Ids gathered = emitter_.collective(set.name, Purpose::kParameters,
                                             {CollectiveType::kAllGather, set.bytes, set.among}, cast_(set), previous_);
    // Those of a rank go one after the other.
    if (!gathered.empty()) previous_ = gathered;
    ids = joined({ids, gathered});
  }
  gathered_.push_back(std::move(ids));
  ++issued_;
}

RankStep::RankStep(const WorkloadConfig& config, const Groups& groups, std::int64_t rank,
                   const std::function<void(const chakra::Node&)>& take, TakeMark mark)
    : config_(config),
      groups_(groups),
      pipeline_(config.pipeline()),
      rank_(rank),
      stage_(config.parallel.coordinate(rank, Axis::kPipeline)),
      tp_(config.parallel.degree(Axis::kTensor)),
      cp_(config.parallel.degree(Axis::kContext)),
      share_(config, rank),
      emitter_(config.parallel, groups, rank, elements_of(config), config.launch, take),
      mark_(std::move(mark)),
      operations_(stage_operations(pipeline_, stage_)),
      optimizer_(optimizers::optimizer_of(config.optimizer)),
      problem_(what_to_update()) {}

std::vector<Unit> RankStep::units(std::int64_t chunk) const {
  const std::int64_t place = pipeline_.virtual_stage(stage_, chunk);
  std::vector<Unit> units;
  if (place == 0) units.push_back(0);
  for (std::int64_t i = 0; i < config_.layers_of(place); ++i) units.push_back(first_block(place) + i);
  if (predicts(place)) units.push_back(prediction_unit());
  // The root unit has the head in it.
  if (place + 1 == pipeline_.virtual_stages() && !has_root_unit()) units.push_back(last_unit());
  return units;
}

std::int64_t RankStep::blocks() const {
  std::int64_t count = 0;
  for (std::int64_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
    const std::int64_t place = pipeline_.virtual_stage(stage_, chunk);
    count += config_.layers_of(place) + (predicts(place) ? 1 : 0);
  }
  return count;
}

std::int64_t RankStep::most_activations() const {
  std::vector<std::int64_t> of_chunk;
  for (std::int64_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
    const std::int64_t place = pipeline_.virtual_stage(stage_, chunk);
    std::int64_t bytes = place == 0 ? share_.embedding().activations : 0;
    if (place + 1 == pipeline_.virtual_stages()) bytes += share_.head().activations;
    if (predicts(place)) bytes += share_.head().activations + share_of(prediction_unit()).activations;
    for (std::int64_t i = 0; i < config_.layers_of(place); ++i) bytes += share_of(first_block(place) + i).activations;
    of_chunk.push_back(bytes);
  }
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (const PipelineOperation& each : operations_) {
    const std::int64_t bytes = of_chunk[static_cast<std::size_t>(each.chunk)];
    if (each.forward) held += bytes;
    // Gradients of weights need them.
    if (!each.forward && each.weights != PipelineOperation::Weights::kLater) held -= bytes;
    most = std::max(most, held);
  }
  return most + share_.repeated_activations();
}

/// As many blocks as are gathered ahead, the one that computes, and the root unit; or all.
std::int64_t RankStep::most_gathered() const {
  if (!has_fsdp()) return 0;
  const std::int64_t at_a_time = config_.reshards() ? std::min<std::int64_t>(blocks(), config_.prefetch + 1) : blocks();
  std::int64_t bytes = 0;
  std::int64_t counted = 0;
  for (std::int64_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
    for (const Unit unit : units(chunk)) {
      const bool is_block = unit != 0 && unit != last_unit();
      if (is_block && counted++ >= at_a_time) continue;
      for (const Set& set : sets(unit)) {
        bytes += gathered_bytes(set);
      }
    }
  }
  return bytes;
}

RankSums RankStep::run() {
  std::int64_t held = 0;
  for (std::int64_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
    for (const Unit unit : units(chunk)) {
      for (const Set& set : sets(unit)) {
        held += set.elements;
      }
    }
  }
  RankSums& sums = emitter_.sums();
  constexpr std::int64_t kMaster = 4;  // a copy in 32 bits, where the parameters have fewer
  sums.parameters = config_.distributed_optimizer ? held : problem_.share();
  sums.parameter_bytes = sums.parameters * config_.element_bytes + more_for_weights();
  // What ranks of a distributed optimizer add up to is kept in the type in which it is added up.
  const int of_gradient = config_.distributed_optimizer ? config_.gradient_bytes : config_.element_bytes;
  sums.gradient_bytes = sums.parameters * of_gradient;
  optimizer_->check(problem_);
  const optimizers::Kept kept = optimizer_->kept(problem_);
  sums.optimizer_parts = kept.state;
  if (config_.element_bytes < kMaster) {
    sums.optimizer_parts.emplace_back("copy of parameters in 32 bits", kMaster * kept.masters);
  }
  for (const auto& [what, bytes] : sums.optimizer_parts) sums.optimizer_bytes += bytes;
  sums.state_bytes = sums.parameter_bytes + sums.gradient_bytes + sums.optimizer_bytes;
  for (std::int64_t block = 0; block < config_.model.blocks_with_mtp(); ++block) {
    if (!config_.has_experts(block) || !share_.has(block)) continue;
    sums.routed_tokens += config_.steps * pipeline_.microbatches_of_chunk() * share_.block(block).received;
  }
  sums.activation_bytes = most_activations();
  sums.gathered_bytes = most_gathered();
  for (step_ = 0; step_ < config_.steps; ++step_) {
    mark_begin(Repeated::kSteps, step_);
    step();
  }
  mark_end(Repeated::kSteps);
  return sums;
}

void RankStep::step() {
  backwards_.assign(static_cast<std::size_t>(pipeline_.chunks), 0);
  loss_.assign(static_cast<std::size_t>(config_.microbatches), {});
  later_.clear();
  pending_.clear();
  ParameterGathers gathers(emitter_, gather_order(), config_.prefetch,
                           [this](const ParameterGathers::Set& set) { return cast(set); });
  gathers_ = shards() ? &gathers : nullptr;
  operations();

  Ids all;
  for (const Ids& ids : pending_) all = joined({all, ids});
  const std::int64_t ends = pipeline_.stages - 1;
  if (is_tied_pair() && (stage_ == 0 || stage_ == ends)) {
    // The stages' copies of the table, or their shards of them. A rank of the first stage comes here last.
    const Set table{"", share_.vocabulary_table(), groups_.dense()};
    all = joined({all, emitter_.tied_all_reduce("embedding.gradients all-reduce",
                                                shard_elements(table) * config_.gradient_bytes, all)});
  }
  renew_weights(update(all));
}

// Between stages -----------------------------------------------------------------------------------------------------

namespace {

/// Between a pair of virtual stages in one direction, unique for a microbatch. A later step uses it again: by then all
/// messages of this one have been received.
std::int64_t pipeline_tag(const Pipeline& pipeline, const PipelineOperation& operation, std::int64_t place) {
  return 2 * (operation.microbatch * pipeline.virtual_stages() + place) + (operation.forward ? 0 : 1);
}

}  // namespace

Ids RankStep::receive_activations(const PipelineOperation& operation) {
  const std::int64_t place = pipeline_.virtual_stage(stage_, operation.chunk);
  const std::int64_t from_place = operation.forward ? place - 1 : place + 1;
  const std::int64_t from =
      config_.parallel.with(rank_, Axis::kPipeline, pipeline_.stage_of(from_place, operation.chunk));
  prefix_.clear();
  // Posted when the operation before begins.
  return emitter_.receive(message_name("receive", from, operation.forward), from,
                          pipeline_tag(pipeline_, operation, place),
                          activation_bytes() / (config_.sequence_parallel ? tp_ : 1), receive_after_);
}

void RankStep::send_activations(const PipelineOperation& operation, const Ids& data) {
  const std::int64_t place = pipeline_.virtual_stage(stage_, operation.chunk);
  const std::int64_t to_place = operation.forward ? place + 1 : place - 1;
  const std::int64_t to = config_.parallel.with(rank_, Axis::kPipeline, pipeline_.stage_of(to_place, operation.chunk));
  prefix_.clear();
  emitter_.send(message_name("send", to, operation.forward), Purpose::kPipeline, to,
                pipeline_tag(pipeline_, operation, to_place),
                activation_bytes() / (config_.sequence_parallel ? tp_ : 1), data);
}

// Parameters and gradients -------------------------------------------------------------------------------------------

std::vector<RankStep::Set> RankStep::sets(Unit unit) const {
  const std::int64_t head = share_.head().parameters.dense + (is_tied_pair() ? share_.vocabulary_table() : 0);
  if (unit == 0) {
    return {{"", share_.embedding().parameters.dense + (has_root_unit() ? head : 0), groups_.dense()}};
  }
  if (unit == last_unit()) return {{"", head, groups_.dense()}};
  const Parameters& of_block = share_of(unit).parameters;
  std::vector<Set> result = {{"", of_block.dense, groups_.dense(), of_block.linear, of_block.weights}};
  if (of_block.experts > 0) {
    result.push_back({"experts.", of_block.experts, groups_.experts(), of_block.expert_linear, of_block.expert_weights,
                      /*is_of_experts=*/true});
  }
  return result;
}

/// Shards are of equal length, the last one padded.
std::int64_t RankStep::shard_elements(const Set& set) const {
  const std::int64_t shards = config_.parallel.group_size(set.holders.shards);
  return (set.elements + shards - 1) / shards;
}

std::int64_t RankStep::gathered_bytes(const Set& set) const {
  const std::int64_t shards = config_.parallel.group_size(set.holders.shards);
  const auto padded = [shards](std::int64_t elements) { return (elements + shards - 1) / shards * shards; };
  const std::int64_t float8 = float8_elements(set);
  return padded(set.elements - float8) * config_.element_bytes + padded(float8);
}

models::Shard RankStep::shard_of(const Set& set) const {
  const std::int64_t shards = config_.parallel.group_size(set.holders.shards);
  const std::int64_t float8 = float8_elements(set);
  return {shard_elements(set), config_.element_bytes, (float8 + shards - 1) / shards, float8 > 0 ? set.weights : 0};
}

/// The shards of a set, where others have some, too.
Ids RankStep::cast(const ParameterGathers::Set& set) {
  if (!config_.copies || config_.parallel.group_size(set.among) == 1) return {};
  return emitter_.compute(set.name + " cast", share_.cast(set.shard), {});
}

std::vector<Unit> RankStep::gather_order() const {
  std::vector<Unit> order;
  std::set<Unit> gathered;
  const auto use = [&](Unit unit) {
    if (config_.reshards() || gathered.insert(unit).second) order.push_back(unit);
  };
  for (const PipelineOperation& operation : operations_) {
    const std::int64_t place = pipeline_.virtual_stage(stage_, operation.chunk);
    const Unit first = first_block(place);
    const Unit behind = first + config_.layers_of(place);
    if (operation.forward) {
      if (place == 0) use(0);
      for (Unit unit = first; unit < behind; ++unit) use(unit);
      if (place + 1 == pipeline_.virtual_stages() && !has_root_unit()) use(last_unit());
      if (predicts(place)) use(prediction_unit());
    } else if (config_.reshards()) {
      if (predicts(place)) use(prediction_unit());
      for (Unit unit = behind; unit-- > first;) use(unit);
    }
  }
  return order;
}

namespace {

std::string unit_name(Unit unit, Unit last) {
  return unit == 0 ? "embedding." : unit == last ? "head." : "layer" + std::to_string(unit - 1) + ".";
}

}  // namespace

void RankStep::name_unit(Unit unit) {
  unit_ = unit;
  prefix_ = unit_name(unit, last_unit());
}

/// What follows is of this unit; it waits for what is given.
Ids RankStep::begin(Unit unit) {
  name_unit(unit);
  if (gathers_ == nullptr) return {};
  const auto gathered_sets = [this](Unit of) {
    std::vector<ParameterGathers::Set> result;
    for (const Set& set : sets(of)) {
      result.push_back({name(unit_name(of, last_unit()) + set.name + "parameters all-gather"), gathered_bytes(set),
                        set.holders.shards, shard_of(set)});
    }
    return result;
  };
  // The root unit is in use from the embedding to its gradient.
  const std::size_t begun = gathers_->begun();
  Ids parameters = gathers_->begin(unit, has_root_unit() ? 0 : -1, gathered_sets);
  if (gathers_->begun() == begun) return parameters;
  // A distributed optimizer gathers to where parameters stay.
  if (config_.distributed_optimizer) return cast_gathered(unit, parameters);
  std::int64_t bytes = 0;
  for (const ParameterGathers::Set& set : gathered_sets(unit)) bytes += set.bytes;
  return copy("parameters copy-out", bytes, bytes, parameters);
}

/// After the backward pass of a unit: the gradients of all its microbatches, or with fsdp and no pipeline of each.
void RankStep::reduce_gradients(Unit unit) {
  if (!is_last_backward_ && !has_root_unit()) return;
  if (has_root_unit() && unit == last_unit()) return;  // goes with the embedding
  for (const Set& set : sets(unit)) {
    if (set.elements == 0) continue;
    const std::string what = prefix_ + set.name + "gradients ";
    const std::int64_t members = config_.parallel.group_size(set.holders.shards);
    const std::int64_t shard = shard_elements(set) * config_.gradient_bytes;
    if (members > 1 && !config_.distributed_optimizer) {
      static_cast<void>(copy(set.name + std::string("gradients copy-in"), set.elements * config_.element_bytes,
                             set.elements * config_.gradient_bytes, {}));
    }
    Ids ids = emitter_.last_compute();
    if (pipeline_.is_dual()) {
      ids = emitter_.mirrored_all_reduce(name(what + "all-reduce of both directions"),
                                         set.elements * config_.gradient_bytes, ids);
    }
    ids = emitter_.collective(name(what + "reduce-scatter"), Purpose::kGradients,
                              {CollectiveType::kReduceScatter, shard * members, set.holders.shards}, ids);
    ids = emitter_.collective(name(what + "all-reduce"), Purpose::kGradients,
                              {CollectiveType::kAllReduce, shard, set.holders.replicas}, ids);
    pending_.push_back(std::move(ids));
  }
}

}  // namespace weft::workloads
