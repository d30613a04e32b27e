// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/graph/messages.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "hw/accelerator/kernel_command.h"
#include "sw/collectives/pattern.h"

namespace weft::schedules {

namespace {

constexpr std::size_t kSlots = 1 << 16;

enum class Kind : std::uint32_t { kMessage, kPermission, kRequest };

struct Immediate {
  Kind kind;             ///< 2 bits
  std::uint32_t number;  ///< of the tag, 14 bits
  std::uint32_t slot;    ///< of the receiver, 16 bits

  [[nodiscard]] std::uint32_t pack() const { return static_cast<std::uint32_t>(kind) << 30 | number << 16 | slot; }
  static Immediate unpack(std::uint32_t bits) {
    return {static_cast<Kind>(bits >> 30), bits >> 16 & 0x3fff, bits & 0xffff};
  }
};

/// What a message carries: the same at both ends, different for other names and turns.
std::uint64_t seed_of(const MessageName& name, std::uint64_t turn) {
  std::uint64_t seed = name.instance;
  for (const auto part : {static_cast<std::uint64_t>(name.from), static_cast<std::uint64_t>(name.to),
                          static_cast<std::uint64_t>(name.tag), name.bytes, turn}) {
    seed = (seed ^ part) * 0x9e3779b97f4a7c15ULL;
  }
  return seed;
}

}  // namespace

std::uint32_t MessageTags::acquire(const MessageName& name) {
  std::vector<Number>& all = of_pair_[{name.from, name.to}];
  const auto [found, fresh] = numbers_.try_emplace(name, 0);
  if (fresh) {
    const auto free = std::find_if(all.begin(), all.end(), [](const Number& number) { return number.users == 0; });
    if (free == all.end() && all.size() == kMost) {
      throw std::length_error("messages from rank " + std::to_string(name.from) + " to rank " +
                              std::to_string(name.to) + " have more than " + std::to_string(kMost) +
                              " different tags and sizes at a time");
    }
    found->second = static_cast<std::uint32_t>(free - all.begin());
    if (free == all.end()) all.emplace_back();
    all[found->second].name = name;
  }
  ++all[found->second].users;
  return found->second;
}

bool MessageTags::release(const MessageName& name) {
  const auto found = numbers_.find(name);
  if (--of_pair_[{name.from, name.to}][found->second].users > 0) return false;
  numbers_.erase(found);
  return true;
}

const MessageName& MessageTags::name(int from, int to, std::uint32_t number) const {
  return of_pair_.at({from, to})[number].name;
}

Messages::Messages(firmware::Rank& rank, firmware::CompletionQueue& events, MessageTags& tags,
                   collectives::SendScopes& scopes)
    : rank_(rank), events_(events), tags_(tags), scopes_(scopes) {}

firmware::StockedPair& Messages::connection(int peer) {
  if (const auto found = connections_.find(peer); found != connections_.end()) return found->second;
  const auto make = [](Messages& here, const Messages& there) -> firmware::StockedPair& {
    const int number = there.rank_.index;
    return here.connections_
        .try_emplace(number, here.rank_.towards(there.rank_), here.events_,
                     kReceived | static_cast<std::uint64_t>(number))
        .first->second;
  };
  Messages& theirs = *(*all_)[static_cast<std::size_t>(peer)];
  firmware::StockedPair& here = make(*this, theirs);
  firmware::StockedPair::join(here, make(theirs, *this));
  return here;
}

std::uint32_t Messages::take_slot(const MessageName& name) {
  const std::uint64_t bytes = name.bytes;
  auto free = std::find_if(slots_.begin(), slots_.end(),
                           [bytes](const Slot& slot) { return !slot.taken && slot.room >= bytes; });
  if (free == slots_.end()) {
    if (slots_.size() == kSlots) throw std::length_error("more messages at a time than a rank can tell apart");
    slots_.emplace_back();
    free = slots_.end() - 1;
    free->address = rank_.memory.allocate("buffers of messages", bytes);
    free->room = bytes;
  }
  free->taken = true;
  free->name = name;
  return static_cast<std::uint32_t>(free - slots_.begin());
}

void Messages::release(const MessageName& name) {
  if (!tags_.release(name)) return;
  (*all_)[static_cast<std::size_t>(name.from)]->outgoing_.erase(name);
  (*all_)[static_cast<std::size_t>(name.to)]->incoming_.erase(name);
}

std::uint32_t Messages::permit(const MessageName& name) {
  const std::uint32_t number = tags_.acquire(name);
  firmware::StockedPair& from = connection(name.from);
  const std::uint32_t slot = take_slot(name);
  slots_[slot].turn = incoming_[name].permitted++;
  slots_[slot].wanted = slots_[slot].arrived = false;
  from.expect(1);
  from.pair().send_immediate(Immediate{Kind::kPermission, number, slot}.pack());
  return slot;
}

void Messages::receive(const MessageName& name, Token token) {
  Incoming& incoming = incoming_[name];
  std::uint32_t slot = 0;
  if (incoming.unasked.empty()) {
    slot = permit(name);
  } else {
    slot = incoming.unasked.front();
    incoming.unasked.pop_front();
  }
  slots_[slot].wanted = true;
  slots_[slot].token = token;
  slots_[slot].since = rank_.processor->now();
  if (slots_[slot].arrived) events_.signal(finish_receive(slots_[slot]));
}

void Messages::send(const MessageName& name, Token token, collectives::Carries carries) {
  const auto by = scopes_.of(carries.traffic, carries.type);
  const bool packs = by != nullptr && by->elements(name.bytes) > 0;
  rank_.traffic |= 1U << static_cast<unsigned>(carries.traffic);
  if (packs) rank_.compressed |= 1U << static_cast<unsigned>(carries.traffic);
  const std::uint32_t number = tags_.acquire(name);
  firmware::StockedPair& to = connection(name.to);
  Outgoing& outgoing = outgoing_[name];
  outgoing.waiting.push_back({token, packs ? by : nullptr, rank_.processor->now()});
  if (outgoing.permitted.empty()) {
    tags_.acquire(name);  // for as long as the request is on its way
    to.pair().send_immediate(Immediate{Kind::kRequest, number, 0}.pack());
  }
  write(name, outgoing);
}

/// What has both a send and a permission.
void Messages::write(const MessageName& name, Outgoing& outgoing) {
  while (!outgoing.waiting.empty() && !outgoing.permitted.empty()) {
    const Waiting waiting = outgoing.waiting.front();
    const std::uint32_t there = outgoing.permitted.front();
    outgoing.waiting.pop_front();
    outgoing.permitted.pop_front();
    const std::uint32_t here = take_slot(name);
    slots_[here].token = waiting.token;
    slots_[here].turn = outgoing.turn++;
    slots_[here].there = there;
    slots_[here].by = waiting.by;
    slots_[here].sent = waiting.since;
    fill(slots_[here]);
    if (waiting.by == nullptr) {
      write(here);
      continue;
    }
    make_packed(slots_[here]);
    run(waiting.by->compress(name.bytes), kPacked | here);
  }
}

void Messages::write(std::uint32_t slot) {
  const Slot& here = slots_[slot];
  Messages& theirs = *(*all_)[static_cast<std::size_t>(here.name.to)];
  Slot& there = theirs.slots_[here.there];
  std::uint64_t from = here.address;
  std::uint64_t to = there.address;
  std::uint64_t bytes = here.name.bytes;
  there.by = here.by;
  there.sent = here.sent;
  if (here.by != nullptr) {
    theirs.make_packed(there);
    from = here.packed;
    to = there.packed;
    bytes = here.by->pack(rank_, here.address, bytes, from);
  }
  connection(here.name.to)
      .pair()
      .write(from, to, bytes, true, Immediate{Kind::kMessage, 0, here.there}.pack(), true, kWritten | slot);
}

void Messages::make_packed(Slot& slot) {
  const std::uint64_t room = slot.by->room(slot.name.bytes);
  if (room <= slot.packed_room) return;
  slot.packed = rank_.memory.allocate("compressed messages", room);
  slot.packed_room = room;
}

void Messages::run(const compression::Kernels& kernels, std::uint64_t id) {
  const auto stream = static_cast<std::uint32_t>(rank_.streams - 1);
  for (const compression::Kernel& kernel : kernels) {
    const accelerator::KernelWork work = compression::kernel_work(rank_.accelerator.compute(), kernel);
    rank_.accelerator.submit(accelerator::kernel_command(stream, kernel.name.data(), work));
  }
  rank_.accelerator.notify(stream, events_, id);
}

/// The sender has messages that it has no permission for: it gets it now. How many they are a real request would say
/// in a few bytes.
void Messages::take_request(const MessageName& name) {
  const Outgoing& theirs = (*all_)[static_cast<std::size_t>(name.from)]->outgoing_.at(name);
  Incoming& incoming = incoming_[name];
  while (incoming.permitted < theirs.asked()) {
    incoming.unasked.push_back(permit(name));
  }
}

std::optional<Messages::Token> Messages::take(const nic::Completion& entry) {
  const std::uint64_t number = entry.id & ~(kWritten | kPacked | kUnpacked);
  if ((entry.id & kPacked) != 0) {
    write(static_cast<std::uint32_t>(number));
    return std::nullopt;
  }
  if ((entry.id & kUnpacked) != 0) {
    Slot& slot = slots_[number];
    slot.by->unpack(rank_, slot.packed, slot.address, slot.name.bytes);
    return arrive(slot);
  }
  if ((entry.id & kReceived) == 0) {
    Slot& slot = slots_[number];
    return finish(slot);
  }
  const int peer = static_cast<int>(entry.id & ~kReceived);
  const Immediate said = Immediate::unpack(entry.immediate);
  if (said.kind == Kind::kMessage) {
    Slot& slot = slots_[said.slot];
    if (slot.by == nullptr) return arrive(slot);
    run(slot.by->decompress(slot.name.bytes), kUnpacked | said.slot);
    return std::nullopt;
  }
  connections_.at(peer).used();
  if (said.kind == Kind::kRequest) {
    const MessageName asked = tags_.name(peer, rank_.index, said.number);
    take_request(asked);
    release(asked);
    return std::nullopt;
  }
  const MessageName name = tags_.name(rank_.index, peer, said.number);
  Outgoing& outgoing = outgoing_[name];
  outgoing.permitted.push_back(said.slot);
  write(name, outgoing);
  return std::nullopt;
}

std::optional<Messages::Token> Messages::arrive(Slot& slot) {
  compare(slot);
  ++received_;
  slot.arrived = true;
  if (slot.wanted) return finish_receive(slot);
  return std::nullopt;
}

Messages::Token Messages::finish_receive(Slot& slot) {
  if (watch_ != nullptr && slot.name.instance == 0) [[unlikely]]
    watch_->received(slot.name.from, "send", slot.name.bytes, slot.sent, slot.since);
  return finish(slot);
}

Messages::Token Messages::finish(Slot& slot) {
  slot.taken = false;
  const MessageName name = slot.name;
  release(name);
  return slot.token;
}

void Messages::fill(const Slot& slot) {
  if (rank_.store == nullptr) return;
  std::vector<std::byte> data(slot.name.bytes);
  const std::uint64_t seed = seed_of(slot.name, slot.turn);
  for (std::uint64_t i = 0; i < slot.name.bytes; ++i) {
    data[i] = static_cast<std::byte>(collectives::pattern(seed, slot.name.from, i));
  }
  rank_.store->write(slot.address, data.data(), slot.name.bytes);
}

void Messages::compare(const Slot& slot) {
  if (rank_.store == nullptr) return;
  std::vector<std::byte> data(slot.name.bytes);
  rank_.store->read(slot.address, data.data(), slot.name.bytes);
  const std::uint64_t seed = seed_of(slot.name, slot.turn);
  for (std::uint64_t i = 0; i < slot.name.bytes; ++i) {
    if (data[i] != static_cast<std::byte>(collectives::pattern(seed, slot.name.from, i))) ++wrong_;
  }
}

}  // namespace weft::schedules
