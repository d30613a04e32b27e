// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/mailboxes.h"

#include <algorithm>
#include <utility>

#include "sw/analytical/network.h"

namespace weft::analytical {
namespace {

constexpr std::int64_t kRequestBytes = 8192;

}  // namespace

Mailboxes::Mailboxes(Agenda& agenda, Network& network, bool rendezvous)
    : agenda_(agenda), network_(network), rendezvous_(rendezvous), actor_(agenda.add(*this)) {}

void Mailboxes::send(Time now, const Message& message, Entry done) {
  if (!rendezvous_) return transmit(now, message, done);
  const std::uint32_t held = held_.take();
  held_[held] = {message, done};
  await(now, {message.purpose | kRequest, message.to, message.from, kRequestBytes},
        Entry(actor_, held * kKinds + kSend));
}

void Mailboxes::receive(Time now, const Message& message, Entry done) {
  if (!rendezvous_) return await(now, message, done);
  const std::uint32_t held = held_.take();
  held_[held] = {message, done};
  transmit(now, {message.purpose | kRequest, message.to, message.from, kRequestBytes},
           Entry(actor_, held * kKinds + kReceive));
}

void Mailboxes::act(Time now, std::uint64_t what) {
  const auto held = static_cast<std::uint32_t>(what / kKinds);
  const Flight flight = held_[held];
  held_.give(held);
  if (what % kKinds == kSend) {
    transmit(now, flight.message, flight.sent);
  } else {
    await(now, flight.message, flight.sent);
  }
}

void Mailboxes::transmit(Time now, const Message& message, Entry sent) {
  if (message.bytes == 0) had_empty_ = true;
  const std::uint32_t flight = flights_.take();
  flights_[flight] = {message, sent};
  network_.transmit(now, message.from, message.to, message.bytes, flight);
}

void Mailboxes::await(Time now, const Message& message, Entry done) {
  Box& box = box_of(message);
  if (box.done.nothing()) {
    if (box.count_or_last == 0) {
      box.done = done;
      box.count_or_last = kNone;
      return;
    }
    if (--box.count_or_last == 0) drop(tables_[message.to], box);
    return agenda_.post(now, done);
  }
  const std::uint32_t waits = waiting_.take();
  waiting_[waits] = {done, waits};
  if (box.count_or_last != kNone) {
    waiting_[waits].next = waiting_[box.count_or_last].next;
    waiting_[box.count_or_last].next = waits;
  }
  box.count_or_last = waits;
}

void Mailboxes::arrived(Time now, std::uint32_t flight) {
  const Flight landed = flights_[flight];
  flights_.give(flight);
  Box& box = box_of(landed.message);
  const Entry received = box.done;
  if (received.nothing()) {
    ++box.count_or_last;
  } else if (box.count_or_last == kNone) {
    drop(tables_[landed.message.to], box);
  } else {
    const std::uint32_t last = box.count_or_last;
    const std::uint32_t first = waiting_[last].next;
    box.done = waiting_[first].done;
    waiting_[last].next = waiting_[first].next;
    if (first == last) box.count_or_last = kNone;
    waiting_.give(first);
  }
  if (!landed.sent.nothing()) agenda_.run(now, landed.sent);
  if (!received.nothing()) agenda_.run(now, received);
}

std::uint64_t Mailboxes::hash(std::uint64_t purpose, std::uint32_t from, std::int64_t bytes) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  const std::uint64_t mixed = (purpose ^ std::uint64_t{from} << 32 ^ static_cast<std::uint64_t>(bytes) << 16) * kOdd;
  return mixed ^ mixed >> 32;
}

/// The box of such a message, which is made if there is none: it must not stay empty.
Mailboxes::Box& Mailboxes::box_of(const Message& message) {
  if (message.to >= tables_.size()) tables_.resize(std::size_t{message.to} + 1);
  Table& table = tables_[message.to];
  Box& one = table.one;
  const bool none = one.empty();
  if (!none && one.is_of(message)) return one;
  const Box fresh{message.purpose, message.bytes, {}, message.from};
  if (none && table.used == 0) return one = fresh;
  if (4 * table.used >= 3 * table.others.size()) grow(table);
  const std::size_t mask = table.others.size() - 1;
  std::size_t at = hash(message.purpose, message.from, message.bytes) & mask;
  while (!table.others[at].empty()) {
    if (table.others[at].is_of(message)) return table.others[at];
    at = (at + 1) & mask;
  }
  if (none) return one = fresh;
  ++table.used;
  return table.others[at] = fresh;
}

/// Closes the gap that an empty one of the other boxes leaves among those that follow it.
void Mailboxes::drop(Table& table, Box& box) {
  if (&box == &table.one) {
    box = {};
    return;
  }
  std::vector<Box>& boxes = table.others;
  --table.used;
  const std::size_t mask = boxes.size() - 1;
  auto gap = static_cast<std::size_t>(&box - boxes.data());
  boxes[gap] = {};
  for (std::size_t at = (gap + 1) & mask; !boxes[at].empty(); at = (at + 1) & mask) {
    const std::size_t home = hash(boxes[at].purpose, boxes[at].from, boxes[at].bytes) & mask;
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    boxes[gap] = std::exchange(boxes[at], {});
    gap = at;
  }
}

void Mailboxes::grow(Table& table) {
  constexpr std::size_t kFirst = 4;
  std::vector<Box> old(std::max(kFirst, 2 * table.others.size()));
  old.swap(table.others);
  const std::size_t mask = table.others.size() - 1;
  for (const Box& box : old) {
    if (box.empty()) continue;
    std::size_t at = hash(box.purpose, box.from, box.bytes) & mask;
    while (!table.others[at].empty()) at = (at + 1) & mask;
    table.others[at] = box;
  }
}

void Mailboxes::each_left(const std::function<void(const Message& message, Entry waits)>& visit) const {
  for (std::uint32_t to = 0; to < tables_.size(); ++to) {
    const auto look = [&](const Box& box) {
      if (!box.empty()) visit({box.purpose, box.from, to, box.bytes}, box.done);
    };
    look(tables_[to].one);
    for (const Box& box : tables_[to].others) look(box);
  }
}

}  // namespace weft::analytical
