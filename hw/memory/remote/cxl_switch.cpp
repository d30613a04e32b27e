// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/remote/cxl_switch.h"

#include "hw/core/annotation.h"
#include "hw/memory/payload_event.h"

namespace weft::memory {
namespace {

// Tags, in the order in which they run at one picosecond; their data is the payload's address.
constexpr std::uint32_t kSwitchRequest = 0;
constexpr std::uint32_t kSwitchResponse = 1;

}  // namespace

CxlSwitch::CxlSwitch(sc_core::sc_module_name name, const Config& config, std::size_t hosts, std::size_t memories,
                     Bytes granule, Dispatcher& dispatcher)
    : sc_module(name),
      config_(config),
      granule_(static_cast<std::uint64_t>(granule.count())),
      dispatcher_(dispatcher),
      hosts_(hosts),
      memories_(memories) {
  dispatcher.attach(*this, this->name());
  for (std::size_t h = 0; h < hosts; ++h) hosts_.emplace_back(*this, h);
  for (std::size_t m = 0; m < memories; ++m) memories_.emplace_back(*this, m);
}

CxlSwitch::~CxlSwitch() = default;

void CxlSwitch::Host::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  delay += to_delay(owner.config_.latency);
  owner.memory_of(payload).socket->b_transport(payload, delay);
  delay += to_delay(owner.config_.latency);
}

tlm::tlm_sync_enum CxlSwitch::Host::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                    sc_core::sc_time& delay) {
  if (phase == tlm::END_RESP) {
    responses.ended();
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  payload.acquire();
  owner.host_of_[&payload] = index;
  const Time there = owner.dispatcher_.now() + from_delay(delay) + owner.config_.latency;
  owner.dispatcher_.post(there, owner, kSwitchRequest, to_data(payload));
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

unsigned int CxlSwitch::Host::transport_dbg(tlm::tlm_generic_payload& payload) {
  return owner.memory_of(payload).socket->transport_dbg(payload);
}

tlm::tlm_sync_enum CxlSwitch::Memory::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                      sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  const Time there = owner.dispatcher_.now() + from_delay(delay) + owner.config_.latency;
  owner.dispatcher_.post(there, owner, kSwitchResponse, to_data(payload));
  delay = sc_core::SC_ZERO_TIME;
  return tlm::TLM_COMPLETED;
}

void CxlSwitch::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  tlm::tlm_generic_payload& payload = to_payload(data);
  if (tag == kSwitchRequest) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    if (memory_of(payload).socket->nb_transport_fw(payload, phase, delay) != tlm::TLM_COMPLETED) return;
    dispatcher_.post(now + from_delay(delay) + config_.latency, *this, kSwitchResponse, data);
    return;
  }
  const auto found = host_of_.find(&payload);
  const std::size_t host = found->second;
  host_of_.erase(found);
  hosts_[host].responses.add(payload);
}

}  // namespace weft::memory
