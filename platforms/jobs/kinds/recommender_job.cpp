// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/kernel_digest.h"
#include "platforms/jobs/sent_compressed.h"
#include "platforms/jobs/steps_shown.h"
#include "platforms/results/format.h"
#include "sw/schedules/recommender/recommender.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using schedules::Recommender;
using schedules::RecommenderConfig;
using schedules::RecommenderResult;

class RecommenderJob final : public Job {
 public:
  RecommenderJob(const Platform& platform, const RecommenderConfig& config)
      : config_(config), seed_(platform.machine().seed) {}

  void build(Share& share) override {
    share_ = &share;
    recommender_ = std::make_unique<Recommender>(share.ranks(), config_, share.config().collectives, seed_);
  }
  void record(Probe& probe, int ranks) override { recommender_->record(probe, ranks); }
  void start() override { recommender_->start(); }
  [[nodiscard]] double progress() const override { return recommender_->progress(); }
  [[nodiscard]] std::vector<Time> step_ends() const override { return recommender_->step_ends(); }
  [[nodiscard]] std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const override {
    return [this](const accelerator::ComputeConfig& compute) {
      KernelDigest digest;
      for (const schedules::StageKernels* kernels : recommender_->kernels()) {
        for (const schedules::StageKernel& kernel : *kernels) digest.add(schedules::stage_work(compute, kernel));
      }
      return digest.value();
    };
  }
  [[nodiscard]] std::vector<IdleFields> idle() const override {
    if (share_->config().data) return {};
    return {{"workload.rate", {}, "nothing is trained with real numbers", false, {}}};
  }
  [[nodiscard]] std::string title() const override {
    return fmt::format("{} and perceptrons of {} parameters on {}, {} each, {}", counted(config_.tables, "table"),
                       recommender_->shape().parameters, counted(share_->size(), "accelerator"),
                       counted(config_.batch, "sample"), steps_text({config_.steps - 1, 1}, config_.steps, 1));
  }
  [[nodiscard]] ordered_json workload() const override {
    return {{"kind", "recommender"}, {"tables", config_.tables}, {"width", config_.width}};
  }
  [[nodiscard]] ordered_json summary() const override {
    const RecommenderResult& result = results();
    ordered_json json = {
        {"step_time_us", to_us(result.step_time)},
        {"steps_us", to_us(result.steps)},
        {"samples_per_s", samples() / to_seconds(result.step_time)},
        {"breakdown_us", {{"exchanges", to_us(result.exchanging)}, {"gradients", to_us(result.waiting_gradients)}}},
        {"exchange_bytes", exchange_bytes()},
        {"exchange_sent_bytes", recommender_->exchange_sent()},
        {"gradient_bytes", recommender_->gradient_bytes()},
        {"compressed", compressed_json(recommender_->compressed(), share_->size())},
        {"remarks", recommender_->remarks()}};
    const bool real = result.wrong >= 0;
    json["losses"] = real ? ordered_json(result.losses) : ordered_json(nullptr);
    json["wrong"] = real ? ordered_json(result.wrong) : ordered_json(nullptr);
    json["compared"] = real ? ordered_json(result.compared) : ordered_json(nullptr);
    return json;
  }
  [[nodiscard]] ordered_json finished() const override { return {{"steps_done", recommender_->step_ends().size()}}; }
  [[nodiscard]] std::string text() const override {
    const RecommenderResult& result = results();
    std::string text;
    const auto row = [&text](const std::string& what, const std::string& value) {
      text += fmt::format("{:<24}{:>10}\n", what, value);
    };
    row("step time", short_time(result.step_time));
    row("  AllToAlls", short_time(result.exchanging));
    row("  wait for gradients", short_time(result.waiting_gradients));
    row("samples/s", fmt::format("{:.0f}", samples() / to_seconds(result.step_time)));
    row("AllToAll of a rank", short_bytes(static_cast<double>(exchange_bytes())));
    row("  sent to others", short_bytes(static_cast<double>(recommender_->exchange_sent())));
    row("gradients of a rank", short_bytes(static_cast<double>(recommender_->gradient_bytes())));
    text += compressed_text(recommender_->compressed(), share_->size());
    if (result.wrong >= 0) {
      row("loss before step 1", fmt::format("{:.4g}", result.losses.front()));
      row(fmt::format("  before step {}", result.losses.size()), fmt::format("{:.4g}", result.losses.back()));
      text += fmt::format("wrong elements          {:>10}, of {} compared\n", result.wrong, result.compared);
    }
    for (const std::string& remark : recommender_->remarks()) text += "\n" + remark + "\n";
    return text;
  }
  [[nodiscard]] std::int64_t wrong() const override { return results().wrong; }

 private:
  [[nodiscard]] double samples() const { return static_cast<double>(config_.batch) * share_->size(); }
  /// Of an AllToAll's buffer; one rank sends nothing.
  [[nodiscard]] std::uint64_t exchange_bytes() const {
    return share_->size() > 1 ? recommender_->shape().exchange_bytes() : 0;
  }
  /// After the run; a comparison takes a while.
  [[nodiscard]] const RecommenderResult& results() const {
    if (!result_) result_ = recommender_->result();
    return *result_;
  }

  RecommenderConfig config_;
  std::int64_t seed_;
  Share* share_ = nullptr;
  std::unique_ptr<Recommender> recommender_;
  mutable std::optional<RecommenderResult> result_;
};

}  // namespace

JobKind recommender_job() {
  return job_kind("recommender",
                  "A recommender with embedding tables over the accelerators, and perceptrons on all of them.",
                  RecommenderConfig(), [](Platform& platform, const RecommenderConfig& config) {
                    return std::make_unique<RecommenderJob>(platform, config);
                  });
}

}  // namespace weft::platforms
