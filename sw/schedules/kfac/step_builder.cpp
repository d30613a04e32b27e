// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/step_builder.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "hw/core/config/blame.h"
#include "sw/kfac/compression_kernels.h"

namespace weft::schedules {

using models::Layer;

namespace {

std::size_t index(int value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

void StepBuilder::require(bool is_there, const char* call, std::int64_t argument, const std::string& expected) const {
  if (is_there) return;
  throw OwnFailure("schedule " + config().algorithm.text() + ": " + call + "(" + std::to_string(argument) +
                   "): expected " + expected);
}

void StepBuilder::require_layer(const char* call, std::size_t layer) const {
  require(layer < layers(), call, static_cast<std::int64_t>(layer),
          "one of the network's " + std::to_string(layers()) + " layers, from 0");
}

void StepBuilder::require_slot(const char* call, int slot, int within) const {
  const int slots = plan_.trainer().averagings();
  require(slot >= 0 && slot < slots, call, slot,
          slots == 0 ? "averagings() of at least 1, got 0"
                     : "a slot below averagings(), which is " + std::to_string(slots));
  require_within(call, within);
}

void StepBuilder::require_within(const char* call, int within) const {
  const std::size_t there = plan_.subgroups().size();
  require(within == kAllRanks || (within >= 0 && index(within) < there), call, within,
          there == 0 ? "kAllRanks, since subgroups() gives none"
                     : "one of the " + std::to_string(there) + " of subgroups(), from 0, or kAllRanks");
}

StepBuilder::StepBuilder(const KfacPlan& plan, const KfacDecisions& decisions)
    : plan_(plan), decisions_(decisions), gradient_ready_(layers()), factor_ready_(plan.sides_.size()) {}

std::size_t StepBuilder::factor_of(std::size_t layer, std::size_t which) const {
  return 2 * index(plan_.pair_of_[layer]) + which;
}

int StepBuilder::owner(std::size_t layer) const {
  return decisions_.placement.owner[factor_of(layer, 0)];
}

// ---- The passes

void StepBuilder::forward(std::size_t layer) {
  require_layer("forward", layer);
  add(KfacWork::kForward, KfacPart::kForwardBackward, static_cast<int>(layer), {},
      kfac::forward_kernels(network().layers[layer], network().batch, plan_.types_));
  if (!keeps(layer)) return;
  add(KfacWork::kKeep, KfacPart::kCompression, static_cast<int>(layer), {},
      kfac::keep_kernels(kept_shape(network(), config(), layer)));
}

void StepBuilder::restore(std::size_t layer) {
  require_layer("restore", layer);
  if (!keeps(layer)) return;
  add(KfacWork::kRestore, KfacPart::kCompression, static_cast<int>(layer), {},
      kfac::restore_kernels(kept_shape(network(), config(), layer)));
}

void StepBuilder::backward(std::size_t layer) {
  require_layer("backward", layer);
  restore(layer);
  add(KfacWork::kBackward, KfacPart::kForwardBackward, static_cast<int>(layer), {},
      kfac::backward_kernels(network().layers[layer], network().batch, layer == 0, plan_.types_));
  gradient_ready_[layer] = last();
  if (compresses()) compress_behind(layer);
}

void StepBuilder::average_metrics(bool behind_a) {
  metrics_ = config().metrics > 0;
  if (!metrics_ || !behind_a || ranks() == 1) return;
  std::size_t factors = 0;
  std::size_t messages = 0;
  for (; factors < plan_.sides_.size() / 2; ++messages) factors += decisions_.factors[messages];
  await_[index(KfacTraffic::kFactors)] = messages;
}

void StepBuilder::update(std::size_t layer, KfacGradient gradient) {
  require_layer("update", layer);
  add(KfacWork::kUpdate, KfacPart::kForwardBackward, static_cast<int>(layer), {},
      kfac::update_kernels(network().layers[layer]));
  step_.stages.back().gradient = gradient;
}

// ---- Gradients

KfacMessage StepBuilder::gradients_of(std::size_t first, std::size_t count, const std::string& what) const {
  const std::size_t begin = layers() - first - count;
  KfacMessage message{.traffic = KfacTraffic::kGradients,
                      .name = what + layers_text(layers() - 1 - first, begin),
                      .within = within_,
                      .first = first,
                      .count = count,
                      .address = layout().gradients[layers() - 1 - first]};
  for (std::size_t l = begin; l < begin + count; ++l) {
    message.bytes += bytes_of_elements(models::parameters(network().layers[l]));
  }
  return message;
}

std::size_t StepBuilder::gradients_ready(std::size_t first, std::size_t count) const {
  return config().wait_free ? gradient_ready_[layers() - first - count] : last();
}

void StepBuilder::send_gradients(int within) {
  require_within("send_gradients", within);
  if (within != kAllRanks && config().compression.on()) {
    throw std::logic_error(
        "compressed gradients travel over all ranks: a schedule that sums them in groups may not be sparse");
  }
  within_ = within;
  std::size_t first = 0;
  for (std::size_t group = 0; group < decisions_.gradients.size(); ++group) {
    const std::size_t count = decisions_.gradients[group];
    KfacMessage message = gradients_of(first, count, "gradients");
    message.ready = gradients_ready(first, count);
    first += count;
    if (compresses()) {
      message.name = "compressed " + message.name;
      send_compressed(group, std::move(message));
      continue;
    }
    message.tensors = 0;
    for (std::size_t l = layers() - first; l < layers() - first + count; ++l) {
      message.tensors += models::tensors(network().layers[l]);
    }
    push(std::move(message));
  }
}

void StepBuilder::await_gradients() {
  // What all ranks have sent is added up message by message as it comes.
  std::size_t messages = 0;
  for (std::size_t group = 0; compresses() && group < layout().compressed.size(); ++group) {
    const compression::Plan& plan = layout().compressed[group].plan;
    messages += plan.rounds.size();
    await_[index(KfacTraffic::kGradients)] = messages;
    add(KfacWork::kDecompress, KfacPart::kCompression, static_cast<int>(group), {},
        kfac::layer_kernels(plan.after(plan.wire == compression::Wire::kSummed ? 1 : ranks())));
  }
  await(KfacTraffic::kGradients);
}

void StepBuilder::reduce_scatter_gradients() {
  std::size_t first = 0;
  for (const std::size_t count : decisions_.gradients) {
    KfacMessage message = gradients_of(first, count, "ReduceScatter of gradients");
    message.collective = KfacCollective::kReduceScatter;
    message.ready = gradients_ready(first, count);
    push(std::move(message));
    first += count;
  }
}

void StepBuilder::gather_gradients() {
  std::size_t first = layers();
  for (auto count = decisions_.gradients.rbegin(); count != decisions_.gradients.rend(); ++count) {
    first -= *count;
    KfacMessage message = gradients_of(first, *count, "Allgather of gradients");
    message.traffic = KfacTraffic::kDelayed;
    message.collective = KfacCollective::kAllgather;
    send(std::move(message));
  }
}

void StepBuilder::await_gathered(std::size_t layer) {
  require_layer("await_gathered", layer);
  if (ranks() == 1) return;
  std::size_t gathered = 0;
  std::size_t messages = 0;
  for (auto count = decisions_.gradients.rbegin(); gathered <= layer; ++count, ++messages) gathered += *count;
  await_[index(KfacTraffic::kDelayed)] = messages;
}

// ---- Weights

void StepBuilder::start_average(int slot, int within) {
  require_slot("start_average", slot, within);
  if (ranks() == 1) return;
  std::size_t first = 0;
  for (const std::size_t count : decisions_.averages) {
    const std::uint64_t offset = layout().weights[first] - layout().weights.front();
    KfacMessage message{.traffic = KfacTraffic::kDelayed,
                        .name = "weights" + layers_text(first, first + count - 1),
                        .within = within,
                        .first = first,
                        .count = count,
                        .address = layout().averages[index(slot)].sum + offset};
    for (std::size_t l = first; l < first + count; ++l) {
      const std::int64_t elements = models::parameters(network().layers[l]);
      add(KfacWork::kSnapshot, KfacPart::kGradientPacking, static_cast<int>(l), {}, kfac::snapshot_kernels(elements));
      step_.stages.back().slot = slot;
      step_.stages.back().within = within;
      message.bytes += bytes_of_elements(elements);
    }
    send(std::move(message));
    first += count;
  }
}

void StepBuilder::join_average(int slot, int within) {
  require_slot("join_average", slot, within);
  if (ranks() == 1) return;
  std::size_t l = 0;
  for (const std::size_t count : decisions_.averages) {
    ++await_[index(KfacTraffic::kDelayed)];
    for (const std::size_t end = l + count; l < end; ++l) {
      add(KfacWork::kMerge, KfacPart::kGradientPacking, static_cast<int>(l), {},
          kfac::merge_kernels(models::parameters(network().layers[l])));
      step_.stages.back().slot = slot;
      step_.stages.back().within = within;
    }
  }
}

// ---- Factors

void StepBuilder::factor(std::size_t layer, std::size_t which, const Doers& doers) {
  require_layer("factor", layer);
  if (!has_factors(layer)) return;
  const std::size_t f = factor_of(layer, which);
  const Layer& shape = network().layers[layer];
  add(KfacWork::kFactor, KfacPart::kFactorComp, static_cast<int>(f), doers,
      which == 0 ? kfac::factor_a_kernels(shape, network().batch, plan_.types_)
                 : kfac::factor_g_kernels(shape, network().batch, plan_.types_));
  factor_ready_[f] = last();
}

void StepBuilder::pack_factor(std::size_t layer, std::size_t which) {
  require_layer("pack_factor", layer);
  if (!has_factors(layer) || ranks() == 1) return;
  const std::size_t f = factor_of(layer, which);
  add(KfacWork::kPackFactor, KfacPart::kFactorPacking, static_cast<int>(f), {},
      kfac::pack_factor_kernels(config().packing, plan_.sides_[f], config().merges_factors(), factor_element()));
  factor_ready_[f] = last();
}

void StepBuilder::send_factors() {
  if (ranks() == 1) return;
  std::size_t first = 0;
  for (const std::size_t count : decisions_.factors) {
    const std::vector<std::size_t>& order = layout().sending_order;
    KfacMessage message{.traffic = KfacTraffic::kFactors,
                        .name = factor_name(network(), order[first]),
                        .first = first,
                        .count = count,
                        .address = layout().sent_factors[order[first]],
                        .type = config().sent_factor_type()};
    if (count > 1) {
      message.name +=
          " to " + factor_name(network(), order[first + count - 1]) + ", " + std::to_string(count) + " factors";
    }
    if (!config().merges_factors()) message.tensors = static_cast<int>(count);
    if (!config().pipelined()) message.ready = last();
    for (std::size_t i = first; i < first + count; ++i) {
      message.ready = std::max(message.ready, factor_ready_[order[i]]);
      message.bytes += plan_.sent_bytes(plan_.sides_[order[i]]);
    }
    step_.stages[message.ready].host_waits = config().merges_factors();
    push(std::move(message));
    first += count;
  }
}

void StepBuilder::receive_factors() {
  await(KfacTraffic::kFactors);
  if (ranks() == 1) return;
  for (const std::size_t f : layout().sending_order) {
    add(KfacWork::kUnpackFactor, KfacPart::kFactorPacking, static_cast<int>(f), {},
        kfac::unpack_factor_kernels(config().packing, plan_.sides_[f], config().merges_factors(), factor_element()));
  }
}

void StepBuilder::invert() {
  for (std::size_t f = 0; f < plan_.sides_.size(); ++f) {
    add(KfacWork::kInvert, KfacPart::kInverseComp, static_cast<int>(f), Doers::of(decisions_.placement.owner[f]),
        kfac::inverse_kernels(plan_.sides_[f], config().inverse));
  }
}

void StepBuilder::invert_and_share() {
  invert_and_share([](int owner) { return Share{.root = owner}; }, true);
}

void StepBuilder::invert_and_share(const ShareOf& share) {
  invert_and_share(share, false);
}

void StepBuilder::invert_and_share(const ShareOf& share, bool clears) {
  const std::size_t factors = plan_.sides_.size();
  const bool packs = config().inverse == kfac::Inversion::kCholesky;
  std::vector<std::size_t> ready(factors);
  std::vector<Share> shares;
  for (const int owner : decisions_.placement.owner) {
    shares.push_back(owner == kfac::kEveryone ? Share() : share(owner));
  }
  for (std::size_t f = 0; f < factors; ++f) {
    const int owner = decisions_.placement.owner[f];
    const std::int64_t side = plan_.sides_[f];
    add(KfacWork::kInvert, KfacPart::kInverseComp, static_cast<int>(f), Doers::of(owner),
        kfac::inverse_kernels(side, config().inverse));
    if (shares[f].root != kfac::kEveryone) {
      if (clears) {
        add(KfacWork::kClear, KfacPart::kInverseComp, static_cast<int>(f), Doers::all_but(owner),
            kfac::clear_kernels(side));
      }
      add(KfacWork::kPackInverse, KfacPart::kInversePacking, static_cast<int>(f), shares[f].doers,
          packs ? kfac::pack_kernels(config().packing, side) : std::vector<kfac::LayerKernel>());
    }
    ready[f] = last();
  }
  for (std::size_t f = 0; f < factors; ++f) {
    if (shares[f].root == kfac::kEveryone) continue;
    push({.traffic = KfacTraffic::kInverses,
          .collective = KfacCollective::kBroadcast,
          .name =
              "inverse of " + factor_name(network(), f) + " from rank " + std::to_string(decisions_.placement.owner[f]),
          .ready = config().overlap_inverses ? ready[f] : last(),
          .root = shares[f].root,
          .within = shares[f].within,
          .first = f,
          .address = layout().sent_inverses[f],
          .bytes = bytes_of_elements(plan_.sent_inverse_elements(plan_.sides_[f]))});
  }
  for (std::size_t f = 0; f < factors; ++f) {
    if (shares[f].root == kfac::kEveryone) continue;
    if (ranks() > 1) ++await_[index(KfacTraffic::kInverses)];
    add(KfacWork::kUnpackInverse, KfacPart::kInversePacking, static_cast<int>(f), shares[f].doers,
        packs ? kfac::unpack_kernels(config().packing, plan_.sides_[f]) : std::vector<kfac::LayerKernel>());
  }
}

void StepBuilder::precondition() {
  for (const int layer : plan_.layer_of_) {
    add(KfacWork::kPrecondition, KfacPart::kPrecondition, layer, {},
        kfac::precondition_kernels(network().layers[index(layer)], plan_.types_, config().inverse));
    step_.stages.back().gradient = KfacGradient::kPreconditioned;
  }
}

void StepBuilder::precondition_and_share() {
  precondition_and_share([](int owner) { return Share{.doers = Doers::of(owner), .root = owner}; });
}

void StepBuilder::precondition_and_share(const ShareOf& share) {
  std::vector<std::size_t> ready;
  for (const int layer : plan_.layer_of_) {
    const auto l = index(layer);
    add(KfacWork::kPrecondition, KfacPart::kPrecondition, layer, share(owner(l)).doers,
        kfac::precondition_kernels(network().layers[l], plan_.types_, config().inverse));
    step_.stages.back().gradient = KfacGradient::kOwners;
    ready.push_back(last());
  }
  for (std::size_t pair = 0; pair < plan_.layer_of_.size(); ++pair) {
    const auto l = index(plan_.layer_of_[pair]);
    const Share sent = share(owner(l));
    if (sent.root == kfac::kEveryone) continue;
    push({.traffic = KfacTraffic::kInverses,
          .collective = KfacCollective::kBroadcast,
          .name = "preconditioned gradient of " + network().layers[l].name + " from rank " + std::to_string(owner(l)),
          .ready = config().overlap_inverses ? ready[pair] : last(),
          .root = sent.root,
          .within = sent.within,
          .first = l,
          .address = layout().preconditioned[l],
          .bytes = bytes_of_elements(models::parameters(network().layers[l]))});
  }
  await(KfacTraffic::kInverses);
}

void StepBuilder::clip() {
  if (!config().clips()) return;
  for (const int layer : plan_.layer_of_) {
    add(KfacWork::kDivergence, KfacPart::kPrecondition, layer, {},
        kfac::divergence_kernels(network().layers[index(layer)]));
    step_.stages.back().host_waits = true;
  }
  for (const int layer : plan_.layer_of_) {
    add(KfacWork::kClip, KfacPart::kPrecondition, layer, {}, kfac::clip_kernels(network().layers[index(layer)]));
  }
}

// ---- A schedule's own

void StepBuilder::compute(Own own) {
  require_layer("compute", own.layer);
  add(KfacWork::kOwn, own.part, static_cast<int>(own.layer), own.doers, own.kernels);
  step_.stages.back().contents = std::move(own.contents);
}

void StepBuilder::send(KfacMessage message) {
  require_within("send", message.within);
  if (message.collective == KfacCollective::kBroadcast) {
    require(message.root >= 0 && message.root < ranks(), "send", message.root,
            "a Broadcast from one of " + std::to_string(ranks()) + " ranks, from 0");
  }
  message.ready = last();
  push(std::move(message));
}

void StepBuilder::await(KfacTraffic traffic) {
  await_[index(traffic)] = sent(traffic);
}

KfacStep StepBuilder::take() {
  // What is awaited at the end of a step ends it.
  if (!step_.stages.empty() && await_ != step_.stages.back().after) compute({});
  // Each communicator does what is ready first; of several, gradients first, as they are asked for first.
  std::stable_sort(step_.messages.begin(), step_.messages.end(),
                   [](const KfacMessage& a, const KfacMessage& b) { return a.ready < b.ready; });
  return std::move(step_);
}

/// " of 3 layers, fc to conv1"
std::string StepBuilder::layers_text(std::size_t from, std::size_t to) const {
  const std::vector<Layer>& layers = network().layers;
  if (from == to) return " of " + layers[from].name;
  return " of " + std::to_string(std::max(from, to) - std::min(from, to) + 1) + " layers, " + layers[from].name +
         " to " + layers[to].name;
}

/// Whose work a stage is, for pictures.
std::string StepBuilder::item_text(KfacWork work, int item) const {
  switch (work) {
    case KfacWork::kFactor:
    case KfacWork::kPackFactor:
    case KfacWork::kUnpackFactor:
    case KfacWork::kInvert:
    case KfacWork::kClear:
    case KfacWork::kPackInverse:
    case KfacWork::kUnpackInverse:
      return factor_name(network(), index(item));
    case KfacWork::kCompress:
    case KfacWork::kDecompress:
      return "message " + std::to_string(item);
    default:
      return network().layers[index(item)].name;
  }
}

std::size_t StepBuilder::sent(KfacTraffic traffic) const {
  return static_cast<std::size_t>(std::count_if(step_.messages.begin(), step_.messages.end(),
                                                [&](const KfacMessage& m) { return m.traffic == traffic; }));
}

void StepBuilder::add(KfacWork work, KfacPart part, int item, const Doers& doers,
                      const std::vector<kfac::LayerKernel>& kernels) {
  KfacStage& stage = step_.stages.emplace_back();
  stage.work = work;
  stage.part = part;
  stage.item = item;
  stage.doers = doers;
  stage.kernels = plan_.planned(kernels, item_text(work, item));
  stage.after = await_;
  stage.within = within_;
  stage.behind_metrics = std::exchange(metrics_, false);
}

void StepBuilder::push(KfacMessage message) {
  if (ranks() > 1 && message.bytes > 0) step_.messages.push_back(std::move(message));
}

}  // namespace weft::schedules
