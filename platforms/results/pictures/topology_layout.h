// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hw/fabric/topology/topology.h"

/// Where everything of a picture of a network goes. Trees stand by levels; in networks with coordinates two dimensions
/// make a tile, and further ones join tiles; the groups of a dragonfly, and all else, stand on a circle. What is too
/// small to be read is left out: names of many switches, links by which every router of a tile meets its counterpart in
/// another one.
namespace weft::platforms {

/// How busy the link of a port of a switch was, 0 to 1.
using Heat = std::function<double(std::uint32_t sw, std::size_t port)>;

struct Point {
  double x = 0;
  double y = 0;
};

struct Layout {
  struct Box {
    Point at;  ///< its centre
    double width = 0;
    std::string label;         ///< what is written in it
    std::string name;          ///< shown by browsers under the pointer
    std::vector<double> ends;  ///< heat of each end's link
  };
  struct Line {
    Point a;
    Point b;
    Point bow;  ///< how far its middle is moved aside
    int links = 0;
    double heat = 0;      ///< of the hottest
    bool broken = false;  ///< goes on where the picture does not show it
  };
  struct Frame {
    Point low;
    Point high;
    std::string label;
  };
  struct Note {
    Point at;
    std::string text;
  };

  static constexpr double kBoxHeight = 14;

  std::vector<Frame> frames;
  std::vector<Line> lines;
  std::vector<Box> boxes;
  std::vector<Note> notes;
  bool dense = false;  ///< so many switches that they bear no names
};

/// `heat` may be empty.
Layout lay_out(const fabric::Topology& topology, const Heat& heat);

}  // namespace weft::platforms
