// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/dram/pseudo_channel.h"

#include <algorithm>

#include "hw/memory/dram/bits.h"

namespace weft::dram {
namespace {

constexpr Clock kLongAgo = -(1LL << 40);

}  // namespace

PseudoChannel::PseudoChannel(const Device& device, const ControllerConfig& config, int index)
    : timing_(device.timing),
      config_(config),
      banks_of_group_(device.geometry.banks),
      index_(static_cast<std::uint8_t>(index)),
      slots_(static_cast<std::size_t>(config.read_queue + config.write_queue)),
      banks_(static_cast<std::size_t>(device.geometry.all_banks())) {
  timing_.cl += static_cast<int>(clocks_of(config.ecc, timing_.clock));  // to the first data, corrected
  capacity_ = {config.read_queue, config.write_queue};
  write_high_ = std::max(1, config.write_queue * config.write_high / 100);
  write_low_ = std::min(write_high_ - 1, config.write_queue * config.write_low / 100);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].next = i + 1 < slots_.size() ? static_cast<Index>(i + 1) : kNone;
  }
  free_ = 0;
  for (std::size_t i = 0; i < banks_.size(); ++i) {
    group_[i] = static_cast<std::uint8_t>(i / static_cast<std::size_t>(device.geometry.banks));
    banks_[i].stack = static_cast<std::uint8_t>(group_[i] / device.geometry.bank_groups);
  }
  all_banks_ = banks_.size() == 64 ? ~0ULL : (1ULL << banks_.size()) - 1;
  round_ = all_banks_;
  last_activates_.fill(kLongAgo);
  if (config.refresh != RefreshPolicy::kOff) {
    const Clock interval = device.refresh_interval();
    refresh_step_ = config.refresh == RefreshPolicy::kAllBank ? interval : interval / static_cast<Clock>(banks_.size());
    refresh_due_ = refresh_step_;
    if (config.refresh_stagger) refresh_due_ += refresh_step_ * index / device.geometry.pseudo_channels;
  }
}

PseudoChannel::Index PseudoChannel::first_hit(Index from, std::uint32_t row) const {
  while (from != kNone && slots_[from].row != row) from = slots_[from].next;
  return from;
}

const PseudoChannel::Slot* PseudoChannel::find(const Queue& queue, const Location& location) const {
  for (Index i = queue.head; i != kNone; i = slots_[i].next) {
    if (slots_[i].row == location.row && slots_[i].column == location.column) return &slots_[i];
  }
  return nullptr;
}

Accept PseudoChannel::push(const Request& request, Clock now, std::uint64_t order) {
  const Location& location = request.location;
  const int direction = request.write ? 1 : 0;
  Bank& bank = banks_[location.bank];
  if (const Queue& others = bank.queue[1 - direction]; others.head != kNone && find(others, location) != nullptr) {
    if (request.write) return Accept::kBehindRead;
    ++counters_.forwarded;
    return Accept::kForwarded;
  }
  if (count_[direction] == capacity_[direction]) return Accept::kFull;
  now_ = std::max(now_, now);

  const Index index = free_;
  Slot& slot = slots_[index];
  free_ = slot.next;
  Queue& queue = bank.queue[direction];
  // One by one: a whole Slot would be put together on the stack and read back before its parts have arrived there.
  slot.created = request.created;
  slot.tag = request.tag;
  slot.order = order;
  slot.row = location.row;
  slot.column = location.column;
  slot.bank = location.bank;
  slot.next = slot.newer = kNone;
  slot.previous = queue.tail;
  slot.older = newest_[direction];
  (slot.older == kNone ? oldest_[direction] : slots_[slot.older].newer) = index;
  newest_[direction] = index;
  const std::uint64_t bit = 1ULL << location.bank;
  if (queue.tail == kNone) {
    queue.head = index;
    work_[direction] |= bit;
  } else {
    slots_[queue.tail].next = index;
  }
  queue.tail = index;
  const bool first = queue.head == index;
  const bool hit = queue.hit == kNone && (open_ & bit) != 0 && bank.row == location.row;
  if (hit) {
    queue.hit = index;
    hits_[direction] |= bit;
    hit_key_[direction][location.bank] = key(order, location.bank);
    if (closing_.best.bank == location.bank) closing_.stale = row_stale_ = true;
  }
  if (first) head_key_[direction][location.bank] = key(order, location.bank);
  if (hit) add_column(location.bank, direction);
  if (first && direction == mode_) add_if_wanted(location.bank);
  changed_ |= hit || first;
  ++count_[direction];
  update_mode();
  return Accept::kQueued;
}

void PseudoChannel::remove(std::uint8_t bank, int direction, Index index) {
  Queue& queue = banks_[bank].queue[direction];
  Slot& slot = slots_[index];
  if (slot.previous != kNone) {
    slots_[slot.previous].next = slot.next;
  } else {
    queue.head = slot.next;
    if (slot.next != kNone) head_key_[direction][bank] = key(slots_[slot.next].order, bank);
  }
  (slot.next == kNone ? queue.tail : slots_[slot.next].previous) = slot.previous;
  (slot.newer == kNone ? newest_[direction] : slots_[slot.newer].older) = slot.older;
  (slot.older == kNone ? oldest_[direction] : slots_[slot.older].newer) = slot.newer;
  // All before it are for other rows.
  queue.hit = first_hit(slot.next, banks_[bank].row);
  if (queue.hit != kNone) hit_key_[direction][bank] = key(slots_[queue.hit].order, bank);
  slot.next = free_;
  free_ = index;
  --count_[direction];
}

void PseudoChannel::change_mode() {
  const std::uint8_t other = 1 - mode_;
  if (owners_[other] != 0) return;  // the switch before this one is not over
  mode_ = other;
  changed_ = true;
  columns_.stale = true;
  rows_stale();
}

bool PseudoChannel::closes_now(std::uint8_t bank) const {
  if (config_.page == PagePolicy::kOpen || ((hits_[0] | hits_[1]) >> bank & 1) != 0) return false;
  return config_.page == PagePolicy::kClosed || banks_[bank].close_hint >= 2;
}

PseudoChannel::Served PseudoChannel::issue_column(Command& command) {
  const Clock at = columns_.best.at;
  const int direction = columns_.best.write ? 1 : 0;
  const std::uint64_t bit = 1ULL << columns_.best.bank;
  Bank& bank = banks_[columns_.best.bank];
  const std::uint8_t group = group_[columns_.best.bank];
  Clock& precharge = precharge_[columns_.best.bank];
  Queue& queue = bank.queue[direction];
  const Index index = queue.hit;
  const Slot& slot = slots_[index];
  now_ = at;

  if ((owners_[direction] & bit) != 0) {
    owners_[direction] &= ~bit;
    ++(bank.conflict ? counters_.row_conflicts : counters_.row_closed);
  } else {
    ++counters_.row_hits;
    if (bank.close_hint > 0) --bank.close_hint;
  }
  row_stale_ |= refreshing_ || bank_refresh_ == bit;
  Served served{true, columns_.best.write, false, slot.created, slot.tag, at + timing_.bl};
  command = {at, columns_.best.kind, false, index_, columns_.best.bank, 0, slot.column, slot.row};
  if (columns_.best.write) {
    ++counters_.writes;
    served.done += timing_.cwl;
    column_any_ = {at + timing_.write_to_read(false), at + timing_.ccds};
    column_group_[0][group] = at + timing_.write_to_read(true);
    column_group_[1][group] = at + timing_.ccdl;
    precharge = std::max(precharge, at + timing_.write_to_precharge());
  } else {
    ++counters_.reads;
    served.done += timing_.cl;
    column_any_ = {at + timing_.ccds, at + timing_.rtw};
    column_group_[0][group] = at + timing_.ccdl;
    precharge = std::max(precharge, at + timing_.rtp);
  }
  column_others_[direction] = {at + timing_.ccdr, bank.stack};
  if (direction != last_direction_) ++counters_.turnarounds;
  last_direction_ = static_cast<std::uint8_t>(direction);
  if (group == last_group_) ++counters_.same_group;
  last_group_ = group;

  const bool passed = index != queue.head;
  remove(columns_.best.bank, direction, index);
  if (queue.head == kNone) work_[direction] &= ~bit;
  if (queue.hit == kNone) hits_[direction] &= ~bit;
  if (!passed) {
    bank.passed = 0;
  } else if (++bank.passed >= config_.hit_cap) {
    capped_ |= bit;
  }
  if (closes_now(columns_.best.bank)) {
    command.auto_precharge = true;
    ++counters_.auto_precharges;
    bank.auto_closed = true;
    close(columns_.best.bank, precharge);
  }
  add_if_wanted(columns_.best.bank);
  columns_.stale = true;
  update_mode();
  if (refreshes_owed_ > 0 && waiting() == 0 && config_.refresh == RefreshPolicy::kAllBank) {
    refreshing_ = true;
    row_stale_ = true;
  }
  return served;
}

void PseudoChannel::close(std::uint8_t index, Clock at) {
  const std::uint64_t bit = 1ULL << index;
  Bank& bank = banks_[index];
  open_ &= ~bit;
  capped_ &= ~bit;
  hits_[0] &= ~bit;
  hits_[1] &= ~bit;
  bank.queue[0].hit = bank.queue[1].hit = kNone;
  bank.passed = 0;
  bank.conflict = false;
  activate_[index] = std::max(activate_[index], at + timing_.rp);
}

void PseudoChannel::activate(std::uint8_t index, Clock at, Command& command) {
  const std::uint64_t bit = 1ULL << index;
  Bank& bank = banks_[index];
  const std::uint32_t row = slots_[bank.queue[mode_].head].row;
  if (bank.auto_closed) {
    if (row != bank.row) {
      bank.close_hint = std::min<std::uint8_t>(3, bank.close_hint + 1);
    } else if (bank.close_hint > 0) {
      --bank.close_hint;
    }
    bank.auto_closed = false;
  }
  command.row = bank.row = row;
  if (at >= window_end_) [[unlikely]]
    begin_window(at);
  ++bank.activates;
  // The whole group, for it is read far more often than written.
  const int group_begin = index / banks_of_group_ * banks_of_group_;
  for (int i = group_begin; i < group_begin + banks_of_group_; ++i) {
    activate_[i] = std::max(activate_[i], at + timing_.rrdl);
  }
  activate_[index] = std::max(activate_[index], at + timing_.rc);
  precharge_[index] = at + timing_.ras;
  column_bank_[0][index] = at + timing_.rcdrd;
  column_bank_[1][index] = at + timing_.rcdwr;
  open_ |= bit;
  owners_[mode_] |= bit;
  for (std::size_t direction = 0; direction < 2; ++direction) {
    Queue& queue = bank.queue[direction];
    if (queue.head == kNone) continue;
    queue.hit = first_hit(queue.head, row);
    if (queue.hit == kNone) continue;
    hits_[direction] |= bit;
    hit_key_[direction][index] = key(slots_[queue.hit].order, index);
  }
  activate_any_ = std::max(activate_any_, at + timing_.rrds);
  last_activates_[activate_count_++ % 4] = at;
  ++counters_.activates;
}

void PseudoChannel::choose_refresh_bank() {
  if (round_ == 0) round_ = all_banks_;
  const std::uint64_t work = work_[0] | work_[1];
  std::uint64_t from = round_ & ~work & ~open_;
  if (from == 0) from = round_ & ~work;
  if (from == 0) from = round_;
  bank_refresh_ = from & (~from + 1);
}

void PseudoChannel::issue_row(Command& command) {
  const Clock at = row_.at;
  const std::uint8_t index = row_.bank;
  const std::uint64_t bit = 1ULL << index;
  const bool all_bank = config_.refresh == RefreshPolicy::kAllBank;
  now_ = at;
  command = {at, row_.kind, false, index_, index, 0, 0, 0};
  row_stale_ = true;
  switch (row_.kind) {
    case CommandKind::kActivate:
      activate(index, at, command);
      opening_.stale = true;
      add_column(index, mode_);
      return;
    case CommandKind::kPrecharge:
      close(index, at);
      ++counters_.precharges;
      closing_.stale = true;
      if (bank_refresh_ != bit) {
        Bank& bank = banks_[index];
        bank.conflict = true;
        bank.close_hint = std::min<std::uint8_t>(3, bank.close_hint + 1);
      }
      add_if_wanted(index);
      return;
    case CommandKind::kPrechargeAll:
      for_each_bit(open_, [&](std::uint8_t i) { close(i, at); });
      ++counters_.precharges;
      break;
    case CommandKind::kRefresh:
      activate_.fill(at + timing_.rfc);
      ++counters_.refreshes;
      --refreshes_owed_;
      refreshing_ = refreshes_owed_ > config_.refresh_postpone || (refreshes_owed_ > 0 && waiting() == 0);
      break;
    case CommandKind::kRefreshBank:
      activate_[index] = at + timing_.rfcpb;
      activate_any_ = std::max(activate_any_, at + timing_.rrefd);
      round_ &= ~bit;
      ++counters_.bank_refreshes;
      bank_refresh_ = 0;
      if (--refreshes_owed_ > 0) choose_refresh_bank();
      break;
    case CommandKind::kRefreshDue:
      refresh_due_ += refresh_step_;
      ++refreshes_owed_;
      if (!all_bank) {
        if (bank_refresh_ == 0) choose_refresh_bank();
      } else if (refreshes_owed_ > config_.refresh_postpone || waiting() == 0) {
        refreshing_ = true;
      }
      break;
    case CommandKind::kRead:
    case CommandKind::kWrite:
      break;  // not on this bus
  }
  columns_.stale = true;
  rows_stale();
}

void PseudoChannel::repeat_round(std::int64_t times) {
  for (std::int64_t Counters::*each : {&Counters::refreshes, &Counters::bank_refreshes, &Counters::precharges}) {
    counters_.*each += times * (counters_.*each - at_round_.*each);
  }
  refresh_due_ += times * refresh_round();
  rows_stale();
}

void PseudoChannel::begin_window(Clock at) {
  most_before_ += most_in_window();
  for (Bank& bank : banks_) bank.activates = 0;
  window_end_ = at + kWindow * timing_.rc;
}

std::int64_t PseudoChannel::most_activates() const {
  return most_before_ + most_in_window();
}

std::int64_t PseudoChannel::most_in_window() const {
  std::int64_t most = 0;
  for (const Bank& bank : banks_) most = std::max<std::int64_t>(most, bank.activates);
  return most;
}

}  // namespace weft::dram
