// SPDX-License-Identifier: Apache-2.0
// An optimiser of our own: Lion (Chen et al., "Symbolic Discovery of Optimization Algorithms", NeurIPS 2023). Gradients
// are summed over all ranks; each rank then moves its weights by the sign of a mean of gradient and momentum.
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "sw/schedules/kfac/contents.h"
#include "sw/schedules/kfac/step_builder.h"

using namespace weft;
using schedules::Floats;
using schedules::KfacUpdates;
using schedules::load_from;
using schedules::OwnBuffer;
using schedules::StepBuilder;
using schedules::store_to;

namespace {

// Fields of the platform, at workload.my_lion.
struct Config {
  double rate = 0.003;
  double of_step = 0.9;
  double of_momentum = 0.99;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("rate", rate, "Learning rate");
    visit("of_step", of_step, "Share of the momentum in what a step follows", Range{0, 1});
    visit("of_momentum", of_momentum, "Share of the momentum that stays", Range{0, 1});
  }
};

class Lion final : public schedules::Trainer {
 public:
  using Trainer::Trainer;

  // Its state, a tensor for each layer on every rank. What it does to memory finds it at layout().own[0].
  std::vector<OwnBuffer> buffers(const models::Network& network, int /*ranks*/) const override {
    OwnBuffer momentum{"Lion's momentum", {}};
    for (const models::Layer& layer : network.layers) momentum.elements.push_back(models::parameters(layer));
    return {momentum};
  }

  void step(StepBuilder& step, const KfacUpdates& /*updates*/) const override {
    for (std::size_t l = 0; l < step.layers(); ++l) step.forward(l);
    for (std::size_t l = step.layers(); l-- > 0;) step.backward(l);
    step.send_gradients();
    step.await_gradients();
    for (std::size_t l = 0; l < step.layers(); ++l) update(step, l);
  }

 private:
  // In the place of StepBuilder::update. The kernel says what it costs, `contents` what becomes of the numbers.
  void update(StepBuilder& step, std::size_t layer) const {
    const std::int64_t n = models::parameters(step.network().layers[layer]);
    const std::uint64_t gradient_at = step.layout().gradients[layer];
    const std::uint64_t momentum_at = step.layout().own[0][layer];
    const std::uint64_t weights_at = step.layout().weights[layer];
    const Config how = own<Config>();
    const auto ranks = static_cast<double>(step.ranks());
    const accelerator::Elementwise kernel{
        .elements = n, .read = Bytes(12 * n), .written = Bytes(8 * n), .flops_per_element = 8};
    step.compute({.layer = layer, .kernels = {{"lion", kernel}}, .contents = [=](firmware::Rank& rank, int /*index*/) {
                    const Floats sums = load_from(rank, gradient_at, n);  // over ranks
                    Floats momentum = load_from(rank, momentum_at, n);
                    Floats weights = load_from(rank, weights_at, n);
                    for (std::size_t i = 0; i < weights.size(); ++i) {
                      const double mean = sums[i] / ranks;
                      const double move = how.of_step * momentum[i] + (1 - how.of_step) * mean;
                      weights[i] -= static_cast<float>(how.rate * ((move > 0) - (move < 0)));
                      momentum[i] = static_cast<float>(how.of_momentum * momentum[i] + (1 - how.of_momentum) * mean);
                    }
                    store_to(rank, momentum_at, momentum);
                    store_to(rank, weights_at, weights);
                  }});
  }
};

}  // namespace

void provide_my_lion() {
  schedules::provide({.name = "my-lion",
                      .doc = "gradients summed over all, weights by Lion",
                      .config = Config(),
                      .config_doc = "my-lion's own",
                      .make = [](const schedules::KfacConfig& config) { return std::make_unique<Lion>(config); }});
}
