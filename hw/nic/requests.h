// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/quantity.h"
#include "hw/nic/work.h"

/// Work requests as a queue pair keeps them. Part of Nic.
namespace weft::nic {

/// One that has been posted and is not acknowledged.
struct Job {
  WorkRequest request;
  std::uint64_t cut = 0;        ///< bytes that have left
  bool answered = false;        ///< a read whose last response has come
  bool visible = false;         ///< and lies in memory, or is known when it will
  bool sent = false;            ///< its last packet, once at the least
  bool is_direct = false;       ///< went to its neighbour without a packet
  std::uint32_t first_psn = 0;  ///< of its first packet
  std::uint32_t packets = 0;    ///< 0 before the first has been cut
  std::uint32_t received = 0;   ///< bytes of a read's answer, without gaps
};

/// What is left of equal receives.
struct Receive {
  std::uint64_t id = 0;
  std::uint64_t local_address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stride = 0;
  Time from;  ///< when the doorbell has come
  std::uint32_t count = 0;

  Receive() = default;
  Receive(const WorkRequest& request, Time at)
      : id(request.id),
        local_address(request.local_address),
        bytes(request.bytes),
        stride(request.stride),
        from(at),
        count(request.count) {}
};

/// A read that this end answers.
struct Response {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t cut = 0;
  std::uint32_t psn = 0;
  bool repeated = false;
  bool refused = false;  ///< not a read: the answer, in its turn, to a request without the right key
};

}  // namespace weft::nic
