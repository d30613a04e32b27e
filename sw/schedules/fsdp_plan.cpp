// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sw/models/activations.h"
#include "sw/models/named_model.h"
#include "sw/models/shard_kernels.h"
#include "sw/schedules/kernel_work.h"

namespace weft::schedules {
namespace {

using models::UnitKind;

optimizers::Tensors tensors_of(const models::Tensor& tensor, UnitKind kind) {
  return {tensor.name, tensor.rows, tensor.cols, 1, models::is_block(kind) && tensor.cols > 1};
}

/// What ranks share.
optimizers::Holding holding_of(const FsdpConfig& config, const models::Transformer& model, int shards, int copies) {
  optimizers::Holding holding;
  const auto add = [&](UnitKind kind) {
    for (const models::Tensor& tensor : models::unit_tensors(model, kind)) {
      const optimizers::Tensors one = tensors_of(tensor, kind);
      const auto same = std::find_if(holding.tensors.begin(), holding.tensors.end(), [&](optimizers::Tensors each) {
        each.count = 1;
        return each == one;
      });
      if (same != holding.tensors.end()) {
        ++same->count;
      } else {
        holding.tensors.push_back(one);
      }
    }
  };
  add(UnitKind::kEmbedding);
  for (std::int64_t b = 0; b < model.blocks(); ++b) add(models::block_kind(model, b));
  add(UnitKind::kHead);
  holding.sharing = shards == 1              ? optimizers::Sharing::kWhole
                    : config.flat_parameters ? optimizers::Sharing::kFlat
                                             : optimizers::Sharing::kShards;
  holding.ranks = shards > 1 ? shards : copies;
  holding.share = (models::total_parameters(model) + shards - 1) / shards;
  if (shards > 1) holding.copies = copies;
  return holding;
}

/// Whoever owns a part of what several ranks hold alike is one of so many: of those with whole tensors, or with copies
/// of a shard.
struct Places {
  explicit Places(optimizers::Holding& holding)
      : place(holding.sharing == optimizers::Sharing::kWhole ? holding.place : holding.copy),
        count(holding.sharing == optimizers::Sharing::kWhole ? holding.ranks : holding.copies) {}

  std::int64_t& place;
  std::int64_t count;
};

/// Makes the rank that of those who own parts of the same that has most to do: all are planned like this one, for whom
/// all wait.
void make_busiest(const optimizers::Optimizer& optimizer, optimizers::Problem& problem) {
  const Places of(problem.holdings.front());
  std::int64_t most = -1;
  std::int64_t found = 0;
  for (of.place = 0; of.place < of.count; ++of.place) {
    std::int64_t operations = 0;
    for (const optimizers::Task& task : optimizer.update(problem, 0)) {
      for (const optimizers::Piece& piece : task.pieces) {
        for (const models::Kernel& kernel : piece.kernels) operations += models::flops(kernel);
      }
    }
    if (operations <= most) continue;
    most = operations;
    found = of.place;
  }
  of.place = found;
}

/// What the rank that keeps most of all keeps: each has memory for as much.
optimizers::Kept fullest(const optimizers::Optimizer& optimizer, optimizers::Problem problem) {
  const Places of(problem.holdings.front());
  optimizers::Kept most = optimizer.kept(problem);
  for (of.place = 0; of.place < of.count; ++of.place) {
    optimizers::Kept kept = optimizer.kept(problem);
    if (kept.state_bytes() > most.state_bytes()) most = std::move(kept);
  }
  return most;
}

void append(std::vector<PlannedKernel>& to, const std::vector<models::Kernel>& kernels,
            const accelerator::ComputeConfig& compute) {
  for (const models::Kernel& kernel : kernels) to.push_back({kernel.name.data(), kernel_work(compute, kernel)});
}

PlannedKernel copy_kernel(const char* label, const accelerator::ComputeConfig& compute, std::uint64_t elements,
                          std::uint64_t bytes_in, std::uint64_t bytes_out) {
  return {label, kernel_work(compute, models::Kernel{label, models::Elementwise{
                                                                static_cast<std::int64_t>(elements * bytes_in),
                                                                static_cast<std::int64_t>(elements * bytes_out), 1}})};
}

void check_linear(const FsdpConfig& config, const models::Transformer& model) {
  if (config.linear == models::LinearType::kPlain) return;
  if (models::scale_block(config.linear) > 0) {
    throw ConfigError("workload.linear", "expected plain or float8; workload.kind transformer has the others");
  }
  if (!models::is_fused(UnitKind::kBlock, config.fusion)) {
    throw ConfigError("workload.linear", "workload.fusion compiled-blocks or fused with float8, as casts are fused");
  }
  if (size_of(config.parameter_type) != 2) {
    throw ConfigError("workload.linear", "a workload.parameter_type of 16 bits with float8");
  }
  if (model.encoder > 0 || model.relative > 0) {
    throw ConfigError("workload.linear", "with float8 a decoder-only model, without relative positions");
  }
}

void check_recompute(const FsdpConfig& config) {
  if (config.recompute != models::Recompute::kLatentProjections) return;
  throw ConfigError("workload.recompute",
                    "expected none, selective-op, selective-layer or full, because models of kind fsdp have no latent "
                    "attention; workload.kind transformer has latent-projections");
}

/// Counts of operations and bytes stay well within 63 bits.
void check_operations(const FsdpConfig& config, const models::Transformer& model) {
  constexpr double kMostOperations = 1e18;
  const double tokens = static_cast<double>(config.sequences) * static_cast<double>(config.sequence);
  const double operations = tokens * models::convention_flops_per_token(model, config.sequence);
  if (operations <= kMostOperations) return;
  throw ConfigError("workload.sequences", fmt::format("expected a step of at most {:.0e} operations a rank, got {:.1e}",
                                                      kMostOperations, operations));
}

}  // namespace

std::size_t PlannedUpdate::exchanges() const {
  return static_cast<std::size_t>(std::count_if(pieces.begin(), pieces.end(),
                                                [](const PlannedPiece& piece) { return piece.exchange.has_value(); }));
}

std::vector<PlannedKernel> PlannedUpdate::kernels() const {
  std::vector<PlannedKernel> all;
  for (const PlannedPiece& piece : pieces) all.insert(all.end(), piece.kernels.begin(), piece.kernels.end());
  return all;
}

void FsdpPlan::plan_updates(const FsdpConfig& config, const accelerator::ComputeConfig& compute, int shards,
                            int copies) {
  const std::shared_ptr<const optimizers::Optimizer> optimizer = optimizers::optimizer_of(config.optimizer);
  optimizers::Problem problem{
      {holding_of(config, model, shards, copies)}, config.fusion, static_cast<int>(size_of(config.parameter_type))};
  optimizer->check(problem);
  make_busiest(*optimizer, problem);
  kept = fullest(*optimizer, problem);
  streamed_bytes = optimizer->streamed_bytes();
  period = optimizer->period();
  std::vector<std::int64_t> planned;  // steps
  for (std::int64_t step = 0; step < std::min<std::int64_t>(period, config.steps); ++step) {
    const std::int64_t like = optimizer->like(step);
    const auto same = std::find(planned.begin(), planned.end(), like);
    update_of.push_back(static_cast<std::size_t>(same - planned.begin()));
    if (same != planned.end()) continue;
    planned.push_back(like);
    const std::vector<optimizers::Task> tasks = optimizer->update(problem, like);
    PlannedUpdate update;
    for (const optimizers::Task& task : tasks) update.longest_task = std::max(update.longest_task, task.pieces.size());
    for (int b = 0; b < blocks(); ++b) {
      const UnitKind kind = models::block_kind(model, b);
      std::vector<optimizers::Tensors> block;
      for (const models::Tensor& tensor : models::unit_tensors(model, kind)) block.push_back(tensors_of(tensor, kind));
      const std::vector<models::Kernel> observed =
          optimizer->observe(problem, {block, config.sequences * config.sequence}, like);
      update.observes = update.observes || !observed.empty();
      Stage& stage = stages[static_cast<std::size_t>(backward_stage(b))];
      if (stage.observed.empty()) append(stage.observed, observed, compute);
    }
    for (const optimizers::Ordered& each : optimizers::in_order(tasks)) {
      update.pieces.push_back({each.piece->name, {}, each.exchanged, each.piece->exchange});
      append(update.pieces.back().kernels, each.piece->kernels, compute);
    }
    updates.push_back(std::move(update));
  }
}

FsdpPlan::FsdpPlan(const FsdpConfig& config, const accelerator::ComputeConfig& compute, int shards, int copies) {
  try {
    model = models::named_transformer(config.model);
  } catch (const std::exception& error) {
    throw ConfigError("workload.model", error.what());
  }
  if (!models::has_plain_blocks(model)) {
    throw ConfigError("workload.model",
                      "expected a model without experts, latent attention, windows and norms of "
                      "queries, which workload.kind transformer has, got " +
                          model.name);
  }
  if (config.layers != 0) {
    model.layers = config.layers;
    if (model.encoder != 0) model.encoder = config.layers;
  }
  check_recompute(config);
  check_linear(config, model);
  check_operations(config, model);
  root_elements = static_cast<std::uint64_t>(models::unit_parameters(model, UnitKind::kEmbedding) +
                                             models::unit_parameters(model, UnitKind::kHead));
  models::StepShape shape;
  shape.sequences = config.sequences;
  shape.sequence = config.sequence;
  shape.recompute = config.recompute;
  shape.fusion = config.fusion;
  shape.code = config.code;
  shape.attention = config.attention;
  shape.repeat_kv = models::repeats_kv(config.fusion);
  shape.linear = config.linear;
  shape.float8_weights = config.linear == models::LinearType::kFloat8 && shards > 1;

  operations = models::step_flops(model, shape, true);

  const auto kept_by = [&](UnitKind kind, const models::StepShape& of) {
    return static_cast<std::uint64_t>(models::kept_activations(model, kind, of));
  };
  root_activations = kept_by(UnitKind::kEmbedding, shape) + kept_by(UnitKind::kHead, shape);
  const auto shape_of = [&](std::int64_t block) {
    models::StepShape of = shape;
    of.recompute = models::recompute_of(config.recompute, block);
    return of;
  };
  const auto elements_of = [&](std::int64_t block) {
    return static_cast<std::uint64_t>(models::unit_parameters(model, models::block_kind(model, block)));
  };
  for (std::int64_t b = 0; b < model.blocks(); ++b) {
    const UnitKind kind = models::block_kind(model, b);
    activations.push_back(kept_by(kind, shape_of(b)));
    recomputed_activations = std::max(
        recomputed_activations, static_cast<std::uint64_t>(models::recomputed_activations(model, kind, shape_of(b))));
    block_elements = std::max(block_elements, elements_of(b));
  }

  const std::uint64_t parameter_bytes = size_of(config.parameter_type);
  const auto unit_of = [&](std::int64_t block) {
    const UnitKind kind = models::block_kind(model, block);
    models::Shard unit{models::unit_parameters(model, kind), static_cast<std::int64_t>(parameter_bytes)};
    if (shape.float8_weights) {
      unit.float8 = models::linear_parameters(model, kind);
      unit.float8_tensors = static_cast<std::int64_t>(models::linear_weights(model, kind).size());
    }
    return unit;
  };
  const auto bytes_of = [](const models::Shard& unit) {
    return static_cast<std::uint64_t>((unit.elements - unit.float8) * unit.element_bytes + unit.float8);
  };
  for (std::int64_t b = 0; b < model.blocks(); ++b) {
    block_gathered_bytes = std::max(block_gathered_bytes, bytes_of(unit_of(b)));
  }
  const std::uint64_t reduce_bytes = size_of(config.reduce_type);
  const int last_block = blocks() - 1;
  const int turn = last_block + 2;  // the stage of the head, forward and backward
  const int last_stage = 2 * turn;
  const bool reshards = config.reshard_after_forward && shards > 1;
  block_buffers = reshards ? config.limit_all_gathers : last_block + 1;

  const auto shard_of = [shards](std::int64_t elements) { return (elements + shards - 1) / shards; };
  const auto gather = [&](const std::string& name, models::Shard unit, int first, int last, bool forward) {
    if (shards == 1) return;
    const std::uint64_t bytes = bytes_of(unit);
    // A block takes the buffers in turn; the root unit has one of its own.
    const int buffer = gathers.empty() ? 0 : 1 + static_cast<int>(gathers.size() - 1) % block_buffers;
    gathers.push_back({name, bytes, buffer, first, last, forward, {}});
    Stage& stage = stages[static_cast<std::size_t>(first)];
    stage.gathers_before = static_cast<int>(gathers.size());
    if (!config.copies) return;
    unit.elements = shard_of(unit.elements);
    unit.float8 = shard_of(unit.float8);
    append(gathers.back().before, models::kernels_before_gather(unit, config.flat_parameters), compute);
    if (!config.flat_parameters) {
      // Out of the collective's buffer, shard by shard, into the parameters.
      stage.kernels.insert(stage.kernels.begin(), copy_kernel("allgather copy-out", compute, bytes, 1, 1));
    }
  };
  const auto scatter = [&](const std::string& name, std::uint64_t elements, int after) {
    Stage& stage = stages[static_cast<std::size_t>(after)];
    stage.scatter = static_cast<int>(scatters.size());
    scatters.push_back({name, elements, after, {}});
    if (!config.copies) return;
    if (shards > 1) {
      const std::int64_t shard = shard_of(static_cast<std::int64_t>(elements));
      append(scatters.back().sums,
             models::kernels_after_sums(shard, static_cast<std::int64_t>(reduce_bytes), config.flat_parameters),
             compute);
    }
    if (!config.flat_parameters) {
      stage.tail.push_back(copy_kernel("reduce-scatter copy-in", compute, elements, parameter_bytes, reduce_bytes));
      return;
    }
    // The gradient of torch.split, by which each parameter is a view of the flat one, is a concatenation.
    stage.tail.push_back(copy_kernel("gradient cat", compute, elements, parameter_bytes, parameter_bytes));
    if (config.reduce_type != config.parameter_type) {
      stage.tail.push_back(copy_kernel("gradient cast", compute, elements, parameter_bytes, reduce_bytes));
    }
    stage.tail.push_back(copy_kernel("gradient division", compute, elements, reduce_bytes, reduce_bytes));
  };

  stages.resize(static_cast<std::size_t>(last_stage) + 1);
  gather("root", {static_cast<std::int64_t>(root_elements), static_cast<std::int64_t>(parameter_bytes)}, 0, last_stage,
         true);
  append(stages[0].kernels, models::forward_kernels(model, UnitKind::kEmbedding, shape), compute);
  for (int b = 0; b <= last_block; ++b) {
    const int stage = 1 + b;
    const bool stays = !reshards || b == last_block;
    append(stages[static_cast<std::size_t>(stage)].kernels,
           models::forward_kernels(model, models::block_kind(model, b), shape), compute);
    stages[static_cast<std::size_t>(stage)].forward_of = b;
    gather("block " + std::to_string(b), unit_of(b), stage, stays ? last_stage - 1 - b : stage, true);
  }
  append(stages[static_cast<std::size_t>(turn)].kernels, models::forward_kernels(model, UnitKind::kHead, shape),
         compute);
  append(stages[static_cast<std::size_t>(turn)].kernels, models::backward_kernels(model, UnitKind::kHead, shape),
         compute);
  for (int b = last_block; b >= 0; --b) {
    const int stage = last_stage - 1 - b;
    append(stages[static_cast<std::size_t>(stage)].kernels,
           models::backward_kernels(model, models::block_kind(model, b), shape_of(b)), compute);
    stages[static_cast<std::size_t>(stage)].backward_of = b;
    if (reshards && b != last_block) {
      gather("block " + std::to_string(b) + " again", unit_of(b), stage, stage, false);
    }
    scatter("block " + std::to_string(b), elements_of(b), stage);
  }
  append(stages.back().kernels, models::backward_kernels(model, UnitKind::kEmbedding, shape), compute);
  scatter("root", root_elements, last_stage);
  int done = 0;
  for (Stage& stage : stages) done = stage.gathers_before = std::max(done, stage.gathers_before);
  plan_updates(config, compute, shards, copies);
  if (!shape.float8_weights) return;
  std::int64_t cast = 0;
  for (std::int64_t b = 0; b < model.blocks(); ++b) {
    const std::vector<models::Tensor> weights = models::linear_weights(model, models::block_kind(model, b));
    for (const models::Tensor& weight : weights) cast += weight.elements();
    scales += static_cast<std::int64_t>(weights.size());
  }
  // Parameters are of 32 bits. A norm over lists of tensors, in two kernels.
  const models::Elementwise pass{4 * ((cast + shards - 1) / shards), 0, 2};
  append(scaling, {models::Kernel{"weights.largest", pass}}, compute);
}

}  // namespace weft::schedules
