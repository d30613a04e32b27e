// SPDX-License-Identifier: Apache-2.0
// Steps of a plan: stage by stage, and message by message.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sw/compression/selection.h"
#include "sw/compression/sidco.h"
#include "sw/kfac/compression_kernels.h"
#include "sw/schedules/kfac/kfac_plan.h"

namespace weft::schedules {

using models::Layer;

namespace {

std::size_t index(int value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

compression::Distribution distribution_of(GradientCompression method) {
  switch (method) {
    case GradientCompression::kGamma:
      return compression::Distribution::kGamma;
    case GradientCompression::kPareto:
      return compression::Distribution::kPareto;
    default:
      return compression::Distribution::kExponential;
  }
}

/// Appends stage by stage, and remembers after which one each tensor is ready.
class KfacPlan::Builder {
 public:
  Builder(const KfacPlan& plan, const KfacDecisions& decisions)
      : plan_(plan),
        decisions_(decisions),
        gradient_ready_(plan.network_.layers.size()),
        factor_ready_(plan.sides_.size()) {}

  void forward(std::size_t layer) {
    add(KfacWork::kForward, KfacPart::kForwardBackward, static_cast<int>(layer), {},
        kfac::forward_kernels(plan_.network_.layers[layer], plan_.network_.batch, plan_.types_));
    if (!keeps(layer)) return;
    add(KfacWork::kKeep, KfacPart::kCompression, static_cast<int>(layer), {},
        kfac::keep_kernels(kept_shape(plan_.network_, plan_.config_, layer)));
  }
  /// What came into a layer, if it is not there any more.
  void restore(std::size_t layer) {
    if (!keeps(layer)) return;
    add(KfacWork::kRestore, KfacPart::kCompression, static_cast<int>(layer), {},
        kfac::restore_kernels(kept_shape(plan_.network_, plan_.config_, layer)));
  }
  void backward(std::size_t layer) {
    restore(layer);
    add(KfacWork::kBackward, KfacPart::kForwardBackward, static_cast<int>(layer), {},
        kfac::backward_kernels(plan_.network_.layers[layer], plan_.network_.batch, layer == 0, plan_.types_));
    gradient_ready_[layer] = last();
    if (compresses()) compress(layer);
  }
  /// `which` is 0 for A and 1 for G.
  void factor(std::size_t layer, std::size_t which) {
    const int pair = plan_.pair_of_[layer];
    if (pair < 0) return;
    const std::size_t f = 2 * index(pair) + which;
    const Layer& shape = plan_.network_.layers[layer];
    const std::int64_t batch = plan_.network_.batch;
    add(KfacWork::kFactor, KfacPart::kFactorComp, static_cast<int>(f), local_owner(f),
        which == 0 ? kfac::factor_a_kernels(shape, batch, plan_.types_)
                   : kfac::factor_g_kernels(shape, batch, plan_.types_));
    if (sends_factors()) {
      add(KfacWork::kPackFactor, KfacPart::kFactorPacking, static_cast<int>(f), {},
          kfac::pack_factor_kernels(plan_.config_.packing, plan_.sides_[f], plan_.config_.merges_factors()));
    }
    factor_ready_[f] = last();
  }
  /// A message of gradients: all of them, a sparse one, or (dear) the reduction of each rank's part.
  void send_gradients() {
    const std::size_t layers = plan_.network_.layers.size();
    const KfacConfig& config = plan_.config_;
    const bool dear = config.algorithm == KfacAlgorithm::kDear;
    std::size_t first = 0;
    for (std::size_t group = 0; group < decisions_.gradients.size(); ++group) {
      const std::size_t count = decisions_.gradients[group];
      KfacMessage message = gradients_of(first, count, dear ? "ReduceScatter of gradients" : "gradients");
      message.traffic = KfacTraffic::kGradients;
      message.ready = config.wait_free ? gradient_ready_[layers - first - count] : last();
      if (dear) {
        message.collective = KfacCollective::kReduceScatter;
      } else if (config.compression.on()) {
        message.collective = KfacCollective::kSparse;
        message.first = group;
        message.count = 1;
        message.name = "sparse " + message.name;
        message.address = plan_.layout_.sparse[group].pairs;
        message.bytes = sizeof(compression::Pair) * static_cast<std::uint64_t>(plan_.layout_.sparse[group].target) *
                        static_cast<std::uint64_t>(plan_.ranks_);
      } else {
        message.tensors = 0;
        for (std::size_t l = layers - first - count; l < layers - first; ++l) {
          message.tensors += models::tensors(plan_.network_.layers[l]);
        }
      }
      send(std::move(message));
      first += count;
    }
  }
  /// Dear: in the order in which the next forward pass asks for them, when all have been reduced.
  void gather_gradients() {
    std::size_t first = plan_.network_.layers.size();
    for (auto count = decisions_.gradients.rbegin(); count != decisions_.gradients.rend(); ++count) {
      first -= *count;
      KfacMessage message = gradients_of(first, *count, "Allgather of gradients");
      message.traffic = KfacTraffic::kDelayed;
      message.collective = KfacCollective::kAllgather;
      message.ready = last();
      send(std::move(message));
    }
  }
  /// The next stage begins when the step before has gathered the gradients of this layer.
  void await_gathered(std::size_t layer) {
    if (plan_.ranks_ == 1) return;
    std::size_t layers = 0;
    std::size_t messages = 0;
    for (auto count = decisions_.gradients.rbegin(); layers <= layer; ++count, ++messages) layers += *count;
    await_[index(KfacTraffic::kDelayed)] = messages;
  }
  /// What all ranks have chosen, message by message as it comes.
  void decompress() {
    if (!compresses()) return;
    for (std::size_t group = 0; group < plan_.layout_.sparse.size(); ++group) {
      const KfacLayout::Sparse& message = plan_.layout_.sparse[group];
      await_[index(KfacTraffic::kGradients)] = group + 1;
      add(KfacWork::kDecompress, KfacPart::kCompression, static_cast<int>(group), {},
          kfac::scatter_kernels(message.elements, message.target * plan_.ranks_));
    }
  }
  /// Begins the averaging of all weights in a slot.
  void start_average(int slot) {
    if (plan_.ranks_ == 1) return;
    std::size_t first = 0;
    for (const std::size_t count : decisions_.averages) {
      const std::uint64_t offset = plan_.layout_.weights[first] - plan_.layout_.weights.front();
      KfacMessage message{.traffic = KfacTraffic::kDelayed,
                          .name = "weights" + layers_text(first, first + count - 1),
                          .ready = 0,
                          .first = first,
                          .count = count,
                          .address = plan_.layout_.averages[index(slot)].sum + offset};
      for (std::size_t l = first; l < first + count; ++l) {
        const std::int64_t elements = models::parameters(plan_.network_.layers[l]);
        add(KfacWork::kSnapshot, KfacPart::kGradientPacking, static_cast<int>(l), {}, kfac::snapshot_kernels(elements));
        step_.stages.back().slot = slot;
        message.bytes += bytes_of_elements(elements);
      }
      message.ready = last();
      send(std::move(message));
      first += count;
    }
  }
  /// Merges that of a slot, whose messages come one after the other.
  void join_average(int slot) {
    if (plan_.ranks_ == 1) return;
    std::size_t l = 0;
    for (const std::size_t count : decisions_.averages) {
      ++await_[index(KfacTraffic::kDelayed)];
      for (const std::size_t end = l + count; l < end; ++l) {
        add(KfacWork::kMerge, KfacPart::kGradientPacking, static_cast<int>(l), {},
            kfac::merge_kernels(models::parameters(plan_.network_.layers[l])));
        step_.stages.back().slot = slot;
      }
    }
  }
  void send_factors() {
    if (!sends_factors()) return;
    std::size_t first = 0;
    for (const std::size_t count : decisions_.factors) {
      const std::vector<std::size_t>& order = plan_.layout_.sending_order;
      KfacMessage message{.traffic = KfacTraffic::kFactors,
                          .name = factor_name(plan_.network_, order[first]),
                          .ready = 0,
                          .first = first,
                          .count = count,
                          .address = plan_.layout_.sent_factors[order[first]]};
      if (count > 1) {
        message.name +=
            " to " + factor_name(plan_.network_, order[first + count - 1]) + ", " + std::to_string(count) + " factors";
      }
      if (!plan_.config_.merges_factors()) message.tensors = static_cast<int>(count);
      if (!plan_.config_.pipelined()) message.ready = last();
      for (std::size_t i = first; i < first + count; ++i) {
        message.ready = std::max(message.ready, factor_ready_[order[i]]);
        message.bytes += bytes_of_elements(plan_.sent_elements(plan_.sides_[order[i]]));
      }
      step_.stages[message.ready].host_waits = plan_.config_.merges_factors();
      send(std::move(message));
      first += count;
    }
  }
  /// The next stage begins when all that has been sent of it has come.
  void await(KfacTraffic traffic) { await_[index(traffic)] = sent(traffic); }
  /// The host averages metrics before what comes next. They queue behind the factors A, if these are sent by then.
  void average_metrics(bool behind_a) {
    metrics_ = plan_.config_.metrics > 0;
    if (!metrics_ || !behind_a || plan_.ranks_ == 1) return;
    std::size_t factors = 0;
    std::size_t messages = 0;
    for (; factors < plan_.sides_.size() / 2; ++messages) factors += decisions_.factors[messages];
    await_[index(KfacTraffic::kFactors)] = messages;
  }
  void unpack_factors() {
    if (!sends_factors()) return;
    for (const std::size_t f : plan_.layout_.sending_order) {
      add(KfacWork::kUnpackFactor, KfacPart::kFactorPacking, static_cast<int>(f), {},
          kfac::unpack_factor_kernels(plan_.config_.packing, plan_.sides_[f], plan_.config_.merges_factors()));
    }
  }
  void invert() {
    const std::size_t factors = plan_.sides_.size();
    const bool sends = !plan_.config_.local_factors();
    std::vector<std::size_t> ready(factors);
    for (std::size_t f = 0; f < factors; ++f) {
      const int owner = decisions_.placement.owner[f];
      const std::int64_t side = plan_.sides_[f];
      add(KfacWork::kInvert, KfacPart::kInverseComp, static_cast<int>(f), {owner}, kfac::inverse_kernels(side));
      if (sends && owner != kfac::kEveryone) {
        add(KfacWork::kClear, KfacPart::kInverseComp, static_cast<int>(f), {owner, true}, kfac::clear_kernels(side));
        add(KfacWork::kPackInverse, KfacPart::kInversePacking, static_cast<int>(f), {},
            kfac::pack_kernels(plan_.config_.packing, side));
      }
      ready[f] = last();
    }
    if (!sends) return;
    for (std::size_t f = 0; f < factors; ++f) {
      const int owner = decisions_.placement.owner[f];
      if (owner == kfac::kEveryone) continue;
      send({.traffic = KfacTraffic::kInverses,
            .collective = KfacCollective::kBroadcast,
            .name = "inverse of " + factor_name(plan_.network_, f) + " from rank " + std::to_string(owner),
            .ready = plan_.config_.overlap_inverses ? ready[f] : last(),
            .root = owner,
            .first = f,
            .address = plan_.layout_.sent_inverses[f],
            .bytes = bytes_of_elements(plan_.sent_elements(plan_.sides_[f]))});
    }
    // Each as it comes.
    for (std::size_t f = 0; f < factors; ++f) {
      const int owner = decisions_.placement.owner[f];
      if (owner == kfac::kEveryone) continue;
      if (plan_.ranks_ > 1) ++await_[index(KfacTraffic::kInverses)];
      add(KfacWork::kUnpackInverse, KfacPart::kInversePacking, static_cast<int>(f), {},
          kfac::unpack_kernels(plan_.config_.packing, plan_.sides_[f]));
    }
  }
  void precondition() {
    std::vector<std::size_t> ready;
    for (const int layer : plan_.layer_of_) {
      const auto l = index(layer);
      const std::size_t f = 2 * index(plan_.pair_of_[l]);
      add(KfacWork::kPrecondition, KfacPart::kPrecondition, layer, local_owner(f),
          kfac::precondition_kernels(plan_.network_.layers[l], plan_.types_));
      ready.push_back(last());
    }
    if (!plan_.config_.local_factors()) return;
    for (std::size_t pair = 0; pair < plan_.layer_of_.size(); ++pair) {
      const int owner = decisions_.placement.owner[2 * pair];
      if (owner == kfac::kEveryone) continue;
      const auto l = index(plan_.layer_of_[pair]);
      send({.traffic = KfacTraffic::kInverses,
            .collective = KfacCollective::kBroadcast,
            .name =
                "preconditioned gradient of " + plan_.network_.layers[l].name + " from rank " + std::to_string(owner),
            .ready = plan_.config_.overlap_inverses ? ready[pair] : last(),
            .root = owner,
            .first = l,
            .address = plan_.layout_.preconditioned[l],
            .bytes = bytes_of_elements(models::parameters(plan_.network_.layers[l]))});
    }
    await(KfacTraffic::kInverses);
  }
  void clip() {
    for (const int layer : plan_.layer_of_) {
      add(KfacWork::kDivergence, KfacPart::kPrecondition, layer, {},
          kfac::divergence_kernels(plan_.network_.layers[index(layer)]));
      step_.stages.back().host_waits = true;
    }
    for (const int layer : plan_.layer_of_) {
      add(KfacWork::kClip, KfacPart::kPrecondition, layer, {}, kfac::clip_kernels(plan_.network_.layers[index(layer)]));
    }
  }
  void update(std::size_t layer) {
    add(KfacWork::kUpdate, KfacPart::kForwardBackward, static_cast<int>(layer), {},
        kfac::update_kernels(plan_.network_.layers[layer]));
  }
  void update() {
    for (std::size_t l = 0; l < plan_.network_.layers.size(); ++l) update(l);
  }

  KfacStep take() {
    // Each communicator does what is ready first; of several, gradients first, as they are asked for first.
    std::stable_sort(step_.messages.begin(), step_.messages.end(),
                     [](const KfacMessage& a, const KfacMessage& b) { return a.ready < b.ready; });
    return std::move(step_);
  }

 private:
  [[nodiscard]] bool sends_factors() const { return plan_.ranks_ > 1 && !plan_.config_.local_factors(); }
  /// The first layer's input is the batch, which stays.
  [[nodiscard]] bool keeps(std::size_t layer) const { return plan_.config_.activations.on() && layer > 0; }
  [[nodiscard]] bool compresses() const { return plan_.config_.compression.on() && plan_.ranks_ > 1; }
  /// If the gradients of this layer, which are the latest, end a message.
  void compress(std::size_t layer) {
    std::size_t begin = plan_.network_.layers.size();
    std::size_t group = 0;
    while (begin > layer) begin -= decisions_.gradients[group++];
    if (begin != layer) return;
    const CompressionConfig& how = plan_.config_.compression;
    const KfacLayout::Sparse& message = plan_.layout_.sparse[--group];
    add(KfacWork::kCompress, KfacPart::kCompression, static_cast<int>(group), {},
        how.estimates() ? kfac::estimation_kernels(message.elements, message.target, distribution_of(how.method),
                                                   compression::ThresholdEstimator::first_stages(how.ratio, how.stages))
                        : kfac::selection_kernels(message.elements, message.target));
    gradient_ready_[layer] = last();
  }
  /// `first` counts from the last layer on.
  [[nodiscard]] KfacMessage gradients_of(std::size_t first, std::size_t count, const std::string& what) const {
    const std::size_t layers = plan_.network_.layers.size();
    KfacMessage message{.traffic = KfacTraffic::kGradients,
                        .name = what + layers_text(layers - 1 - first, layers - first - count),
                        .ready = 0,
                        .first = first,
                        .count = count,
                        .address = plan_.layout_.gradients[layers - 1 - first]};
    for (std::size_t l = layers - first - count; l < layers - first; ++l) {
      message.bytes += bytes_of_elements(models::parameters(plan_.network_.layers[l]));
    }
    return message;
  }
  /// " of 3 layers, fc to conv1"
  [[nodiscard]] std::string layers_text(std::size_t from, std::size_t to) const {
    const std::vector<Layer>& layers = plan_.network_.layers;
    if (from == to) return " of " + layers[from].name;
    return " of " + std::to_string(std::max(from, to) - std::min(from, to) + 1) + " layers, " + layers[from].name +
           " to " + layers[to].name;
  }
  /// Whose work a stage is, for pictures.
  [[nodiscard]] std::string item_text(KfacWork work, int item) const {
    switch (work) {
      case KfacWork::kFactor:
      case KfacWork::kPackFactor:
      case KfacWork::kUnpackFactor:
      case KfacWork::kInvert:
      case KfacWork::kClear:
      case KfacWork::kPackInverse:
      case KfacWork::kUnpackInverse:
        return factor_name(plan_.network_, index(item));
      case KfacWork::kCompress:
      case KfacWork::kDecompress:
        return "message " + std::to_string(item);
      default:
        return plan_.network_.layers[index(item)].name;
    }
  }
  [[nodiscard]] std::size_t last() const { return step_.stages.size() - 1; }
  /// DP-KFAC: the layer's owner alone has its factors.
  [[nodiscard]] Doers local_owner(std::size_t factor) const {
    return plan_.config_.local_factors() ? Doers{decisions_.placement.owner[factor]} : Doers{};
  }
  [[nodiscard]] std::size_t sent(KfacTraffic traffic) const {
    return static_cast<std::size_t>(std::count_if(step_.messages.begin(), step_.messages.end(),
                                                  [&](const KfacMessage& m) { return m.traffic == traffic; }));
  }
  void add(KfacWork work, KfacPart part, int item, Doers doers, const std::vector<kfac::LayerKernel>& kernels) {
    step_.stages.push_back({work, part, item, doers, plan_.planned(kernels, item_text(work, item)), await_});
    step_.stages.back().behind_metrics = std::exchange(metrics_, false);
  }
  void send(KfacMessage message) {
    if (plan_.ranks_ > 1 && message.bytes > 0) step_.messages.push_back(std::move(message));
  }

  const KfacPlan& plan_;
  const KfacDecisions& decisions_;
  KfacStep step_;
  std::array<std::size_t, kKfacTraffics> await_{};
  bool metrics_ = false;
  std::vector<std::size_t> gradient_ready_;  ///< by layer: the stage
  std::vector<std::size_t> factor_ready_;    ///< by factor
};

KfacStep KfacPlan::step(const KfacDecisions& decisions, const KfacUpdates& updates) const {
  Builder builder(*this, decisions);
  const std::size_t layers = network_.layers.size();
  const bool dear = config_.algorithm == KfacAlgorithm::kDear;
  const bool sends = updates.factors && !config_.local_factors();
  const bool pipelined = updates.factors && config_.pipelined();
  for (std::size_t l = 0; l < layers; ++l) {
    if (dear && updates.joins >= 0) {
      builder.await_gathered(l);
      builder.update(l);
    }
    if (pipelined) builder.factor(l, 0);
    builder.forward(l);
  }
  builder.average_metrics(pipelined && sends);
  for (std::size_t l = layers; l-- > 0;) {
    builder.backward(l);
    if (pipelined) builder.factor(l, 1);
  }
  if (!config_.averages()) builder.send_gradients();
  if (dear) {
    builder.gather_gradients();
    return builder.take();
  }
  if (pipelined && sends) builder.send_factors();
  builder.decompress();
  builder.await(KfacTraffic::kGradients);
  if (updates.factors && !pipelined) {
    for (std::size_t l = 0; l < layers; ++l) {
      if (models::has_factors(network_.layers[l])) builder.restore(l);
      builder.factor(l, 0);
      builder.factor(l, 1);
    }
    if (sends) builder.send_factors();
  }
  if (sends) {
    builder.await(KfacTraffic::kFactors);
    builder.unpack_factors();
  }
  if (updates.inverses) builder.invert();
  if (config_.second_order()) builder.precondition();
  if (config_.clips()) builder.clip();
  builder.update();
  if (updates.starts >= 0) builder.start_average(updates.starts);
  if (updates.joins >= 0) builder.join_average(updates.joins);
  return builder.take();
}

KfacStep KfacPlan::rest(const KfacDecisions& decisions) const {
  Builder builder(*this, decisions);
  if (config_.algorithm != KfacAlgorithm::kDear) return builder.take();
  for (std::size_t l = 0; l < network_.layers.size(); ++l) {
    builder.await_gathered(l);
    builder.update(l);
  }
  return builder.take();
}

KfacStep KfacPlan::profile() const {
  const KfacDecisions decisions = unmeasured();
  Builder builder(*this, decisions);
  for (std::size_t l = 0; l < network_.layers.size(); ++l) {
    builder.factor(l, 0);
    builder.forward(l);
  }
  for (std::size_t l = network_.layers.size(); l-- > 0;) {
    builder.backward(l);
    builder.factor(l, 1);
  }
  return builder.take();
}

}  // namespace weft::schedules
