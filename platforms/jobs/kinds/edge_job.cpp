// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "platforms/jobs/job_kind.h"
#include "platforms/results/format.h"
#include "platforms/results/summary.h"
#include "sw/schedules/edge/edge_learning.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using schedules::EdgeConfig;
using schedules::EdgeResult;

double mean_of(const std::vector<double>& seconds) {
  if (seconds.empty()) return 0;
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

/// Of equal parts it may be more than a Time holds.
std::string seconds_text(double seconds) {
  constexpr double kMost = 9e6;
  return seconds < kMost ? short_time(Time(std::llround(seconds * 1e12))) : fmt::format("{:.4g} s", seconds);
}

class EdgeJob final : public Job {
 public:
  EdgeJob(const Platform& platform, const EdgeConfig& config) : config_(config), seed_(platform.machine().seed) {}

  /// It has no collectives.
  [[nodiscard]] bool follows_algorithm() const override { return false; }
  void build(Share& share) override {
    share_ = &share;
    learning_ = std::make_unique<schedules::EdgeLearning>(share.ranks(), config_, seed_);
  }
  void record(Probe& probe, int ranks) override { learning_->record(probe, ranks); }
  void start() override { learning_->start(); }
  /// Blocks are kernels of a given length.
  [[nodiscard]] std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const override {
    return [](const accelerator::ComputeConfig& /*compute*/) { return std::uint64_t{0}; };
  }
  [[nodiscard]] double progress() const override { return learning_->progress(); }
  [[nodiscard]] std::vector<Time> step_ends() const override { return learning_->ends(); }
  [[nodiscard]] std::string steps_called() const override { return "rounds"; }
  [[nodiscard]] std::string title() const override {
    return fmt::format("{} parameters in blocks on {} workers, {} rounds", config_.parameters, share_->size() - 1,
                       config_.rounds);
  }
  [[nodiscard]] ordered_json workload() const override {
    return {{"kind", "edge-learning"}, {"allocation", name_of(config_.allocation)}};
  }
  [[nodiscard]] ordered_json summary() const override {
    const EdgeResult result = learning_->result();
    ordered_json blocks = ordered_json::array();
    for (const schedules::EdgeShare& share : result.last) {
      blocks.push_back({{"parameters", share.parameters}, {"bandwidth_hz", share.bandwidth_hz}});
    }
    return {{"round_us", to_us(round_of(result))},
            {"planned_us", 1e6 * mean_of(result.planned)},
            {"equal_us", 1e6 * mean_of(result.equal)},
            {"saved_percent", saved(result)},
            {"round_ends_us", to_us(result.ends)},
            {"last_round", blocks},
            {"wrong", result.wrong < 0 ? ordered_json(nullptr) : ordered_json(result.wrong)}};
  }
  [[nodiscard]] ordered_json finished() const override { return {{"round_ends_us", to_us(learning_->ends())}}; }
  [[nodiscard]] std::string text() const override {
    const EdgeResult result = learning_->result();
    std::string text;
    const auto row = [&](std::string_view what, const std::string& value) {
      text += fmt::format("{:<24}{}\n", what, value);
    };
    row("round, mean", fmt::format("{:>10}", short_time(round_of(result))));
    row("  as planned", fmt::format("{:>10}", seconds_text(mean_of(result.planned))));
    row("  of equal parts", fmt::format("{:>10}", seconds_text(mean_of(result.equal))));
    // Where nothing is gained the fabric's own time makes it a little less than nothing.
    constexpr double kShown = 0.05;
    const double less = saved(result);
    row("less than equal parts", fmt::format("{:>8.1f} %", std::abs(less) < kShown ? 0 : less));
    if (result.wrong >= 0) row("wrong elements", fmt::format("{:>10}", result.wrong));
    return text;
  }
  [[nodiscard]] std::int64_t wrong() const override { return learning_->result().wrong; }

 private:
  [[nodiscard]] static Time round_of(const EdgeResult& result) {
    if (result.ends.empty()) return {};
    return Time(result.ends.back().count() / static_cast<std::int64_t>(result.ends.size()));
  }
  [[nodiscard]] double saved(const EdgeResult& result) const {
    const double equal = mean_of(result.equal);
    if (equal == 0 || config_.allocation == schedules::EdgeAllocation::kEqual) return 0;
    return 100 * (1 - to_seconds(round_of(result)) / equal);
  }

  EdgeConfig config_;
  std::int64_t seed_;
  Share* share_ = nullptr;
  std::unique_ptr<schedules::EdgeLearning> learning_;
};

}  // namespace

JobKind edge_learning_job() {
  return job_kind(
      "edge-learning", "A model in blocks that workers compute over radio links: partitioned edge learning.",
      EdgeConfig(),
      [](Platform& platform, const EdgeConfig& config) { return std::make_unique<EdgeJob>(platform, config); });
}

}  // namespace weft::platforms
