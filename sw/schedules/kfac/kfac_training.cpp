// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/kfac_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "hw/core/config/number_limits.h"
#include "hw/core/config/own_fields.h"
#include "hw/core/random.h"
#include "sw/compression/dct.h"
#include "sw/kfac/arithmetic.h"

namespace weft::schedules {

using firmware::Rank;
using models::Layer;

namespace {

using Reals = Floats;

std::span<const float> view(const Reals& values) {
  return values;
}

/// Evenly from -scale to scale.
Reals drawn(std::int64_t seed, const std::string& what, std::int64_t elements, double scale) {
  Random random(static_cast<std::uint64_t>(seed), what);
  Reals values(static_cast<std::size_t>(elements));
  for (float& value : values) value = static_cast<float>(scale * (2 * random.share() - 1));
  return values;
}

}  // namespace

KfacTraining::KfacTraining(const Kfac& kfac, std::vector<Rank*> ranks)
    : plan_(kfac.plan()),
      layout_(kfac.layout()),
      decisions_(kfac.decisions()),
      ranks_(std::move(ranks)),
      how_(kfac.config()),
      dampings_(ranks_.size(), std::vector<std::optional<kfac::Damping>>(plan_.sides().size() / 2)),
      divergences_(ranks_.size()),
      losses_(ranks_.size()) {
  check_numbers(how_.training, "workload.training");
  // All arithmetic is in float32, as wide as tf32 is kept; the layout of bf16 has two bytes an element.
  if (how_.activation_element() != sizeof(float)) {
    throw ConfigError("workload.type",
                      "expected fp32 or tf32 where workload.training is on, got " + std::string(name_of(how_.type)));
  }
  if (how_.factored_damping() && how_.training.damping_stays && !how_.local_factors() &&
      how_.inverse_placement() != InversePlacement::kEverywhere && how_.inverse_interval % how_.factor_interval != 0) {
    throw ConfigError("workload.training.damping_stays",
                      "expected false where damping is factored and factors are inverted more often than they are "
                      "averaged, as ranks would know different means of their diagonals");
  }
  const std::vector<Layer>& layers = plan_.network().layers;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (!models::has_factors(layers[l])) {
      throw ConfigError("workload.network",
                        layers[l].name + ": expected a convolution or a linear layer where workload.training is on");
    }
    if (!layers[l].before.empty()) {
      throw ConfigError(
          "workload.network",
          layers[l].name + ": expected no pool, concat or branches before it where workload.training is on");
    }
    if (l > 0 && kfac::input_elements(layers[l], 1) != kfac::output_elements(layers[l - 1], 1)) {
      throw ConfigError("workload.network", layers[l].name + ": expected the " +
                                                std::to_string(kfac::output_elements(layers[l - 1], 1)) +
                                                " values that " + layers[l - 1].name + " gives");
    }
  }
  for (const Rank* rank : ranks_) {
    if (rank->store == nullptr) throw ConfigError("workload.training.on", "expected false or data on (--data)");
  }
  compress_by(0);
}

void KfacTraining::compress_by(std::int64_t seed) {
  if (!how_.compression.on()) return;
  std::vector<const collectives::CompressedMessage*> messages;
  for (const collectives::CompressedMessage& message : layout_.compressed) messages.push_back(&message);
  compression_.emplace(messages, how_.compression, static_cast<std::uint64_t>(seed), static_cast<int>(ranks_.size()));
}

std::uint64_t KfacTraining::parameters(std::size_t layer) const {
  return static_cast<std::uint64_t>(models::parameters(plan_.network().layers[layer]));
}

void KfacTraining::load(const std::vector<Reals>& weights, const std::vector<Reals>& inputs,
                        const std::vector<Reals>& targets) {
  targets_ = targets;
  const std::vector<int>& owners = decisions_.placement.owner;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    store_to(*ranks_[r], layout_.activations[0], inputs[r]);
    for (std::size_t l = 0; l < weights.size(); ++l) {
      store_to(*ranks_[r], layout_.weights[l], weights[l]);
      store_to(*ranks_[r], layout_.momentum[l], Reals(weights[l].size()));
    }
    if (compression_) compression_->clear(*ranks_[r]);
    for (std::size_t f = 0; f < plan_.sides().size(); ++f) {
      if (how_.local_factors() && !Doers::of(owners[f]).has(static_cast<int>(r))) continue;
      const std::int64_t side = plan_.sides()[f];
      Reals identity(static_cast<std::size_t>(side * side));
      for (std::int64_t i = 0; i < side; ++i) identity[static_cast<std::size_t>(i * side + i)] = 1;
      store_to(*ranks_[r], layout_.factors[f], identity);
    }
  }
}

void KfacTraining::draw(std::int64_t seed) {
  const std::vector<Layer>& layers = plan_.network().layers;
  const std::int64_t batch = plan_.network().batch;
  const auto weights_of = [&](const std::string& whose) {
    std::vector<Reals> weights;
    for (const Layer& layer : layers) {
      // So that what comes out varies as what came in (LeCun et al., Efficient BackProp, 1998, section 4.6).
      const double scale = std::sqrt(3.0 / static_cast<double>(models::factor_a(layer)));
      weights.push_back(drawn(seed, whose + "'s weights of " + layer.name, models::parameters(layer), scale));
    }
    return weights;
  };
  compress_by(seed);
  const std::vector<Reals> teacher = weights_of("teacher");
  std::vector<Reals> inputs;
  std::vector<Reals> targets;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    inputs.push_back(
        drawn(seed, "inputs of rank " + std::to_string(r), kfac::input_elements(layers.front(), batch), 1));
    Reals values = inputs.back();
    for (std::size_t l = 0; l < layers.size(); ++l) {
      Reals output(static_cast<std::size_t>(kfac::output_elements(layers[l], batch)));
      kfac::forward(layers[l], batch, view(teacher[l]), view(values), l + 1 < layers.size(), std::span(output));
      values = std::move(output);
    }
    targets.push_back(std::move(values));
  }
  load(weights_of("network"), inputs, targets);
}

Kfac::Arithmetic KfacTraining::arithmetic() {
  return [this](Rank& rank, int member, const KfacStage& stage) { run(rank, member, stage); };
}

void KfacTraining::run(Rank& rank, int member, const KfacStage& stage) {
  const auto item = static_cast<std::size_t>(stage.item);
  const std::vector<Layer>& layers = plan_.network().layers;
  const std::int64_t batch = plan_.network().batch;
  const auto side = [&] { return plan_.sides()[item]; };
  switch (stage.work) {
    case KfacWork::kForward: {
      const Layer& layer = layers[item];
      const Reals weights = load_from(rank, layout_.weights[item], models::parameters(layer));
      const Reals input = load_from(rank, layout_.activations[item], kfac::input_elements(layer, batch));
      Reals output(static_cast<std::size_t>(kfac::output_elements(layer, batch)));
      kfac::forward(layer, batch, view(weights), view(input), item + 1 < layers.size(), std::span(output));
      store_to(rank, layout_.activations[item + 1], output);
      return;
    }
    case KfacWork::kKeep:
    case KfacWork::kRestore: {
      const compression::DctShape shape = kept_shape(plan_.network(), how_, item);
      Reals input = load_from(rank, layout_.activations[item], shape.elements());
      std::vector<std::byte> kept(static_cast<std::size_t>(shape.bytes()));
      if (stage.work == KfacWork::kKeep) {
        compression::compress(shape, view(input), kept);
        return store_to(rank, layout_.kept[item], std::span<const std::byte>(kept));
      }
      load_into(rank, layout_.kept[item], std::span(kept));
      compression::restore(shape, kept, std::span(input));
      return store_to(rank, layout_.activations[item], input);
    }
    case KfacWork::kBackward:
      return backward(rank, member, item);
    case KfacWork::kFactor:
      return factor(rank, item);
    case KfacWork::kPackFactor:
      return pack(rank, side(), layout_.factors[item], layout_.sent_factors[item], how_.sent_factor_type());
    case KfacWork::kPackInverse:
      if (eigen()) return;
      return pack(rank, side(), layout_.inverses[item], layout_.sent_inverses[item]);
    case KfacWork::kUnpackFactor:
      return unpack(rank, side(), layout_.sent_factors[item], layout_.factors[item],
                    1.0F / static_cast<float>(ranks_.size()), how_.sent_factor_type());
    case KfacWork::kUnpackInverse:
      if (eigen()) return;
      return unpack(rank, side(), layout_.sent_inverses[item], layout_.inverses[item], 1);
    case KfacWork::kInvert:
      return invert(rank, member, item);
    case KfacWork::kClear:
      return store_to(rank, layout_.inverses[item],
                      Reals(static_cast<std::size_t>(kfac::inverse_elements(how_.inverse, side()))));
    case KfacWork::kPrecondition: {
      const Layer& layer = layers[item];
      const std::size_t a = 2 * item;  // each layer has factors
      const auto square = [&](std::size_t f) {
        return load_from(rank, layout_.inverses[f], kfac::inverse_elements(how_.inverse, plan_.sides()[f]));
      };
      Reals gradient = mean_gradient(rank, member, stage);
      const Reals inverse_a = square(a);
      const Reals inverse_g = square(a + 1);
      if (eigen()) {
        kfac::precondition_by_eigen(layer, view(inverse_a), view(inverse_g), static_cast<float>(how_.training.damping),
                                    std::span(gradient));
      } else {
        kfac::precondition(layer, view(inverse_a), view(inverse_g), std::span(gradient));
      }
      store_to(rank, layout_.preconditioned[item], gradient);
      return;
    }
    case KfacWork::kDivergence: {
      const Reals gradient = mean_gradient(rank, member, stage);
      const Reals preconditioned = load_from(rank, layout_.preconditioned[item], models::parameters(layers[item]));
      double& sum = divergences_[static_cast<std::size_t>(member)];
      sum = (item > 0 ? sum : 0) +
            kfac::divergence(view(gradient), view(preconditioned), static_cast<float>(how_.training.rate));
      return;
    }
    case KfacWork::kClip: {
      Reals gradient = load_from(rank, layout_.preconditioned[item], models::parameters(layers[item]));
      const double scale = kfac::clip_scale(divergences_[static_cast<std::size_t>(member)], how_.kl_clip);
      for (float& value : gradient) value *= static_cast<float>(scale);
      store_to(rank, layout_.gradients[item], gradient);
      return;
    }
    case KfacWork::kUpdate: {
      const std::int64_t elements = models::parameters(layers[item]);
      const Reals gradient = stage.gradient == KfacGradient::kMean ? mean_gradient(rank, member, stage)
                                                                   : load_from(rank, layout_.gradients[item], elements);
      Reals momentum = load_from(rank, layout_.momentum[item], elements);
      Reals weights = load_from(rank, layout_.weights[item], elements);
      kfac::update(view(gradient), static_cast<float>(how_.training.momentum), static_cast<float>(how_.training.rate),
                   std::span(momentum), std::span(weights));
      store_to(rank, layout_.momentum[item], momentum);
      store_to(rank, layout_.weights[item], weights);
      return;
    }
    case KfacWork::kCompress:
      return compression_->compress(rank, member, item, stage.round);
    case KfacWork::kDecompress:
      return compression_->decompress(rank, member, item);
    case KfacWork::kSnapshot:
      return snapshot(rank, item, layout_.averages[static_cast<std::size_t>(stage.slot)]);
    case KfacWork::kMerge:
      return merge(rank, member, stage);
    case KfacWork::kOwn:
      if (stage.contents) stage.contents(rank, member);
      return;
  }
}

void KfacTraining::pack(Rank& rank, std::int64_t side, std::uint64_t square, std::uint64_t sent, ElementType type) {
  if (sent == square) return;
  Reals values = load_from(rank, square, side * side);
  if (how_.packing != kfac::Packing::kSquares) {
    Reals triangle(static_cast<std::size_t>(models::triangle(side)));
    kfac::pack_triangle(side, view(values), std::span(triangle));
    values = std::move(triangle);
  }
  if (type == ElementType::kFp32) return store_to(rank, sent, values);
  std::vector<std::uint16_t> halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(), to_bf16);
  store_to(rank, sent, std::as_bytes(std::span(halves)));
}

void KfacTraining::unpack(Rank& rank, std::int64_t side, std::uint64_t sent, std::uint64_t square, float scale,
                          ElementType type) {
  Reals values;
  if (type == ElementType::kFp32) {
    values = load_from(rank, sent, plan_.sent_elements(side));
  } else {
    std::vector<std::uint16_t> halves(static_cast<std::size_t>(plan_.sent_elements(side)));
    load_into(rank, sent, std::as_writable_bytes(std::span(halves)));
    values.resize(halves.size());
    std::transform(halves.begin(), halves.end(), values.begin(), from_bf16);
  }
  if (how_.packing == kfac::Packing::kSquares) {
    for (float& value : values) value *= scale;
  } else {
    Reals whole(static_cast<std::size_t>(side * side));
    kfac::unpack_triangle(side, view(values), scale, std::span(whole));
    values = std::move(whole);
  }
  store_to(rank, square, values);
}

void KfacTraining::snapshot(Rank& rank, std::size_t layer, const KfacLayout::Average& average) {
  const Reals weights = load_from(rank, layout_.weights[layer], static_cast<std::int64_t>(parameters(layer)));
  const std::uint64_t offset = layout_.weights[layer] - layout_.weights.front();
  store_to(rank, average.sum + offset, weights);
  store_to(rank, average.own + offset, weights);
}

void KfacTraining::merge(Rank& rank, int member, const KfacStage& stage) {
  const auto layer = static_cast<std::size_t>(stage.item);
  const KfacLayout::Average& average = layout_.averages[static_cast<std::size_t>(stage.slot)];
  const auto elements = static_cast<std::int64_t>(parameters(layer));
  const std::uint64_t offset = layout_.weights[layer] - layout_.weights.front();
  const Reals sum = load_from(rank, average.sum + offset, elements);
  const Reals own = load_from(rank, average.own + offset, elements);
  Reals weights = load_from(rank, layout_.weights[layer], elements);
  kfac::merge(view(sum), static_cast<int>(plan_.members(stage.within, member).size()), view(own), std::span(weights));
  store_to(rank, layout_.weights[layer], weights);
}

void KfacTraining::backward(Rank& rank, int member, std::size_t l) {
  const std::vector<Layer>& layers = plan_.network().layers;
  const std::int64_t batch = plan_.network().batch;
  const Layer& layer = layers[l];
  if (l + 1 == layers.size()) {
    Reals output = load_from(rank, layout_.activations[l + 1], kfac::output_elements(layer, batch));
    const Reals& target = targets_[static_cast<std::size_t>(member)];
    double loss = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      output[i] -= target[i];
      loss += static_cast<double>(output[i]) * static_cast<double>(output[i]) / 2;
      output[i] /= static_cast<float>(batch);
    }
    std::vector<double>& losses = losses_[static_cast<std::size_t>(member)];
    losses.push_back(loss / static_cast<double>(batch));
    expect_no_explosion(losses.size() - 1);
    store_to(rank, layout_.output_gradients[l], output);
  }
  const Reals weights = load_from(rank, layout_.weights[l], models::parameters(layer));
  const Reals input = load_from(rank, layout_.activations[l], kfac::input_elements(layer, batch));
  const Reals output_gradient = load_from(rank, layout_.output_gradients[l], kfac::output_elements(layer, batch));
  Reals gradient(weights.size());
  Reals input_gradient(l > 0 ? input.size() : 0);
  kfac::backward(layer, batch, view(weights), view(input), l > 0, view(output_gradient), std::span(gradient),
                 std::span(input_gradient));
  store_to(rank, layout_.gradients[l], gradient);
  if (l > 0) store_to(rank, layout_.output_gradients[l - 1], input_gradient);
}

void KfacTraining::factor(Rank& rank, std::size_t factor) {
  const std::size_t l = factor / 2;  // each layer has factors
  const Layer& layer = plan_.network().layers[l];
  const std::int64_t batch = plan_.network().batch;
  const std::int64_t side = plan_.sides()[factor];
  Reals average = load_from(rank, layout_.factors[factor], side * side);
  if (factor % 2 == 0) {
    const Reals input = load_from(rank, layout_.activations[l], kfac::input_elements(layer, batch));
    kfac::average_factor_a(layer, batch, view(input), static_cast<float>(how_.training.decay), std::span(average));
  } else {
    const Reals gradient = load_from(rank, layout_.output_gradients[l], kfac::output_elements(layer, batch));
    kfac::average_factor_g(layer, batch, view(gradient), static_cast<float>(how_.training.decay), std::span(average));
  }
  store_to(rank, layout_.factors[factor], average);
}

double KfacTraining::damping_of(const Rank& rank, int member, std::size_t factor) {
  if (!how_.factored_damping()) return how_.training.damping;
  const std::size_t pair = factor / 2;
  std::optional<kfac::Damping>& of_pair = dampings_[static_cast<std::size_t>(member)][pair];
  const bool is_a = factor % 2 == 0;
  // That of both is known before either is damped. A rank that inverts both comes to A first.
  if (is_a || !of_pair) {
    const std::int64_t side_a = plan_.sides()[2 * pair];
    const std::int64_t side_g = plan_.sides()[2 * pair + 1];
    const Reals a = load_from(rank, layout_.factors[2 * pair], side_a * side_a);
    const Reals g = load_from(rank, layout_.factors[2 * pair + 1], side_g * side_g);
    of_pair = kfac::factored_damping(side_a, view(a), side_g, view(g), static_cast<float>(how_.training.damping));
  }
  return is_a ? of_pair->a : std::exchange(of_pair, std::nullopt)->g;
}

void KfacTraining::invert(Rank& rank, int member, std::size_t factor) {
  const std::int64_t side = plan_.sides()[factor];
  const auto damping = static_cast<float>(damping_of(rank, member, factor));
  Reals square = load_from(rank, layout_.factors[factor], side * side);
  Reals inverse(static_cast<std::size_t>(kfac::inverse_elements(how_.inverse, side)));
  try {
    if (eigen()) {
      kfac::decompose(side, view(square), std::span(inverse));
    } else {
      kfac::invert(side, view(square), damping, std::span(inverse));
    }
  } catch (const std::domain_error& error) {
    throw std::domain_error(fmt::format("factor {} of rank {} in step {}: {}", factor_name(plan_.network(), factor),
                                        rank.index, losses_[static_cast<std::size_t>(member)].size(), error.what()));
  }
  store_to(rank, layout_.inverses[factor], inverse);
  if (!how_.training.damping_stays) return;
  for (std::int64_t i = 0; i < side; ++i) square[static_cast<std::size_t>(i * side + i)] += damping;
  store_to(rank, layout_.factors[factor], square);
}

Floats KfacTraining::mean_gradient(const Rank& rank, int member, const KfacStage& stage) const {
  const auto layer = static_cast<std::size_t>(stage.item);
  Reals gradient = load_from(rank, layout_.gradients[layer], static_cast<std::int64_t>(parameters(layer)));
  const float share = 1.0F / static_cast<float>(plan_.members(stage.within, member).size());
  for (float& value : gradient) value *= share;
  return gradient;
}

void KfacTraining::expect_no_explosion(std::size_t step) const {
  const auto loss_before = [this](std::size_t number) {
    double sum = 0;
    for (const std::vector<double>& own : losses_) sum += own[number];
    return sum / static_cast<double>(losses_.size());
  };
  for (const std::vector<double>& own : losses_) {
    if (own.size() <= step) return;  // the last rank to have it looks
  }
  const double loss = loss_before(step);
  const double first = loss_before(0);
  const double most = how_.training.most_growth * first;
  if (!std::isfinite(first)) {
    throw std::domain_error(fmt::format("loss before step 1: expected a finite number, got {}", first));
  }
  if (std::isfinite(loss) && loss <= most) return;
  throw std::domain_error(fmt::format(
      "loss before step {}: expected at most {:.4g}, which is workload.training.most_growth, {:g}, times the {:.4g} "
      "before step 1, got {}; a lower workload.training.rate than {:g}{} helps",
      step + 1, most, how_.training.most_growth, first,
      std::isnan(loss) ? std::string("no number") : fmt::format("{:.4g}", loss), how_.training.rate,
      how_.second_order() ? fmt::format(", or a higher workload.training.damping than {:g},", how_.training.damping)
                          : ""));
}

std::int64_t KfacTraining::different_weights() const {
  std::int64_t different = 0;
  for (std::size_t l = 0; l < plan_.network().layers.size(); ++l) {
    const Floats first = weights(0, l);
    for (std::size_t r = 1; r < ranks_.size(); ++r) {
      const Floats own = weights(static_cast<int>(r), l);
      for (std::size_t i = 0; i < own.size(); ++i) {
        // Bit for bit: of numbers that are none each is like itself.
        different += std::bit_cast<std::uint32_t>(own[i]) != std::bit_cast<std::uint32_t>(first[i]) ? 1 : 0;
      }
    }
  }
  return different;
}

Floats KfacTraining::weights(int rank, std::size_t layer) const {
  return load_from(*ranks_[static_cast<std::size_t>(rank)], layout_.weights[layer],
                   static_cast<std::int64_t>(parameters(layer)));
}

std::vector<double> KfacTraining::losses() const {
  // A run that was ended early has ranks that are a step ahead of others.
  std::size_t steps = losses_.front().size();
  for (const std::vector<double>& own : losses_) steps = std::min(steps, own.size());
  std::vector<double> mean(steps);
  for (const std::vector<double>& own : losses_) {
    for (std::size_t step = 0; step < mean.size(); ++step) mean[step] += own[step] / static_cast<double>(ranks_.size());
  }
  return mean;
}

}  // namespace weft::schedules
