// SPDX-License-Identifier: Apache-2.0
#include "hw/core/register_file.h"

#include "hw/core/annotation.h"

namespace weft {

void RegisterFile::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  for (const Window& window : windows_) {
    if (address < window.offset || address >= window.offset + window.count * window.stride) continue;
    if ((address - window.offset) % window.stride != 0) break;
    const std::uint32_t bytes = payload.get_data_length();
    if (!payload.is_write()) {
      payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
    } else if (payload.get_byte_enable_ptr() != nullptr) {
      payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    } else if (bytes < window.min_bytes || bytes > window.max_bytes || payload.get_streaming_width() < bytes) {
      payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    } else {
      const Time at = dispatcher_.now() + from_delay(delay);
      const bool taken = window.handler(address, payload.get_data_ptr(), bytes, at);
      payload.set_response_status(taken ? tlm::TLM_OK_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE);
    }
    return;
  }
  payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

tlm::tlm_sync_enum RegisterFile::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                 sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  b_transport(payload, delay);
  phase = tlm::BEGIN_RESP;
  return tlm::TLM_COMPLETED;
}

tlm::tlm_response_status write_through(tlm::tlm_fw_transport_if<>& target, tlm::tlm_generic_payload& payload,
                                       std::uint64_t address, const void* data, std::uint32_t bytes, Time delay) {
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(address);
  // The generic payload has one pointer for both directions; a target only reads what is written to it.
  payload.set_data_ptr(static_cast<unsigned char*>(const_cast<void*>(data)));
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  payload.set_dmi_allowed(false);  // a memory may have had the payload before
  sc_core::sc_time annotated = to_delay(delay);
  target.b_transport(payload, annotated);
  return payload.get_response_status();
}

}  // namespace weft
