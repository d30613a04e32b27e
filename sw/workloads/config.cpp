// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/config.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>
#include <system_error>

#include "hw/core/number_text.h"

namespace weft::workloads {
namespace {

/// Where it does not: "--parallel tp: expected a divisor of the 32 heads, got 3".
void must_divide(const std::string& option, std::int64_t divisor, std::int64_t count, const std::string& what) {
  if (count % divisor == 0) return;
  throw WorkloadError(
      option, "expected a divisor of the " + std::to_string(count) + " " + what + ", got " + std::to_string(divisor));
}

constexpr double kMostSkew = 100;
constexpr std::int64_t kMostStageLayers = 4096;

void must_be_multiple(const std::string& option, std::int64_t count, std::int64_t divisor, const std::string& why) {
  if (count % divisor == 0 && count > 0) return;
  throw WorkloadError(
      option, "expected a multiple of " + std::to_string(divisor) + ", " + why + ", got " + std::to_string(count));
}

void check_dual_pipe(const WorkloadConfig& config) {
  const std::int64_t stages = config.parallel.degree(Axis::kPipeline);
  if (stages % 2 != 0) {
    throw WorkloadError("--parallel pp", "expected an even number for dualpipe, got " + std::to_string(stages));
  }
  if (config.microbatches % 2 != 0 || config.microbatches < 2 * stages) {
    throw WorkloadError("--microbatches", "expected an even number of at least " + std::to_string(2 * stages) +
                                              ", two for each pipeline stage, for dualpipe, got " +
                                              std::to_string(config.microbatches));
  }
  if (config.model.tied) {
    throw WorkloadError("--schedule", "expected a model whose head has weights of its own for dualpipe");
  }
  if (config.parallel.degree(Axis::kShard) > 1) {
    throw WorkloadError("--schedule", "expected no fsdp with dualpipe, whose parameters are on two stages each");
  }
}

void check_overlap(const WorkloadConfig& config) {
  if (!config.overlap_experts) return;
  const std::string option = "--overlap-experts";
  if (config.parallel.degree(Axis::kExpert) == 1) throw WorkloadError(option, "expected ep above 1 in --parallel");
  if (config.parallel.degree(Axis::kShard) > 1) throw WorkloadError(option, "expected no fsdp");
  // A pair gives nothing on before its end, so that each stage needs two more microbatches than the next: interleaved
  // has them, as Megatron-Core demands.
  const bool has_pipeline = config.pipeline().stages > 1;
  const bool is_paired = config.schedule == PipelineSchedule::kInterleaved || config.pipeline().is_dual();
  if (is_paired || (!has_pipeline && config.schedule == PipelineSchedule::kOneForwardOneBackward)) return;
  throw WorkloadError(option, std::string("expected --schedule ") +
                                  (has_pipeline ? "interleaved or dualpipe" : "1f1b") + ", got " +
                                  std::string(weft::name_of(config.schedule)));
}

/// The first virtual stage has the embedding, and the last one the head: these may be all that they have.
void check_stage_layers(const WorkloadConfig& config) {
  const std::string option = "--stage-layers";
  const std::vector<std::int64_t>& layers = config.stage_layers;
  const std::int64_t stages = config.pipeline().virtual_stages();
  if (static_cast<std::int64_t>(layers.size()) != stages) {
    throw WorkloadError(option, "expected the layers of the " + std::to_string(stages) +
                                    " virtual stages (pp x --virtual-stages), got " + std::to_string(layers.size()) +
                                    " numbers");
  }
  const std::int64_t all = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (all != config.model.layers) {
    throw WorkloadError(option, "expected the " + std::to_string(config.model.layers) + " layers of " +
                                    config.model.name + " in all, got " + std::to_string(all));
  }
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    if (layers[i] > 0) continue;
    throw WorkloadError(option,
                        "expected a layer at least in all virtual stages but the first and the last, got none "
                        "in virtual stage " +
                            std::to_string(i));
  }
}

void check_pipeline(const WorkloadConfig& config) {
  const std::int64_t stages = config.parallel.degree(Axis::kPipeline);
  const bool interleaved = config.schedule == PipelineSchedule::kInterleaved;
  if (stages == 1 && interleaved) throw WorkloadError("--schedule", "expected pp above 1 for interleaved");
  if (interleaved && config.virtual_stages < 2) {
    throw WorkloadError("--virtual-stages", "expected 2 or more for the interleaved schedule, got " +
                                                std::to_string(config.virtual_stages));
  }
  if (!interleaved && config.virtual_stages != 1) {
    throw WorkloadError("--virtual-stages", "expected --schedule interleaved");
  }
  if (!config.stage_layers.empty()) {
    check_stage_layers(config);
  } else if (stages * config.virtual_stages > config.model.layers) {
    throw WorkloadError(interleaved ? "--parallel pp x --virtual-stages" : "--parallel pp",
                        "expected at most the " + std::to_string(config.model.layers) + " layers of " +
                            config.model.name + ", got " + std::to_string(stages * config.virtual_stages));
  }
  const bool is_dual = config.schedule == PipelineSchedule::kDualPipe;
  if (config.pipeline().splits_backward()) {
    const std::string name(weft::name_of(config.schedule));
    if (stages == 1) throw WorkloadError("--schedule", "expected pp above 1 for " + name);
    if (is_dual) check_dual_pipe(config);
  }
  if (!interleaved) return;
  must_be_multiple("--microbatches", config.microbatches, stages, "the pipeline stages, for the interleaved schedule");
}

void check_experts(const WorkloadConfig& config) {
  const Parallelism& parallel = config.parallel;
  const std::int64_t ep = parallel.degree(Axis::kExpert);
  const std::int64_t etp = parallel.expert_tensor();
  const std::int64_t experts = config.model.experts;
  if (experts == 0) {
    if (ep > 1) {
      throw WorkloadError(
          "--parallel ep",
          "expected a model with experts; --experts N puts N in place of each MLP of " + config.model.name);
    }
    if (etp != parallel.degree(Axis::kTensor)) throw WorkloadError("--parallel etp", "expected a model with experts");
    if (config.model.top_k != 0) throw WorkloadError("--top-k", "expected --experts");
    if (config.load.kind != LoadKind::kBalanced) throw WorkloadError("--expert-load", "expected experts");
    return;
  }
  must_divide("--parallel ep", ep, experts, "experts");
  must_divide("--parallel etp", etp, config.model.expert_ffn, "columns of an expert of " + config.model.name);
  const bool has_shards = parallel.degree(Axis::kShard) > 1;
  if (parallel.ranks_of_experts() % (etp * ep) != 0) {
    throw WorkloadError("--parallel ep", "expected a degree that divides, times the " + std::to_string(etp) +
                                             " ranks that have a part of an expert (etp, by default tp), the " +
                                             std::to_string(parallel.ranks_of_experts()) + " ranks of tp x cp x " +
                                             (has_shards ? "fsdp" : "dp") + ", among which experts lie, got " +
                                             std::to_string(ep));
  }
  if (config.model.top_k > experts) {
    throw WorkloadError("--top-k", "expected at most the " + std::to_string(experts) + " experts, got " +
                                       std::to_string(config.model.top_k));
  }
  if (config.load.kind != LoadKind::kBalanced && config.tokens() % parallel.degree(Axis::kTensor) != 0) {
    throw WorkloadError("--expert-load", "expected tp to divide the tokens of a microbatch");
  }
  if (!(config.load.skew > 0) || config.load.skew > kMostSkew) {
    throw WorkloadError("--expert-skew",
                        "expected a number, more than 0 and at most 100, got " + to_text(config.load.skew));
  }
}

void check_dispatcher(const WorkloadConfig& config) {
  const std::string option = "--dispatcher";
  if (config.dispatcher != Dispatcher::kDeepEp) {
    if (config.float8_dispatch) throw WorkloadError("--float8-dispatch", "expected --dispatcher deepep");
    if (config.node_limit > 0) throw WorkloadError("--node-limit", "expected --dispatcher deepep");
    return;
  }
  if (!config.model.has_experts()) throw WorkloadError(option, "expected alltoall, as the model has no experts");
  const std::int64_t etp = config.parallel.expert_tensor();
  if (etp > 1) {
    throw WorkloadError(option, "expected etp=1 in --parallel with deepep, got " + std::to_string(etp));
  }
  if (config.float8_dispatch && config.element_bytes != 2) {
    throw WorkloadError("--float8-dispatch", "expected a --type of 16 bits");
  }
  const std::int64_t ep = config.parallel.degree(Axis::kExpert);
  const std::int64_t per_node = config.per_node;
  if (per_node > 0 && ep % per_node != 0 && per_node % ep != 0) {
    throw WorkloadError(option, "expected alltoall, as the " + std::to_string(ep) +
                                    " ranks of ep do not fill nodes of " + std::to_string(per_node));
  }
  if (config.tokens() % config.parallel.degree(Axis::kTensor) != 0) {
    throw WorkloadError(option, "expected tp to divide the tokens of a microbatch");
  }
  const std::int64_t nodes = config.expert_nodes();
  if (config.node_limit * config.model.experts < config.model.top_k * nodes && config.node_limit > 0) {
    throw WorkloadError("--node-limit", "expected nodes with at least the " + std::to_string(config.model.top_k) +
                                            " experts of a token, got " + std::to_string(config.node_limit) +
                                            " nodes with " + std::to_string(config.model.experts / nodes) + " each");
  }
}

/// Counts of operations, bytes and tokens stay well within 63 bits.
void check_counts(const WorkloadConfig& config) {
  constexpr double kMostOperations = 1e18;
  constexpr double kMostParameters = 1e17;
  const models::Transformer& model = config.model;
  const double weights = 3 * static_cast<double>(model.experts) * static_cast<double>(model.expert_ffn) *
                         static_cast<double>(model.d_model);
  if (static_cast<double>(model.layers) * weights > kMostParameters) {
    throw WorkloadError("--experts", "expected at most 1e17 parameters in all experts");
  }
  const double attention = 12 * static_cast<double>(model.attentions()) * static_cast<double>(model.query_width());
  const double a_token =
      static_cast<double>(convention_flops_per_token(model, 0)) + attention * static_cast<double>(config.sequence);
  const double operations = a_token * static_cast<double>(config.batch) * static_cast<double>(config.sequence) *
                            static_cast<double>(config.steps) / static_cast<double>(config.parallel.ranks());
  if (operations > kMostOperations) {
    throw WorkloadError("--batch", "expected a workload of at most 1e18 operations a rank");
  }
}

void check_linear(const WorkloadConfig& config) {
  if (config.linear == models::LinearType::kPlain) return;
  const std::string name(weft::name_of(config.linear));
  if (!models::is_fused(models::UnitKind::kBlock, config.fusion)) {
    throw WorkloadError("--linear", "expected --fusion compiled-blocks or fused with " + name + ", as casts are fused");
  }
  if (config.element_bytes != 2) throw WorkloadError("--linear", "expected a --type of 16 bits with " + name);
  if (!config.is_float8()) return;
  const bool cuts_experts = config.parallel.degree(Axis::kTensor) > 1 || config.parallel.degree(Axis::kShard) > 1;
  if (config.model.has_experts() && cuts_experts) {
    throw WorkloadError("--linear", "expected neither tp nor fsdp above 1 in --parallel for experts with float8");
  }
  if (config.model.is_latent()) throw WorkloadError("--linear", "expected no latent attention with float8");
  if (config.recompute == models::Recompute::kSelectiveLayer) {
    throw WorkloadError("--linear", "expected --recompute none, selective-op or full with float8");
  }
}

void check_casts(const WorkloadConfig& config) {
  if (config.casts != models::Casts::kTransformerEngine) return;
  const std::string option = "--casts";
  if (!config.is_float8()) {
    throw WorkloadError(
        option, "expected --linear float8 with transformer-engine, got " + std::string(weft::name_of(config.linear)));
  }
  if (config.recompute != models::Recompute::kNone) {
    throw WorkloadError(option, "expected --recompute none with transformer-engine, got " +
                                    std::string(weft::name_of(config.recompute)));
  }
  if (config.parallel.degree(Axis::kShard) > 1 && !config.float8_weights) {
    throw WorkloadError(option, "expected --float8-weights with transformer-engine and fsdp");
  }
}

void check_launches(const WorkloadConfig& config) {
  const GraphedParts& graphed = config.graphed;
  const bool has_graph = graphed.attention || graphed.router || graphed.mlp;
  if (has_graph && config.launch == Time()) throw WorkloadError("--graphed", "expected --launch above 0");
  if (config.expert_kernels == models::ExpertKernels::kEach && !config.model.has_experts()) {
    throw WorkloadError("--expert-kernels", "expected grouped for a model without experts");
  }
}

/// As Megatron's --fp8-param-gather, which needs somebody who keeps the parameters in 32 bits.
void check_float8_weights(const WorkloadConfig& config) {
  if (!config.float8_weights) return;
  const std::string option = "--float8-weights";
  const bool is_mxfp8 = config.linear == models::LinearType::kMxfp8;
  if (!config.is_float8() && !is_mxfp8) {
    throw WorkloadError(option, "expected --linear float8 or mxfp8, got " + std::string(weft::name_of(config.linear)));
  }
  const bool has_fsdp = config.parallel.degree(Axis::kShard) > 1;
  if (!config.distributed_optimizer && !has_fsdp) {
    throw WorkloadError(option, "expected --distributed-optimizer, or fsdp above 1 in --parallel");
  }
  if (has_fsdp && is_mxfp8) throw WorkloadError(option, "expected --linear float8 with fsdp, got mxfp8");
  if (config.copies) throw WorkloadError(option, "expected no --copies, which are those of PyTorch's FSDP2");
}

void check_async_tensor_parallel(const WorkloadConfig& config) {
  if (!config.async_tensor_parallel) return;
  const std::string option = "--async-tensor-parallel";
  if (!config.sequence_parallel) throw WorkloadError(option, "expected --sequence-parallel");
  if (!models::is_fused(models::UnitKind::kBlock, config.fusion)) {
    throw WorkloadError(option, "expected --fusion compiled-blocks or fused, as the compiler cuts products");
  }
  if (config.model.has_experts()) throw WorkloadError(option, "expected no experts");
}

/// All of it, above or at 0.
std::int64_t number_of_layers(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, wrong] = std::from_chars(text.data(), end, number);
  if (wrong == std::errc() && behind == end && number >= 0 && number <= kMostStageLayers) return number;
  throw WorkloadError("--stage-layers", "expected numbers up to " + std::to_string(kMostStageLayers) +
                                            " such as 3,4*14,2, with 14 virtual stages of 4 layers, got \"" +
                                            std::string(text) + "\"");
}

}  // namespace

GraphedParts parse_graphed(std::string_view text) {
  GraphedParts result;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    bool* const which = part == "attention" ? &result.attention
                        : part == "router"  ? &result.router
                        : part == "mlp"     ? &result.mlp
                                            : nullptr;
    if (which == nullptr) {
      throw WorkloadError("--graphed", "expected some of attention, router, mlp, got \"" + std::string(part) + "\"");
    }
    *which = true;
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return result;
}

std::vector<std::int64_t> parse_stage_layers(std::string_view text) {
  std::vector<std::int64_t> result;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t times = item.find('*');
    const std::int64_t layers = number_of_layers(item.substr(0, times));
    const std::int64_t stages = times == std::string_view::npos ? 1 : number_of_layers(item.substr(times + 1));
    if (static_cast<std::int64_t>(result.size()) + stages > kMostStageLayers) {
      throw WorkloadError("--stage-layers", "expected at most " + std::to_string(kMostStageLayers) + " virtual stages");
    }
    result.insert(result.end(), static_cast<std::size_t>(stages), layers);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) static_cast<void>(number_of_layers(text));
  }
  return result;
}

std::vector<std::int64_t> WorkloadConfig::tokens_to_ranks(std::int64_t block) const {
  const std::vector<std::int64_t> experts =
      tokens_of_experts(load, model.experts, model.top_k, dispatched_tokens(), block);
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(parallel.degree(Axis::kExpert)), 0);
  for (std::size_t i = 0; i < experts.size(); ++i) ranks[i / static_cast<std::size_t>(local_experts())] += experts[i];
  return ranks;
}

double WorkloadConfig::busiest_rank() const {
  std::int64_t most = 0;
  std::int64_t all = 0;
  for (std::int64_t block = 0; block < model.blocks_with_mtp(); ++block) {
    if (!has_experts(block)) continue;
    const std::vector<std::int64_t> ranks = tokens_to_ranks(block);
    most += *std::max_element(ranks.begin(), ranks.end());
    all += std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0});
  }
  return all == 0 ? 1
                  : static_cast<double>(most) * static_cast<double>(parallel.degree(Axis::kExpert)) /
                        static_cast<double>(all);
}

std::int64_t WorkloadConfig::expert_nodes() const {
  return per_node > 0 ? std::max<std::int64_t>(1, parallel.degree(Axis::kExpert) / per_node) : 1;
}

std::int64_t WorkloadConfig::dispatched_token_bytes() const {
  if (!float8_dispatch) return model.d_model * element_bytes;
  constexpr std::int64_t kScaled = 128;
  constexpr std::int64_t kScale = 4;
  return model.d_model + (model.d_model + kScaled - 1) / kScaled * kScale;
}

std::vector<ExpertSpread> WorkloadConfig::spread() const {
  std::vector<ExpertSpread> result(static_cast<std::size_t>(model.blocks_with_mtp()));
  if (!is_deepep()) return result;
  for (std::int64_t block = 0; block < model.blocks_with_mtp(); ++block) {
    if (!has_experts(block)) continue;
    ExpertSpread& spread = result[static_cast<std::size_t>(block)];
    if (load.kind == LoadKind::kBalanced && block > model.dense_layers) {
      spread = result[static_cast<std::size_t>(model.dense_layers)];
      continue;
    }
    SpreadProblem problem;
    problem.tokens = dispatched_tokens();
    problem.experts = tokens_of_experts(load, model.experts, model.top_k, problem.tokens, block);
    problem.top_k = model.top_k;
    problem.ranks = parallel.degree(Axis::kExpert);
    problem.nodes = expert_nodes();
    problem.limit = node_limit;
    if (spread_experts(problem, spread)) continue;
    throw WorkloadError("--node-limit", "expected more nodes or a load that is more even, as the experts of block " +
                                            std::to_string(block) +
                                            " cannot get their tokens with each token's experts in " +
                                            std::to_string(node_limit) + " nodes");
  }
  return result;
}

double WorkloadConfig::nodes_of_token() const {
  double nodes = 0;
  double blocks = 0;
  for (const ExpertSpread& spread : spreads) {
    if (spread.nodes.empty()) continue;
    nodes += static_cast<double>(spread.all_of_nodes());
    ++blocks;
  }
  return blocks == 0 ? 0 : nodes / blocks / static_cast<double>(dispatched_tokens());
}

void WorkloadConfig::check() const {
  const std::int64_t tp = parallel.degree(Axis::kTensor);
  const std::int64_t cp = parallel.degree(Axis::kContext);
  must_divide("--parallel tp", tp, model.heads, "heads of " + model.name);
  must_divide("--parallel tp", tp, model.kv_heads, "key and value heads of " + model.name);
  must_divide("--parallel tp", tp, model.ffn, "columns of the MLP of " + model.name);
  if (tp > model.vocab) throw WorkloadError("--parallel tp", "expected no more ranks than the vocabulary has rows");
  if (model.positions > 0 && sequence > model.positions) {
    throw WorkloadError("--sequence", "expected at most the " + std::to_string(model.positions) + " positions of " +
                                          model.name + ", got " + std::to_string(sequence));
  }
  // Ends of the sequence are paired, so that causal attention is equal work on all ranks.
  if (cp > 1 && model.window > 0) throw WorkloadError("--parallel cp", "expected 1, as the model has windows");
  if (cp > 1) must_be_multiple("--sequence", sequence, 2 * cp, "two equal parts for each of cp ranks");
  if (sequence_parallel) {
    if (tp == 1) throw WorkloadError("--sequence-parallel", "expected tp above 1");
    must_be_multiple("--sequence", sequence, cp * tp, "cp x tp, with --sequence-parallel");
  }
  must_be_multiple("--batch", batch, replicas() * microbatches,
                   "fsdp x dp ranks with " + std::to_string(microbatches) + " microbatches each");
  if (distributed_optimizer && parallel.degree(Axis::kShard) > 1) {
    throw WorkloadError("--distributed-optimizer", "expected no fsdp, which shares out the optimizer by itself");
  }
  if (recompute == models::Recompute::kLatentProjections && model.q_lora_rank == 0) {
    throw WorkloadError("--recompute", "expected a model with latent queries and keys for latent-projections");
  }
  check_counts(*this);
  check_pipeline(*this);
  check_experts(*this);
  check_overlap(*this);
  check_dispatcher(*this);
  check_linear(*this);
  check_casts(*this);
  check_float8_weights(*this);
  check_async_tensor_parallel(*this);
  check_launches(*this);
}

}  // namespace weft::workloads
