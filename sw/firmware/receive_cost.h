// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sw/firmware/core.h"

namespace weft::firmware {

/// What a receive loop does for each completion, from reading it to posting its receive again, and for each chunk of a
/// coarser bitmap that becomes whole.
///
/// Instructions of the first two are counted on the hardware (Khalilov et al., SC24); their accesses are not. They are
/// the whole numbers that give the measured 598 and 1084 cycles at one latency: completion, its doorbell record, bitmap
/// (read and written) and the receive queue's record and doorbell make 6; the copy's work request and its doorbell 5
/// more.
struct ReceiveCost {
  Work packet = {};
  Work chunk = {};        ///< for each chunk of the coarser bitmap
  int chunk_packets = 0;  ///< 0: there is none
};

/// An unreliable connection: the interface has placed the data.
constexpr ReceiveCost kConnectionReceive = {.packet = {.instructions = 66, .accesses = 6}};
/// Datagrams: the loop also posts the copy from the staging ring to its place.
constexpr ReceiveCost kDatagramReceive = {.packet = {.instructions = 113, .accesses = 11}};
/// The software-defined reliability of SDR-RDMA: bitmaps by packet and by chunk. Fitted to two measured rates, of 1 and
/// of 16 packets in a chunk, with about the mix of the connection path.
constexpr ReceiveCost bitmap_receive(int chunk_packets) {
  return {.packet = {.instructions = 151, .accesses = 12},
          .chunk = {.instructions = 96, .accesses = 7},
          .chunk_packets = chunk_packets};
}

}  // namespace weft::firmware
