// SPDX-License-Identifier: Apache-2.0
// CoDA (Guo et al., Communication-Efficient Distributed Stochastic AUC Maximization with Deep Neural Networks, arXiv
// 2005.02426): ranks take `interval` primal-dual steps of their own, on weights and the scalars a, b and alpha of the
// min-max form of the area under the ROC curve, then average all of them. CODASCA (Yuan et al., arXiv 2102.04635) adds
// control variates (SCAFFOLD, Karimireddy et al., ICML 2020): gradients are corrected by what a rank's differ from the
// mean, and each round also averages the variates, tensor by tensor, as many bytes as weights.
//
// Left out: the pull towards the weights of the stage's beginning, and stages; smaller rates and longer rounds change
// no bytes. With real numbers the network learns by the engine's loss, and a, b and alpha by what it puts out.
#include "sw/schedules/kfac/methods/coda.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sw/kfac/arithmetic.h"
#include "sw/schedules/kfac/contents.h"
#include "sw/schedules/kfac/schedule.h"
#include "sw/schedules/kfac/step_builder.h"

namespace weft::schedules {
namespace {

constexpr std::size_t kScalars = 3;  // a, b and alpha
constexpr std::array<const char*, kScalars> kScalarNames = {"a", "b", "alpha"};

// Buffers of Trainer::buffers:
constexpr std::size_t kScalar = 0;
constexpr std::size_t kMeanVariate = 1;
constexpr std::size_t kOwnVariate = 2;
constexpr std::size_t kBegan = 3;

template <typename Config>
class Coda final : public Trainer {
 public:
  static constexpr bool kVariates = std::is_same_v<Config, CodascaConfig>;
  using Trainer::Trainer;

  [[nodiscard]] std::int64_t period() const override { return own<Config>().interval; }
  [[nodiscard]] int averagings() const override { return 1; }
  /// `starts`: the round ends; `joins`: it begins.
  [[nodiscard]] KfacUpdates updates(int number) const override {
    const int interval = own<Config>().interval;
    return {.starts = (number + 1) % interval == 0 ? 0 : -1, .joins = kVariates && number % interval == 0 ? 0 : -1};
  }
  [[nodiscard]] std::vector<OwnBuffer> buffers(const models::Network& network, int /*ranks*/) const override {
    std::vector<OwnBuffer> all = {{"a, b and alpha", std::vector<std::int64_t>(kScalars, 1)}};
    if (!kVariates) return all;
    std::vector<std::int64_t> elements;
    for (const models::Layer& layer : network.layers) elements.push_back(models::parameters(layer));
    elements.insert(elements.end(), kScalars, 1);
    for (const char* what : {"mean control variates", "own control variates", "weights of the round's beginning"}) {
      all.push_back({what, elements});
    }
    return all;
  }

  void step(StepBuilder& step, const KfacUpdates& updates) const override {
    if (updates.joins >= 0) {
      for (const Tensor& tensor : tensors(step)) keep(step, tensor);
    }
    for (std::size_t l = 0; l < step.layers(); ++l) step.forward(l);
    step.average_metrics();
    for (std::size_t l = step.layers(); l-- > 0;) step.backward(l);
    for (std::size_t l = 0; l < step.layers(); ++l) {
      if (kVariates) correct(step, l);
      step.update(l, KfacGradient::kOwn);
    }
    move_scalars(step);
    if (updates.starts < 0) return;
    if (kVariates) {
      for (const Tensor& tensor : tensors(step)) renew(step, tensor);
    }
    step.start_average(0);
    for (std::size_t i = 0; i < kScalars; ++i) {
      send(step, kScalarNames[i], step.layout().own[kScalar][i], 1);
    }
    if (kVariates) {
      for (const Tensor& tensor : tensors(step)) {
        send(step, "control variate of " + tensor.name, step.layout().own[kMeanVariate][tensor.number],
             tensor.elements);
      }
    }
    step.join_average(0);
    step.await(KfacTraffic::kGradients);
    for (std::size_t i = 0; i < kScalars; ++i) take_mean(step, 0, step.layout().own[kScalar][i], 1);
    if (!kVariates) return;
    for (const Tensor& tensor : tensors(step)) {
      take_mean(step, tensor.layer, step.layout().own[kMeanVariate][tensor.number], tensor.elements);
    }
  }

 private:
  /// What is trained: weights of a layer, or a scalar.
  struct Tensor {
    std::string name;
    std::size_t number = 0;  ///< in buffers of variates
    std::size_t layer = 0;   ///< with which it is shown
    std::int64_t elements = 0;
    std::uint64_t address = 0;
  };

  [[nodiscard]] static std::vector<Tensor> tensors(const StepBuilder& step) {
    std::vector<Tensor> all;
    for (std::size_t l = 0; l < step.layers(); ++l) {
      const std::int64_t elements = models::parameters(step.network().layers[l]);
      if (elements > 0) all.push_back({step.network().layers[l].name, l, l, elements, step.layout().weights[l]});
    }
    for (std::size_t i = 0; i < kScalars; ++i) {
      all.push_back({kScalarNames[i], step.layers() + i, 0, 1, step.layout().own[kScalar][i]});
    }
    return all;
  }

  /// A pass that reads and writes so many tensors.
  static kfac::LayerKernel pass(const char* name, std::int64_t elements, std::int64_t read, std::int64_t written) {
    return {name, accelerator::Elementwise{.elements = elements,
                                           .read = Bytes(4 * read * elements),
                                           .written = Bytes(4 * written * elements),
                                           .flops_per_element = static_cast<double>(read)}};
  }

  static void send(StepBuilder& step, std::string name, std::uint64_t address, std::int64_t elements) {
    step.send({.traffic = KfacTraffic::kGradients,
               .name = std::move(name),
               .address = address,
               .bytes = bytes_of_elements(elements)});
  }

  static void keep(StepBuilder& step, const Tensor& tensor) {
    const std::uint64_t began = step.layout().own[kBegan][tensor.number];
    step.compute({.layer = tensor.layer,
                  .kernels = {pass("keep", tensor.elements, 1, 1)},
                  .contents = [=](firmware::Rank& rank, int /*index*/) {
                    store_to(rank, began, load_from(rank, tensor.address, tensor.elements));
                  }});
  }

  static void correct(StepBuilder& step, std::size_t layer) {
    const std::int64_t elements = models::parameters(step.network().layers[layer]);
    if (elements == 0) return;
    const KfacLayout& layout = step.layout();
    const std::uint64_t gradient_at = layout.gradients[layer];
    const std::uint64_t mean_at = layout.own[kMeanVariate][layer];
    const std::uint64_t own_at = layout.own[kOwnVariate][layer];
    step.compute({.layer = layer,
                  .kernels = {pass("correct", elements, 3, 1)},
                  .contents = [=](firmware::Rank& rank, int /*index*/) {
                    Floats gradient = load_from(rank, gradient_at, elements);
                    const Floats mean = load_from(rank, mean_at, elements);
                    const Floats own_variate = load_from(rank, own_at, elements);
                    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += mean[i] - own_variate[i];
                    store_to(rank, gradient_at, gradient);
                  }});
  }

  /// What the rank's gradients were on the mean of the round, by how far it has come.
  void renew(StepBuilder& step, const Tensor& tensor) const {
    const KfacLayout& layout = step.layout();
    const std::uint64_t mean_at = layout.own[kMeanVariate][tensor.number];
    const std::uint64_t own_at = layout.own[kOwnVariate][tensor.number];
    const std::uint64_t began_at = layout.own[kBegan][tensor.number];
    // alpha climbs.
    const bool climbs = tensor.number + 1 == step.layers() + kScalars;
    const auto way = static_cast<float>((climbs ? -1 : 1) * config().training.rate * own<Config>().interval);
    step.compute({.layer = tensor.layer,
                  .kernels = {pass("renew", tensor.elements, 4, 2)},
                  .contents = [=](firmware::Rank& rank, int /*index*/) {
                    const Floats mean = load_from(rank, mean_at, tensor.elements);
                    const Floats began = load_from(rank, began_at, tensor.elements);
                    const Floats now = load_from(rank, tensor.address, tensor.elements);
                    Floats own_variate = load_from(rank, own_at, tensor.elements);
                    for (std::size_t i = 0; i < now.size(); ++i) {
                      own_variate[i] = own_variate[i] - mean[i] + (began[i] - now[i]) / way;
                    }
                    store_to(rank, own_at, own_variate);
                    store_to(rank, mean_at, own_variate);  // to be summed
                  }});
  }

  static void take_mean(StepBuilder& step, std::size_t layer, std::uint64_t address, std::int64_t elements) {
    const auto ranks = static_cast<float>(step.ranks());
    step.compute({.layer = layer,
                  .kernels = {pass("mean", elements, 1, 1)},
                  .contents = [=](firmware::Rank& rank, int /*index*/) {
                    Floats values = load_from(rank, address, elements);
                    for (float& value : values) value /= ranks;
                    store_to(rank, address, values);
                  }});
  }

  /// One step of a and b down, of alpha up, by the first output of each sample (2005.02426, equation 2).
  void move_scalars(StepBuilder& step) const {
    const KfacLayout& layout = step.layout();
    const std::int64_t batch = step.network().batch;
    const std::int64_t outputs = kfac::output_elements(step.network().layers.back(), batch);
    const std::uint64_t output_at = layout.activations.back();
    std::array<std::uint64_t, kScalars> at{};
    std::array<std::uint64_t, kScalars> mean_at{};
    std::array<std::uint64_t, kScalars> own_at{};
    for (std::size_t i = 0; i < kScalars; ++i) {
      at[i] = layout.own[kScalar][i];
      if (!kVariates) continue;
      mean_at[i] = layout.own[kMeanVariate][step.layers() + i];
      own_at[i] = layout.own[kOwnVariate][step.layers() + i];
    }
    const double p = own<Config>().positive;
    const double rate = config().training.rate;
    step.compute({.layer = step.layers() - 1,
                  .kernels = {pass("a, b and alpha", batch, 2, 0)},
                  .contents = [=](firmware::Rank& rank, int /*index*/) {
                    const Floats output = load_from(rank, output_at, outputs);
                    std::array<double, kScalars> values{};
                    for (std::size_t i = 0; i < kScalars; ++i) values[i] = load_from(rank, at[i], 1)[0];
                    const auto& [a, b, alpha] = values;
                    std::array<double, kScalars> slope = {0, 0, -2 * p * (1 - p) * alpha};
                    const auto positives = std::llround(p * static_cast<double>(batch));
                    for (std::int64_t sample = 0; sample < batch; ++sample) {
                      const double h = output[static_cast<std::size_t>(sample * (outputs / batch))];
                      const bool is_positive = sample < positives;
                      const double share = 1 / static_cast<double>(batch);
                      if (is_positive) slope[0] -= 2 * (1 - p) * (h - a) * share;
                      if (!is_positive) slope[1] -= 2 * p * (h - b) * share;
                      slope[2] += 2 * (is_positive ? -(1 - p) * h : p * h) * share;
                    }
                    for (std::size_t i = 0; i < kScalars; ++i) {
                      if (kVariates) slope[i] += load_from(rank, mean_at[i], 1)[0] - load_from(rank, own_at[i], 1)[0];
                      const double moved = values[i] + (i == 2 ? rate : -rate) * slope[i];
                      store_to(rank, at[i], Floats{static_cast<float>(moved)});
                    }
                  }});
  }
};

template <typename Config>
Schedule schedule_of_coda(const char* name, const char* doc, const char* config_doc) {
  return {.name = name,
          .doc = doc,
          .config = Config(),
          .config_doc = config_doc,
          .own_weights = true,
          .ignores = {"wait_free"},
          .make = [](const KfacConfig& config) { return std::make_unique<Coda<Config>>(config); }};
}

}  // namespace

Schedule coda_schedule() {
  return schedule_of_coda<CodaConfig>("coda", "local steps of AUC maximisation, then means of weights",
                                      "For algorithm coda");
}

Schedule codasca_schedule() {
  return schedule_of_coda<CodascaConfig>("codasca", "the same with control variates", "For algorithm codasca");
}

}  // namespace weft::schedules
