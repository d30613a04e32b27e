// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::fabric {

/// Event tags of a Switch. Arrivals by port come before arbitration by output at the same picosecond, so that an
/// arbiter sees all that came.
inline constexpr std::uint32_t kEnter = 0x4000;      // by port: what waited for the first stage, or to come in
inline constexpr std::uint32_t kCollect = 0x8000;    // buffer space is free
inline constexpr std::uint32_t kEmit = 0x8001;       // a sum is ready
inline constexpr std::uint32_t kReroute = 0x8002;    // other routes hold
inline constexpr std::uint32_t kEmitWhole = 0x8003;  // a sum has come out of RTL, whole
inline constexpr std::uint32_t kServe = 0x10000;

}  // namespace weft::fabric
