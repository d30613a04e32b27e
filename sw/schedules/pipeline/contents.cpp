// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/pipeline/contents.h"

#include <cmath>

#include "hw/core/random.h"
#include "sw/collectives/pattern.h"
#include "sw/firmware/contents.h"
#include "sw/kfac/arithmetic.h"
#include "sw/schedules/finite_loss.h"

namespace weft::schedules {
namespace {

using firmware::Floats;
using firmware::Rank;

constexpr std::int64_t kElementBytes = 4;

std::vector<std::byte> message_at(const Rank& rank, std::uint64_t address, std::uint64_t bytes) {
  std::vector<std::byte> message(bytes);
  rank.store->read(address, message.data(), bytes);
  return message;
}

class Pattern final : public PipelineContents {
 public:
  Pattern(const PipelinePlan& plan, const std::vector<Rank*>& ranks, const std::vector<StageBuffers>& buffers)
      : plan_(plan), ranks_(ranks), buffers_(buffers) {}

  void forward(int stage, std::int64_t microbatch, int step) override {
    const auto m = static_cast<std::size_t>(microbatch);
    if (stage > 0) compare(stage, stage - 1, buffers(stage).activation_in[m], seed_of(microbatch, step, 0));
    if (has_next(stage)) fill(stage, stage, buffers(stage).activation_out[m], seed_of(microbatch, step, 0));
  }
  void backward(int stage, std::int64_t microbatch, int step) override {
    const auto m = static_cast<std::size_t>(microbatch);
    if (has_next(stage)) compare(stage, stage, buffers(stage).gradient_in[m], seed_of(microbatch, step, 1));
    if (stage > 0) fill(stage, stage - 1, buffers(stage).gradient_out[m], seed_of(microbatch, step, 1));
  }
  void update(int /*stage*/, int /*step*/) override {}
  [[nodiscard]] std::int64_t wrong() const override { return wrong_; }
  [[nodiscard]] std::int64_t compared() const override { return compared_; }

 private:
  [[nodiscard]] const StageBuffers& buffers(int stage) const { return buffers_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] bool has_next(int stage) const { return static_cast<std::size_t>(stage) < plan_.hops.size(); }
  [[nodiscard]] const Rank& rank(int stage) const {
    return *ranks_[static_cast<std::size_t>(plan_.stages[static_cast<std::size_t>(stage)].rank)];
  }
  static std::uint64_t seed_of(std::int64_t microbatch, int step, std::uint64_t way) {
    return mix(mix(static_cast<std::uint64_t>(microbatch) * 2 + way) + static_cast<std::uint64_t>(step));
  }
  void fill(int stage, int hop, std::uint64_t address, std::uint64_t seed) {
    const auto data = collectives::pattern_bytes(seed, hop, plan_.hops[static_cast<std::size_t>(hop)].bytes);
    rank(stage).store->write(address, data.data(), data.size());
  }
  void compare(int stage, int hop, std::uint64_t address, std::uint64_t seed) {
    const auto right = collectives::pattern_bytes(seed, hop, plan_.hops[static_cast<std::size_t>(hop)].bytes);
    wrong_ += collectives::differing(*rank(stage).store, address, right);
    compared_ += static_cast<std::int64_t>(right.size());
  }

  const PipelinePlan& plan_;
  const std::vector<Rank*>& ranks_;
  const std::vector<StageBuffers>& buffers_;
  std::int64_t wrong_ = 0;
  std::int64_t compared_ = 0;
};

/// The arithmetic of one layer after the other, wherever its numbers are.
class Training final : public PipelineContents {
 public:
  Training(const PipelinePlan& plan, const PipelineModel& model, const std::vector<Rank*>& ranks,
           const std::vector<StageBuffers>& buffers, std::int64_t seed)
      : plan_(plan),
        model_(model),
        ranks_(ranks),
        buffers_(buffers),
        losses_(static_cast<std::size_t>(plan.config.steps)) {
    draw(seed);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      store_to(rank(s), weights_at(s), weights_of(s));
      store_to(rank(s), gradients_at(s), Floats(weights_of(s).size()));
    }
  }

  void forward(int stage, std::int64_t microbatch, int step) override {
    const auto s = static_cast<std::size_t>(stage);
    const auto m = static_cast<std::size_t>(microbatch);
    const Floats input = s == 0 ? inputs_[m] : came(s, buffers_[s].activation_in[m], plan_.hops[s - 1]);
    const Kept kept = pass(s, load_from(rank(s), weights_at(s), parameters(s)), input);
    store_kept(s, m, kept);
    if (s == plan_.hops.size()) {
      losses_[static_cast<std::size_t>(step)] += loss(kept.back(), m);
      expect_finite_loss(losses_, static_cast<std::size_t>(step), plan_.config.rate);
      return;
    }
    const std::vector<std::byte> sent = packed(plan_.hops[s], kept.back());
    rank(s).store->write(buffers_[s].activation_out[m], sent.data(), sent.size());
  }
  void backward(int stage, std::int64_t microbatch, int /*step*/) override {
    const auto s = static_cast<std::size_t>(stage);
    const auto m = static_cast<std::size_t>(microbatch);
    const Kept kept = load_kept(s, m);
    const Floats gradient =
        s == plan_.hops.size() ? loss_gradient(kept.back(), m) : came(s, buffers_[s].gradient_in[m], plan_.hops[s]);
    Floats sum = load_from(rank(s), gradients_at(s), parameters(s));
    const Floats back = pass_back(s, load_from(rank(s), weights_at(s), parameters(s)), kept, gradient, sum);
    store_to(rank(s), gradients_at(s), sum);
    if (s == 0) return;
    const std::vector<std::byte> sent = packed(plan_.hops[s - 1], back);
    rank(s).store->write(buffers_[s].gradient_out[m], sent.data(), sent.size());
  }
  void update(int stage, int /*step*/) override {
    const auto s = static_cast<std::size_t>(stage);
    Floats weights = load_from(rank(s), weights_at(s), parameters(s));
    Floats sum = load_from(rank(s), gradients_at(s), parameters(s));
    descend(weights, sum);
    store_to(rank(s), weights_at(s), weights);
    store_to(rank(s), gradients_at(s), sum);
  }

  [[nodiscard]] std::int64_t wrong() const override {
    const std::vector<Floats> right = alone();
    std::int64_t wrong = 0;
    for (std::size_t s = 0; s < right.size(); ++s) {
      const Floats found = load_from(rank(s), weights_at(s), parameters(s));
      for (std::size_t i = 0; i < found.size(); ++i) {
        const bool diverged = std::isnan(found[i]) && std::isnan(right[s][i]);
        wrong += found[i] == right[s][i] || diverged ? 0 : 1;
      }
    }
    return wrong;
  }
  [[nodiscard]] std::int64_t compared() const override {
    std::int64_t all = 0;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) all += parameters(s);
    return all;
  }
  [[nodiscard]] std::vector<double> losses() const override { return losses_; }

 private:
  /// What came to each layer of a stage, and what left the last one.
  using Kept = std::vector<Floats>;

  [[nodiscard]] const Rank& rank(std::size_t stage) const {
    return *ranks_[static_cast<std::size_t>(plan_.stages[stage].rank)];
  }
  [[nodiscard]] std::int64_t parameters(std::size_t stage) const { return plan_.stages[stage].parameters; }
  [[nodiscard]] std::uint64_t weights_at(std::size_t stage) const { return buffers_[stage].state; }
  [[nodiscard]] std::uint64_t gradients_at(std::size_t stage) const {
    return buffers_[stage].state + sizeof(float) * static_cast<std::uint64_t>(parameters(stage));
  }
  [[nodiscard]] std::pair<std::size_t, std::size_t> layers(std::size_t stage) const {
    const PipelineUnit& last = model_.units[plan_.stages[stage].end - 1];
    return {model_.units[plan_.stages[stage].first].first_layer, last.first_layer + last.layers};
  }
  [[nodiscard]] const models::Layer& layer(std::size_t index) const { return model_.network->layers[index]; }
  [[nodiscard]] bool rectifies(std::size_t index) const { return index + 1 < model_.network->layers.size(); }
  [[nodiscard]] std::int64_t samples() const { return plan_.config.samples(); }

  void draw(std::int64_t seed) {
    Random random(static_cast<std::uint64_t>(seed), "training in a pipeline");
    const auto drawn = [&random](std::int64_t elements, double scale) {
      Floats values(static_cast<std::size_t>(elements));
      for (float& value : values) value = static_cast<float>(scale * (2 * random.share() - 1));
      return values;
    };
    const std::vector<models::Layer>& all = model_.network->layers;
    for (const models::Layer& each : all) {
      const double scale = std::sqrt(3.0 / static_cast<double>(models::factor_a(each)));
      weights_.push_back(drawn(models::parameters(each), scale));
    }
    for (std::int64_t m = 0; m < plan_.config.microbatches; ++m) {
      inputs_.push_back(drawn(kfac::input_elements(all.front(), samples()), 1));
      targets_.push_back(drawn(kfac::output_elements(all.back(), samples()), 1));
    }
  }
  [[nodiscard]] Floats weights_of(std::size_t stage) const {
    Floats all;
    for (auto [l, end] = layers(stage); l < end; ++l) all.insert(all.end(), weights_[l].begin(), weights_[l].end());
    return all;
  }

  [[nodiscard]] Floats came(std::size_t stage, std::uint64_t address, const StageHop& hop) const {
    return unpacked(hop, message_at(rank(stage), address, hop.bytes));
  }
  [[nodiscard]] Kept pass(std::size_t stage, const Floats& weights, const Floats& input) const {
    Kept kept{input};
    std::span<const float> left = weights;
    for (auto [l, end] = layers(stage); l < end; ++l) {
      Floats output(static_cast<std::size_t>(kfac::output_elements(layer(l), samples())));
      const auto own = static_cast<std::size_t>(models::parameters(layer(l)));
      kfac::forward<float>(layer(l), samples(), left.first(own), kept.back(), rectifies(l), output);
      left = left.subspan(own);
      kept.push_back(std::move(output));
    }
    return kept;
  }
  /// Adds the gradients of the weights to `sum`; what goes to the stage before.
  [[nodiscard]] Floats pass_back(std::size_t stage, const Floats& weights, const Kept& kept, Floats gradient,
                                 Floats& sum) const {
    auto [first, l] = layers(stage);
    std::size_t at = weights.size();
    while (l-- > first) {
      const auto own = static_cast<std::size_t>(models::parameters(layer(l)));
      at -= own;
      Floats of_weights(own);
      Floats of_input(l == 0 ? 0 : kept[l - first].size());
      kfac::backward<float>(layer(l), samples(), std::span(weights).subspan(at, own), kept[l - first], l > 0, gradient,
                            of_weights, of_input);
      for (std::size_t i = 0; i < own; ++i) sum[at + i] += of_weights[i];
      gradient = std::move(of_input);
    }
    return gradient;
  }
  void descend(Floats& weights, Floats& sum) const {
    const auto rate = static_cast<float>(plan_.config.rate);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= rate * sum[i];
      sum[i] = 0;
    }
  }
  [[nodiscard]] double loss(const Floats& output, std::size_t microbatch) const {
    double sum = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      const double away = static_cast<double>(output[i]) - static_cast<double>(targets_[microbatch][i]);
      sum += away * away / 2;
    }
    return sum / static_cast<double>(plan_.config.batch);
  }
  [[nodiscard]] Floats loss_gradient(const Floats& output, std::size_t microbatch) const {
    Floats gradient(output.size());
    for (std::size_t i = 0; i < output.size(); ++i) {
      gradient[i] = (output[i] - targets_[microbatch][i]) / static_cast<float>(plan_.config.batch);
    }
    return gradient;
  }

  /// What a stage keeps of a microbatch lies in its memory: there is room for the inputs of its layers, and for its
  /// last output where no other stage has it.
  [[nodiscard]] std::uint64_t kept_at(std::size_t stage, std::size_t microbatch, const Kept& kept) const {
    std::uint64_t each = 0;
    for (const Floats& one : kept) each += sizeof(float) * one.size();
    return buffers_[stage].kept + microbatch * each;
  }
  void store_kept(std::size_t stage, std::size_t microbatch, const Kept& kept) {
    std::uint64_t at = kept_at(stage, microbatch, kept);
    for (const Floats& one : kept) {
      store_to(rank(stage), at, one);
      at += sizeof(float) * one.size();
    }
  }
  [[nodiscard]] Kept load_kept(std::size_t stage, std::size_t microbatch) const {
    Kept kept;
    const auto [first, end] = layers(stage);
    for (std::size_t l = first; l < end; ++l) {
      kept.emplace_back(static_cast<std::size_t>(kfac::input_elements(layer(l), samples())));
    }
    kept.emplace_back(static_cast<std::size_t>(kfac::output_elements(layer(end - 1), samples())));
    std::uint64_t at = kept_at(stage, microbatch, kept);
    for (Floats& one : kept) {
      one = load_from(rank(stage), at, static_cast<std::int64_t>(one.size()));
      at += sizeof(float) * one.size();
    }
    return kept;
  }

  /// The weights that training comes to without a machine.
  [[nodiscard]] std::vector<Floats> alone() const {
    const std::size_t stages = plan_.stages.size();
    std::vector<Floats> weights;
    for (std::size_t s = 0; s < stages; ++s) weights.push_back(weights_of(s));
    for (int step = 0; step < plan_.config.steps; ++step) {
      std::vector<Floats> sums;
      for (const Floats& of_stage : weights) sums.emplace_back(of_stage.size());
      for (const workloads::PipelineOperation& each : stage_operations(plan_.pipeline, 0)) {
        if (each.forward) continue;
        const auto m = static_cast<std::size_t>(each.microbatch);
        std::vector<Kept> kept;
        Floats passed = inputs_[m];
        for (std::size_t s = 0; s < stages; ++s) {
          kept.push_back(pass(s, weights[s], passed));
          if (s + 1 < stages) passed = unpacked(plan_.hops[s], packed(plan_.hops[s], kept[s].back()));
        }
        Floats gradient = loss_gradient(kept.back().back(), m);
        for (std::size_t s = stages; s-- > 0;) {
          gradient = pass_back(s, weights[s], kept[s], gradient, sums[s]);
          if (s > 0) gradient = unpacked(plan_.hops[s - 1], packed(plan_.hops[s - 1], gradient));
        }
      }
      for (std::size_t s = 0; s < stages; ++s) descend(weights[s], sums[s]);
    }
    return weights;
  }

  const PipelinePlan& plan_;
  const PipelineModel& model_;
  const std::vector<Rank*>& ranks_;
  const std::vector<StageBuffers>& buffers_;
  std::vector<Floats> weights_;  ///< before the first step, by layer
  std::vector<Floats> inputs_;   ///< by microbatch
  std::vector<Floats> targets_;
  std::vector<double> losses_;
};

}  // namespace

std::uint64_t kept_room(const PipelinePlan& plan, const PipelineModel& model, std::size_t stage) {
  const PipelineStage& here = plan.stages[stage];
  std::int64_t each = model.units[here.end - 1].crossing * kElementBytes;
  for (std::size_t u = here.first; u < here.end; ++u) each += model.units[u].kept;
  return static_cast<std::uint64_t>(each * plan.config.microbatches);
}

bool can_train(const PipelineModel& model) {
  if (!model.network) return false;
  const std::vector<models::Layer>& layers = model.network->layers;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (!models::has_factors(layers[l]) || !layers[l].before.empty()) return false;
    if (l > 0 && kfac::input_elements(layers[l], 1) != kfac::output_elements(layers[l - 1], 1)) return false;
  }
  return true;
}

std::unique_ptr<PipelineContents> pipeline_pattern(const PipelinePlan& plan, const std::vector<firmware::Rank*>& ranks,
                                                   const std::vector<StageBuffers>& buffers) {
  return std::make_unique<Pattern>(plan, ranks, buffers);
}

std::unique_ptr<PipelineContents> pipeline_training(const PipelinePlan& plan, const PipelineModel& model,
                                                    const std::vector<firmware::Rank*>& ranks,
                                                    const std::vector<StageBuffers>& buffers, std::int64_t seed) {
  return std::make_unique<Training>(plan, model, ranks, buffers, seed);
}

}  // namespace weft::schedules
