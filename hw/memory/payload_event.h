// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tlm>

namespace weft::memory {

/// A payload as the data of an event of the dispatcher, which the payload must outlive, and back.
inline std::uint64_t to_data(tlm::tlm_generic_payload& payload) {
  return reinterpret_cast<std::uintptr_t>(&payload);
}
inline tlm::tlm_generic_payload& to_payload(std::uint64_t data) {
  return *reinterpret_cast<tlm::tlm_generic_payload*>(static_cast<std::uintptr_t>(data));
}

}  // namespace weft::memory
