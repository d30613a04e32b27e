// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/fabric/fabric_config.h"
#include "hw/fabric/topology/topology.h"

namespace weft::fabric {

class Plan;

/// How long a link's credit is away, and the input buffer that keeps the link busy meanwhile.
///
/// A switch takes the credit of a packet when its arbiter chooses it, `latency` before the first byte leaves. The first
/// byte arrives after `propagation`. The next switch chooses the packet at once if its output is free, and sends its
/// last byte after its own `latency` and the packet's time on the wire S; then the input buffer is free, and the news
/// of that takes `propagation` again. So the credit is away for
///
///     switches x latency + 2 x propagation + S
///
/// where `switches`, 2 or 1, is how many of the link's ends are switches: a network interface takes credit when it
/// sends, and gives it back when its DMA has the packet, which an interface that keeps up with the link does within
/// another S. A buffer holds whole packets, n of them; the sender has n x S to send in the time that the first one's
/// credit is away. Between two switches, and from an interface to one, the link carries exactly this share of its rate:
///
///     n S / (switches x latency + 2 x propagation + S), if that is below 1
///
/// A link is full when its buffer holds rate times the time away and one packet more, since what is left of the buffer
/// can be less than a packet. `needed` has room for one more, the DMA's.
///
/// Of a segment of several MTUs, whose packets take and give back their credit one by one, `held` is taken at once.
/// With T the time away without S and B the buffer's time at the link's rate, packets of an MTU carry B / T of the
/// rate. Segments of S carry the same, n S / (T + S), if each takes S T / (T + S) of the buffer: in a short loop what
/// is on its way, in a long one all of it. No more than three go into a buffer.
///
/// With priority flow control a receiver that lets its sender go on still has its private buffer full, which must last
/// until the next packet comes: the pause frame behind a packet that is being sent, the way back, `pause_response`, the
/// sender's choice, and the way here. That is the same time with `pause_response` added. Links that lose are no
/// sender's concern; they get the same.
struct CreditLoop {
  Time away;     ///< as above
  Bytes packet;  ///< wire bytes of a whole segment
  Bytes needed;  ///< buffer of a lane that keeps the link busy

  /// Of a link of the network of which so many ends are switches.
  CreditLoop(const FabricConfig& network, const LinkConfig& link, int switches);

  /// What a whole segment takes of the link's buffer at the most.
  [[nodiscard]] Bytes held(const LinkConfig& link) const;
  /// The part of its rate that the link can carry of whole segments in one lane, 1 at the most. Without credits 1.
  [[nodiscard]] double share(const LinkConfig& link) const;
};

/// Gives each link whose `buffer` is 0 the `needed` of its credit loop, LinkConfig::kLeastBuffer at the least. The one
/// between switches counts where a link occurs in both places. Where segments are longer than the MTU, each link gets
/// its `most_held`.
///
/// A router of a network with coordinates that has one end is a part of that end: its outputs are the end's own ports.
/// What the end has for a port that is busy must not stand before what it has for others, so the end's link has
/// LinkConfig::kSendQueue for each slower output.
void fit_buffers(Topology& topology, const FabricConfig& network);

/// What arrives at any input of a switch with such links after it has asked for silence (IEEE 802.1Qbb annex O): what
/// is on the wire both ways, what the sender answers in and has chosen already, the pause frame and the packet before
/// it, and the packet that was too much. At the least SharedBuffer::kLeastHeadroom.
[[nodiscard]] Bytes fitting_headroom(const FabricConfig& network, const std::vector<LinkConfig>& links);

/// Where a link stands below its network's place in the platform, which is number `link` of Topology::links:
/// "edges.2.link", "link".
[[nodiscard]] std::string path_of_link(std::uint32_t link, const FabricConfig& network);

/// Links of one kind, whose buffer cannot keep them busy.
struct StarvedLinks {
  std::string name;       ///< of the first one, "leaf0 - spine0"
  std::size_t count = 0;  ///< of links, both directions as one
  std::string path;       ///< of the buffer below the network's place in the platform, "edges.2.link.buffer"
  LinkConfig link;
  double share = 1;  ///< as CreditLoop::share
  Bytes needed;
};

/// All kinds, worst first. A kind is what `name` starves alike: rate, length, buffer, and whether both ends are
/// switches.
[[nodiscard]] std::vector<StarvedLinks> find_starved(const Topology& topology, const FabricConfig& network);

/// The same for people: a line for each of the five worst kinds, and one with the number of the others. `path` is the
/// network's place in the platform.
[[nodiscard]] std::vector<std::string> describe_starved(const Plan& plan);

}  // namespace weft::fabric
