// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/remote/cxl_link.h"

#include <algorithm>

#include "hw/core/annotation.h"
#include "hw/memory/payload_event.h"

namespace weft::memory {
namespace {

// Tags, in the order in which they run at one picosecond. Their data is the payload's address, which no order depends
// on.
constexpr std::uint32_t kRequest = 0;
constexpr std::uint32_t kForward = 1;
constexpr std::uint32_t kResponse = 2;
constexpr std::uint32_t kAnswered = 3;

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kSlotsOfLine = 4;
constexpr std::int64_t kHeadersInSlot = 3;

std::int64_t lines_of(const tlm::tlm_generic_payload& payload) {
  const auto begin = static_cast<std::int64_t>(payload.get_address());
  const auto end = begin + static_cast<std::int64_t>(payload.get_data_length());
  return (end + kLine - 1) / kLine - begin / kLine;
}

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

CxlLink::CxlLink(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher)
    : sc_module(name),
      up("up"),
      down("down"),
      config_(config),
      dispatcher_(dispatcher),
      byte_time_(config.rate),
      upstream_(*this),
      downstream_(*this),
      responses_(up) {
  dispatcher.attach(*this, this->name());
  up.bind(upstream_);
  down.bind(downstream_);
}

CxlLink::~CxlLink() = default;

std::int64_t CxlLink::wire_bytes(CxlFlit flit, Direction direction, bool reads, std::int64_t lines) {
  const bool has_data = reads == (direction == kUp);
  const std::int64_t headers = direction == kDown ? lines : divide_up(lines, kHeadersInSlot);
  const std::int64_t slots = headers + (has_data ? lines * kSlotsOfLine : 0);
  return flit == CxlFlit::k68 ? divide_up(slots, 4) * 68 : divide_up(slots, 15) * 256;
}

Time CxlLink::book(Direction direction, const tlm::tlm_generic_payload& payload, Time at) {
  const std::int64_t bytes = wire_bytes(config_.flit, direction, payload.is_read(), lines_of(payload));
  const Time length = byte_time_(bytes);
  Time& free = free_[direction];
  free = std::max(free, at) + length;
  counters_.wire_bytes[direction] += bytes;
  counters_.busy[direction] += length;
  return free + config_.latency;
}

void CxlLink::Upstream::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const Time now = owner.dispatcher_.now();
  ++owner.counters_.requests;
  delay = to_delay(owner.book(kDown, payload, now + from_delay(delay)) - now);
  owner.down->b_transport(payload, delay);
  delay = to_delay(owner.book(kUp, payload, now + from_delay(delay)) - now);
}

tlm::tlm_sync_enum CxlLink::Upstream::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                      sc_core::sc_time& delay) {
  if (phase == tlm::END_RESP) {
    owner.responses_.ended();
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  payload.acquire();
  ++owner.held_;
  ++owner.counters_.requests;
  owner.dispatcher_.post(owner.dispatcher_.now() + from_delay(delay), owner, kRequest, to_data(payload));
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

tlm::tlm_sync_enum CxlLink::Downstream::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                        sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  owner.dispatcher_.post(owner.dispatcher_.now() + from_delay(delay), owner, kResponse, to_data(payload));
  delay = sc_core::SC_ZERO_TIME;
  return tlm::TLM_COMPLETED;
}

void CxlLink::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  tlm::tlm_generic_payload& payload = to_payload(data);
  switch (tag) {
    case kRequest:
      waiting_.push_back(&payload);
      admit();
      if (!waiting_.empty() && waiting_.back() == &payload) ++counters_.waited;
      break;
    case kForward:
      forward(payload);
      break;
    case kResponse:
      dispatcher_.post(book(kUp, payload, now), *this, kAnswered, data);
      break;
    default:
      answered(payload);
  }
}

void CxlLink::admit() {
  while (!waiting_.empty()) {
    tlm::tlm_generic_payload& payload = *waiting_.front();
    const auto bytes = static_cast<std::int64_t>(payload.get_data_length());
    if (under_way_ != 0 && under_way_ + bytes > config_.outstanding.count()) return;
    waiting_.pop_front();
    under_way_ += bytes;
    dispatcher_.post(book(kDown, payload, dispatcher_.now()), *this, kForward, to_data(payload));
  }
}

void CxlLink::forward(tlm::tlm_generic_payload& payload) {
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  if (down->nb_transport_fw(payload, phase, delay) != tlm::TLM_COMPLETED) return;
  dispatcher_.post(dispatcher_.now() + from_delay(delay), *this, kResponse, to_data(payload));
}

void CxlLink::answered(tlm::tlm_generic_payload& payload) {
  under_way_ -= payload.get_data_length();
  --held_;
  responses_.add(payload);
  admit();
}

std::vector<std::string> CxlLink::left_over() const {
  if (held_ == 0) return {};
  return {std::string(name()) + ": " + std::to_string(held_) + " requests are not answered"};
}

}  // namespace weft::memory
