// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/deepep/tokens.h"

#include <numeric>

#include "sw/collectives/pattern.h"

namespace weft::collectives {

bool Tokens::is_possible() const {
  if (nodes.empty() || members.size() % nodes.size() != 0) return false;
  const auto count = static_cast<std::ptrdiff_t>(per_node());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto first = members.begin() + static_cast<std::ptrdiff_t>(n) * count;
    if (nodes[n] < *std::max_element(first, first + count)) return false;
    if (nodes[n] > std::accumulate(first, first + count, std::uint64_t{0})) return false;
  }
  return true;
}

NodeWindows::NodeWindows(const Tokens& tokens, std::size_t node) : whole_(tokens.nodes[node]) {
  std::uint64_t begin = 0;
  for (std::size_t local = 0; local < tokens.per_node(); ++local) {
    const std::uint64_t bytes = tokens.members[node * tokens.per_node() + local];
    windows_.push_back({begin, bytes});
    if (whole_ > 0) begin = (begin + bytes) % whole_;
  }
}

std::vector<NodeWindows::Part> NodeWindows::parts(std::size_t local, Extent region) const {
  const Window& window = windows_[local];
  const std::uint64_t first = std::min(window.bytes, whole_ - window.begin);
  std::vector<Part> result;
  const auto add = [&](std::uint64_t begin, std::uint64_t bytes, std::uint64_t place) {
    const std::uint64_t from = std::max(begin, region.offset);
    const std::uint64_t to = std::min(begin + bytes, region.offset + region.bytes);
    if (from < to) result.push_back({from, place + from - begin, to - from});
  };
  add(window.begin, first, 0);
  add(0, window.bytes - first, first);
  return result;
}

std::uint32_t TokenReference::element(int member, std::uint64_t index) const {
  if (!combines) return pattern(seed, member, index);
  return addend(type, seed, member, static_cast<int>(tokens.members.size()), index);
}

void TokenReference::fill(memory::BackingStore& store, std::uint64_t address, int member) const {
  const std::uint64_t unit = size_of(type);
  std::vector<std::byte> data(tokens.room());
  for (std::uint64_t at = 0; at + unit <= data.size(); at += unit) encode(type, element(member, at / unit), &data[at]);
  store.write(address, data.data(), data.size());
}

std::int64_t TokenReference::wrong(const memory::BackingStore& store, std::uint64_t address, int member) const {
  const std::uint64_t unit = size_of(type);
  const std::size_t per_node = tokens.per_node();
  const auto self = static_cast<std::size_t>(member);
  std::int64_t wrong = 0;
  if (!combines) {
    // From each sender, what is in this member's window of the tokens that it has for the node.
    const std::size_t node = self / per_node;
    const NodeWindows windows(tokens, node);
    for (std::size_t from = 0; from < tokens.members.size(); ++from) {
      for (const NodeWindows::Part& part : windows.parts(self % per_node, windows.whole())) {
        const std::uint64_t source = node * tokens.node_place() + part.at;
        wrong += differing(store, type, address + from * tokens.member_place() + part.place, part.bytes,
                           [&](std::uint64_t i) { return element(static_cast<int>(from), source / unit + i); });
      }
    }
    return wrong;
  }
  // From each node, the sums over the windows that a token is in.
  for (std::size_t node = 0; node < tokens.nodes.size(); ++node) {
    const NodeWindows windows(tokens, node);
    std::vector<std::uint32_t> sums(tokens.nodes[node] / unit, 0);
    for (std::size_t local = 0; local < per_node; ++local) {
      for (const NodeWindows::Part& part : windows.parts(local, windows.whole())) {
        const std::uint64_t source = self * tokens.member_place() + part.place;
        for (std::uint64_t at = 0; at < part.bytes; at += unit) {
          sums[(part.at + at) / unit] += element(static_cast<int>(node * per_node + local), (source + at) / unit);
        }
      }
    }
    wrong += differing(store, type, address + node * tokens.node_place(), tokens.nodes[node],
                       [&](std::uint64_t i) { return sums[i]; });
  }
  return wrong;
}

}  // namespace weft::collectives
