// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/receive_room.h"

#include <algorithm>

namespace weft::nic {
namespace {

using fabric::Phase;
using fabric::SharedBuffer;

SharedBuffer::Config boundless(SharedBuffer::Config config) {
  config.shared = Bytes();
  config.headroom = Bytes(std::int64_t{1} << 40);
  return config;
}

}  // namespace

ReceiveRoom::ReceiveRoom(Dispatcher& dispatcher, const fabric::FabricConfig& network, const fabric::Transmitter& out,
                         const std::string& name)
    : dispatcher_(dispatcher),
      out_(out),
      buffer_(boundless(network.switch_config.buffer),
              {std::max(network.link.buffer, fabric::LinkConfig::kLeastBuffer).count()}, true,
              static_cast<std::size_t>(network.link.lanes)) {
  dispatcher.attach(*this, name);
}

void ReceiveRoom::take(Time now, const Packet& packet) {
  if ((packet.flags & Packet::kLoopback) != 0) return;  // it has not come by the link
  collect(now);
  if (buffer_.admit(0, packet.lane, packet.wire_bytes) != SharedBuffer::Verdict::kTakenPause) return;
  tell(now, packet.lane, Phase::kPause);
  buffer_.look_again(0, packet.lane, now, [this](Time at) { dispatcher_.post(at, *this, 0); });
}

tlm::tlm_sync_enum ReceiveRoom::nb_transport_bw(Packet& packet, Phase& /*phase*/, sc_core::sc_time& delay) {
  buffer_.leave(0, packet.lane, packet.wire_bytes, dispatcher_.now() + from_delay(delay),
                [this](Time at) { dispatcher_.post(at, *this, 0); });
  return tlm::TLM_ACCEPTED;
}

void ReceiveRoom::on_event(Time now, std::uint32_t /*tag*/, std::uint64_t /*data*/) {
  collect(now);
}

void ReceiveRoom::collect(Time now) {
  buffer_.collect(now, [this, now](std::size_t /*input*/, std::size_t lane) {
    tell(now, static_cast<std::uint8_t>(lane), Phase::kResume);
  });
}

void ReceiveRoom::tell(Time now, std::uint8_t lane, Phase phase) {
  constexpr std::uint32_t kFrame = 64;  // IEEE 802.3 annex 31B
  notice_.lane = lane;
  // The frame goes before all that waits, but after what is being sent.
  sc_core::sc_time delay = to_delay(std::max(now, out_.free_at()) - now + out_.length(kFrame));
  sender_->nb_transport_bw(notice_, phase, delay);
}

}  // namespace weft::nic
