// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/agenda.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "hw/core/fields.h"

namespace weft::analytical {
namespace {

constexpr std::int64_t kWordBits = 64;

}  // namespace

Agenda::Agenda(Dispatcher& dispatcher)
    : dispatcher_(dispatcher), actors_(1), slots_(kSlots), used_(kSlots / kWordBits) {
  dispatcher.attach(*this, "analytical agenda");
}

std::uint32_t Agenda::add(Actor& actor) {
  actors_.push_back(&actor);
  return static_cast<std::uint32_t>(actors_.size() - 1);
}

void Agenda::refuse() {
  throw ConfigError("workload.traces", "expected a run of at most " + std::to_string(kLongest / 1'000'000'000'000) +
                                           " s: sizes, durations or latencies ask for more");
}

/// A slot that has just become empty may still be that of the current time.
void Agenda::begin_slot(std::int64_t slot) {
  std::uint64_t& word = used_[static_cast<std::size_t>(slot % kSlots / kWordBits)];
  const std::uint64_t bit = 1ULL << slot % kWordBits;
  if ((word & bit) != 0) return;
  word |= bit;
  if (spare_.empty()) return;
  slots_[static_cast<std::size_t>(slot % kSlots)] = std::move(spare_.back());
  spare_.pop_back();
}

void Agenda::into_slot(std::int64_t slot, const Record& record) {
  Slot& at = slots_[static_cast<std::size_t>(slot % kSlots)];
  if (at.empty()) begin_slot(slot);
  const bool in_order = at.empty() || at.back().when <= record.when;
  at.push_back(record);
  if (in_order) [[likely]]
    return;
  for (std::size_t i = at.size() - 1; i > 0 && at[i - 1].when > record.when; --i) std::swap(at[i - 1], at[i]);
}

void Agenda::insert(Time when, Entry entry) {
  const Record record{when.count(), entry};
  const std::int64_t slot = record.when / kSlotTime;
  if (slot - base_ < kSlots) [[likely]] {
    into_slot(slot, record);
  } else {
    far_[record.when].push_back(record);
  }
  if (record.when == 0) at_zero_ = true;
  if (running_ || record.when >= scheduled_) return;
  scheduled_ = record.when;
  dispatcher_.post(when, *this, 0);
}

void Agenda::call(Time when, std::uint32_t end, Entry entry) {
  check(when);
  if (end >= calls_.size()) calls_.resize(std::size_t{end} + 1);
  AllCalls& all = calls_[end];
  if (Calls* const at = all.find(when.count())) {
    const std::uint32_t more = more_calls_.take();
    more_calls_[more] = {entry};
    (at->last == kNone ? at->next : more_calls_[at->last].next) = more;
    at->last = more;
    return;
  }
  if (all.one.when == kNowhen) {
    all.one = {when.count(), entry};
  } else {
    all.others.push_back({when.count(), entry});
  }
  insert(when, Entry(0, end));
}

/// More of what the end does now may be entered while it does it.
void Agenda::run_calls(Time now, std::uint32_t end) {
  act(now, calls_[end].find(now.count())->first);
  for (;;) {
    AllCalls& all = calls_[end];
    Calls& mine = *all.find(now.count());
    if (mine.next == kNone) {
      if (&mine == &all.one) {
        mine = {};
      } else {
        mine = all.others.back();
        all.others.pop_back();
      }
      return;
    }
    const std::uint32_t more = mine.next;
    const Call call = more_calls_[more];
    more_calls_.give(more);
    mine.next = call.next;
    if (call.next == kNone) {
      mine.last = kNone;
    } else {
      __builtin_prefetch(&more_calls_[call.next]);
    }
    act(now, call.entry);
  }
}

void Agenda::act(Time now, Entry entry) {
  ++handled_;
  digest_ = (std::rotl(digest_, 5) ^ entry.word() ^ static_cast<std::uint64_t>(now.count())) * 0x9e3779b97f4a7c15ULL;
  run(now, entry);
}

/// What comes soon, at this time mostly, is fetched in two steps.
inline void Agenda::look_ahead(Slot& current) {
  constexpr std::size_t kFetch = 8;
  constexpr std::size_t kFollow = 4;
  if (current.size() > kFetch) {
    const Entry later = current[kFetch].entry;
    if (later.actor() != 0) {
      actors_[later.actor()]->prepare(later.what());
    } else {
      __builtin_prefetch(&calls_[later.what()]);
    }
  }
  if (current.size() <= kFollow) return;
  Entry soon = current[kFollow].entry;
  if (soon.actor() == 0) soon = calls_[soon.what()].one.first;
  if (soon.actor() != 0) actors_[soon.actor()]->prepare_more(soon.what());
}

/// The window of slots begins at `slot` from now on: what has been far away and is within it now goes to its place,
/// before anything that is entered later.
void Agenda::come_near(std::int64_t slot) {
  base_ = slot;
  while (!far_.empty() && far_.begin()->first / kSlotTime - base_ < kSlots) {
    const auto first = far_.begin();
    for (const Record& record : first->second) into_slot(first->first / kSlotTime, record);
    far_.erase(first);
  }
}

std::int64_t Agenda::next_time() const {
  const std::int64_t first = base_ % kSlots;
  for (std::int64_t word = 0; word <= kSlots / kWordBits; ++word) {
    const std::int64_t at = (first / kWordBits + word) % (kSlots / kWordBits);
    std::uint64_t bits = used_[static_cast<std::size_t>(at)];
    if (word == 0) bits &= ~0ULL << first % kWordBits;
    if (word == kSlots / kWordBits) bits &= ~(~0ULL << first % kWordBits);
    if (bits == 0) continue;
    return slots_[static_cast<std::size_t>(at * kWordBits + std::countr_zero(bits))].front().when;
  }
  return far_.empty() ? kNever : far_.begin()->first;
}

void Agenda::on_event(Time now, std::uint32_t /*tag*/, std::uint64_t /*data*/) {
  if (scheduled_ != now.count()) {  // all of this time has happened, with an earlier event
    dispatcher_.disregard();
    return;
  }
  running_ = true;
  run_all(now);
  running_ = false;
  scheduled_ = next_time();
  if (scheduled_ != kNever) dispatcher_.post(Time(scheduled_), *this, 0);
}

void Agenda::run_all(Time now) {
  const std::int64_t slot = now.count() / kSlotTime;
  come_near(slot);
  Slot& current = slots_[static_cast<std::size_t>(slot % kSlots)];
  while (!current.empty() && current.front().when == now.count()) {
    const Entry entry = current.front().entry;
    look_ahead(current);
    current.pop_front();
    if (entry.actor() == 0) {
      run_calls(now, static_cast<std::uint32_t>(entry.what()));
    } else {
      act(now, entry);
    }
  }
  if (!current.empty()) return;
  spare_.push_back(std::move(current));
  used_[static_cast<std::size_t>(slot % kSlots / kWordBits)] &= ~(1ULL << slot % kWordBits);
}

}  // namespace weft::analytical
