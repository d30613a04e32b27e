// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/pictures/topology_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

namespace weft::platforms {
namespace {

using fabric::Topology;

constexpr double kStep = 72;       // between neighbours that bear names, in pixels
constexpr double kDenseStep = 16;  // and between those that do not
constexpr double kDenseBox = 10;
constexpr double kTileGap = 84;
constexpr std::size_t kMostNamed = 40;  // in a row or on a circle

double width_of(const std::string& label) {
  return std::max(20.0, 5.2 * static_cast<double>(label.size()) + 10);
}

Point operator+(Point a, Point b) {
  return {a.x + b.x, a.y + b.y};
}

struct Pair {
  std::uint32_t a;
  std::uint32_t b;
  bool operator<(const Pair& other) const { return std::pair(a, b) < std::pair(other.a, other.b); }
};

struct Links {
  int count = 0;
  double heat = 0;  ///< of the hottest
};

class Layouter {
 public:
  Layouter(const Topology& topology, const Heat& heat) : topology_(topology), heat_(heat) {
    for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
      for (std::size_t p = 0; p < topology.switches[s].ports.size(); ++p) {
        const Topology::Neighbour& port = topology.switches[s].ports[p];
        if (!port.is_end && s < port.index) add(links_[{s, port.index}], 1, heat ? heat(s, p) : 0);
      }
    }
  }

  Layout operator()() {
    if (topology_.grid != nullptr) {
      grid();
    } else if (topology_.dragonfly != nullptr) {
      groups();
    } else if (std::any_of(topology_.switches.begin(), topology_.switches.end(),
                           [](const Topology::Node& node) { return node.level > 0; })) {
      levels();
    } else {
      circle();
    }
    for (const auto& [sw, port] : topology_.ends) {
      if (box_of_[sw] >= 0) layout_.boxes[index(box_of_[sw])].ends.push_back(heat_ ? heat_(sw, port) : 0);
    }
    return std::move(layout_);
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static void add(Links& to, int count, double heat) {
    to.count += count;
    to.heat = std::max(to.heat, heat);
  }

  void place(std::uint32_t sw, Point at, const std::string& label) {
    box_of_.resize(topology_.switches.size(), -1);
    box_of_[sw] = static_cast<int>(layout_.boxes.size());
    layout_.boxes.push_back(
        {at, layout_.dense ? kDenseBox : width_of(label), layout_.dense ? "" : label, topology_.switches[sw].name, {}});
  }
  void place(std::uint32_t sw, Point at) { place(sw, at, topology_.switches[sw].name); }
  [[nodiscard]] Point at(std::uint32_t sw) const { return layout_.boxes[index(box_of_[sw])].at; }

  void join(Pair pair, const Links& links, Point bow = {}) {
    layout_.lines.push_back({at(pair.a), at(pair.b), bow, links.count, links.heat, false});
  }
  void join_all() {
    for (const auto& [pair, links] : links_) join(pair, links);
  }

  void levels();
  void circle();
  void groups();
  void grid();

  // Of a grid
  [[nodiscard]] std::uint32_t coordinate(std::uint32_t router, std::uint32_t dimension) const {
    return topology_.grid->coordinates[router * topology_.grid->dimensions + dimension];
  }
  [[nodiscard]] const fabric::GridStep& step(std::uint32_t dimension) const {
    return topology_.switches.front().steps[dimension];
  }
  [[nodiscard]] bool is_hub(std::uint32_t sw) const { return sw >= topology_.grid->routers; }
  /// A router's tile, by the router of it that has no coordinates within.
  [[nodiscard]] std::uint32_t tile_of(std::uint32_t router) const {
    std::uint32_t tile = router - coordinate(router, 0);
    if (topology_.grid->dimensions > 1) tile -= coordinate(router, 1) * step(0).size;
    return tile;
  }
  [[nodiscard]] std::uint32_t dimension_of_hub(std::uint32_t hub) const;
  [[nodiscard]] std::uint32_t dimension_between(std::uint32_t a, std::uint32_t b) const;
  void measure_tiles();
  void place_routers();
  void place_hubs();
  void join_in_tile(Pair pair, const Links& links);
  void join_tiles();
  [[nodiscard]] Point aside(std::uint32_t dimension, double by) const;

  const Topology& topology_;
  const Heat& heat_;
  Layout layout_;
  std::map<Pair, Links> links_;  // between switches; parallel ones are one line
  std::vector<int> box_of_;      // by switch; negative if it is drawn as part of something else

  double step_ = kStep;
  Point tile_size_;
  std::map<std::uint32_t, Point> tiles_;                  // centres
  std::map<std::uint32_t, std::uint32_t> joined_hub_of_;  // of hubs between tiles, that which stands for all like it
};

void Layouter::levels() {
  std::map<int, int> count;
  std::map<int, std::string> stem;
  for (const Topology::Node& node : topology_.switches) {
    ++count[node.level];
    stem[node.level] = node.name.substr(0, node.name.find_first_of("0123456789"));
  }
  int widest = 0;
  for (const auto& [level, number] : count) widest = std::max(widest, number);
  layout_.dense = static_cast<std::size_t>(widest) > kMostNamed;
  const double width = std::max(4.0, static_cast<double>(widest)) * (layout_.dense ? kDenseStep : kStep);
  const double gap = std::clamp(width / 5, 110.0, 420.0);
  const int top = count.rbegin()->first;
  std::map<int, int> placed;
  for (std::uint32_t s = 0; s < topology_.switches.size(); ++s) {
    const int level = topology_.switches[s].level;
    place(s, {(placed[level]++ + 0.5) * width / count[level], (top - level) * gap});
  }
  for (const auto& [level, number] : count) {
    layout_.notes.push_back({{-50, (top - level) * gap + 3}, fmt::format("{} × {}", number, stem[level])});
  }
  join_all();
}

void Layouter::circle() {
  const std::size_t n = topology_.switches.size();
  layout_.dense = n > kMostNamed;
  const double around = static_cast<double>(n) * (layout_.dense ? kDenseStep : kStep);
  const double radius = n < 2 ? 0 : std::max(90.0, around / (2 * std::numbers::pi));
  for (std::uint32_t s = 0; s < n; ++s) {
    const double angle = 2 * std::numbers::pi * s / static_cast<double>(n) - std::numbers::pi / 2;
    place(s, {radius * std::cos(angle), radius * std::sin(angle)});
  }
  join_all();
}

void Layouter::groups() {
  const fabric::Dragonfly& shape = *topology_.dragonfly;
  const double inner = std::max(32.0, shape.routers * 30 / (2 * std::numbers::pi));
  const double half = inner + 20;  // of a group's frame
  const double outer = std::max(2.2 * half, shape.groups * 3.1 * half / (2 * std::numbers::pi));
  for (std::uint32_t g = 0; g < shape.groups; ++g) {
    const double turn = 2 * std::numbers::pi * g / shape.groups - std::numbers::pi / 2;
    const Point centre{outer * std::cos(turn), outer * std::sin(turn)};
    for (std::uint32_t r = 0; r < shape.routers; ++r) {
      const double angle = 2 * std::numbers::pi * r / shape.routers + turn;
      place(g * shape.routers + r, centre + Point{inner * std::cos(angle), inner * std::sin(angle)}, std::to_string(r));
    }
    layout_.frames.push_back({centre + Point{-half, -half}, centre + Point{half, half}, fmt::format("group {}", g)});
  }
  join_all();
}

std::uint32_t Layouter::dimension_between(std::uint32_t a, std::uint32_t b) const {
  std::uint32_t d = 0;
  while (d + 1 < topology_.grid->dimensions && coordinate(a, d) == coordinate(b, d)) ++d;
  return d;
}

std::uint32_t Layouter::dimension_of_hub(std::uint32_t hub) const {
  return topology_.switches[hub].steps.front().dimension;
}

/// Where what passes others of a dimension goes: above rows, to the right of columns.
Point Layouter::aside(std::uint32_t dimension, double by) const {
  return dimension % 2 == 0 ? Point{0, -by} : Point{by, 0};
}

void Layouter::measure_tiles() {
  const fabric::Grid& shape = *topology_.grid;
  const auto extent = [&](std::uint32_t d) {
    if (d >= shape.dimensions) return 1.0;
    return step(d).size + (step(d).block == fabric::Block::kSwitch ? 1.0 : 0.0);
  };
  layout_.dense = shape.routers > 400;
  step_ = layout_.dense ? 1.5 * kDenseStep : kStep;
  tile_size_ = {extent(0) * step_ + 10, extent(1) * step_ + 10};
}

void Layouter::place_routers() {
  const fabric::Grid& shape = *topology_.grid;
  for (std::uint32_t router = 0; router < shape.routers; ++router) {
    Point at;
    Point pitch{tile_size_.x + kTileGap, tile_size_.y + kTileGap};
    std::string label;
    for (std::uint32_t d = 2; d < shape.dimensions; ++d) {
      double& along = d % 2 == 0 ? at.x : at.y;
      double& by = d % 2 == 0 ? pitch.x : pitch.y;
      along += coordinate(router, d) * by;
      by = by * step(d).size + kTileGap;
      label += fmt::format(", {}", coordinate(router, d));
    }
    if (tile_of(router) == router) {
      tiles_[router] = at + Point{tile_size_.x / 2, tile_size_.y / 2};
      if (shape.dimensions > 2) layout_.frames.push_back({at, at + tile_size_, "*, *" + label});
    }
    const double y = shape.dimensions > 1 ? coordinate(router, 1) : 0;
    place(router, at + Point{(coordinate(router, 0) + 0.5) * step_ + 5, (y + 0.5) * step_ + 5});
  }
}

void Layouter::place_hubs() {
  std::map<std::vector<std::uint32_t>, std::uint32_t> first_of;  // by the tiles that it joins
  std::map<std::uint32_t, int> alike;
  for (std::uint32_t hub = topology_.grid->routers; hub < topology_.switches.size(); ++hub) {
    const std::uint32_t d = dimension_of_hub(hub);
    const auto& ports = topology_.switches[hub].ports;
    if (d < 2) {
      // Behind the last of its row or column.
      Point last = at(ports.front().index);
      for (const auto& port : ports) last = {std::max(last.x, at(port.index).x), std::max(last.y, at(port.index).y)};
      place(hub, last + (d == 0 ? Point{step_, 0} : Point{0, step_}), "switch");
      continue;
    }
    std::vector<std::uint32_t> tiles;
    tiles.reserve(ports.size());
    for (const auto& port : ports) tiles.push_back(tile_of(port.index));
    tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
    const auto [known, is_new] = first_of.try_emplace(tiles, hub);
    joined_hub_of_[hub] = known->second;
    ++alike[known->second];
    if (!is_new) continue;
    Point middle;
    for (const std::uint32_t tile : tiles) {
      middle = middle + Point{tiles_[tile].x / static_cast<double>(tiles.size()),
                              tiles_[tile].y / static_cast<double>(tiles.size())};
    }
    place(hub, middle + (d % 2 == 0 ? Point{0, tile_size_.y / 2 + kTileGap * 0.55}
                                    : Point{tile_size_.x / 2 + kTileGap * 0.55, 0}));
  }
  for (const auto& [hub, count] : alike) {
    Layout::Box& box = layout_.boxes[index(box_of_[hub])];
    box.label = fmt::format("{} × switch", count);
    box.width = width_of(box.label);
  }
}

void Layouter::join_in_tile(Pair pair, const Links& links) {
  const bool to_hub = is_hub(pair.b);
  const std::uint32_t d = to_hub ? dimension_of_hub(pair.b) : dimension_between(pair.a, pair.b);
  const Point a = at(pair.a);
  const Point b = at(pair.b);
  const double size = step(d).size;
  const double apart = std::round(std::hypot(b.x - a.x, b.y - a.y) / step_);
  if (step(d).block == fabric::Block::kRing && apart > 1) {
    // The link that closes a ring is shown by where it leaves and comes in.
    const Point out = d == 0 ? Point{step_ * 0.55, 0} : Point{0, step_ * 0.45};
    layout_.lines.push_back({a, {a.x - out.x, a.y - out.y}, {}, links.count, links.heat, true});
    layout_.lines.push_back({b, b + out, {}, links.count, links.heat, true});
    return;
  }
  const double from = d == 0 ? Layout::kBoxHeight / 2 + 5 : width_of("router000") / 2 - 3;
  const double room = std::max(4.0, step_ - (d == 0 ? 40 : 58));
  join(pair, links, apart > 1 ? aside(d, from + room * (apart - 2) / size) : Point{});
}

void Layouter::join_tiles() {
  struct Between {
    std::uint32_t dimension = 0;
    Links links;
  };
  std::map<Pair, Between> tiles;  // by tile, or tile and hub
  for (const auto& [pair, links] : links_) {
    const bool to_hub = is_hub(pair.b);
    const std::uint32_t d = to_hub ? dimension_of_hub(pair.b) : dimension_between(pair.a, pair.b);
    if (d < 2) continue;
    Between& between = tiles[{tile_of(pair.a), to_hub ? joined_hub_of_[pair.b] : tile_of(pair.b)}];
    between.dimension = d;
    add(between.links, links.count, links.heat);
  }
  for (const auto& [pair, between] : tiles) {
    const auto& [d, links] = between;
    const bool across = d % 2 == 0;
    const Point half = across ? Point{tile_size_.x / 2, 0} : Point{0, tile_size_.y / 2};
    const Point a = tiles_[pair.a];
    if (is_hub(pair.b)) {
      const Point edge = across ? Point{0, tile_size_.y / 2} : Point{tile_size_.x / 2, 0};
      layout_.lines.push_back({a + edge, at(pair.b), {}, links.count, links.heat, false});
      continue;
    }
    const Point b = tiles_[pair.b];
    const std::uint32_t apart = coordinate(pair.b, d) - coordinate(pair.a, d);
    if (apart == 1) {
      layout_.lines.push_back({a + half, {b.x - half.x, b.y - half.y}, {}, links.count, links.heat, false});
      continue;
    }
    const Point edge = across ? Point{0, -tile_size_.y / 2} : Point{-tile_size_.x / 2, 0};
    const double by = 14 + 8 * (apart - 1);
    layout_.lines.push_back(
        {a + edge, b + edge, across ? Point{0, -by} : Point{-by, 0}, links.count, links.heat, false});
  }
}

void Layouter::grid() {
  measure_tiles();
  place_routers();
  place_hubs();
  for (const auto& [pair, links] : links_) {
    const std::uint32_t d = is_hub(pair.b) ? dimension_of_hub(pair.b) : dimension_between(pair.a, pair.b);
    if (d < 2) join_in_tile(pair, links);
  }
  join_tiles();
}

}  // namespace

Layout lay_out(const fabric::Topology& topology, const Heat& heat) {
  return Layouter(topology, heat)();
}

}  // namespace weft::platforms
