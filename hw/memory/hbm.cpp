// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/hbm.h"

#include <algorithm>

#include "hw/core/annotation.h"

namespace weft::memory {

Hbm::Hbm(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher,
         const std::vector<std::string>& masters, bool data, const Stall::Config& stall)
    : sc_module(name),
      config_(config),
      dispatcher_(dispatcher),
      byte_time_(config.sustained()),
      busy_until_(masters.size()),
      data_(data),
      stall_(stall, this->name()),
      ports_(masters.size()) {
  for (const std::string& master : masters) ports_.emplace_back(*this, master, ports_.size());
}

Hbm::~Hbm() = default;

inline bool Hbm::in_range(const tlm::tlm_generic_payload& payload) const {
  const std::uint64_t capacity = static_cast<std::uint64_t>(config_.capacity.count());
  return payload.get_address() < capacity && payload.get_data_length() <= capacity - payload.get_address();
}

void Hbm::move_bytes(tlm::tlm_generic_payload& payload) {
  auto* data = reinterpret_cast<std::byte*>(payload.get_data_ptr());
  if (payload.is_read()) {
    store_.read(payload.get_address(), data, payload.get_data_length());
  } else if (payload.is_write()) {
    store_.write(payload.get_address(), data, payload.get_data_length());
  }
}

void Hbm::Port::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (!owner.in_range(payload)) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const std::int64_t bytes = payload.get_data_length();
  if (owner.data_ && payload.get_data_ptr() != nullptr && bytes != 0) owner.move_bytes(payload);
  const std::int64_t now = owner.dispatcher_.now().count();
  const std::int64_t asked = now + static_cast<std::int64_t>(delay.value());
  const std::int64_t length = owner.byte_time_(bytes).count();
  // Fluid sharing: what others still have to move, up to as much as this request moves, goes in between, and the other
  // way round.
  const std::int64_t start = std::max(asked, owner.busy_until_[index]);
  std::int64_t busy_until = start + length;
  for (std::size_t i = 0; i < owner.busy_until_.size(); ++i) {
    std::int64_t& other = owner.busy_until_[i];
    if (i == index || other <= start) continue;
    const std::int64_t shared = std::min(length, other - start);
    busy_until += shared;
    other += shared;
  }
  owner.busy_until_[index] = busy_until;
  if (payload.is_read()) {
    ++counters.reads;
    counters.read_bytes += bytes;
  } else {
    ++counters.writes;
    counters.written_bytes += bytes;
  }
  counters.busy += Time(length);
  const Time done = Time(busy_until) + owner.config_.latency + owner.stall_.next();
  delay = to_delay(Time(done.count() - now));
  payload.set_dmi_allowed(owner.data_);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

tlm::tlm_sync_enum Hbm::Port::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                              sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  b_transport(payload, delay);
  phase = tlm::BEGIN_RESP;
  return tlm::TLM_COMPLETED;
}

bool Hbm::Port::get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  if (!owner.data_ || payload.get_address() >= static_cast<std::uint64_t>(owner.config_.capacity.count())) return false;
  const std::uint64_t start = payload.get_address() / BackingStore::kPage * BackingStore::kPage;
  dmi.allow_read_write();
  dmi.set_start_address(start);
  dmi.set_end_address(start + BackingStore::kPage - 1);
  dmi.set_dmi_ptr(reinterpret_cast<unsigned char*>(owner.store_.page(start)));
  const sc_core::sc_time latency = to_delay(owner.config_.latency);
  dmi.set_read_latency(latency);
  dmi.set_write_latency(latency);
  return true;
}

unsigned int Hbm::Port::transport_dbg(tlm::tlm_generic_payload& payload) {
  if (!owner.data_ || !owner.in_range(payload)) return 0;
  owner.move_bytes(payload);
  return payload.get_data_length();
}

}  // namespace weft::memory
