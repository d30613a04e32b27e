// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/astra_sim_1.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "platforms/config/document.h"
#include "platforms/config/text.h"

namespace weft::platforms::astra {
namespace {

using analytical::Block;
using analytical::DimensionConfig;
namespace fs = std::filesystem;

/// The keys that say how messages take their time.
struct NetworkFile {
  int count = 0;
  std::vector<Block> blocks;
  std::vector<int> units;
  std::vector<int> links;
  std::vector<double> latency_ns;
  std::vector<double> bandwidth_GiBps;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("dimensions-count", count, "", Range{1, 64});
    visit("topologies-per-dim", blocks);
    visit("units-count", units, "", Range{2, 1 << 24});
    visit("links-count", links, "", Range{1, 1 << 24});
    visit("link-latency", latency_ns, "", Range{0, 1'000'000'000});
    visit("link-bandwidth", bandwidth_GiBps, "", Range{0, 1'000'000'000});
  }
};

template <typename T>
void require_each(const Node& root, const char* key, const std::vector<T>& values, int count) {
  if (static_cast<int>(values.size()) == count) return;
  root.child(key).fail(std::to_string(count) + " values, as dimensions-count says, got " +
                       std::to_string(values.size()));
}

/// Of the links that join an end, those on which one message can travel.
int bundled(const Node& links, Block block, int count, int size) {
  if (block == Block::kSwitch) return count;
  const int neighbours = block == Block::kRing ? 2 : size - 1;
  if (count % neighbours != 0) {
    links.fail(block == Block::kRing ? "an even number of links for a ring, half of them each way"
                                     : "a multiple of " + std::to_string(neighbours) +
                                           ", links to each of the others that are fully connected");
  }
  return count / neighbours;
}

std::string trimmed(const std::string& text) {
  const char* blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

bool looks_like_json(const fs::path& file) {
  std::ifstream stream(file);
  char first = 0;
  return stream >> first && first == '{';
}

std::vector<DimensionConfig> read_network_1(const fs::path& file, std::vector<std::string>& remarks) {
  Document document = Document::from_text(load_json_object(file.string(), "an object").dump(), file.string());
  const Node root = document.root();
  NetworkFile given;
  root.read(given);
  if (given.count == 0) root.child("dimensions-count").fail("how many dimensions the network has, got nothing");
  require_each(root, "topologies-per-dim", given.blocks, given.count);
  require_each(root, "units-count", given.units, given.count);
  require_each(root, "links-count", given.links, given.count);
  require_each(root, "link-latency", given.latency_ns, given.count);
  require_each(root, "link-bandwidth", given.bandwidth_GiBps, given.count);
  for (const char* key : {"nic-latency", "router-latency", "hbm-latency", "hbm-scale"}) {
    const Node list = root.child(key);
    if (!list.exists()) continue;
    for (const Node& value : list.elements()) {
      if (!value.raw().is_number() || value.raw().get<double>() != 0) {
        value.fail("0, since the analytical network has links alone");
      }
    }
  }
  for (const auto& [key, why] : {std::pair{"topology-name", "is a name: the dimensions say what the network is"},
                                 {"dimension-type", "says where a dimension is, which changes no time"},
                                 {"hbm-bandwidth", "has no effect where hbm-scale is 0"}}) {
    if (!root.child(key).raw().is_null()) remarks.push_back(file.string() + ": " + key + " " + why);
  }
  document.check_unused();

  std::vector<DimensionConfig> dimensions;
  for (int i = 0; i < given.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Node links = root.child("links-count").elements()[at];
    if (given.bandwidth_GiBps[at] <= 0) root.child("link-bandwidth").elements()[at].fail("a rate above 0 in GB/s");
    DimensionConfig dimension;
    dimension.block = given.blocks[at];
    dimension.size = given.units[at];
    dimension.latency_ns = given.latency_ns[at];
    dimension.bandwidth_GiBps =
        given.bandwidth_GiBps[at] * bundled(links, dimension.block, given.links[at], dimension.size);
    dimensions.push_back(dimension);
  }
  return dimensions;
}

nlohmann::json system_text_to_json(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw InputError(file.string(), "", "a file that can be read", "");
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
