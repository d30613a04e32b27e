// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/graph/transformer_workload.h"

#include <algorithm>
#include <regex>
#include <string>

#include "platforms/jobs/graph/graph_workload.h"
#include "platforms/jobs/kernel_digest.h"
#include "platforms/jobs/own_model.h"
#include "sw/models/named_model.h"
#include "sw/schedules/kernel_work.h"
#include "sw/workloads/options.h"

namespace weft::platforms {
namespace {

using workloads::StepOptions;
using workloads::TransformerWorkload;
using workloads::WorkloadError;

/// The text with platforms' keys in place of options: "--top-k" is "workload.top_k".
std::string with_keys(const std::string& text) {
  static const std::regex option("--[a-z0-9-]+");
  std::string result;
  auto from = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), option), end; it != end; ++it) {
    result.append(from, text.begin() + it->position());
    std::string key = it->str().substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    result += "workload." + key;
    from = text.begin() + it->position() + it->length();
  }
  return result.append(from, text.end());
}

/// "--parallel pp: expected ..." as the platform's key and what is expected of it.
ConfigError of_platform(const WorkloadError& error) {
  const std::string text = with_keys(error.what());
  return {text.substr(0, std::min(text.find(' '), text.find(':'))), text.substr(text.find(": ") + 2)};
}

/// `name` as find_model gives it.
models::Transformer decoder_of(const std::string& name) {
  try {
    return models::named_decoder(name);
  } catch (const std::exception& error) {
    throw ConfigError("workload.model", error.what());
  }
}

/// The beginning of file names.
std::string file_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

/// What distinguishes a kernel from others for an accelerator.
std::vector<std::int64_t> key_of(const models::Kernel& kernel) {
  struct Key {
    std::vector<std::int64_t> operator()(const models::Gemm& g) const {
      return {0, g.batch, g.m, g.n, g.k, g.element_bytes, g.fast_accumulation, g.scale_block, g.more_m, g.more_k};
    }
    std::vector<std::int64_t> operator()(const models::FlashAttention& a) const {
      return {1,        a.batch,    a.heads,       a.kv_heads,      a.queries,   a.keys,  a.head_dim,
              a.causal, a.backward, a.synchronous, a.element_bytes, a.value_dim, a.window};
    }
    std::vector<std::int64_t> operator()(const models::Elementwise& e) const {
      return {2, e.bytes_read, e.bytes_written, e.launches};
    }
    std::vector<std::int64_t> operator()(const models::Inverse& i) const { return {3, i.batch, i.n, i.is_eigen}; }
  };
  return std::visit(Key(), kernel.shape);
}

TransformerStep generate(const StepOptions& options, const std::string& model, const MachineConfig& machine) {
  TransformerStep step;
  step.config = options.config(decoder_of(model));
  step.inputs = files_of_model(model);
  step.remarks = remarks_of_model(options.model, model);
  step.config.per_node = machine.per_node;
  const std::int64_t ranks = step.config.parallel.ranks();
  if (ranks != machine.accelerators) {
    throw ConfigError("workload.parallel", "expected degrees whose product is the " +
                                               std::to_string(machine.accelerators) + " accelerators, got " +
                                               std::to_string(ranks));
  }
  if (const std::string wrong = refused_linear(machine.accelerator.compute(), options.linear); !wrong.empty()) {
    throw ConfigError("workload.linear", wrong);
  }
  step.memory = machine.accelerator.hbm.usable();
  time_on(machine.accelerator.compute(), machine.accelerator.hbm.sustained(), step.config);
  step.kernels = std::make_shared<std::map<std::vector<std::int64_t>, models::Kernel>>();
  step.config.demand = [kernels = step.kernels, demand = step.config.demand](const models::Kernel& kernel) {
    kernels->try_emplace(key_of(kernel), kernel);
    return demand(kernel);
  };
  const TransformerWorkload workload(step.config);
  step.config.spreads = workload.config().spreads;
  step.traces.prefix = trace_folder() / file_name(step.config.model.name);
  step.traces.source = step.config.model.name + ", " + step.config.parallel.text();
  for (const chakra::RankGroup& group : workload.groups()) {
    step.traces.groups[group.name].assign(group.ranks.begin(), group.ranks.end());
  }
  schedules::RowFinder finder;
  step.ranks = write_workload(workload, step.traces.prefix, machine.steady.is_on() ? &finder : nullptr);
  step.rows = finder.rows();
  return step;
}

}  // namespace

std::uint64_t TransformerStep::kernels_on(const accelerator::ComputeConfig& compute) const {
  KernelDigest digest;
  for (const auto& [key, kernel] : *kernels) digest.add(schedules::kernel_work(compute, kernel));
  return digest.value();
}

void time_on(const accelerator::ComputeConfig& compute, Rate memory, workloads::WorkloadConfig& config) {
  config.time = [compute, memory](const models::Kernel& kernel) {
    return estimate(schedules::kernel_work(compute, kernel), memory).count();
  };
  config.demand = [compute](const models::Kernel& kernel) {
    return schedules::kernel_demand(schedules::kernel_work(compute, kernel));
  };
  config.fp8_any_layout = compute.fp8_any_layout;
}

std::string refused_linear(const accelerator::ComputeConfig& compute, models::LinearType linear) {
  if (linear == models::LinearType::kMxfp8 && !compute.block_scales) {
    return "expected plain or float8, because the accelerator multiplies no mxfp8 (compute.block_scales)";
  }
  if (linear == models::LinearType::kNvfp4 && !multiplies(compute, accelerator::DataType::kFp4)) {
    return "expected a type that the accelerator multiplies, which has no rate for fp4 (compute.tensor_fp4)";
  }
  return "";
}

TransformerStep generate_step(Platform& platform, const StepOptions& options) {
  try {
    return generate(options, find_model(platform, "model", options.model), platform.machine());
  } catch (const WorkloadError& error) {
    throw of_platform(error);
  }
}

}  // namespace weft::platforms
