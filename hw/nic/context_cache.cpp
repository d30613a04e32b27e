// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/context_cache.h"

#include "hw/nic/explained.h"
#include "hw/nic/tags.h"

namespace weft::nic {

void ContextCache::take_out(std::uint32_t place) {
  places_[places_[place].before].after = places_[place].after;
  places_[places_[place].after].before = places_[place].before;
  places_[place].here = false;
}

bool ContextCache::use(std::uint32_t number) {
  const std::uint32_t place = number + 1;
  if (places_.size() <= place) places_.resize(place + 1);
  const bool hit = places_[place].here;
  if (hit) {
    take_out(place);
  } else if (free_ > 0) {
    --free_;
  } else {
    take_out(places_[0].after);
  }
  const std::uint32_t latest = places_[0].before;
  places_[place] = {latest, 0, true};
  places_[latest].after = place;
  places_[0].before = place;
  return hit;
}

bool Nic::has_context(Time now, std::uint32_t number) {
  Contexts::Pair& pair = contexts_->of(number);
  if (pair.coming) return false;
  if (contexts_->cache.use(number)) {
    ++counters_.context_hits;
    return true;
  }
  ++counters_.context_misses;
  pair.coming = true;
  const auto bytes = static_cast<std::uint32_t>(config_.context_cache.context.count());
  const Time here = host_.read(now, now, HostLink::Answer(now + host_.wait_to_read(now)), 0, bytes).tail;
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    explained_->mark_entries(here);
  dispatcher_.post(here, *this, kContext, number);
  return false;
}

bool Nic::has_context_to_send(Time now, std::uint32_t number) {
  Contexts::Pair& pair = contexts_->of(number);
  if (pair.granted || has_context(now, number)) {
    pair.granted = false;
    return true;
  }
  contexts_->of(number).sending = true;
  return false;
}

bool Nic::waits_for_context(Time now, Packet& packet) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t missing = kNone;
  const auto use = [&](std::uint32_t number) {
    if (number < pairs_.size() && !has_context(now, number)) missing = number;
  };
  if (packet.destination < Packet::kFirstGroup) {
    use(packet.queue_pair);
  } else if (const std::uint32_t group = packet.destination - Packet::kFirstGroup; packet.opcode == Opcode::kDatagram) {
    if (group < attached_.size()) {
      for (const std::uint32_t number : attached_[group]) use(number);
    }
  } else if (group < group_ends_.size()) {
    use(group_ends_[group].queue_pairs[packet.opcode == Opcode::kResult ? 1 : 0]);
  }
  if (missing == kNone) return false;
  Contexts::Pair& pair = contexts_->of(missing);
  packet.next = nullptr;
  (pair.first == nullptr ? pair.first : pair.last->next) = &packet;
  pair.last = &packet;
  return true;
}

void Nic::take_context(Time now, std::uint32_t number) {
  const Contexts::Pair pair = contexts_->of(number);
  contexts_->of(number) = {};
  contexts_->of(number).granted = pair.sending;
  for (Packet* packet = pair.first; packet != nullptr;) {
    Packet* next = packet->next;
    handle(now, *packet);
    packet = next;
  }
  if (!pair.sending) return;
  activate(number);
  pump(now);
}

}  // namespace weft::nic
