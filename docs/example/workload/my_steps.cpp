// SPDX-License-Identifier: Apache-2.0
// A kind of workload of our own: steps of a fixed time of computing and an AllReduce each, "workload": {"kind":
// "my-steps"}.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "platforms/jobs/job_kind.h"
#include "platforms/machine/machine.h"
#include "platforms/results/format.h"
#include "sw/collectives/communicator.h"

using namespace weft;
using namespace weft::platforms;
using nlohmann::ordered_json;

namespace {

// Fields of the platform, in `workload` beside `kind`.
struct Config {
  int steps = 3;
  Time compute = Time(100'000'000);
  Bytes gradients = Bytes(1 << 20);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("steps", steps, "Training steps", Range{1, 1000});
    visit("compute", compute, "What a step computes", Range{0, 1'000'000'000'000});
    visit("gradients", gradients, "What it sums over all accelerators", Range{4, 1LL << 40});
  }
};

class MySteps final : public Job {
 public:
  explicit MySteps(const Config& config) : config_(config) {}

  void build(Share& share) override {
    share_ = &share;
    communicator_ = std::make_unique<collectives::Communicator>(share.ranks(), share.config().collectives, "all");
    buffer_ = firmware::allocate_together(share.ranks(), "gradients", bytes());
  }
  void start() override {
    for (int r = 0; r < share_->size(); ++r) share_->rank(r).processor->spawn("my-steps", /*place=*/0, run(r));
  }
  double progress() const override { return static_cast<double>(ends_.size()) / config_.steps; }

  std::string title() const override { return fmt::format("{} steps of my own", ends_.size()); }
  ordered_json workload() const override { return {{"kind", "my-steps"}, {"steps", config_.steps}}; }
  ordered_json summary() const override { return {{"step_ends_us", to_us(ends_)}}; }
  std::string text() const override { return fmt::format("last step ends  {:>10}\n", short_time(ends_.back())); }

 private:
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(config_.gradients.count()); }

  // The firmware of a rank.
  firmware::Task run(int rank) {
    firmware::Processor& processor = *share_->rank(rank).processor;
    for (int step = 0; step < config_.steps; ++step) {
      co_await processor.delay(config_.compute);
      co_await communicator_->all_reduce(rank, buffer_, bytes(), ElementType::kFp32);
      if (rank == 0) ends_.push_back(processor.now());
    }
  }

  Config config_;
  Share* share_ = nullptr;
  std::unique_ptr<collectives::Communicator> communicator_;
  std::uint64_t buffer_ = 0;
  std::vector<Time> ends_;
};

}  // namespace

void provide_my_steps() {
  provide_job("my-steps", "Steps of a fixed time of computing and an AllReduce each.", Config(),
              [](Platform& /*platform*/, const Config& config) { return std::make_unique<MySteps>(config); });
}
