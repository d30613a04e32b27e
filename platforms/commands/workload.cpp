// SPDX-License-Identifier: Apache-2.0
// weft workload: training steps of transformers as Chakra execution traces.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "platforms/cli/output.h"
#include "platforms/cli/result_files.h"
#include "platforms/commands/command.h"
#include "platforms/commands/trace/trace.h"
#include "platforms/config/catalogue.h"
#include "platforms/config/choices.h"
#include "platforms/config/text.h"
#include "platforms/jobs/graph/transformer_workload.h"
#include "platforms/jobs/own_model.h"
#include "platforms/machine/find_accelerator.h"
#include "platforms/results/format.h"
#include "sw/models/named_model.h"
#include "sw/optimizers/optimizer.h"
#include "sw/workloads/options.h"
#include "sw/workloads/workload.h"
#include "traces/chakra/ranks.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using workloads::PipelineSchedule;
using workloads::Purpose;
using workloads::RankSums;
using workloads::StepOptions;
using workloads::TransformerWorkload;
using workloads::WorkloadConfig;
using workloads::WorkloadError;

struct WorkloadOptions {
  std::string model;
  std::string parallel = "tp=1";
  std::string schedule = "1f1b";
  std::int64_t virtual_stages = 1;
  std::string stage_layers;
  std::optional<std::int64_t> microbatches;
  bool overlap_experts = false;
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> sequence;
  std::optional<std::int64_t> layers;
  std::string type = "bf16";
  std::string reduce_type;
  bool sequence_parallel = false;
  std::string recompute = "none";
  std::string fusion = "fused";
  std::string code = "llama";
  std::string attention;
  std::string linear = "plain";
  std::string casts = "torchao";
  bool float8_weights = false;
  std::string weight_gradients = "beside";
  bool async_tensor_parallel = false;
  bool copies = false;
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::string expert_load = "balanced";
  double expert_skew = 1;
  std::int64_t expert_seed = 1;
  std::string dispatcher = "alltoall";
  bool float8_dispatch = false;
  std::int64_t node_limit = 0;
  std::int64_t per_node = 0;
  std::int64_t mtp = 0;
  std::string optimizer = optimizers::MethodName().text();
  bool distributed_optimizer = false;
  std::optional<int> prefetch;
  int steps = 1;
  std::string accelerator;
  std::string out;
  std::string name;
  bool json = false;
};

models::Transformer read_model(const std::string& name) {
  Catalogue catalogue;
  catalogue.search_first(".");
  const std::string found = find_model(catalogue, name);
  print_warnings(remarks_of_model(name, found));
  if (found == name && !models::model_file(name) && !is_listed_model(name)) {
    throw UsageError("MODEL: " + not_one_of(model_names(catalogue, "transformer"), name));
  }
  try {
    return models::named_decoder(found);
  } catch (const std::invalid_argument& error) {
    throw UsageError("MODEL: " + std::string(error.what()));
  }
}

/// What kernels take and ask for on a part.
void time_on_part(const std::string& accelerator, WorkloadConfig& config) {
  if (accelerator.empty()) return;
  const std::optional<AcceleratorPart> part = find_accelerator(accelerator);
  if (!part) {
    throw UsageError("--accelerator: expected a part of kind accelerator, one of " +
                     join(Catalogue().names(std::string(AcceleratorPart::kPartKind)), ", ") + ", got " +
                     in_quotes(accelerator));
  }
  if (const std::string wrong = refused_linear(part->compute(), config.linear); !wrong.empty()) {
    throw UsageError("--linear: " + wrong);
  }
  time_on(part->compute(), part->hbm.sustained(), config);
}

/// The attention of a stack whose other kernels are cut like that, where nobody says.
std::string attention_of(const WorkloadOptions& options) {
  if (!options.attention.empty()) return options.attention;
  return options.fusion == "fused" ? "flash-3" : "flash-2";
}

WorkloadConfig read_config(const WorkloadOptions& options) {
  StepOptions step;
  step.parallel = options.parallel;
  step.schedule = value_of<PipelineSchedule>(options.schedule);
  step.virtual_stages = options.virtual_stages;
  step.stage_layers = options.stage_layers;
  step.microbatches = options.microbatches.value_or(0);
  step.batch = options.batch.value_or(0);
  step.sequence = options.sequence.value_or(0);
  step.layers = options.layers.value_or(0);
  step.parameter_type = value_of<ElementType>(options.type);
  step.reduce_type = value_of<ElementType>(options.reduce_type.empty() ? options.type : options.reduce_type);
  step.sequence_parallel = options.sequence_parallel;
  step.recompute = value_of<models::Recompute>(options.recompute);
  step.fusion = value_of<models::Fusion>(options.fusion);
  step.code = value_of<models::Code>(options.code);
  step.attention = value_of<models::AttentionKernel>(attention_of(options));
  step.linear = value_of<models::LinearType>(options.linear);
  step.casts = value_of<models::Casts>(options.casts);
  step.float8_weights = options.float8_weights;
  step.weight_gradients = value_of<workloads::WeightGradients>(options.weight_gradients);
  step.async_tensor_parallel = options.async_tensor_parallel;
  step.copies = options.copies;
  step.experts = options.experts;
  step.top_k = options.top_k;
  step.expert_load = value_of<workloads::LoadKind>(options.expert_load);
  step.expert_skew = options.expert_skew;
  step.expert_seed = options.expert_seed;
  step.dispatcher = value_of<workloads::Dispatcher>(options.dispatcher);
  step.float8_dispatch = options.float8_dispatch;
  step.node_limit = options.node_limit;
  step.overlap_experts = options.overlap_experts;
  step.mtp = options.mtp;
  step.optimizer.name = optimizers::MethodName(options.optimizer);
  step.distributed_optimizer = options.distributed_optimizer;
  step.prefetch = options.prefetch.value_or(step.prefetch);
  step.steps = options.steps;
  WorkloadConfig config = step.config(read_model(options.model));
  config.per_node = options.per_node;
  if (options.prefetch && config.parallel.degree(workloads::Axis::kShard) == 1 && !config.distributed_optimizer) {
    throw UsageError("--prefetch: expected fsdp above 1 in --parallel, or --distributed-optimizer");
  }
  time_on_part(options.accelerator, config);
  return config;
}

/// For people: as JSON has them, with blanks.
std::string title(Purpose purpose) {
  std::string text(name_of(purpose));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string bubble_text(const workloads::Pipeline& pipeline) {
  const double bubble = pipeline.bubble();
  if (pipeline.is_dual())
    return fmt::format("({} - 2) / (3 x {}) = {:.4f}", pipeline.stages, pipeline.microbatches, bubble);
  if (pipeline.splits_backward()) {
    return fmt::format("({} - 1) / (3 x {}) = {:.4f}", pipeline.stages, pipeline.microbatches, bubble);
  }
  if (pipeline.chunks == 1)
    return fmt::format("({} - 1) / {} = {:.4f}", pipeline.stages, pipeline.microbatches, bubble);
  return fmt::format("({} - 1) / ({} x {}) = {:.4f}", pipeline.stages, pipeline.chunks, pipeline.microbatches, bubble);
}

double total(const std::vector<RankSums>& ranks, const std::function<std::int64_t(const RankSums&)>& of) {
  double sum = 0;
  for (const RankSums& rank : ranks) sum += static_cast<double>(of(rank));
  return sum;
}

/// Of a rank, and the sum of all.
void print_table(const TransformerWorkload& workload, const std::vector<RankSums>& ranks) {
  const WorkloadConfig& config = workload.config();
  using Value = std::function<std::int64_t(const RankSums&)>;
  using Text = std::function<std::string(double)>;
  std::vector<std::vector<std::string>> lines = {{"", "least of a rank", "most of a rank", "all ranks"}};
  const auto line = [&](const std::string& what, const Value& of, const Text& text) {
    const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(),
                                                   [&](const RankSums& a, const RankSums& b) { return of(a) < of(b); });
    if (of(*most) == 0) return;
    lines.push_back({"  " + what, text(static_cast<double>(of(*least))), text(static_cast<double>(of(*most))),
                     text(total(ranks, of))});
  };
  const Text count = [](double value) { return fmt::format("{:.0f}", value); };
  line(
      "nodes", [](const RankSums& rank) { return rank.nodes; }, count);
  line(
      "floating-point operations", [](const RankSums& rank) { return rank.operations; },
      [](double value) { return fmt::format("{:.4g}", value); });
  for (std::size_t i = 0; i < workloads::kPurposes; ++i) {
    const auto purpose = static_cast<Purpose>(i);
    line(
        "bytes: " + title(purpose), [&](const RankSums& rank) { return rank.of(purpose).bytes; }, short_bytes);
  }
  line(
      "parameters", [](const RankSums& rank) { return rank.parameters; }, count);
  line(
      "parameters, gradients, optimizer", [](const RankSums& rank) { return rank.state_bytes; }, short_bytes);
  line(
      "activations, at most", [](const RankSums& rank) { return rank.activation_bytes; }, short_bytes);
  line(
      "gathered parameters, at most", [](const RankSums& rank) { return rank.gathered_bytes; }, short_bytes);
  print(fmt::format("{}, {}: {} {}, {} layers, batch {} of {} tokens, {} {} of {}\n\n", config.model.name,
                    config.parallel.text(), workload.ranks(), workload.ranks() == 1 ? "rank" : "ranks",
                    config.model.layers, config.batch, config.sequence, config.microbatches,
                    config.microbatches == 1 ? "microbatch" : "microbatches", config.sequences_of_microbatch()));
  print(in_columns(lines));
  if (config.load.kind != workloads::LoadKind::kBalanced) {
    print(fmt::format("\nthe busiest rank of experts: {:.2f} times the mean of its block, over all blocks\n",
                      config.busiest_rank()));
  }
  if (config.pipeline().stages > 1) print("\npipeline bubble: " + bubble_text(config.pipeline()) + "\n");
}

ordered_json to_json(const WorkloadOptions& options, const TransformerWorkload& workload,
                     const std::vector<RankSums>& ranks, const fs::path& prefix) {
  const WorkloadConfig& config = workload.config();
  ordered_json degrees;
  for (std::size_t i = 0; i < workloads::kAxes; ++i) {
    const auto axis = static_cast<workloads::Axis>(i);
    degrees[std::string(name_of(axis))] = config.parallel.degree(axis);
  }
  ordered_json each = ordered_json::array();
  for (const RankSums& rank : ranks) {
    ordered_json communication;
    for (std::size_t i = 0; i < workloads::kPurposes; ++i) {
      const RankSums::Volume& volume = rank.of(static_cast<Purpose>(i));
      communication[std::string(name_of(static_cast<Purpose>(i)))] = {{"nodes", volume.nodes}, {"bytes", volume.bytes}};
    }
    each.push_back({{"nodes", rank.nodes},
                    {"operations", rank.operations},
                    {"optimizer_operations", rank.optimizer_operations},
                    {"communication", communication},
                    {"parameters", rank.parameters},
                    {"state_bytes", rank.state_bytes},
                    {"parameter_bytes", rank.parameter_bytes},
                    {"gradient_bytes", rank.gradient_bytes},
                    {"optimizer_bytes", rank.optimizer_bytes},
                    {"activation_bytes", rank.activation_bytes},
                    {"gathered_bytes", rank.gathered_bytes},
                    {"routed_tokens", rank.routed_tokens}});
  }
  const bool has_groups = !workload.groups().empty();
  ordered_json json = {{"model", config.model.name},
                       {"layers", config.model.layers},
                       {"parallel", degrees},
                       {"ranks", workload.ranks()},
                       {"schedule", options.schedule},
                       {"virtual_stages", config.virtual_stages},
                       {"stage_layers", options.stage_layers},
                       {"microbatches", config.microbatches},
                       {"batch", config.batch},
                       {"sequence", config.sequence},
                       {"type", options.type},
                       {"reduce_type", options.reduce_type.empty() ? options.type : options.reduce_type},
                       {"sequence_parallel", config.sequence_parallel},
                       {"recompute", options.recompute},
                       {"fusion", options.fusion},
                       {"code", options.code},
                       {"attention", attention_of(options)},
                       {"linear", options.linear},
                       {"casts", options.casts},
                       {"float8_weights", config.float8_weights},
                       {"weight_gradients", options.weight_gradients},
                       {"async_tensor_parallel", options.async_tensor_parallel},
                       {"copies", options.copies},
                       {"experts", config.model.experts},
                       {"top_k", config.model.top_k},
                       {"expert_load", options.expert_load},
                       {"expert_skew", config.load.skew},
                       {"expert_seed", config.load.seed},
                       {"dispatcher", options.dispatcher},
                       {"float8_dispatch", config.float8_dispatch},
                       {"node_limit", config.node_limit},
                       {"per_node", config.per_node},
                       {"overlap_experts", config.overlap_experts},
                       {"mtp", config.model.mtp},
                       {"busiest_expert_rank", config.busiest_rank()},
                       {"optimizer", config.optimizer.name.text()},
                       {"distributed_optimizer", config.distributed_optimizer},
                       {"steps", config.steps},
                       {"accelerator", nullptr},
                       {"traces", prefix.string()},
                       {"groups", nullptr},
                       {"bubble", config.pipeline().bubble()},
                       {"operations", total(ranks, [](const RankSums& rank) { return rank.operations; })},
                       {"rank", each}};
  if (!options.accelerator.empty()) json["accelerator"] = options.accelerator;
  if (has_groups) json["groups"] = chakra::groups_file(prefix).string();
  return json;
}

int run(const WorkloadOptions& options) {
  try {
    const TransformerWorkload workload(read_config(options));
    const std::string name = options.name.empty() ? workload.config().model.name : options.name;
    if (fs::path(name).filename() != name) {
      throw UsageError("--name: expected the beginning of file names, got " + in_quotes(name));
    }
    const fs::path prefix = fs::path(options.out) / name;
    const std::vector<fs::path> written =
        files_of_ranks(prefix, static_cast<std::uint64_t>(workload.ranks()), !workload.groups().empty());
    TraceResult result({}, "--out");
    const std::vector<RankSums> ranks = write_workload(workload, result.prefix(prefix, written));
    result.keep();
    if (options.json) {
      print_json(to_json(options, workload, ranks, prefix));
      return kDone;
    }
    print_table(workload, ranks);
    const std::string first = written.front().string();
    const std::string last = chakra::rank_file(prefix, static_cast<std::uint64_t>(workload.ranks() - 1)).string();
    print("\nwrote " + first + (workload.ranks() > 1 ? " to " + last : "") + "\n");
    if (!workload.groups().empty()) print("wrote " + chakra::groups_file(prefix).string() + "\n");
    return kDone;
  } catch (const WorkloadError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace

Command workload_command(const Arguments& parent) {
  auto options = std::make_shared<WorkloadOptions>();
  const Arguments app = parent.add_subcommand("workload", "Writes a training step of a transformer as Chakra traces");
  constexpr std::int64_t kMost = StepOptions::kMostSequences;
  constexpr std::int64_t kMostLayers = StepOptions::kMostLayers;
  app.add_option("MODEL", options->model,
                 "A transformer (weft models), or a file with one: my.json, or my.csv:NAME for a row of a table")
      .required()
      .type_name("MODEL");
  app.add_option("--parallel", options->parallel,
                 "Degrees, such as tp=8,pp=4: tensor tp, context cp, fully sharded fsdp, data dp, pipeline pp; expert "
                 "ep, within "
                 "cp x fsdp x dp; etp: ranks that have a part of an expert, tp if left out")
      .type_name("DEGREES")
      .shows_default();
  app.add_option("--schedule", options->schedule, "Schedule of the pipeline")
      .shows_default()
      .check(OneOf(names_of<PipelineSchedule>()));
  app.add_option("--virtual-stages", options->virtual_stages, "Chunks of layers on a stage, interleaved")
      .shows_default()
      .check(Within(std::int64_t{1}, kMostLayers));
  app.add_option("--stage-layers", options->stage_layers,
                 "Layers of each virtual stage, such as 0,1*126,0 (1*126: 126 stages with one); the first, which has "
                 "the embedding, and the last may have none. As even as can be if left out")
      .type_name("NUMBERS");
  app.add_option("--microbatches", options->microbatches,
                 "Microbatches of a step; as many as pipeline stages if left out")
      .check(Within(std::int64_t{1}, StepOptions::kMostMicrobatches));
  app.add_flag("--overlap-experts", options->overlap_experts,
               "A forward pass and a backward pass in turn are one with the other, so that the AllToAlls of one are "
               "beside the products of the other");
  app.add_option("--batch", options->batch, "Sequences of a step, over all ranks; one in each microbatch if left out")
      .check(Within(std::int64_t{1}, kMost));
  app.add_option("--sequence", options->sequence, "Tokens of a sequence; the network's own if left out")
      .check(Within(std::int64_t{1}, kMost));
  app.add_option("--layers", options->layers, "Blocks; the network's own if left out")
      .check(Within(std::int64_t{1}, kMostLayers));
  app.add_option("--type", options->type, "Type of parameters, activations and gradients")
      .shows_default()
      .check(OneOf({"bf16", "fp16", "fp32"}));
  app.add_option("--reduce-type", options->reduce_type, "Type in which gradients are summed; --type if left out")
      .check(OneOf({"bf16", "fp16", "fp32"}));
  app.add_flag("--sequence-parallel", options->sequence_parallel,
               "Norms and residual sums are cut along the sequence among the ranks of tp");
  app.add_option("--recompute", options->recompute,
                 "Activations of blocks that are computed again: every other product and what depends on it, every "
                 "second block, all, or what attention reads of latent vectors")
      .shows_default()
      .check(OneOf(names_of<models::Recompute>()));
  app.add_option(
         "--fusion", options->fusion,
         "How elementwise work is cut into kernels. fused: hand-written kernels; the others are PyTorch's: operator by "
         "operator, with norms in one kernel, or with blocks compiled, and copy keys and values for each query head")
      .shows_default()
      .check(OneOf(names_of<models::Fusion>()));
  app.add_option("--code", options->code,
                 "Origin of the operators that are not fused: Llama's reference code, as in torchtitan, or IBM's "
                 "foundation-model-stack")
      .shows_default()
      .check(OneOf(names_of<models::Code>()));
  app.add_option("--attention", options->attention,
                 "Attention kernel; if left out, flash-3 with --fusion fused, else flash-2")
      .check(OneOf(names_of<models::AttentionKernel>()));
  app.add_option("--linear", options->linear,
                 "Products of blocks' linear layers: in --type, in float8 as torchao's training converts them, or with "
                 "scales of "
                 "blocks as Transformer Engine's")
      .shows_default()
      .check(OneOf(names_of<models::LinearType>()));
  app.add_option(
         "--casts", options->casts,
         "Whose kernels cast operands with --linear float8: torchao's, or those of Transformer Engine's current "
         "scaling")
      .shows_default()
      .check(OneOf(names_of<models::Casts>()));
  app.add_flag("--float8-weights", options->float8_weights,
               "With --linear float8 or mxfp8, and with --distributed-optimizer or fsdp: weights of linear layers stay "
               "in 8 bits between steps, as Megatron's --fp8-param-gather");
  app.add_option("--weight-gradients", options->weight_gradients,
                 "When weights' gradients are computed: beside the sums of inputs' gradients among the ranks of tp, as "
                 "in Megatron, or before them, as in PyTorch")
      .shows_default()
      .check(OneOf(names_of<workloads::WeightGradients>()));
  app.add_flag("--async-tensor-parallel", options->async_tensor_parallel,
               "Products beside Allgathers and ReduceScatters of tokens are cut into chunks, and chunks are sent "
               "meanwhile, as in PyTorch's asynchronous tensor parallelism");
  app.add_flag("--copies", options->copies,
               "Kernels copy into and out of the buffers of collectives, as in PyTorch's FSDP2 and DTensor");
  app.add_option("--experts", options->experts,
                 "Experts of a block; 0: the network's own. Of a network without, they stand in place of each MLP")
      .shows_default()
      .check(Within(std::int64_t{0}, kMostLayers));
  app.add_option("--top-k", options->top_k, "Experts that a token goes to; 0: the network's own, or 1")
      .shows_default()
      .check(Within(std::int64_t{0}, kMostLayers));
  app.add_option("--expert-load", options->expert_load,
                 "How tokens are spread over a block's experts: evenly, by Zipf's law in an order that is drawn, or by "
                 "shares that are drawn")
      .shows_default()
      .check(OneOf(names_of<workloads::LoadKind>()));
  app.add_option("--expert-skew", options->expert_skew,
                 "The exponent of zipf, more of which is less even, or the parameters of dirichlet, more even")
      .shows_default();
  app.add_option("--expert-seed", options->expert_seed, "What is drawn for --expert-load")
      .shows_default()
      .check(Within(std::int64_t{0}, kMost));
  app.add_option(
         "--dispatcher", options->dispatcher,
         "How tokens come to experts of other ranks: a copy for each expert, or once to each rank and across the "
         "network once to each node")
      .shows_default()
      .check(OneOf(names_of<workloads::Dispatcher>()));
  app.add_flag("--float8-dispatch", options->float8_dispatch,
               "With --dispatcher deepep, tokens go to experts in 8 bits with a scale of 4 bytes for 128 values");
  app.add_option("--node-limit", options->node_limit,
                 "With --dispatcher deepep, nodes that a token's experts are of, at most; 0: any")
      .shows_default()
      .check(Within(std::int64_t{0}, kMostLayers));
  app.add_option("--per-node", options->per_node, "With --dispatcher deepep, ranks of a node; 0: all")
      .shows_default()
      .check(Within(std::int64_t{0}, kMost));
  app.add_option("--mtp", options->mtp, "Modules that predict the token after the next, each with one block more")
      .shows_default()
      .check(Within(std::int64_t{0}, std::int64_t{1}));
  app.add_option("--optimizer", options->optimizer, "What updates parameters at the end of a step")
      .shows_default()
      .check(OneOf(optimizers::methods().names()));
  app.add_flag(
      "--distributed-optimizer", options->distributed_optimizer,
      "Ranks with the same parameters share out gradients' sums and the optimizer (ZeRO stage 1), as Megatron's "
      "--use-distributed-optimizer");
  app.add_option("--prefetch", options->prefetch,
                 "With fsdp or a distributed optimizer: units whose Allgather is issued ahead; 1 if left out")
      .check(Within(1, StepOptions::kMostPrefetch));
  app.add_option("--steps", options->steps, "Training steps").shows_default().check(Within(1, StepOptions::kMostSteps));
  app.add_option("--accelerator", options->accelerator,
                 "A part whose kernel model gives durations; if left out there are none, which suits only a roofline")
      .type_name("PART");
  app.add_option("--out", options->out, "Folder for NAME.RANK.et and NAME.groups.json").required().type_name("FOLDER");
  app.add_option("--name", options->name, "Name of the files; the model's if left out").type_name("NAME");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
