// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/element.h"
#include "platforms/config/field_visitor.h"
#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/random_network.h"

namespace weft::test {

/// A collective on a machine: everything that `weft collective` takes, and what a schedule can do beside it.
struct RandomCollective {
  nlohmann::ordered_json platform;
  platforms::CollectiveOp op{};
  ElementType type{};
  std::vector<std::uint64_t> sizes;      ///< of the whole buffer, one after the other
  std::vector<std::vector<int>> groups;  ///< of ranks, which have a communicator each and run at once
  bool divided = false;                  ///< the groups are not simply everybody
  int root = 0;                          ///< member of each group
  int late = -1;                         ///< this rank begins some microseconds after all others; none if below 0
};

/// A command that repeats it, as far as one can: no size of nothing, all ranks, from the first, begun at once.
inline std::string describe(const RandomCollective& drawn) {
  const auto list = [](const auto& values, const char* unit) {
    std::string text;
    for (const auto value : values) text += (text.empty() ? "" : ",") + std::to_string(value) + unit;
    return text;
  };
  std::string text = "weft collective PLATFORM --data --no-warmup --op " + std::string(name_of(drawn.op)) + " --type " +
                     std::string(name_of(drawn.type)) + " --bytes " + list(drawn.sizes, "B");
  if (drawn.divided) {
    text += ", among ranks";
    for (const std::vector<int>& group : drawn.groups) text += " [" + list(group, "") + "]";
  }
  if (drawn.root != 0) text += ", from member " + std::to_string(drawn.root);
  if (drawn.late >= 0) text += ", rank " + std::to_string(drawn.late) + " late";
  return text + "; PLATFORM:\n" + drawn.platform.dump();
}

namespace detail {

using Json = nlohmann::ordered_json;

/// A field, and values that are small, large or odd for it.
struct Setting {
  std::string path;
  std::vector<Json> values;
};

/// Numbers whose smallest values bring out waits that larger ones hide.
inline const std::vector<Setting>& numeric_settings() {
  static const std::vector<Setting> settings = {
      {"collectives.channels", {1, 2, 3, 16}},
      {"collectives.chunk", {"256B", "4KiB", "16KiB", "1MiB"}},
      {"collectives.slots", {2, 3}},
      {"collectives.queue_pairs", {2, 5}},
      {"collectives.piece", {"256B", "4KiB"}},
      {"collectives.pieces", {1, 3}},
      {"collectives.entry", {"1us"}},
      {"collectives.broadcast.radix", {2, 3, 8}},
      {"collectives.broadcast.segment", {"0B", "1KiB", "16KiB"}},
      {"collectives.broadcast.depth", {1, 3}},
      {"collectives.nccl.nvls_channels", {1, 3}},
      {"collectives.in_network.low_latency_limit", {"0B", "64KiB"}},
      {"collectives.in_network.low_latency_window", {1, 2}},
      {"collectives.in_network.window", {1, 16}},
      {"collectives.in_network.chunk", {"256B", "4KiB"}},
      {"collectives.in_network.staging.channels", {1, 3}},
      {"collectives.in_network.staging.chunk", {"256B", "4KiB"}},
      {"collectives.in_network.staging.slots", {1, 2}},
      {"collectives.in_network.staging.copy_engines", {1, 3}},
      {"collectives.multicast.chunk", {"1KiB", "8KiB"}},
      {"collectives.multicast.subgroups", {1, 3, 16}},
      {"collectives.multicast.chains", {0, 1, 3}},
      {"collectives.multicast.pace", {0.5}},
      {"collectives.multicast.trees", {0, 2}},
      {"collectives.multicast.queue_depth", {16, 64}},
      {"collectives.multicast.batch", {1, 2}},
      {"collectives.multicast.cutoff", {1}},
      {"collectives.multicast.activation", {"0ps"}},
      {"collectives.dimensions.radix", {2, 3}},
      {"collectives.dimensions.splits", {1, 3, 16}},
      {"collectives.dimensions.active_chunks", {1, 8}},
      {"nic.message_cost", {"0ps", "1us"}},
      {"nic.packet_cost", {"0ps", "100ns"}},
      {"nic.dma_rate", {"20Gbps"}},
      {"nic.read_latency", {"0ps", "5us"}},
      {"nic.write_latency", {"0ps", "5us"}},
      {"nic.read_ahead", {"1KiB", "1MiB"}},
      {"nic.turn", {"0B", "4KiB", "1MiB"}},
      {"nic.rnr_timer", {"1us"}},
      {"nic.reorder", {"4KiB", "1MiB"}},
      {"nic.reorder_wait", {"0ps", "2us"}},
      {"nic.group_rate", {"20Gbps"}},
      {"nic.pcie.generation", {3, 5}},
      {"nic.pcie.tags", {1, 8}},
      {"nic.pcie.posted_credits", {1}},
      {"nic.context_cache.entries", {1, 4}},
      {"nic.work_queue.fetch", {1, 3}},
      {"nic.send_queue_depth", {1, 2, 5}},
      {"nic.receive_queue_depth", {1, 2, 5}},
      {"scale_up.port.message_cost", {"0ps", "1us"}},
      {"scale_up.port.read_ahead", {"1KiB", "1MiB"}},
      {"scale_up.port.turn", {"0B", "4KiB"}},
      {"scale_up.port.send_queue_depth", {1, 2, 5}},
      {"scale_up.port.receive_queue_depth", {1, 2, 5}},
      {"scale_up.port.reorder", {"4KiB", "1MiB"}},
      {"scale_up.fabric.segment", {"4KiB", "64KiB"}},
      {"scale_up.fabric.link.buffer", {"16KiB", "80KiB"}},
      {"scale_up.fabric.switch.reduction.chunks", {8, 64}},
      {"fabric.link.rate", {"10Gbps", "3200Gbps"}},
      {"fabric.link.propagation", {"0ps", "2us"}},
      {"fabric.link.lanes", {1, 2, 8}},
      {"fabric.link.buffer", {"5KiB", "16KiB", "80KiB"}},
      {"fabric.link.shared", {"4KiB", "64KiB"}},
      {"fabric.link.pause_response", {"300ns"}},
      {"fabric.switch.latency", {"0ps", "1us"}},
      {"fabric.switch.parse.interval", {"20ns"}},
      {"fabric.switch.arbitration.latency", {"20ns"}},
      {"fabric.switch.crossbar.latency", {"30ns"}},
      {"fabric.switch.speedup", {1, 1.5}},
      {"fabric.switch.flow_queues", {4}},
      {"fabric.switch.weights", {Json::array({1, 3})}},
      {"fabric.switch.buffer.shared", {"64KiB"}},
      {"fabric.switch.buffer.alpha", {1}},
      {"fabric.switch.marking", {{{"min", "8KiB"}, {"max", "64KiB"}, {"probability", 0.5}}}},
      {"fabric.switch.reduction.chunks", {8, 64}},
      {"fabric.switch.reduction.operand_buffer", {"8KiB"}},
      {"fabric.switch.reduction.sum_buffer", {"8KiB"}},
      {"fabric.mtu", {"256B", "1KiB"}},
      {"fabric.segment", {"4KiB", "8KiB", "64KiB"}},
      {"fabric.header", {"0B", "200B"}},
      {"firmware.cores", {1, 2}},
      {"firmware.threads", {4}},
      {"firmware.wake_cycles", {0}},
      {"dpa.cores", {1, 16}},
      {"dpa.threads", {16}},
      {"accelerator.streams", {3}},
      {"accelerator.copy_engines", {1, 2}},
      {"accelerator.copy_overhead", {"0ps"}},
      {"accelerator.hbm.rate", {"100Gbps"}},
      {"stall", {"300ns", "3us"}}};
  return settings;
}

/// Every field with a choice, as the configuration reference lists it, but those that are drawn by themselves.
inline const std::vector<Setting>& choices() {
  static const std::vector<Setting> settings = [] {
    const std::vector<std::string> sections = {"nic.", "fabric.", "scale_up.", "collectives.", "firmware.", "dpa."};
    std::vector<Setting> all;
    for (const platforms::FieldDoc& field : platforms::describe(platforms::MachineConfig())) {
      if (std::none_of(sections.begin(), sections.end(), [&](const auto& of) { return field.path.starts_with(of); }))
        continue;
      if (field.path == "collectives.algorithm" || field.path.ends_with("fabric.topology")) continue;
      // Of elements of lists.
      if (field.path.find(".N.") != std::string::npos) continue;
      // Sums that lose something are not those that are expected.
      if (field.path.starts_with("collectives.compression.")) {
        if (field.path == "collectives.compression.method") all.push_back({field.path, {"lossless"}});
        continue;
      }
      const std::string list = "list of ";
      const bool listed = field.type.starts_with(list);
      if (listed && field.type.find("oneRing") != std::string::npos) continue;
      const std::string type = listed ? field.type.substr(list.size()) : field.type;
      Setting setting{field.path, {}};
      if (type == "true or false") setting.values = {true, false};
      for (std::size_t at = type.starts_with("one of ") ? 7 : type.size(); at < type.size();) {
        const std::size_t end = std::min(type.find(", ", at), type.size());
        const std::string name = type.substr(at, end - at);
        setting.values.push_back(listed ? Json::array({name}) : Json(name));
        at = end + 2;
      }
      if (!setting.values.empty()) all.push_back(setting);
    }
    return all;
  }();
  return settings;
}

class CollectiveDraw {
 public:
  explicit CollectiveDraw(std::uint64_t seed) : draw_(seed, "collectives") {}

  RandomCollective operator()() {
    RandomCollective& d = drawn_;
    d.platform = {{"name", "drawn"}};
    const int ranks = draw_.of<int>({1, 2, 3, 5, 7, 13, 16, 2, 3, 5, 7, 13, 16, 4, 6, 12});
    const int per_node = draw_.chance(0.5) ? 1 : draw_.of(divisors(ranks));
    set("accelerators", ranks);
    set("per_node", per_node);
    set("seed", draw_(1, 1000));
    draw_parts(per_node);
    const std::string algorithm(any<collectives::AlgorithmName>());
    set("collectives.algorithm", algorithm);
    d.op = draw_op(algorithm);
    d.type = enum_names(ElementType{})[choose(enum_names(ElementType{}).size())].second;
    draw_shape("fabric", ranks);
    if (per_node > 1 && draw_.chance(0.3)) draw_shape("scale_up.fabric", per_node);
    draw_reductions(algorithm, per_node > 1);
    draw_settings(algorithm);
    if (draw_.chance(0.25)) draw_fault(algorithm, ranks);
    draw_sizes();
    draw_groups(ranks);
    return d;
  }

 private:
  template <typename T>
  std::size_t choose(T count) {
    return static_cast<std::size_t>(draw_(0, static_cast<int>(count) - 1));
  }
  template <typename E>
  std::string_view any() {
    const auto names = enum_names(E{});
    return names[choose(names.size())].first;
  }

  static std::vector<int> divisors(int number) {
    std::vector<int> all;
    for (int i = 1; i <= number; ++i) {
      if (number % i == 0) all.push_back(i);
    }
    return all;
  }
  /// Into at most three numbers of at least 2.
  std::vector<int> factors(int number) {
    std::vector<int> all;
    while (number > 1) {
      std::vector<int> possible = divisors(number);
      possible.erase(possible.begin());
      const int factor = all.size() == 2 ? number : draw_.of(possible);
      all.push_back(factor);
      number /= factor;
    }
    return all;
  }

  void set(std::string path, const Json& value) {
    std::replace(path.begin(), path.end(), '.', '/');
    drawn_.platform[Json::json_pointer("/" + path)] = value;
  }

  void draw_parts(int per_node) {
    const auto part = [&](const std::string& where, const std::vector<std::string>& names) {
      const std::string name = draw_.of(names);
      if (!name.empty()) set(where + ".part", name);
    };
    part("accelerator", {"", "", "", "h100-sxm", "a100-80g", "v100-sxm2"});
    part("nic", {"", "", "connectx-7", "connectx-6", "bluefield-3"});
    if (per_node > 1) part("scale_up", {"", "", "nvswitch-h100", "nvswitch-a100"});
  }

  /// Those that an algorithm has alone would nearly always be refused with another.
  platforms::CollectiveOp draw_op(const std::string& algorithm) {
    using platforms::CollectiveOp;
    const auto ops = enum_names(CollectiveOp{});
    if (algorithm == "dimensions" || draw_.chance(0.05)) return ops[choose(ops.size())].second;
    return draw_.of<CollectiveOp>({CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce,
                                   CollectiveOp::kAllReduce, CollectiveOp::kBroadcast, CollectiveOp::kBarrier,
                                   CollectiveOp::kAllgatherReduceScatter});
  }

  void draw_shape(const std::string& network, int ends) {
    const std::string shape(any<fabric::Shape>());
    set(network + ".topology", shape);
    if (draw_.chance(0.7)) set(network + ".link.lanes", draw_(2, 4));
    if (shape == "fat-tree") {
      set(network + ".radix", 32);
      set(network + ".hosts_per_leaf", draw_(1, 5));
      set(network + ".uplinks", draw_(0, 3));
      if (draw_.chance(0.4)) {
        set(network + ".levels", 3);
        set(network + ".leaves_per_pod", draw_(1, 3));
      }
      if (draw_.chance(0.2)) set(network + ".rails", draw_.of(divisors(ends)));
    } else if (shape == "torus" || shape == "mesh") {
      set(network + ".sizes", factors(ends));
    } else if (shape == "hyperx") {
      std::vector<int> possible = divisors(ends);
      if (possible.size() > 1) possible.pop_back();  // a router by itself is no network
      const int hosts = draw_.of(possible);
      set(network + ".hosts_per_router", hosts);
      set(network + ".sizes", factors(ends / hosts));
    } else if (shape == "dragonfly") {
      set(network + ".routers_per_group", draw_(1, 4));
      set(network + ".hosts_per_router", draw_(1, 3));
      set(network + ".global_links", draw_(2, 6));
    } else if (shape == "dimensions") {
      Json blocks = Json::array();
      for (const int size : factors(ends)) {
        blocks.push_back(draw_.of<std::string>({"Ring", "Mesh", "FullyConnected", "Switch"}) + "(" +
                         std::to_string(size) + ")");
      }
      set(network + ".dimensions", blocks);
    } else if (shape == "graph") {
      draw_graph(network, ends);
    }
  }

  /// A tree of switches with ends on each, and some links more.
  void draw_graph(const std::string& network, int ends) {
    Json edges = Json::array();
    const int switches = draw_(1, std::min(ends, 5));
    const auto name = [](const char* kind, int number) { return kind + std::to_string(number); };
    for (int e = 0; e < ends; ++e) {
      edges.push_back(name("end", e) + " - " + name("s", e < switches ? e : draw_(0, switches - 1)));
    }
    for (int s = 1; s < switches; ++s) edges.push_back(name("s", s) + " - " + name("s", draw_(0, s - 1)));
    for (int more = switches > 2 ? draw_(0, 3) : 0; more > 0; --more) {
      const int a = draw_(0, switches - 1);
      edges.push_back(name("s", a) + " - " + name("s", (a + draw_(1, switches - 1)) % switches));
    }
    set(network + ".edges", edges);
    set(network + ".routing", draw_.of<std::string>({"up-down", "up-down", "auto"}));
  }

  void draw_reductions(const std::string& algorithm, bool has_nodes) {
    if (algorithm != "in-network" && !draw_.chance(0.4)) return;
    set("fabric.switch.reduction.trees", draw_.of<int>({0, 4, 64, 64}));
    if (has_nodes) set("scale_up.fabric.switch.reduction.trees", draw_.of<int>({0, 4, 64, 64}));
  }

  /// Those of the algorithm, and some of the others.
  void draw_settings(std::string algorithm) {
    std::replace(algorithm.begin(), algorithm.end(), '-', '_');
    std::vector<const Setting*> own;
    std::vector<const Setting*> others;
    for (const std::vector<Setting>* list : {&numeric_settings(), &choices()}) {
      for (const Setting& setting : *list) {
        const bool is_own =
            setting.path.starts_with("collectives." + algorithm + ".") ||
            (drawn_.op == platforms::CollectiveOp::kBroadcast && setting.path.starts_with("collectives.broadcast."));
        (is_own ? own : others).push_back(&setting);
      }
    }
    const auto take = [&](const std::vector<const Setting*>& from) {
      const Setting& setting = *from[choose(from.size())];
      set(setting.path, setting.values[choose(setting.values.size())]);
    };
    for (int count = own.empty() ? 0 : draw_(0, 4); count > 0; --count) take(own);
    for (int count = draw_(0, 4); count > 0; --count) take(others);
    if (algorithm == "dimensions" && draw_.chance(0.7)) draw_dimensions();
  }

  /// Algorithms by dimension. One that joins all dimensions is for all operations.
  void draw_dimensions() {
    std::vector<std::string> joining;
    std::vector<std::string> others;
    for (const auto& [name, algorithm] : enum_names(dimensions::Algorithm{})) {
      (dimensions::joins_dimensions(algorithm) ? joining : others).emplace_back(name);
    }
    const bool joins = draw_.chance(0.15);
    for (const auto& [operation, value] : enum_names(dimensions::Operation{})) {
      Json list = Json::array();
      for (int i = joins ? 1 : draw_(1, 3); i > 0; --i) list.push_back(draw_.of(joins ? joining : others));
      if (joins || operation == name_of(drawn_.op) || draw_.chance(0.2)) {
        set("collectives.dimensions." + std::string(operation), list);
      }
    }
  }

  /// What a network repairs, or a transport, or neither.
  void draw_fault(const std::string& algorithm, int ranks) {
    Json fault;
    bool reroutes = false;
    fault["link"] = draw_.chance(0.5) ? "*" : "end" + std::to_string(draw_(0, ranks - 1));
    switch (draw_(0, 3)) {
      case 0:
        fault["loss"] = draw_.of<double>({0.001, 0.01});
        break;
      case 1:
        fault["bit_errors"] = 1e-7;
        break;
      case 2:
        fault["rate"] = draw_.of<double>({0.1, 0.75});
        break;
      default: {
        const int from = draw_(0, 30);
        fault["down"] = true;
        fault["from"] = std::to_string(from) + "us";
        fault["until"] = std::to_string(from + draw_(1, 200)) + "us";
        // Operands on their way when a reduction's tree changes are lost for good.
        reroutes = algorithm != "in-network" && algorithm != "nccl" && algorithm != "multicast" && draw_.chance(0.5);
        if (reroutes) set("fabric.reroute_after", "2us");
      }
    }
    set("fabric.faults", Json::array({fault}));
    set(draw_.chance(0.4) && !reroutes ? "fabric.link.replay" : "nic.recovery", true);
    if (draw_.chance(0.3)) set("nic.reorder", "1MiB");
  }

  /// Of nothing, of an element, of no power of two, and around chunks and segments.
  void draw_sizes() {
    const std::uint64_t unit = size_of(drawn_.type);
    for (int count = draw_(1, 2); count > 0; --count) {
      std::uint64_t bytes = 0;
      switch (draw_(0, 7)) {
        case 0:
          bytes = static_cast<std::uint64_t>(draw_(0, 1)) * unit;
          break;
        case 1:
        case 2:
          bytes = static_cast<std::uint64_t>(draw_(2, 200)) * unit;
          break;
        case 3:
          bytes = (4 << 10) + static_cast<std::uint64_t>(draw_(-1, 1)) * unit;
          break;
        case 4:
        case 5:
          bytes = (64 << 10) + static_cast<std::uint64_t>(draw_(-1, 1)) * unit;
          break;
        case 6:
          bytes = static_cast<std::uint64_t>(draw_(1'000, 70'000)) * unit;
          break;
        default:
          bytes = draw_.chance(0.3) ? 1 << 20 : 100'000 * unit;
      }
      drawn_.sizes.push_back(bytes);
    }
  }

  void draw_groups(int ranks) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    drawn_.groups = {all};
    drawn_.divided = draw_.chance(0.3);
    if (drawn_.divided) {
      // Two parts, all twice, or some alone; in their order or in another.
      const int how = draw_(0, 3);
      if (how == 0) {
        drawn_.groups.push_back(all);
      } else {
        std::vector<int> parts[2];
        for (const int rank : all) parts[how == 1 ? rank % 2 : draw_(0, 1)].push_back(rank);
        drawn_.groups.clear();
        for (const std::vector<int>& part : parts) {
          if (!part.empty()) drawn_.groups.push_back(part);
        }
        if (how == 3) drawn_.groups.resize(1);
      }
      if (draw_.chance(0.3)) {
        for (std::vector<int>& group : drawn_.groups) {
          for (std::size_t i = group.size(); i > 1; --i) std::swap(group[i - 1], group[choose(i)]);
        }
      }
    }
    std::size_t fewest = all.size();
    for (const std::vector<int>& group : drawn_.groups) fewest = std::min(fewest, group.size());
    if (draw_.chance(0.2)) drawn_.root = static_cast<int>(choose(fewest));
    if (draw_.chance(0.2)) drawn_.late = draw_(0, ranks - 1);
  }

  Draw draw_;
  RandomCollective drawn_;
};

}  // namespace detail

/// A collective of any algorithm, on a network of any topology, with some fields at other values than their defaults;
/// the same seed gives the same one. Some are such that a machine refuses them.
inline RandomCollective random_collective(std::uint64_t seed) {
  return detail::CollectiveDraw(seed)();
}

}  // namespace weft::test
