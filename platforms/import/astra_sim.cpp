// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/astra_sim.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "platforms/config/document.h"
#include "platforms/config/text.h"
#include "platforms/import/astra_sim_1.h"
#include "platforms/import/astra_yaml.h"
#include "platforms/import/wired_network.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/text_file.h"

namespace weft::platforms::astra {
namespace {

using analytical::DimensionConfig;
using dimensions::Algorithm;
using dimensions::Operation;
namespace fs = std::filesystem;

constexpr Range kPositive{1, 1 << 20};

Document load(const fs::path& file) {
  return Document::from_text(load_json_object(file.string(), "a file of ASTRA-sim").dump(), file.string());
}

/// The keys of system.json that have an effect, but its flags, which may be 0 and 1.
struct SystemFile {
  dimensions::Scheduling scheduling = dimensions::Scheduling::kFifo;
  dimensions::Optimization optimization = dimensions::Optimization::kBaseline;
  std::array<std::vector<std::string>, 4> algorithms;
  std::array<std::vector<std::string>, 4> custom;
  dimensions::InterDimension inter_dimension = dimensions::InterDimension::kBaseline;
  dimensions::IntraDimension intra_dimension = dimensions::IntraDimension::kFifo;
  double endpoint_delay_ns = 10;
  int window = 0;
  int active_chunks = 1;
  int splits = 0;
  double memory_GBps = 0;
  double peak_tflops = 0;
  double bus_latency_ns = 0;
  double bus_overhead_ns = 0;
  double bus_gap_ns = 0;
  double bus_ns_per_byte = 0;
  double reduction_ns = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    for (const auto& [name, operation] : enum_names(Operation{})) {
      const auto index = static_cast<std::size_t>(operation);
      visit(key_of(operation), algorithms[index]);
      visit(key_of(operation) + "-custom", custom[index]);
    }
    visit("scheduling-policy", scheduling);
    visit("collective-optimization", optimization);
    visit("inter-dimension-scheduling", inter_dimension);
    visit("intra-dimension-scheduling", intra_dimension);
    visit("direct-collective-window", window, "", Range{1, 1 << 24});  // of 1.0
    visit("endpoint-delay", endpoint_delay_ns, "", Range{0, 1'000'000'000});
    visit("active-chunks-per-dimension", active_chunks, "", kPositive);
    visit("preferred-dataset-splits", splits, "", kPositive);
    visit("local-mem-bw", memory_GBps, "", Range{0, 1'000'000'000});
    visit("peak-perf", peak_tflops, "", Range{0, 1'000'000'000});
    visit("L", bus_latency_ns, "", Range{0, 1'000'000'000});
    visit("o", bus_overhead_ns, "", Range{0, 1'000'000'000});
    visit("g", bus_gap_ns, "", Range{0, 1'000'000'000});
    visit("G", bus_ns_per_byte, "", Range{0, 1'000'000'000});
    visit("local-reduction-delay", reduction_ns, "", Range{0, 1'000'000'000});
  }
};

/// Of what ASTRA-sim holds as an integer, though files may have fractions.
double as_whole(const fs::path& file, const char* key, double given, const char* unit, System& system) {
  const double whole = std::floor(given);
  if (whole < given) {
    system.remarks.push_back(fmt::format("{}: {} {} counts as {} {}, as in ASTRA-sim, which reads it whole",
                                         file.string(), key, given, whole, unit));
  }
  return whole;
}

/// ASTRA-sim reads L, o, g and G into 32-bit floating-point numbers, and then counts with the first three as integers.
analytical::BusConfig bus_of(const SystemFile& given, const fs::path& file, System& system) {
  const auto as_float = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  const auto as_ns = [&](const char* key, double value) {
    return static_cast<std::int64_t>(as_whole(file, key, as_float(value), "ns", system));
  };
  analytical::BusConfig bus;
  bus.modelled = true;
  bus.latency_ns = as_ns("L", given.bus_latency_ns);
  bus.overhead_ns = as_ns("o", given.bus_overhead_ns);
  bus.gap_ns = as_ns("g", given.bus_gap_ns);
  bus.ns_per_byte = as_float(given.bus_ns_per_byte);
  bus.reduction_ns =
      static_cast<std::int64_t>(as_whole(file, "local-reduction-delay", given.reduction_ns, "ns", system));
  return bus;
}

bool flag(const Node& root, const char* key) {
  const nlohmann::json& value = root.child(key).raw();
  if (value.is_null() || value == false || value == 0) return false;
  if (value != true && value != 1) root.child(key).fail("0 or 1");
  return true;
}

/// "direct4": direct with a window of 4.
struct Implementation {
  Algorithm algorithm = Algorithm::kRing;
  int window = 0;
};

std::optional<Implementation> implementation_of(const std::string& text) {
  Implementation result;
  std::string name = text;
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  if (digits < text.size()) {
    name = text.substr(0, digits);
    const std::optional<std::uint64_t> window = whole_number(text.substr(digits));
    if ((name != "direct" && name != "oneDirect") || !window || *window < 1 || *window > 1 << 24) return std::nullopt;
    result.window = static_cast<int>(*window);
  }
  for (const auto& [known, algorithm] : enum_names(Algorithm{})) {
    if (known != name) continue;
    result.algorithm = algorithm;
    return result;
  }
  return std::nullopt;
}

/// An operation leaves out the dimensions for which it has no algorithm, as in ASTRA-sim; the traces may do without it.
void read_algorithms(const Node& node, Operation operation, const std::vector<std::string>& names, int window,
                     const fs::path& file, System& system) {
  std::vector<DimensionConfig>& dimensions = system.config.dimensions;
  for (DimensionConfig& dimension : dimensions) dimension.algorithm(operation) = Algorithm::kNone;
  std::vector<Implementation> given;
  for (const std::string& name : names) {
    const std::optional<Implementation> one = implementation_of(name);
    if (!one) {
      node.fail(
          "ring, direct (direct4: with a window of 4), halvingDoubling, doubleBinaryTree, oneRing, oneDirect or "
          "oneHalvingDoubling",
          in_quotes(name));
    }
    given.push_back(*one);
    if (one->window == 0 && in_one_dimension(one->algorithm) == Algorithm::kDirect) given.back().window = window;
  }
  if (given.empty()) return;
  const bool joins = joins_dimensions(given.front().algorithm);
  if (given.size() > dimensions.size()) {
    throw InputError(file.string(), key_of(operation),
                     "as many algorithms as the network has dimensions, " + std::to_string(dimensions.size()),
                     std::to_string(given.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (i > 0 && joins_dimensions(given[i].algorithm) && !joins) {
      node.fail("oneRing and the like only in the first dimension");
    }
    DimensionConfig& dimension = dimensions[i];
    dimension.algorithm(operation) = given[i].algorithm;
    if (in_one_dimension(given[i].algorithm) == Algorithm::kDirect) dimension.window_of(operation) = given[i].window;
    // Of what joins all dimensions the others have no meaning, but listed groups are rings where there are others.
    if (i > 0 && joins) dimension.algorithm(operation) = Algorithm::kRing;
  }
}

/// Where all operations have one window in a dimension, it is the dimension's.
void join_windows(DimensionConfig& dimension) {
  std::set<int> windows;
  for (const auto& [name, operation] : enum_names(Operation{})) {
    if (in_one_dimension(dimension.algorithm(operation)) == Algorithm::kDirect) {
      windows.insert(dimension.window_of(operation));
    }
  }
  if (windows.size() != 1) return;
  dimension.window = *windows.begin();
  for (const auto& [name, operation] : enum_names(Operation{})) {
    dimension.window_of(operation) = DimensionConfig::kAsWindow;
  }
}

/// "per-node-custom-implementation": a YAML file of node ids and prefixes of Chakra files, which are beside it.
std::map<std::uint64_t, fs::path> read_custom_nodes(const fs::path& file) {
  const std::string name = file.string();
  const YAML::Node root = load_yaml(name, "ids of nodes with a prefix of Chakra files each");
  std::map<std::uint64_t, fs::path> result;
  for (const auto& entry : root) {
    const std::string& id = entry.first.Scalar();
    const std::optional<std::uint64_t> number = whole_number(id);
    if (!number || !entry.second.IsScalar()) throw InputError(name, id, "the id of a node and a prefix of files", "");
    result[*number] = file.parent_path() / entry.second.Scalar();
  }
  return result;
}

}  // namespace

std::string key_of(Operation operation) {
  std::string key(name_of(operation));
  std::replace(key.begin(), key.end(), '_', '-');
  return key + "-implementation";
}

namespace {

/// What the file is, where it is of another kind than such a file can be.
void expect_kind(const fs::path& file, const char* expected, std::initializer_list<traces::FileKind> kinds) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  const traces::FileGuess guess = traces::guess(file);
  const bool is_open = (traces::is_unknown_text(guess.kind) && guess.kind != traces::FileKind::kCsv) ||
                       guess.kind == traces::FileKind::kJson;
  if (is_open || std::find(kinds.begin(), kinds.end(), guess.kind) != kinds.end()) return;
  traces::refuse(file, expected, guess);
}

void read_dimensions(const fs::path& network, System& system) {
  expect_kind(network, "a network file of ASTRA-sim", {traces::FileKind::kNetworkFile, traces::FileKind::kNetworkJson});
  if (!looks_like_json(network) || is_flow_yaml(network)) {
    system.config.dimensions = read_network(network);
    return;
  }
  // The keys of network.yml, which may be in JSON as well.
  const nlohmann::json root = load_json_object(network.string(), "a network file of ASTRA-sim");
  if (root.contains("npus_count") || root.contains("topology")) {
    system.config.dimensions = read_network(network);
    return;
  }
  const std::optional<std::vector<int>> sizes = read_logical_dimensions(network);
  if (!sizes && !is_network_1(root)) {
    throw InputError(network.string(), "",
                     "topology and npus_count, logical-dims (of ns-3) or dimensions-count (of version 1.0)",
                     root.empty() ? "an empty object" : in_quotes(root.begin().key()));
  }
  if (!sizes) {
    system.config.dimensions = read_network_1(network, system.remarks);
    return;
  }
  system.has_links = false;
  for (const int size : *sizes) {
    DimensionConfig dimension;
    dimension.block = analytical::Block::kSwitch;
    dimension.size = size;
    system.config.dimensions.push_back(dimension);
  }
}

/// Into the dimensions that the system has.
void read_system_file(const fs::path& file, double injection_scale, System& system) {
  std::vector<DimensionConfig>& dimensions = system.config.dimensions;
  expect_kind(file, "a system file of ASTRA-sim", {traces::FileKind::kSystemFile});
  const bool is_text = is_system_text(file);
  Document document = is_text ? Document::from_text(system_text_to_json(file).dump(), file.string()) : load(file);
  const Node root = document.root();
  SystemFile given;
  root.read(given);
  // The delay counts whole nanoseconds before and after; where the file gives none, it is not scaled.
  if (root.has("endpoint-delay")) {
    given.endpoint_delay_ns = as_whole(file, "endpoint-delay", given.endpoint_delay_ns, "ns", system) * injection_scale;
  }
  if (given.splits == 0) root.child("preferred-dataset-splits").fail("1 or more");
  if (is_text && !root.has("local-mem-bw")) {
    given.memory_GBps = system.config.end.memory_GBps;
    system.remarks.push_back(file.string() + ": local-mem-bw is not given: reductions pass a memory of " +
                             std::to_string(std::lround(given.memory_GBps)) + " GB/s");
  }
  if (given.memory_GBps == 0) {
    system.has_memory_rate = false;
    given.memory_GBps = system.config.end.memory_GBps;
  }
  for (const auto& [name, operation] : enum_names(Operation{})) {
    read_algorithms(root.child(key_of(operation)), operation, given.algorithms[static_cast<std::size_t>(operation)],
                    given.window, file, system);
    const std::vector<std::string>& custom = given.custom[static_cast<std::size_t>(operation)];
    if (custom.size() > 1) root.child(key_of(operation) + "-custom").fail("one prefix of Chakra files");
    if (!custom.empty()) system.custom[operation] = file.parent_path() / custom.front();
  }
  for (DimensionConfig& dimension : dimensions) join_windows(dimension);
  dimensions::CollectiveConfig& collectives = system.config.collectives;
  collectives.scheduling = given.scheduling;
  collectives.optimization = given.optimization;
  collectives.inter_dimension = given.inter_dimension;
  collectives.intra_dimension = given.intra_dimension;
  collectives.splits = given.splits;
  collectives.active_chunks = given.active_chunks;
  collectives.endpoint_delay = analytical::whole_ns(given.endpoint_delay_ns);
  analytical::EndConfig& end = system.config.end;
  end.memory_GBps = given.memory_GBps;
  end.peak_tflops = given.peak_tflops;
  end.roofline = flag(root, "roofline-enabled");
  end.replay_only = flag(root, "replay-only");
  if (end.roofline && !end.replay_only && end.peak_tflops <= 0)
    root.child("peak-perf").fail("TFLOPS above 0 for the roofline");

  if (flag(root, "model-shared-bus")) end.bus = bus_of(given, file, system);
  const auto by_node = root.get<std::string>("per-node-custom-implementation", "");
  if (!by_node.empty()) system.custom_nodes = read_custom_nodes(file.parent_path() / by_node);
  const auto remark = [&](const char* key, const char* why) {
    if (!root.child(key).raw().is_null()) system.remarks.push_back(file.string() + ": " + key + " " + why);
  };
  remark("boost-mode", "has no effect in ASTRA-sim");
  remark("packet-routing", "has no effect on networks of links");
  if (!is_text && given.inter_dimension != dimensions::InterDimension::kBaseline) {
    remark("inter-dimension-scheduling", "is followed, though ASTRA-sim 2.0 passes it over: times will differ");
  }
  if (!is_text && given.intra_dimension != dimensions::IntraDimension::kFifo) {
    remark("intra-dimension-scheduling", "is followed, though ASTRA-sim 2.0 passes it over: times will differ");
  }
  for (const char* key : {"trace-enabled", "track-local-mem", "local-mem-trace-filename"}) {
    remark(key, "asks for a log of ASTRA-sim's, which Weft does not write");
  }
  document.check_unused();
}

}  // namespace

System read_system(const fs::path& network, const fs::path& file, double injection_scale) {
  System system;
  read_dimensions(network, system);
  read_system_file(file, injection_scale, system);
  return system;
}

System read_system_alone(const fs::path& file) {
  constexpr std::size_t kMostAlgorithms = 64;
  System system;
  system.config.dimensions.resize(kMostAlgorithms);
  read_system_file(file, 1, system);
  return system;
}

std::vector<std::uint32_t> read_network_sizes(const fs::path& network) {
  System system;
  read_dimensions(network, system);
  static_cast<void>(ends_of(system, network));
  std::vector<std::uint32_t> sizes;
  for (const DimensionConfig& dimension : system.config.dimensions) {
    sizes.push_back(static_cast<std::uint32_t>(dimension.size));
  }
  return sizes;
}

void remark_algorithms(System& system, const fs::path& file, bool is_machine) {
  std::vector<DimensionConfig>& dimensions = system.config.dimensions;
  std::vector<std::string> absent;
  for (const auto& [name, operation] : enum_names(Operation{})) {
    std::size_t given = 0;
    for (DimensionConfig& dimension : dimensions) given += dimension.algorithm(operation) == Algorithm::kNone ? 0 : 1;
    const std::size_t missing = dimensions.size() - given;
    if (missing == 0 || system.custom.contains(operation)) continue;
    if (given == 0) absent.push_back(key_of(operation));
    if (given == 0 || joins_dimensions(dimensions.front().algorithm(operation))) continue;
    const std::string last = missing == 1 ? "the last one" : "the last " + std::to_string(missing);
    const std::string rings = missing == 1 ? "a ring stands in for " : "rings stand in for ";
    system.remarks.push_back(
        file.string() + ": " + key_of(operation) + " has " + std::to_string(given) +
        (given == 1 ? " algorithm" : " algorithms") + ", and the network " + std::to_string(dimensions.size()) +
        " dimensions: " + (is_machine ? rings + last : "the operation leaves out " + last + ", as in ASTRA-sim"));
  }
  // The arithmetic refuses a collective of the traces that needs them.
  if (absent.empty() || !is_machine) return;
  system.remarks.push_back(file.string() + ": " + join(absent, ", ") + (absent.size() == 1 ? " is" : " are") +
                           " not given: rings stand in");
}

std::uint32_t ends_of(const System& system, const fs::path& network) {
  constexpr std::uint64_t kMost = 1ULL << 28;
  std::uint64_t ends = 1;
  for (const DimensionConfig& dimension : system.config.dimensions) {
    ends *= static_cast<std::uint64_t>(dimension.size);
    if (ends > kMost) {
      throw InputError(network.string(), "npus_count", "at most " + std::to_string(kMost) + " in all dimensions", "");
    }
  }
  return static_cast<std::uint32_t>(ends);
}

void read_memory(const fs::path& file, System& system, std::uint32_t ends) {
  analytical::EndConfig& end = system.config.end;
  using analytical::RemoteMemory;
  static const std::vector<std::pair<std::string_view, RemoteMemory>> types = {
      {"NO_MEMORY_EXPANSION", RemoteMemory::kNone},
      {"PER_NPU_MEMORY_EXPANSION", RemoteMemory::kPerEnd},
      {"PER_NODE_MEMORY_EXPANSION", RemoteMemory::kPerNode},
      {"MEMORY_POOL", RemoteMemory::kPool}};
  expect_kind(file, "a remote memory file of ASTRA-sim", {traces::FileKind::kMemoryFile});
  Document document = load(file);
  const Node root = document.root();
  const auto type = root.get<std::string>("memory-type", "");
  const auto found = std::find_if(types.begin(), types.end(), [&](const auto& each) { return each.first == type; });
  if (found == types.end()) {
    root.child("memory-type")
        .fail("NO_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION or MEMORY_POOL");
  }
  end.remote_memory = found->second;
  root.read("remote-mem-latency", end.remote_latency_ns, Range{0, 1'000'000'000'000});
  end.remote_latency_ns = as_whole(file, "remote-mem-latency", end.remote_latency_ns, "ns", system);
  double rate = 0;
  root.read("remote-mem-bw", rate, Range{0, 1'000'000'000'000});
  if (rate > 0 && rate < 1) {
    system.remarks.push_back(fmt::format(
        "{}: remote-mem-bw {} is below 1 GB/s, for which ASTRA-sim, which reads it whole, takes none: nothing that is "
        "moved ends there",
        file.string(), rate));
    end.remote_GBps = rate;
  } else if (rate >= 1) {
    end.remote_GBps = as_whole(file, "remote-mem-bw", rate, "GB/s", system);
  }
  system.has_remote_rate = rate > 0 || end.remote_memory == RemoteMemory::kNone;
  const bool by_node = end.remote_memory == RemoteMemory::kPerNode;
  if (by_node && !root.has("num-npus-per-node")) root.child("num-npus-per-node").fail("1 or more");
  root.read("num-npus-per-node", end.ends_per_node, kPositive);
  int nodes = 0;
  root.read("num-nodes", nodes, Range{0, kPositive.max});
  const std::uint32_t needed = (ends - 1) / static_cast<std::uint32_t>(end.ends_per_node) + 1;
  if (by_node && static_cast<std::uint32_t>(nodes) < needed) {
    root.child("num-nodes")
        .fail("at least " + std::to_string(needed) + ", with num-npus-per-node " + std::to_string(end.ends_per_node) +
              " each, for the " + std::to_string(ends) + " of the network");
  }
  document.check_unused();
}

}  // namespace weft::platforms::astra
