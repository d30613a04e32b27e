// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/pictures/topology_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "platforms/results/pictures/svg.h"

namespace weft::platforms {
namespace {

using fabric::Topology;

constexpr double kMargin = 20;
constexpr double kHeader = 52;
constexpr double kLeastWidth = 440;
constexpr std::ptrdiff_t kMostCounted = 120;  // lines that bear the number of their links

/// How many links join two switches.
std::map<std::pair<std::uint32_t, std::uint32_t>, int> links_of(const Topology& topology) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> links;
  for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
    for (const Topology::Neighbour& port : topology.switches[s].ports) {
      if (!port.is_end && s < port.index) ++links[{s, port.index}];
    }
  }
  return links;
}

/// From pale blue through green, yellow and orange to red.
std::string colour_of(double heat) {
  constexpr std::array<std::array<int, 3>, 5> kStops{
      {{0xc8, 0xd4, 0xe3}, {0x7f, 0xc2, 0x97}, {0xf4, 0xc8, 0x2a}, {0xec, 0x77, 0x1e}, {0xb8, 0x00, 0x10}}};
  const double place = std::clamp(heat, 0.0, 1.0) * (kStops.size() - 1);
  const auto from = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
  const auto mix = [&](std::size_t part) {
    const double share = place - static_cast<double>(from);
    return static_cast<int>(std::lround(kStops[from][part] * (1 - share) + kStops[from + 1][part] * share));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2));
}

/// Writes a Layout as SVG.
class Painter {
 public:
  Painter(const Topology& topology, Layout layout, bool heated, std::string meaning)
      : topology_(topology), layout_(std::move(layout)), heated_(heated), meaning_(std::move(meaning)) {
    // Those of a heat map lie where they are seen: the hottest on top.
    std::stable_sort(layout_.lines.begin(), layout_.lines.end(),
                     [](const Layout::Line& a, const Layout::Line& b) { return a.heat < b.heat; });
    for (const Layout::Line& line : layout_.lines) counts_.insert(line.links);
    const auto several = std::count_if(layout_.lines.begin(), layout_.lines.end(),
                                       [](const Layout::Line& line) { return line.links > 1; });
    counted_ = counts_.size() > 1 && several <= kMostCounted;
    measure();
  }

  std::string operator()() {
    text_ = svg_beginning(low_.x, low_.y, high_.x - low_.x, high_.y - low_.y, "font-size=\"9\" text-anchor=\"middle\"");
    caption();
    frames();
    lines();
    boxes();
    for (const Layout::Note& note : layout_.notes) {
      text_ +=
          fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#555\">{}</text>\n", note.at.x, note.at.y, note.text);
    }
    return text_ + "</svg>\n";
  }

 private:
  void cover(Point at, double x, double y) {
    low_ = {std::min(low_.x, at.x - x), std::min(low_.y, at.y - y)};
    high_ = {std::max(high_.x, at.x + x), std::max(high_.y, at.y + y)};
  }
  void measure() {
    low_ = high_ = layout_.boxes.front().at;
    for (const Layout::Box& box : layout_.boxes) cover(box.at, std::max(box.width, strip_of(box)) / 2, 24);
    for (const Layout::Frame& frame : layout_.frames) {
      cover(frame.low, 0, 12);
      cover(frame.high, 0, 0);
    }
    for (const Layout::Note& note : layout_.notes) cover(note.at, 3.0 * static_cast<double>(note.text.size()), 8);
    for (const Layout::Line& line : layout_.lines) {
      cover({(line.a.x + line.b.x) / 2 + line.bow.x, (line.a.y + line.b.y) / 2 + line.bow.y}, 12, 12);
      cover(line.b, 4, 4);
    }
    const double missing = std::max(0.0, kLeastWidth - 2 * kMargin - (high_.x - low_.x));
    low_ = {low_.x - kMargin - missing / 2, low_.y - kHeader};
    high_ = {high_.x + kMargin + missing / 2, high_.y + kMargin};
  }

  /// What is shown, and by what.
  void caption() {
    const double x = low_.x + 12;
    const double y = low_.y + 18;
    std::size_t links = 0;
    for (const auto& [pair, count] : links_of(topology_)) links += static_cast<std::size_t>(count);
    const auto number = [](std::size_t n, const char* one, const char* more) {
      return fmt::format("{} {}", n, n == 1 ? one : more);
    };
    text_ += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"start\" font-size=\"12\">{}, {}, {} between switches</text>\n",
        x, y, number(topology_.ends.size(), "end", "ends"), number(topology_.switches.size(), "switch", "switches"),
        number(links, "link", "links"));
    const double row = y + 18;
    if (heated_) {
      for (int i = 0; i <= 4; ++i) {
        text_ += fmt::format(
            "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"30\" height=\"8\" fill=\"{}\"/>"
            "<text x=\"{:.0f}\" y=\"{:.0f}\">{} %</text>\n",
            x + 30 * i, row - 10, colour_of(i * 0.25), x + 15 + 30 * i, row + 7, 25 * i);
      }
      text_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"start\">{}</text>\n", x + 158, row - 2,
                           svg_text(meaning_));
      return;
    }
    std::string of_links = " link";
    if (counts_.size() > 1) {
      of_links = fmt::format(" {} to {} links", *counts_.begin(), *counts_.rbegin());
    } else if (counts_.size() == 1 && *counts_.begin() > 1) {
      of_links = fmt::format(" {} links", *counts_.begin());
    }
    text_ += fmt::format(
        "<g text-anchor=\"start\"><rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"20\" height=\"10\" rx=\"3\" fill=\"#def\" "
        "stroke=\"#369\"/><text x=\"{2:.0f}\" y=\"{3:.0f}\">switch</text>"
        "<rect x=\"{4:.0f}\" y=\"{5:.0f}\" width=\"5\" height=\"5\" fill=\"#4a7\"/><text x=\"{6:.0f}\" "
        "y=\"{3:.0f}\">end</text></g>\n",
        x, row - 8, x + 24, row, x + 64, row - 5, x + 73, row);
    if (counts_.empty()) return;
    text_ += fmt::format(
        "<path d=\"M{:.0f} {:.0f}h20\" stroke=\"#999\" stroke-width=\"{:.1f}\"/><text x=\"{:.0f}\" "
        "y=\"{:.0f}\" text-anchor=\"start\">{}</text>\n",
        x + 104, row - 3, thickness(*counts_.begin()), x + 126, row, of_links);
  }

  void frames() {
    for (const Layout::Frame& frame : layout_.frames) {
      text_ += fmt::format(
          "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"6\" fill=\"#f6f8fa\" "
          "stroke=\"#ccd\"/><text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#555\" text-anchor=\"start\">{}</text>\n",
          frame.low.x, frame.low.y, frame.high.x - frame.low.x, frame.high.y - frame.low.y, frame.low.x + 4,
          frame.low.y - 4, frame.label);
    }
  }

  static double thickness(int links) { return std::min(1 + std::log2(links), 6.0); }

  void lines() {
    text_ += fmt::format("<g fill=\"none\" stroke=\"#999\"{}>\n",
                         layout_.dense && !heated_ ? " stroke-opacity=\"0.5\" stroke-width=\"0.6\"" : "");
    std::string numbers;
    for (const Layout::Line& line : layout_.lines) {
      // A curve whose middle is as far aside as was asked for, and which leaves its ends at right angles.
      const Point bow{line.bow.x * 4 / 3, line.bow.y * 4 / 3};
      std::string path = fmt::format("M{:.0f} {:.0f}", line.a.x, line.a.y);
      if (bow.x != 0 || bow.y != 0) {
        path += fmt::format("C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}", line.a.x + bow.x, line.a.y + bow.y,
                            line.b.x + bow.x, line.b.y + bow.y, line.b.x, line.b.y);
      } else {
        path += fmt::format("L{:.0f} {:.0f}", line.b.x, line.b.y);
      }
      std::string style;
      if (line.links > 1 || heated_) style += fmt::format(" stroke-width=\"{:.1f}\"", thickness(line.links) + heated_);
      if (heated_) style += fmt::format(" stroke=\"{}\"", colour_of(line.heat));
      if (line.broken) style += " stroke-dasharray=\"3 2\"";
      text_ += fmt::format("<path d=\"{}\"{}/>\n", path, style);
      if (counted_ && line.links > 1 && !line.broken) {
        numbers += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">×{}</text>\n", (line.a.x + line.b.x) / 2 + line.bow.x,
                               (line.a.y + line.b.y) / 2 + line.bow.y - 4, line.links);
      }
    }
    text_ += "</g>\n<g stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">\n" + numbers + "</g>\n";
  }

  /// The width of the row of ends below a switch.
  [[nodiscard]] double strip_of(const Layout::Box& box) const {
    const auto n = static_cast<double>(box.ends.size());
    return layout_.dense ? kDenseStrip : std::min({std::max(box.width - 4, 2.5 * n), 8 * n, kWidestStrip});
  }

  void boxes() {
    text_ += "<g stroke=\"#369\" fill=\"#def\">\n";
    for (const Layout::Box& box : layout_.boxes) {
      text_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"3\"><title>{}</title></rect>\n",
          box.at.x - box.width / 2, box.at.y - Layout::kBoxHeight / 2, box.width, Layout::kBoxHeight,
          svg_text(box.name));
    }
    text_ += "</g>\n";
    for (const Layout::Box& box : layout_.boxes) {
      if (!box.label.empty()) {
        text_ +=
            fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", box.at.x, box.at.y + 3, svg_text(box.label));
      }
      if (!box.ends.empty()) ends(box);
    }
  }

  /// Neighbours of one colour are one piece.
  void ends(const Layout::Box& box) {
    const double width = strip_of(box);
    const std::size_t n = box.ends.size();
    const double each = width / static_cast<double>(n);
    const double left = box.at.x - width / 2;
    const double top = box.at.y + Layout::kBoxHeight / 2 + 2;
    std::string path;
    std::string colour;
    const auto finish = [&] {
      if (!path.empty()) text_ += fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", path, colour);
      path.clear();
    };
    for (std::size_t i = 0; i < n; ++i) {
      std::string next = heated_ ? colour_of(box.ends[i]) : "#4a7";
      if (next != colour) finish();
      colour = std::move(next);
      path += fmt::format("M{:.1f} {:.1f}h{:.1f}v5h-{:.1f}z", left + each * static_cast<double>(i), top, each * 0.8,
                          each * 0.8);
    }
    finish();
    constexpr std::size_t kEasilyCounted = 8;
    if (n > kEasilyCounted && !layout_.dense) {
      text_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#555\">{} ends</text>\n", box.at.x, top + 15, n);
    }
  }

  static constexpr double kDenseStrip = 12;
  static constexpr double kWidestStrip = 64;

  const Topology& topology_;
  Layout layout_;
  bool heated_;
  std::string meaning_;   ///< of the scale
  std::set<int> counts_;  ///< of links, that lines stand for
  bool counted_ = false;
  Point low_;
  Point high_;
  std::string text_;
};

}  // namespace

std::string to_dot(const Topology& topology, const std::string& name) {
  std::string text = fmt::format("graph \"{}\" {{\n  node [shape=box];\n", name);
  for (const Topology::Node& node : topology.switches) text += fmt::format("  {};\n", node.name);
  for (std::size_t e = 0; e < topology.ends.size(); ++e) {
    text +=
        fmt::format("  end{} [shape=point];\n  end{} -- {};\n", e, e, topology.switches[topology.ends[e].first].name);
  }
  for (const auto& [pair, links] : links_of(topology)) {
    text += fmt::format("  {} -- {}{};\n", topology.switches[pair.first].name, topology.switches[pair.second].name,
                        links > 1 ? fmt::format(" [label={}]", links) : "");
  }
  return text + "}\n";
}

std::string to_svg(const Topology& topology) {
  return to_svg(topology, {});
}

std::string to_svg(const Topology& topology, const Heat& heat, const std::string& meaning) {
  return Painter(topology, lay_out(topology, heat), heat != nullptr, meaning)();
}

}  // namespace weft::platforms
