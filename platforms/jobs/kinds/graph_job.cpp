// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "hw/fabric/topology/topology.h"
#include "platforms/config/text.h"
#include "platforms/jobs/graph/graph_workload.h"
#include "platforms/jobs/graph/step_memory.h"
#include "platforms/jobs/graph/trace_members.h"
#include "platforms/jobs/graph/transformer_workload.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/kernel_digest.h"
#include "platforms/jobs/sent_compressed.h"
#include "platforms/results/collective_table.h"
#include "platforms/results/format.h"
#include "platforms/results/left_out_pieces.h"
#include "platforms/results/speed.h"
#include "platforms/results/summary.h"
#include "sw/collectives/deepep/deepep.h"
#include "sw/schedules/graph/graph.h"
#include "sw/workloads/phases.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using schedules::GraphResult;

/// As collectives have them (collectives::DimensionGroup).
std::vector<std::uint32_t> dimensions_of(const MachineConfig& machine) {
  std::vector<int> sizes = machine.collectives.of<collectives::DimensionsConfig>().sizes;
  if (sizes.empty() && machine.per_node > 1) {
    sizes = {machine.per_node, machine.accelerators / machine.per_node};
  } else if (sizes.empty()) {
    sizes = fabric::grid_sizes(machine.fabric);
  }
  std::vector<std::uint32_t> dimensions;
  for (const int size : sizes) {
    if (size > 1) dimensions.push_back(static_cast<std::uint32_t>(size));
  }
  const auto count = std::accumulate(dimensions.begin(), dimensions.end(), std::uint64_t{1}, std::multiplies<>());
  const auto all = static_cast<std::uint32_t>(machine.accelerators);
  return count == all ? dimensions : std::vector{all};
}

/// What is generated, and how it is run.
struct TransformerConfig {
  workloads::StepOptions step;
  schedules::GraphConfig graph;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    step.fields(visit);
    graph.fields(visit);
  }
};

class GraphJob final : public Job {
 public:
  GraphJob(Platform& platform, const schedules::GraphConfig& config) : config_(config) {
    GraphWorkload read = read_graph_workload(platform.document(), platform.workload(),
                                             dimensions_of(platform.machine()), Runner::kMachine);
    traces_ = std::move(read.traces);
    remarks_ = std::move(read.remarks);
    nodes_ = static_cast<double>(read.nodes);
    const MachineConfig& machine = platform.machine();
    if (machine.steady.is_on()) {
      rows_ = schedules::find_steps(traces_, static_cast<std::size_t>(machine.accelerators));
    }
  }
  GraphJob(TransformerStep step, const schedules::GraphConfig& config) : step_(std::move(step)), config_(config) {
    traces_ = step_->traces;
    rows_ = step_->rows;
    remarks_ = step_->remarks;
    for (const workloads::RankSums& rank : step_->ranks) {
      nodes_ += static_cast<double>(rank.nodes) / static_cast<double>(step_->ranks.size());
    }
  }

  /// Throws ConfigError where the parts of AllToAlls differ, or tokens come once, and nobody can exchange them.
  static void check_exchanges(const workloads::StepOptions& step, const schedules::GraphConfig& config,
                              const collectives::CommunicatorConfig& collectives) {
    if (step.dispatcher == workloads::Dispatcher::kDeepEp) {
      const bool has_library = config.library == schedules::Library::kCommunicators;
      if (has_library && collectives.algorithm.text() == collectives::DeepEpConfig::kAlgorithm) return;
      throw ConfigError("workload.dispatcher",
                        "expected alltoall, or workload.library communicators and collectives.algorithm deepep, got "
                        "workload.library " +
                            std::string(name_of(config.library)) + " and collectives.algorithm " +
                            std::string(collectives.algorithm.text()));
    }
    if (step.expert_load == workloads::LoadKind::kBalanced || config.library == schedules::Library::kCommunicators) {
      return;
    }
    throw ConfigError("workload.expert_load",
                      "expected workload.library communicators with a collectives.algorithm that exchanges parts that "
                      "differ, such as nccl, because collectives.dimensions exchange equal ones");
  }

  /// With the library `dimensions` none are, and AllToAlls are only where the algorithm has them.
  [[nodiscard]] bool follows_algorithm() const override { return false; }

  void build(Share& share) override {
    share_ = &share;
    const MachineConfig& config = share.config();
    engine_ = std::make_unique<schedules::GraphEngine>(share.ranks(), config_, config.collectives,
                                                       config.accelerator.array.compute, traces_);
    engine_->set_ends_step(workloads::ends_step);
    if (step_) allocate();
  }
  void record(Probe& probe, int ranks) override {
    // Of traces that weft workload has written as well; the names of others say nothing.
    engine_->set_phases(workloads::phases_of);
    engine_->record(probe, ranks);
  }
  void set_left_out(LeftOut& left_out) override {
    if (!simulates_all().empty()) return;
    engine_->set_steady(
        share_->config().steady, rows_,
        {[&left_out](std::size_t mark) { left_out.mark(mark); },
         [&left_out](std::size_t from, std::size_t to, int times) { left_out.leave_out(from, to, times); }});
  }
  [[nodiscard]] std::string simulates_all() const override;
  [[nodiscard]] double simulated_share() const override {
    const schedules::SteadyConfig& steady = share_->config().steady;
    return steady.is_on() && !steady.verify && simulates_all().empty() ? rows_.simulated : 1;
  }
  void start() override { engine_->start(); }
  [[nodiscard]] double progress() const override {
    return std::min(1.0, engine_->done_by_mean() / std::max(1.0, nodes_));
  }
  [[nodiscard]] std::vector<std::string> unfinished() const override { return engine_->unfinished(); }
  [[nodiscard]] std::vector<std::string> remarks() const override {
    std::vector<std::string> all = remarks_;
    if (engine_ != nullptr) {
      for (std::string& remark : engine_->remarks()) all.push_back(std::move(remark));
    }
    return all;
  }
  [[nodiscard]] std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const override {
    return [this](const accelerator::ComputeConfig& compute) { return digest_on(compute); };
  }
  [[nodiscard]] std::vector<IdleFields> idle() const override;
  [[nodiscard]] std::vector<std::filesystem::path> inputs() const override {
    return step_ ? step_->inputs : files_of_traces(traces_);
  }
  [[nodiscard]] std::vector<Time> step_ends() const override { return engine_->step_ends(); }
  [[nodiscard]] std::string title() const override {
    return fmt::format("{} on {}", traces_.source.filename().string(), counted(share_->size(), "accelerator"));
  }
  [[nodiscard]] ordered_json workload() const override {
    if (step_) {
      return {
          {"kind", "transformer"}, {"model", step_->config.model.name}, {"parallel", step_->config.parallel.text()}};
    }
    return {{"kind", "chakra"}, {"traces", traces_.source.string()}};
  }
  [[nodiscard]] ordered_json summary() const override {
    const GraphResult result = engine_->result();
    ordered_json finish = ordered_json::array();
    for (const Time time : result.finished) finish.push_back(static_cast<double>(time.count()) * 1e-3);
    const auto [first, last] = std::minmax_element(result.finished.begin(), result.finished.end());
    ordered_json json = {{"first_finish_ns", static_cast<double>(first->count()) * 1e-3},
                         {"last_finish_ns", static_cast<double>(last->count()) * 1e-3},
                         {"finish_ns", finish},
                         {"nodes", result.nodes},
                         {"collectives", result.collectives},
                         {"messages", result.messages},
                         {"breakdown_us", {{"compute", to_us(busy())}, {"not_computing", to_us(*last - busy())}}},
                         {"collectives_of_rank_0", collective_table(result.of_first)},
                         {"wrong", nullptr}};
    json["compressed"] = compressed_json(engine_->compressed(), share_->size());
    json["remarks"] = engine_->remarks_of_groups();
    json["steady"] = steady_json(result.left_out, share_->config().steady);
    if (share_->machine().has_remote_memory()) json["memory_transfers"] = result.transfers;
    if (step_) {
      if (step_->config.load.kind != workloads::LoadKind::kBalanced) {
        json["busiest_expert_rank"] = step_->config.busiest_rank();
      }
      if (step_->config.is_deepep()) json["nodes_of_token"] = step_->config.nodes_of_token();
      const Speed speed = speed_of(*last);
      json["step_time_us"] = speed.step_s * 1e6;
      json.update(to_json(speed));
      json["optimizer_tflops_per_gpu"] = optimizer_tflops(speed);
      const workloads::RankSums& rank = largest();
      json["accelerator_memory_bytes"] = {{"parameters, gradients and optimizer", rank.state_bytes},
                                          {"gathered parameters", rank.gathered_bytes},
                                          {"activations", rank.activation_bytes}};
      json["memory_of_stages_bytes"] = memory_json(*step_);
    }
    if (result.wrong >= 0) json["wrong"] = result.wrong;
    return json;
  }
  [[nodiscard]] ordered_json finished() const override {
    const GraphResult result = engine_->result();
    return {{"nodes", result.nodes}, {"collectives", result.collectives}, {"messages", result.messages}};
  }
  [[nodiscard]] std::string text() const override {
    const GraphResult result = engine_->result();
    const auto [first, last] = std::minmax_element(result.finished.begin(), result.finished.end());
    const double share = last->count() > 0 ? 100.0 * static_cast<double>(busy().count()) / last->count() : 0;
    std::string text;
    const auto row = [&text](const char* name, const std::string& cell) {
      text += fmt::format("{:<22}{}\n", name, cell);
    };
    const auto number = [](auto value) { return fmt::format("{:>12}", value); };
    row("first rank done", number(short_time(*first)));
    row("last rank done", number(short_time(*last)));
    row("  computing", fmt::format("{:>12}  {:5.1f} %, the mean over ranks", short_time(busy()), share));
    row("nodes", number(result.nodes));
    row("collectives", number(result.collectives));
    row("messages", number(result.messages));
    if (share_->machine().has_remote_memory()) row("memory transfers", number(result.transfers));
    if (step_) {
      const Speed speed = speed_of(*last);
      row("step time", number(short_time(*last / step_->config.steps)));
      row("tokens/s per GPU", fmt::format("{:>12.0f}", speed.tokens_per_s));
      row("TFLOPS per GPU", fmt::format("{:>12.1f}", speed.tflops));
      if (optimizer_tflops(speed) > 0) {
        row("  of the optimizer", fmt::format("{:>12.1f}  besides", optimizer_tflops(speed)));
      }
      row("MFU", fmt::format("{:>10.1f} %", speed.mfu * 100));
      if (step_->config.load.kind != workloads::LoadKind::kBalanced) {
        row("busiest expert rank",
            fmt::format("{:>12.2f}  times the mean of its block, over all blocks", step_->config.busiest_rank()));
      }
      if (step_->config.is_deepep()) {
        row("nodes of a token", fmt::format("{:>12.2f}  the mean over tokens", step_->config.nodes_of_token()));
      }
    }
    text += compressed_text(engine_->compressed(), share_->size());
    if (result.wrong >= 0) row("wrong elements", number(result.wrong));
    const schedules::SteadyConfig& steady = share_->config().steady;
    if (steady.is_on() && simulates_all().empty()) text += steady_text(result.left_out, steady);
    for (const std::string& remark : engine_->remarks_of_groups()) text += "\n" + remark + "\n";
    return text;
  }
  [[nodiscard]] std::int64_t wrong() const override { return engine_->result().wrong; }
  [[nodiscard]] std::string needs() const override {
    return step_ ? "bytes that accelerators need, of each pipeline stage the fullest\n\n" + memory_text(*step_) + "\n"
                 : "";
  }
  [[nodiscard]] ordered_json needs_json() const override { return step_ ? memory_json(*step_) : ordered_json(); }

 private:
  [[nodiscard]] std::uint64_t digest_on(const accelerator::ComputeConfig& compute) const;
  /// The rank whose step needs the most memory.
  [[nodiscard]] const workloads::RankSums& largest() const {
    return *std::max_element(step_->ranks.begin(), step_->ranks.end(),
                             [](const auto& a, const auto& b) { return memory_of(a) < memory_of(b); });
  }
  /// A step that was made here has to fit, as FSDP's. All ranks take as much as one, since buffers lie alike on all.
  void allocate() {
    const auto bytes = static_cast<std::uint64_t>(memory_of(largest()));
    for (firmware::Rank* rank : share_->ranks()) {
      try {
        rank->memory.allocate("parameters, gradients, optimizer and activations of a step", bytes);
      } catch (const firmware::OutOfMemory& error) {
        throw firmware::OutOfMemory(
            error.what() + std::string("; workload.recompute makes activations fewer, and weft run --estimate lists "
                                       "what stages need"),
            error.path());
      }
    }
  }

  /// Of steps that take so long together.
  [[nodiscard]] Speed speed_of(Time span) const {
    const workloads::WorkloadConfig& config = step_->config;
    const double tokens = static_cast<double>(config.batch) * static_cast<double>(config.sequence) / share_->size();
    return weft::platforms::speed_of(span / config.steps, tokens,
                                     models::convention_flops_per_token(config.model, config.sequence, false),
                                     share_->config());
  }
  /// Of operations that TFLOPS do not count.
  [[nodiscard]] double optimizer_tflops(const Speed& speed) const {
    double operations = 0;
    for (const workloads::RankSums& rank : step_->ranks) operations += static_cast<double>(rank.optimizer_operations);
    const double seconds = speed.step_s * step_->config.steps * static_cast<double>(step_->ranks.size());
    return seconds > 0 ? operations / seconds * 1e-12 : 0;
  }
  /// Of a core array, the mean over ranks.
  [[nodiscard]] Time busy() const {
    Time sum;
    for (int r = 0; r < share_->size(); ++r) sum += share_->accelerator(r).counters().busy;
    return (sum + engine_->result().busy) / share_->size();
  }

  std::optional<TransformerStep> step_;  ///< none for traces of others
  schedules::GraphConfig config_;
  dimensions::Workload traces_;
  std::vector<std::string> remarks_;
  schedules::GraphRows rows_;
  double nodes_ = 0;  ///< of a rank, the mean, more or less
  Share* share_ = nullptr;
  std::unique_ptr<schedules::GraphEngine> engine_;
};

std::string GraphJob::simulates_all() const {
  const MachineConfig& config = share_->config();
  if (config.data) return "with --data all bytes move";
  if (config.has_changing_faults()) return "faults are not the same throughout";
  if (!rows_.rows.empty()) return engine_->simulates_all(rows_);
  return step_ ? "no steps, microbatches or blocks in a row are alike, or they are too few"
               : "no steps in a row are alike, or they are too few";
}

std::uint64_t GraphJob::digest_on(const accelerator::ComputeConfig& compute) const {
  KernelDigest digest;
  if (step_) digest.add(step_->kernels_on(compute));
  if (!engine_->estimates()) return digest.value();
  // Any operations, on the whole array and on a part of it: they take their time from the same fields.
  for (const double operations : {1e3, 1e6, 1e9, 1e12}) {
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1} << 30}) {
      digest.add(accelerator::tensor_work(compute, operations, Bytes(bytes)));
      digest.add(accelerator::tensor_work(partition(compute, std::max<std::int64_t>(1, compute.sms / 2)), operations,
                                          Bytes(bytes)));
    }
  }
  return digest.value();
}

std::vector<IdleFields> GraphJob::idle() const {
  std::vector<IdleFields> idle;
  const auto add = [&idle](bool is_idle, const char* field, const std::string& why) {
    if (is_idle) idle.push_back({std::string("workload.") + field, {}, why, false, {}});
  };
  add(engine_->result().transfers == 0, "memories", "nothing was loaded or stored in this run");
  // What says the same is no setting without effect.
  if (config_.library == schedules::Library::kDimensions &&
      share_->config().collectives.algorithm != name_of(config_.library)) {
    idle.push_back({"collectives.algorithm", {}, "workload.library is dimensions", false, {}});
  }
  if (!step_) return idle;
  const workloads::WorkloadConfig& config = step_->config;
  using workloads::Axis;
  const workloads::Parallelism& parallel = config.parallel;
  for (const char* field : {"sequence_parallel", "weight_gradients", "async_tensor_parallel"}) {
    add(parallel.degree(Axis::kTensor) == 1, field, "tp of workload.parallel is 1");
  }
  add(parallel.degree(Axis::kPipeline) == 1, "schedule", "pp of workload.parallel is 1");
  add(parallel.degree(Axis::kShard) == 1 && !config.distributed_optimizer, "prefetch",
      "fsdp of workload.parallel is 1 and workload.distributed_optimizer is false");
  const bool is_even = config.load.kind == workloads::LoadKind::kBalanced;
  for (const char* field : {"expert_skew", "expert_seed"}) add(is_even, field, "workload.expert_load is balanced");
  add(config.dispatcher == workloads::Dispatcher::kDeepEp && config.node_limit >= config.expert_nodes(), "node_limit",
      "the ranks of ep are on " + counted(config.expert_nodes(), "node"));
  for (const Section& section : config.optimizer.own) {
    add(section.name != config.optimizer.name.text(), section.key.c_str(),
        "workload.optimizer is " + config.optimizer.name.text());
  }
  add(config.fusion == models::Fusion::kFused, "code", "workload.fusion is fused");
  return idle;
}

}  // namespace

JobKind transformer_job() {
  JobKind kind =
      job_kind("transformer", "A step of a transformer in any parallelism, made into graphs and run as kind chakra.",
               TransformerConfig(), [](Platform& platform, const TransformerConfig& config) {
                 GraphJob::check_exchanges(config.step, config.graph, platform.machine().collectives);
                 return platform.checked(
                     [&] { return std::make_unique<GraphJob>(generate_step(platform, config.step), config.graph); });
               });
  kind.takes_model = [](const models::AnyModel& model) {
    const auto* transformer = std::get_if<models::Transformer>(&model);
    return transformer != nullptr && is_decoder(*transformer);
  };
  return kind;
}

JobKind chakra_job() {
  return job_kind(
      "chakra", "Execution graphs in Chakra's format.", schedules::GraphConfig(),
      [](Platform& platform, const schedules::GraphConfig& config) {
        return std::make_unique<GraphJob>(platform, config);
      },
      trace_members());
}

}  // namespace weft::platforms
