// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "hw/memory/dram/address_map.h"
#include "hw/memory/dram/command.h"
#include "hw/memory/dram/controller_config.h"
#include "hw/memory/dram/counters.h"

namespace weft::dram {

struct Request {
  Location location;
  bool write = false;
  Time created;           ///< carried along
  std::uint64_t tag = 0;  ///< carried along; its highest bit is the controller's
  bool partial = false;   ///< a write of some bytes of the burst
};

/// What became of a request that was offered.
enum class Accept : std::uint8_t {
  kQueued,
  kForwarded,   ///< a read that the write queue answered: it is done
  kFull,        ///< offer it again after the next read or write of the pseudo channel
  kBehindRead,  ///< a write to what a waiting read still has to see: offer it again as above
};

/// The controller of one pseudo channel: its queues, its banks, and which command it wants next on each of the
/// channel's two command buses.
///
/// Scheduling is FR-FCFS: of the reads or writes whose row is open, the one that can go first, the oldest among equals;
/// beside it, activates and precharges for the oldest request of each bank that has no row hit waiting. After `hit_cap`
/// row hits that passed over an older request of their bank, the row is closed. Reads go before writes until the write
/// queue is filled to its high mark or no read waits; writes then go first down to the low mark. What was activated
/// before such a switch is still served before it, so that no activate is wasted. A read of what a waiting write holds
/// is answered from the queue.
///
/// All-bank refreshes serve what is activated, close all banks and refresh; per-bank refreshes prefer banks that no
/// request waits for. Nothing is computed while nothing can happen: the candidates for both buses are kept until a
/// command or a request changes them.
class PseudoChannel {
 public:
  struct Candidate {
    Clock at = kNeverClock;
    std::uint64_t order = UINT64_MAX;  ///< of the request that it serves, modulo 2^34
    CommandKind kind = CommandKind::kRefreshDue;
    std::uint8_t bank = 0;
    bool write = false;
  };
  /// The request that a command served.
  struct Served {
    bool any = false;
    bool write = false;
    bool internal =
        false;  ///< of the controller's own: what waits for room may be offered again, else nothing happened
    Time created;
    std::uint64_t tag = 0;
    Clock done = 0;             ///< end of its data
    std::uint16_t channel = 0;  ///< of an internal one, as is the next
    std::uint8_t pseudo_channel = 0;
  };

  PseudoChannel(const Device& device, const ControllerConfig& config, int index);

  /// Requests come in the order of time, and none before a command that was issued. `order` is greater than that of any
  /// before it in the channel, and not 0.
  Accept push(const Request& request, Clock now, std::uint64_t order);

  /// The next column command, no earlier than `bus`, from which on the column bus is free.
  const Candidate& column(Clock bus) {
    if (!holds(columns_, bus)) find_column(bus);
    return columns_.best;
  }
  /// The next row command, or the time at which a refresh becomes due.
  const Candidate& row(Clock bus) {
    if (row_stale_ || bus >= row_next_) {
      find_row(bus);
    } else if (row_.at < bus) {
      // The same command, later.
      row_.at = bus;
      closing_.floor = std::max(closing_.floor, bus);
      opening_.floor = std::max(opening_.floor, bus);
      closing_.best.at = std::max(closing_.best.at, bus);
      opening_.best.at = std::max(opening_.best.at, bus);
    }
    return row_;
  }
  /// Whether a request since the last call may have changed a candidate; most queue up behind others.
  bool changed() { return std::exchange(changed_, false); }
  /// Issues the candidate, which is the one of column() or row(). `command` becomes what the device sees.
  Served issue_column(Command& command);
  void issue_row(Command& command);

  /// After so long each of its refreshes has come as often as the others; 0: it has none.
  [[nodiscard]] Clock refresh_round() const { return refresh_step_ * static_cast<Clock>(banks_.size()); }
  /// Refreshes since begin_round() come `times` more, as if so many rounds had passed at once.
  void begin_round() { at_round_ = counters_; }
  void repeat_round(std::int64_t times);

  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] int waiting() const { return count_[0] + count_[1]; }
  /// For further reads (0) or writes (1).
  [[nodiscard]] int room(std::size_t direction) const { return capacity_[direction] - count_[direction]; }
  /// Activates of the busiest bank, in each window of kWindow tRC of whichever that was then: so banks that take turns
  /// over a long time count as the one that each stands for.
  [[nodiscard]] std::int64_t most_activates() const;

 private:
  static constexpr Clock kWindow = 256;
  using Index = std::uint16_t;
  static constexpr Index kNone = UINT16_MAX;
  struct Slot {
    Time created;
    std::uint64_t tag = 0;
    std::uint64_t order = 0;
    std::uint32_t row = 0;
    std::uint16_t column = 0;
    Index next = kNone;  // in the queue of the bank, or of free slots
    Index previous = kNone;
    Index newer = kNone;  // of all of its direction
    Index older = kNone;
    std::uint8_t bank = 0;
  };
  /// Requests of one direction for one bank, oldest first.
  struct Queue {
    Index head = kNone;
    Index tail = kNone;
    Index hit = kNone;  ///< the oldest for the open row
  };
  struct Bank {
    std::uint32_t row = 0;       ///< the open one, or the last
    std::int32_t passed = 0;     ///< hits that passed over an older request
    std::int32_t activates = 0;  ///< in this window
    std::uint8_t stack = 0;
    std::uint8_t close_hint = 0;  ///< adaptive: 2 and 3 close
    bool auto_closed = false;
    bool conflict = false;  ///< its last precharge was for another row
    std::array<Queue, 2> queue;
  };
  /// When columns of other stacks than the last one's may follow; those of the one before it waited for it.
  struct OtherStacks {
    Clock at = 0;
    std::uint8_t last = 0;
  };
  /// The best of several banks. It stays that, though the bus may delay it, until another one that waits is ready.
  struct Search {
    Candidate best;
    Clock next = 0;   ///< when another one is ready
    Clock floor = 0;  ///< before which none of them can go
    bool stale = true;
  };
  template <typename T>
  using PerBank = std::array<T, kMaxBanks>;

  // The search for the next command is a minimum over banks of one word: how long it has to wait, the order of the
  // request, the bank. So it needs no branches, which nobody could predict.
  static constexpr int kBankBits = 6;
  static constexpr int kOrderBits = 34;
  static constexpr int kWaitShift = kBankBits + kOrderBits;
  static std::uint64_t key(std::uint64_t order, std::uint64_t bank) {
    return (order & ((1ULL << kOrderBits) - 1)) << kBankBits | bank;
  }
  /// The wait of a bank, 0 if it is ready.
  static std::uint64_t wait_until(Clock at, Clock from) {
    const Clock wait = at - from;
    return static_cast<std::uint64_t>(wait & ~(wait >> 63));
  }
  /// What a search found: `best` is the least wait with its key, `waits` the least wait that is not 0, less 1.
  static void found(Search& search, std::uint64_t best, std::uint64_t waits, Clock from) {
    search.best.at = from + static_cast<Clock>(best >> kWaitShift);
    search.best.order = (best & ((1ULL << kWaitShift) - 1)) >> kBankBits;
    search.best.bank = static_cast<std::uint8_t>(best & (kMaxBanks - 1));
    search.next = search.best.at > from                              ? search.best.at + 1
                  : waits >= static_cast<std::uint64_t>(kNeverClock) ? kNeverClock
                                                                     : from + 1 + static_cast<Clock>(waits);
  }
  /// Whether what was found is still right when the bus is free from `from` on; if so, it is moved there.
  static bool holds(Search& search, Clock from) {
    if (search.stale || from >= search.next) return false;
    if (search.best.at < from) search.best.at = search.floor = from;
    return true;
  }
  /// A bank has become a candidate, while the others are as they were.
  void add(Search& search, Clock at, std::uint64_t key) const;

  /// The first of `banks`, which are ready at `ready(bank)` and not before `from`.
  template <typename Ready>
  static void find_first(Search& search, CommandKind kind, std::uint64_t banks, const PerBank<std::uint64_t>& keys,
                         Clock from, const Ready& ready);
  void find_column(Clock bus);
  /// Whether the oldest request of all can go at `from`, so that no other has to be looked at.
  [[nodiscard]] bool oldest_goes(int direction, std::uint64_t banks, Clock from) const;
  void find_row(Clock bus);
  void find_closing(Clock from);
  void find_opening(Clock from);
  void add_column(std::uint8_t bank, int direction);
  /// Banks that the requests of the mode need closed, or open.
  [[nodiscard]] std::uint64_t wanted() const {
    return work_[mode_] & ~(hits_[mode_] & ~capped_) & ~(owners_[0] | owners_[1] | bank_refresh_);
  }
  void add_if_wanted(std::uint8_t bank);
  [[nodiscard]] Clock column_ready(std::uint8_t bank, int direction) const {
    const Clock at = std::max(column_bank_[direction][bank], column_group_[direction][group_[bank]]);
    const OtherStacks& others = column_others_[direction];
    return banks_[bank].stack == others.last ? at : std::max(at, others.at);
  }
  /// Of activates in any bank.
  [[nodiscard]] Clock activate_ready() const {
    return std::max(activate_any_, last_activates_[activate_count_ % 4] + timing_.faw);
  }
  [[nodiscard]] Candidate refresh_candidate(Clock from);
  void choose_refresh_bank();
  void update_mode() {
    if (mode_ == 0 ? count_[1] >= write_high_ || (count_[0] == 0 && count_[1] > 0)
                   : count_[0] > 0 && count_[1] <= write_low_) {
      change_mode();
    }
  }
  void change_mode();
  void remove(std::uint8_t bank, int direction, Index index);
  [[nodiscard]] Index first_hit(Index from, std::uint32_t row) const;
  [[nodiscard]] const Slot* find(const Queue& queue, const Location& location) const;
  void close(std::uint8_t bank, Clock at);
  void activate(std::uint8_t index, Clock at, Command& command);
  void begin_window(Clock at);
  [[nodiscard]] std::int64_t most_in_window() const;
  [[nodiscard]] bool closes_now(std::uint8_t bank) const;
  void rows_stale() { closing_.stale = opening_.stale = row_stale_ = true; }

  // What every decision reads comes first.
  Candidate row_;       ///< the first of the next two and of refreshes
  Clock row_next_ = 0;  ///< when it may be another one
  bool row_stale_ = true;
  bool changed_ = true;
  Search columns_;
  Search closing_;
  Search opening_;
  std::uint8_t mode_ = 0;    ///< 0 reads first, 1 writes first
  bool refreshing_ = false;  ///< an all-bank refresh wants the banks
  std::uint64_t open_ = 0;   // banks, as are all of these
  std::uint64_t capped_ = 0;
  std::array<std::uint64_t, 2> work_{};
  std::array<std::uint64_t, 2> hits_{};
  std::array<std::uint64_t, 2> owners_{};  ///< activated for a request that still waits
  std::uint64_t bank_refresh_ = 0;         ///< the one that a per-bank refresh wants
  PerBank<Clock> activate_{};              // the earliest by what the bank did, as are the next
  PerBank<Clock> precharge_{};             // of an open bank
  std::array<PerBank<Clock>, 2> column_bank_{};
  std::array<PerBank<std::uint64_t>, 2> head_key_{};  // of the oldest request
  std::array<PerBank<std::uint64_t>, 2> hit_key_{};   // of the oldest for the open row
  PerBank<std::uint8_t> group_{};
  std::array<PerBank<Clock>, 2> column_group_{};  // by bank group
  Clock now_ = 0;
  Clock activate_any_ = 0;  ///< by tRRDS and the like
  std::array<Clock, 2> column_any_{};
  std::array<OtherStacks, 2> column_others_;
  std::array<Clock, 4> last_activates_{};  ///< a ring, for tFAW
  std::uint32_t activate_count_ = 0;
  std::uint8_t last_direction_ = 0;
  std::uint8_t last_group_ = UINT8_MAX;
  Clock window_end_ = 0;
  std::int64_t most_before_ = 0;  ///< activates, of windows that are over
  Clock refresh_due_ = kNeverClock;
  Clock refresh_step_ = 0;
  int refreshes_owed_ = 0;
  std::uint64_t round_ = 0;  ///< banks that this round of per-bank refreshes still has before it
  std::uint64_t all_banks_ = 0;
  std::array<Index, 2> oldest_ = {kNone, kNone};
  std::array<Index, 2> newest_ = {kNone, kNone};
  std::array<int, 2> count_{};
  std::array<int, 2> capacity_{};
  int write_high_ = 0;
  int write_low_ = 0;
  Index free_ = kNone;
  Timing timing_;
  ControllerConfig config_;
  int banks_of_group_;
  std::uint8_t index_;
  Counters counters_;
  Counters at_round_;  ///< what they were when a round began
  std::vector<Slot> slots_;
  std::vector<Bank> banks_;
};

}  // namespace weft::dram
