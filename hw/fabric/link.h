// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/fifo.h"
#include "hw/core/power.h"
#include "hw/core/stall.h"
#include "hw/fabric/fault.h"
#include "hw/fabric/protocol.h"

namespace weft {
class Waves;
}  // namespace weft

namespace weft::fabric {

class LinkWaves;
class Planes;

/// What keeps a sender from overrunning the receiver's buffer. `credits`: it knows the free space of each lane
/// (InfiniBand Architecture volume 1, 7.9). `pfc`: the receiver tells it to pause a lane (IEEE 802.1Qbb). `lossy`:
/// nothing; what does not fit is dropped.
enum class FlowControl : std::uint8_t { kCredits, kPfc, kLossy };
inline EnumNames<FlowControl> enum_names(FlowControl /*tag*/) {
  return {{"credits", FlowControl::kCredits}, {"pfc", FlowControl::kPfc}, {"lossy", FlowControl::kLossy}};
}

/// What a link draws. Transceivers draw the same whether bits pass or not; drivers of short wires draw by the bit.
struct LinkPower {
  Energy bit;
  Power idle;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("bit", bit, "Energy of a bit on the wire, of sender and receiver together");
    visit("idle", idle, "Power that the transceiver at each end draws all the time");
  }
};

/// One direction of a link.
///
/// A `buffer` of 0 is one that nobody has set: it follows from the link's rate and length in its network, so that the
/// link can be full (CreditLoop, hw/fabric/credit_loop.h), and is never below kLeastBuffer, which absorbs contention.
struct LinkConfig {
  static constexpr int kMostLanes = 8;
  static constexpr Bytes kLeastBuffer = Bytes(256 << 10);
  /// Of a port of an end with several: the turn of a queue pair that is being sent (nic.turn), and the next one.
  static constexpr Bytes kSendQueue = Bytes(128 << 10);

  Rate rate = Rate(400'000'000'000);
  Time propagation = Time(10'000);
  int lanes = 2;
  Bytes buffer;
  Bytes shared;
  FlowControl flow_control = FlowControl::kCredits;
  Time pause_response;
  bool replay = false;
  Bytes replay_unit;
  LinkPower power;
  Bytes most_held;  ///< of the buffer, by a packet (see Transmitter); 0: all that it has. Follows from the network

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("rate", rate, "Bits per second in each direction, after line coding",
          Range{1'000'000, 1'000'000'000'000'000});
    visit("propagation", propagation, "Time of flight, with the transceivers at both ends",
          Range{0, 10'000'000'000'000});
    visit("lanes", lanes, "Virtual lanes, each with a buffer and credits of its own", Range{1, kMostLanes});
    visit("buffer", buffer,
          "Input buffer of each lane at the receiving end, not shared; 0B: what keeps the link busy for a round trip, "
          "at least 256KiB",
          Range{0, 1LL << 40});
    visit("shared", shared, "credits: additional input buffer for lanes that have filled their own",
          Range{0, 1LL << 40});
    visit("flow_control", flow_control, "What keeps the sender from overrunning the buffer");
    visit("pause_response", pause_response, "pfc: from the arrival of a pause until no new packet starts",
          Range{0, 1'000'000'000});
    visit("replay", replay,
          "The link sends a damaged packet again; false: the packet is lost, and the transport must recover it");
    visit("replay_unit", replay_unit,
          "replay: what carries a check of its own and is sent again, such as a flit; 0B: the packet (`segment`)",
          Range{0, 65536});
    visit("power", power, "Power and energy");
  }
};

/// The sending half of a link: serialiser, virtual lanes with credits, wire. Part of whoever sends (a switch has one
/// for each port), not a module: it is the innermost loop of the simulator.
///
/// Credits are bytes of the receiver's buffer of a lane (InfiniBand Architecture volume 1, 7.9, which counts them in
/// 64-byte blocks; here they are counted exactly). A credit that is on its way is a time in a ring; it costs an event
/// only when the owner waits for it. Where lanes share a part of the buffer, the sender keeps its accounts, as with the
/// shared credits of PCI Express 6.0 (2.6.1): a lane takes from it what its own buffer cannot hold, and what comes back
/// goes there first.
///
/// A segment stands for packets of an MTU that follow each other, which take credit one by one as it comes back. So it
/// takes no more than `most_held` at once (fit_buffers), where the buffer that a link needs would otherwise grow with
/// the segment. Packets of an MTU take what they have.
///
/// Packets that follow each other without a pause have the link's rate exactly: what rounding to the picosecond leaves
/// of one is carried to the next.
///
/// With priority flow control there are no credits: a lane stops and goes on when the receiver says so. Faults damage
/// packets, stop the link or slow it down (see Fault). A link that replays sends from the damaged packet, or flit, on
/// again when its refusal has come back (go-back-N).
///
/// What it leaves out: flow-control packets' own share of the wire (below 1 %).
class alignas(64) Transmitter final : public Backward {
 public:
  struct Counters {
    std::int64_t packets = 0;
    std::int64_t wire_bytes = 0;
    std::int64_t payload_bytes = 0;
  };
  /// Kept apart, since they are rare.
  struct Events {
    std::int64_t damaged = 0;   ///< packets that arrived so
    std::int64_t replayed = 0;  ///< times that the link sent a packet, or from a flit on, again
    std::int64_t paused = 0;    ///< pauses that arrived
  };

  /// `socket` is the owner's; `owner` gets an event `tag` when a credit that it waits for arrives. A buffer of 0 is
  /// kLeastBuffer here: only a network knows what is at both ends.
  Transmitter(Dispatcher& dispatcher, const LinkConfig& config, const EventTarget& owner, std::uint32_t tag,
              const Stall::Config& stall, const std::string& name);
  ~Transmitter() override;

  /// Sends to another switch of the same network, without a socket.
  void join(ForwardCall& receiver) { peer_ = &receiver; }
  /// Binds this end to a socket and finds its peer; call `resolve` when elaboration has ended.
  void bind(InitiatorSocket& socket) { socket.bind(*this); }
  void resolve(InitiatorSocket& socket) { peer_ = socket.operator->(); }

  /// When the serialiser will have sent all that it accepted.
  [[nodiscard]] Time free_at() const { return free_at_; }

  /// The earliest time, not before `now`, at which a packet of this size may be sent on its lane as far as credits,
  /// pauses and faults go; kNever when that depends on what the receiver has not said yet.
  Time credit_at(int lane, std::int64_t wire_bytes, Time now) {
    return may_send(lane, wire_bytes) ? now : later_credit_at(lane, wire_bytes, now);
  }
  /// Whether it is clear that a packet of this size, or of a smaller one, may be sent on its lane now.
  [[nodiscard]] bool may_send(int lane, std::int64_t wire_bytes) {
    if (disturbed_) [[unlikely]]
      return false;
    const Lane& mine = this->lane(lane);
    const std::int64_t held = held_by(wire_bytes);
    if (credits_) [[likely]]
      return mine.available >= held || (shares_ && room(mine) >= held);
    return mine.rare == nullptr || (!mine.rare->paused && mine.rare->pauses.empty());
  }

  /// Asks for an event to the owner at the arrival of the next credit of whatever lane.
  void wait_for_credit() { waiting_ = true; }

  /// Lets `fault` happen to this direction. Before the run.
  void add_fault(const Fault& fault);
  /// Packets take longer by what is down in the planes of its network, which outlive this. Before the run.
  void spread_over(const Planes& planes);
  /// The outages of planes that packets have been sent longer for, as Planes::causes has them.
  [[nodiscard]] std::uint64_t planes_missed() const { return extra_ == nullptr ? 0 : extra_->planes_missed; }
  /// What its faults are called.
  [[nodiscard]] std::vector<std::string> fault_names() const;
  [[nodiscard]] bool down_at(Time at) const { return disturbed_ && extra_->faults->up_at(at) != at; }

  /// Sends a packet that has credit. Its first byte is ready at `ready`, its last byte `packet.tail_lag_ps` later; a
  /// packet that arrives more slowly than it can leave is held until it cannot run dry. Returns when the last byte has
  /// left.
  Time send(Packet& packet, Time ready);

  /// Tells what its pins would show (LinkWaves), if anybody wants that. Before the run.
  void record(Waves& waves, const std::string& scope);

  /// The name of this link for Causes, if they are kept.
  [[nodiscard]] CausePlace place() const { return place_; }
  /// Where the critical path is kept: the next event waits for credit until `at`. The last part of that is what the
  /// receiver did with the room, as far as it said so (Causes::set_holder).
  void mark_credit(Time at) const;
  [[nodiscard]] const ForwardCall* peer() const { return peer_; }
  void prefetch() const {
    __builtin_prefetch(this);
    __builtin_prefetch(&first_lane_);
  }

  [[nodiscard]] Counters counters(int lane) const {
    if (lane == 0) return first_lane_.counters;
    return other_lanes_ == nullptr ? Counters{} : other_lanes_[static_cast<std::size_t>(lane - 1)].counters;
  }
  /// Of all lanes.
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] Events events() const { return extra_ == nullptr ? Events{} : extra_->events; }
  /// How long the serialiser has been sending, at the rate that it had, again included.
  [[nodiscard]] Time busy() const {
    return byte_time_(counters().wire_bytes) + (extra_ == nullptr ? Time() : extra_->longer);
  }
  [[nodiscard]] Rate rate() const { return rate_; }
  /// The share of its rate that it had on average while it was sending: less with faults, and where it sends again.
  [[nodiscard]] double rate_had() const {
    const Time undisturbed = byte_time_(counters().wire_bytes);
    return undisturbed == Time() ? 1 : static_cast<double>(undisturbed.count()) / static_cast<double>(busy().count());
  }
  [[nodiscard]] Time propagation() const { return propagation_; }
  /// Of a lane, at the receiver.
  [[nodiscard]] std::int64_t buffer() const { return buffer_; }
  /// How long it takes to send so much.
  [[nodiscard]] Time length(std::uint32_t wire_bytes) const { return byte_time_(wire_bytes); }
  /// Bytes of the receiver's buffers that it has not given back. Only when nothing moves any more: takes what is on the
  /// way.
  [[nodiscard]] std::int64_t credit_missing();
  [[nodiscard]] bool waiting() const { return waiting_; }

  tlm::tlm_sync_enum nb_transport_bw(Packet& packet, Phase& phase, sc_core::sc_time& delay) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}

 private:
#pragma pack(push, 4)
  struct Credit {
    std::int64_t time;
    std::uint32_t bytes;
  };
#pragma pack(pop)
  struct Transition {
    Time at;
    bool paused = false;
  };
  /// Of a lane, what most have no use for.
  struct Rare {
    Fifo<Credit> credits;  ///< by time, all later than those in the lane itself
    bool paused = false;
    Fifo<Transition> pauses;  ///< that are on their way
  };
  /// One lane: its credits, those here and those known to come by time, and its counters. What has come is taken out
  /// when it is needed or when the list is full, so that a lane mostly stays within its first cache line.
  struct alignas(64) Lane {
    static constexpr std::uint32_t kNear = 7;
    std::int64_t available = 0;  ///< below 0 by what the lane holds of the shared buffer
    Counters counters;
    std::uint32_t count = 0;
    std::array<Credit, kNear> coming;
    std::unique_ptr<Rare> rare;  ///< with priority flow control, or once more credits were on their way
  };
  static_assert(sizeof(Lane) == 128);

  /// What most links have no use for.
  struct alignas(64) Extra {
    Why holder;                          ///< what whoever gave the latest credit back had it for
    Time held;                           ///< and how long still
    std::unique_ptr<LinkFaults> faults;  ///< of one that is disturbed
    const Planes* planes = nullptr;
    std::uint64_t planes_missed = 0;
    std::unique_ptr<LinkWaves> waves;
    Stall stall;
    Time pause_response;
    bool replay = false;
    std::int64_t replay_unit = 0;  ///< 0: a packet
    std::int64_t shared = 0;       ///< of the buffer, between all lanes
    std::int64_t shared_free = 0;  ///< of that, as far as credits have been taken out of the lanes
    Events events;
    Time late;    ///< of the latest packet's flight, beyond the propagation
    Time tail;    ///< when its last byte is there
    Time longer;  ///< for which it has sent more than at its rate and once
  };

  Lane& lane(int index) {
    if (index == 0) return first_lane_;
    if (other_lanes_ == nullptr) [[unlikely]]
      make_lanes();
    return other_lanes_[static_cast<std::size_t>(index - 1)];
  }
  /// The others than the first, all at once when the first packet or pause asks for one.
  void make_lanes();
  /// How many there are by now.
  [[nodiscard]] int made_lanes() const {
    return other_lanes_ == nullptr ? 1 : lanes_;
  }
  Extra& extra();
  LinkFaults& disturb();
  Time later_credit_at(int lane, std::int64_t wire_bytes, Time now);
  Time shared_credit_at(int lane, std::int64_t held, Time now);
  [[nodiscard]] bool another_borrows(const Lane& than) const {
    return extra_->shared - extra_->shared_free > std::max<std::int64_t>(-than.available, 0);
  }
  /// Bytes that a lane may send, as far as credits have been taken out of the lanes.
  [[nodiscard]] std::int64_t room(const Lane& lane) const {
    return std::max<std::int64_t>(lane.available, 0) + (shares_ ? extra_->shared_free : 0);
  }
  /// What a packet takes of the receiver's buffer.
  [[nodiscard]] std::int64_t held_by(std::int64_t wire_bytes) const {
    return std::min<std::int64_t>(wire_bytes, most_held_);
  }
  void push(Lane& lane, Credit credit, std::int64_t now);
  void collect(Lane& lane, std::int64_t now);
  void take(Lane& lane, std::int64_t bytes) {
    lane.available += bytes;
    if (lane.available < bytes) extra_->shared_free += std::min(bytes, bytes - lane.available);
  }
  static Time pause_over(Rare& rare, Time now);
  void spread(const Packet& packet, Time head, Time& length);
  Time send_disturbed(Packet& packet, Time head, Time& length);
  void wake(Time at);

  // What every packet touches comes first.
  Time free_at_;
  ByteTime byte_time_;
  Time propagation_;
  ForwardCall* peer_ = nullptr;
  Dispatcher& dispatcher_;
  std::uint32_t tag_;
  ByteTime::Rest rest_ = 0;  ///< of free_at_
  std::uint32_t most_held_;  ///< by a packet
  bool waiting_ : 1 = false;
  bool stalls_ : 1;
  bool credits_ : 1;
  bool records_ : 1 = false;
  bool disturbed_ : 1 = false;  ///< it has faults
  bool shares_ : 1;             ///< lanes share a part of the buffer
  std::uint8_t lanes_;
  // With the table of calls before them.
  static_assert(3 * sizeof(void*) + 2 * sizeof(Time) + sizeof(ByteTime) + 2 * sizeof(std::uint32_t) +
                    sizeof(ByteTime::Rest) + 2 * sizeof(std::uint8_t) <=
                64);
  Lane first_lane_;  // right here, since most traffic uses it
  std::unique_ptr<Lane[]> other_lanes_;
  std::unique_ptr<Extra> extra_;
  CausePlace place_ = 0;  ///< where causes are kept
  const EventTarget& owner_;
  Rate rate_;
  std::int64_t buffer_;
  Random random_;  ///< of faults
};

}  // namespace weft::fabric
