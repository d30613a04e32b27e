// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fifo.h"
#include "sw/analytical/memory_bus.h"
#include "sw/analytical/network.h"
#include "sw/dimensions/plan.h"

namespace weft::analytical {

using dimensions::Algorithm;
using dimensions::CollectiveConfig;
using dimensions::Operation;
using dimensions::Optimization;
using dimensions::Phase;
using dimensions::Plan;
using dimensions::Scheduling;
using dimensions::tree_place;
using dimensions::TreePlace;

/// Who takes part in a collective: all ends in the network's dimensions, or some of them as one ring in the order that
/// they are listed in.
struct Group {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> members;  ///< empty: all
};

/// Told when a rank's part of a collective has ended.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void collective_done(Time now, std::uint32_t rank, std::uint64_t token) = 0;
};

/// Collectives on a Network, as ASTRA-sim's system layer runs them: each is cut into chunks, which pass the phases of
/// its Plan. A rank runs so many chunks of a dimension at a time as are to be active; the others wait by priority, that
/// of their collective, then in order. Ranks do not wait for each other but for messages.
///
/// A message leaves `endpoint_delay` after its sender had all that it needs, and a phase ends as much after its last
/// message. With Themis or SmallestFirst (sw/dimensions/themis.h) each chunk has an order of dimensions, and a
/// dimension takes chunks in the turns of their collective's plan. One whose turn it is not, or of a later collective,
/// may go first where a place among the active ones is left for the one whose turn it is in the earliest: so ranks that
/// were not given their chunks in the same order never wait for each other in a circle, since the first chunk that
/// somebody has not done can be run by all. What is reduced passes the memory three times before. Which messages an
/// algorithm sends, and what of them is reduced, is in collectives_steps.cpp; deviations of ASTRA-sim's are kept, since
/// this is its arithmetic:
/// - direct: messages of a round are reduced at the same time, for the price of one, and those of an AllReduce's second
///   round too in a group that is listed;
/// - halving-doubling: the first and largest reduction is free;
/// - double binary tree: chunks take the two trees in turns, whole; children's operands are reduced at the same time,
///   and what comes down is charged as a reduction by all but leaves.
///
/// Direct exchanges with a window, and rings and direct exchanges of all where the bus is modelled, send packets in the
/// order in which they become ready (collectives_packets.cpp); other algorithms have neither.
///
/// State is that of chunks that are under way: a chunk's is dropped when a rank has passed it.
class Collectives final : public EventTarget, private BusUser {
 public:
  static constexpr std::uint32_t kAllDimensions = ~0U;

  Collectives(Dispatcher& dispatcher, Network& network, const CollectiveConfig& config, Listener& listener,
              const BusConfig& bus = {});
  ~Collectives() override;

  /// A rank enters its group's next collective; all members must enter the same ones in the same order. `priority`
  /// counts with explicit scheduling. `token` comes back when the rank has done its part. `involved` has a bit for each
  /// dimension: a collective of some joins the ends that differ in these alone, and needs the group of all.
  /// Throws ConfigError for an algorithm that the number of members does not fit, and for members that enter different
  /// collectives; where only some dimensions are involved, stray() says so later.
  void enter(Time now, std::uint32_t rank, const Group& group, Operation operation, std::int64_t bytes,
             std::int64_t priority, std::uint64_t token, std::uint32_t involved = kAllDimensions);

  /// Chunks that have been entered and not left, of all ranks.
  [[nodiscard]] std::int64_t unfinished() const { return unfinished_; }
  /// Of a message that a rank has no use for, since members did not enter the same collectives; empty if there was
  /// none.
  [[nodiscard]] const std::string& stray() const { return stray_; }
  /// The fate of a rank's chunks for a report of what hangs: which it waits for.
  [[nodiscard]] std::string waits_for(std::uint32_t rank) const;

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;

 private:
  /// What an event is about: in 64 bits, so that it is its data.
  struct Key {
    static constexpr std::uint32_t kGroups = 1U << 16;
    static constexpr std::uint32_t kStreams = 1U << 26;
    static constexpr std::uint32_t kSlots = 1U << 16;
    std::uint32_t group;   ///< 16 bits
    std::uint32_t stream;  ///< 26: a chunk's number among those of its group
    std::uint32_t phase;   ///< 6
    std::uint32_t slot;    ///< 16: which of the messages that a phase expects

    [[nodiscard]] std::uint64_t pack() const {
      return std::uint64_t{group} << 48 | std::uint64_t{stream} << 22 | std::uint64_t{phase} << 16 | slot;
    }
    static Key unpack(std::uint64_t data) {
      return {static_cast<std::uint32_t>(data >> 48), static_cast<std::uint32_t>(data >> 22) & (kStreams - 1),
              static_cast<std::uint32_t>(data >> 16) & 0x3f, static_cast<std::uint32_t>(data) & (kSlots - 1)};
    }
  };
  /// How far a rank is with what the plan of a collective wants of a dimension.
  struct Turns {
    std::uint32_t next = 0;     ///< the first that has not started
    std::vector<bool> started;  ///< by turn

    void take(std::uint32_t turn) {
      if (turn >= started.size()) started.resize(turn + 1);
      started[turn] = true;
      while (next < started.size() && started[next]) ++next;
    }
  };
  /// One rank's part of one collective.
  struct Task {
    std::shared_ptr<const Plan> plan;
    std::int64_t priority = 0;
    std::int64_t chunks_left = 0;
    std::uint64_t token = 0;
    std::uint32_t first = 0;   ///< the number of its first chunk among those of the group
    std::vector<Turns> turns;  ///< by dimension, where the plan has an order of chunks
  };
  /// A phase whose messages are sent packet by packet.
  struct Packets {
    std::uint32_t width = 1;      ///< packets that exist from the start
    std::uint32_t following = 0;  ///< how many come from the network before as many as `width` come from memory again
    std::uint32_t sends = 0;      ///< messages in all
    std::uint32_t sent = 0;       ///< of these; with each, one is asked for
    std::uint32_t made = 0;       ///< packets that have begun
    std::uint32_t ready = 0;      ///< packets that may be sent
    std::uint32_t received = 0;
    std::vector<std::int32_t> asked;  ///< by distance of the sender: how many messages, less those that have come
  };
  /// One chunk at one rank.
  struct Stream {
    std::shared_ptr<Task> task;     ///< null while only messages of others have come
    const Phase* phases = nullptr;  ///< of the chunk, in its order
    std::uint8_t phase = 0;
    bool running = false;
    bool done = false;
    // Of the running phase:
    std::uint32_t step = 0;     ///< ring, direct, halving-doubling: messages or rounds that have been sent
    std::uint32_t left = 0;     ///< direct and tree: messages that this step still needs
    std::uint32_t ahead = 0;    ///< direct: of the next round
    std::uint64_t arrived = 0;  ///< halving-doubling: a bit for each step
    Time ready;                 ///< when the latest was sent, from which the next can be received
    std::unique_ptr<std::vector<std::uint32_t>> early;  ///< phase and slot of messages for phases to come
    std::unique_ptr<Packets> packets;
  };
  /// Chunks of a group at a rank; those before `first` are done.
  struct Streams {
    const Group* group = nullptr;  ///< once the rank has entered a collective of it
    std::uint32_t position = 0;    ///< of the rank among listed members
    std::uint32_t first = 0;
    std::uint32_t entered = 0;
    std::uint64_t collectives = 0;  ///< that the rank has entered
    Fifo<Stream> live;
  };
  /// A collective of a group as the first of its members entered it, until all have.
  struct Entered {
    Operation operation;
    std::uint32_t involved;
    std::int64_t chunks;
    std::uint32_t rank;
    std::uint32_t left;
  };
  struct Waiting {
    std::int64_t priority;
    std::uint32_t group;
    std::uint32_t stream;
    Task* ordered = nullptr;  ///< if it has a turn
    std::uint32_t turn = 0;
  };
  /// Starts that a collective with turns still owes to a dimension.
  struct Owed {
    const Task* task = nullptr;
    std::uint32_t starts = 0;
  };
  /// A dimension's chunks at a rank.
  struct Queue {
    std::vector<Waiting> waiting;
    std::vector<Owed> owed;  ///< in the order in which the collectives were entered
    int running = 0;
  };
  struct Rank {
    std::map<std::uint32_t, Streams> groups;
    std::vector<Queue> queues;
    std::int64_t entered = 0;
  };
  /// A rank's place in a phase's dimension.
  struct Place {
    std::uint32_t position;
    std::uint32_t count;
    std::uint32_t rank;
    std::uint32_t stride;                       ///< of the dimension in ranks
    const std::vector<std::uint32_t>* members;  ///< of a group that is listed; null otherwise

    [[nodiscard]] std::uint32_t at(std::uint32_t other) const {
      return members != nullptr ? (*members)[other] : rank + (other - position) * stride;
    }
    [[nodiscard]] std::uint32_t ahead(std::uint32_t steps) const { return at((position + steps) % count); }
  };
  /// What a step of an algorithm works on.
  struct Context {
    std::uint32_t rank;
    Key key;
    Stream& stream;
    const Phase& phase;
    Place place;
    Time delay;  ///< of the endpoint
  };

  [[nodiscard]] Context context(std::uint32_t rank, Key key, const Streams& all, Stream& stream) const;
  void check(const Plan& plan) const;
  [[nodiscard]] std::shared_ptr<const Plan> plan_of(const Group& group, Operation operation, std::int64_t bytes,
                                                    std::uint32_t involved) const;
  void agree(std::uint32_t group, std::uint64_t number, const Entered& mine);
  Streams& streams(std::uint32_t rank, std::uint32_t group) { return ranks_[rank].groups[group]; }
  void enqueue(Time now, std::uint32_t rank, Key key, Stream& stream);
  [[nodiscard]] std::vector<Waiting>::iterator next_of(Queue& queue, std::uint32_t dimension) const;
  void start_waiting(Time now, std::uint32_t rank, std::uint32_t dimension);
  void phase_done(Time now, std::uint32_t rank, Key key);
  void arrive(Time now, std::uint32_t rank, Key key);
  [[nodiscard]] Time reduction(std::int64_t bytes) const;
  void send(Time at, const Context& context, std::uint32_t to, std::int64_t bytes, std::uint32_t slot);
  void finish(Time at, const Context& context);
  void ready_at(Time at, const Context& context);

  // Steps of algorithms (collectives_steps.cpp)
  void begin(Time now, Context& context);
  void receive(Time now, Context& context, std::uint32_t slot);
  void ring_received(Time now, Context& context);
  void send_round(Context& context);
  void direct_received(Time now, Context& context, std::uint32_t slot);
  void send_halving(Context& context);
  void halving_received(Time now, Context& context, std::uint32_t slot);
  void begin_tree(Time now, Context& context);
  void tree_received(Time now, Context& context, std::uint32_t slot);
  void send_down(Time at, Context& context);

  // Packet by packet (collectives_packets.cpp)
  [[nodiscard]] bool by_packet(const Context& context) const;
  [[nodiscard]] bool on_bus(const Context& context) const;
  void begin_packets(Time now, Context& context);
  void make_packet(Time now, Context& context);
  void packet_ready(Time now, Context& context);
  bool send_packet(Time now, Context& context);
  void packet_received(Time now, Context& context, std::uint32_t distance);
  void bus_passed(Time now, std::uint32_t end, std::uint64_t token) override;

  Dispatcher& dispatcher_;
  Network& network_;
  CollectiveConfig config_;
  Listener& listener_;
  std::unique_ptr<MemoryBuses> buses_;  ///< null where they are not modelled
  std::vector<std::uint32_t> sizes_;    ///< of the dimensions
  std::vector<std::uint32_t> strides_;  ///< of the dimensions, in ranks
  std::map<std::uint32_t, Group> groups_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Entered> entered_;  ///< by group and number
  std::vector<Rank> ranks_;
  std::map<std::tuple<std::uint32_t, Operation, std::int64_t, std::uint32_t>, std::shared_ptr<const Plan>> plans_;
  std::int64_t unfinished_ = 0;
  std::string stray_;
};

}  // namespace weft::analytical
