// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <variant>

#include "platforms/config/other_values.h"
#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/kernel_digest.h"
#include "platforms/jobs/own_model.h"
#include "platforms/jobs/sent_compressed.h"
#include "platforms/jobs/steps_shown.h"
#include "platforms/results/collective_table.h"
#include "platforms/results/format.h"
#include "platforms/results/left_out_pieces.h"
#include "platforms/results/speed.h"
#include "platforms/results/summary.h"
#include "platforms/results/write_file.h"
#include "sw/schedules/fsdp.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using schedules::FsdpConfig;
using schedules::FsdpResult;

Speed speed_of(const FsdpResult& result, const MachineConfig& machine) {
  return speed_of(result.step, static_cast<double>(result.tokens_per_rank_step), result.model_flops_per_token, machine);
}

ordered_json to_json(const FsdpResult& result, const Speed& speed) {
  ordered_json json = {{"step_time_us", to_us(result.step)},
                       {"steps_us", to_us(result.steps)},
                       {"steps_shown", steps_json(result.shown)}};
  json.update(to_json(speed));
  json["executed_tflops_per_gpu"] = speed.step_s > 0 ? result.operations_per_rank_step / speed.step_s * 1e-12 : 0;
  json["breakdown_us"] = {{"compute", to_us(result.compute)},
                          {"exposed_allgather", to_us(result.exposed_allgather)},
                          {"exposed_reduce_scatter", to_us(result.exposed_reduce_scatter)},
                          {"exposed_all_reduce", to_us(result.exposed_all_reduce)},
                          {"exposed_optimizer", to_us(result.exposed_optimizer)},
                          {"exposed_offload", to_us(result.exposed_offload)},
                          {"other", to_us(result.other)}};
  json["slowest_rank_us"] = to_us(result.slowest_rank);
  json["wrong"] = nullptr;
  json["collectives_of_rank_0"] = collective_table(result.of_first);
  if (result.wrong >= 0) json["wrong"] = result.wrong;
  // Parts of one name, such as buffers, together.
  ordered_json& memory = json["accelerator_memory_bytes"] = ordered_json::object();
  for (const auto& [what, bytes] : result.memory) memory[what] = memory.value(what, std::uint64_t{0}) + bytes;
  json["remote_memory_bytes"] = result.remote_bytes;
  return json;
}

std::string to_text(const FsdpResult& result, const Speed& speed, std::int64_t period) {
  const auto part = [&speed](Time time) {
    return fmt::format("{:>10}  {:5.1f} %", short_time(time),
                       speed.step_s > 0 ? to_seconds(time) / speed.step_s * 100 : 0);
  };
  std::string text;
  const auto row = [&](std::string_view what, const std::string& value) {
    text += fmt::format("{:<24}{}\n", what, value);
  };
  const std::string of =
      period == 1 ? "" : "  " + steps_text(result.shown, static_cast<int>(result.steps.size()), period);
  row("step time", fmt::format("{:>10}", short_time(result.step)) + of);
  row("  compute", part(result.compute));
  row("  exposed allgather", part(result.exposed_allgather));
  row("  exposed reduce-scatter", part(result.exposed_reduce_scatter));
  if (result.copies > 1) row("  exposed all-reduce", part(result.exposed_all_reduce));
  if (result.exposed_optimizer > Time()) row("  exposed optimizer", part(result.exposed_optimizer));
  if (result.remote_bytes > 0) row("  exposed offload", part(result.exposed_offload));
  row("  other", part(result.other));
  constexpr std::int64_t kShown = 1000;  // of a step
  if (kShown * result.slowest_rank > result.step) {
    row("    slowest rank", part(result.slowest_rank));
  }
  row("tokens/s per GPU", fmt::format("{:>10.0f}", speed.tokens_per_s));
  row("TFLOPS per GPU", fmt::format("{:>10.1f}", speed.tflops));
  row("MFU", fmt::format("{:>8.1f} %", speed.mfu * 100));
  if (result.wrong >= 0) row("wrong elements", fmt::format("{:>10}", result.wrong));
  return text;
}

class FsdpJob final : public Job {
 public:
  FsdpJob(Platform& platform, const FsdpConfig& config) : config_(config) {
    config_.model = find_model(platform, "model", config.model);
    remarks_ = remarks_of_model(config.model, config_.model);
  }

  [[nodiscard]] std::vector<std::filesystem::path> inputs() const override { return files_of_model(config_.model); }
  [[nodiscard]] std::vector<std::string> remarks() const override { return remarks_; }

  void build(Share& share) override {
    share_ = &share;
    const MachineConfig& config = share.config();
    fsdp_ =
        std::make_unique<schedules::Fsdp>(share.ranks(), config_, config.collectives, config.accelerator.array.compute);
  }
  void record(Probe& probe, int ranks) override { fsdp_->record(probe, ranks); }
  void set_left_out(LeftOut& left_out) override {
    if (!simulates_all().empty()) return;
    fsdp_->set_steady(share_->config().steady, {[&left_out](std::size_t mark) { left_out.mark(mark); },
                                                [&left_out](std::size_t from, std::size_t to, int times) {
                                                  left_out.leave_out(from, to, times);
                                                }});
  }
  [[nodiscard]] std::string simulates_all() const override {
    const MachineConfig& config = share_->config();
    if (config.data) return "with --data all bytes move";
    if (config_.offload.activations || config_.offload.optimizer) return "with offload all blocks are simulated";
    if (config.has_changing_faults()) return "faults are not the same throughout";
    return "";
  }
  void start() override { fsdp_->start(); }
  [[nodiscard]] double progress() const override { return fsdp_->progress(); }
  [[nodiscard]] double received_bytes() const override { return fsdp_->received_bytes(); }
  [[nodiscard]] double simulated_share() const override {
    const schedules::SteadyConfig& steady = share_->config().steady;
    return steady.is_on() && !steady.verify && simulates_all().empty() ? fsdp_->share_of_steady() : 1;
  }
  [[nodiscard]] std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const override {
    return [this](const accelerator::ComputeConfig& compute) { return digest_of(config_, compute); };
  }
  [[nodiscard]] std::vector<IdleFields> idle() const override;
  [[nodiscard]] std::vector<Time> step_ends() const override { return fsdp_->step_ends(); }
  [[nodiscard]] std::string title() const override {
    // Where steps repeat after some, the line of the step's time says whether it is of so many.
    return fmt::format("{} on {}, {}", fsdp_->plan().model.name, counted(share_->size(), "accelerator"),
                       steps_text(fsdp_->result().shown, config_.steps, 1));
  }
  [[nodiscard]] ordered_json workload() const override {
    return {{"kind", "fsdp"}, {"model", fsdp_->plan().model.name}};
  }
  [[nodiscard]] ordered_json summary() const override {
    const FsdpResult result = fsdp_->result();
    ordered_json json = to_json(result, speed_of(result, share_->config()));
    json["steady"] = steady_json(result.left_out, share_->config().steady);
    json["compressed"] = compressed_json(fsdp_->compressed(), share_->size());
    json["remarks"] = fsdp_->remarks();
    return json;
  }
  [[nodiscard]] ordered_json finished() const override { return {{"steps_us", to_us(fsdp_->finished())}}; }
  [[nodiscard]] std::string text() const override {
    const FsdpResult result = fsdp_->result();
    std::string text = to_text(result, speed_of(result, share_->config()), fsdp_->plan().period);
    text += compressed_text(fsdp_->compressed(), share_->size());
    const schedules::SteadyConfig& steady = share_->config().steady;
    if (steady.is_on() && simulates_all().empty()) text += steady_text(result.left_out, steady);
    for (const std::string& remark : fsdp_->remarks()) text += "\n" + remark + "\n";
    return text;
  }
  [[nodiscard]] std::int64_t wrong() const override { return fsdp_->result().wrong; }

 private:
  /// Of all that is planned for a step.
  [[nodiscard]] std::uint64_t digest_of(const FsdpConfig& config, const accelerator::ComputeConfig& compute) const;

  FsdpConfig config_;
  std::vector<std::string> remarks_;
  Share* share_ = nullptr;
  std::unique_ptr<schedules::Fsdp> fsdp_;
};

std::uint64_t FsdpJob::digest_of(const FsdpConfig& config, const accelerator::ComputeConfig& compute) const {
  const schedules::FsdpPlan plan(config, compute, fsdp_->shards(), fsdp_->copies());
  KernelDigest digest;
  for (const schedules::Stage& stage : plan.stages) {
    digest.add(stage.kernels);
    digest.add(stage.tail);
  }
  for (const schedules::Gather& gather : plan.gathers) {
    digest.add(gather.bytes);
    digest.add(static_cast<std::uint64_t>(gather.first_use));
    digest.add(static_cast<std::uint64_t>(gather.last_use));
    digest.add(gather.before);
  }
  for (const schedules::Scatter& scatter : plan.scatters) {
    digest.add(scatter.elements);
    digest.add(scatter.sums);
  }
  for (const schedules::PlannedUpdate& update : plan.updates) {
    for (const schedules::PlannedPiece& piece : update.pieces) {
      digest.add(piece.kernels);
      if (piece.exchange) digest.add(static_cast<std::uint64_t>(piece.exchange->bytes));
    }
  }
  digest.add(plan.scaling);
  for (const std::uint64_t bytes : plan.activations) digest.add(bytes);
  for (const std::uint64_t value :
       {plan.block_gathered_bytes, static_cast<std::uint64_t>(plan.block_buffers), plan.root_activations,
        plan.recomputed_activations, static_cast<std::uint64_t>(plan.operations)}) {
    digest.add(value);
  }
  return digest.value();
}

std::vector<IdleFields> FsdpJob::idle() const {
  std::vector<IdleFields> idle;
  const std::string path = "workload";
  if (!config_.offload.activations) {
    idle.push_back({path + ".offload.buffers", {}, path + ".offload.activations is false", false, {}});
  }
  if (!config_.offload.optimizer) {
    idle.push_back({path + ".offload.piece", {}, path + ".offload.optimizer is false", false, {}});
  }
  for (const Section& section : config_.optimizer.own) {
    if (section.name == config_.optimizer.name.text()) continue;
    idle.push_back({path + "." + section.key, {}, path + ".optimizer is " + config_.optimizer.name.text(), false, {}});
  }
  if (config_.optimizer.name.text() == "muon") {
    idle.push_back({path + ".muon.tensor_parallel", {}, "no matrix is cut by tensor parallelism", false, {}});
  }
  if (fsdp_->shards() == 1) {
    for (const char* field : {".forward_prefetch", ".backward_prefetch", ".limit_all_gathers"}) {
      idle.push_back({path + field, {}, "every rank has all parameters, so that nothing is gathered", false, {}});
    }
  }
  auto tried = std::make_shared<FsdpConfig>(config_);
  idle.push_back(
      {path, {}, "the step is planned as it is with any value", false, [this, tried](std::string_view field) {
         // Others say how the plan is carried out.
         constexpr std::string_view kOfPlan[] = {"code", "recompute", "attention", "reshard_after_forward"};
         return std::find(std::begin(kOfPlan), std::end(kOfPlan), field) != std::end(kOfPlan) &&
                is_indifferent([&](FieldVisitor& visitor) { tried->fields(visitor); }, field,
                               [&] { return digest_of(*tried, share_->config().accelerator.array.compute); },
                               Extremes::kLeftOut);
       }});
  return idle;
}

}  // namespace

JobKind fsdp_job() {
  JobKind kind = job_kind(
      "fsdp", "A transformer trained by fully sharded data parallelism.", FsdpConfig(),
      [](Platform& platform, const FsdpConfig& config) { return std::make_unique<FsdpJob>(platform, config); });
  kind.takes_model = [](const models::AnyModel& model) {
    const auto* transformer = std::get_if<models::Transformer>(&model);
    return transformer != nullptr && has_plain_blocks(*transformer);
  };
  return kind;
}

}  // namespace weft::platforms
