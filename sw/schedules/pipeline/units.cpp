// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/pipeline/units.h"

#include <algorithm>

#include "sw/models/activations.h"
#include "sw/schedules/kernel_work.h"

namespace weft::schedules {
namespace {

using models::Layer;
using models::Network;
using models::Transformer;
using models::UnitKind;

constexpr std::int64_t kFloat = 4;
constexpr std::int64_t kAdamStates = 4;      // weight, gradient, two moments
constexpr std::int64_t kMomentumStates = 3;  // weight, gradient, momentum

PipelineUnit unit_of(const Transformer& model, UnitKind kind, const models::StepShape& shape, const std::string& name) {
  PipelineUnit unit;
  unit.name = name;
  for (const models::Kernel& kernel : forward_kernels(model, kind, shape)) unit.forward.emplace_back(kernel);
  for (const models::Kernel& kernel : backward_kernels(model, kind, shape)) unit.backward.emplace_back(kernel);
  unit.crossing = shape.tokens() * model.d_model;
  unit.kept = kept_activations(model, kind, shape);
  unit.parameters = unit_parameters(model, kind);
  // Weight, gradient and moments are read; all but the gradient are written.
  unit.update.emplace_back(models::Kernel{
      "adamw", models::Elementwise{kAdamStates * kFloat * unit.parameters, 3 * kFloat * unit.parameters, 1}});
  return unit;
}

PipelineModel model_of(const Transformer& model, const PipelineConfig& config) {
  models::StepShape shape;
  shape.sequences = config.samples();
  shape.sequence = config.sequence;
  shape.element_bytes = static_cast<int>(config.element_bytes());
  shape.attention = models::AttentionKernel::kFlash2;
  PipelineModel all{model.name, {}, kAdamStates * kFloat, {}};
  all.units.push_back(unit_of(model, UnitKind::kEmbedding, shape, "embedding"));
  for (std::int64_t b = 0; b < model.layers; ++b) {
    models::StepShape of_block = shape;
    of_block.window = model.window_of(b);
    all.units.push_back(unit_of(model, block_kind(model, b), of_block, "block " + std::to_string(b)));
  }
  all.units.push_back(unit_of(model, UnitKind::kHead, shape, "head"));
  return all;
}

/// "layer1.0" of "layer1.0.conv1.norm"; empty: it is in no block.
std::string block_of(const Layer& layer) {
  const std::size_t first = layer.name.find('.');
  if (first == std::string::npos) return "";
  const std::size_t second = layer.name.find('.', first + 1);
  return second == std::string::npos ? "" : layer.name.substr(0, second);
}

std::int64_t inputs_of(const Layer& layer) {
  return layer.channels_in * layer.height * layer.width;
}

std::int64_t outputs_of(const Layer& layer) {
  return layer.channels_out * layer.positions();
}

void expect_chain(const Layer& layer) {
  for (const models::Move& move : layer.before) {
    if (move.kind != models::MoveKind::kConcat && move.kind != models::MoveKind::kBranches) continue;
    throw ConfigError("workload.model", layer.name +
                                            ": expected a chain of layers or of residual blocks, got a "
                                            "network with branches that are put together");
  }
}

/// Adds the kernels of a layer, and what it keeps for its backward pass, to its unit. Backward passes go through the
/// layers from the last.
void add_layer(PipelineUnit& unit, const Layer& layer, const PipelineConfig& config, bool is_first) {
  kfac::Types types;
  if (config.type == PipelineType::kBf16) types.network = accelerator::DataType::kBf16;
  for (const kfac::LayerKernel& kernel : kfac::forward_kernels(layer, config.samples(), types)) {
    unit.forward.emplace_back(kernel);
  }
  StageKernels backward;
  for (const kfac::LayerKernel& kernel : kfac::backward_kernels(layer, config.samples(), is_first, types)) {
    backward.emplace_back(kernel);
  }
  unit.backward.insert(unit.backward.begin(), backward.begin(), backward.end());
  for (const kfac::LayerKernel& kernel : kfac::update_kernels(layer)) unit.update.emplace_back(kernel);
  unit.parameters += models::parameters(layer);
  unit.kept += config.samples() * inputs_of(layer) * config.element_bytes();
  ++unit.layers;
}

PipelineModel model_of(const Network& network, const PipelineConfig& config) {
  PipelineModel all{network.name, {}, kMomentumStates * kFloat, network};
  std::string block;
  std::int64_t skips = 0;  // elements of a sample that go round the layers up to the block's sum
  bool has_sum = false;    // the block has one
  bool summed = true;      // which has been formed
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    expect_chain(layer);
    const std::string mine = block_of(layer);
    const bool enters = l == 0 || mine.empty() || mine != block;
    if (enters) {
      block = mine;
      skips = inputs_of(layer);
      has_sum = false;
      for (std::size_t next = l; next < network.layers.size() && !mine.empty(); ++next) {
        if (block_of(network.layers[next]) != mine) break;
        has_sum = has_sum || network.layers[next].residual;
      }
      summed = !has_sum;
    }
    const bool of_skip = !enters && has_sum && summed;
    const bool goes_on = !enters && (layer.kind == models::LayerKind::kNorm || of_skip);
    const bool follows_alone = enters && layer.kind == models::LayerKind::kNorm && l > 0;
    if (all.units.empty() || (!goes_on && !follows_alone)) {
      all.units.emplace_back();
      all.units.back().name = layer.name;
      all.units.back().first_layer = l;
    }
    PipelineUnit& unit = all.units.back();
    add_layer(unit, layer, config, l == 0);
    if (layer.residual) summed = true;
    if (!of_skip) unit.crossing = config.samples() * (outputs_of(layer) + (summed ? 0 : skips));
  }
  return all;
}

}  // namespace

accelerator::KernelWork stage_work(const accelerator::ComputeConfig& compute, const StageKernel& kernel) {
  struct ToWork {
    const accelerator::ComputeConfig& on;
    accelerator::KernelWork operator()(const models::Kernel& each) const { return schedules::kernel_work(on, each); }
    accelerator::KernelWork operator()(const kfac::LayerKernel& each) const { return kfac::kernel_work(on, each); }
    accelerator::KernelWork operator()(const compression::Kernel& each) const {
      return compression::kernel_work(on, each);
    }
  };
  return std::visit(ToWork{compute}, kernel);
}

const char* label_of(const StageKernel& kernel) {
  return std::visit([](const auto& each) { return each.name.data(); }, kernel);
}

PipelineModel pipeline_model(const models::AnyModel& model, const PipelineConfig& config) {
  if (config.batch % config.microbatches != 0) {
    throw ConfigError("workload.microbatches", "expected a divisor of workload.batch, which is " +
                                                   std::to_string(config.batch) + ", got " +
                                                   std::to_string(config.microbatches));
  }
  PipelineModel all = std::visit([&config](const auto& one) { return model_of(one, config); }, model);
  if (all.units.empty()) throw ConfigError("workload.model", "expected a model with at least one layer");
  return all;
}

}  // namespace weft::schedules
