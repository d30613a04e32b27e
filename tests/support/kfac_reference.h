// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/random.h"
#include "sw/collectives/blocks.h"
#include "sw/compression/dct.h"
#include "sw/compression/selection.h"
#include "sw/compression/sidco.h"
#include "sw/kfac/arithmetic.h"
#include "sw/kfac/compression_kernels.h"
#include "sw/kfac/packing.h"
#include "sw/schedules/kfac/kfac_config.h"
#include "sw/schedules/kfac/kfac_plan.h"

/// Training as one process would do it, without a machine: the ranks' parts one after the other, sums as written.
namespace weft::test {

template <typename Real>
using Reals = std::vector<Real>;

template <typename Real>
std::span<const Real> view(const Reals<Real>& values) {
  return values;
}

/// From -scale to scale.
inline Reals<float> drawn(const std::string& what, std::int64_t elements, float scale) {
  Random random(3, what);
  Reals<float> values(static_cast<std::size_t>(elements));
  for (float& value : values) value = scale * static_cast<float>(2 * random.share() - 1);
  return values;
}

/// What a run begins with.
struct TrainingData {
  std::vector<Reals<float>> weights;  ///< by layer
  std::vector<Reals<float>> inputs;   ///< by rank
  std::vector<Reals<float>> targets;

  TrainingData(const models::Network& network, int ranks) {
    for (const models::Layer& layer : network.layers) {
      const auto scale = std::sqrt(3.0F / static_cast<float>(models::factor_a(layer)));
      weights.push_back(drawn("weights " + layer.name, models::parameters(layer), scale));
    }
    for (int r = 0; r < ranks; ++r) {
      const std::string rank = std::to_string(r);
      inputs.push_back(drawn("input " + rank, kfac::input_elements(network.layers.front(), network.batch), 1));
      targets.push_back(drawn("target " + rank, kfac::output_elements(network.layers.back(), network.batch), 1));
    }
  }
};

struct ReferenceConfig {
  bool second_order = true;
  bool local_factors = false;  ///< of the owner's samples alone
  std::vector<int> owners;     ///< by factor, who inverts it
  kfac::Packing packing = kfac::Packing::kIndices;
  kfac::Inversion inverse = kfac::Inversion::kCholesky;
  compression::CompressionConfig compression;
  int coefficients = 0;  ///< of blocks of compressed activations; 0: kept as they are
  bool exact_a = false;  ///< factors of inputs are computed before these are compressed
  int factor_interval = 1;
  int inverse_interval = 1;
  double rate = 0.1;
  double momentum = 0.9;
  double damping = 0.003;
  bool factored_damping = false;
  bool damping_stays = false;
  double kl_clip = 0;  ///< 0: none
  double decay = 0.95;
};

/// Sums addends of all ranks, `by_rank`, as a ring of one channel does it with these messages, in elements: of message
/// part b, ranks b + 1, b + 2, ..., b are added up in this order.
template <typename Real>
Reals<Real> ring_sum(const std::vector<Reals<Real>>& by_rank, const std::vector<std::size_t>& messages) {
  const std::size_t ranks = by_rank.size();
  Reals<Real> sum = by_rank.front();
  std::size_t first = 0;
  for (const std::size_t length : messages) {
    for (std::size_t block = 0; block < ranks; ++block) {
      const collectives::Extent part = collectives::split({0, 4 * length}, ranks, block, 4);
      for (std::size_t i = first + part.offset / 4; i < first + (part.offset + part.bytes) / 4; ++i) {
        Real value = by_rank[(block + 1) % ranks][i];
        for (std::size_t step = 2; step <= ranks; ++step) value = value + by_rank[(block + step) % ranks][i];
        sum[i] = value;
      }
    }
    first += length;
  }
  return sum;
}

template <typename Real>
class ReferenceTraining {
 public:
  ReferenceTraining(const models::Network& network, const TrainingData& data, const ReferenceConfig& config)
      : network_(network), config_(config) {
    for (const auto& own : data.weights) {
      weights_.emplace_back(own.begin(), own.end());
      momentum_.emplace_back(own.size());
    }
    for (std::size_t r = 0; r < data.inputs.size(); ++r) {
      inputs_.emplace_back(data.inputs[r].begin(), data.inputs[r].end());
      targets_.emplace_back(data.targets[r].begin(), data.targets[r].end());
    }
    std::vector<Reals<Real>> squares;
    for (const std::int64_t side : sides()) {
      Reals<Real> identity(static_cast<std::size_t>(side * side));
      for (std::int64_t i = 0; i < side; ++i) identity[static_cast<std::size_t>(i * side + i)] = 1;
      squares.push_back(identity);
    }
    inverses_ = squares;
    factors_.assign(inputs_.size(), squares);
  }

  /// Lengths of the messages that sum gradients (the last layer first) and what is sent of factors (all A, then all G
  /// from the last layer on), in elements.
  void step(const std::vector<std::size_t>& gradient_messages, const std::vector<std::size_t>& factor_messages) {
    const std::size_t ranks = inputs_.size();
    const std::size_t layers = network_.layers.size();
    const bool factors = config_.second_order && steps_ % config_.factor_interval == 0;
    const bool inverts = config_.second_order && steps_ % config_.inverse_interval == 0;
    ++steps_;
    loss_ = 0;
    std::vector<Reals<Real>> gradients;
    for (std::size_t r = 0; r < ranks; ++r) gradients.push_back(pass(r, factors));
    Reals<Real> gradient = config_.compression.on() && ranks > 1 ? sparse_sum(gradients, gradient_messages)
                                                                 : ring_sum(gradients, gradient_messages);
    for (Real& value : gradient) value *= Real(1) / static_cast<Real>(ranks);
    if (factors && !config_.local_factors) share_factors(factor_messages);
    if (inverts) {
      for (std::size_t f = 0; f < inverses_.size(); f += 2) invert_pair(f);
    }
    std::vector<Reals<Real>> by_layer(layers);
    double divergence = 0;
    auto end = gradient.end();
    for (std::size_t l = 0; l < layers; ++l) {
      const auto begin = end - static_cast<std::ptrdiff_t>(weights_[l].size());
      const Reals<Real> own(begin, end);
      end = begin;
      by_layer[l] = own;
      if (!config_.second_order) continue;
      if (config_.inverse == kfac::Inversion::kEigen) {
        kfac::precondition_by_eigen(network_.layers[l], view(inverses_[2 * l]), view(inverses_[2 * l + 1]),
                                    static_cast<Real>(config_.damping), std::span(by_layer[l]));
      } else {
        kfac::precondition(network_.layers[l], view(inverses_[2 * l]), view(inverses_[2 * l + 1]),
                           std::span(by_layer[l]));
      }
      divergence += kfac::divergence(view(own), view(by_layer[l]), static_cast<Real>(config_.rate));
    }
    scale_ = config_.kl_clip > 0 ? kfac::clip_scale(divergence, config_.kl_clip) : 1;
    for (std::size_t l = 0; l < layers; ++l) {
      if (config_.kl_clip > 0) {
        for (Real& value : by_layer[l]) value *= static_cast<Real>(scale_);
      }
      kfac::update(view(by_layer[l]), static_cast<Real>(config_.momentum), static_cast<Real>(config_.rate),
                   std::span(momentum_[l]), std::span(weights_[l]));
    }
  }
  void step() {
    std::size_t parameters = 0;
    for (const auto& own : weights_) parameters += own.size();
    std::size_t triangles = 0;
    for (const std::int64_t side : sides()) {
      triangles += static_cast<std::size_t>(kfac::sent_elements(config_.packing, side));
    }
    step({parameters}, {triangles});
  }

  [[nodiscard]] const std::vector<Reals<Real>>& weights() const { return weights_; }
  std::vector<Reals<Real>>& weights() { return weights_; }
  /// Sparse gradients: elements sent so far, by those that there were.
  [[nodiscard]] double density() const { return sent_ / dense_; }
  [[nodiscard]] const std::vector<Reals<Real>>& factors() const { return factors_.front(); }
  /// Of the latest step, before its update.
  [[nodiscard]] double loss() const { return loss_; }
  /// By which it was clipped.
  [[nodiscard]] double scale() const { return scale_; }

 private:
  [[nodiscard]] std::vector<std::int64_t> sides() const { return kfac::factor_sides(network_); }

  /// Forward and backward of a rank: its gradients, the last layer first, and its factors' running averages.
  Reals<Real> pass(std::size_t r, bool factors) {
    const std::vector<models::Layer>& layers = network_.layers;
    const std::int64_t batch = network_.batch;
    std::vector<Reals<Real>> activations = {inputs_[r]};
    for (std::size_t l = 0; l < layers.size(); ++l) {
      Reals<Real> output(static_cast<std::size_t>(kfac::output_elements(layers[l], batch)));
      kfac::forward(layers[l], batch, view(weights_[l]), view(activations[l]), l + 1 < layers.size(),
                    std::span(output));
      activations.push_back(output);
    }
    const std::vector<Reals<Real>> kept = restored(activations);
    Reals<Real> of_output = activations.back();
    double loss = 0;
    for (std::size_t i = 0; i < of_output.size(); ++i) {
      of_output[i] -= targets_[r][i];
      loss += static_cast<double>(of_output[i]) * static_cast<double>(of_output[i]) / 2;
      of_output[i] /= static_cast<Real>(batch);
    }
    loss_ += loss / static_cast<double>(batch) / static_cast<double>(inputs_.size());
    Reals<Real> gradients;
    for (std::size_t l = layers.size(); l-- > 0;) {
      Reals<Real> gradient(weights_[l].size());
      Reals<Real> of_input(l > 0 ? activations[l].size() : 0);
      kfac::backward(layers[l], batch, view(weights_[l]), view(kept[l]), l > 0, view(of_output), std::span(gradient),
                     std::span(of_input));
      gradients.insert(gradients.end(), gradient.begin(), gradient.end());
      if (factors) {
        const auto decay = static_cast<Real>(config_.decay);
        const Reals<Real>& input = (config_.exact_a ? activations : kept)[l];
        kfac::average_factor_a(layers[l], batch, view(input), decay, std::span(factors_[r][2 * l]));
        kfac::average_factor_g(layers[l], batch, view(of_output), decay, std::span(factors_[r][2 * l + 1]));
      }
      of_output = of_input;
    }
    return gradients;
  }

  /// What the backward pass finds of them.
  std::vector<Reals<float>> restored(std::vector<Reals<float>> activations) const {
    if (config_.coefficients == 0) return activations;
    for (std::size_t l = 1; l < network_.layers.size(); ++l) {
      const compression::DctShape shape = kfac::input_shape(network_.layers[l], network_.batch, config_.coefficients);
      std::vector<std::byte> compressed(static_cast<std::size_t>(shape.bytes()));
      compression::compress(shape, activations[l], compressed);
      compression::restore(shape, compressed, activations[l]);
    }
    return activations;
  }
  std::vector<Reals<double>> restored(std::vector<Reals<double>> activations) const {
    if (config_.coefficients != 0) throw std::invalid_argument("expected compressed activations in float32");
    return activations;
  }

  static compression::Distribution distribution_of(const compression::CompressorName& method) {
    using compression::Distribution;
    return method == "exponential" ? Distribution::kExponential
           : method == "gamma"     ? Distribution::kGamma
                                   : Distribution::kPareto;
  }

  /// What each rank chooses of each message, added in the order of the ranks; the rest stays with it.
  Reals<float> sparse_sum(const std::vector<Reals<float>>& by_rank, const std::vector<std::size_t>& messages) {
    const compression::CompressionConfig& how = config_.compression;
    residuals_.resize(by_rank.size(), Reals<float>(by_rank.front().size()));
    Reals<float> sum(by_rank.front().size());
    for (std::size_t r = 0; r < by_rank.size(); ++r) {
      std::size_t first = 0;
      for (std::size_t m = 0; m < messages.size(); ++m) {
        const std::span<float> rest = std::span(residuals_[r]).subspan(first, messages[m]);
        for (std::size_t i = 0; i < rest.size(); ++i) rest[i] += by_rank[r][first + i];
        const auto target = static_cast<std::size_t>(std::ceil(how.ratio * static_cast<double>(rest.size())));
        std::vector<std::uint32_t> chosen;
        if (how.method != "top-k") {
          const auto [estimator, fresh] =
              estimators_.try_emplace({r, m}, distribution_of(how.method), how.ratio, how.stages);
          chosen = compression::above(rest, estimator->second.threshold(rest), std::min(2 * target, rest.size()));
          estimator->second.observe(chosen.size(), rest.size());
        } else {
          chosen = compression::largest(rest, target);
        }
        compression::add(compression::take(chosen, rest), std::span(sum).subspan(first, messages[m]));
        sent_ += static_cast<double>(chosen.size());
        dense_ += static_cast<double>(rest.size());
        first += messages[m];
      }
    }
    return sum;
  }
  Reals<double> sparse_sum(const std::vector<Reals<double>>& /*by_rank*/, const std::vector<std::size_t>& /*lengths*/) {
    throw std::invalid_argument("expected sparse gradients in float32");
  }

  /// Factors a and a + 1, each by its owner, in whose average the damping may stay.
  void invert_pair(std::size_t a) {
    std::array<double, 2> damping = {config_.damping, config_.damping};
    for (const std::size_t which : {0, 1}) {
      if (!config_.factored_damping) break;
      const auto& own = factors_[owner_of(a + which)];
      const kfac::Damping both = kfac::factored_damping(sides()[a], view(own[a]), sides()[a + 1], view(own[a + 1]),
                                                        static_cast<Real>(config_.damping));
      damping[which] = static_cast<double>(static_cast<float>(which == 0 ? both.a : both.g));
    }
    for (const std::size_t which : {0, 1}) {
      const std::size_t f = a + which;
      if (config_.inverse == kfac::Inversion::kEigen) {
        inverses_[f].resize(static_cast<std::size_t>(kfac::inverse_elements(config_.inverse, sides()[f])));
        kfac::decompose(sides()[f], view(factors_[owner_of(f)][f]), std::span(inverses_[f]));
        continue;
      }
      kfac::invert(sides()[f], view(factors_[owner_of(f)][f]), static_cast<Real>(damping[which]),
                   std::span(inverses_[f]));
      if (!config_.damping_stays) continue;
      for (std::size_t r = 0; r < factors_.size(); ++r) {
        if (is_shared(f) || owner_of(f) == r) {
          const auto side = static_cast<std::size_t>(sides()[f]);
          for (std::size_t i = 0; i < side; ++i) factors_[r][f][i * side + i] += static_cast<Real>(damping[which]);
        }
      }
    }
  }
  [[nodiscard]] bool is_shared(std::size_t f) const { return config_.owners.empty() || config_.owners[f] < 0; }
  [[nodiscard]] std::size_t owner_of(std::size_t f) const {
    return is_shared(f) ? 0 : static_cast<std::size_t>(config_.owners[f]);
  }

  void share_factors(const std::vector<std::size_t>& messages) {
    std::vector<std::size_t> order;
    const std::size_t count = inverses_.size();
    for (std::size_t f = 0; f < count; f += 2) order.push_back(f);
    for (std::size_t f = count; f > 0; f -= 2) order.push_back(f - 1);
    std::vector<Reals<Real>> triangles(inputs_.size());
    for (std::size_t r = 0; r < inputs_.size(); ++r) {
      for (const std::size_t f : order) {
        Reals<Real> triangle = factors_[r][f];
        if (config_.packing != kfac::Packing::kSquares) {
          triangle.resize(static_cast<std::size_t>(models::triangle(sides()[f])));
          kfac::pack_triangle(sides()[f], view(factors_[r][f]), std::span(triangle));
        }
        triangles[r].insert(triangles[r].end(), triangle.begin(), triangle.end());
      }
    }
    const Reals<Real> sum = ring_sum(triangles, messages);
    auto next = sum.begin();
    for (const std::size_t f : order) {
      const std::int64_t sent = kfac::sent_elements(config_.packing, sides()[f]);
      const Reals<Real> triangle(next, next + sent);
      next += sent;
      const Real share = Real(1) / static_cast<Real>(inputs_.size());
      for (auto& own : factors_) {
        if (config_.packing != kfac::Packing::kSquares) {
          kfac::unpack_triangle(sides()[f], view(triangle), share, std::span(own[f]));
        } else {
          for (std::size_t i = 0; i < triangle.size(); ++i) own[f][i] = triangle[i] * share;
        }
      }
    }
  }

  models::Network network_;
  ReferenceConfig config_;
  int steps_ = 0;
  double loss_ = 0;
  double scale_ = 1;
  std::vector<Reals<Real>> weights_;  ///< by layer
  std::vector<Reals<Real>> momentum_;
  std::vector<Reals<Real>> inputs_;  ///< by rank
  std::vector<Reals<Real>> targets_;
  std::vector<std::vector<Reals<Real>>> factors_;                                              ///< by rank and factor
  std::vector<Reals<Real>> inverses_;                                                          ///< by factor
  std::vector<Reals<float>> residuals_;                                                        ///< by rank
  std::map<std::pair<std::size_t, std::size_t>, compression::ThresholdEstimator> estimators_;  ///< by rank and message
  double sent_ = 0;
  double dense_ = 0;
};

/// Delayed averaging: n copies of a model, each trained on its own samples; every `interval` steps what they are is
/// summed as a ring does it, and `delay` steps later each takes the mean and adds what it has learnt meanwhile.
class ReferenceAveraging {
 public:
  ReferenceAveraging(const models::Network& network, const TrainingData& data, const ReferenceConfig& config, int delay,
                     int interval)
      : delay_(delay), interval_(interval) {
    for (std::size_t r = 0; r < data.inputs.size(); ++r) {
      TrainingData own = data;
      own.inputs = {data.inputs[r]};
      own.targets = {data.targets[r]};
      copies_.emplace_back(network, own, config);
    }
  }

  /// Lengths of the messages that sum weights, the first layer first, in elements.
  void step(const std::vector<std::size_t>& messages) {
    std::vector<Reals<float>> weights;
    for (auto& copy : copies_) {
      copy.step();
      Reals<float>& flat = weights.emplace_back();
      for (const auto& own : copy.weights()) flat.insert(flat.end(), own.begin(), own.end());
    }
    if ((steps_ + 1) % interval_ == 0) snapshots_[steps_] = weights;
    if (const auto old = snapshots_.find(steps_ - delay_); old != snapshots_.end()) {
      const Reals<float> sum = ring_sum(old->second, messages);
      for (std::size_t r = 0; r < copies_.size(); ++r) {
        std::size_t i = 0;
        for (auto& own : copies_[r].weights()) {
          for (float& weight : own) {
            weight = sum[i] * (1.0F / static_cast<float>(copies_.size())) + (weight - old->second[r][i]);
            ++i;
          }
        }
      }
    }
    ++steps_;
  }
  [[nodiscard]] const ReferenceTraining<float>& copy(std::size_t rank) const { return copies_[rank]; }
  [[nodiscard]] double loss() const {
    double mean = 0;
    for (const auto& copy : copies_) mean += copy.loss() / static_cast<double>(copies_.size());
    return mean;
  }

 private:
  int delay_;
  int interval_;
  int steps_ = 0;
  std::vector<ReferenceTraining<float>> copies_;
  std::map<int, std::vector<Reals<float>>> snapshots_;  ///< by step: weights of all copies
};

}  // namespace weft::test
