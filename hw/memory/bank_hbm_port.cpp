// SPDX-License-Identifier: Apache-2.0
// What masters of a BankHbm call.
#include "hw/core/annotation.h"
#include "hw/memory/bank_hbm.h"
#include "hw/memory/payload_bytes.h"

namespace weft::memory {

tlm::tlm_sync_enum BankHbm::Port::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                  sc_core::sc_time& delay) {
  const Time now = owner.dispatcher_.now();
  const Time at = now + from_delay(delay);
  if (phase == tlm::END_RESP) {
    if (answered != nullptr && answered->payload == &payload) owner.end_response(*this, at);
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  if (payload.has_mm()) payload.acquire();
  Transaction& transaction = *owner.begin(payload, *this, at);
  if (at > now) {
    owner.post(at, kRequest, *this, &transaction);
    return tlm::TLM_ACCEPTED;
  }
  transaction.in_call = true;
  owner.take(transaction, now);
  transaction.in_call = false;
  if (!transaction.taken) return tlm::TLM_ACCEPTED;
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void BankHbm::Port::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const sc_core::sc_process_handle caller = sc_core::sc_get_current_process_handle();
  if (caller.proc_kind() != sc_core::SC_THREAD_PROC_) {
    SC_REPORT_ERROR("weft.bank_hbm", "b_transport waits: it must be called from an SC_THREAD");
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return;
  }
  if (idle_events.empty()) idle_events.push_back(std::make_unique<sc_core::sc_event>());
  std::unique_ptr<sc_core::sc_event> event = std::move(idle_events.back());
  idle_events.pop_back();
  const Time now = owner.dispatcher_.now();
  Transaction& transaction = *owner.begin(payload, *this, now + from_delay(delay));
  transaction.waiting = event.get();
  if (transaction.begin > now) {
    owner.post(transaction.begin, kRequest, *this, &transaction);
  } else {
    owner.take(transaction, now);
  }
  sc_core::wait(*event);
  owner.retire(transaction);
  idle_events.push_back(std::move(event));
  delay = sc_core::sc_time();
}

bool BankHbm::Port::get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  if (!owner.data_ || payload.get_address() >= owner.capacity_) return false;
  const std::uint64_t start = payload.get_address() / BackingStore::kPage * BackingStore::kPage;
  const std::uint64_t end = std::min(start + BackingStore::kPage, owner.capacity_);
  dmi.allow_read_write();
  dmi.set_start_address(start);
  dmi.set_end_address(end - 1);
  dmi.set_dmi_ptr(reinterpret_cast<unsigned char*>(owner.store_.page(start)));
  const Time way = 2 * owner.config_.latency + owner.config_.controller.latency;
  const dram::Timing& timing = owner.config_.device.timing;
  dmi.set_read_latency(to_delay(way + timing.clock * (timing.cl + timing.bl)));
  dmi.set_write_latency(to_delay(way));
  return true;
}

unsigned int BankHbm::Port::transport_dbg(tlm::tlm_generic_payload& payload) {
  return owner.data_ && owner.in_range(payload) ? debug_bytes(owner.store_, payload) : 0;
}

}  // namespace weft::memory
