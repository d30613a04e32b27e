// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sw/analytical/replay.h"
#include "sw/workloads/workload.h"
#include "tests/support/chakra.h"
#include "tests/support/kernel.h"

/// Generated workloads for tests: made, and executed on the analytical network.
namespace weft::test {

/// One of Weft's own.
inline const models::Transformer& model(std::string_view name) {
  static const std::vector<models::Transformer> models = models::load_transformers();
  return models::find_transformer(models, name);
}

/// Divides in many ways, not all of them powers of two.
inline models::Transformer small_transformer() {
  models::Transformer model;
  model.name = "small";
  model.layers = 12;
  model.d_model = 96;
  model.ffn = 360;
  model.heads = 12;
  model.kv_heads = 6;
  model.head_dim = 8;
  model.vocab = 101;
  model.sequence = 144;
  return model;
}

/// With one sequence a microbatch.
inline workloads::WorkloadConfig workload_config(const std::string& parallel, std::int64_t microbatches = 1) {
  workloads::WorkloadConfig config;
  config.model = small_transformer();
  config.parallel = workloads::parse_parallelism(parallel);
  config.microbatches = microbatches;
  config.sequence = config.model.sequence;
  config.batch = config.replicas() * microbatches;
  return config;
}

/// In place of each MLP.
inline void set_experts(workloads::WorkloadConfig& config, std::int64_t experts, std::int64_t top_k = 1) {
  config.model.experts = experts;
  config.model.top_k = experts > 0 ? top_k : 0;
  config.model.expert_ffn = config.model.ffn;
}

inline std::vector<chakra::Node> nodes_of(const workloads::TransformerWorkload& workload, std::int64_t rank) {
  std::vector<chakra::Node> nodes;
  workload.generate(rank, [&](const chakra::Node& node) { nodes.push_back(node); });
  return nodes;
}

/// A network on which what communication there is takes no time, and a node of n operations n nanoseconds.
struct ReplayOptions {
  analytical::Congestion congestion = analytical::Congestion::kUnaware;
  double bytes_per_ns = 1e18;
  double latency_ns = 0;
  double peak_tflops = 1e-3;
};

/// Nanoseconds until each rank has done its trace, in one ring of all.
inline std::vector<std::int64_t> replay(const workloads::TransformerWorkload& workload,
                                        const std::filesystem::path& prefix, const ReplayOptions& options = {}) {
  fresh_kernel();
  Dispatcher dispatcher("dispatcher");
  const auto ranks = static_cast<std::uint32_t>(workload.ranks());
  analytical::Network network(dispatcher, {{analytical::Block::kRing, ranks, options.bytes_per_ns, options.latency_ns}},
                              options.congestion, "network");
  analytical::CollectiveConfig collectives;
  collectives.algorithms.assign(4, {analytical::Algorithm::kRing});
  collectives.endpoint_delay = Time();
  collectives.memory_bytes_per_ns = 1e18;
  analytical::EndConfig end;
  end.roofline = true;
  end.peak_tflops = options.peak_tflops;
  end.memory_GBps = 1e18;
  dimensions::Workload traces;
  traces.prefix = prefix;
  for (const chakra::RankGroup& group : workload.groups()) {
    traces.groups[group.name].assign(group.ranks.begin(), group.ranks.end());
  }
  const analytical::Replay replay("replay", dispatcher, network, collectives, end, traces);
  dispatcher.run_to_end();
  replay.check_finished();
  std::vector<std::int64_t> finished;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) finished.push_back(replay.finished_at(rank).count() / 1000);
  return finished;
}

}  // namespace weft::test
