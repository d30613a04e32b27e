// SPDX-License-Identifier: Apache-2.0
#include "hw/core/cause/causes.h"

#include <algorithm>

namespace weft {

const char* name_of(CauseKind kind) {
  static constexpr std::array<const char*, kCauseKinds> kNames = {
      "other",     "kernel",        "cap",           "lost cores", "launch",
      "copy",      "memory",        "remote memory", "host link",  "network interface",
      "injection", "serialisation", "queue",         "credit",     "pipeline",
      "reduction", "propagation",   "recovery",      "firmware",   "software"};
  return kNames[static_cast<std::size_t>(kind)];
}

Causes::Causes() {
  nodes_[nodes_.append()] = {0, kNone, 0, 0, 0};  // the root, which is the last for now, and stays
  contexts_.emplace_back();
  numbers_[0][""] = 0;
}

Causes::Place Causes::place(std::string name) {
  links_.push_back(std::move(name));
  return kFirstLink + static_cast<Place>(links_.size() - 1);
}

const std::string& Causes::place_name(Place place) const {
  return is_link(place) ? links_[place - kFirstLink] : targets_[place];
}

std::uint32_t Causes::context(const std::string& name, bool is_kernel) {
  const auto number = static_cast<std::uint32_t>(contexts_.size() << 1) | (is_kernel ? kOfKernel : 0);
  const auto [at, is_new] = numbers_[is_kernel ? 1 : 0].try_emplace(name, number);
  if (is_new) contexts_.push_back({name, is_kernel});
  return at->second;
}

std::uint32_t Causes::begin_collection() {
  if (old_ < most_old_) return old_;
  for (std::uint32_t at = trunk_ - 1; at < old_; ++at) nodes_[at].references = 0;
  return trunk_;
}

void Causes::move_together(std::uint32_t from) {
  const std::uint32_t all = nodes_.size();
  ++nodes_[last_].references;
  // What follows has the higher number. Nobody foretells which of them counts, so that there is no branch for it.
  for (std::uint32_t at = all; at-- > from;) {
    nodes_[nodes_[at].parent].references += nodes_[at].references != 0 ? 1 : 0;
  }
  moved_.resize(all - from);
  std::uint32_t left = from;
  for (std::uint32_t at = from; at < all; ++at) {
    Node node = nodes_[at];
    if (node.references == 0) continue;
    node.parent = moved(node.parent, from);
    const std::uint32_t alike = alike_before(node.parent, node, from);
    if (alike == kNone) {
      moved_[at - from] = left;
      nodes_[left++] = node;
      continue;
    }
    const std::int64_t more = node.until - nodes_[node.parent].until;
    for (std::uint32_t longer = node.parent; longer != alike; longer = nodes_[longer].parent) {
      nodes_[longer].until += more;
    }
    nodes_[alike].until += more;
    nodes_[node.parent].references = node.references;
    moved_[at - from] = node.parent;
  }
  nodes_.cut_to(left);
  last_ = current_ = moved(last_, from);
  old_ = left;
  most_ = left + kYoung;
  if (from != trunk_) return;
  while (trunk_ < left && nodes_[trunk_ - 1].references == 1) ++trunk_;
  most_old_ = trunk_ + std::max(kYoung, (left - trunk_) / 4 * 5);
}

/// A piece that only this one follows, over others at most, and that can be longer in its place: the one before it, or
/// of a kernel one shortly before it, so that a kernel is few pieces, whatever the number of its slices. Else kNone.
std::uint32_t Causes::alike_before(std::uint32_t parent, const Node& node, std::uint32_t from) const {
  int left = (node.context & kOfKernel) != 0 ? kTogether : 1;
  for (std::uint32_t at = parent; left > 0 && at >= from; --left, at = nodes_[at].parent) {
    const Node& before = nodes_[at];
    if (before.references != 1 || before.context != node.context) return kNone;
    if (before.what == node.what) return at;
    if ((before.what ^ node.what) << (32 - kPlaceBits) != 0) return kNone;  // in another place
  }
  return kNone;
}

void Causes::add_since(Time since, CauseSums& sums) const {
  const std::int64_t from = since.count();
  Why why;
  Time sum;
  const auto take = [&](std::int64_t begin, std::int64_t end, std::uint32_t what, std::uint32_t context) {
    if (end <= from || end == begin) return;
    const Step step = step_of(end, what, context);
    const Why its{step.context, step.kind, step.place};
    if (its != why) {
      if (sum > Time()) sums[why] += sum;
      sum = Time();
      why = its;
    }
    sum += Time(end - std::max(begin, from));
  };
  for (std::uint32_t at = current_; nodes_[at].until > from; at = nodes_[at].parent) {
    const Node& node = nodes_[at];
    take(at == 0 ? 0 : nodes_[node.parent].until, node.until, node.what, node.context);
  }
  if (sum > Time()) sums[why] += sum;
}

std::vector<Causes::Step> Causes::path() const {
  std::vector<Step> steps;
  // Backwards, so that a step that goes on in the next is a part of it, and pieces without length are none.
  for (std::uint32_t at = last_; at != 0; at = nodes_[at].parent) {
    const Node& node = nodes_[at];
    if (nodes_[node.parent].until == node.until) continue;
    const Step step = step_of(node.until, node.what, node.context);
    const bool goes_on = !steps.empty() && steps.back().kind == step.kind && steps.back().place == step.place &&
                         steps.back().context == step.context;
    if (!goes_on) steps.push_back(step);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace weft
