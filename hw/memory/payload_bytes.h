// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tlm>

#include "hw/memory/backing_store.h"

namespace weft::memory {

// What all memories do alike with the bytes of a generic payload (IEEE Std 1666-2011, 14.7, 14.9, 14.12, 14.17).

/// Without byte enables and without streaming, as nearly all are: all of its bytes move, to addresses side by side.
[[nodiscard]] inline bool is_plain(const tlm::tlm_generic_payload& payload) {
  return payload.get_byte_enable_ptr() == nullptr && payload.get_streaming_width() >= payload.get_data_length();
}

/// What a memory answers to attributes that it does not take, or TLM_OK_RESPONSE: TLM_BURST_ERROR_RESPONSE for a
/// streaming width below the data's length, since memories do not stream, and TLM_BYTE_ENABLE_ERROR_RESPONSE for byte
/// enables of length 0.
[[nodiscard]] inline tlm::tlm_response_status check_attributes(const tlm::tlm_generic_payload& payload) {
  if (is_plain(payload)) [[likely]]
    return tlm::TLM_OK_RESPONSE;
  if (payload.get_streaming_width() < payload.get_data_length()) return tlm::TLM_BURST_ERROR_RESPONSE;
  return payload.get_byte_enable_length() == 0 ? tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE;
}

/// Whether all of its bytes [offset, offset + bytes) are enabled.
[[nodiscard]] bool all_enabled(const tlm::tlm_generic_payload& payload, std::uint32_t offset, std::uint32_t bytes);

/// Reads or writes bytes [offset, offset + bytes) of a payload, enabled or not; another command moves nothing.
inline void move_all(BackingStore& store, const tlm::tlm_generic_payload& payload, std::uint32_t offset,
                     std::uint32_t bytes) {
  auto* data = reinterpret_cast<std::byte*>(payload.get_data_ptr()) + offset;
  if (payload.is_read()) {
    store.read(payload.get_address() + offset, data, bytes);
  } else if (payload.is_write()) {
    store.write(payload.get_address() + offset, data, bytes);
  }
}

/// The same of those that are enabled: the others are left alone, here and there.
void move_enabled(BackingStore& store, const tlm::tlm_generic_payload& payload, std::uint32_t offset,
                  std::uint32_t bytes);

/// What a timed access does with these bytes; a null data pointer stands for no bytes.
inline void move_bytes(BackingStore& store, const tlm::tlm_generic_payload& payload, std::uint32_t offset,
                       std::uint32_t bytes) {
  if (payload.get_data_ptr() == nullptr) return;
  if (payload.get_byte_enable_ptr() != nullptr) [[unlikely]]
    return move_enabled(store, payload, offset, bytes);
  move_all(store, payload, offset, bytes);
}
inline void move_bytes(BackingStore& store, const tlm::tlm_generic_payload& payload) {
  move_bytes(store, payload, 0, payload.get_data_length());
}

/// What debug transport does, which has neither byte enables nor a streaming width. Returns how many bytes were moved.
inline unsigned int debug_bytes(BackingStore& store, const tlm::tlm_generic_payload& payload) {
  if (payload.get_data_ptr() == nullptr || !(payload.is_read() || payload.is_write())) return 0;
  move_all(store, payload, 0, payload.get_data_length());
  return payload.get_data_length();
}

}  // namespace weft::memory
