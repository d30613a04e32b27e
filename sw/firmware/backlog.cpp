// SPDX-License-Identifier: Apache-2.0
#include "sw/firmware/backlog.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "hw/nic/any_nic.h"

namespace weft::firmware {

void Doorbell::announce(std::span<const nic::WorkRequest> requests) const {
  processor->charge_entries(requests.size());
  processor->write(device, nic::kAnnouncement, requests.data(),
                   static_cast<std::uint32_t>(requests.size() * sizeof requests[0]));
}

Backlog* Backlog::of(nic::Verbs& nic, Doorbell doorbell, std::uint32_t queue_pair, bool numbered) {
  if (nic.depths().sends == 0 && nic.depths().receives == 0) return nullptr;
  return &doorbell.processor->keep(std::make_unique<Backlog>(nic, doorbell, queue_pair, numbered));
}

Backlog::Backlog(nic::Verbs& nic, Doorbell doorbell, std::uint32_t queue_pair, bool numbered)
    : nic_(nic),
      doorbell_(doorbell),
      queue_pair_(queue_pair),
      numbered_(numbered),
      freed_(&doorbell.processor->create_completion_queue(
          "places in the queues of queue pair " + std::to_string(queue_pair) + " of " + nic.name() + ", queue")) {
  sends_.depth = static_cast<std::uint64_t>(nic.depths().sends);
  receives_.depth = static_cast<std::uint64_t>(nic.depths().receives);
  nic.report_places(queue_pair, freed_->address());
}

void Backlog::post(const nic::WorkRequest& request, Time relay, bool charged) {
  add({request, relay, charged, false});
  settle();
}

void Backlog::provide(nic::WorkRequest receives) {
  receives.queue_pair = queue_pair_;
  add({receives, Time(), true, false});
  if (receives_.room() > 0) nic_.provide(take_receives(receives_));
  settle();
}

void Backlog::post_batch(std::span<const nic::WorkRequest> requests) {
  for (const nic::WorkRequest& request : requests) add({request, Time(), true, true});
  settle();
}

void Backlog::add(const Waiting& waiting) {
  queue_of(waiting.request).waiting.push_back(waiting);
}

void Backlog::settle() {
  const auto blocked = [](const Queue& queue) { return !queue.waiting.empty() && queue.room() == 0; };
  post_waiting(sends_);
  post_waiting(receives_);
  if (serving_ || (!blocked(sends_) && !blocked(receives_))) return;
  // What has become free since the last time that a place was needed.
  while (const auto entry = freed_->try_next()) note(*entry);
  post_waiting(sends_);
  post_waiting(receives_);
  if (!blocked(sends_) && !blocked(receives_)) return;
  serving_ = true;
  doorbell_.processor->spawn_server("what waits for a place in queue pair " + std::to_string(queue_pair_), serve());
}

Task Backlog::serve() {
  while (!sends_.waiting.empty() || !receives_.waiting.empty()) {
    note(co_await freed_->next());
    while (const auto entry = freed_->try_next()) note(*entry);
    post_waiting(sends_);
    post_waiting(receives_);
  }
  serving_ = false;
}

void Backlog::note(const nic::Completion& entry) {
  (entry.verb == nic::Verb::kReceive ? receives_ : sends_).freed = entry.id;
}

void Backlog::post_waiting(Queue& queue) {
  while (!queue.waiting.empty() && queue.room() > 0) {
    const Waiting& first = queue.waiting.front();
    if (first.announced) {
      announce_waiting(queue);
    } else if (first.request.verb == nic::Verb::kReceive) {
      post_receives(queue);
    } else {
      const Waiting next = first;
      queue.waiting.pop_front();
      ++queue.posted;
      doorbell_.ring(next.request, next.relay, next.charged);
    }
  }
}

void Backlog::post_receives(Queue& queue) {
  const bool charged = queue.waiting.front().charged;
  doorbell_.ring(take_receives(queue), Time(), charged);
}

nic::WorkRequest Backlog::take_receives(Queue& queue) {
  nic::WorkRequest& first = queue.waiting.front().request;
  nic::WorkRequest part = first;
  part.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(queue.room(), first.count));
  queue.posted += part.count;
  if (part.count == first.count) {
    queue.waiting.pop_front();
  } else {
    first.count -= part.count;
    first.local_address += part.stride * part.count;
    if (numbered_) first.id += part.count;
  }
  return part;
}

void Backlog::announce_waiting(Queue& queue) {
  std::array<nic::WorkRequest, nic::kLongestBatch> entries;
  const std::uint64_t most = std::min<std::uint64_t>(queue.room(), entries.size());
  std::size_t count = 0;
  for (; count < most && !queue.waiting.empty() && queue.waiting.front().announced; queue.waiting.pop_front()) {
    entries[count++] = queue.waiting.front().request;
  }
  queue.posted += count;
  doorbell_.announce({entries.data(), count});
}

}  // namespace weft::firmware
