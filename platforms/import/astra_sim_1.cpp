// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/astra_sim_1.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "platforms/config/document.h"
#include "platforms/config/text.h"
#include "traces/files/text_file.h"

namespace weft::platforms::astra {
namespace {

using analytical::Block;
using analytical::DimensionConfig;
namespace fs = std::filesystem;

/// The keys that say how messages take their time; lists with a value for each dimension.
struct NetworkFile {
  int count = 0;
  std::vector<Block> blocks;
  std::vector<int> units;
  std::vector<int> links;
  std::vector<double> latency_ns;
  std::vector<double> bandwidth_GiBps;
  std::vector<double> nic_ns;
  std::vector<double> router_ns;
  std::vector<double> memory_ns;
  std::vector<double> memory_GiBps;
  std::vector<double> memory_scale;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    constexpr Range kTime{0, 1'000'000'000};
    visit("dimensions-count", count, "", Range{1, 64});
    visit("topologies-per-dim", blocks);
    visit("units-count", units, "", Range{2, 1 << 24});
    visit("links-count", links, "", Range{1, 1 << 24});
    visit("link-latency", latency_ns, "", kTime);
    visit("link-bandwidth", bandwidth_GiBps, "", Range{0, 1'000'000'000});
    visit("nic-latency", nic_ns, "", kTime);
    visit("router-latency", router_ns, "", kTime);
    visit("hbm-latency", memory_ns, "", kTime);
    visit("hbm-bandwidth", memory_GiBps, "", Range{0, 1'000'000'000});
    visit("hbm-scale", memory_scale, "", Range{0, 1'000'000});
  }
};

template <typename T>
void require_each(const Node& root, const char* key, const std::vector<T>& values, int count) {
  if (static_cast<int>(values.size()) == count) return;
  root.child(key).fail(std::to_string(count) + " values, as dimensions-count says", std::to_string(values.size()));
}

double value_at(const std::vector<double>& values, std::size_t dimension) {
  return values.empty() ? 0 : values[dimension];
}

/// "Ring_AllToAll_Switch"
std::vector<Block> blocks_of(const Node& name) {
  const std::string text = name.raw().is_string() ? name.raw().get<std::string>() : "";
  std::vector<Block> blocks;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find('_', from), text.size());
    const std::string part = text.substr(from, to - from);
    from = to + 1;
    if (part == "Ring") {
      blocks.push_back(Block::kRing);
    } else if (part == "AllToAll" || part == "FullyConnected") {
      blocks.push_back(Block::kFullyConnected);
    } else if (part == "Switch") {
      blocks.push_back(Block::kSwitch);
    } else {
      name.fail("Ring, AllToAll, FullyConnected and Switch, joined by _, where there is no topologies-per-dim");
    }
  }
  return blocks;
}

/// On how many of the links that join an end one message travels.
int bundled(const Node& links, Block block, int count, int size) {
  int together = count;
  if (block == Block::kRing) together -= count % 2;
  if (block == Block::kFullyConnected) together /= size - 1;
  if (together == 0) {
    links.fail(block == Block::kRing
                   ? "2 or more links of a ring"
                   : std::to_string(size - 1) + " or more links to the others, which are fully connected");
  }
  return together;
}

/// What a link would have if it took the time of NICs and routers, too.
double whole_latency(const Node& root, const NetworkFile& given, Block block, std::size_t i) {
  const double nic = value_at(given.nic_ns, i);
  switch (block) {
    case Block::kRing:
      if (nic != 0)
        root.child("nic-latency").elements()[i].fail("0 in a ring, of which a message may pass several links");
      return given.latency_ns[i];
    case Block::kFullyConnected:
      return given.latency_ns[i] + 2 * nic;
    case Block::kSwitch:
      return given.latency_ns[i] + nic + value_at(given.router_ns, i) / 2;
  }
  return given.latency_ns[i];
}

/// A message takes the longer of its way and of its memory: refuses one in which that could be the memory.
void check_memory(const Node& root, const NetworkFile& given, const DimensionConfig& dimension, std::size_t i) {
  const double scale = value_at(given.memory_scale, i);
  const bool later = scale * value_at(given.memory_ns, i) > dimension.latency_ns;
  if (scale != 0 && (later || value_at(given.memory_GiBps, i) < scale * dimension.bandwidth_GiBps)) {
    root.child("hbm-scale").elements()[i].fail("a memory that never takes longer than the links");
  }
}

std::string trimmed(const std::string& text) {
  const char* blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

namespace {

/// The first character that is no blank; none of what cannot be read: who reads it says what is wrong with it.
char first_character(const fs::path& file) {
  try {
    traces::InputFile input(file);
    const std::string_view text = traces::without_blanks(input.peek(traces::kGuessed));
    return text.empty() ? '\0' : text.front();
  } catch (const traces::FormatError&) {
    return '\0';
  }
}

}  // namespace

bool looks_like_json(const fs::path& file) {
  return first_character(file) == '{';
}

bool is_system_text(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return false;
  const char first = first_character(file);
  if (first == '/') throw InputError(file.string(), "line 1", "an object of JSON, which has no comments", "a comment");
  return first != '{' && first != '[';
}

bool is_network_1(const nlohmann::json& root) {
  const auto keys = {"dimensions-count", "topology-name", "topologies-per-dim", "dimension-type",
                     "units-count",      "links-count",   "link-latency",       "link-bandwidth"};
  return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return root.contains(key); });
}

std::vector<DimensionConfig> read_network_1(const fs::path& file, std::vector<std::string>& remarks) {
  Document document =
      Document::from_text(load_json_object(file.string(), "a network file of ASTRA-sim 1.0").dump(), file.string());
  const Node root = document.root();
  NetworkFile given;
  root.read(given);
  if (given.count == 0) root.child("dimensions-count").fail("how many dimensions the network has");
  if (given.blocks.empty()) given.blocks = blocks_of(root.child("topology-name"));
  require_each(root, root.has("topologies-per-dim") ? "topologies-per-dim" : "topology-name", given.blocks,
               given.count);
  require_each(root, "units-count", given.units, given.count);
  require_each(root, "link-latency", given.latency_ns, given.count);
  require_each(root, "link-bandwidth", given.bandwidth_GiBps, given.count);
  if (!given.links.empty()) require_each(root, "links-count", given.links, given.count);
  for (const auto& [key, list] : {std::pair{"nic-latency", &given.nic_ns},
                                  {"router-latency", &given.router_ns},
                                  {"hbm-latency", &given.memory_ns},
                                  {"hbm-bandwidth", &given.memory_GiBps},
                                  {"hbm-scale", &given.memory_scale}}) {
    if (!list->empty()) require_each(root, key, *list, given.count);
  }
  for (const auto& [key, why] : {std::pair{"topology-name", "is a name: the dimensions say what the network is"},
                                 {"dimension-type", "says where a dimension is, which changes no time"},
                                 {"use-fast-version", "chooses a program, not a network"}}) {
    const bool tells = std::string_view(key) == "topology-name" && !root.has("topologies-per-dim");
    if (!root.child(key).raw().is_null() && !tells) remarks.push_back(file.string() + ": " + key + " " + why);
  }
  document.check_unused();

  std::vector<DimensionConfig> dimensions;
  for (std::size_t i = 0; i < static_cast<std::size_t>(given.count); ++i) {
    if (given.bandwidth_GiBps[i] <= 0) root.child("link-bandwidth").elements()[i].fail("a rate above 0 in GB/s");
    DimensionConfig dimension;
    dimension.block = given.blocks[i];
    dimension.size = given.units[i];
    dimension.latency_ns = whole_latency(root, given, dimension.block, i);
    dimension.bandwidth_GiBps = given.bandwidth_GiBps[i];
    if (!given.links.empty()) {
      const Node links = root.child("links-count").elements()[i];
      const int together = bundled(links, dimension.block, given.links[i], dimension.size);
      const int ways = dimension.block == Block::kFullyConnected ? dimension.size - 1 : 1;
      if (together * ways != given.links[i]) {
        remarks.push_back(
            file.string() + ": " + links.path() + ": of " + std::to_string(given.links[i]) + " links " +
            std::to_string(together * ways) + " are used, as in ASTRA-sim 1.0: " +
            (dimension.block == Block::kRing ? "a ring has as many each way" : "each of the others has as many"));
      }
      dimension.bandwidth_GiBps *= together;
    }
    check_memory(root, given, dimension, i);
    dimensions.push_back(dimension);
  }
  return dimensions;
}

nlohmann::json system_text_to_json(const fs::path& file) {
  std::istringstream stream(traces::read_text(file, "a system file"));
  nlohmann::json system = nlohmann::json::object();
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (trimmed(line).empty()) continue;
    const std::size_t colon = line.find(':');
    const std::string where = "line " + std::to_string(number);
    if (colon == std::string::npos) throw InputError(file.string(), where, "KEY: VALUE", in_quotes(trimmed(line)));
    const std::string key = trimmed(line.substr(0, colon));
    const std::string value = trimmed(line.substr(colon + 1));
    if (system.contains(key)) throw InputError(file.string(), where, "each key once", in_quotes(key));
    if (value.empty()) throw InputError(file.string(), where, "a value of " + key, "nothing");
    if (key.ends_with("-implementation")) {
      nlohmann::json& list = system[key] = nlohmann::json::array();
      for (std::size_t from = 0; from <= value.size();) {
        const std::size_t to = std::min(value.find('_', from), value.size());
        list.push_back(value.substr(from, to - from));
        from = to + 1;
      }
      continue;
    }
    const nlohmann::json scalar = nlohmann::json::parse(value, nullptr, false);
    system[key] = scalar.is_number() ? scalar : nlohmann::json(value);
  }
  return system;
}

}  // namespace weft::platforms::astra
