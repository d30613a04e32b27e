// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/nic.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "hw/core/cause/causes.h"
#include "hw/nic/congestion/pacing.h"
#include "hw/nic/context_cache.h"
#include "hw/nic/explained.h"
#include "hw/nic/phased_memory.h"
#include "hw/nic/receive_room.h"
#include "hw/nic/reliability/recovery.h"
#include "hw/nic/tags.h"
#include "hw/nic/uet/uet.h"

namespace weft::nic {
namespace {

const char* name_of(Verb verb) {
  switch (verb) {
    case Verb::kSend:
      return "send";
    case Verb::kWrite:
      return "write";
    case Verb::kRead:
      return "read";
    case Verb::kReduce:
      return "reduction";
    case Verb::kMulticast:
      return "multicast";
    case Verb::kReceive:
      break;
  }
  return "receive";
}

std::string describe(const WorkRequest& request) {
  return std::string(name_of(request.verb)) + " of " + to_text(Bytes(static_cast<std::int64_t>(request.bytes)));
}

}  // namespace

Nic::Nic(sc_core::sc_module_name name, const Config& config, const fabric::FabricConfig& network, std::uint32_t end,
         Dispatcher& dispatcher, PacketPool& packets, bool data, const Stall::Config& stall)
    : AnyNic(name),
      fabric_in_(*this),
      dispatcher_(dispatcher),
      packets_(packets),
      packet_cost_(config.packet_cost),
      mtu_(static_cast<std::uint32_t>(network.mtu.count())),
      segment_(static_cast<std::uint32_t>(network.segment.count())),
      control_bytes_(network.wire_bytes(0)),
      end_(end),
      data_(data),
      recovers_(config.transport == Transport::kRoce && config.recovers()),
      may_fail_(config.recovers()),
      sprays_(config.transport == Transport::kUet),
      memory_(dma, dispatcher, *this, kMemory),
      out("out"),
      in("in"),
      dma("dma"),
      completion("completion"),
      registers("registers"),
      config_(config),
      host_(config.host_link(), static_cast<std::uint32_t>(network.mtu.count())),
      network_(network),
      transmitter_(dispatcher, network.link, *this, kCredit, stall, this->name()),
      register_file_(dispatcher),
      near_file_(dispatcher),
      group_engine_(config.group_rate),
      random_(stall.seed, std::string(this->name()) + " retries") {
  if (config_.read_ahead == Bytes()) config_.read_ahead = Config::kLeastReadAhead;
  most_ahead_ = transfer_time(config_.read_ahead, transmitter_.rate()) / 2;
  if (config.context_cache.entries > 0) contexts_ = std::make_unique<Contexts>(config.context_cache.entries);
  if (sprays_) uet_ = std::make_unique<Uet>(*this);
  if (network.link.flow_control == fabric::FlowControl::kPfc) {
    room_ = std::make_unique<ReceiveRoom>(dispatcher, network, transmitter_, std::string(this->name()) + " room");
  }
  choose_congestion();
  dispatcher.attach(*this, this->name());
  transmitter_.bind(out);
  in.bind(fabric_in_);
  memory_.bind();
  completion.bind(initiator_);
  near_completion.bind(initiator_);
  constexpr auto kEntry = static_cast<std::uint32_t>(sizeof(WorkRequest));
  for (const bool near : {false, true}) {
    RegisterFile& file = near ? near_file_ : register_file_;
    file.add_window(kDoorbell, 1, 1, kEntry, kEntry,
                    [this, near](std::uint64_t /*address*/, const void* entry, std::uint32_t /*bytes*/, Time at) {
                      return take_doorbell(entry, at, near);
                    });
    file.add_window(kAnnouncement, 1, 1, kEntry, kLongestBatch * kEntry,
                    [this, near](std::uint64_t /*address*/, const void* entries, std::uint32_t bytes, Time at) {
                      return take_announcement(entries, bytes, at, near);
                    });
  }
  near_registers.bind(near_file_);
  registers.bind(register_file_);
}

Nic::~Nic() = default;

void Nic::end_of_elaboration() {
  transmitter_.resolve(out);
  upstream_ = in.operator->();
  if (room_ != nullptr) {
    room_->bind(*upstream_);
    upstream_ = room_.get();
  }
  memory_port_ = memory_.resolve();
  if (dispatcher_.causes() != nullptr) explained_ = std::make_unique<Explained>(*this);
  completion_target_ = completion.operator->();
  if (near_completion.size() > 0) near_target_ = near_completion.operator->();
}

std::uint32_t Nic::create_queue_pair(std::uint64_t completion_address) {
  pairs_.emplace_back();
  pairs_.back().completion_address = completion_address;
  if (recovers_) pairs_.back().recovery = std::make_unique<Recovery>(0, 0);
  if (paces_) pairs_.back().congestion = make_congestion();
  if (sprays_) uet_->add_queue_pair();
  return static_cast<std::uint32_t>(pairs_.size() - 1);
}

void Nic::connect(std::uint32_t queue_pair, std::uint32_t peer_end, std::uint32_t peer_queue_pair) {
  pairs_[queue_pair].peer_end = peer_end;
  pairs_[queue_pair].peer_queue_pair = peer_queue_pair;
  may_loop_ = may_loop_ || peer_end == end_;
}

void Nic::start_at(std::uint32_t queue_pair, std::uint32_t send_psn, std::uint32_t receive_psn) {
  QueuePair& pair = pairs_[queue_pair];
  pair.next_psn = send_psn;
  pair.acknowledged = send_psn - 1;
  pair.expected_psn = receive_psn;
  if (recovers_) pair.recovery = std::make_unique<Recovery>(send_psn, receive_psn);
  if (pair.grouped) pair.group().results = receive_psn;
}

void Nic::record(Probe& probe, const std::string& process, const std::string& thread) {
  probe_ = &probe;
  track_ = probe.add_track(process, thread);
}

tlm::tlm_sync_enum Nic::Fabric::nb_transport_fw(Packet& packet, fabric::Phase& /*phase*/, sc_core::sc_time& delay) {
  const Time tail = owner_.dispatcher_.now() + from_delay(delay) + Time(packet.tail_lag_ps);
  owner_.dispatcher_.post(tail, owner_, kArrive, reinterpret_cast<std::uint64_t>(&packet));
  return tlm::TLM_ACCEPTED;
}

CauseKind Nic::cause(std::uint32_t tag) const {
  switch (tag) {
    case kArrive:
      return CauseKind::kSerialisation;
    case kPosted:
    case kAcknowledged:
      return CauseKind::kPropagation;
    case kPump:
    case kPace:
      return CauseKind::kInjection;
    case kCredit:
      return CauseKind::kCredit;
    case kResume:
    case kTimeout:
    case kGap:
    case kResponseGap:
    case kOvertaken:
      return CauseKind::kRecovery;
    case kContext:
    case kFetch:
    case kEntries:
      return CauseKind::kHostLink;
    case kMemory:
      return CauseKind::kMemory;
    default:
      return CauseKind::kNic;
  }
}

void Nic::prepare(std::uint32_t tag, std::uint64_t data) {
  __builtin_prefetch(&engine_free_);
  __builtin_prefetch(&wire_);
  __builtin_prefetch(&regions_);
  __builtin_prefetch(&host_);
  memory_.prefetch();
  __builtin_prefetch(memory_port_);
  if (tag == kArrive) {
    const Packet& packet = *reinterpret_cast<const Packet*>(data);
    if (packet.destination < Packet::kFirstGroup) {
      pairs_[packet.queue_pair & Packet::kQueuePairMask].prefetch();
    } else {
      __builtin_prefetch(group_ends_.data() + (packet.destination - Packet::kFirstGroup));
      // Where its buffer space is given back: the other end's transmitter, and its first lane.
      __builtin_prefetch(upstream_);
      __builtin_prefetch(reinterpret_cast<const std::byte*>(upstream_) + 64);
      __builtin_prefetch(reinterpret_cast<const std::byte*>(upstream_) + 128);
    }
  } else {
    transmitter_.prefetch();
  }
}

void Nic::prepare_more(std::uint32_t tag, std::uint64_t data) {
  if (tag != kArrive) return;
  const Packet& packet = *reinterpret_cast<const Packet*>(data);
  if (packet.destination < Packet::kFirstGroup) return;
  const std::uint32_t group = packet.destination - Packet::kFirstGroup;
  if (group >= group_ends_.size()) return;
  const GroupEnd& end = group_ends_[group];
  __builtin_prefetch(end.sources.data() + packet.source, 1);
  if ((packet.flags & Packet::kLast) != 0 && end.queue_pairs[0] < pairs_.size()) pairs_[end.queue_pairs[0]].prefetch();
  regions_.prefetch(key_of(packet));
}

void Nic::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  switch (tag) {
    case kArrive:
      if (room_ != nullptr) [[unlikely]]
        room_->take(now, *reinterpret_cast<Packet*>(data));
      receive(now, *reinterpret_cast<Packet*>(data));
      break;
    case kWork:
      if (stands_in_error(pairs_[data])) [[unlikely]]
        break;
      engine_free_ = std::max(engine_free_ + config_.message_cost, now);
      ++pairs_[data].ready_jobs;
      if (sprays_) [[unlikely]]
        uet_->note_ready(static_cast<std::uint32_t>(data));
      if (posts_ && post_directly(now, static_cast<std::uint32_t>(data))) break;
      activate(static_cast<std::uint32_t>(data));
      pump(now);
      break;
    case kPosted:
      take_posted(now, data);
      break;
    case kAcknowledged:
      take_acknowledgement(now, data);
      break;
    case kResume:
      pairs_[data].paused = false;
      if (recovers_) pairs_[data].recovery->progress = now;
      activate(static_cast<std::uint32_t>(data));
      pump(now);
      break;
    case kPump:
      if (pump_at_ != now) break;  // overtaken by an earlier one
      pump_at_ = kNever;
      pump(now);
      break;
    case kPace:
      pairs_[data].congestion->waiting = false;
      activate(static_cast<std::uint32_t>(data));
      pump(now);
      break;
    case kTimeout:
      if (sprays_) [[unlikely]]
        return uet_->timeout(now, static_cast<std::uint32_t>(data));
      timeout(now, static_cast<std::uint32_t>(data));
      break;
    case kOvertaken:
      uet_->look_for_overtaken(now, static_cast<std::uint32_t>(data));
      break;
    case kGap:
      request_gap(now, static_cast<std::uint32_t>(data));
      break;
    case kResponseGap:
      response_gap(now, static_cast<std::uint32_t>(data));
      break;
    case kGrant:
      uet_->grant(now);
      break;
    case kFetch:
      fetch_entries(now, data);
      break;
    case kEntries:
      take_entries(now, data);
      break;
    case kContext:
      take_context(now, static_cast<std::uint32_t>(data));
      break;
    case kMemory:
      if (const auto token = memory_.on_event(now, data)) memory_answered(now, *token);
      break;
    default:
      pump(now);
  }
}

void Nic::complete(QueuePair& pair, const Completion& entry, Time at) {
  const Time now = dispatcher_.now();
  const bool near = pair.completion_address >= kNear;
  pair.completed_at = std::max(near ? at : host_.notify(now, at, kEntryBytes), pair.completed_at);
  write_entry(pair.completion_address, entry, pair.completed_at);
}

void Nic::write_entry(std::uint64_t address, const Completion& entry, Time at) {
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    explained_->mark_visible(at);
  write_through(address >= kNear ? *near_target_ : *completion_target_, memory_.payload(), address, &entry,
                sizeof entry, at - dispatcher_.now());
}

std::string Nic::left_over_of(std::size_t i) {
  const QueuePair& pair = pairs_[i];
  const Recovery* recovery = pair.recovery.get();
  const bool failed = recovery != nullptr && recovery->failed;
  const std::size_t held = recovery == nullptr ? 0 : recovery->requests.size() + recovery->responses.size();
  if (pair.jobs.empty() && !pair.owes() && !failed && held == 0) return "";
  std::string line = std::string(name()) + ": queue pair " + std::to_string(i) +
                     (pair.grouped ? " to group " + std::to_string(pair.peer_end - Packet::kFirstGroup)
                                   : " to end " + std::to_string(pair.peer_end));
  if (failed) {
    line += " stands in error: ";
    line += recovery->reason == Status::kRetryExceeded
                ? "retries ran out after " + std::to_string(config_.retry_limit) + ", each " +
                      to_text(config_.ack_timeout) + " without an answer"
                : std::string("a request reached for memory that its key does not open");
    if (recovery->flushed > 0) {
      line += "; " + std::to_string(recovery->flushed) + " work requests failed, first a " +
              describe(recovery->first_flushed);
    }
  }
  if (held != 0) line += " holds " + std::to_string(held) + " packets that came ahead of one that is missing,";
  if (!pair.jobs.empty()) {
    const Job& job = pair.jobs.front();
    line += " has " + std::to_string(pair.jobs.size()) + " unfinished work requests, first a " + describe(job.request) +
            (pair.paused ? ", refused: the peer has no receive posted" : ", sent and not acknowledged");
  }
  if (pair.owes()) line += " owes " + std::to_string(pair.extra->responses.size()) + " read responses";
  return line;
}

std::vector<std::string> Nic::failures() {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_[i].recovery && pairs_[i].recovery->failed) lines.push_back(left_over_of(i));
  }
  return lines;
}

std::vector<std::string> Nic::left_over() {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    std::string line = left_over_of(i);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (!wire_.fetched.empty()) {
    lines.push_back(std::string(name()) + ": packets wait for " + (transmitter_.waiting() ? "credit" : "the link"));
  }
  if (memory_.under_way() != 0) {
    lines.push_back(std::string(name()) + ": memory has not answered " + std::to_string(memory_.under_way()) +
                    " reads and writes");
  }
  if (const auto missing = transmitter_.credit_missing(); missing != 0) {
    lines.push_back(std::string(name()) + ": " + std::to_string(missing) + " bytes of credit are missing");
  }
  return lines;
}

}  // namespace weft::nic
