// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/astra_sim.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "platforms/config/input_error.h"

namespace weft::platforms::astra {
namespace {

using analytical::Algorithm;
using analytical::DimensionConfig;
using analytical::Operation;
using nlohmann::json;
namespace fs = std::filesystem;

/// "A, B or C"
template <typename E>
std::string choices(E tag) {
  std::string text;
  for (const auto& [name, value] : enum_names(tag)) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

template <typename E>
std::optional<E> named(const std::string& text) {
  for (const auto& [name, value] : enum_names(E{})) {
    if (name == text) return value;
  }
  return std::nullopt;
}

/// A JSON object, of which each key has to be asked for.
class Object {
 public:
  explicit Object(const fs::path& file) : file_(file.string()) {
    std::ifstream in(file);
    if (!in) throw InputError(file_, "", "a file that can be read", "");
    try {
      json_ = json::parse(in);
    } catch (const json::parse_error& error) {
      throw InputError(file_, "", "JSON", error.what());
    }
    if (!json_.is_object()) throw InputError(file_, "", "an object", json_.dump());
  }

  [[nodiscard]] const json* find(const std::string& key) {
    known_.insert(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  double number(const std::string& key, double fallback, double low, double high) {
    const json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_number() || value->get<double>() < low || value->get<double>() > high) {
      fail(key, "a number from " + json(low).dump() + " to " + json(high).dump());
    }
    return value->get<double>();
  }
  bool flag(const std::string& key) {
    const json* value = find(key);
    if (value == nullptr) return false;
    if (value->is_boolean()) return value->get<bool>();
    if (!value->is_number_integer() || (*value != 0 && *value != 1)) fail(key, "0 or 1");
    return *value == 1;
  }
  template <typename E>
  E choice(const std::string& key, E fallback) {
    const json* value = find(key);
    if (value == nullptr) return fallback;
    const auto found = value->is_string() ? named<E>(value->get<std::string>()) : std::nullopt;
    if (!found) fail(key, "one of " + choices(E{}));
    return *found;
  }
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const {
    const auto found = json_.find(key);
    throw InputError(file_, key, expected, found == json_.end() ? "nothing" : found->dump());
  }
  void check_unknown() const {
    for (const auto& [key, value] : json_.items()) {
      if (!known_.contains(key)) throw InputError(file_, key, "a key that ASTRA-sim has", value.dump());
    }
  }
  [[nodiscard]] const json& all() const { return json_; }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  std::string file_;
  json json_;
  std::set<std::string> known_;
};

const std::map<Operation, std::string> kOperationKeys = {{Operation::kAllReduce, "all-reduce"},
                                                         {Operation::kAllgather, "all-gather"},
                                                         {Operation::kReduceScatter, "reduce-scatter"},
                                                         {Operation::kAllToAll, "all-to-all"}};

std::vector<Algorithm> read_algorithms(Object& object, const std::string& key, std::size_t dimensions) {
  const json* value = object.find(key);
  if (value == nullptr) return std::vector<Algorithm>(dimensions, Algorithm::kRing);
  const std::string expected =
      "a list with an algorithm for each of " + std::to_string(dimensions) + " dimensions, of " + choices(Algorithm{});
  if (!value->is_array() || value->size() != dimensions) object.fail(key, expected);
  std::vector<Algorithm> algorithms;
  for (const json& each : *value) {
    const auto found = each.is_string() ? named<Algorithm>(each.get<std::string>()) : std::nullopt;
    if (!found) object.fail(key, expected);
    algorithms.push_back(*found);
  }
  return algorithms;
}

Algorithm& algorithm_of(DimensionConfig& dimension, Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return dimension.all_reduce;
    case Operation::kAllgather:
      return dimension.all_gather;
    case Operation::kReduceScatter:
      return dimension.reduce_scatter;
    case Operation::kAllToAll:
      break;
  }
  return dimension.all_to_all;
}

std::vector<DimensionConfig> read_network(const fs::path& file) {
  const std::string name = file.string();
  YAML::Node root;
  try {
    root = YAML::LoadFile(name);
  } catch (const YAML::BadFile&) {
    throw InputError(name, "", "a file that can be read", "");
  } catch (const YAML::Exception& error) {
    throw InputError(name, "", "YAML", error.what());
  }
  if (!root.IsMap()) throw InputError(name, "", "topology, npus_count, bandwidth and latency", "");
  std::size_t dimensions = 0;
  const auto list = [&](const std::string& key) {
    const YAML::Node value = root[key];
    if (!value || !value.IsSequence() || value.size() == 0) throw InputError(name, key, "a list of values", "");
    if (dimensions == 0) dimensions = value.size();
    if (value.size() != dimensions) {
      throw InputError(name, key, std::to_string(dimensions) + " values, one a dimension as in topology",
                       std::to_string(value.size()));
    }
    return value;
  };
  const YAML::Node topology = list("topology");
  const auto number = [&](const std::string& key, std::size_t i, const std::string& expected, auto fits) {
    const YAML::Node value = list(key)[i];
    try {
      const auto given = value.as<double>();
      if (fits(given)) return given;
    } catch (const YAML::Exception&) {  // told below
    }
    throw InputError(name, key, expected, value.IsScalar() ? value.Scalar() : "");
  };
  for (const auto& entry : root) {
    static const std::set<std::string> known = {"topology", "npus_count", "bandwidth", "latency"};
    const auto key = entry.first.as<std::string>();
    if (!known.contains(key)) throw InputError(name, key, "topology, npus_count, bandwidth or latency", "");
  }
  std::vector<DimensionConfig> result;
  for (std::size_t i = 0; i < topology.size(); ++i) {
    const auto block = named<analytical::Block>(topology[i].as<std::string>());
    if (!block) throw InputError(name, "topology", "each of " + choices(analytical::Block{}), topology[i].Scalar());
    const double size = number("npus_count", i, "a whole number above 1", [](double given) {
      return given > 1 && given <= 1 << 24 && given == static_cast<double>(static_cast<std::int64_t>(given));
    });
    const double rate = number("bandwidth", i, "a rate above 0 in GB/s", [](double given) { return given > 0; });
    const double latency = number("latency", i, "0 or more ns", [](double given) { return given >= 0; });
    DimensionConfig dimension;
    dimension.block = *block;
    dimension.size = static_cast<int>(size);
    dimension.bandwidth_GiBps = rate;
    dimension.latency_ns = latency;
    result.push_back(dimension);
  }
  return result;
}

}  // namespace

System read_system(const fs::path& network, const fs::path& file) {
  Object object(file);
  System system;
  std::vector<DimensionConfig>& dimensions = system.config.dimensions;
  dimensions = read_network(network);
  analytical::CollectiveConfig& collectives = system.config.collectives;
  analytical::EndConfig& end = system.config.end;
  collectives.scheduling = object.choice("scheduling-policy", analytical::Scheduling::kFifo);
  collectives.endpoint_delay = Time(static_cast<std::int64_t>(object.number("endpoint-delay", 10, 0, 1e9)) * 1000);
  collectives.active_chunks = static_cast<int>(object.number("active-chunks-per-dimension", 1, 1, 1 << 20));
  if (object.find("preferred-dataset-splits") == nullptr) object.fail("preferred-dataset-splits", "1 or more");
  collectives.splits = static_cast<int>(object.number("preferred-dataset-splits", 1, 1, 1 << 20));
  for (const auto& [operation, key] : kOperationKeys) {
    const auto algorithms = read_algorithms(object, key + "-implementation", dimensions.size());
    for (std::size_t i = 0; i < dimensions.size(); ++i) algorithm_of(dimensions[i], operation) = algorithms[i];
    const json* custom = object.find(key + "-implementation-custom");
    if (custom == nullptr) continue;
    if (!custom->is_array() || custom->size() != 1 || !custom->front().is_string()) {
      object.fail(key + "-implementation-custom", "a list of one prefix of Chakra files");
    }
    system.custom[operation] = file.parent_path() / custom->front().get<std::string>();
  }
  collectives.optimization = object.choice("collective-optimization", analytical::Optimization::kBaseline);
  end.memory_GBps = object.number("local-mem-bw", 0, 0, 1e9);
  if (end.memory_GBps <= 0) object.fail("local-mem-bw", "a rate above 0 in GB/s");
  end.roofline = object.flag("roofline-enabled");
  end.peak_tflops = object.number("peak-perf", 0, 0, 1e12);
  if (end.roofline && end.peak_tflops <= 0) object.fail("peak-perf", "TFLOPS above 0 for the roofline");
  end.replay_only = object.flag("replay-only");
  if (object.flag("model-shared-bus")) object.fail("model-shared-bus", "0: Weft has no LogGP bus");
  if (object.find("per-node-custom-implementation") != nullptr) {
    object.fail("per-node-custom-implementation", "nothing: an implementation is chosen by operation alone");
  }
  for (const char* key : {"L", "o", "g", "G", "local-reduction-delay"}) {
    (void)object.find(key);  // of the shared bus, which is off
  }
  for (const char* key : {"boost-mode", "inter-dimension-scheduling", "intra-dimension-scheduling"}) {
    if (object.find(key) != nullptr)
      system.remarks.push_back(object.file() + ": " + key + " has no effect in ASTRA-sim");
  }
  for (const char* key : {"trace-enabled", "track-local-mem", "local-mem-trace-filename"}) {
    if (object.find(key) != nullptr) {
      system.remarks.push_back(object.file() + ": " + key + " is a log of ASTRA-sim's, which Weft's timeline replaces");
    }
  }
  object.check_unknown();
  return system;
}

void read_memory(const fs::path& file, analytical::EndConfig& end) {
  using analytical::RemoteMemory;
  Object object(file);
  static const std::map<std::string, RemoteMemory> types = {{"NO_MEMORY_EXPANSION", RemoteMemory::kNone},
                                                            {"PER_NPU_MEMORY_EXPANSION", RemoteMemory::kPerEnd},
                                                            {"PER_NODE_MEMORY_EXPANSION", RemoteMemory::kPerNode},
                                                            {"MEMORY_POOL", RemoteMemory::kPool}};
  const json* type = object.find("memory-type");
  const auto found = type != nullptr && type->is_string() ? types.find(type->get<std::string>()) : types.end();
  if (found == types.end()) {
    object.fail("memory-type",
                "NO_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION or MEMORY_POOL");
  }
  end.remote_memory = found->second;
  end.remote_latency_ns = object.number("remote-mem-latency", 0, 0, 1e12);
  end.remote_GBps = object.number("remote-mem-bw", 0, 0, 1e12);
  if (end.remote_memory != RemoteMemory::kNone && end.remote_GBps <= 0) {
    object.fail("remote-mem-bw", "a rate above 0 in GB/s");
  }
  (void)object.find("num-nodes");
  end.ends_per_node = static_cast<int>(object.number("num-npus-per-node", 1, 1, 1 << 24));
  object.check_unknown();
}

std::map<std::string, std::vector<std::uint32_t>> read_groups(const fs::path& file, std::uint32_t ends) {
  Object object(file);
  std::map<std::string, std::vector<std::uint32_t>> groups;
  for (const auto& [name, members] : object.all().items()) {
    const std::string expected = "a list of different ranks below " + std::to_string(ends);
    if (name == "0" || name.empty()) object.fail(name, "another name: 0 is everybody");
    if (!members.is_array() || members.empty()) object.fail(name, expected);
    std::vector<std::uint32_t>& group = groups[name];
    for (const json& member : members) {
      if (!member.is_number_unsigned() || member.get<std::uint64_t>() >= ends) object.fail(name, expected);
      group.push_back(member.get<std::uint32_t>());
    }
    if (std::set<std::uint32_t>(group.begin(), group.end()).size() != group.size()) object.fail(name, expected);
  }
  return groups;
}

}  // namespace weft::platforms::astra
