// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/kernel_digest.h"
#include "platforms/jobs/sent_compressed.h"
#include "platforms/results/collective_table.h"
#include "platforms/results/format.h"
#include "platforms/results/summary.h"
#include "sw/schedules/sampling/graph_sampling.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using schedules::GraphSampling;
using schedules::SamplingConfig;
using schedules::SamplingResult;

class GraphSamplingJob final : public Job {
 public:
  explicit GraphSamplingJob(const SamplingConfig& config) : config_(config) {}

  void build(Share& share) override {
    share_ = &share;
    const MachineConfig& config = share.config();
    sampling_ =
        std::make_unique<GraphSampling>(share.ranks(), config_, config.collectives, config.accelerator.array.compute);
  }
  void record(Probe& probe, int ranks) override { sampling_->record(probe, ranks); }
  void start() override { sampling_->start(); }
  [[nodiscard]] double progress() const override { return sampling_->progress(); }
  [[nodiscard]] std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const override {
    return [this](const accelerator::ComputeConfig& compute) {
      const schedules::SageKernels kernels = schedules::sage_kernels(compute, config_, sampling_->hops());
      KernelDigest digest;
      digest.add(kernels.passes);
      digest.add(kernels.optimizer);
      return digest.value();
    };
  }
  [[nodiscard]] std::vector<IdleFields> idle() const override;
  [[nodiscard]] std::vector<Time> step_ends() const override { return sampling_->step_ends(); }
  [[nodiscard]] std::string steps_called() const override { return "batches"; }
  [[nodiscard]] std::string title() const override {
    return fmt::format("GraphSAGE on {}, {} of {}", counted(share_->size(), "accelerator"),
                       counted(sampling_->batches(), "batch", "batches"), config_.batch);
  }
  [[nodiscard]] ordered_json workload() const override {
    return {{"kind", "graph-sampling"}, {"nodes", config_.graph.nodes}, {"batch", config_.batch}};
  }
  [[nodiscard]] ordered_json summary() const override;
  [[nodiscard]] ordered_json finished() const override { return {{"batch_ends_us", to_us(sampling_->step_ends())}}; }
  [[nodiscard]] std::string text() const override;
  [[nodiscard]] std::int64_t wrong() const override { return sampling_->result().wrong; }
  [[nodiscard]] std::string needs() const override {
    std::string text = "bytes that each accelerator needs\n\n";
    for (const auto& [what, bytes] : memory()) text += fmt::format("{:<40}{:>15}\n", what, bytes);
    return text + "\n";
  }
  [[nodiscard]] ordered_json needs_json() const override { return memory_json(); }

 private:
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> memory() const {
    return schedules::sampling_memory(config_,
                                      schedules::expected_hops(config_.graph, config_.batch, config_.fan_outs));
  }
  [[nodiscard]] ordered_json memory_json() const {
    ordered_json json = ordered_json::object();
    for (const auto& [what, bytes] : memory()) json[what] = bytes;
    return json;
  }

  SamplingConfig config_;
  Share* share_ = nullptr;
  std::unique_ptr<GraphSampling> sampling_;
};

std::vector<IdleFields> GraphSamplingJob::idle() const {
  std::vector<IdleFields> idle;
  if (config_.slicer == schedules::Slicer::kSamplers) {
    idle.push_back({"workload.slicing_threads", {}, "workload.slicer is samplers", false, {}});
  }
  return idle;
}

ordered_json GraphSamplingJob::summary() const {
  const SamplingResult result = sampling_->result();
  ordered_json hops = ordered_json::array();
  for (const schedules::Hop& hop : sampling_->hops()) {
    hops.push_back({{"targets", hop.targets}, {"edges", hop.edges}, {"nodes", hop.sources}});
  }
  return {{"epoch_us", result.epoch ? ordered_json(to_us(*result.epoch)) : ordered_json(nullptr)},
          {"epoch_batches", sampling_->epoch()},
          {"batches", sampling_->batches()},
          {"batch_ends_us", to_us(result.ends)},
          {"breakdown_us",
           {{"train", to_us(result.train)},
            {"sampling_and_slicing", to_us(result.sampling)},
            {"transfer", to_us(result.transfer)}}},
          {"of_a_batch_us",
           {{"sampler", to_us(result.sampler)}, {"slicing", to_us(result.slicing)}, {"copy", to_us(result.copy)}}},
          {"hops", hops},
          {"copied_bytes", result.copied_bytes},
          {"accelerator_memory_bytes", memory_json()},
          {"pinned_bytes", result.pinned_bytes},
          {"wrong", result.wrong < 0 ? ordered_json(nullptr) : ordered_json(result.wrong)},
          {"compressed", compressed_json(sampling_->compressed(), share_->size())},
          {"collectives_of_rank_0", collective_table(result.of_first)}};
}

std::string GraphSamplingJob::text() const {
  const SamplingResult result = sampling_->result();
  const Time all = result.ends.empty() ? Time() : result.ends.back();
  std::string text;
  const auto row = [&](std::string_view what, const std::string& value) {
    text += fmt::format("{:<24}{}\n", what, value);
  };
  const auto part = [&](std::string_view what, Time time) {
    row(what, fmt::format("{:>10}  {:5.1f} %", short_time(time),
                          all > Time() ? 100 * to_seconds(time) / to_seconds(all) : 0));
  };
  if (result.epoch) {
    row("epoch", fmt::format("{:>10}  {} batches", short_time(*result.epoch), sampling_->epoch()));
  } else {
    row("epoch", fmt::format("{:>10}  {} of its {} batches have no stretch at a steady rate; workload.batches=0 "
                             "simulates them all",
                             "unknown", sampling_->batches(), sampling_->epoch()));
  }
  row(fmt::format("{} batches", sampling_->batches()), fmt::format("{:>10}", short_time(all)));
  part("  train", result.train);
  part("  sampling and slicing", result.sampling);
  part("  transfer", result.transfer);
  row("of a batch: sampler", fmt::format("{:>10}", short_time(result.sampler)));
  row("            slicing", fmt::format("{:>10}", short_time(result.slicing)));
  row("            copy",
      fmt::format("{:>10}  {}", short_time(result.copy), short_bytes(static_cast<double>(result.copied_bytes))));
  row("nodes of a batch", fmt::format("{:>10}", sampling_->hops().back().sources));
  text += compressed_text(sampling_->compressed(), share_->size());
  if (result.wrong >= 0) row("wrong elements", fmt::format("{:>10}", result.wrong));
  if (const std::string remark = sampling_->remark(); !remark.empty()) text += "\n" + remark + "\n";
  return text;
}

}  // namespace

JobKind graph_sampling_job() {
  return job_kind("graph-sampling",
                  "A graph network trained on neighbourhoods that hosts sample: SALIENT's pipeline, or PyG's loop.",
                  SamplingConfig(), [](Platform& /*platform*/, const SamplingConfig& config) {
                    return std::make_unique<GraphSamplingJob>(config);
                  });
}

}  // namespace weft::platforms
