// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"

namespace weft::schedules {

/// What is known of a graph. Defaults: ogbn-papers100M (Hu et al., Open Graph Benchmark, 2020) with edges in both
/// directions, 2 x 1,615,685,872 of them, as SALIENT stores it.
struct SampledGraph {
  std::int64_t nodes = 111'059'956;
  std::int64_t edges = 3'231'371'744;
  std::int64_t training = 1'207'179;
  double spread = 1.3;
  int features = 128;
  int classes = 172;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("nodes", nodes, "Nodes of the graph", Range{2, 1'000'000'000'000});
    visit("edges", edges, "Entries of all lists of neighbours; an edge in both directions counts twice",
          Range{1, 100'000'000'000'000});
    visit("training", training, "Nodes that an epoch trains on, at most all", Range{1, 1'000'000'000'000});
    visit("spread", spread, "Variance of the logarithm of a node's number of neighbours, which is taken as log-normal",
          Range{0, 10});
    visit("features", features, "Features of a node, in 16 bits", Range{1, 1 << 20});
    visit("classes", classes, "Classes that nodes are told apart in", Range{2, 1 << 20});
  }
};

/// Whose data structures samplers have; what they cost is in sampler_cost.
enum class Sampler : std::uint8_t { kPyg, kSalient };
inline EnumNames<Sampler> enum_names(Sampler /*tag*/) {
  return {{"pyg", Sampler::kPyg}, {"salient", Sampler::kSalient}};
}

/// Who copies rows of features to pinned memory.
enum class Slicer : std::uint8_t { kMain, kSamplers };
inline EnumNames<Slicer> enum_names(Slicer /*tag*/) {
  return {{"main", Slicer::kMain}, {"samplers", Slicer::kSamplers}};
}

/// Defaults: SALIENT (Kaler et al., MLSys 2022, arXiv 2110.08450).
struct SamplingConfig {
  SampledGraph graph;
  int batch = 1024;
  std::vector<int> fan_outs = {15, 10, 5};
  int hidden = 256;
  int batches = 0;
  Sampler sampler = Sampler::kSalient;
  int samplers = 20;
  int queue = 0;
  Slicer slicer = Slicer::kSamplers;
  int slicing_threads = 20;
  int outstanding_lines = 12;
  Rate host_memory = Rate(140'800'000'000LL * 8);
  int copies_ahead = 1;
  bool waits_for_loss = false;
  Time launch = Time(10'000'000);

  [[nodiscard]] int sampled_ahead() const { return queue == 0 ? 2 * samplers : queue; }

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("graph", graph, "The graph");
    visit("batch", batch, "Training nodes of a batch, on each accelerator", Range{1, 1 << 24});
    visit("fan_outs", fan_outs,
          "Neighbours that are drawn of a node, by hop from the training nodes on; as many layers", Range{1, 1 << 20});
    visit("hidden", hidden, "Width of the layers of GraphSAGE but for the last", Range{1, 1 << 16});
    visit("batches", batches,
          "Batches that are simulated, on each accelerator, at most those of an epoch; 0: all of them. The time of an "
          "epoch is worked out from fewer if they have a stretch at a steady rate",
          Range{0, 1'000'000});
    visit("sampler", sampler, "Data structures of the samplers: PyG's nested maps, or SALIENT's flat one");
    visit("samplers", samplers, "Sampler threads or processes of each accelerator", Range{1, 1024});
    visit("queue", queue, "Batches that samplers may be ahead of training; 0: two for each sampler", Range{0, 1 << 16});
    visit("slicer", slicer, "Who copies features to pinned memory: the main thread, or each sampler for its batch");
    visit("slicing_threads", slicing_threads, "Threads of the main process that slice, where that does it",
          Range{1, 1024});
    visit("outstanding_lines", outstanding_lines, "Cache lines of 64 bytes that a core waits for at a time",
          Range{1, 1024});
    visit("host_memory", host_memory, "Rate of a node's memory, which its threads share",
          Range{1'000'000'000, 1'000'000'000'000'000});
    visit("copies_ahead", copies_ahead,
          "Batches that are copied to the accelerator while another is trained on; 0: copies and kernels take turns",
          Range{0, 64});
    visit("waits_for_loss", waits_for_loss,
          "The main thread waits for the end of each batch, as a loop that reads the "
          "loss does");
    visit("launch", launch, "Time that the main thread spends on launching a kernel", Range{0, 1'000'000'000});
  }
};

/// What samplers ask of a core, for each node whose neighbours are drawn and each neighbour: accesses to memory that
/// wait for each other, and instructions. Counted in the published programs: sample_adj of torch_sparse (PyG's), and
/// fast_sampler of github.com/MITIBMxGraph/SALIENT. Of a node: the bounds of its row, and with PyG its entry in the map
/// that each hop makes anew. Of a neighbour: its number in the list, the entry of the page table for that (lists of a
/// large graph have more pages of 4 KiB than caches hold entries), and its entry in the map of nodes; PyG's map reaches
/// the entry by a bucket, and moves it as it grows. PyG allocates for each of two maps.
struct SamplerCost {
  std::int64_t node_accesses = 0;
  std::int64_t node_instructions = 0;
  std::int64_t edge_accesses = 0;
  std::int64_t edge_instructions = 0;
};
[[nodiscard]] constexpr SamplerCost sampler_cost(Sampler sampler) {
  return sampler == Sampler::kPyg ? SamplerCost{2, 200, 5, 500} : SamplerCost{1, 50, 3, 120};
}

}  // namespace weft::schedules
