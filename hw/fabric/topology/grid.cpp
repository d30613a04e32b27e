// SPDX-License-Identifier: Apache-2.0
// Networks of routers with coordinates: ring, torus, mesh, hyperx and whatever blocks compose.
#include <charconv>
#include <map>
#include <optional>

#include "hw/fabric/topology/topology.h"

namespace weft::fabric {
namespace {

constexpr std::uint32_t kMaxRouters = Packet::kNowhere - 2;

struct Dimension {
  Block block;
  int size;
  LinkConfig link;
  int links;
};

/// "Ring(4)" and its like.
std::optional<std::pair<Block, int>> parse_block(const std::string& text) {
  static const std::map<std::string, Block, std::less<>> names = {{"Ring", Block::kRing},
                                                                  {"Mesh", Block::kMesh},
                                                                  {"FullyConnected", Block::kFullyConnected},
                                                                  {"Switch", Block::kSwitch}};
  const std::size_t open = text.find('(');
  if (open == std::string::npos || text.back() != ')') return std::nullopt;
  const auto name = names.find(text.substr(0, open));
  int size = 0;
  const char* const last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data() + open + 1, last, size);
  if (name == names.end() || error != std::errc() || end != last || size < 2) return std::nullopt;
  return std::pair{name->second, size};
}

std::vector<Dimension> dimensions_of(const FabricConfig& config, const std::string& path) {
  std::vector<Dimension> all;
  if (config.topology == Shape::kDimensions) {
    for (std::size_t i = 0; i < config.dimensions.size(); ++i) {
      const DimensionConfig& dimension = config.dimensions[i];
      const auto block = parse_block(dimension.block);
      if (!block) {
        throw ConfigError(path + ".dimensions." + std::to_string(i) + ".block",
                          "Ring(N), Mesh(N), FullyConnected(N) or Switch(N) with N of at least 2");
      }
      all.push_back({block->first, block->second, dimension.link, dimension.links});
    }
    if (all.empty()) {
      throw ConfigError(path + ".dimensions", "expected at least one block, such as [\"Ring(4)\", \"Switch(2)\"]");
    }
    return all;
  }
  const Block block = config.topology == Shape::kTorus  ? Block::kRing
                      : config.topology == Shape::kMesh ? Block::kMesh
                                                        : Block::kFullyConnected;
  for (const int size : config.sizes) all.push_back({block, size, config.link, 1});
  if (all.empty()) throw ConfigError(path + ".sizes", "expected the size of each dimension, such as [4, 4, 2]");
  return all;
}

void check_size(const std::vector<Dimension>& dimensions, int hosts, int ends, const FabricConfig& config,
                const std::string& path) {
  const std::string where = path + (config.topology == Shape::kDimensions ? ".dimensions" : ".sizes");
  std::int64_t routers = 1;
  std::string text;
  for (const Dimension& dimension : dimensions) {
    routers *= dimension.size;
    text += (text.empty() ? "" : " x ") + std::to_string(dimension.size);
    if (routers > kMaxRouters) {
      throw ConfigError(where,
                        "expected at most " + std::to_string(kMaxRouters) + " routers, got " + text + " or more");
    }
  }
  if (routers * hosts == ends) return;
  throw ConfigError(where, "expected sizes whose product is the " + std::to_string(ends) + " ends" +
                               (hosts > 1 ? " over " + std::to_string(hosts) + " hosts per router" : "") + ", got " +
                               text + " = " + std::to_string(routers));
}

/// Joins the routers of one line along dimension `d`.
class Line {
 public:
  Line(Topology& topology, const Dimension& dimension, std::uint8_t d, std::uint32_t link,
       std::vector<std::uint32_t> routers)
      : topology_(topology), dimension_(dimension), d_(d), link_(link), routers_(std::move(routers)) {
    for (std::size_t i = 0; i < routers_.size(); ++i) steps_.push_back(step(dimension.block, i));
  }

  void join() {
    const std::size_t size = routers_.size();
    switch (dimension_.block) {
      case Block::kRing:
        for (std::size_t i = 0; i + 1 < size; ++i) neighbours(i, i + 1);
        if (size > 2) neighbours(size - 1, 0);
        // Nobody goes further than one hop round three.
        if (size > 3) dateline();
        break;
      case Block::kMesh:
        for (std::size_t i = 0; i + 1 < size; ++i) neighbours(i, i + 1);
        break;
      case Block::kFullyConnected:
        for (std::size_t i = 0; i < size; ++i) {
          for (std::size_t j = i + 1; j < size; ++j) {
            const auto [at_i, at_j] = connect(routers_[i], routers_[j]);
            if (i != 0) continue;
            if (j == 1) steps_[0].plus = at_i;
            steps_[j].plus = at_j;
          }
        }
        break;
      case Block::kSwitch:
      case Block::kHub:
        hub();
        break;
    }
    for (std::size_t i = 0; i < size; ++i) topology_.switches[routers_[i]].steps.push_back(steps_[i]);
  }

 private:
  [[nodiscard]] GridStep step(Block block, std::size_t own) const {
    return {block,
            d_,
            static_cast<std::uint16_t>(dimension_.size),
            static_cast<std::uint16_t>(own),
            static_cast<std::uint16_t>(dimension_.links),
            0,
            0};
  }

  /// Links in both directions, in the group of ports that is the dimension.
  std::pair<std::uint16_t, std::uint16_t> connect(std::uint32_t a, std::uint32_t b) {
    const auto first = topology_.connect(a, b, link_, dimension_.links);
    for (int i = 0; i < dimension_.links; ++i) {
      const auto offset = static_cast<std::size_t>(i);
      topology_.switches[a].ports[first.first + offset].lanes.group = d_;
      topology_.switches[b].ports[first.second + offset].lanes.group = d_;
    }
    return first;
  }
  void neighbours(std::size_t low, std::size_t high) {
    const auto [at_low, at_high] = connect(routers_[low], routers_[high]);
    steps_[low].plus = at_low;
    steps_[high].minus = at_high;
    if (routers_.size() == 2) {
      // One way alone, whatever it is called.
      steps_[low].minus = at_low;
      steps_[high].plus = at_high;
    }
  }
  /// The dateline is the link between the last router and the first, in both directions.
  void dateline() {
    for (int i = 0; i < dimension_.links; ++i) {
      const auto offset = static_cast<std::size_t>(i);
      topology_.switches[routers_.back()].ports[steps_.back().plus + offset].lanes.shift_out = 1;
      topology_.switches[routers_.front()].ports[steps_.front().minus + offset].lanes.shift_out = 1;
    }
  }
  void hub() {
    const std::uint32_t hub =
        topology_.add_switch("switch" + std::to_string(d_) + "_" + std::to_string(routers_.front()), 1);
    for (std::size_t i = 0; i < routers_.size(); ++i) steps_[i].plus = connect(routers_[i], hub).first;
    topology_.switches[hub].steps.push_back(step(Block::kHub, UINT16_MAX));
  }

  Topology& topology_;
  const Dimension& dimension_;
  std::uint8_t d_;
  std::uint32_t link_;
  std::vector<std::uint32_t> routers_;
  std::vector<GridStep> steps_;
};

/// The link of an end to a router of its own: not the bottleneck unless the user says so.
LinkConfig injection_link(const Topology& topology, std::uint32_t router, const FabricConfig& config) {
  LinkConfig link = config.link;
  link.propagation = Time();
  link.rate = config.injection;
  if (link.rate.count() == 0) {
    for (const Topology::Neighbour& port : topology.switches[router].ports) {
      if (!port.is_end) link.rate += topology.link_of(port).rate;
    }
  }
  return link;
}

/// Gives the ends, which are attached already, their links.
void set_injection(Topology& topology, std::uint32_t routers, const FabricConfig& config) {
  std::map<std::int64_t, std::uint32_t> by_rate;
  for (std::uint32_t r = 0; r < routers; ++r) {
    const LinkConfig link = injection_link(topology, r, config);
    const auto found = by_rate.find(link.rate.count());
    const std::uint32_t index = found != by_rate.end() ? found->second : topology.add_link(link);
    by_rate.emplace(link.rate.count(), index);
    for (Topology::Neighbour& port : topology.switches[r].ports) {
      if (port.is_end) port.link = index;
    }
  }
}

}  // namespace

Topology build_ring(int ends, const FabricConfig& config, const std::string& /*path*/) {
  Topology topology;
  topology.add_link(config.link);
  topology.lanes_needed = 2;
  for (int i = 0; i < ends; ++i) {
    topology.attach_end(topology.add_switch("router" + std::to_string(i)));
  }
  if (ends >= 2) {
    const int edges = ends == 2 ? 1 : ends;
    for (int i = 0; i < edges; ++i) {
      topology.connect(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>((i + 1) % ends));
    }
  }
  if (ends > 2) {
    // The dateline is the link between the last router and the first, in both directions.
    topology.switches.back().ports.back().lanes.shift_out = 1;
    topology.switches.front().ports.back().lanes.shift_out = 1;
    topology.lanes_change = true;
  }
  if (config.injection.count() != 0) set_injection(topology, static_cast<std::uint32_t>(ends), config);
  return topology;
}

std::vector<int> grid_sizes(const FabricConfig& config) {
  std::vector<int> sizes;
  if (config.topology == Shape::kDimensions) {
    for (const DimensionConfig& dimension : config.dimensions) {
      const auto block = parse_block(dimension.block);
      if (!block) return {};
      sizes.push_back(block->second);
    }
    return sizes;
  }
  const bool has_coordinates =
      config.topology == Shape::kTorus || config.topology == Shape::kMesh || config.topology == Shape::kHyperX;
  if (!has_coordinates) return {};
  sizes = config.sizes;
  if (config.topology == Shape::kHyperX) sizes.insert(sizes.begin(), config.hosts_per_router);
  return sizes;
}

Topology build_grid(int ends, const FabricConfig& config, const std::string& path) {
  const std::vector<Dimension> dimensions = dimensions_of(config, path);
  const int hosts = config.topology == Shape::kHyperX ? config.hosts_per_router : 1;
  check_size(dimensions, hosts, ends, config, path);

  auto grid = std::make_shared<Grid>();
  grid->routers = static_cast<std::uint32_t>(ends / hosts);
  grid->hosts = static_cast<std::uint32_t>(hosts);
  grid->dimensions = static_cast<std::uint32_t>(dimensions.size());
  Topology topology;
  topology.add_link(config.link);
  for (std::uint32_t r = 0; r < grid->routers; ++r) {
    topology.add_switch("router" + std::to_string(r));
    for (int h = 0; h < hosts; ++h) topology.attach_end(r);
    std::uint32_t rest = r;
    for (const Dimension& dimension : dimensions) {
      const auto size = static_cast<std::uint32_t>(dimension.size);
      grid->coordinates.push_back(static_cast<std::uint16_t>(rest % size));
      rest /= size;
    }
  }
  std::uint32_t stride = 1;
  bool rings = false;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const Dimension& dimension = dimensions[d];
    const std::uint32_t link = topology.add_link(dimension.link);
    const auto size = static_cast<std::uint32_t>(dimension.size);
    for (std::uint32_t first = 0; first < grid->routers; ++first) {
      if (first / stride % size != 0) continue;
      std::vector<std::uint32_t> routers;
      for (std::uint32_t i = 0; i < size; ++i) routers.push_back(first + i * stride);
      Line(topology, dimension, static_cast<std::uint8_t>(d), link, std::move(routers)).join();
    }
    stride *= size;
    rings = rings || (dimension.block == Block::kRing && dimension.size > 3);
  }
  if (hosts == 1 || config.injection.count() != 0) set_injection(topology, grid->routers, config);

  topology.lanes_needed = rings ? 2 : 1;
  topology.lanes_change = rings;
  if (config.routing == Routing::kValiant) {
    topology.second_lane = static_cast<std::uint8_t>(topology.lanes_needed);
    topology.lanes_needed *= 2;
    topology.lanes_change = true;
  }
  topology.grid = std::move(grid);
  return topology;
}

}  // namespace weft::fabric
