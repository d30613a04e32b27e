// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/remote_transfers.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sw/collectives/pattern.h"
#include "sw/collectives/reference.h"

namespace weft::schedules {

namespace {

std::vector<std::uint32_t> numbers_of(const std::vector<firmware::Rank*>& ranks) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(ranks.size());
  for (const firmware::Rank* rank : ranks) numbers.push_back(static_cast<std::uint32_t>(rank->place));
  return numbers;
}

}  // namespace

std::uint64_t RecycledMemory::take(firmware::MemoryMap& map, const std::string& what, std::uint64_t bytes) {
  auto free = std::find_if(parts_.begin(), parts_.end(),
                           [bytes](const Part& part) { return !part.taken && part.bytes >= bytes; });
  if (free == parts_.end()) {
    const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);  // or the next part would have the same address
    parts_.push_back({map.allocate(what, size), size, false});
    free = parts_.end() - 1;
  }
  free->taken = true;
  return free->address;
}

void RecycledMemory::give_back(std::uint64_t address) {
  const auto found =
      std::find_if(parts_.begin(), parts_.end(), [address](const Part& part) { return part.address == address; });
  found->taken = false;
}

RemoteGroup::RemoteGroup(std::vector<firmware::Rank*> ranks, firmware::MemoryMap& shared, const std::string& name)
    : ranks_(std::move(ranks)),
      name_(name),
      shared_(shared),
      group_(ranks_.front()->remote.create_group(numbers_of(ranks_))),
      buffers_(ranks_, "buffers of remote memory of " + name) {}

RemoteGroup::Call& RemoteGroup::enter(std::int64_t number, std::uint64_t bytes) {
  const auto [found, fresh] = calls_.try_emplace(number);
  if (fresh) {
    found->second = {memory_.take(shared_, "remote memory for collectives of " + name_, bytes), bytes, ranks_.size()};
  }
  return found->second;
}

void RemoteGroup::leave(std::int64_t number) {
  const auto found = calls_.find(number);
  if (--found->second.users != 0) return;
  memory_.give_back(found->second.remote);
  calls_.erase(found);
}

std::uint64_t RemoteTransfers::keep(const Transfer& transfer) {
  if (free_.empty()) {
    free_.push_back(transfers_.size());
    transfers_.emplace_back();
  }
  const std::uint64_t slot = free_.back();
  free_.pop_back();
  transfers_[slot] = transfer;
  return kMine | slot;
}

void RemoteTransfers::begin(bool stores, std::uint64_t bytes, Token token) {
  Transfer transfer;
  transfer.stores = stores;
  transfer.bytes = bytes;
  transfer.token = token;
  transfer.remote = rank_.remote.base + remote_.take(rank_.remote.own, "a rank's part of remote memory", bytes);
  transfer.local = local_.take(rank_.memory, "buffers of remote memory", bytes);
  transfer.number = static_cast<std::int64_t>(count_++);
  fill(transfer);
  const std::uint64_t id = keep(transfer);
  if (stores) {
    rank_.remote.store(transfer.remote, transfer.local, bytes, events_, id);
  } else {
    rank_.remote.load(transfer.remote, transfer.local, bytes, events_, id);
  }
}

void RemoteTransfers::begin(RemoteGroup& group, int member, std::int64_t number, bool stores, std::uint64_t bytes,
                            ElementType type, Token token) {
  const RemoteGroup::Call& call = group.enter(number, bytes);
  if (call.bytes != bytes) {
    throw std::invalid_argument("moves " + std::to_string(bytes) + " bytes in the switches with " + group.name_ +
                                ", of which another rank moves " + std::to_string(call.bytes));
  }
  Transfer transfer;
  transfer.stores = stores;
  transfer.bytes = bytes;
  transfer.token = token;
  transfer.group = &group;
  transfer.member = member;
  transfer.number = number;
  transfer.type = type;
  transfer.remote = call.remote;
  transfer.local = group.buffers_.enter(number, bytes);
  ++count_;
  fill(transfer);
  const std::uint64_t id = keep(transfer);
  if (stores) {
    rank_.remote.reduce(group.group_, type, transfer.remote, transfer.local, bytes, events_, id);
  } else {
    rank_.remote.gather(group.group_, transfer.remote, transfer.local, bytes, events_, id);
  }
}

RemoteTransfers::Token RemoteTransfers::take(const nic::Completion& entry) {
  const std::uint64_t slot = entry.id & ~kMine;
  const Transfer transfer = transfers_[slot];
  free_.push_back(slot);
  compare(transfer);
  if (transfer.group != nullptr) {
    transfer.group->buffers_.leave(transfer.number);
    transfer.group->leave(transfer.number);
  } else {
    local_.give_back(transfer.local);
    remote_.give_back(transfer.remote - rank_.remote.base);
  }
  return transfer.token;
}

void RemoteTransfers::fill(const Transfer& transfer) const {
  if (rank_.store == nullptr) return;
  const auto seed = static_cast<std::uint64_t>(transfer.number);
  if (transfer.group != nullptr && transfer.stores) {
    const collectives::Reference sum{dimensions::Operation::kAllReduce, static_cast<int>(transfer.group->ranks_.size()),
                                     transfer.bytes, transfer.type, seed};
    return sum.fill(*rank_.store, transfer.local, transfer.member);
  }
  // What a group loads is the same for all, whoever puts it there.
  const auto data = collectives::pattern_bytes(seed, transfer.group != nullptr ? 0 : rank_.index, transfer.bytes);
  memory::BackingStore& from = transfer.stores ? *rank_.store : rank_.remote.bytes();
  from.write(transfer.stores ? transfer.local : transfer.remote, data.data(), data.size());
}

void RemoteTransfers::compare(const Transfer& transfer) {
  if (rank_.store == nullptr) return;
  const auto seed = static_cast<std::uint64_t>(transfer.number);
  if (transfer.group != nullptr && transfer.stores) {
    const collectives::Reference sum{dimensions::Operation::kAllReduce, static_cast<int>(transfer.group->ranks_.size()),
                                     transfer.bytes, transfer.type, seed};
    wrong_ += sum.wrong(rank_.remote.bytes(), transfer.remote, transfer.member);
    return;
  }
  const auto data = collectives::pattern_bytes(seed, transfer.group != nullptr ? 0 : rank_.index, transfer.bytes);
  const memory::BackingStore& to = transfer.stores ? rank_.remote.bytes() : *rank_.store;
  wrong_ += collectives::differing(to, transfer.stores ? transfer.remote : transfer.local, data);
}

}  // namespace weft::schedules
