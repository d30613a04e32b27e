// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/astra_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace weft::platforms::astra {

using dimensions::Operation;
using nlohmann::ordered_json;

namespace {

constexpr double kLeastRate = kLeastLinkRate / 8;  // bytes a second, of links and memories of a machine
constexpr double kMostRate = kMostLinkRate / 8;
constexpr double kMostDmaRate = 1e18 / 8;  // of what moves data within an accelerator

std::string rate_text(double bytes_per_second) {
  return std::to_string(std::llround(bytes_per_second * 8)) + "bps";
}

/// Of what a file gives in units of so many bytes a second. Throws ConfigError for what no machine has.
double rate_of(const char* key, double given, double unit, double least = kLeastRate) {
  const double rate = given * unit;
  if (rate >= least && rate <= kMostRate) return rate;
  throw ConfigError(key, fmt::format("expected {:.6g} to {:.6g} GB/s, as links and memories of machines have, or "
                                     "--analytical, got {:.6g}",
                                     least / unit, kMostRate / unit, given));
}

/// What reductions and kernels get of memory; a copy engine has a third of it.
double cores_of(const analytical::EndConfig& end) {
  return rate_of("local-mem-bw", end.memory_GBps, 1e9, 3 * kLeastRate);
}

std::string time_text(double nanoseconds) {
  return std::to_string(std::llround(nanoseconds * 1000)) + "ps";
}

ordered_json fabric_of(const std::vector<analytical::DimensionConfig>& dimensions) {
  ordered_json list = ordered_json::array();
  for (const analytical::DimensionConfig& dimension : dimensions) {
    const std::string block = std::string(name_of(dimension.block)) + "(" + std::to_string(dimension.size) + ")";
    list.push_back({{"block", block},
                    {"link",
                     {{"rate", rate_text(rate_of("bandwidth", dimension.bandwidth_GiBps, 1 << 30))},
                      {"propagation", time_text(dimension.latency_ns)}}}});
  }
  // An end is at its router: no way leads there.
  return {{"topology", "dimensions"},
          {"dimensions", list},
          {"link", {{"propagation", "0ns"}}},
          {"switch", {{"latency", "0ns"}}}};
}

/// All links of an end together, one way.
double links_of(const analytical::AnalyticalConfig& config) {
  double links = 0;
  for (const analytical::DimensionConfig& dimension : config.dimensions) {
    const int count = dimension.block == analytical::Block::kFullyConnected ? dimension.size - 1
                      : dimension.block == analytical::Block::kRing         ? 2
                                                                            : 1;
    links += dimension.bandwidth_GiBps * (1 << 30) * count;
  }
  return links;
}

/// The ends' own ports, as those of a scale-up network: they move data within the accelerator, as fast as all links of
/// an end together.
ordered_json port_of(const analytical::AnalyticalConfig& config) {
  const auto endpoint_delay = static_cast<double>(config.collectives.endpoint_delay.count());
  return {{"message_cost", time_text(endpoint_delay * 1e-3)},
          {"packet_cost", "0ns"},
          {"dma_rate", rate_text(std::min(2 * links_of(config), kMostDmaRate))},
          {"read_latency", "50ns"},
          {"write_latency", "50ns"}};
}

/// ASTRA-sim's "local-mem-bw" is what kernels move, and what a reduction's three passes take; its messages pass no
/// memory. So it is the rate of the accelerator's cores here, kernels and copy engines, of which one alone reaches it
/// with two reads and a write for each byte of a sum; HBM carries what ports read and write beside that.
ordered_json memory_of(const analytical::AnalyticalConfig& config, std::vector<std::string>& remarks) {
  const double cores = cores_of(config.end);
  const double wanted = cores + 2 * links_of(config);
  if (wanted > kMostRate) {
    remarks.push_back(
        fmt::format("the memory of an accelerator has {:.6g} GB/s, the most that there is, where "
                    "local-mem-bw and all links of an end in both directions are {:.6g} GB/s",
                    kMostRate / 1e9, wanted / 1e9));
  }
  return {{"rate", rate_text(std::min(wanted, kMostRate))}, {"efficiency", 1.0}, {"core_rate", rate_text(cores)}};
}

/// In the machine all operations join the dimensions or none does, and none is left out: rings stand in.
void fill_in(System& system) {
  const auto operations = enum_names(Operation{});
  std::vector<analytical::DimensionConfig>& dimensions = system.config.dimensions;
  const bool joins = std::any_of(operations.begin(), operations.end(), [&](const auto& each) {
    return joins_dimensions(dimensions.front().algorithm(each.second));
  });
  for (const auto& [name, operation] : operations) {
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      dimensions::Algorithm& algorithm = dimensions[i].algorithm(operation);
      if (algorithm != dimensions::Algorithm::kNone) continue;
      algorithm = joins && i == 0 ? dimensions::Algorithm::kOneRing : dimensions::Algorithm::kRing;
    }
  }
  for (const auto& [name, operation] : operations) {
    if (joins_dimensions(dimensions.front().algorithm(operation)) == joins) continue;
    throw ConfigError(
        key_of(operation),
        "expected oneRing, oneDirect or oneHalvingDoubling, as another operation has, or --analytical: in "
        "the machine all operations join the dimensions or none does");
  }
}

ordered_json collectives_of(const analytical::AnalyticalConfig& config) {
  const dimensions::CollectiveConfig& given = config.collectives;
  ordered_json dimensions = {{"optimization", name_of(given.optimization)},
                             {"scheduling", name_of(given.scheduling)},
                             {"inter_dimension", name_of(given.inter_dimension)},
                             {"intra_dimension", name_of(given.intra_dimension)},
                             {"splits", given.splits},
                             {"active_chunks", given.active_chunks}};
  for (const auto& [name, operation] : enum_names(Operation{})) {
    ordered_json algorithms = ordered_json::array();
    for (analytical::DimensionConfig dimension : config.dimensions) {
      algorithms.push_back(name_of(dimension.algorithm(operation)));
      if (joins_dimensions(dimension.algorithm(operation))) break;
    }
    dimensions[std::string(name)] = algorithms;
  }
  return {{"algorithm", "dimensions"}, {"dimensions", dimensions}};
}

ordered_json remote_memory_of(const analytical::EndConfig& end, std::int64_t ends) {
  using analytical::RemoteMemory;
  ordered_json memory = {{"kind", "per-accelerator"},
                         {"rate", rate_text(rate_of("remote-mem-bw", end.remote_GBps, 1e9))},
                         {"latency", time_text(end.remote_latency_ns)}};
  if (end.remote_memory == RemoteMemory::kPool) memory["kind"] = "pool";
  if (end.remote_memory != RemoteMemory::kPerNode) return memory;
  // A node of the machine is one accelerator, since all of them talk over the same links.
  if (ends % end.ends_per_node != 0) {
    throw ConfigError("num-npus-per-node", "expected a divisor of the " + std::to_string(ends) + " ends, got " +
                                               std::to_string(end.ends_per_node));
  }
  memory["kind"] = "per-node";
  memory["sharers"] = end.ends_per_node;
  return memory;
}

}  // namespace

ordered_json machine_of(System& system, bool rendezvous) {
  fill_in(system);
  const analytical::AnalyticalConfig& config = system.config;
  const analytical::EndConfig& end = config.end;
  if (end.replay_only) {
    throw ConfigError("replay-only", "expected 0, or --analytical: the machine executes what it communicates");
  }
  if (end.bus.modelled) {
    throw ConfigError("model-shared-bus", "expected 0, or --analytical: the machine has memory and DMA of its own");
  }
  for (analytical::DimensionConfig dimension : config.dimensions) {
    for (const auto& [name, operation] : enum_names(Operation{})) {
      if (dimension.window <= 0 && dimension.window_of(operation) <= 0) continue;
      throw ConfigError(
          key_of(operation),
          "expected direct without a window, or --analytical: the machine's NIC limits what is sent at a time");
    }
  }
  if (config.collectives.queues > 1) {
    throw ConfigError("--num-queues-per-dim", "expected 1, or --analytical: the machine's queues are its threads'");
  }
  if (rendezvous) system.remarks.emplace_back("--rendezvous-protocol has no effect: the machine always has one");
  std::int64_t ends = 1;
  for (const analytical::DimensionConfig& dimension : config.dimensions) ends *= dimension.size;
  ordered_json compute = {{"launch", "0ns"}, {"sustained", 1.0}};
  if (end.peak_tflops > 0) compute["tensor_16bit"] = std::to_string(std::llround(end.peak_tflops * 1000)) + "GFLOPS";
  ordered_json machine = {
      {"accelerators", ends},
      {"per_node", 1},
      {"accelerator",
       {{"compute", compute}, {"copy_rate", rate_text(cores_of(end) / 3)}, {"hbm", memory_of(config, system.remarks)}}},
      {"nic", port_of(config)},
      {"fabric", fabric_of(config.dimensions)},
      {"collectives", collectives_of(config)}};
  if (end.remote_memory != analytical::RemoteMemory::kNone) machine["remote_memory"] = remote_memory_of(end, ends);
  return machine;
}

void rewire(ordered_json& machine, const System& system, const WiredNetwork& network) {
  std::vector<int> sizes;
  for (const analytical::DimensionConfig& dimension : system.config.dimensions) sizes.push_back(dimension.size);
  const std::uint32_t ends = machine["accelerators"].get<std::uint32_t>();
  std::map<std::string, double> rates;  // of what joins an end to the network
  for (const Wire& wire : network.wires) {
    for (const std::string& name : {wire.from, wire.to}) rates[name] += wire.bits_per_second * wire.links;
  }
  double fastest = 0;
  for (std::uint32_t e = 0; e < ends; ++e) fastest = std::max(fastest, rates["end" + std::to_string(e)]);
  machine["nic"]["dma_rate"] = rate_text(std::min(2 * fastest / 8, kMostDmaRate));
  machine["fabric"] = fabric_of(network, ends);
  // Somebody has to repeat what arrives damaged, as ns-3's own transport does.
  if (machine["fabric"].contains("faults")) machine["nic"]["recovery"] = true;
  machine["collectives"]["dimensions"]["sizes"] = sizes;
}

std::string compute_of(const System& system) {
  return system.config.end.roofline ? "operations" : "duration";
}

}  // namespace weft::platforms::astra
