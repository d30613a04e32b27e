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
  releases_.fill(kNone);
  nodes_[nodes_.append()] = {0, kNone, 2, 0, 0, 0, 0};  // the root, which is the last for now, and stays
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

std::uint32_t Causes::enter(std::uint32_t context) {
  context_ = context;
  const std::uint32_t entered = add(current_, nodes_[current_].until, nodes_[current_].what);
  --nodes_[current_].references;  // the event's, which is to what follows now
  ++nodes_[entered].references;
  return entered;
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
    const std::int64_t middle = node.until - node.last_ps;
    take(middle, node.until, node.last, node.context);
    take(at == 0 ? 0 : nodes_[node.parent].until, middle, node.what, node.context);
  }
  if (sum > Time()) sums[why] += sum;
}

std::vector<Causes::Step> Causes::path() const {
  std::vector<Step> backwards;
  for (std::uint32_t at = last_; at != 0; at = nodes_[at].parent) {
    const Node& node = nodes_[at];
    if (node.last_ps != 0) backwards.push_back(step_of(node.until, node.last, node.context));
    backwards.push_back(step_of(node.until - node.last_ps, node.what, node.context));
  }
  std::vector<Step> steps;
  std::int64_t until = 0;
  for (auto it = backwards.rbegin(); it != backwards.rend(); ++it) {
    if (it->until == until) continue;
    until = it->until;
    const bool goes_on = !steps.empty() && steps.back().kind == it->kind && steps.back().place == it->place &&
                         steps.back().context == it->context;
    if (goes_on) {
      steps.back().until = it->until;
    } else {
      steps.push_back(*it);
    }
  }
  return steps;
}

}  // namespace weft
