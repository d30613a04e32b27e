// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/topology_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

namespace weft::platforms {
namespace {

using fabric::Topology;

constexpr std::size_t kMostEnds = 512;
constexpr double kStep = 60;  // between neighbours, in pixels
constexpr double kMargin = 60;
constexpr double kBend = 0.25;  // how far a link that passes others leaves their line, by its length

struct Line {
  std::uint32_t a;
  std::uint32_t b;
  bool operator<(const Line& other) const { return std::pair(a, b) < std::pair(other.a, other.b); }
};

struct Links {
  int count = 0;
  double heat = 0;  ///< of the hottest
};

/// Links between switches; parallel ones are one line.
std::map<Line, Links> lines_of(const Topology& topology, const Heat& heat = {}) {
  std::map<Line, Links> lines;
  for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
    for (std::size_t p = 0; p < topology.switches[s].ports.size(); ++p) {
      const Topology::Neighbour& port = topology.switches[s].ports[p];
      if (port.is_end || s >= port.index) continue;
      Links& links = lines[{s, port.index}];
      ++links.count;
      if (heat) links.heat = std::max(links.heat, heat(s, p));
    }
  }
  return lines;
}

/// From pale blue through yellow to red.
std::string colour_of(double heat) {
  const double h = std::clamp(heat, 0.0, 1.0);
  const auto mix = [](double from, double to, double at) {
    return static_cast<int>(std::lround(from + (to - from) * at));
  };
  if (h < 0.5)
    return fmt::format("#{:02x}{:02x}{:02x}", mix(190, 250, 2 * h), mix(210, 190, 2 * h), mix(230, 40, 2 * h));
  return fmt::format("#{:02x}{:02x}{:02x}", mix(250, 200, 2 * h - 1), mix(190, 0, 2 * h - 1), mix(40, 0, 2 * h - 1));
}

std::string stroke(const Heat& heat, double value) {
  return heat ? fmt::format(" stroke=\"{}\"", colour_of(value)) : "";
}

/// A bar with the colours of 0, 25, ... 100 %.
std::string scale() {
  std::string text;
  for (int i = 0; i <= 4; ++i) {
    text += fmt::format(
        "<rect x=\"{0}\" y=\"6\" width=\"24\" height=\"8\" fill=\"{1}\"/><text x=\"{2}\" y=\"23\">{3} %</text>\n",
        8 + 24 * i, colour_of(i * 0.25), 20 + 24 * i, 25 * i);
  }
  return text;
}

struct Point {
  double x = 0;
  double y = 0;
};

/// Even dimensions to the right, odd ones downwards, each a tile of those before.
Point grid_place(const Topology& topology, std::uint32_t router) {
  const fabric::Grid& grid = *topology.grid;
  Point at;
  double wide = kStep;
  double high = kStep;
  const std::vector<fabric::GridStep>& steps = topology.switches.front().steps;
  for (std::uint32_t d = 0; d < grid.dimensions; ++d) {
    const double own = grid.coordinates[router * grid.dimensions + d];
    double& tile = d % 2 == 0 ? wide : high;
    (d % 2 == 0 ? at.x : at.y) += own * tile;
    tile *= steps[d].size + 0.6;
  }
  return at;
}

std::vector<Point> grid_places(const Topology& topology) {
  std::vector<Point> places(topology.switches.size());
  for (std::uint32_t s = 0; s < places.size(); ++s) {
    if (s < topology.grid->routers) {
      places[s] = grid_place(topology, s);
      continue;
    }
    // A hub stands amid its routers, a little aside so that they do not hide it.
    for (const Topology::Neighbour& port : topology.switches[s].ports) {
      places[s].x += places[port.index].x / static_cast<double>(topology.switches[s].ports.size());
      places[s].y += places[port.index].y / static_cast<double>(topology.switches[s].ports.size());
    }
    places[s].x += kStep * 0.3;
    places[s].y += kStep * 0.3;
  }
  return places;
}

std::vector<Point> level_places(const Topology& topology) {
  std::map<int, int> count;
  for (const Topology::Node& node : topology.switches) ++count[node.level];
  int widest = 0;
  for (const auto& [level, number] : count) widest = std::max(widest, number);
  const int top = count.rbegin()->first;
  std::map<int, int> placed;
  std::vector<Point> places;
  for (const Topology::Node& node : topology.switches) {
    const double gap = kStep * widest / count[node.level];
    places.push_back({(placed[node.level]++ + 0.5) * gap, (top - node.level) * 4 * kStep});
  }
  return places;
}

std::vector<Point> circle_places(const Topology& topology) {
  const auto n = static_cast<double>(topology.switches.size());
  const double radius = n < 2 ? 0 : std::max(2 * kStep, n * kStep / (2 * std::numbers::pi));
  std::vector<Point> places;
  for (std::size_t s = 0; s < topology.switches.size(); ++s) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(s) / n - std::numbers::pi / 2;
    places.push_back({radius * std::cos(angle), radius * std::sin(angle)});
  }
  return places;
}

std::vector<Point> places_of(const Topology& topology) {
  if (topology.grid != nullptr) return grid_places(topology);
  const bool levels = std::any_of(topology.switches.begin(), topology.switches.end(),
                                  [](const Topology::Node& node) { return node.level > 0; });
  return levels ? level_places(topology) : circle_places(topology);
}

}  // namespace

std::string to_dot(const Topology& topology, const std::string& name) {
  std::string text = fmt::format("graph \"{}\" {{\n  node [shape=box];\n", name);
  for (const Topology::Node& node : topology.switches) text += fmt::format("  {};\n", node.name);
  for (std::size_t e = 0; e < topology.ends.size(); ++e) {
    text +=
        fmt::format("  end{} [shape=point];\n  end{} -- {};\n", e, e, topology.switches[topology.ends[e].first].name);
  }
  for (const auto& [line, links] : lines_of(topology)) {
    text += fmt::format("  {} -- {}{};\n", topology.switches[line.a].name, topology.switches[line.b].name,
                        links.count > 1 ? fmt::format(" [label={}]", links.count) : "");
  }
  return text + "}\n";
}

std::string to_svg(const Topology& topology) {
  return to_svg(topology, {});
}

std::string to_svg(const Topology& topology, const Heat& heat) {
  std::vector<Point> places = places_of(topology);
  Point low = places.front();
  Point high = places.front();
  for (const Point& at : places) {
    low = {std::min(low.x, at.x), std::min(low.y, at.y)};
    high = {std::max(high.x, at.x), std::max(high.y, at.y)};
  }
  for (Point& at : places) at = {at.x - low.x + kMargin, at.y - low.y + kMargin};
  const double width = high.x - low.x + 2 * kMargin;
  const double height = high.y - low.y + 2 * kMargin;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"9\" text-anchor=\"middle\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<g fill=\"none\" stroke=\"#999\">\n",
      width, height);
  for (const auto& [line, links] : lines_of(topology, heat)) {
    const Point a = places[line.a];
    const Point b = places[line.b];
    // A link that passes others of a grid goes round them.
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    const double bend = topology.grid != nullptr && length > 1.2 * kStep ? kBend : 0;
    const Point middle{(a.x + b.x) / 2 - (b.y - a.y) * bend, (a.y + b.y) / 2 + (b.x - a.x) * bend};
    text +=
        fmt::format("<path d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" stroke-width=\"{}\"{}/>\n", a.x, a.y,
                    middle.x, middle.y, b.x, b.y, std::min(links.count, 8) + (heat ? 1 : 0), stroke(heat, links.heat));
  }
  text += "</g>\n<g fill=\"#4a7\" stroke=\"#4a7\">\n";
  if (topology.ends.size() <= kMostEnds) {
    std::vector<double> on(topology.switches.size());
    std::vector<double> drawn(topology.switches.size());
    for (const auto& [sw, port] : topology.ends) ++on[sw];
    for (const auto& [sw, port] : topology.ends) {
      // Side by side below their switch.
      const double share = (drawn[sw]++ + 0.5) / on[sw] - 0.5;
      const Point at{places[sw].x + share * kStep * 0.8, places[sw].y + kStep * 0.4};
      text += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"{}/><circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>\n",
                          places[sw].x, places[sw].y, at.x, at.y, stroke(heat, heat ? heat(sw, port) : 0), at.x, at.y);
    }
  }
  text += "</g>\n";
  for (std::size_t s = 0; s < places.size(); ++s) {
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"40\" height=\"14\" rx=\"3\" fill=\"#def\" stroke=\"#369\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        places[s].x - 20, places[s].y - 7, places[s].x, places[s].y + 3, topology.switches[s].name);
  }
  if (heat) text += scale();
  return text + "</svg>\n";
}

}  // namespace weft::platforms
