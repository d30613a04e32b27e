// SPDX-License-Identifier: Apache-2.0
// A schedule of our own: hierarchical local SGD (Lin, Stich, Patel and Jaggi, "Don't Use Large Mini-Batches, Use Local
// SGD", ICLR 2020). Groups of ranks sum their gradients in every step; all ranks average their weights every few steps.
#include <memory>

#include "sw/schedules/kfac/step_builder.h"

using namespace weft;
using schedules::KfacGradient;
using schedules::KfacUpdates;
using schedules::StepBuilder;
using schedules::Subgroups;

namespace {

// Fields of the platform, at workload.my_local_sgd.
struct Config {
  int group = 8;
  int interval = 4;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("group", group, "Neighbouring ranks that sum their gradients in every step", Range{1, 4096});
    visit("interval", interval, "Steps from one averaging of all ranks' weights to the next", Range{1, 1000});
  }
};

class LocalSgd final : public schedules::Trainer {
 public:
  using Trainer::Trainer;

  std::vector<Subgroups> subgroups(int ranks) const override {
    Subgroups groups;
    for (int r = 0; r < ranks; ++r) {
      if (r % own<Config>().group == 0) groups.emplace_back();
      groups.back().push_back(r);
    }
    return {groups};
  }
  std::int64_t period() const override { return own<Config>().interval; }
  int averagings() const override { return 1; }
  KfacUpdates updates(int number) const override {
    const int slot = (number + 1) % own<Config>().interval == 0 ? 0 : -1;
    return {.starts = slot, .joins = slot};
  }

  void step(StepBuilder& step, const KfacUpdates& updates) const override {
    for (std::size_t l = 0; l < step.layers(); ++l) step.forward(l);
    for (std::size_t l = step.layers(); l-- > 0;) step.backward(l);
    step.send_gradients(0);  // within subgroups()[0]
    step.await_gradients();
    for (std::size_t l = 0; l < step.layers(); ++l) step.update(l, KfacGradient::kMean);
    if (updates.starts < 0) return;
    step.start_average(0);  // in slot 0, of averagings()
    step.join_average(0);
  }
};

}  // namespace

void provide_my_local_sgd() {
  schedules::provide({.name = "my-local-sgd",
                      .doc = "gradients summed in groups, weights averaged over all",
                      .config = Config(),
                      .config_doc = "my-local-sgd's own",
                      .own_weights = true,
                      .make = [](const schedules::KfacConfig& config) { return std::make_unique<LocalSgd>(config); }});
}
