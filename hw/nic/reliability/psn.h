// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::nic {

/// Packet sequence numbers go round (InfiniBand Architecture volume 1, 9.7.2). Queue pairs count with 32 bits, of which
/// the wire carries 24.
constexpr int kPsnBits = 24;
constexpr std::uint32_t kPsnMask = (1U << kPsnBits) - 1;

/// Unacknowledged packets of a queue pair that recovers. Half of what InfiniBand allows: a packet that has been
/// overtaken by as many is still an old one.
constexpr std::uint32_t kMostOutstanding = 1U << (kPsnBits - 2);

/// Whether `a` comes before `b` on the shorter way.
constexpr bool before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}

/// What a queue pair counted when it sent the 24 bits of `psn`: the number with these bits that is nearest to `near`.
constexpr std::uint32_t whole_psn(std::uint32_t psn, std::uint32_t near) {
  constexpr int kAbove = 32 - kPsnBits;
  return near + static_cast<std::uint32_t>(static_cast<std::int32_t>((psn - near) << kAbove) >> kAbove);
}

}  // namespace weft::nic
