// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/fifo.h"
#include "hw/core/packet.h"
#include "hw/core/quantity.h"

namespace weft::nic {

/// A packet whose payload is read ahead of its turn.
struct Fetched {
  Packet* packet = nullptr;
  Time ready;  ///< when its first bytes are here; kNever until memory has said so
  std::uint32_t wire_bytes = 0;
  std::uint32_t queue_pair = 0;  ///< here
};

/// What leaves an interface over its link, or back to itself. The two wait for nothing of each other.
struct WayOut {
  Fifo<Fetched> fetched;     ///< read ahead, in the order of sending
  Fifo<std::uint32_t> ring;  ///< queue pairs with something to cut; the first one has its turn
  Fifo<Packet*> control;     ///< acknowledgements, which go first
  std::int64_t bytes = 0;    ///< of what is fetched
  std::int64_t turn = 0;     ///< bytes that have been cut in this turn
};

}  // namespace weft::nic
