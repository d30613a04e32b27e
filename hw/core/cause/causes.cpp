// SPDX-License-Identifier: Apache-2.0
#include "hw/core/cause/causes.h"

#include <algorithm>
#include <bit>

namespace weft {

namespace {

constexpr std::uint32_t kYoung = 1U << 16;  ///< pieces that come together before they are collected
constexpr std::uint32_t kOld = 3 * kYoung;  ///< that are not worth a look at all of them
constexpr int kTogether = 8;                ///< pieces of a kernel that are looked back at

}  // namespace

const char* name_of(CauseKind kind) {
  static constexpr std::array<const char*, kCauseKinds> kNames = {
      "other",     "kernel",        "cap",           "lost cores", "launch",
      "copy",      "memory",        "remote memory", "host link",  "network interface",
      "injection", "serialisation", "queue",         "credit",     "pipeline",
      "reduction", "propagation",   "recovery",      "firmware",   "software"};
  return kNames[static_cast<std::size_t>(kind)];
}

Causes::Causes() : most_old_(kOld), most_(kYoung) {
  walks_.fill(kNone);
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
  const std::uint32_t from = old_ < most_old_ ? old_ : trunk_;
  if (from < old_) {
    for (std::uint32_t at = trunk_ - 1; at < old_; ++at) nodes_[at].references = 0;
  }
  kept_.assign((nodes_.size() - from + kWord - 1) / kWord, 0);
  return from;
}

std::uint32_t Causes::keep_one(std::uint32_t at, std::uint32_t from) {
  Node& node = nodes_[at];
  const bool is_known = node.references != 0;
  node.refer();
  if (is_known || at < from) return kNone;
  kept_[(at - from) / kWord] |= std::uint64_t{1} << (at - from) % kWord;
  __builtin_prefetch(&nodes_[node.parent], 1);
  return node.parent;
}

void Causes::keep(std::uint32_t tip, std::uint32_t from) {
  __builtin_prefetch(&nodes_[tip], 1);
  for (;;) {
    std::uint32_t& walk = walks_[walk_];
    walk_ = (walk_ + 1) % kWalks;
    if (walk != kNone) walk = keep_one(walk, from);
    if (walk != kNone) continue;
    walk = tip;
    return;
  }
}

void Causes::finish_keeping(std::uint32_t from) {
  for (std::size_t ended = 0; ended < kWalks; walk_ = (walk_ + 1) % kWalks) {
    std::uint32_t& walk = walks_[walk_];
    if (walk != kNone) walk = keep_one(walk, from);
    ended = walk == kNone ? ended + 1 : 0;
  }
}

void Causes::move_together(std::uint32_t from) {
  moved_.resize(nodes_.size() - from);
  std::uint32_t left = from;
  for (std::uint32_t word = 0; word < kept_.size(); ++word) {
    for (std::uint64_t bits = kept_[word]; bits != 0; bits &= bits - 1) {
      const std::uint32_t index = word * kWord + static_cast<std::uint32_t>(std::countr_zero(bits));
      Node node = nodes_[from + index];
      node.parent = moved(node.parent, from);
      const std::uint32_t alike = alike_before(node.parent, node, from);
      if (alike == kNone) {
        moved_[index] = left;
        nodes_[left++] = node;
        continue;
      }
      const std::int64_t more = node.until - nodes_[node.parent].until;
      for (std::uint32_t longer = node.parent; longer != alike; longer = nodes_[longer].parent) {
        nodes_[longer].until += more;
      }
      nodes_[alike].until += more;
      nodes_[node.parent].references = node.references;
      moved_[index] = node.parent;
    }
  }
  nodes_.cut_to(left);
  last_ = current_ = moved(last_, from);
  old_ = left;
  most_ = left + kYoung;
  if (from != trunk_) return;
  while (trunk_ < left && nodes_[trunk_ - 1].references == 1) ++trunk_;
  most_old_ = trunk_ + std::max(kOld, (left - trunk_) / 4 * 5);
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
