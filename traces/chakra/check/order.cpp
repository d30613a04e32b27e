// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/chakra/check/parts.h"

namespace weft::chakra {
namespace {

constexpr std::uint64_t kHashStart = 0xcbf29ce484222325ULL;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 32;
}

}  // namespace

void CommonOrder::add(std::size_t file, const GraphCheck& graph, const Numbers& numbers) {
  std::vector<Edge> edges;
  std::vector<std::uint32_t> vertex_of(graph.size(), kNothing);  // what those behind a node wait for
  std::uint32_t vertices = vertices_;
  std::uint64_t hash = kHashStart;
  std::vector<std::uint32_t> before;
  for (const std::size_t place : graph.sequence()) {
    before.clear();
    for (const std::uint64_t dependency : graph.dependencies_of(place)) {
      if (dependency == GraphCheck::kNowhere || vertex_of[dependency] == kNothing) continue;
      before.push_back(vertex_of[dependency]);
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    const auto number = numbers.find(graph.id_of(place));
    std::uint32_t& vertex = vertex_of[place];
    if (number != numbers.end()) {
      vertex = number->second;
    } else if (before.size() < 2) {
      vertex = before.empty() ? kNothing : before.front();
      continue;
    } else {
      vertex = vertices++;
    }
    for (const std::uint32_t from : before) {
      edges.push_back({from, vertex, static_cast<std::uint32_t>(file)});
      // By where it is among this rank's.
      const auto own = [this](std::uint32_t of) { return of < numbers_ ? of : of - vertices_ + numbers_; };
      hash = mixed(mixed(hash, own(from)), own(vertex));
    }
  }
  if (!known_.insert(hash).second) return;
  vertices_ = vertices;
  edges_.insert(edges_.end(), edges.begin(), edges.end());
}

std::vector<CommonOrder::Step> CommonOrder::contradiction() const {
  std::vector<Edge> edges = edges_;
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; });
  std::vector<std::size_t> begins(vertices_ + 1);
  std::vector<std::uint32_t> waits_for(vertices_);
  for (const Edge& edge : edges) {
    ++begins[edge.from + 1];
    ++waits_for[edge.to];
  }
  for (std::uint32_t i = 0; i < vertices_; ++i) begins[i + 1] += begins[i];
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < vertices_; ++i) {
    if (waits_for[i] == 0) ready.push_back(i);
  }
  std::size_t done = 0;
  for (; done < ready.size(); ++done) {
    for (std::size_t i = begins[ready[done]]; i < begins[ready[done] + 1]; ++i) {
      if (--waits_for[edges[i].to] == 0) ready.push_back(edges[i].to);
    }
  }
  if (done == vertices_) return {};
  // Whatever is left waits for something that is left: a walk backwards comes round.
  std::vector<const Edge*> into(vertices_, nullptr);
  for (const Edge& edge : edges) {
    if (waits_for[edge.from] > 0 && waits_for[edge.to] > 0 && into[edge.to] == nullptr) into[edge.to] = &edge;
  }
  auto at = static_cast<std::uint32_t>(
      std::find_if(into.begin(), into.end(), [](const Edge* edge) { return edge != nullptr; }) - into.begin());
  std::vector<bool> seen(vertices_);
  for (; !seen[at]; at = into[at]->from) seen[at] = true;
  while (at >= numbers_) at = into[at]->from;
  std::vector<Step> steps;
  const std::uint32_t start = at;
  do {
    const std::uint32_t second = at;
    const std::uint32_t file = into[at]->file;
    do {
      at = into[at]->from;
    } while (at >= numbers_);
    // Backwards: what comes later was found first.
    if (!steps.empty() && steps.back().file == file) {
      steps.back().first = at;
    } else {
      steps.push_back({file, at, second});
    }
  } while (at != start);
  if (steps.front().file == steps.back().file) {
    steps.back().first = steps.front().first;
    steps.erase(steps.begin());
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace weft::chakra
