// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/payload_bytes.h"

namespace weft::memory {
namespace {

bool is_enabled(const tlm::tlm_generic_payload& payload, std::uint32_t byte) {
  return payload.get_byte_enable_ptr()[byte % payload.get_byte_enable_length()] == TLM_BYTE_ENABLED;
}

}  // namespace

bool all_enabled(const tlm::tlm_generic_payload& payload, std::uint32_t offset, std::uint32_t bytes) {
  if (payload.get_byte_enable_ptr() == nullptr) return true;
  for (std::uint32_t i = offset; i < offset + bytes; ++i) {
    if (!is_enabled(payload, i)) return false;
  }
  return true;
}

void move_enabled(BackingStore& store, const tlm::tlm_generic_payload& payload, std::uint32_t offset,
                  std::uint32_t bytes) {
  const std::uint32_t end = offset + bytes;
  while (offset < end) {
    std::uint32_t run = offset;
    while (run < end && is_enabled(payload, run)) ++run;
    if (run > offset) move_all(store, payload, offset, run - offset);
    offset = run + 1;
  }
}

}  // namespace weft::memory
