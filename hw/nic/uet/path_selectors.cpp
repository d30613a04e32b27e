// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/uet/path_selectors.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace weft::nic {
namespace {

template <typename Spray>
PathSelection selection(const char* name, const char* doc) {
  PathSelection made;
  made.name = name;
  made.doc = doc;
  made.make = [](const PathSelectorSite& site) { return std::make_unique<Spray>(site); };
  return made;
}

PathSelection oblivious() {
  return selection<ObliviousSpray>("oblivious", "all values in turn, in random order");
}

PathSelection bitmap() {
  return selection<BitmapSpray>("bitmap", "in turn, without those whose packets were marked, cut or lost of late");
}

PathSelection reps() {
  return selection<RecycledSpray>("reps", "values whose packets came unmarked are used again, others are drawn");
}

Registry<PathSelection>& known_selections() {
  static Registry<PathSelection> all("way of spraying", {oblivious, bitmap, reps});
  return all;
}

}  // namespace

Rounds::Rounds(const PathSelectorSite& site) : order_(site.paths), next_(order_.size()), random_(site.random) {
  std::iota(order_.begin(), order_.end(), std::uint16_t{0});
}

std::uint16_t Rounds::next() {
  if (next_ == order_.size()) {
    for (std::size_t i = order_.size() - 1; i > 0; --i) std::swap(order_[i], order_[random_.next() % (i + 1)]);
    next_ = 0;
  }
  return order_[next_++];
}

std::uint16_t BitmapSpray::next(Time /*now*/) {
  // Where all hold points, the round in which the first has none left comes.
  std::uint16_t value = rounds_.next();
  for (; points_[value] > 0; value = rounds_.next()) --points_[value];
  return value;
}

void BitmapSpray::heard(Time /*now*/, std::uint16_t entropy, PathNews news) {
  std::uint8_t& points = points_[entropy];
  const auto add = [&points](std::uint8_t more) {
    points = static_cast<std::uint8_t>(std::min<int>(points + more, kMostPoints));
  };
  switch (news) {
    case PathNews::kGood:
      if (points > 0) --points;
      break;
    case PathNews::kMarked:
      return add(kMarked);
    case PathNews::kTrimmed:
      return add(kTrimmed);
    case PathNews::kLost:
      return add(kMostPoints);
  }
}

std::uint16_t RecycledSpray::next(Time now) {
  thaw(now);
  if (to_explore_ > 0) {
    --to_explore_;
  } else if (fresh_ > 0) {
    return ring_[(head_ + kRing - fresh_--) % kRing];
  } else if (frozen_until_ && held_ > 0) {
    return ring_[(head_ + kRing - held_ + again_++ % held_) % kRing];
  }
  return static_cast<std::uint16_t>(random_.next() % site_.paths);
}

void RecycledSpray::heard(Time now, std::uint16_t entropy, PathNews news) {
  thaw(now);
  if (news == PathNews::kLost) {
    forget(entropy);
    if (!frozen_until_ && to_explore_ == 0) frozen_until_ = now + kFrozenTimeouts * site_.ack_timeout;
  }
  if (news != PathNews::kGood) return;
  ring_[head_] = entropy;
  head_ = (head_ + 1) % kRing;
  fresh_ = std::min(fresh_ + 1, kRing);
  held_ = std::min(held_ + 1, kRing);
}

void RecycledSpray::thaw(Time now) {
  if (!frozen_until_ || now < *frozen_until_) return;
  frozen_until_.reset();
  held_ = fresh_ = 0;
  to_explore_ = kExplored;
}

void RecycledSpray::forget(std::uint16_t entropy) {
  std::array<std::uint16_t, kRing> kept{};
  std::size_t held = 0;
  std::size_t fresh = 0;
  for (std::size_t i = held_; i > 0; --i) {  // from the oldest on
    const std::uint16_t value = ring_[(head_ + kRing - i) % kRing];
    if (value == entropy) continue;
    kept[held++] = value;
    if (i <= fresh_) ++fresh;
  }
  if (held == held_) return;
  ring_ = kept;
  head_ = held % kRing;
  held_ = held;
  fresh_ = fresh;
}

void provide(PathSelection selection) {
  if (!selection.make) {
    throw std::invalid_argument("way of spraying \"" + selection.name + "\": expected a make, got none");
  }
  known_selections().provide(std::move(selection));
}

const Registry<PathSelection>& path_selections() {
  return known_selections();
}

const Names& registered(const PathSelection* /*kind*/) {
  return known_selections();
}

}  // namespace weft::nic
