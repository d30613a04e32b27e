// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "hw/core/cause/cause_kinds.h"
#include "hw/core/quantity.h"

namespace weft {

class Causes;
class Dispatcher;

/// What receives events. A module that handles thousands of ports is one target: `tag` tells its events apart.
/// It begins a cache line, in whose rest a target that has no other base behind it can put what every event touches.
class alignas(64) EventTarget {
 public:
  EventTarget(const EventTarget&) = delete;
  EventTarget& operator=(const EventTarget&) = delete;
  virtual ~EventTarget() = default;

  /// Runs at simulated time `now`. `tag` and `data` are what was posted; `data` is usually a Packet.
  virtual void on_event(Time now, std::uint32_t tag, std::uint64_t data) = 0;

  /// Called shortly before an event, though not before each: a chance to prefetch what it will touch, nothing else.
  virtual void prepare(std::uint32_t /*tag*/, std::uint64_t /*data*/) {}
  /// Called when what `prepare` has fetched should be here, a little before the event: a chance to follow pointers.
  virtual void prepare_more(std::uint32_t /*tag*/, std::uint64_t /*data*/) {}

  /// What the time before an event goes to, as far as nobody has marked it.
  [[nodiscard]] virtual CauseKind cause(std::uint32_t /*tag*/) const { return CauseKind::kOther; }

 protected:
  EventTarget() = default;

 private:
  friend class Dispatcher;
  std::uint64_t order_ = 0;  ///< its number, where a key has it
};

/// The shared event queue of everything that happens at a high rate: one sc_module with one SC_METHOD.
///
/// It runs ahead of the SystemC kernel: one activation handles all events that lie before the next pending activity of
/// the kernel (IEEE 1666 `sc_time_to_pending_activity`), so that a run without clocks or RTL is a single activation.
/// This is exact, since nothing else could have happened in between. While it runs ahead, `sc_time_stamp()` lags:
/// models use the time that they are handed, or `now()`; and a model that notifies an sc_event does so through
/// `notify`, which lowers the horizon. `sc_start(T)` cannot be seen from inside: to stop at a time, call `run_until`.
///
/// Order is part of the model. Events run by time; at one picosecond by target, targets being numbered by the sorted
/// names that they were attached under; for one target by tag; for one tag in the order in which they were posted. A
/// target gives each of its senders a tag of its own, so that no order depends on pointers, on the order of
/// elaboration, or on who was served first elsewhere.
///
/// The queue is a timing wheel of 1 ns slots for the next 4 to 8 us, a list for each 4 us of the next ms, and a heap
/// for what lies beyond. An event is 24 bytes from a pool: none is allocated in the steady state. Its place in the
/// order within a slot is one number, which leaves room for 16 million targets and 30 bits of tag.
class Dispatcher final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Dispatcher);
  explicit Dispatcher(sc_core::sc_module_name name);
  ~Dispatcher() override;

  /// Makes `target` known under a name that is unique in the platform. Before the end of elaboration.
  void attach(EventTarget& target, std::string name);

  /// Schedules an event at `when`, not before now(). From start_of_simulation on. Before that, and for a time in the
  /// past, it is an error that names the target.
  void post(Time when, const EventTarget& target, std::uint32_t tag, std::uint64_t data = 0) {
    assert(tag >> kTagBits == 0);
    const auto ps = static_cast<std::uint64_t>(when.count());
    const CauseBehind behind = causes_ == nullptr ? CauseBehind() : follow(when);
    const Event event{(ps & kSlotMask) << (kTargetBits + kTagBits) | target.order_ | tag, data};
    const std::int64_t slot = when.count() >> kSlotBits;
    ++posted_;
    if (running_ && slot > current_slot_ && slot < wheel_end_) [[likely]] {
      insert_into_wheel(event, slot, behind);
    } else {
      post_elsewhere(event, slot, behind, target);
    }
  }

  /// From here on the critical path is kept. Before the modules are made.
  Causes& keep_causes();
  /// Null if it is not.
  [[nodiscard]] Causes* causes() const { return causes_.get(); }
  /// The number of a target in the order of all, which is its place as a cause. From the end of elaboration on.
  [[nodiscard]] static CausePlace place_of(const EventTarget& target) {
    return static_cast<CausePlace>(target.order_ >> kTagBits);
  }

  /// Notifies an sc_event at `when`, and sees to it that the kernel gets there before any later event of this queue.
  void notify(sc_core::sc_event& event, Time when);

  /// Runs the SystemC kernel until nothing is left to do. What an event throws comes out as it was thrown, where the
  /// kernel makes a report of its text.
  void run_to_end();
  /// Runs the SystemC kernel until every event up to and including `limit` has been handled. Throws as run_to_end().
  void run_until(Time limit);

  /// Simulated time: of the event being handled, or of the kernel when called from a SystemC process.
  [[nodiscard]] Time now() const { return running_ ? Time(now_) : kernel_time(); }

  /// Whether `target`, one of whose events is being handled, has no further one at this picosecond: what it would post
  /// to itself for now can as well be done at once, since nothing would come between, unless the event has posted for
  /// now to others.
  [[nodiscard]] bool is_last_of(const EventTarget& target) const {
    if (cursor_ == batch_size_) return true;
    const auto in_slot = static_cast<std::uint64_t>(now_) & kSlotMask;
    return batch_[cursor_].key >> kTagBits != (in_slot << kTargetBits | target.order_ >> kTagBits);
  }

  /// Calls `hook` about every `events` events, for progress displays; an empty one ends that.
  void on_progress(std::uint64_t events, std::function<void()> hook);

  /// The event being handled was for nothing, such as a timer of something that has been answered.
  void disregard() {
    if (handled_ != disregarded_ + 1) last_change_ = before_;
    disregarded_ = handled_;
  }
  /// The event being handled is not of the model, such as bytes that move at the end of a time: it is as if there had
  /// been none.
  void leave_out() {
    disregard();
    disregarded_ = --handled_;
    --posted_;
    digest_ = digest_before_;
  }
  /// When the last event was handled that nobody disregarded: the end of a run.
  [[nodiscard]] Time last_change() const { return Time(handled_ == disregarded_ ? last_change_ : now_); }

  [[nodiscard]] std::uint64_t handled() const { return handled_; }
  [[nodiscard]] std::uint64_t pending() const { return posted_ - handled_; }
  /// A hash over time, target and tag of each event handled: equal digests mean equal runs.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

 private:
  static constexpr int kSlotBits = 10;  // about 1 ns: a handful of events per slot with hundreds of busy links
  static constexpr int kTargetBits = 24;
  static constexpr int kTagBits = 30;
  static constexpr std::uint64_t kSlotMask = (1ULL << kSlotBits) - 1;
  static constexpr std::uint64_t kTagMask = (1ULL << kTagBits) - 1;
  static constexpr std::int64_t kSlots = 8192;
  static constexpr std::size_t kWords = kSlots / 64;
  static constexpr int kBlockBits = 12;
  static constexpr std::int64_t kBlock = 1LL << kBlockBits;  // slots: the wheel holds the current block and the next
  static constexpr std::int64_t kBlocks = 256;               // behind those, with a list each
  static_assert(kSlots == 2 * kBlock);
  static constexpr std::int64_t kNoSlot = INT64_MAX;
  static constexpr std::uint32_t kNil = UINT32_MAX;
  static_assert(kSlotBits + kTargetBits + kTagBits == 64);

  struct Event {
    std::uint64_t key;  // time within its slot, target, tag: the order within a slot
    std::uint64_t data;

    [[nodiscard]] std::int64_t time_in_slot() const {
      return static_cast<std::int64_t>(key >> (kTargetBits + kTagBits));
    }
    [[nodiscard]] std::uint32_t target() const {
      return static_cast<std::uint32_t>(key >> kTagBits & ((1ULL << kTargetBits) - 1));
    }
    [[nodiscard]] std::uint32_t tag() const { return static_cast<std::uint32_t>(key & kTagMask); }
  };
  struct alignas(32) Node {
    Event event;
    CauseBehind behind;  // where causes are kept; of none where this is free
    std::uint32_t next;  // in its slot, where the latest posted comes first, or among the free
  };
  struct Later {
    std::int64_t time;
    Event event;
    CauseBehind behind;
  };
  struct Overflow : Later {
    std::uint64_t sequence;
  };
  struct IsLater {
    bool operator()(const Overflow& a, const Overflow& b) const {
      return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
    }
  };

  void end_of_elaboration() override;
  /// What an event follows from that is posted for `when`.
  [[nodiscard]] CauseBehind follow(Time when);
  [[nodiscard]] Time kernel_time() const;
  void run();
  void run_events();
  void collect_causes();
  bool open_next_slot(std::int64_t limit);
  void enter_slot(std::int64_t slot);
  bool skip_to_later(std::int64_t limit);
  void extend_wheel();
  void put_later(const Later& event);
  void sort_batch();
  void sort_long_batch();
  void prepare_batch();
  void prefetch_ahead();
  /// Of an event of the current slot. Where causes are kept it has a node until it is handled, whose number is in its
  /// place.
  [[nodiscard]] std::uint64_t posted_data(const Event& event) const {
    return causes_ == nullptr ? event.data : nodes_[event.data].event.data;
  }
  [[nodiscard]] std::int64_t time_of(const Event& event) const {
    return (current_slot_ << kSlotBits) + event.time_in_slot();
  }
  void append_to_batch(Event event) {
    if (batch_size_ == batch_.size()) [[unlikely]]
      batch_.resize(2 * batch_size_ + 64);
    batch_[batch_size_++] = event;
  }
  void insert_into_batch(Event event);
  void post_elsewhere(Event event, std::int64_t slot, CauseBehind behind, const EventTarget& target);
  void refuse(const EventTarget& target) const;
  void refuse_past(Time when, const EventTarget& target) const;
  void start_kernel(const std::function<void()>& start) const;
  void grow_nodes();
  // By value: two registers, where memory would stall.
  std::uint32_t take_node(Event event, CauseBehind behind) {
    if (free_ == kNil) [[unlikely]]
      grow_nodes();
    const std::uint32_t index = free_;
    Node& node = nodes_[index];
    free_ = node.next;
    node.event = event;
    node.behind = behind;
    return index;
  }
  void give_node_back(std::uint32_t index) {
    nodes_[index].next = free_;
    free_ = index;
  }
  void insert_into_wheel(Event event, std::int64_t slot, CauseBehind behind) {
    const std::uint32_t index = take_node(event, behind);
    const std::size_t head = head_of(slot);
    nodes_[index].next = heads_[head];
    if (heads_[head] == kNil) {
      occupied_[head >> 6] |= 1ULL << (head & 63);
      summary_[head >> 12] |= 1ULL << (head >> 6 & 63);
    }
    heads_[head] = index;
    next_slot_ = std::min(next_slot_, slot);
  }
  static std::int64_t block_of(std::int64_t time) { return time >> (kSlotBits + kBlockBits); }
  std::vector<Later>& list_of(std::int64_t block) { return later_[static_cast<std::size_t>(block & (kBlocks - 1))]; }
  [[nodiscard]] const std::vector<Later>& list_of(std::int64_t block) const {
    return later_[static_cast<std::size_t>(block & (kBlocks - 1))];
  }
  static std::size_t head_of(std::int64_t slot) { return static_cast<std::size_t>(slot & (kSlots - 1)); }
  [[nodiscard]] std::int64_t next_occupied() const;
  [[nodiscard]] std::int64_t next_block() const;
  [[nodiscard]] std::int64_t next_time() const;

  std::vector<std::pair<std::string, EventTarget*>> names_;
  std::vector<EventTarget*> targets_;

  std::unique_ptr<Causes> causes_;
  std::int64_t now_ = 0;
  std::int64_t before_ = 0;  // when the event before this one was
  std::int64_t last_change_ = 0;
  std::uint64_t disregarded_ = 0;  // how many had been handled when the latest one was
  std::int64_t horizon_ = 0;
  std::int64_t limit_ = INT64_MAX;
  std::int64_t current_slot_ = 0;
  std::int64_t next_slot_ = kNoSlot;  // of the wheel's, the first with events
  std::int64_t wheel_end_ = kSlots;   // the first slot that it does not hold, at the beginning of a block
  bool running_ = false;
  std::uint64_t handled_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t digest_ = 0;
  std::uint64_t digest_before_ = 0;  // the event before this one
  std::uint64_t progress_mask_ = UINT64_MAX;

  std::vector<Event> batch_;     // the current slot, sorted; its first batch_size_ are in use, handled up to cursor_
  std::vector<Event> unsorted_;  // what sort_batch puts in order
  std::size_t batch_size_ = 0;
  std::size_t cursor_ = 0;
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNil;
  std::uint32_t ahead_ = kNil;  // the next slot's node to prefetch
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint64_t> occupied_;    // a bit per slot
  std::vector<std::uint64_t> summary_;     // a bit per word of occupied_
  std::vector<std::vector<Later>> later_;  // by block, in the order of posting
  std::vector<std::vector<Later>> spare_;  // empty ones with memory
  std::vector<Overflow> overflow_;         // a heap, whose first is the next
  std::uint64_t overflow_sequence_ = 0;

  std::function<void()> progress_;
  sc_core::sc_event wake_;
  std::exception_ptr failure_;
};

}  // namespace weft
