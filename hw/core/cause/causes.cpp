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
  nodes_[nodes_.append()] = {0, kNone, 2, 0, 0};  // the root, which is the last for now, and stays
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
  for (std::uint32_t at = current_; nodes_[at].until > from; at = nodes_[at].parent) {
    const Step step = step_of(at);
    const std::int64_t begin = at == 0 ? 0 : std::max(nodes_[nodes_[at].parent].until, from);
    const Why its{step.context, step.kind, step.place};
    if (its != why) {
      if (sum > Time()) sums[why] += sum;
      sum = Time();
      why = its;
    }
    sum += Time(step.until - begin);
  }
  if (sum > Time()) sums[why] += sum;
}

std::vector<Causes::Step> Causes::path() const {
  std::vector<Step> backwards;
  for (std::uint32_t at = last_; at != 0; at = nodes_[at].parent) backwards.push_back(step_of(at));
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
