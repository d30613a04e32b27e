// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "hw/core/fifo.h"
#include "hw/nic/nic.h"
#include "hw/nic/uet/path_selector.h"

namespace weft::nic {

/// Ultra Ethernet in place of RoCE: what each queue pair needs to send over many paths and to take packets in any order
/// (Ultra Ethernet Specification 1.0, 3.5 and 3.6: reliable unordered delivery, packet delivery contexts that never
/// close). Verbs above it are the same.
///
/// Sending (sender.cpp): each packet has an entropy value of the queue pair's PathSelector. What has left is remembered
/// until it is acknowledged. A packet is sent again when its receiver says that a switch has cut it, when `ack_timeout`
/// has passed, or when it was overtaken: one that left `reorder_wait` later has come, or any that left later and
/// `reorder_wait` and a round trip have passed (RACK, RFC 8985, 6.2 and 6.3). If nothing that left later has come, the
/// oldest is sent again when nothing was heard for `reorder_wait` and two round trips, six times as soon and then each
/// in twice that time, up to `ack_timeout` (tail loss probe, RFC 8985, 7): its acknowledgement tells of the others.
///
/// Receiving (receiver.cpp): a packet is written to memory where it belongs as it comes: a write names its place, a
/// send names the receive that it takes and its offset. Messages complete in their order, each when all its packets
/// and all before have come. An acknowledgement names the latest packet that came, with its mark, what has come
/// without gaps, and what of the next 40 packets or further ahead.
///
/// Reads: requests are served in their turn. Answers are placed as they come, and those that are cut or missing are
/// asked for by ranges.
///
/// Credits (credits.cpp): with a scheme that grants, a queue pair sends no more than its receiver has given it credit
/// for. After a rest it sends what the link carries in a round trip without credit, until a packet is cut. A receiver
/// gives credit at the rate of its link, in turn to all that want some. Requests for credit and credit may be lost. A
/// queue pair that waits for credit asks once more after `reorder_wait` and two round trips, but no earlier than in
/// twice the longest time that credit took, for receivers may have many to serve, and where that is not known in four
/// times as long; and again in twice that time, up to `ack_timeout`: like the tail loss probe above. The consortium's
/// simulator repeats its request, too, at most once in a round trip (sendRTS() of htsim/sim/uec.cpp). Credit that comes
/// is progress.
struct Nic::Uet {
  /// Packets of a queue pair that may be under way.
  static constexpr std::uint32_t kMostOutstanding = 1U << 15;
  /// Of an acknowledgement's address: on top by how much the furthest packet that it tells of lies beyond what has come
  /// without gaps; then by how much that or this lies beyond the latest packet, of which it tells mark and wait; and a
  /// bit for each packet from the furthest one down.
  static constexpr int kBeyondShift = 48;
  static constexpr int kSackBits = 40;
  static constexpr std::uint32_t kNoLatest = 255;

  enum class State : std::uint8_t { kOut, kHere, kLost };
  struct Sent {
    Time cut;
    Time left = kNever;  ///< the latest time; kNever: it is read ahead
    std::uint32_t wire_bytes = 0;
    std::uint16_t entropy = 0;
    State state = State::kOut;
    /// How often it was sent again although it may have come. An acknowledgement may be for any of them (Karn 1987),
    /// and says whether it is for the first.
    std::uint8_t doubts = 0;
  };
  struct Left {
    std::uint32_t psn;
    Time left;
  };
  /// Bytes of a read that are asked for again.
  struct Piece {
    std::uint32_t psn;
    std::uint32_t from;
    std::uint32_t to;
  };
  struct Answer {
    std::vector<bool> here;  ///< by segments
    std::size_t missing = 0;
    Time visible;
  };
  /// What has come ahead of its turn, of which the bytes are in memory.
  struct Came {
    Time visible;
    std::uint64_t address = 0;  ///< of a read
    std::uint32_t bytes = 0;
    std::uint32_t immediate = 0;
    Opcode opcode = Opcode::kWrite;
    std::uint8_t flags = 0;
    bool here = false;
  };
  struct Flow {
    // As requester
    std::unique_ptr<PathSelector> paths;
    Fifo<Sent> sent;           ///< from the first that is not acknowledged on
    Fifo<Left> order;          ///< in which they have left, those not acknowledged and some that are
    Fifo<std::uint32_t> lost;  ///< to leave again
    Fifo<Piece> wanted;        ///< likewise
    std::map<std::uint32_t, Answer> reads;
    Time progress;
    Time jitter;
    Time round_trip;           ///< the latest; 0s: none yet
    Time in_sender;            ///< of the same packet
    Time newest = Time(-1);    ///< when the latest of those that have come had left
    Time heard;                ///< when something left or an acknowledgement came, the latest time
    Time look_at = kNever;     ///< for packets that were overtaken
    std::uint32_t probes = 0;  ///< since the latest progress
    std::uint32_t retries = 0;
    std::uint32_t asked = 0;   ///< the latest packet that is acknowledged at once
    std::uint16_t taking = 0;  ///< messages so far that take a receive
    bool timer = false;
    // As responder
    Fifo<Came> came;                  ///< from the first that has not on
    std::uint32_t turn = 0;           ///< of acknowledgements, by entropy
    std::int64_t unacknowledged = 0;  ///< bytes since the latest acknowledgement
    std::uint32_t lowest = 0;         ///< of these
    std::uint32_t highest = 0;
    std::uint32_t cut = 0;    ///< packets of which headers came, and which have not come again
    std::uint16_t taken = 0;  ///< receives
    Time visible;             ///< of the message that is next
    // Credits, in bytes since the beginning
    struct Credits {
      std::int64_t sent = 0;
      std::int64_t unasked = 0;  ///< that may go without credit
      std::int64_t backlog = 0;  ///< of what is posted
      std::int64_t cut = 0;      ///< by switches, as the receiver has said
      std::int64_t told = 0;
      std::int64_t granted = 0;
      bool blocked = false;
      Time asked;  ///< or since when it is blocked, or when credit came, the latest
      Time took;  ///< the longest for credit to come, but for the first; what repeated requests took is not known (Karn
                  ///< 1987)
      std::uint32_t repeats = 0;  ///< of the request, since credit came
      std::int64_t peer_asked = 0;
      std::int64_t peer_cut = 0;  ///< it wants to send that once more, and need not say so
      std::int64_t peer_granted = 0;
      bool peer_waits = false;
    } credits;
  };

  explicit Uet(Nic& nic) : nic_(nic) {}

  void add_queue_pair();
  void start_at(std::uint32_t number) { flows_[number]->came = {}; }
  [[nodiscard]] Flow& flow(std::uint32_t number) { return *flows_[number]; }

  // Sending
  [[nodiscard]] bool has_something(const QueuePair& pair);
  [[nodiscard]] bool has_repeats(std::uint32_t number);
  /// Whether something under way will be acknowledged, whatever else is sent: it asks for that, or is enough.
  [[nodiscard]] bool awaits_acknowledgement(std::uint32_t number);
  void begin_message(std::uint32_t number, Job& job);
  Time form_repeat(Time now, Packet& packet, std::uint32_t number);
  void note_cut(Time now, std::uint32_t number, Packet& packet);
  void note_left(Time now, const Packet& packet, std::uint32_t number);
  void timeout(Time now, std::uint32_t number);
  void look_for_overtaken(Time now, std::uint32_t number);
  void give_up(std::uint32_t number);
  /// Of a packet that is not the selector's affair: in turn.
  [[nodiscard]] std::uint32_t entropy_bits(std::uint32_t number) {
    return flow(number).turn++ % static_cast<std::uint32_t>(nic_.config_.uet.paths) << Packet::kQueuePairBits;
  }

  // Receiving
  void receive(Time now, Packet& packet);

  // Credits
  [[nodiscard]] bool has_credit(Time now, std::uint32_t number);
  void end_unasked(std::uint32_t number);
  /// When it is to ask once more for credit; kNever: by a timeout, or not at all.
  [[nodiscard]] Time next_request(std::uint32_t number);
  void note_ready(std::uint32_t number);
  void grant(Time now);

 private:
  [[nodiscard]] std::uint32_t number_of(const QueuePair& pair) const {
    return static_cast<std::uint32_t>(&pair - nic_.pairs_.data());
  }
  /// Null for one that is not under way.
  [[nodiscard]] Sent* find(std::uint32_t number, std::uint32_t psn);
  void confirm(std::uint32_t number, Sent& sent, std::int64_t& wire_bytes);
  void lose(Time now, std::uint32_t number, std::uint32_t psn, Sent& sent, bool surely);
  void forget_confirmed(std::uint32_t number);
  void arm_timer(Time now, std::uint32_t number);
  [[nodiscard]] static Time doubled(Time wait, std::uint32_t times);
  void note_progress(Time now, std::uint32_t number);
  void lose_overtaken(Time now, std::uint32_t number);  ///< the oldest
  /// Sends again what was overtaken.
  void find_overtaken(Time now, std::uint32_t number);
  /// When packets may count as overtaken, if nothing is heard until then.
  [[nodiscard]] Time next_look(std::uint32_t number);
  void plan_look(Time now, std::uint32_t number);
  void take_acknowledgement(Time now, const Packet& ack);
  void take_nak(Time now, const Packet& nak);
  void take_refusal(Time now, const Packet& refusal);
  void ask_for_missing(std::uint32_t number, const Job& read);

  Time take(Time now, Packet& packet);
  Time take_request(Time now, Packet& packet);
  Time take_response(Time now, Packet& packet);
  void take_trimmed(Time now, Packet& packet);
  [[nodiscard]] const Receive* receive_of(Time now, const QueuePair& pair, const Flow& flow,
                                          std::uint64_t address) const;
  /// Serves what is next in turn; true if a message has come to its end.
  bool advance(Time now, std::uint32_t number);
  void acknowledge(Time now, const Packet& packet, std::uint32_t psn);
  void note_unacknowledged(Time now, const Packet& packet, std::uint32_t psn);
  void answer_again(std::uint32_t number, const Packet& request, std::uint32_t psn);

  void take_credit(Time now, const Packet& packet);
  void make_hungry(Time now, std::uint32_t number);

  Nic& nic_;
  std::vector<std::unique_ptr<Flow>> flows_;
  Fifo<std::uint32_t> hungry_;  ///< queue pairs whose peer wants credit, in turn
  Time grant_at_;               ///< when the next may be given
  bool granting_ = false;
};

}  // namespace weft::nic
