// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/check/joined_graph.h"

#include <algorithm>

namespace weft::chakra {

std::vector<JoinedGraph::Vertex> JoinedGraph::add(std::size_t file, const GraphCheck& graph,
                                                  const std::vector<std::uint32_t>& places) {
  std::vector<bool> communicates(graph.size());
  for (const std::uint32_t place : places) communicates[place] = true;
  std::vector<Vertex> vertex_of(graph.size(), kNone);  // what those behind a node wait for
  const auto first = static_cast<Vertex>(ids_.size());
  first_of_[file] = first;
  files_.push_back({first, file});
  std::vector<Vertex> before;
  for (const std::size_t place : graph.sequence()) {
    before.clear();
    for (const std::uint64_t dependency : graph.dependencies_of(place)) {
      if (dependency == GraphCheck::kNowhere || vertex_of[dependency] == kNone) continue;
      before.push_back(vertex_of[dependency]);
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    if (!communicates[place] && before.size() < 2) {
      vertex_of[place] = before.empty() ? kNone : before.front();
      continue;
    }
    vertex_of[place] = static_cast<Vertex>(ids_.size());
    ids_.push_back(graph.id_of(place));
    before_.insert(before_.end(), before.begin(), before.end());
    ends_.push_back(before_.size());
  }
  unit_of_.resize(ids_.size(), kNone);
  std::vector<Vertex> vertices;
  vertices.reserve(places.size());
  for (const std::uint32_t place : places) {
    const Vertex vertex = vertex_of[place];
    vertices.push_back(vertex == kNone ? kNone : vertex - first);
  }
  return vertices;
}

JoinedGraph::Unit JoinedGraph::join(Kind kind, std::span<const Vertex> members, Unit like, std::uint32_t root,
                                    const Needs* needs) {
  has_needs_ = has_needs_ || needs != nullptr;
  const auto unit = static_cast<Unit>(units_.size());
  units_.push_back({members_.size(), like == kNone ? unit : like, kNone, root, kind, needs});
  last_alike_.push_back(unit);
  if (like != kNone) units_[std::exchange(last_alike_[like], unit)].next = unit;
  members_.insert(members_.end(), members.begin(), members.end());
  for (const Vertex vertex : members) unit_of_[vertex] = unit;
  return unit;
}

void JoinedGraph::part() {
  units_.clear();
  last_alike_.clear();
  members_.clear();
  std::fill(unit_of_.begin(), unit_of_.end(), kNone);
}

std::size_t JoinedGraph::file_of(Vertex vertex) const {
  const auto behind = std::upper_bound(files_.begin(), files_.end(), vertex,
                                       [](Vertex wanted, const File& file) { return wanted < file.first; });
  return std::prev(behind)->file;
}

}  // namespace weft::chakra
