// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "hw/nic/uet/path_selector.h"

namespace weft::nic {

/// What carries the messages of queue pairs. `roce`: the packets of a queue pair keep one path and one order. `uet`:
/// each takes a path of its own and is placed in memory as it comes (Unordered).
enum class Transport : std::uint8_t { kRoce, kUet };
inline EnumNames<Transport> enum_names(Transport /*tag*/) {
  return {{"roce", Transport::kRoce}, {"uet", Transport::kUet}};
}

/// What Ultra Ethernet has beside the fields of any transport.
struct UetConfig {
  PathSelectorName spray;
  int paths = 128;
  Bytes ack_every = Bytes(16 << 10);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    const std::string selectors = names_for<PathSelection>().doc();
    visit("spray", spray, selectors);
    visit("paths", paths,
          "Entropy values among which a queue pair chooses for each packet; 1: all packets take one path",
          Range{1, 1 << Packet::kEntropyBits});
    visit("ack_every", ack_every,
          "Wire bytes after which a receiver acknowledges. Packets that are marked, repeated, the last of a message or "
          "the last that a window allows are acknowledged at once",
          Range{0, 1 << 30});
  }
};

}  // namespace weft::nic
