// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fifo.h"
#include "hw/core/quantity.h"
#include "sw/analytical/pool.h"

namespace weft::analytical {

/// What something on the agenda is for, in one word: who acts, and what he is to do.
class Entry {
 public:
  static constexpr int kWhatBits = 56;

  Entry() = default;
  Entry(std::uint32_t actor, std::uint64_t what) : word_(std::uint64_t{actor} << kWhatBits | what) {}

  [[nodiscard]] bool nothing() const { return word_ == 0; }
  [[nodiscard]] std::uint32_t actor() const { return static_cast<std::uint32_t>(word_ >> kWhatBits); }
  [[nodiscard]] std::uint64_t what() const { return word_ & ((1ULL << kWhatBits) - 1); }
  [[nodiscard]] std::uint64_t word() const { return word_; }

 private:
  std::uint64_t word_ = 0;
};

class Actor {
 public:
  virtual void act(Time now, std::uint64_t what) = 0;
  /// Called some entries ahead of act(), where others are before it at that time: a chance to prefetch what it touches.
  virtual void prepare(std::uint64_t /*what*/) {}
  /// Called when what `prepare` has fetched should be here, and for what an end does without it: a chance to follow
  /// pointers.
  virtual void prepare_more(std::uint64_t /*what*/) {}

 protected:
  ~Actor() = default;
};

/// All that happens on an analytical network, at each time in the order of ASTRA-sim, on which its results depend where
/// things happen in the same nanosecond: what was entered first happens first; but all that an end has to do at a time
/// is done together, when the first of it would be (call()). What is entered for the current time comes at its end.
///
/// The dispatcher has one event for each time at which something happens.
class Agenda final : public EventTarget {
 public:
  /// Attaches itself.
  explicit Agenda(Dispatcher& dispatcher);

  /// Its number in entries, from 1 on.
  std::uint32_t add(Actor& actor);

  /// Enters what a network does. Throws ConfigError for times that the simulation cannot count.
  void post(Time when, Entry entry) {
    check(when);
    insert(when, entry);
  }
  /// Enters what an end does.
  void call(Time when, std::uint32_t end, Entry entry);
  /// Lets an actor act at once.
  void run(Time now, Entry entry) { actors_[entry.actor()]->act(now, entry.what()); }

  /// Whether anything was entered for time zero: ASTRA-sim stops there with an error.
  [[nodiscard]] bool at_zero() const { return at_zero_; }
  [[nodiscard]] std::uint64_t handled() const { return handled_; }
  /// A hash over time and entry of all that happened.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;

 private:
  static constexpr std::int64_t kSlots = 8192;  // of a nanosecond
  static constexpr std::int64_t kSlotTime = 1000;
  static constexpr std::int64_t kNever = INT64_MAX;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::int64_t kLongest = std::int64_t{1} << 62;  // ps: what is added to it does not overflow

  struct Record {
    std::int64_t when = 0;
    Entry entry;
  };
  /// What is still to happen within a nanosecond, by time.
  using Slot = Fifo<Record>;
  static constexpr std::int64_t kNowhen = -1;
  /// What an end does at a time, one after the other.
  struct Calls {
    std::int64_t when = kNowhen;
    Entry first;
    std::uint32_t next = kNone;  ///< more of them
    std::uint32_t last = kNone;
  };
  /// What an end does at all times. Mostly that is one time, which needs one cache line.
  struct alignas(64) AllCalls {
    Calls one;  ///< of a time, or none
    std::vector<Calls> others;

    [[nodiscard]] Calls* find(std::int64_t when) {
      if (one.when == when) return &one;
      for (Calls& each : others) {
        if (each.when == when) return &each;
      }
      return nullptr;
    }
  };
  struct Call {
    Entry entry;
    std::uint32_t next = kNone;
  };

  static void check(Time when) {
    if (when.count() < 0 || when.count() >= kLongest) [[unlikely]]
      refuse();
  }
  [[noreturn]] static void refuse();
  void insert(Time when, Entry entry);
  void into_slot(std::int64_t slot, const Record& record);
  void begin_slot(std::int64_t slot);
  void come_near(std::int64_t slot);
  void run_all(Time now);
  void run_calls(Time now, std::uint32_t end);
  [[nodiscard]] std::int64_t next_time() const;
  void act(Time now, Entry entry);
  void look_ahead(Slot& current);

  Dispatcher& dispatcher_;
  std::vector<Actor*> actors_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> used_;                  ///< a bit for each slot
  std::int64_t base_ = 0;                            ///< the slot of the current time, which `slots_` reach on from
  std::map<std::int64_t, std::vector<Record>> far_;  ///< by time
  std::vector<Slot> spare_;                          ///< memory of slots
  std::vector<AllCalls> calls_;                      ///< by end
  Pool<Call> more_calls_;
  std::int64_t scheduled_ = kNever;  ///< the earliest time for which the dispatcher has an event
  bool running_ = false;
  bool at_zero_ = false;
  std::uint64_t handled_ = 0;
  std::uint64_t digest_ = 0;
};

}  // namespace weft::analytical
