// SPDX-License-Identifier: Apache-2.0
// Of a link whose stores are posted: what has no payload takes the way's time and no packet.
#include "hw/core/cause/causes.h"
#include "hw/nic/nic.h"
#include "hw/nic/reliability/psn.h"
#include "hw/nic/tags.h"

namespace weft::nic {
namespace {

/// What an event carries: a queue pair of the peer's, with the low bits of a PSN, and an immediate.
constexpr int kNearBits = 12;
constexpr std::uint32_t kNearMask = (1U << kNearBits) - 1;

std::uint64_t message(std::uint32_t queue_pair, std::uint32_t psn, std::uint32_t immediate) {
  return static_cast<std::uint64_t>(queue_pair) << (32 + kNearBits) |
         static_cast<std::uint64_t>(psn & kNearMask) << 32 | immediate;
}

/// The number nearest to `near` that has these low bits.
std::uint32_t whole_of(std::uint32_t low, std::uint32_t near) {
  const std::uint32_t ahead = (low - near) & kNearMask;
  return near + (ahead <= kNearMask / 2 ? ahead : ahead - kNearMask - 1);
}

}  // namespace

void Nic::post_stores(std::vector<Neighbour> neighbours) {
  neighbours_ = std::move(neighbours);
  posts_ = !recovers_ && !sprays_ && !paces_ && contexts_ == nullptr;
}

bool Nic::post_directly(Time now, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  if (pair.grouped || pair.paused || pair.next_job + 1 != pair.ready_jobs || pair.peer_end == end_) return false;
  Job& job = pair.jobs[pair.next_job];
  const WorkRequest& request = job.request;
  if (request.bytes != 0 || !request.with_immediate || request.verb == Verb::kRead) return false;
  // It must not overtake what the link still carries for it.
  if (pair.next_job > 0 && !pair.jobs[pair.next_job - 1].is_direct) return false;
  job.is_direct = true;
  job.first_psn = pair.next_psn++;
  job.packets = 1;
  ++pair.next_job;
  ++(job.sent ? counters_.messages_repeated : counters_.messages_sent);
  job.sent = true;
  const Neighbour& peer = neighbours_[pair.peer_end];
  dispatcher_.post(std::max(now, engine_free_) + peer.way, *peer.nic, kPosted,
                   message(pair.peer_queue_pair, job.first_psn, request.immediate));
  return true;
}

bool Nic::post_ahead(Time at, std::uint32_t number) {
  // What packets cost would keep the engine from it, and is not known yet.
  QueuePair& pair = pairs_[number];
  if (packet_cost_ > Time() || pair.ready_jobs + 1 != pair.jobs.size()) return false;
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]]
    causes->mark(CauseKind::kNic, at, Dispatcher::place_of(*this));
  ++pair.ready_jobs;
  if (post_directly(at, number)) return true;
  --pair.ready_jobs;
  return false;
}

void Nic::take_posted(Time now, std::uint64_t data) {
  const auto number = static_cast<std::uint32_t>(data >> (32 + kNearBits));
  QueuePair& pair = pairs_[number];
  Packet packet;
  packet.opcode = Opcode::kWrite;
  packet.flags = Packet::kFirst | Packet::kLast | Packet::kImmediate;
  packet.immediate = static_cast<std::uint32_t>(data);
  packet.source = pair.peer_end;
  packet.destination = end_;
  packet.queue_pair = number;
  packet.psn = whole_of(static_cast<std::uint32_t>(data >> 32) & kNearMask, pair.expected_psn);
  take(now, packet, pair);
  if (owes_control()) [[unlikely]]
    pump(now);
}

void Nic::acknowledge_directly(Time now, const QueuePair& pair, std::uint32_t psn) {
  const Neighbour& peer = neighbours_[pair.peer_end];
  const std::uint64_t data = static_cast<std::uint64_t>(pair.peer_queue_pair) << 32 | (psn & kPsnMask);
  // Nobody but firmware learns of it, when its completion is there: only places in a queue are free no earlier.
  if (peer.nic->config_.send_queue_depth == 0) return peer.nic->take_acknowledgement(now + peer.way, data);
  dispatcher_.post(now + peer.way, *peer.nic, kAcknowledged, data);
}

void Nic::take_acknowledgement(Time now, std::uint64_t data) {
  const auto number = static_cast<std::uint32_t>(data >> 32);
  acknowledge(now, number, whole_psn(static_cast<std::uint32_t>(data), pairs_[number].next_psn));
}

}  // namespace weft::nic
