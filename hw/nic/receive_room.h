// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "hw/core/dispatcher.h"
#include "hw/core/packet.h"
#include "hw/fabric/link.h"
#include "hw/fabric/protocol.h"
#include "hw/fabric/switch/shared_buffer.h"

namespace weft::nic {

/// The input buffer of an interface on links that pause (IEEE 802.1Qbb): packets that have come and have not crossed
/// the host link. A lane that has filled `link.buffer`, and at least 256 KiB, pauses its switch until it is
/// `switch.buffer.resume` below that: a host that is slower than its network fills the switch's buffers, and stops
/// others there. What arrives until a pause takes effect always finds room.
///
/// It stands between an interface, which gives back buffer space as it does with credits, and the link's sender, which
/// asks for none.
class ReceiveRoom final : public fabric::BackwardCall, public EventTarget {
 public:
  /// Pauses leave by `out`, between the interface's packets.
  ReceiveRoom(Dispatcher& dispatcher, const fabric::FabricConfig& network, const fabric::Transmitter& out,
              const std::string& name);
  void bind(fabric::BackwardCall& sender) { sender_ = &sender; }

  void take(Time now, const Packet& packet);
  /// The interface gives a packet's space back.
  tlm::tlm_sync_enum nb_transport_bw(Packet& packet, fabric::Phase& phase, sc_core::sc_time& delay) override;
  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t /*tag*/) const override { return CauseKind::kHostLink; }

 private:
  void collect(Time now);
  void tell(Time now, std::uint8_t lane, fabric::Phase phase);

  Dispatcher& dispatcher_;
  const fabric::Transmitter& out_;
  fabric::BackwardCall* sender_ = nullptr;
  fabric::SharedBuffer buffer_;
  Packet notice_;
};

}  // namespace weft::nic
