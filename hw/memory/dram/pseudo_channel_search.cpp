// SPDX-License-Identifier: Apache-2.0
// Which command a pseudo channel wants next on each bus.
#include <algorithm>
#include <bit>

#include "hw/memory/dram/bits.h"
#include "hw/memory/dram/pseudo_channel.h"

namespace weft::dram {

template <typename Ready>
inline void PseudoChannel::find_first(Search& search, CommandKind kind, std::uint64_t banks,
                                      const PerBank<std::uint64_t>& keys, Clock from, const Ready& ready) {
  search = Search();
  search.stale = false;
  search.next = kNeverClock;
  search.floor = from;
  search.best.kind = kind;
  if (banks == 0) return;
  std::uint64_t best = UINT64_MAX;
  std::uint64_t waits = UINT64_MAX;
  for_each_bit(banks, [&](std::uint8_t i) {
    const std::uint64_t wait = wait_until(ready(i), from);
    best = std::min(best, wait << kWaitShift | keys[i]);
    waits = std::min(waits, wait - 1);
  });
  found(search, best, waits, from);
}

void PseudoChannel::find_column(Clock bus) {
  // What the other direction has activated goes before a switch.
  const std::uint8_t direction = owners_[1 - mode_] != 0 ? 1 - mode_ : mode_;
  std::uint64_t banks = hits_[direction] & ~capped_;
  if (direction != mode_ || refreshing_) banks = owners_[direction];
  banks &= ~bank_refresh_ | owners_[direction];
  const Clock from = std::max({now_, bus, column_any_[direction]});
  const CommandKind kind = direction == 0 ? CommandKind::kRead : CommandKind::kWrite;
  if (oldest_goes(direction, banks, from)) {
    const Slot& oldest = slots_[oldest_[direction]];
    const std::uint64_t order = oldest.order & ((1ULL << kOrderBits) - 1);
    columns_ = {{from, order, kind, oldest.bank, direction != 0}, from + 1, from, false};
    return;
  }
  find_first(columns_, kind, banks, hit_key_[direction], from,
             [&](std::uint8_t i) { return column_ready(i, direction); });
  columns_.best.write = direction != 0;
}

bool PseudoChannel::oldest_goes(int direction, std::uint64_t banks, Clock from) const {
  const Index oldest = oldest_[direction];
  if (oldest == kNone) return false;
  const std::uint8_t bank = slots_[oldest].bank;
  return (banks >> bank & 1) != 0 && banks_[bank].queue[direction].hit == oldest &&
         column_ready(bank, direction) <= from;
}

void PseudoChannel::add(Search& search, Clock at, std::uint64_t key) const {
  if (search.stale) return;
  at = std::max({at, now_, search.floor});
  const std::uint64_t order = key >> kBankBits;
  Candidate& best = search.best;
  if (at > best.at) {
    search.next = std::min(search.next, at);
  } else if (at < best.at || order < best.order) {
    if (at < best.at) search.next = std::min(search.next, best.at);
    best.at = at;
    best.order = order;
    best.bank = static_cast<std::uint8_t>(key & (kMaxBanks - 1));
  }
}

void PseudoChannel::add_column(std::uint8_t bank, int direction) {
  if (direction != (columns_.best.write ? 1 : 0) || (capped_ >> bank & 1) != 0) return;
  columns_.stale |= direction != mode_ || refreshing_ || bank_refresh_ != 0;
  add(columns_, column_ready(bank, direction), hit_key_[direction][bank]);
}

PseudoChannel::Candidate PseudoChannel::refresh_candidate(Clock from) {
  Candidate candidate;
  candidate.order = 0;  // before all requests
  if ((owners_[0] | owners_[1]) != 0) return candidate;
  candidate.at = from;
  if (open_ != 0) {
    candidate.kind = CommandKind::kPrechargeAll;
    // Also of banks that are about to close by themselves.
    for_each_bit(all_banks_, [&](std::uint8_t i) { candidate.at = std::max(candidate.at, precharge_[i]); });
  } else {
    candidate.kind = CommandKind::kRefresh;
    for_each_bit(all_banks_, [&](std::uint8_t i) { candidate.at = std::max(candidate.at, activate_[i]); });
  }
  return candidate;
}

void PseudoChannel::find_closing(Clock from) {
  find_first(closing_, CommandKind::kPrecharge, wanted() & open_, head_key_[mode_], from,
             [&](std::uint8_t i) { return precharge_[i]; });
}

void PseudoChannel::find_opening(Clock from) {
  find_first(opening_, CommandKind::kActivate, wanted() & ~open_, head_key_[mode_], std::max(from, activate_ready()),
             [&](std::uint8_t i) { return activate_[i]; });
}

void PseudoChannel::find_row(Clock bus) {
  row_stale_ = false;
  const Clock from = std::max(now_, bus);
  row_next_ = 0;
  if (refreshing_) {
    row_ = refresh_candidate(from);
  } else {
    if (!holds(closing_, from)) find_closing(from);
    if (!holds(opening_, from)) find_opening(from);
    const Candidate& closing = closing_.best;
    const Candidate& opening = opening_.best;
    const bool close_first = closing.at < opening.at || (closing.at == opening.at && closing.order < opening.order);
    row_ = close_first ? closing : opening;
    row_next_ = std::min({closing_.next, opening_.next, close_first ? opening.at : closing.at, refresh_due_});
    if (bank_refresh_ != 0) row_next_ = 0;
    if (bank_refresh_ != 0 && (bank_refresh_ & (owners_[0] | owners_[1])) == 0) {
      const auto i = static_cast<std::uint8_t>(std::countr_zero(bank_refresh_));
      const bool open = (open_ & bank_refresh_) != 0;
      const Clock at = open ? std::max(from, precharge_[i]) : std::max({from, activate_any_, activate_[i]});
      if (at <= row_.at) row_ = {at, 0, open ? CommandKind::kPrecharge : CommandKind::kRefreshBank, i, false};
    }
  }
  if (refresh_due_ <= row_.at) row_ = {std::max(now_, refresh_due_), 0, CommandKind::kRefreshDue, 0, false};
}

void PseudoChannel::add_if_wanted(std::uint8_t bank) {
  if ((wanted() >> bank & 1) == 0) return;
  row_stale_ = true;
  if ((open_ >> bank & 1) != 0) {
    add(closing_, precharge_[bank], head_key_[mode_][bank]);
  } else {
    add(opening_, activate_[bank], head_key_[mode_][bank]);
  }
}

}  // namespace weft::dram
