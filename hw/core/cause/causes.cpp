// SPDX-License-Identifier: Apache-2.0
#include "hw/core/cause/causes.h"

#include <algorithm>
#include <bit>

namespace weft {

namespace {

constexpr std::uint32_t kYoung = 1U << 16;  ///< pieces that come together before they are collected
constexpr std::uint32_t kMiddle = kYoung;   ///< that have been looked at once, before they are again
constexpr std::uint32_t kOld = 3 * kYoung;  ///< that are not worth a look at all of them
constexpr int kTogether = 8;                ///< pieces of a kernel that are looked back at

}  // namespace

const char* name_of(CauseKind kind) {
  static constexpr std::array<const char*, kCauseKinds> kNames = {
      "other",     "kernel",        "cap",           "lost cores",   "launch",        "copy",
      "memory",    "remote memory", "host link",     "read latency", "write latency", "network interface",
      "group",     "injection",     "serialisation", "queue",        "credit",        "pipeline",
      "reduction", "propagation",   "recovery",      "firmware",     "software",      "host"};
  return kNames[static_cast<std::size_t>(kind)];
}

Causes::Causes() : most_middle_(kMiddle), most_old_(kOld), most_(kYoung) {
  walks_.fill(kNone);
  nodes_[nodes_.append()] = {0, kNone, 0, 0};  // the root, which is the last for now, and stays
  contexts_.emplace_back();
  threads_[""] = 0;
}

Causes::Place Causes::place(std::string name, Time flight) {
  links_.push_back(std::move(name));
  flights_.push_back(flight.count());
  tables_.carried.add_link();
  return kFirstLink + static_cast<Place>(links_.size() - 1);
}

const std::string& Causes::place_name(Place place) const {
  return is_link(place) ? links_[place - kFirstLink] : targets_[place];
}

std::uint32_t Causes::context(const std::string& name) {
  const auto [at, is_new] = threads_.try_emplace(name, static_cast<std::uint32_t>(contexts_.size() << 1));
  if (is_new) contexts_.push_back({name});
  return at->second;
}

std::uint32_t Causes::kernel_context_of(const std::string& name, MemoryShare share) {
  const auto number = static_cast<std::uint32_t>(contexts_.size() << 1) | kOfKernel;
  const auto [at, is_new] = named_kernels_.try_emplace({name, share.step()}, number);
  if (is_new) contexts_.push_back({name, true, share});
  return at->second;
}

void Causes::put_mark(std::int64_t until, std::uint32_t what) {
  put_own();
  tip_ = add(tip_, until, what, context_);
  tip_until_ = until;
}

std::uint32_t Causes::begin_collection() {
  const std::uint32_t from = old_ < most_middle_ ? old_ : middle_ < most_old_ ? middle_ : trunk_;
  if (from < old_) {
    for (std::uint32_t at = std::max(from, 1U) - 1; at < old_; ++at) nodes_[at].set_references(0);
  }
  kept_.assign((nodes_.size() - from + kWord - 1) / kWord, 0);
  return from;
}

std::uint32_t Causes::keep_one(std::uint32_t at, std::uint32_t from) {
  Node& node = nodes_[at];
  const bool is_known = node.references() != 0;
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
      nodes_[node.parent].set_references(node.references());
      moved_[index] = node.parent;
    }
  }
  nodes_.cut_to(left);
  last_ = current_ = tip_ = moved(last_, from);
  own_ = last_own_;
  program_ = moved(program_, from);
  trail_.clear();
  const bool all = from == trunk_;
  if (from < old_) middle_ = moved_first(old_, from, left);
  old_ = left;
  most_ = left + kYoung;
  most_middle_ = middle_ + kMiddle;
  if (!all) return;
  while (trunk_ < left && nodes_[trunk_ - 1].references() == 1) ++trunk_;
  middle_ = std::max(middle_, trunk_);
  most_old_ = trunk_ + std::max(kOld, (middle_ - trunk_) / 4 * 5);
}

std::uint32_t Causes::moved_first(std::uint32_t since, std::uint32_t from, std::uint32_t left) const {
  for (std::uint32_t index = since - from; index < moved_.size(); ++index) {
    if ((kept_[index / kWord] >> index % kWord & 1) != 0) return moved_[index];
  }
  return left;
}

/// A piece that only this one follows, over others at most, and that can be longer in its place: the one before it, or
/// of a kernel one shortly before it, so that a kernel is few pieces, whatever the number of its slices. Else kNone.
std::uint32_t Causes::alike_before(std::uint32_t parent, const Node& node, std::uint32_t from) const {
  if (is_crossing(node.what)) return kNone;
  const std::uint32_t alike = node.context() | 1U << kContextBits;
  int left = (alike & kOfKernel) != 0 ? kTogether : 1;
  for (std::uint32_t at = parent; left > 0 && at >= from; --left, at = nodes_[at].parent) {
    const Node& before = nodes_[at];
    if (before.about != alike) return kNone;
    if (before.what == node.what) return at;
    if ((before.what ^ node.what) << (32 - kPlaceBits) != 0) return kNone;  // in another place
  }
  return kNone;
}

template <typename Visit>
void Causes::each_step(std::int64_t from, std::int64_t begin, const Past& piece, const Visit& visit) const {
  const Place place = piece.what & ((1U << kPlaceBits) - 1);
  const auto part = [&](std::int64_t begins, std::int64_t ends, CauseKind kind) {
    if (ends > std::max(begins, from)) visit(std::max(begins, from), Step{ends, kind, place, piece.context});
  };
  if (is_crossing(piece.what)) {
    const std::int64_t there = std::min(begin + flights_[place - kFirstLink], piece.until);
    part(there, piece.until, CauseKind::kSerialisation);
    part(begin, there, CauseKind::kPropagation);
  } else {
    part(begin, piece.until, static_cast<CauseKind>(piece.what >> kPlaceBits));
  }
}

void Causes::follow_back(std::int64_t from) {
  put_own();
  std::size_t known = trail_.size();  // of it, what leads here
  further_.clear();
  for (std::uint32_t at = current_;; at = nodes_[at].parent) {
    while (known > 0 && trail_[known - 1].index > at) --known;
    if (known > 0 && trail_[known - 1].index == at) break;
    further_.push_back(past(at));
    if (nodes_[at].until > from) continue;
    known = 0;
    break;
  }
  trail_.resize(known);
  trail_.insert(trail_.end(), further_.rbegin(), further_.rend());
  further_.clear();
  for (std::uint32_t at = trail_.front().index; nodes_[at].until > from;) {
    at = nodes_[at].parent;
    further_.push_back(past(at));
  }
  trail_.insert(trail_.begin(), further_.rbegin(), further_.rend());
}

void Causes::add_since(Time since, CauseSums& sums) {
  const std::int64_t from = std::max(since, tables_.since).count();
  // What follows each other is added together, and some of them a little later, when memory has found their sums.
  std::array<CauseSums::Sum, kWalks> latest;
  std::size_t count = 0;
  const auto add_latest = [&] {
    for (std::size_t i = 0; i < count; ++i) sums[latest[i].first] += latest[i].second;
    count = 0;
  };
  follow_back(from);
  for (std::size_t i = trail_.size() - 1; trail_[i].until > from; --i) {
    each_step(from, trail_[i - 1].until, trail_[i], [&](std::int64_t begin, const Step& step) {
      const Why why{step.context, step.kind, step.place};
      if (count == 0 || latest[count - 1].first != why) {
        if (count == latest.size()) add_latest();
        sums.prepare(why);
        latest[count++] = {why, Time()};
      }
      latest[count - 1].second += Time(step.until - begin);
    });
  }
  add_latest();
}

std::vector<Causes::Step> Causes::path(Time until) const {
  std::vector<Step> steps;
  // Backwards, so that a step that goes on in the next is a part of it.
  const auto add = [&](std::int64_t begins, const Past& piece) {
    each_step(0, begins, piece, [&](std::int64_t begin, const Step& step) {
      if (begin >= until.count()) return;
      const bool goes_on = !steps.empty() && steps.back().kind == step.kind && steps.back().place == step.place &&
                           steps.back().context == step.context;
      if (!goes_on) steps.push_back(step);
      steps.back().until = std::min(steps.back().until, until.count());
    });
  };
  const bool by_program = program_end_ == until;
  if (!by_program && last_own_.waits) add(nodes_[last_].until, {last_now_, last_, last_own_.what, last_own_.context});
  for (std::uint32_t at = by_program ? program_ : last_; nodes_[at].until > 0; at = nodes_[at].parent) {
    add(nodes_[nodes_[at].parent].until, past(at));
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace weft
