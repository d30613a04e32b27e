// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/kernel_digest.h"
#include "platforms/jobs/own_model.h"
#include "platforms/jobs/steps_shown.h"
#include "platforms/machine/round_trip.h"
#include "platforms/results/format.h"
#include "platforms/results/summary.h"
#include "sw/schedules/pipeline/pipeline.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using schedules::PipelineConfig;
using schedules::PipelinePlan;
using schedules::PipelineResult;
using schedules::PipelineSite;
using schedules::StageHop;
using schedules::StageLink;
using schedules::StagePipeline;

models::AnyModel model_of(const std::string& found) {
  try {
    const std::vector<std::string> networks = models::network_names();
    if (models::is_layers_file(found) || std::find(networks.begin(), networks.end(), found) != networks.end()) {
      return models::named_network(found);
    }
    return models::named_decoder(found);
  } catch (const std::invalid_argument& error) {
    throw ConfigError("workload.model", error.what());
  }
}

/// What joins all ranks with each other, by number.
std::vector<StageLink> links_of(Share& share) {
  const auto size = static_cast<std::size_t>(share.size());
  std::vector<StageLink> links(size * size);
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t to = 0; to < size; ++to) {
      if (from == to) continue;
      const firmware::Rank& one = share.rank(static_cast<int>(from));
      const firmware::Rank& other = share.rank(static_cast<int>(to));
      const bool inside = one.node == other.node && share.machine().config().per_node > 1;
      const fabric::Plan& plan = inside ? share.machine().node_network(static_cast<std::size_t>(one.node)).plan()
                                        : share.machine().network().plan();
      const Way way(plan, static_cast<std::uint32_t>(inside ? one.local : one.place),
                    static_cast<std::uint32_t>(inside ? other.local : other.place));
      links[from * size + to] = {std::min(way.rate, one.towards(other).rate), way.time};
    }
  }
  return links;
}

class PipelineJob final : public Job {
 public:
  PipelineJob(Platform& platform, const PipelineConfig& config)
      : config_(config), found_(find_model(platform, "model", config.model)), seed_(platform.machine().seed) {
    remarks_ = remarks_of_model(config.model, found_);
  }

  [[nodiscard]] std::vector<std::filesystem::path> inputs() const override { return files_of_model(found_); }
  [[nodiscard]] std::vector<std::string> remarks() const override { return remarks_; }
  /// It has no collectives.
  [[nodiscard]] bool follows_algorithm() const override { return false; }
  [[nodiscard]] bool takes_others() const override { return true; }
  void build(Share& share) override {
    share_ = &share;
    const auto size = static_cast<std::size_t>(share.size());
    PipelineSite site{share.ranks(), {}, {}, seed_};
    for (int rank = 0; rank < share.size(); ++rank) site.parts.push_back(share.config().other_at(rank));
    site.link = [links = links_of(share), size](int from, int to) {
      return links[static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to)];
    };
    pipeline_ = std::make_unique<StagePipeline>(std::move(site), pipeline_model(model_of(found_), config_), config_);
  }
  void record(Probe& probe, int ranks) override { pipeline_->record(probe, ranks); }
  void start() override { pipeline_->start(); }
  [[nodiscard]] double progress() const override { return pipeline_->progress(); }
  [[nodiscard]] std::vector<Time> step_ends() const override { return pipeline_->step_ends(); }
  [[nodiscard]] std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const override {
    return [this](const accelerator::ComputeConfig& compute) {
      KernelDigest digest;
      for (const schedules::PipelineStage& stage : plan().stages) {
        for (const auto* kernels : {&stage.forward, &stage.backward, &stage.update}) {
          for (const schedules::StageKernel& kernel : *kernels) digest.add(schedules::stage_work(compute, kernel));
        }
      }
      return digest.value();
    };
  }
  [[nodiscard]] std::vector<IdleFields> idle() const override;
  [[nodiscard]] std::string title() const override {
    return fmt::format("{} in {} on {}, {} in {}, {}", pipeline_->model().name, counted(plan().stages.size(), "stage"),
                       counted(share_->size(), "accelerator"), counted(config_.batch, "sample"),
                       counted(config_.microbatches, "microbatch", "microbatches"),
                       steps_text({config_.steps - 1, 1}, config_.steps, 1));
  }
  [[nodiscard]] ordered_json workload() const override {
    return {{"kind", "pipeline"}, {"model", pipeline_->model().name}, {"stages", plan().stages.size()}};
  }
  [[nodiscard]] ordered_json summary() const override;
  [[nodiscard]] ordered_json finished() const override { return {{"steps_us", to_us(pipeline_->result().steps)}}; }
  [[nodiscard]] std::string text() const override;
  [[nodiscard]] std::int64_t wrong() const override {
    return pipeline_->contents() == nullptr ? -1 : pipeline_->contents()->wrong();
  }

 private:
  [[nodiscard]] const PipelinePlan& plan() const { return pipeline_->plan(); }
  [[nodiscard]] std::int64_t slow_hops() const {
    return std::count_if(plan().hops.begin(), plan().hops.end(), [](const StageHop& hop) { return hop.compressed; });
  }

  PipelineConfig config_;
  std::string found_;
  std::int64_t seed_;
  std::vector<std::string> remarks_;
  Share* share_ = nullptr;
  std::unique_ptr<StagePipeline> pipeline_;
};

std::vector<IdleFields> PipelineJob::idle() const {
  std::vector<IdleFields> idle;
  const auto add = [&idle](const char* field, const char* why) { idle.push_back({field, {}, why, false, {}}); };
  if (pipeline_->model().network) add("workload.sequence", "the model is a network of layers");
  if (!pipeline_->trains()) add("workload.rate", "nothing is trained with real numbers");
  if (!config_.compression.on()) {
    add("workload.compressed_links", "workload.compression.method is none");
    add("workload.index_bits", "workload.compression.method is none");
    return idle;
  }
  add("workload.compression.error_feedback", "samples differ from message to message: nothing is kept");
  return idle;
}

ordered_json PipelineJob::summary() const {
  const PipelineResult result = pipeline_->result();
  const auto seconds = to_seconds(result.step_time);
  ordered_json stages = ordered_json::array();
  for (std::size_t s = 0; s < plan().stages.size(); ++s) {
    const schedules::PipelineStage& stage = plan().stages[s];
    ordered_json& json =
        stages.emplace_back(ordered_json{{"rank", stage.rank},
                                         {"units", stage.end - stage.first},
                                         {"parameters", stage.parameters},
                                         {"microbatch_us", stage.seconds * 1e6},
                                         {"busy_us", to_us(result.stages[s].busy)},
                                         {"memory_bytes", stage.state_bytes + stage.kept_bytes + stage.message_bytes}});
    if (s == plan().hops.size()) break;
    const StageHop& hop = plan().hops[s];
    json["to_next"] = {{"gbps", static_cast<double>(hop.link.rate.count()) * 1e-9},
                       {"latency_us", to_us(hop.link.time)},
                       {"bytes", hop.bytes},
                       {"uncompressed_bytes", hop.dense},
                       {"longest_us", to_us(result.hops[s].longest)}};
  }
  ordered_json json = {{"step_time_us", to_us(result.step_time)},
                       {"steps_us", to_us(result.steps)},
                       {"samples_per_s", static_cast<double>(config_.batch) / seconds},
                       {"estimate_us", plan().estimate() * 1e6},
                       {"sent_bytes", result.sent_bytes},
                       {"uncompressed_bytes", result.dense_bytes},
                       {"compressed_links", slow_hops()},
                       {"stages", stages}};
  const schedules::PipelineContents* contents = pipeline_->contents();
  json["losses"] = pipeline_->trains() ? ordered_json(contents->losses()) : ordered_json(nullptr);
  json["wrong"] = contents == nullptr ? ordered_json(nullptr) : ordered_json(contents->wrong());
  json["compared"] = contents == nullptr ? ordered_json(nullptr) : ordered_json(contents->compared());
  return json;
}

std::string PipelineJob::text() const {
  const PipelineResult result = pipeline_->result();
  std::string text;
  const auto row = [&text](const std::string& what, const std::string& value, const std::string& more = "") {
    text += fmt::format("{:<24}{:>10}{}{}\n", what, value, more.empty() ? "" : "  ", more);
  };
  row("step time", short_time(result.step_time));
  const auto [least, most] =
      std::minmax_element(result.stages.begin(), result.stages.end(),
                          [](const auto& one, const auto& other) { return one.busy < other.busy; });
  const auto share = [&result](Time busy) {
    return fmt::format(
        "{:.1f} %", 100 * to_seconds(busy) / static_cast<double>(result.steps.size()) / to_seconds(result.step_time));
  };
  row("  computing, most", share(most->busy), fmt::format("stage {}", most - result.stages.begin()));
  row("  computing, least", share(least->busy), fmt::format("stage {}", least - result.stages.begin()));
  row("  by the closed form", short_time(Time(static_cast<std::int64_t>(plan().estimate() * 1e12))));
  row("samples/s", fmt::format("{:.4g}", static_cast<double>(config_.batch) / to_seconds(result.step_time)));
  row("sent between stages", short_bytes(static_cast<double>(result.sent_bytes)),
      config_.compression.on()
          ? fmt::format("of {} without compression, {} of {} links compressed",
                        short_bytes(static_cast<double>(result.dense_bytes)), slow_hops(), plan().hops.size())
          : "");
  if (!plan().hops.empty()) {
    const auto slowest = std::max_element(result.hops.begin(), result.hops.end(),
                                          [](const auto& a, const auto& b) { return a.longest < b.longest; });
    const StageHop& hop = plan().hops[static_cast<std::size_t>(slowest - result.hops.begin())];
    row("longest message", short_time(slowest->longest),
        fmt::format("from stage {} to the next, {} at {:.4g} Gb/s", slowest - result.hops.begin(),
                    short_bytes(static_cast<double>(hop.bytes)), static_cast<double>(hop.link.rate.count()) * 1e-9));
  }
  const schedules::PipelineContents* contents = pipeline_->contents();
  if (contents == nullptr) return text;
  if (pipeline_->trains()) {
    const std::vector<double> losses = contents->losses();
    row("loss before step 1", fmt::format("{:.4g}", losses.front()));
    row(fmt::format("  before step {}", losses.size()), fmt::format("{:.4g}", losses.back()));
  }
  text += fmt::format("wrong elements          {:>10}, of {} {}compared\n", contents->wrong(), contents->compared(),
                      pipeline_->trains() ? "weights " : "");
  return text;
}

}  // namespace

JobKind pipeline_job() {
  JobKind kind = job_kind(
      "pipeline", "A model trained in a pipeline of accelerators that may differ, over links that may.",
      PipelineConfig(),
      [](Platform& platform, const PipelineConfig& config) { return std::make_unique<PipelineJob>(platform, config); });
  kind.takes_model = [](const models::AnyModel& model) {
    const auto* transformer = std::get_if<models::Transformer>(&model);
    return transformer == nullptr || is_decoder(*transformer);
  };
  return kind;
}

}  // namespace weft::platforms
