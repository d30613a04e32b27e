// SPDX-License-Identifier: Apache-2.0
// Plain requests and what all share; remote_collectives.cpp has what switches do for groups.
#include "hw/memory/remote/remote_memory.h"

#include <algorithm>

#include "hw/core/annotation.h"
#include "hw/memory/payload_bytes.h"
#include "hw/memory/remote/remote_stages.h"

namespace weft::memory {

namespace {

RemoteMemory::Direction direction_of(const tlm::tlm_generic_payload& payload) {
  return payload.is_read() ? RemoteMemory::kLoad : RemoteMemory::kStore;
}

std::size_t memories_of(const RemoteMemory::Config& config, int accelerators, int nodes) {
  switch (config.kind) {
    case RemoteKind::kPerAccelerator:
      return static_cast<std::size_t>(accelerators);
    case RemoteKind::kPerNode:
      return static_cast<std::size_t>(nodes);
    case RemoteKind::kHierarchical:
      return static_cast<std::size_t>(config.hierarchy.groups);
    case RemoteKind::kPool:
      break;
  }
  return 1;
}

}  // namespace

RemoteMemory::RemoteMemory(sc_core::sc_module_name name, const Config& config, int accelerators, int per_node,
                           Dispatcher& dispatcher, bool data, const Stall::Config& stall)
    : RemoteTarget(name),
      config_(config),
      per_node_(config.sharers > 0 ? config.sharers : per_node),
      nodes_((accelerators + per_node_ - 1) / per_node_),
      dispatcher_(dispatcher),
      data_(data),
      stall_(stall, this->name()),
      memory_time_(config.rate),
      link_time_(config.hierarchy.out_node),
      port_time_(config.hierarchy.in_node),
      ports_(static_cast<std::size_t>(accelerators)),
      memories_(memories_of(config, accelerators, nodes_)) {
  if (config.sharers > 0 && config.kind != RemoteKind::kPerNode) {
    throw ConfigError("remote_memory.sharers", "expected 0, since remote_memory.kind is " +
                                                   std::string(name_of(config.kind)) +
                                                   ": only memories of kind per-node are shared so");
  }
  if (config.sharers > 0 && accelerators % config.sharers != 0) {
    throw ConfigError("remote_memory.sharers", "expected a divisor of accelerators, which is " +
                                                   std::to_string(accelerators) + ", got " +
                                                   std::to_string(config.sharers));
  }
  if (config.hierarchy.in_switch && !has_links()) {
    throw ConfigError("remote_memory.hierarchical.in_switch", "expected false, since remote_memory.kind is " +
                                                                  std::string(name_of(config.kind)) +
                                                                  ": only a hierarchical pool has switches");
  }
  if (has_links() && config.hierarchy.groups < config.hierarchy.switches) {
    throw ConfigError("remote_memory.hierarchical.groups",
                      "expected at least one for each of the " + std::to_string(config.hierarchy.switches) +
                          " switches, got " + std::to_string(config.hierarchy.groups));
  }
  dispatcher.attach(*this, this->name());
  for (int i = 0; i < accelerators; ++i) ports_.emplace_back(*this, static_cast<std::uint32_t>(i));
  if (has_links()) {
    for (auto& links : links_)
      links.resize(static_cast<std::size_t>(config.hierarchy.switches) * static_cast<std::size_t>(nodes_));
    for (auto& ports : in_ports_) ports.resize(ports_.size());
  }
  stores_.resize(has_links() ? 1 : memories_.size());
}

RemoteMemory::~RemoteMemory() = default;

std::size_t RemoteMemory::space_of(std::size_t accelerator) const {
  if (config_.kind == RemoteKind::kPerAccelerator) return accelerator;
  return config_.kind == RemoteKind::kPerNode ? node_of(accelerator) : 0;
}

std::uint32_t RemoteMemory::memory_of(std::size_t port, std::uint64_t address) const {
  if (!has_links()) return static_cast<std::uint32_t>(space_of(port));
  return static_cast<std::uint32_t>(address / static_cast<std::uint64_t>(config_.chunk.count()) % memories_.size());
}

RemoteMemory::Resource& RemoteMemory::link_to(Direction direction, std::uint32_t memory, std::uint32_t node) {
  const std::uint32_t of_switch = memory % static_cast<std::uint32_t>(config_.hierarchy.switches);
  return links_[direction][of_switch * static_cast<std::uint32_t>(nodes_) + node];
}

bool RemoteMemory::in_range(const tlm::tlm_generic_payload& payload) const {
  const auto capacity = static_cast<std::uint64_t>(config_.capacity.count());
  return payload.get_address() < capacity && payload.get_data_length() <= capacity - payload.get_address();
}

tlm::tlm_response_status RemoteMemory::check(const tlm::tlm_generic_payload& payload, std::size_t port) const {
  if (!payload.is_read() && !payload.is_write()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
  if (!in_range(payload)) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  const InSwitch* asked = nullptr;
  payload.get_extension(asked);
  const tlm::tlm_response_status status = check_attributes(payload);
  return asked != nullptr && status == tlm::TLM_OK_RESPONSE ? check(*asked, payload, port) : status;
}

Time RemoteMemory::book(Resource& resource, Time arrives, std::int64_t bytes, const ByteTime& byte_time) {
  const Time length = byte_time(bytes);
  resource.free = std::max(resource.free, arrives) + length;
  ++resource.counters.pieces;
  resource.counters.bytes += bytes;
  resource.counters.busy += length;
  return resource.free;
}

/// When a piece that arrives at a stage has passed it.
Time RemoteMemory::pass(std::uint32_t stage, Direction direction, const Piece& piece, std::uint32_t port,
                        Time arrives) {
  switch (stage) {
    case stage::kMemory:
      return book(memories_[piece.memory], arrives, piece.bytes, memory_time_) + config_.latency;
    case stage::kLink:
      return book(link_to(direction, piece.memory, node_of(port)), arrives, piece.bytes, link_time_) +
             config_.hierarchy.out_node_latency;
    default:
      return book(in_ports_[direction][port], arrives, piece.bytes, port_time_) + config_.hierarchy.in_node_latency;
  }
}

std::uint32_t RemoteMemory::first_stage(Direction direction) const {
  return direction == kLoad || !has_links() ? stage::kMemory : stage::kPort;
}

std::uint32_t RemoteMemory::stage_after(std::uint32_t stage, Direction direction) const {
  if (!has_links()) return stage::kThere;
  if (direction == kLoad) return stage + 1;
  return stage == stage::kMemory ? stage::kThere : stage - 1;
}

std::vector<RemoteMemory::Piece> RemoteMemory::cut(const tlm::tlm_generic_payload& payload, std::uint32_t port) const {
  std::vector<Piece> pieces;
  const auto chunk = static_cast<std::uint64_t>(config_.chunk.count());
  std::uint64_t address = payload.get_address();
  const std::uint64_t end = address + payload.get_data_length();
  while (address < end) {
    const std::uint64_t part = std::min(end - address, chunk - address % chunk);
    pieces.push_back({0, memory_of(port, address), static_cast<std::int64_t>(part)});
    address += part;
  }
  return pieces;
}

void RemoteMemory::account(const tlm::tlm_generic_payload& payload) {
  const std::int64_t bytes = payload.get_data_length();
  if (payload.is_read()) {
    ++totals_.loads;
    totals_.loaded_bytes += bytes;
  } else {
    ++totals_.stores;
    totals_.stored_bytes += bytes;
  }
  totals_.highest = std::max<std::uint64_t>(totals_.highest, payload.get_address() + payload.get_data_length());
}

void RemoteMemory::move_bytes(tlm::tlm_generic_payload& payload, std::size_t port) {
  if (data_) memory::move_bytes(stores_[space_of(port)], payload);
}

void RemoteMemory::Port::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  tlm::tlm_response_status status = owner.check(payload, index);
  const InSwitch* asked = nullptr;
  payload.get_extension(asked);
  // A collective ends when others have asked, which nobody knows yet.
  if (status == tlm::TLM_OK_RESPONSE && asked != nullptr) status = tlm::TLM_GENERIC_ERROR_RESPONSE;
  payload.set_response_status(status);
  if (status != tlm::TLM_OK_RESPONSE) return;
  const Time now = owner.dispatcher_.now();
  const Time start = now + from_delay(delay);
  const Direction direction = direction_of(payload);
  Time done = start;
  for (const Piece& piece : owner.cut(payload, index)) {
    Time at = start;
    for (std::uint32_t s = owner.first_stage(direction); s != stage::kThere; s = owner.stage_after(s, direction)) {
      at = owner.pass(s, direction, piece, index, at);
    }
    done = std::max(done, at);
  }
  owner.account(payload);
  owner.move_bytes(payload, index);
  delay = to_delay(done + owner.stall_.next() - now);
}

tlm::tlm_sync_enum RemoteMemory::Port::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                       sc_core::sc_time& delay) {
  if (phase == tlm::END_RESP) {
    owner.dispatcher_.post(owner.dispatcher_.now() + from_delay(delay), owner, stage::kResponded, index);
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  const tlm::tlm_response_status status = owner.check(payload, index);
  if (status != tlm::TLM_OK_RESPONSE) {
    payload.set_response_status(status);
    phase = tlm::BEGIN_RESP;
    return tlm::TLM_COMPLETED;
  }
  payload.acquire();
  const std::uint32_t slot = owner.requests_.take();
  owner.requests_[slot] = {&payload, index, 0};
  // In the order in which they were made, which matters to collectives.
  begins = std::max(begins, owner.dispatcher_.now() + from_delay(delay) + owner.stall_.next());
  owner.dispatcher_.post(begins, owner, stage::kBegin, slot);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

unsigned int RemoteMemory::Port::transport_dbg(tlm::tlm_generic_payload& payload) {
  if (!owner.data_ || !owner.in_range(payload)) return 0;
  return debug_bytes(owner.stores_[owner.space_of(index)], payload);
}

void RemoteMemory::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  const auto low = static_cast<std::uint32_t>(data);
  const auto high = static_cast<std::uint32_t>(data >> 32);
  switch (tag) {
    case stage::kBegin:
      return begin(now, low);
    case stage::kMemory:
    case stage::kLink:
    case stage::kPort:
      return step(now, tag, low);
    case stage::kThere:
      return piece_done(low);
    case stage::kGatheredOutside:
      return gather_to_nodes(now, low);
    case stage::kGatheredInNode:
      return gather_to_ports(now, low, high);
    case stage::kReducingInNode:
      return reduce_in_node(now, low, high);
    case stage::kReducingOutside:
      return reduce_outside(now, low);
    case stage::kReduced:
      return reduce_done(low);
    case stage::kMemberDone:
      return finish(low, tlm::TLM_OK_RESPONSE);
    default:  // kResponded
      ports_[low].responding = false;
      respond(ports_[low]);
  }
}

void RemoteMemory::begin(Time now, std::uint32_t request) {
  tlm::tlm_generic_payload& payload = *requests_[request].payload;
  const std::uint32_t port = requests_[request].port;
  account(payload);
  const InSwitch* asked = nullptr;
  payload.get_extension(asked);
  if (asked != nullptr) return join(now, request, *asked);
  const std::vector<Piece> pieces = cut(payload, port);
  if (pieces.empty()) return finish(request, tlm::TLM_OK_RESPONSE);
  requests_[request].pieces = static_cast<std::uint32_t>(pieces.size());
  const std::uint32_t first = first_stage(direction_of(payload));
  for (const Piece& piece : pieces) {
    const std::uint32_t slot = pieces_.take();
    pieces_[slot] = piece;
    pieces_[slot].request = request;
    step(now, first, slot);
  }
}

void RemoteMemory::step(Time now, std::uint32_t stage, std::uint32_t piece) {
  const Request& request = requests_[pieces_[piece].request];
  const Direction direction = direction_of(*request.payload);
  const Time passed = pass(stage, direction, pieces_[piece], request.port, now);
  dispatcher_.post(passed, *this, stage_after(stage, direction), piece);
}

void RemoteMemory::piece_done(std::uint32_t piece) {
  const std::uint32_t request = pieces_[piece].request;
  pieces_.free(piece);
  if (--requests_[request].pieces != 0) return;
  move_bytes(*requests_[request].payload, requests_[request].port);
  finish(request, tlm::TLM_OK_RESPONSE);
}

void RemoteMemory::finish(std::uint32_t request, tlm::tlm_response_status status) {
  requests_[request].payload->set_response_status(status);
  Port& port = ports_[requests_[request].port];
  port.responses.push_back(request);
  respond(port);
}

/// One response at a time is out (the base protocol's exclusion rule).
void RemoteMemory::respond(Port& port) {
  while (!port.responding && !port.responses.empty()) {
    const std::uint32_t request = port.responses.front();
    port.responses.pop_front();
    tlm::tlm_generic_payload& payload = *requests_[request].payload;
    requests_.free(request);
    port.responding = true;
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay;
    const tlm::tlm_sync_enum answer = port.socket->nb_transport_bw(payload, phase, delay);
    if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP)) {
      if (delay == sc_core::SC_ZERO_TIME) {
        port.responding = false;
      } else {
        dispatcher_.post(dispatcher_.now() + from_delay(delay), *this, stage::kResponded, port.index);
      }
    }
    payload.release();
  }
}

}  // namespace weft::memory
