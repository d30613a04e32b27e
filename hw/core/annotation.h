// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <systemc>
#include <type_traits>

#include "hw/core/quantity.h"

namespace weft {

/// A time as the delay annotation of a TLM call. With the resolution of 1 ps that the Dispatcher insists on, an sc_time
/// holds the same integer; sc_time::from_value says so too, at the price of a call into the library for every packet.
inline sc_core::sc_time to_delay(Time time) {
  static_assert(sizeof(sc_core::sc_time) == sizeof(std::int64_t));
  sc_core::sc_time delay;
  const std::int64_t count = time.count();
  std::memcpy(static_cast<void*>(&delay), &count, sizeof count);
  return delay;
}

inline Time from_delay(const sc_core::sc_time& delay) {
  return Time(static_cast<std::int64_t>(delay.value()));
}

}  // namespace weft
