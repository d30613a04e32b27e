// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/fields.h"
#include "sw/analytical/network.h"
#include "sw/analytical/replay.h"
#include "sw/dimensions/plan.h"

namespace weft::analytical {

/// A dimension of the network and what collectives do in it, as a platform has it.
struct DimensionConfig {
  Block block = Block::kRing;
  int size = 2;
  double bandwidth_GiBps = 50;
  double latency_ns = 500;
  Algorithm all_reduce = Algorithm::kRing;
  Algorithm all_gather = Algorithm::kRing;
  Algorithm reduce_scatter = Algorithm::kRing;
  Algorithm all_to_all = Algorithm::kRing;
  int window = 0;
  int all_reduce_window = kAsWindow;
  int all_gather_window = kAsWindow;
  int reduce_scatter_window = kAsWindow;
  int all_to_all_window = kAsWindow;
  static constexpr int kAsWindow = -1;

  Algorithm& algorithm(Operation operation) {
    switch (operation) {
      case Operation::kAllReduce:
        return all_reduce;
      case Operation::kAllgather:
        return all_gather;
      case Operation::kReduceScatter:
        return reduce_scatter;
      case Operation::kAllToAll:
        break;
    }
    return all_to_all;
  }
  int& window_of(Operation operation) {
    switch (operation) {
      case Operation::kAllReduce:
        return all_reduce_window;
      case Operation::kAllgather:
        return all_gather_window;
      case Operation::kReduceScatter:
        return reduce_scatter_window;
      case Operation::kAllToAll:
        break;
    }
    return all_to_all_window;
  }

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("block", block, "What joins the ends that differ only in this dimension");
    visit("size", size, "Number of these ends", Range{2, 1 << 24});
    visit("bandwidth_GiBps", bandwidth_GiBps, "Rate of a link in one direction, in 2^30 bytes a second",
          Range{0, 1'000'000'000, true});
    visit("latency_ns", latency_ns, "Latency of a link; a way through a switch has two links",
          Range{0, 1'000'000'000'000});
    visit("all_reduce", all_reduce, "Algorithm of AllReduces in this dimension; none: they leave the dimension out");
    visit("all_gather", all_gather, "The same for Allgathers");
    visit("reduce_scatter", reduce_scatter, "The same for ReduceScatters");
    visit("all_to_all", all_to_all, "The same for AllToAlls");
    visit("window", window, "direct: messages that a member sends before it has received one; 0: all",
          Range{0, 1 << 24});
    visit("all_reduce_window", all_reduce_window, "The same only for AllReduces; -1: as window", Range{-1, 1 << 24});
    visit("all_gather_window", all_gather_window, "The same only for Allgathers", Range{-1, 1 << 24});
    visit("reduce_scatter_window", reduce_scatter_window, "The same only for ReduceScatters", Range{-1, 1 << 24});
    visit("all_to_all_window", all_to_all_window, "The same only for AllToAlls", Range{-1, 1 << 24});
  }
};

/// A platform whose "network" is "analytical": ASTRA-sim's arithmetic in place of Weft's machine.
struct AnalyticalConfig {
  Congestion congestion = Congestion::kUnaware;
  bool rendezvous = false;
  Bytes segment = Bytes(256 << 10);
  std::vector<DimensionConfig> dimensions;
  CollectiveConfig collectives;
  EndConfig end;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("congestion", congestion,
          "Whether messages share links: unaware and aware (in one dimension only) as ASTRA-sim; cut-through, in any");
    visit("rendezvous", rendezvous, "The receiver requests each message with one of 8 KiB");
    visit("segment", segment, "Cut-through: bytes of one message that a link carries before another has its turn",
          Range{1, 1LL << 40});
    visit("dimensions", dimensions, "Dimensions of the network, the innermost first", DimensionConfig{});
    visit("collectives", collectives, "How collectives are cut and scheduled");
    visit("end", end, "Compute and memory of each end");
  }

  [[nodiscard]] std::vector<Dimension> network() const {
    std::vector<Dimension> result;
    for (const DimensionConfig& each : dimensions) {
      result.push_back(
          {each.block, static_cast<std::uint32_t>(each.size), each.bandwidth_GiBps * (1 << 30) / 1e9, each.latency_ns});
    }
    return result;
  }
  /// With the dimensions' algorithms.
  [[nodiscard]] CollectiveConfig whole_collectives() const {
    CollectiveConfig whole = collectives;
    whole.windows.resize(whole.algorithms.size());
    for (const auto& [name, operation] : enum_names(Operation{})) {
      std::vector<Algorithm>& algorithms = whole.algorithms[static_cast<std::size_t>(operation)];
      algorithms.clear();
      std::vector<std::uint32_t>& windows = whole.windows[static_cast<std::size_t>(operation)];
      windows.clear();
      for (DimensionConfig each : dimensions) {
        algorithms.push_back(each.algorithm(operation));
        const int window = each.window_of(operation);
        windows.push_back(static_cast<std::uint32_t>(window == DimensionConfig::kAsWindow ? each.window : window));
      }
    }
    whole.memory_bytes_per_ns = end.memory_GBps;
    return whole;
  }
};

}  // namespace weft::analytical
