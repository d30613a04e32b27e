// SPDX-License-Identifier: Apache-2.0
// Work queues of Nic: doorbells, and entries that lie in the host's memory and are fetched.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <string>

#include "hw/nic/explained.h"
#include "hw/nic/nic.h"
#include "hw/nic/reliability/recovery.h"
#include "hw/nic/tags.h"

namespace weft::nic {
namespace {

/// A doorbell that only says how many entries there are.
constexpr std::uint32_t kAnnouncementBytes = 8;

/// Entries on their way, as the data of an event.
struct Announced {
  std::uint32_t queue_pair;
  std::uint32_t count;
  bool receives;

  static Announced of(std::uint64_t data) {
    return {static_cast<std::uint32_t>(data), static_cast<std::uint32_t>(data >> 32 & 0xffff), data >> 63 != 0};
  }
  [[nodiscard]] std::uint64_t data() const {
    return queue_pair | static_cast<std::uint64_t>(count) << 32 | static_cast<std::uint64_t>(receives ? 1 : 0) << 63;
  }
};

}  // namespace

bool Nic::is_valid(const WorkRequest& request) const {
  if (request.queue_pair >= pairs_.size()) return false;
  if (request.verb == Verb::kRead && request.bytes > UINT32_MAX) return false;
  return request.verb != Verb::kSend || !pairs_[request.queue_pair].grouped || request.bytes <= mtu_;
}

bool Nic::take_doorbell(const void* entry, Time at, bool near) {
  WorkRequest request;
  std::memcpy(&request, entry, sizeof request);
  if (!is_valid(request)) return false;
  const QueuePair& pair = pairs_[request.queue_pair];
  // What would overtake entries that are still to be fetched is fetched behind them.
  std::uint32_t before = 0;
  if (pair.extra != nullptr) {
    before = request.verb == Verb::kReceive ? pair.extra->unfetched_receives : pair.extra->unfetched_jobs;
  }
  if (near) {
    post(request, at);
  } else if (config_.work_queue.inline_entries && before == 0) [[likely]] {
    post(request, host_.doorbell(dispatcher_.now(), at, kEntryBytes));
  } else {
    announce({&request, 1}, at);
  }
  return true;
}

bool Nic::take_announcement(const void* entries, std::uint32_t bytes, Time at, bool near) {
  if (bytes % sizeof(WorkRequest) != 0) return false;
  std::array<WorkRequest, kLongestBatch> all;
  const std::span requests(all.data(), bytes / sizeof(WorkRequest));
  std::memcpy(all.data(), entries, bytes);
  const auto fits = [&](const WorkRequest& request) {
    return is_valid(request) && request.queue_pair == all[0].queue_pair &&
           (request.verb == Verb::kReceive) == (all[0].verb == Verb::kReceive) && request.count > 0;
  };
  if (!std::all_of(requests.begin(), requests.end(), fits)) return false;
  if (near) {
    for (const WorkRequest& request : requests) post(request, at);
  } else {
    announce(requests, at);
  }
  return true;
}

void Nic::check_depth(const WorkRequest& request) {
  const QueuePair& pair = pairs_[request.queue_pair];
  const bool receive = request.verb == Verb::kReceive;
  const int depth = receive ? config_.receive_queue_depth : config_.send_queue_depth;
  if (depth == 0) return;
  std::size_t held = receive ? request.count : pair.jobs.size() + 1;
  for (std::size_t i = 0; receive && i < pair.receives.size(); ++i) held += pair.receives[i].count;
  if (held <= static_cast<std::size_t>(depth)) return;
  ++counters_.overruns;
  const std::string kind = receive ? "receive" : "send";
  SC_REPORT_FATAL(name(), ("queue pair " + std::to_string(request.queue_pair) + ": more was posted than its " + kind +
                           " queue has room for (" + kind + "_queue_depth is " + std::to_string(depth) +
                           "): firmware must await completions before it posts more")
                              .c_str());
}

void Nic::report_places(std::uint32_t queue_pair, std::uint64_t completion_address) {
  const auto queue = [](int depth) {
    return Places::Queue{depth == 0 ? 0U : static_cast<std::uint64_t>(Config::places_together(depth))};
  };
  pairs_[queue_pair].with_extra().places = std::make_unique<Places>(
      Places{completion_address, queue(config_.send_queue_depth), queue(config_.receive_queue_depth)});
  reports_ = true;
}

void Nic::count_place(Time now, std::uint32_t number, bool receive) {
  const Extra* const extra = pairs_[number].extra.get();
  if (extra == nullptr || extra->places == nullptr) return;
  Places* const places = extra->places.get();
  Places::Queue& queue = receive ? places->receives : places->sends;
  if (++queue.freed - queue.told < queue.every || queue.every == 0) return;
  queue.told = queue.freed;
  const bool near = places->completion_address >= kNear;
  const Time at = now + config_.write_latency;
  Completion entry{queue.freed, 0, number, 0, receive ? Verb::kReceive : Verb::kSend, false};
  write_entry(places->completion_address, entry, near ? at : host_.notify(now, at, kEntryBytes));
}

void Nic::post(const WorkRequest& request, Time at) {
  check_depth(request);
  QueuePair& pair = pairs_[request.queue_pair];
  if (request.verb == Verb::kReceive) {
    if (request.count != 0) pair.receives.push_back(Receive(request, at));
    return;
  }
  assert(pair.peer_end != UINT32_MAX && "posted before connect");
  if (stands_in_error(pair)) [[unlikely]]
    return flush(at, request.queue_pair, request);
  pair.jobs.push_back({request});
  take_entry(request.queue_pair, at);
}

void Nic::provide(const WorkRequest& receive) {
  assert(is_valid(receive) && receive.verb == Verb::kReceive);
  post(receive, dispatcher_.now());
}

void Nic::take_entry(std::uint32_t number, Time at) {
  // The doorbell may be of a time to come, until which the engine goes on with packets.
  taken_until_ = std::max(at, taken_until_) + config_.message_cost;
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]]
    causes->mark(CauseKind::kHostLink, at, Dispatcher::place_of(*this));
  if (posts_ && post_ahead(taken_until_, number)) return;
  dispatcher_.post(taken_until_, *this, kWork, number);
}

void Nic::announce(std::span<const WorkRequest> requests, Time at) {
  const Announced announced{requests[0].queue_pair, static_cast<std::uint32_t>(requests.size()),
                            requests[0].verb == Verb::kReceive};
  QueuePair& pair = pairs_[announced.queue_pair];
  if (!announced.receives && stands_in_error(pair)) [[unlikely]] {
    for (const WorkRequest& request : requests) flush(at, request.queue_pair, request);
    return;
  }
  if (announced.receives) {
    for (const WorkRequest& request : requests) {
      check_depth(request);
      pair.receives.push_back(Receive(request, kNever));
    }
    pair.with_extra().unfetched_receives += announced.count;
  } else {
    assert(pair.peer_end != UINT32_MAX && "posted before connect");
    for (const WorkRequest& request : requests) {
      check_depth(request);
      pair.jobs.push_back({request});
    }
    pair.with_extra().unfetched_jobs += announced.count;
  }
  dispatcher_.post(host_.doorbell(dispatcher_.now(), at, kAnnouncementBytes), *this, kFetch, announced.data());
}

void Nic::fetch_entries(Time now, std::uint64_t data) {
  Announced part = Announced::of(data);
  for (std::uint32_t left = part.count; left > 0; left -= part.count) {
    part.count = std::min(left, static_cast<std::uint32_t>(config_.work_queue.fetch));
    const HostLink::Answer memory(now + host_.wait_to_read(now));
    const Time here = host_.read(now, now, memory, 0, part.count * kEntryBytes).tail;
    if (dispatcher_.causes() != nullptr) [[unlikely]]
      explained_->mark_entries(here);
    dispatcher_.post(here, *this, kEntries, part.data());
    ++counters_.entry_reads;
    counters_.entries_read += part.count;
  }
}

void Nic::take_entries(Time now, std::uint64_t data) {
  const Announced part = Announced::of(data);
  QueuePair& pair = pairs_[part.queue_pair];
  if (part.receives) {
    const std::size_t first = pair.receives.size() - pair.extra->unfetched_receives;
    for (std::size_t i = 0; i < part.count; ++i) pair.receives[first + i].from = now;
    pair.extra->unfetched_receives -= part.count;
    return;
  }
  pair.extra->unfetched_jobs -= part.count;
  if (stands_in_error(pair)) [[unlikely]]
    return;  // flushed with all others
  for (std::uint32_t i = 0; i < part.count; ++i) take_entry(part.queue_pair, now);
}

}  // namespace weft::nic
