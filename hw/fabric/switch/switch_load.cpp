// SPDX-License-Identifier: Apache-2.0
// In-band telemetry: the load of a switch's outputs, of which each packet keeps the largest that it has met.
#include <algorithm>

#include "hw/core/path_load.h"
#include "hw/fabric/switch/switch.h"

namespace weft::fabric {

/// A packet leaves by an output. The load is what PINT has switches compute for HPCC (Ben Basat et al., SIGCOMM 2020,
/// section 4.3, example 2): with the time t since the packet before, at most the window T, of a link of rate B and with
/// q bytes waiting for it,
///
///     U = (T - t) / T * U + q * t / (B * T * T) + bytes / (B * T)
void Switch::note_load(Time now, std::uint32_t index, Packet& packet) {
  if (packet.destination >= Packet::kFirstGroup) return;  // `tree` has another meaning there
  Load& load = loads_[index];
  constexpr double kBitPicoseconds = 8e12;
  const auto window = static_cast<double>(config_.load_window.count());
  const double carried = static_cast<double>(transmitters_[index].rate().count()) / kBitPicoseconds * window;
  const double passed = std::min(1.0, static_cast<double>((now - load.at).count()) / window);
  load.share = (1 - passed) * load.share +
               (static_cast<double>(outputs_[index].waiting_bytes) * passed + packet.wire_bytes) / carried;
  load.at = now;
  packet.tree = std::max(packet.tree, load_code(load.share));
}

}  // namespace weft::fabric
