// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/packet.h"
#include "hw/core/quantity.h"
#include "hw/nic/nic.h"

namespace weft::nic {

/// Which contexts of queue pairs an interface holds: those used last, whatever their numbers (fully associative, least
/// recently used goes first). Every use takes the same few operations.
class ContextCache {
 public:
  /// `entries` is at least 1.
  explicit ContextCache(int entries) : free_(entries) {}

  /// Uses the context of a queue pair, and returns whether it was here. If not it is from now on.
  bool use(std::uint32_t number);

 private:
  struct Place {  ///< in the ring of those that are here, by use; [0] is between the latest and the earliest
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    bool here = false;
  };
  void take_out(std::uint32_t place);

  std::vector<Place> places_ = std::vector<Place>(1);  // by number + 1
  int free_;
};

/// What an interface needs whose contexts can miss.
struct Nic::Contexts {
  struct Pair {
    Packet* first = nullptr;  ///< packets that came for it, linked by `next`
    Packet* last = nullptr;
    bool coming = false;   ///< its context is being read
    bool sending = false;  ///< its turn to send has come meanwhile
    bool granted = false;  ///< has come for that turn, which it is kept for
  };
  explicit Contexts(int entries) : cache(entries) {}

  Pair& of(std::uint32_t number) {
    if (pairs.size() <= number) pairs.resize(number + 1);
    return pairs[number];
  }

  ContextCache cache;
  std::vector<Pair> pairs;
};

}  // namespace weft::nic
