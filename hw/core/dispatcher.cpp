// SPDX-License-Identifier: Apache-2.0
#include "hw/core/dispatcher.h"

#include <algorithm>
#include <array>
#include <bit>

#include "hw/core/annotation.h"
#include "hw/core/cause/causes.h"

namespace weft {
namespace {

// How many events ahead of the one that runs a target itself is fetched, may prefetch, and may follow what it has
// fetched: from one to the next about the latency of a cache that misses.
constexpr std::size_t kFetchTarget = 7;
constexpr std::size_t kLookAhead = 4;
constexpr std::size_t kLookAgain = 2;
// Slots with no more events than this leave no time for that: an event of the next one may prefetch instead.
constexpr std::size_t kSparse = 2;

std::int64_t kernel_now() {
  return static_cast<std::int64_t>(sc_core::sc_time_stamp().value());
}

/// Of a copy: a hook may put another one in its place.
[[gnu::noinline]] void call(const std::function<void()> hook) {
  hook();
}

}  // namespace

Dispatcher::Dispatcher(sc_core::sc_module_name name)
    : sc_module(name), heads_(kSlots, kNil), occupied_(kWords, 0), summary_(kWords / 64, 0), later_(kBlocks) {
  SC_METHOD(run);
  sensitive << wake_;
  dont_initialize();
}

Dispatcher::~Dispatcher() = default;

Causes& Dispatcher::keep_causes() {
  if (causes_ == nullptr) causes_ = std::make_unique<Causes>();
  return *causes_;
}

void Dispatcher::attach(EventTarget& target, std::string name) {
  names_.emplace_back(std::move(name), &target);
}

void Dispatcher::end_of_elaboration() {
  if (sc_core::sc_get_time_resolution() != sc_core::sc_time(1, sc_core::SC_PS)) {
    SC_REPORT_FATAL("weft.dispatcher", "the time resolution must be 1 ps");
  }
  if (names_.size() >> kTargetBits != 0) {
    SC_REPORT_FATAL("weft.dispatcher", "there are more event targets than its order has room for");
  }
  std::sort(names_.begin(), names_.end());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (i > 0 && names_[i].first == names_[i - 1].first) {
      SC_REPORT_FATAL("weft.dispatcher", ("two event targets are called " + names_[i].first).c_str());
    }
    names_[i].second->order_ = i << kTagBits;
    targets_.push_back(names_[i].second);
  }
  if (causes_ != nullptr) {
    std::vector<std::string> names;
    for (const auto& [name, target] : names_) names.push_back(name);
    causes_->begin_run(std::move(names));
  }
  names_.clear();
  names_.shrink_to_fit();
}

Time Dispatcher::kernel_time() const {
  return Time(std::max(now_, kernel_now()));
}

void Dispatcher::on_progress(std::uint64_t events, std::function<void()> hook) {
  progress_mask_ = hook ? std::bit_ceil(events) - 1 : UINT64_MAX;
  progress_ = std::move(hook);
}

CauseBehind Dispatcher::follow(Time when) {
  return causes_->posted(when.count());
}

void Dispatcher::refuse(const EventTarget& target) const {
  // Targets have no numbers yet: the event would go to another one.
  const auto found =
      std::find_if(names_.begin(), names_.end(), [&](const auto& each) { return each.second == &target; });
  const std::string who = found == names_.end() ? "what is not attached" : found->first;
  SC_REPORT_FATAL("weft.dispatcher", ("an event was posted to " + who +
                                      " before the simulation has started: nothing may be written to its doorbell or "
                                      "commands that early")
                                         .c_str());
}

void Dispatcher::refuse_past(Time when, const EventTarget& target) const {
  const auto* const module = dynamic_cast<const sc_core::sc_object*>(&target);
  const std::string who = module != nullptr ? module->name() : "a part of a module";
  // A time that goes beyond the end begins again from below; if it is as late as that, it has.
  constexpr double kAll = 18446744073709551616.0;
  if (when < Time() || now_ > kNever.count() / 2) {
    overflow("a time of " + who + " in ps", static_cast<double>(when.count()) + kAll);
  }
  SC_REPORT_FATAL("weft.dispatcher", ("an event was posted to " + who + " at " + to_text(when) + ", which is before " +
                                      to_text(Time(now_)) + ", the present: a model is at fault")
                                         .c_str());
}

void Dispatcher::post_elsewhere(Event event, std::int64_t slot, CauseBehind behind, const EventTarget& target) {
  if (targets_.empty()) [[unlikely]]
    refuse(target);
  const std::int64_t time = (slot << kSlotBits) + event.time_in_slot();
  // What lies in the past comes here: its slot is not behind the current one.
  if (time < now_) [[unlikely]]
    refuse_past(Time(time), target);
  if (slot <= current_slot_) {
    if (causes_ != nullptr) [[unlikely]]
      event.data = take_node(event, behind);
    insert_into_batch(event);
  } else if (slot < wheel_end_) {
    insert_into_wheel(event, slot, behind);
  } else if (slot - wheel_end_ < kBlocks * kBlock) {
    put_later({time, event, behind});
  } else {
    overflow_.push_back({{time, event, behind}, overflow_sequence_++});
    std::push_heap(overflow_.begin(), overflow_.end(), IsLater());
  }
  if (!running_) wake_.notify(to_delay(Time(std::max<std::int64_t>(0, time - kernel_now()))));
}

void Dispatcher::grow_nodes() {
  const std::size_t old = nodes_.size();
  nodes_.resize(std::max<std::size_t>(1024, 2 * old));
  for (std::size_t i = nodes_.size(); i-- > old;) {
    nodes_[i].next = free_;
    free_ = static_cast<std::uint32_t>(i);
  }
}

void Dispatcher::notify(sc_core::sc_event& event, Time when) {
  event.notify(to_delay(Time(std::max<std::int64_t>(0, when.count() - kernel_now()))));
  horizon_ = std::min(horizon_, when.count());
}

void Dispatcher::start_kernel(const std::function<void()>& start) const {
  try {
    start();
  } catch (const sc_core::sc_report&) {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    throw;
  }
}

void Dispatcher::run_to_end() {
  start_kernel([] { sc_core::sc_start(); });
}

void Dispatcher::run_until(Time limit) {
  limit_ = limit.count();
  if (pending() != 0) wake_.notify(sc_core::SC_ZERO_TIME);
  start_kernel([this] {
    const std::int64_t span = limit_ - kernel_now();
    sc_core::sc_start(to_delay(Time(span)), sc_core::SC_EXIT_ON_STARVATION);
    // sc_start(T) leaves out what happens exactly at its end.
    while (sc_core::sc_pending_activity_at_current_time()) sc_core::sc_start(sc_core::SC_ZERO_TIME);
  });
  limit_ = INT64_MAX;
  if (pending() != 0) wake_.notify(to_delay(Time(std::max<std::int64_t>(0, next_time() - kernel_now()))));
}

void Dispatcher::insert_into_batch(Event event) {
  // What has been handled leaves room before the cursor. Who posts to itself at once goes there: with a thousand events
  // at one time, moving those behind it would take longer than all else.
  if (cursor_ > 0 && cursor_ < batch_size_ && event.key < batch_[cursor_ + (batch_size_ - cursor_) / 2].key) {
    std::size_t at = --cursor_;
    for (; batch_[at + 1].key <= event.key; ++at) batch_[at] = batch_[at + 1];
    batch_[at] = event;
    return;
  }
  append_to_batch(event);
  std::size_t at = batch_size_ - 1;
  for (; at > cursor_ && event.key < batch_[at - 1].key; --at) batch_[at] = batch_[at - 1];
  batch_[at] = event;
}

std::int64_t Dispatcher::next_occupied() const {
  // The slots form a ring that starts behind the current one: look at the rest of its word, then at whole words.
  const std::size_t start = head_of(current_slot_ + 1);
  std::size_t word = start >> 6;
  std::uint64_t bits = occupied_[word] & (~0ULL << (start & 63));
  for (std::size_t step = 0; bits == 0 && step < kWords;) {
    // Skip 64 empty words at a time where the summary allows it.
    word = (word + 1) % kWords;
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
  if (bits == 0) return kNoSlot;
  const auto index = static_cast<std::int64_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
  return current_slot_ + 1 + ((index - static_cast<std::int64_t>(start)) & (kSlots - 1));
}

/// The first with events behind the wheel, or kNoSlot.
std::int64_t Dispatcher::next_block() const {
  const std::int64_t first = wheel_end_ >> kBlockBits;
  for (std::int64_t block = first; block < first + kBlocks; ++block) {
    if (!list_of(block).empty()) return block;
  }
  return overflow_.empty() ? kNoSlot : block_of(overflow_.front().time);
}

std::int64_t Dispatcher::next_time() const {
  if (cursor_ < batch_size_) return time_of(batch_[cursor_]);
  std::int64_t best = INT64_MAX;
  if (next_slot_ != kNoSlot) {
    for (std::uint32_t n = heads_[head_of(next_slot_)]; n != kNil; n = nodes_[n].next) {
      best = std::min(best, (next_slot_ << kSlotBits) + nodes_[n].event.time_in_slot());
    }
  } else if (const std::int64_t block = next_block(); block != kNoSlot) {
    for (const Later& event : list_of(block)) best = std::min(best, event.time);
    if (!overflow_.empty()) best = std::min(best, overflow_.front().time);
  }
  return best;
}

void Dispatcher::put_later(const Later& event) {
  std::vector<Later>& list = list_of(block_of(event.time));
  // The memory that was in use last is the likeliest to be in a cache.
  if (list.capacity() == 0 && !spare_.empty()) {
    list.swap(spare_.back());
    spare_.pop_back();
  }
  list.push_back(event);
}

/// The wheel holds one block more.
void Dispatcher::extend_wheel() {
  const std::int64_t block = wheel_end_ >> kBlockBits;
  wheel_end_ += kBlock;
  // What the wheel or a list now holds moves there before anything is posted there directly: posting order is kept.
  if (std::vector<Later>& list = list_of(block); !list.empty()) {
    for (const Later& event : list) insert_into_wheel(event.event, event.time >> kSlotBits, event.behind);
    list.clear();
    spare_.push_back(std::move(list));
  }
  while (!overflow_.empty() && block_of(overflow_.front().time) - block <= kBlocks) {
    std::pop_heap(overflow_.begin(), overflow_.end(), IsLater());
    const Later& event = overflow_.back();
    if (block_of(event.time) == block) {
      insert_into_wheel(event.event, event.time >> kSlotBits, event.behind);
    } else {
      put_later(event);
    }
    overflow_.pop_back();
  }
}

/// The wheel is empty: it goes on with the block of the next event, unless that comes after `limit`.
bool Dispatcher::skip_to_later(std::int64_t limit) {
  const std::int64_t next = next_time();
  if (next == INT64_MAX || next > limit) return false;
  current_slot_ = (block_of(next) << kBlockBits) - 1;
  wheel_end_ = current_slot_ + 1;
  extend_wheel();
  return true;
}

void Dispatcher::enter_slot(std::int64_t slot) {
  batch_size_ = 0;
  cursor_ = 0;
  current_slot_ = slot;
  if (slot >= wheel_end_ - kBlock) extend_wheel();
  const std::size_t head = head_of(slot);
  for (std::uint32_t index = heads_[head]; index != kNil;) {
    Node& node = nodes_[index];
    __builtin_prefetch(reinterpret_cast<const void*>(node.event.data));
    const std::uint32_t next = node.next;
    if (causes_ == nullptr) [[likely]] {
      append_to_batch(node.event);
      give_node_back(index);
    } else {
      append_to_batch({node.event.key, index});
    }
    index = next;
  }
  heads_[head] = kNil;
  occupied_[head >> 6] &= ~(1ULL << (head & 63));
  if (occupied_[head >> 6] == 0) summary_[head >> 12] &= ~(1ULL << (head >> 6 & 63));
  next_slot_ = next_occupied();
  if (batch_size_ <= kSparse) {
    ahead_ = kNil;
    if (next_slot_ != kNoSlot) {
      const Event& next = nodes_[heads_[head_of(next_slot_)]].event;
      targets_[next.target()]->prepare(next.tag(), next.data);
    }
  } else {
    ahead_ = heads_[head_of(slot + 1)];
    if (ahead_ != kNil) __builtin_prefetch(&nodes_[ahead_]);
  }
  if (batch_size_ > 1) sort_batch();
}

void Dispatcher::sort_batch() {
  // The list is last in, first out; what has equal keys must come out in the order of posting.
  constexpr std::size_t kShort = 24;
  if (batch_size_ > kShort) return sort_long_batch();
  for (std::size_t i = 1; i < batch_size_; ++i) {
    const Event event = batch_[i];
    std::size_t at = i;
    for (; at > 0 && event.key <= batch_[at - 1].key; --at) batch_[at] = batch_[at - 1];
    batch_[at] = event;
  }
}

/// Distributes the events by the first bits of their times, which leaves little to sort.
void Dispatcher::sort_long_batch() {
  constexpr int kBits = 5;
  constexpr std::size_t kFew = 40;
  const auto bucket_of = [](const Event& event) { return event.key >> (64 - kBits); };
  std::array<std::uint32_t, (1U << kBits) + 1> ends{};
  for (std::size_t i = 0; i < batch_size_; ++i) ++ends[bucket_of(batch_[i]) + 1];
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  unsorted_.swap(batch_);
  if (batch_.size() < unsorted_.size()) batch_.resize(unsorted_.size());
  // From here on ends[b] is where the next event of bucket b goes, at last its end.
  for (std::size_t i = batch_size_; i-- > 0;) batch_[ends[bucket_of(unsorted_[i])]++] = unsorted_[i];
  std::size_t begin = 0;
  for (std::size_t b = 0; b + 1 < ends.size(); begin = ends[b++]) {
    if (ends[b] - begin > kFew) {
      std::stable_sort(batch_.begin() + static_cast<std::ptrdiff_t>(begin), batch_.begin() + ends[b],
                       [](const Event& x, const Event& y) { return x.key < y.key; });
      continue;
    }
    for (std::size_t i = begin + 1; i < ends[b]; ++i) {
      const Event event = batch_[i];
      std::size_t at = i;
      for (; at > begin && event.key < batch_[at - 1].key; --at) batch_[at] = batch_[at - 1];
      batch_[at] = event;
    }
  }
}

inline void Dispatcher::prepare_batch() {
  const Event& soon = batch_[cursor_ + kLookAgain];
  targets_[soon.target()]->prepare_more(soon.tag(), posted_data(soon));
  if (cursor_ + kLookAhead >= batch_size_) return;
  const Event& later = batch_[cursor_ + kLookAhead];
  targets_[later.target()]->prepare(later.tag(), posted_data(later));
  if (cursor_ + kFetchTarget >= batch_size_) return;
  const Event& fetched = batch_[cursor_ + kFetchTarget];
  const auto* target = reinterpret_cast<const std::byte*>(targets_[fetched.target()]);
  __builtin_prefetch(target);
  __builtin_prefetch(target + 64);
  __builtin_prefetch(target + 128);
}

/// Of one more of the next slot's events, at each event of this one.
inline void Dispatcher::prefetch_ahead() {
  if (ahead_ == kNil) return;
  const Node& node = nodes_[ahead_];
  __builtin_prefetch(reinterpret_cast<const void*>(node.event.data));
  __builtin_prefetch(targets_[node.event.target()]);
  ahead_ = node.next;
  if (ahead_ != kNil) __builtin_prefetch(&nodes_[ahead_]);
}

bool Dispatcher::open_next_slot(std::int64_t limit) {
  if (next_slot_ == kNoSlot && !skip_to_later(limit)) return false;
  if ((next_slot_ << kSlotBits) > limit) return false;
  enter_slot(next_slot_);
  return true;
}

void Dispatcher::run() {
  try {
    run_events();
  } catch (const sc_core::sc_report& report) {
    // The kernel takes the contents of the report that it catches: this is a copy.
    running_ = false;
    failure_ = std::make_exception_ptr(sc_core::sc_report(report));
    throw;
  } catch (...) {
    running_ = false;
    failure_ = std::current_exception();
    throw;
  }
}

void Dispatcher::collect_causes() {
  causes_->collect([this](const auto& visit) {
    for (Node& node : nodes_) {
      if (node.behind.piece() != CauseBehind::kNone) visit(node.behind);
    }
    for (std::vector<Later>& list : later_) {
      for (Later& event : list) visit(event.behind);
    }
    for (Overflow& event : overflow_) visit(event.behind);
  });
}

void Dispatcher::run_events() {
  const std::int64_t start = kernel_now();
  const bool kernel_waits = sc_core::sc_pending_activity();
  horizon_ = INT64_MAX;
  if (kernel_waits) {
    horizon_ = start + static_cast<std::int64_t>(sc_core::sc_time_to_pending_activity().value());
  }
  running_ = true;
  for (;;) {
    if (cursor_ == batch_size_) {
      const std::int64_t reach = std::min(limit_, std::max(start, horizon_ - 1));
      if (!open_next_slot(reach)) break;
    }
    const Event event = batch_[cursor_];
    const std::int64_t time = time_of(event);
    if (time > limit_ || (time >= horizon_ && time > start)) break;
    ++cursor_;
    before_ = now_;
    now_ = time;
    ++handled_;
    const std::uint64_t identity = static_cast<std::uint64_t>(event.target()) << 32 | event.tag();
    digest_before_ = digest_;
    digest_ = (digest_ ^ (static_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15ULL + identity)) * 0xff51afd7ed558ccdULL;
    prefetch_ahead();
    if (cursor_ + kLookAgain < batch_size_) prepare_batch();
    EventTarget& target = *targets_[event.target()];
    if (causes_ == nullptr) [[likely]] {
      target.on_event(Time(time), event.tag(), event.data);
    } else {
      const auto explain = [&target, &event] { return target.cause(event.tag()); };
      if (causes_->is_full()) [[unlikely]]
        collect_causes();
      const auto index = static_cast<std::uint32_t>(event.data);
      Node& node = nodes_[index];
      const std::uint64_t data = node.event.data;
      causes_->begin(std::exchange(node.behind, CauseBehind()), time, event.target(), explain);
      give_node_back(index);
      target.on_event(Time(time), event.tag(), data);
      causes_->end(handled_ == disregarded_);
    }
    if ((handled_ & progress_mask_) == 0 && progress_) call(progress_);
  }
  running_ = false;
  if (pending() != 0) {
    const std::int64_t next = next_time();
    if (next <= limit_) wake_.notify(to_delay(Time(std::max<std::int64_t>(0, next - start))));
  }
}

}  // namespace weft
