// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/deepep/dispatch.h"

#include <algorithm>
#include <utility>

namespace weft::collectives {

namespace {

/// Of a message across the network; of forwards the slot.
constexpr std::uint64_t kAcross = std::uint64_t{1} << 30;

}  // namespace

DeepEp::Dispatch::Dispatch(DeepEp& group, Member& here, std::uint64_t input, std::uint64_t output, Tokens tokens)
    : group_(group),
      here_(here),
      input_(input),
      output_(output),
      tokens_(std::move(tokens)),
      windows_(tokens_, static_cast<std::size_t>(here.node)),
      come_(chunks(windows_.whole().bytes)),
      sent_(tokens_.nodes.size(), 0),
      arrived_(tokens_.nodes.size(), 0),
      invited_(tokens_.nodes.size(), 0),
      forwards_(tokens_.nodes.size() * static_cast<std::size_t>(group.config_.slots) + 1, 0),
      entered_(tokens_.per_node(), false),
      held_(tokens_.per_node()) {
  expect();
  for (std::size_t local = 0; local < entered_.size(); ++local) {
    enter(group_.member_of(here_.node, static_cast<int>(local)));
  }
  const std::uint64_t own = input_ + static_cast<std::uint64_t>(here_.node) * tokens_.node_place();
  forward(here_.node, windows_.whole(), own, forwards_.size() - 1);
  const int nodes = group_.nodes_.count();
  for (int n = 1; n < nodes; ++n) send((here_.node + n) % nodes);
}

/// Posts receives for all that comes, and invites those who send it.
void DeepEp::Dispatch::expect() {
  const auto own = static_cast<std::size_t>(here_.local);
  const auto whole = static_cast<std::int64_t>(windows_.parts(own, windows_.whole()).size());
  std::int64_t in_chunks = 0;
  for (std::uint64_t i = 0; i < come_; ++i) {
    in_chunks += static_cast<std::int64_t>(windows_.parts(own, region(i)).size());
  }
  const auto others = static_cast<std::int64_t>(tokens_.nodes.size()) - 1;
  for (const int peer : group_.nodes_.row(here_.node)) {
    if (peer == here_.number) continue;
    const std::int64_t messages = whole + others * in_chunks;
    if (messages > 0) group_.pair(here_, peer).expect(static_cast<int>(messages));
    coming_ += messages;
    group_.invite(here_, peer);
  }
  for (int node = 0; node < group_.nodes_.count(); ++node) {
    if (is_own(node)) continue;
    if (come_ > 0) group_.pair(here_, across(node)).expect(static_cast<int>(come_));
    std::uint64_t& invited = invited_[static_cast<std::size_t>(node)];
    while (invited < std::min(come_, static_cast<std::uint64_t>(group_.config_.slots))) {
      group_.invite(here_, across(node));
      ++invited;
    }
  }
}

/// Once in a collective.
void DeepEp::Dispatch::enter(int peer) {
  const auto local = static_cast<std::size_t>(group_.at(peer).local);
  if (entered_[local] || (peer != here_.number && !take_invitation(here_, peer))) return;
  entered_[local] = true;
  for (const Forward& each : held_[local]) group_.write(here_, peer, each.from, each.to, each.bytes, each.token);
  held_[local].clear();
}

void DeepEp::Dispatch::send(int node) {
  const auto n = static_cast<std::size_t>(node);
  const std::uint64_t bytes = tokens_.nodes[n];
  while (sent_[n] < chunks(bytes) && take_invitation(here_, across(node))) {
    const Extent part = Chunks{{0, bytes}, group_.chunk()}[sent_[n]];
    const std::uint64_t from = input_ + static_cast<std::uint64_t>(n) * tokens_.node_place() + part.offset;
    group_.write(here_, across(node), from, address(slot(here_.node, sent_[n])), part.bytes, kAcross);
    ++sent_[n];
    ++under_way_;
  }
}

void DeepEp::Dispatch::forward(int node, Extent region, std::uint64_t from, std::uint64_t token) {
  const auto sender = static_cast<std::uint64_t>(across(node));
  for (std::size_t local = 0; local < entered_.size(); ++local) {
    const int peer = group_.member_of(here_.node, static_cast<int>(local));
    for (const NodeWindows::Part& part : windows_.parts(local, region)) {
      const Forward one{from + part.at - region.offset, output_ + sender * tokens_.member_place() + part.place,
                        part.bytes, token};
      ++under_way_;
      ++forwards_[token];
      if (peer == here_.number) {
        group_.copy(here_, group_.engine(here_), one.from, one.to, one.bytes, token);
      } else if (entered_[local]) {
        group_.write(here_, peer, one.from, one.to, one.bytes, token);
      } else {
        held_[local].push_back(one);
      }
    }
  }
}

/// All of a chunk has been forwarded.
void DeepEp::Dispatch::freed(std::uint64_t slot) {
  const auto slots = static_cast<std::uint64_t>(group_.config_.slots);
  const auto node = slot / slots;
  if (node >= invited_.size() || invited_[node] >= come_) return;
  ++invited_[node];
  group_.invite(here_, across(static_cast<int>(node)));
}

void DeepEp::Dispatch::take(const Event& event) {
  if (event.what == Event::What::kDone) {
    --under_way_;
    if (event.token != kAcross && --forwards_[event.token] == 0) freed(event.token);
    return;
  }
  const int node = group_.at(event.peer).node;
  if (event.what == Event::What::kInvitation) {
    if (is_own(node)) {
      enter(event.peer);
    } else {
      send(node);
    }
  } else if (is_own(node)) {
    --coming_;
  } else {
    const std::uint64_t chunk = arrived_[static_cast<std::size_t>(node)]++;
    forward(node, region(chunk), address(slot(node, chunk)), slot(node, chunk));
  }
}

bool DeepEp::Dispatch::is_over() const {
  if (under_way_ > 0 || coming_ > 0) return false;
  if (std::find(entered_.begin(), entered_.end(), false) != entered_.end()) return false;
  for (std::size_t n = 0; n < tokens_.nodes.size(); ++n) {
    if (is_own(static_cast<int>(n))) continue;
    if (arrived_[n] < come_ || sent_[n] < chunks(tokens_.nodes[n])) return false;
  }
  return true;
}

}  // namespace weft::collectives
