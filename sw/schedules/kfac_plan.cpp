// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac_plan.h"

#include <algorithm>
#include <numeric>

namespace weft::schedules {

using models::Layer;
using models::Network;

namespace {

constexpr std::uint64_t kElement = 4;

std::uint64_t bytes_of(std::int64_t elements) {
  return kElement * static_cast<std::uint64_t>(elements);
}

std::uint64_t triangle_bytes(std::int64_t side) {
  return bytes_of(models::triangle(side));
}

std::vector<std::int64_t> sides_of(const Network& network, bool second_order) {
  return second_order ? kfac::factor_sides(network) : std::vector<std::int64_t>();
}

/// A in the order of the forward pass, then G in that of the backward pass.
std::vector<std::size_t> order_of_triangles(std::size_t factors) {
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < factors; t += 2) order.push_back(t);
  for (std::size_t t = factors; t > 0; t -= 2) order.push_back(t - 1);
  return order;
}

/// A pass over a triangle through a list of positions, of two 64-bit indices each, as libraries pick and place
/// elements.
kfac::LayerKernel indexed(std::string_view name, std::int64_t elements) {
  return {name, accelerator::Elementwise{elements, Bytes((4 + 16) * elements), Bytes(4 * elements)}};
}

std::vector<kfac::LayerKernel> pack_kernels(std::int64_t side) {
  return {indexed("pack", models::triangle(side))};
}

/// Both halves of the square.
std::vector<kfac::LayerKernel> unpack_kernels(std::int64_t side) {
  return {indexed("unpack.upper", models::triangle(side)), indexed("unpack.lower", models::triangle(side))};
}

std::int64_t patch_elements(const Layer& layer, std::int64_t batch) {
  return batch * layer.positions() * models::factor_a(layer);
}

std::int64_t inputs(const Layer& layer, std::int64_t batch) {
  return batch * layer.channels_in * layer.height * layer.width;
}

std::int64_t outputs(const Layer& layer, std::int64_t batch) {
  return batch * layer.channels_out * layer.positions();
}

std::size_t index(int value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

std::string factor_name(const Network& network, std::size_t factor) {
  std::size_t pair = 0;
  for (const Layer& layer : network.layers) {
    if (!models::has_factors(layer)) continue;
    if (pair++ == factor / 2) return layer.name + (factor % 2 == 0 ? ".A" : ".G");
  }
  return "none";
}

KfacLayout::KfacLayout(const std::vector<firmware::Rank*>& ranks, const Network& network, bool second_order) {
  const auto allocate = [&](const std::string& what, std::uint64_t bytes) {
    return firmware::allocate_together(ranks, what, std::max<std::uint64_t>(bytes, kElement));
  };
  // Neighbours in memory travel together, so what is fused lies without gaps.
  const auto allocate_all = [&](const std::string& what, const std::vector<std::uint64_t>& bytes,
                                const std::vector<std::size_t>& order) {
    std::uint64_t next = allocate(what, std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}));
    Addresses addresses(bytes.size());
    for (const std::size_t i : order) {
      addresses[i] = next;
      next += bytes[i];
    }
    return addresses;
  };
  const auto ascending = [](std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
  };

  std::vector<std::uint64_t> parameters;
  std::int64_t largest_output = 0;
  std::int64_t largest_patches = 0;
  for (const Layer& layer : network.layers) {
    parameters.push_back(bytes_of(models::parameters(layer)));
    activations.push_back(allocate("activations", bytes_of(inputs(layer, network.batch))));
    largest_output = std::max(largest_output, outputs(layer, network.batch));
    output_gradients.push_back(
        models::has_factors(layer) ? allocate("gradients of outputs", bytes_of(outputs(layer, network.batch))) : 0);
    if (second_order && models::has_factors(layer)) {
      largest_patches = std::max(largest_patches, patch_elements(layer, network.batch));
    }
  }
  if (!network.layers.empty()) {
    activations.push_back(allocate("activations", bytes_of(outputs(network.layers.back(), network.batch))));
  }
  workspace = allocate("workspace for gradients of outputs and for patches",
                       2 * bytes_of(largest_output) + 2 * bytes_of(largest_patches));
  std::vector<std::size_t> order = ascending(parameters.size());
  weights = allocate_all("parameters", parameters, order);
  momentum = allocate_all("momentum", parameters, order);
  std::reverse(order.begin(), order.end());
  gradients = allocate_all("gradients", parameters, order);

  const std::vector<std::int64_t> sides = sides_of(network, second_order);
  std::vector<std::uint64_t> squares;
  std::vector<std::uint64_t> halves;
  for (const std::int64_t side : sides) {
    squares.push_back(bytes_of(side * side));
    halves.push_back(triangle_bytes(side));
  }
  factors = allocate_all("factors", squares, ascending(squares.size()));
  inverses = allocate_all("inverses", squares, ascending(squares.size()));
  triangles = allocate_all("triangles of factors", halves, order_of_triangles(halves.size()));
  inverse_triangles = allocate_all("triangles of inverses", halves, ascending(halves.size()));
}

KfacPlan::KfacPlan(Network network, const KfacConfig& config, const accelerator::ComputeConfig& compute, int ranks,
                   const KfacLayout& layout)
    : network_(std::move(network)), config_(config), compute_(compute), ranks_(ranks), layout_(layout) {
  for (std::size_t l = 0; l < network_.layers.size(); ++l) {
    pair_of_.push_back(-1);
    if (!config_.second_order() || !models::has_factors(network_.layers[l])) continue;
    pair_of_.back() = static_cast<int>(layer_of_.size());
    layer_of_.push_back(static_cast<int>(l));
  }
  sides_ = sides_of(network_, config_.second_order());
  triangle_order_ = order_of_triangles(sides_.size());
  for (std::size_t f = 0; f < sides_.size(); ++f) inverse_labels_.push_back("invert " + factor_name(network_, f));
}

std::vector<PlannedKernel> KfacPlan::planned(const std::vector<kfac::LayerKernel>& kernels) const {
  std::vector<PlannedKernel> list;
  list.reserve(kernels.size());
  for (const kfac::LayerKernel& kernel : kernels) {
    list.push_back({kernel.name.data(), kfac::kernel_work(compute_, kernel)});
  }
  return list;
}

std::vector<PlannedKernel> KfacPlan::inverse(std::int64_t side) const {
  return planned(kfac::inverse_kernels(side));
}

KfacDecisions KfacPlan::unmeasured() const {
  KfacDecisions decisions;
  const std::int64_t limit = config_.fusion_threshold.count() / static_cast<std::int64_t>(kElement);
  std::vector<kfac::Ready> gradients;
  for (auto layer = network_.layers.rbegin(); layer != network_.layers.rend(); ++layer) {
    gradients.push_back({0, models::parameters(*layer)});
  }
  decisions.gradients = kfac::fuse_within(gradients, limit);
  const FactorFusion fusion = config_.factor_fusion();
  for (const std::size_t first : {std::size_t{0}, sides_.size() / 2}) {
    std::vector<kfac::Ready> factors;
    for (std::size_t i = first; i < first + sides_.size() / 2; ++i) {
      factors.push_back({0, models::triangle(sides_[triangle_order_[i]])});
    }
    const kfac::Groups groups = fusion == FactorFusion::kNone  ? kfac::fuse_none(factors.size())
                                : fusion == FactorFusion::kAll ? kfac::fuse_all(factors.size())
                                                               : kfac::fuse_within(factors, limit);
    decisions.factors.insert(decisions.factors.end(), groups.begin(), groups.end());
  }
  if (config_.local_factors()) {
    decisions.placement = kfac::place_dp(layer_of_.size(), ranks_);
  } else if (config_.inverse_placement() == InversePlacement::kInTurn) {
    decisions.placement = kfac::place_mpd(layer_of_.size(), ranks_);
  } else {
    decisions.placement = kfac::place_everywhere(sides_.size(), ranks_);
  }
  return decisions;
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
        kfac::forward_kernels(plan_.network_.layers[layer], plan_.network_.batch));
  }
  void backward(std::size_t layer) {
    add(KfacWork::kBackward, KfacPart::kForwardBackward, static_cast<int>(layer), {},
        kfac::backward_kernels(plan_.network_.layers[layer], plan_.network_.batch, layer == 0));
    gradient_ready_[layer] = last();
  }
  /// `which` is 0 for A and 1 for G.
  void factor(std::size_t layer, std::size_t which) {
    const int pair = plan_.pair_of_[layer];
    if (pair < 0) return;
    const std::size_t f = 2 * index(pair) + which;
    const Layer& shape = plan_.network_.layers[layer];
    const std::int64_t batch = plan_.network_.batch;
    add(KfacWork::kFactor, KfacPart::kFactorComp, static_cast<int>(f), local_owner(f),
        which == 0 ? kfac::factor_a_kernels(shape, batch) : kfac::factor_g_kernels(shape, batch));
    if (!plan_.config_.local_factors()) {
      add(KfacWork::kPackFactor, KfacPart::kFactorComm, static_cast<int>(f), {}, pack_kernels(plan_.sides_[f]));
    }
    factor_ready_[f] = last();
  }
  void send_gradients() {
    const std::size_t layers = plan_.network_.layers.size();
    std::size_t first = 0;
    for (const std::size_t count : decisions_.gradients) {
      KfacMessage message{.traffic = KfacTraffic::kGradients,
                          .name = "gradients of " + std::to_string(count) + " layers",
                          .ready = last(),
                          .first = first,
                          .count = count};
      const std::size_t last_layer = layers - first - count;
      message.address = plan_.layout_.gradients[layers - 1 - first];
      for (std::size_t l = last_layer; l < last_layer + count; ++l) {
        message.bytes += bytes_of(models::parameters(plan_.network_.layers[l]));
      }
      if (plan_.config_.wait_free) message.ready = gradient_ready_[last_layer];
      send(std::move(message));
      first += count;
    }
  }
  void send_factors() {
    std::size_t first = 0;
    for (const std::size_t count : decisions_.factors) {
      const std::vector<std::size_t>& order = plan_.triangle_order_;
      KfacMessage message{.traffic = KfacTraffic::kFactors,
                          .name = factor_name(plan_.network_, order[first]),
                          .ready = 0,
                          .first = first,
                          .count = count,
                          .address = plan_.layout_.triangles[order[first]]};
      if (count > 1) {
        message.name +=
            " to " + factor_name(plan_.network_, order[first + count - 1]) + ", " + std::to_string(count) + " factors";
      }
      if (!plan_.config_.pipelined()) message.ready = last();
      for (std::size_t i = first; i < first + count; ++i) {
        message.ready = std::max(message.ready, factor_ready_[order[i]]);
        message.bytes += triangle_bytes(plan_.sides_[order[i]]);
      }
      send(std::move(message));
      first += count;
    }
  }
  /// The next stage begins when all that has been sent of it has come.
  void await(KfacTraffic traffic) { await_[index(static_cast<int>(traffic))] = sent(traffic); }
  /// The same for the factors A, which are to be sent.
  void await_factors_a() {
    if (plan_.ranks_ == 1) return;
    std::size_t factors = 0;
    std::size_t messages = 0;
    for (; factors < plan_.sides_.size() / 2; ++messages) factors += decisions_.factors[messages];
    await_[index(static_cast<int>(KfacTraffic::kFactors))] = messages;
  }
  void unpack_factors() {
    for (const std::size_t f : plan_.triangle_order_) {
      add(KfacWork::kUnpackFactor, KfacPart::kFactorComm, static_cast<int>(f), {}, unpack_kernels(plan_.sides_[f]));
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
      for (PlannedKernel& kernel : step_.stages.back().kernels) kernel.label = plan_.inverse_labels_[f].c_str();
      if (sends && owner != kfac::kEveryone) {
        add(KfacWork::kPackInverse, KfacPart::kInverseComm, static_cast<int>(f), {owner}, pack_kernels(side));
      }
      ready[f] = last();
    }
    if (!sends) return;
    for (std::size_t f = 0; f < factors; ++f) {
      const int owner = decisions_.placement.owner[f];
      if (owner == kfac::kEveryone) continue;
      send({.traffic = KfacTraffic::kInverses,
            .name = "inverse of " + factor_name(plan_.network_, f) + " from rank " + std::to_string(owner),
            .ready = plan_.config_.overlap_inverses ? ready[f] : last(),
            .root = owner,
            .first = f,
            .address = plan_.layout_.inverse_triangles[f],
            .bytes = triangle_bytes(plan_.sides_[f])});
    }
    await(KfacTraffic::kInverses);
    for (std::size_t f = 0; f < factors; ++f) {
      const int owner = decisions_.placement.owner[f];
      if (owner == kfac::kEveryone) continue;
      add(KfacWork::kUnpackInverse, KfacPart::kInverseComm, static_cast<int>(f), {owner, true},
          unpack_kernels(plan_.sides_[f]));
    }
  }
  void precondition() {
    std::vector<std::size_t> ready;
    for (const int layer : plan_.layer_of_) {
      const auto l = index(layer);
      const std::size_t f = 2 * index(plan_.pair_of_[l]);
      add(KfacWork::kPrecondition, KfacPart::kPrecondition, layer, local_owner(f),
          kfac::precondition_kernels(plan_.network_.layers[l]));
      ready.push_back(last());
    }
    if (!plan_.config_.local_factors()) return;
    for (std::size_t pair = 0; pair < plan_.layer_of_.size(); ++pair) {
      const int owner = decisions_.placement.owner[2 * pair];
      if (owner == kfac::kEveryone) continue;
      const auto l = index(plan_.layer_of_[pair]);
      send({.traffic = KfacTraffic::kInverses,
            .name =
                "preconditioned gradient of " + plan_.network_.layers[l].name + " from rank " + std::to_string(owner),
            .ready = plan_.config_.overlap_inverses ? ready[pair] : last(),
            .root = owner,
            .first = l,
            .address = plan_.layout_.gradients[l],
            .bytes = bytes_of(models::parameters(plan_.network_.layers[l]))});
    }
    await(KfacTraffic::kInverses);
  }
  void update() {
    for (std::size_t l = 0; l < plan_.network_.layers.size(); ++l) {
      add(KfacWork::kUpdate, KfacPart::kForwardBackward, static_cast<int>(l), {},
          kfac::update_kernels(plan_.network_.layers[l]));
    }
  }

  KfacStep take() {
    // Each communicator does what is ready first; of several, gradients first, as they are asked for first.
    std::stable_sort(step_.messages.begin(), step_.messages.end(),
                     [](const KfacMessage& a, const KfacMessage& b) { return a.ready < b.ready; });
    return std::move(step_);
  }

 private:
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
    step_.stages.push_back({work, part, item, doers, plan_.planned(kernels), await_});
  }
  void send(KfacMessage message) {
    if (plan_.ranks_ > 1 && message.bytes > 0) step_.messages.push_back(std::move(message));
  }

  const KfacPlan& plan_;
  const KfacDecisions& decisions_;
  KfacStep step_;
  std::array<std::size_t, kKfacTraffics> await_{};
  std::vector<std::size_t> gradient_ready_;  ///< by layer: the stage
  std::vector<std::size_t> factor_ready_;    ///< by factor
};

KfacStep KfacPlan::step(const KfacDecisions& decisions, bool factors, bool inverses) const {
  Builder builder(*this, decisions);
  const std::size_t layers = network_.layers.size();
  const bool sends = factors && !config_.local_factors();
  const bool pipelined = factors && config_.pipelined();
  for (std::size_t l = 0; l < layers; ++l) {
    if (pipelined) builder.factor(l, 0);
    builder.forward(l);
  }
  if (pipelined && sends && config_.wait_for_a) builder.await_factors_a();
  for (std::size_t l = layers; l-- > 0;) {
    builder.backward(l);
    if (pipelined) builder.factor(l, 1);
  }
  builder.send_gradients();
  if (pipelined && sends) builder.send_factors();
  builder.await(KfacTraffic::kGradients);
  if (factors && !pipelined) {
    for (std::size_t l = 0; l < layers; ++l) {
      builder.factor(l, 0);
      builder.factor(l, 1);
    }
    if (sends) builder.send_factors();
  }
  if (sends) {
    builder.await(KfacTraffic::kFactors);
    builder.unpack_factors();
  }
  if (inverses) builder.invert();
  if (config_.second_order()) builder.precondition();
  builder.update();
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
