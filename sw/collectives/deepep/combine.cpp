// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/deepep/combine.h"

#include <algorithm>

namespace weft::collectives {

namespace {

/// Tokens of completions: a contribution, or a sum of a slot that is sent or added up.
constexpr std::uint64_t kContribution = 0;
constexpr std::uint64_t kSent = std::uint64_t{1} << 28;
constexpr std::uint64_t kAdded = std::uint64_t{1} << 29;

/// Requests that a pair may hold of invitations: one for each slot.
constexpr std::uint64_t kMostSlots = 32;

}  // namespace

DeepEp::Combine::Combine(DeepEp& group, Member& here, std::uint64_t input, std::uint64_t output, Tokens tokens,
                         ElementType type)
    : group_(group),
      here_(here),
      input_(input),
      output_(output),
      tokens_(std::move(tokens)),
      type_(type),
      windows_(tokens_, static_cast<std::size_t>(here.node)),
      all_(Chunks{windows_.whole(), group.chunk()}.count() * tokens_.nodes.size()),
      slots_(
          std::min<std::uint64_t>(static_cast<std::uint64_t>(group.config_.slots) * tokens_.nodes.size(), kMostSlots)),
      contributed_(tokens_.per_node(), 0),
      coming_for_(tokens_.per_node(), 0),
      came_of_(tokens_.per_node(), 0),
      entered_(tokens_.nodes.size(), false),
      held_(tokens_.nodes.size()) {
  expect();
  for (std::size_t n = 0; n < entered_.size(); ++n) {
    const int node = static_cast<int>(n);
    if (node != here_.node) entered_[n] = take_invitation(here_, across(node));
  }
  while (granted_ < std::min<std::uint64_t>(slots_.size(), all_)) grant();
  for (const int peer : group_.nodes_.row(here_.node)) contribute(peer);
}

DeepEp::Combine::Sum DeepEp::Combine::sum(std::uint64_t i) const {
  const std::uint64_t nodes = tokens_.nodes.size();
  const std::uint64_t node = (static_cast<std::uint64_t>(here_.node) + 1 + i % nodes) % nodes;
  return {static_cast<int>(node), i / nodes};
}

void DeepEp::Combine::expect() {
  const std::uint64_t nodes = tokens_.nodes.size();
  for (const int peer : group_.nodes_.row(here_.node)) {
    if (peer == here_.number) continue;
    const auto local = static_cast<std::size_t>(group_.at(peer).local);
    std::uint64_t messages = 0;
    for (std::uint64_t chunk = 0; chunk < all_ / nodes; ++chunk) messages += nodes * count(local, chunk);
    if (messages > 0) group_.pair(here_, peer).expect(static_cast<int>(messages));
  }
  for (int node = 0; node < static_cast<int>(nodes); ++node) {
    if (node == here_.node) continue;
    const std::uint64_t chunks = Chunks{{0, tokens_.nodes[static_cast<std::size_t>(node)]}, group_.chunk()}.count();
    if (chunks > 0) group_.pair(here_, across(node)).expect(static_cast<int>(chunks));
    coming_ += chunks;
    group_.invite(here_, across(node));
  }
}

/// The next sum has a slot.
void DeepEp::Combine::grant() {
  const std::uint64_t i = granted_++;
  Slot& slot = slots_[i % slots_.size()];
  slot = {0, 0, false};
  for (const int peer : group_.nodes_.row(here_.node)) {
    if (peer == here_.number) continue;
    slot.missing += static_cast<std::int64_t>(count(static_cast<std::size_t>(group_.at(peer).local), sum(i).chunk));
    group_.invite(here_, peer);
  }
  if (slot.missing == 0) add(i);
}

/// Writes what this member has for the sums of another of its node, as far as these have slots.
void DeepEp::Combine::contribute(int peer) {
  const Member& adder = group_.at(peer);
  std::uint64_t& next = contributed_[static_cast<std::size_t>(adder.local)];
  if (peer == here_.number) next = all_;  // it reads its own where they are
  const auto own = static_cast<std::size_t>(here_.local);
  for (; next < all_ && take_invitation(here_, peer); ++next) {
    const Sum of = sum(next);
    const Extent chunk = region(of.chunk);
    for (const NodeWindows::Part& part : windows_.parts(own, chunk)) {
      group_.write(here_, peer, input_of(group_.member_of(of.node, adder.local)) + part.place,
                   staging(next, own) + part.at - chunk.offset, part.bytes, kContribution);
      ++under_way_;
    }
  }
}

/// Sums what all members have of a chunk, stretch by stretch in which the same ones have something.
void DeepEp::Combine::add(std::uint64_t i) {
  const Sum of = sum(i);
  const Extent chunk = region(of.chunk);
  struct Source {
    NodeWindows::Part part;
    std::uint64_t address;
  };
  std::vector<Source> sources;
  std::vector<std::uint64_t> edges;
  for (std::size_t local = 0; local < tokens_.per_node(); ++local) {
    const bool is_own = static_cast<int>(local) == here_.local;
    for (const NodeWindows::Part& part : windows_.parts(local, chunk)) {
      const std::uint64_t own = input_of(across(of.node)) + part.place;
      sources.push_back({part, is_own ? own : staging(i, local) + part.at - chunk.offset});
      edges.push_back(part.at);
      edges.push_back(part.at + part.bytes);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  const bool stays = of.node == here_.node;
  const std::uint64_t result = stays ? output_ + static_cast<std::uint64_t>(of.node) * tokens_.node_place()
                                     : staging(i, static_cast<std::size_t>(here_.local)) - chunk.offset;
  Slot& slot = slots_[i % slots_.size()];
  const std::uint64_t token = kAdded + i % slots_.size();
  for (std::size_t e = 0; e + 1 < edges.size(); ++e) {
    const std::uint64_t from = edges[e];
    const std::uint64_t bytes = edges[e + 1] - from;
    const std::uint32_t engine = group_.engine(here_);  // one after the other
    std::uint64_t first = 0;
    int added = 0;
    for (const Source& source : sources) {
      if (source.part.at > from || from >= source.part.at + source.part.bytes) continue;
      const std::uint64_t operand = source.address + from - source.part.at;
      if (++added == 1) {
        first = operand;
        continue;
      }
      group_.reduce(here_, engine, type_, operand, added == 2 ? first : result + from, result + from, bytes, token);
      ++slot.adding;
    }
    if (added == 1) {
      group_.copy(here_, engine, first, result + from, bytes, token);
      ++slot.adding;
    }
  }
  under_way_ += slot.adding;
}

void DeepEp::Combine::added(std::uint64_t i) {
  const auto node = static_cast<std::size_t>(sum(i).node);
  if (sum(i).node == here_.node) {
    release(i);
  } else if (entered_[node]) {
    send(i);
  } else {
    held_[node].push_back(i);
  }
}

void DeepEp::Combine::send(std::uint64_t i) {
  const Extent chunk = region(sum(i).chunk);
  const std::uint64_t to = output_ + static_cast<std::uint64_t>(here_.node) * tokens_.node_place() + chunk.offset;
  group_.write(here_, across(sum(i).node), staging(i, static_cast<std::size_t>(here_.local)), to, chunk.bytes,
               kSent + i % slots_.size());
  ++under_way_;
}

/// Slots are given back in order.
void DeepEp::Combine::release(std::uint64_t i) {
  slots_[i % slots_.size()].done = true;
  while (released_ < granted_ && slots_[released_ % slots_.size()].done) {
    ++released_;
    if (granted_ < all_) grant();
  }
}

/// A contribution: those of a member come in the order of the sums.
void DeepEp::Combine::arrived(int peer) {
  const auto local = static_cast<std::size_t>(group_.at(peer).local);
  std::uint64_t& i = coming_for_[local];
  std::uint64_t& came = came_of_[local];
  while (came == count(local, sum(i).chunk)) {
    ++i;
    came = 0;
  }
  ++came;
  if (--slots_[i % slots_.size()].missing == 0) add(i);
}

void DeepEp::Combine::take(const Event& event) {
  if (event.what == Event::What::kDone) {
    --under_way_;
    if (event.token == kContribution) return;
    const bool is_added = event.token >= kAdded;
    const std::uint64_t place = event.token - (is_added ? kAdded : kSent);
    // Of the sums that have slots, the one in this.
    const std::uint64_t slots = slots_.size();
    const std::uint64_t i = released_ + (place + slots - released_ % slots) % slots;
    if (!is_added) {
      release(i);
    } else if (--slots_[place].adding == 0) {
      added(i);
    }
    return;
  }
  const int node = group_.at(event.peer).node;
  const auto n = static_cast<std::size_t>(node);
  if (event.what == Event::What::kInvitation) {
    if (node == here_.node) return contribute(event.peer);
    if (entered_[n]) return;  // to the next collective
    entered_[n] = take_invitation(here_, event.peer);
    for (const std::uint64_t i : held_[n]) send(i);
    held_[n].clear();
  } else if (node == here_.node) {
    arrived(event.peer);
  } else {
    --coming_;
  }
}

bool DeepEp::Combine::is_over() const {
  if (under_way_ > 0 || coming_ > 0 || released_ < all_) return false;
  for (const std::uint64_t next : contributed_) {
    if (next < all_) return false;
  }
  for (std::size_t n = 0; n < entered_.size(); ++n) {
    if (!entered_[n] && static_cast<int>(n) != here_.node) return false;
  }
  return true;
}

}  // namespace weft::collectives
