// SPDX-License-Identifier: Apache-2.0
#include "hw/core/dispatcher.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace weft {
namespace {

std::int64_t kernel_now() { return static_cast<std::int64_t>(sc_core::sc_time_stamp().value()); }

sc_core::sc_time to_sc_time(std::int64_t ps) { return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(ps)); }

}  // namespace

Dispatcher::Dispatcher(sc_core::sc_module_name name)
    : sc_module(name), heads_(kSlots, kNil), occupied_(kSlots / 64, 0), summary_(kSlots / 64 / 64, 0) {
  SC_METHOD(run);
  sensitive << wake_;
  dont_initialize();
}

Dispatcher::~Dispatcher() = default;

void Dispatcher::attach(EventTarget& target, std::string name) { names_.emplace_back(std::move(name), &target); }

void Dispatcher::end_of_elaboration() {
  if (sc_core::sc_get_time_resolution() != sc_core::sc_time(1, sc_core::SC_PS)) {
    SC_REPORT_FATAL("weft.dispatcher", "the time resolution must be 1 ps");
  }
  std::sort(names_.begin(), names_.end());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (i > 0 && names_[i].first == names_[i - 1].first) {
      SC_REPORT_FATAL("weft.dispatcher", ("two event targets are called " + names_[i].first).c_str());
    }
    names_[i].second->id_ = static_cast<std::uint32_t>(i);
    targets_.push_back(names_[i].second);
  }
  names_.clear();
  names_.shrink_to_fit();
}

Time Dispatcher::now() const { return Time(running_ ? now_ : std::max(now_, kernel_now())); }

void Dispatcher::on_progress(std::uint64_t events, std::function<void()> hook) {
  progress_mask_ = std::bit_ceil(events) - 1;
  progress_ = std::move(hook);
}

void Dispatcher::post(Time when, const EventTarget& target, std::uint32_t tag, std::uint64_t data) {
  const std::int64_t time = when.count();
  assert(time >= now_);
  assert(!targets_.empty() && targets_[target.id_] == &target && "post to a target that was not attached");
  const Event event{time, data, static_cast<std::uint64_t>(target.id_) << 32 | tag, 0};
  ++pending_;
  const std::int64_t slot = time >> kSlotBits;
  if (slot <= current_slot_) {
    insert_into_batch(event);
  } else if (slot - current_slot_ < kSlots) {
    insert_into_wheel(event, slot);
  } else {
    overflow_.push({event, overflow_sequence_++});
  }
  if (!running_) wake_.notify(to_sc_time(std::max<std::int64_t>(0, time - kernel_now())));
}

void Dispatcher::notify(sc_core::sc_event& event, Time when) {
  event.notify(to_sc_time(std::max<std::int64_t>(0, when.count() - kernel_now())));
  horizon_ = std::min(horizon_, when.count());
}

void Dispatcher::run_until(Time limit) {
  limit_ = limit.count();
  if (pending_ != 0) wake_.notify(sc_core::SC_ZERO_TIME);
  const std::int64_t span = limit_ - kernel_now();
  sc_core::sc_start(to_sc_time(span), sc_core::SC_EXIT_ON_STARVATION);
  limit_ = INT64_MAX;
}

void Dispatcher::insert_into_wheel(const Event& event, std::int64_t slot) {
  std::uint32_t node = free_;
  if (node == kNil) {
    node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_ = nodes_[node].next;
  }
  const auto index = static_cast<std::size_t>(slot & (kSlots - 1));
  nodes_[node] = event;
  nodes_[node].next = heads_[index];
  if (heads_[index] == kNil) {
    occupied_[index >> 6] |= 1ULL << (index & 63);
    summary_[index >> 12] |= 1ULL << (index >> 6 & 63);
  }
  heads_[index] = node;
}

void Dispatcher::insert_into_batch(const Event& event) {
  batch_.push_back(event);
  std::size_t at = batch_.size() - 1;
  while (at > cursor_ && (batch_[at - 1].time > event.time ||
                          (batch_[at - 1].time == event.time && batch_[at - 1].order > event.order))) {
    batch_[at] = batch_[at - 1];
    --at;
  }
  batch_[at] = event;
}

std::int64_t Dispatcher::next_occupied() const {
  // The slots form a ring that starts behind the current one: look at the rest of its word, then at whole words.
  const auto start = static_cast<std::size_t>((current_slot_ + 1) & (kSlots - 1));
  const std::size_t words = occupied_.size();
  std::size_t word = start >> 6;
  std::uint64_t bits = occupied_[word] & (~0ULL << (start & 63));
  for (std::size_t step = 0; bits == 0 && step < words;) {
    // Skip 64 empty words at a time where the summary allows it.
    word = (word + 1) % words;
    ++step;
    const std::uint64_t rest = summary_[word >> 6] >> (word & 63);
    if (rest == 0) {
      const std::size_t skip = 63 - (word & 63);
      word += skip;
      step += skip;
      continue;
    }
    const auto skip = static_cast<std::size_t>(std::countr_zero(rest));
    word += skip;
    step += skip;
    bits = occupied_[word];
    if (word == start >> 6) bits &= ~(~0ULL << (start & 63));
  }
  if (bits == 0) return -1;
  const auto index = static_cast<std::int64_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
  return current_slot_ + 1 + ((index - static_cast<std::int64_t>(start)) & (kSlots - 1));
}

std::int64_t Dispatcher::next_time() const {
  if (cursor_ < batch_.size()) return batch_[cursor_].time;
  std::int64_t best = overflow_.empty() ? INT64_MAX : overflow_.top().event.time;
  const std::int64_t slot = next_occupied();
  if (slot >= 0) {
    for (std::uint32_t n = heads_[static_cast<std::size_t>(slot & (kSlots - 1))]; n != kNil; n = nodes_[n].next) {
      best = std::min(best, nodes_[n].time);
    }
  }
  return best;
}

void Dispatcher::enter_slot(std::int64_t slot) {
  batch_.clear();
  cursor_ = 0;
  current_slot_ = slot;
  // What the window now reaches moves from the heap before anything is posted there directly: posting order is kept.
  while (!overflow_.empty() && (overflow_.top().event.time >> kSlotBits) - slot < kSlots) {
    const Event& event = overflow_.top().event;
    const std::int64_t its_slot = event.time >> kSlotBits;
    if (its_slot == slot) {
      batch_.push_back(event);
    } else {
      insert_into_wheel(event, its_slot);
    }
    overflow_.pop();
  }
  const auto index = static_cast<std::size_t>(slot & (kSlots - 1));
  const auto from_heap = static_cast<std::ptrdiff_t>(batch_.size());
  for (std::uint32_t node = heads_[index]; node != kNil;) {
    batch_.push_back(nodes_[node]);
    const std::uint32_t next = nodes_[node].next;
    nodes_[node].next = free_;
    free_ = node;
    node = next;
  }
  heads_[index] = kNil;
  occupied_[index >> 6] &= ~(1ULL << (index & 63));
  if (occupied_[index >> 6] == 0) summary_[index >> 12] &= ~(1ULL << (index >> 6 & 63));
  std::reverse(batch_.begin() + from_heap, batch_.end());  // the list is last in, first out
  sort_batch();
}

void Dispatcher::sort_batch() {
  const auto before = [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  };
  const std::size_t count = batch_.size();
  if (count > 32) {
    for (std::size_t i = 0; i < count; ++i) batch_[i].next = static_cast<std::uint32_t>(i);
    std::sort(batch_.begin(), batch_.end(), [&before](const Event& a, const Event& b) {
      if (before(a, b)) return true;
      if (before(b, a)) return false;
      return a.next < b.next;
    });
    return;
  }
  for (std::size_t i = 1; i < count; ++i) {
    if (!before(batch_[i], batch_[i - 1])) continue;
    const Event event = batch_[i];
    std::size_t at = i;
    for (; at > 0 && before(event, batch_[at - 1]); --at) batch_[at] = batch_[at - 1];
    batch_[at] = event;
  }
}

bool Dispatcher::open_next_slot(std::int64_t limit) {
  std::int64_t slot = next_occupied();
  if (!overflow_.empty()) {
    const std::int64_t far = overflow_.top().event.time >> kSlotBits;
    if (slot < 0 || far < slot) slot = far;
  }
  if (slot < 0 || (slot << kSlotBits) > limit) return false;
  enter_slot(slot);
  return true;
}

void Dispatcher::run() {
  const std::int64_t start = kernel_now();
  const bool kernel_waits = sc_core::sc_pending_activity();
  horizon_ = INT64_MAX;
  if (kernel_waits) {
    horizon_ = start + static_cast<std::int64_t>(sc_core::sc_time_to_pending_activity().value());
  }
  running_ = true;
  for (;;) {
    if (cursor_ == batch_.size()) {
      const std::int64_t reach = std::min(limit_, std::max(start, horizon_ - 1));
      if (!open_next_slot(reach)) break;
    }
    const Event event = batch_[cursor_];
    if (event.time > limit_ || (event.time >= horizon_ && event.time > start)) break;
    ++cursor_;
    now_ = event.time;
    --pending_;
    ++handled_;
    digest_ = (digest_ ^ (static_cast<std::uint64_t>(event.time) * 0x9e3779b97f4a7c15ULL + event.order)) *
              0xff51afd7ed558ccdULL;
    if (cursor_ < batch_.size()) __builtin_prefetch(reinterpret_cast<const void*>(batch_[cursor_].data));
    targets_[event.order >> 32]->on_event(Time(event.time), static_cast<std::uint32_t>(event.order), event.data);
    if ((handled_ & progress_mask_) == 0 && progress_) progress_();
  }
  running_ = false;
  if (pending_ != 0) {
    const std::int64_t next = next_time();
    if (next <= limit_) next_trigger(to_sc_time(std::max<std::int64_t>(0, next - start)));
  }
}

}  // namespace weft
