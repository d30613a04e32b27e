// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/core/dispatcher.h"
#include "sw/analytical/agenda.h"
#include "sw/analytical/memory_bus.h"
#include "sw/analytical/network.h"
#include "sw/analytical/pool.h"
#include "sw/analytical/waiting_list.h"
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
/// its Plan. A rank runs so many chunks of a dimension at a time as are to be active, shared by the queues of the
/// dimension; the others wait by priority, that of their collective, then in order. Ranks do not wait for each other
/// but for messages.
///
/// In a phase a rank prepares packets, `endpoint_delay` each, and sends a message with each that is ready; with each
/// message it receives one from the other side, which makes another packet. A packet that is reduced passes the memory
/// three times before it is ready. Which messages an algorithm sends, and which packets are reduced, is in
/// collectives_steps.cpp; deviations of ASTRA-sim's are kept, since this is its arithmetic:
/// - packets of a direct exchange are reduced at the same time; in a group that is listed, those of an AllReduce's
///   second round as well. The second round begins when all messages of the first have come, with the packets that are
///   ready then;
/// - halving-doubling: what a step is charged for its reduction is that of the next step's message, and the last step
///   is not charged. A shard of an odd number of bytes loses one on its way back;
/// - double binary tree: chunks take the two trees in turns, whole; children's operands are reduced at the same time,
///   and what comes down is charged as a reduction by all but leaves;
/// - the way back of an AllReduce over several dimensions goes round in the other direction.
///
/// Where links are cut-through, which ASTRA-sim does not have, everything goes round in one direction, and the chunks
/// of a collective take turns in each dimension. So they do with Themis or SmallestFirst (sw/dimensions/themis.h): each
/// chunk has an order of dimensions, and a dimension takes chunks in the turns of their collective's plan. One whose
/// turn it is not, or of a later collective, may go first where a place among the active ones is left for the one whose
/// turn is the earliest: so ranks that were not given their chunks in the same order never wait for each other in a
/// circle, since the first chunk that somebody has not done can be run by all. Without turns they may, where a rank is
/// late and fewer chunks are active than a collective has.
///
/// State is that of chunks that are under way.
class Collectives final : Actor, BusUser {
 public:
  static constexpr std::uint32_t kAllDimensions = ~0U;
  static constexpr std::uint32_t kEverybody = 0;           ///< the id of the group of all ends
  static constexpr std::uint32_t kMostStreams = 1U << 28;  ///< chunks at a time

  Collectives(Network& network, const CollectiveConfig& config, Listener& listener, const BusConfig& bus = {});
  ~Collectives();

  /// A rank enters its group's next collective; all members must enter the same ones in the same order. `priority`
  /// counts with explicit scheduling. `token` comes back when the rank has done its part. `involved` has a bit for each
  /// dimension: a collective of some joins the ends that differ in these alone, and needs the group of all.
  /// `node` and `name`, which is the operation's where it is empty, are for mismatch() and partly_entered() alone.
  /// Throws ConfigError for an algorithm that is missing, or that the number of members does not fit.
  void enter(Time now, std::uint32_t rank, const Group& group, Operation operation, std::int64_t bytes,
             std::int64_t priority, std::uint64_t token, std::uint32_t involved = kAllDimensions,
             std::uint64_t node = 0, std::string_view name = {});

  /// Throws ConfigError where enter() would.
  void expect(const Group& group, Operation operation, std::uint32_t involved = kAllDimensions) const {
    static_cast<void>(plan_of(group, operation, 1, involved));
  }

  /// Whether the operation's algorithm takes all dimensions for one, so that ends join it whatever they involve.
  [[nodiscard]] bool joins_dimensions(Operation operation) const { return config_.joins_dimensions(operation); }

  /// A rank runs a collective by itself, which is a single chunk for ASTRA-sim; it waits for as many as it would cut an
  /// own one into all the same.
  void count_custom(std::uint32_t rank, Operation operation, std::int64_t bytes) {
    ++ranks_[rank].chunks;
    had_custom_chunks_ |= config_.splits > 1 || (operation == Operation::kAllgather && bytes == 0);
  }

  /// Chunks that have been entered and not left, of all ranks.
  [[nodiscard]] std::int64_t unfinished() const { return unfinished_; }
  /// Members that entered different collectives.
  struct Mismatch {
    struct Member {
      std::uint32_t end = 0;
      std::uint64_t node = 0;
      std::string_view name;
      Operation operation{};
      std::int64_t bytes = 0;
      std::uint32_t involved = kAllDimensions;
      std::uint64_t number = 0;  ///< of the group's collectives, from 0
    };
    std::uint32_t group = 0;
    std::uint64_t number = 0;  ///< of the group's collectives, from 0
    Member first;
    Member other;

    [[nodiscard]] bool is_of_dimensions() const { return first.involved != other.involved; }
  };
  /// The first such case, if there is any. They wait for each other, unless their messages are the same.
  [[nodiscard]] const std::optional<Mismatch>& mismatch() const { return mismatch_; }
  /// Of what waits: members that entered what seems to be one collective, at different numbers.
  [[nodiscard]] std::optional<Mismatch> numbered_apart() const;
  /// Whether chunks of a collective that all members have entered wait for a place in a dimension, which others hold:
  /// with more places it would go on.
  [[nodiscard]] bool waits_for_places() const;
  /// Collectives that some members of their group have entered and others have not.
  struct Partly {
    std::uint32_t group = 0;
    std::string_view name;
    std::int64_t bytes = 0;
    std::uint32_t involved = kAllDimensions;
    std::uint32_t end = 0;     ///< the first that has
    std::uint32_t others = 0;  ///< how many have not
  };
  [[nodiscard]] std::vector<Partly> partly_entered() const;
  /// The fate of a rank's chunks for a report of what hangs: which it waits for.
  [[nodiscard]] std::string waits_for(std::uint32_t rank) const;
  /// What was done though ASTRA-sim never ends there, a sentence each.
  [[nodiscard]] std::vector<std::string> remarks() const;

  void act(Time now, std::uint64_t what) override;
  void prepare_more(std::uint64_t what) override;

 private:
  // What it has on the agenda: a stream, its packet above it, and one of these below.
  static constexpr std::uint64_t kKinds = 4;
  static constexpr std::uint64_t kReceived = 0;
  static constexpr std::uint64_t kReady = 1;
  static constexpr std::uint64_t kReduce = 2;
  static constexpr std::uint64_t kNobody = 3;  ///< a task has no chunks

  static constexpr std::uint32_t kMostPackets = 1U << 26;  ///< that are told apart

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
    std::uint32_t number = 0;
    std::uint32_t rank = 0;
    std::uint32_t first_chunk = 0;  ///< its number in its group
    std::uint32_t involved = kAllDimensions;
    std::int64_t priority = 0;
    std::int64_t chunks_left = 0;
    std::uint64_t token = 0;
    std::vector<Turns> turns;  ///< by dimension, where the plan has an order of chunks
  };
  /// A rank's place in a phase's dimension, or in its group.
  struct Place {
    std::uint32_t position = 0;
    std::uint32_t count = 0;
    std::uint32_t first = 0;                              ///< the rank of position 0
    std::uint32_t stride = 0;                             ///< of the dimension in ranks
    const std::vector<std::uint32_t>* members = nullptr;  ///< of a group that is listed

    [[nodiscard]] std::uint32_t at(std::uint32_t other) const {
      return members != nullptr ? (*members)[other] : first + other * stride;
    }
    [[nodiscard]] std::uint32_t ahead(std::uint32_t steps) const {
      const std::uint32_t other = position + steps;
      return at(other < count ? other : other - count);
    }
    [[nodiscard]] std::uint32_t behind(std::uint32_t steps) const {
      return at(position >= steps ? position - steps : position + count - steps);
    }
  };
  /// What a rank has prepared, sent and received in a phase.
  struct Packets {
    std::int64_t bytes = 0;       ///< of each, but in halving-doubling
    std::uint32_t width = 1;      ///< packets that exist from the start
    std::uint32_t fresh = 0;      ///< packets of this turn that are still to come from memory; then
    std::uint32_t following = 0;  ///< those that come from the network
    bool odd_turn = false;
    std::uint32_t made = 0;
    std::uint32_t ready = 0;
    std::uint32_t left = 0;  ///< messages that are still to be sent
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
  };
  /// Where a rank is in a tree.
  enum class Climb : std::uint8_t { kBegun, kTwoChildren, kOneChild, kUp, kParent, kDown, kDone };
  /// One chunk at one rank.
  struct Stream {
    Task* task = nullptr;  ///< null: this is free
    const Phase* phases = nullptr;
    std::uint32_t rank = 0;
    std::uint32_t group = 0;
    std::uint32_t number = 0;         ///< among the chunks of its group
    std::uint32_t chunk = 0;          ///< of its collective
    std::uint32_t member = 0;         ///< position in a listed group
    std::uint32_t trees = 0;          ///< a bit for each phase: which tree it takes
    std::vector<std::uint8_t> lanes;  ///< by phase: which queue of its dimension; empty where each has one
    std::uint8_t phase = 0;
    bool running = false;
    bool backwards = false;
    bool reduced_once = false;  ///< a tree's first operand
    Climb climb = Climb::kBegun;
    TreePlace tree;
    Place place;
    Packets packets;
  };
  /// A group that a rank is in.
  struct Membership {
    const Group* group = nullptr;
    std::uint32_t position = 0;     ///< of the rank among listed members
    std::uint32_t chunks = 0;       ///< that the rank has entered
    std::uint64_t collectives = 0;  ///< the same
  };
  /// A collective of a group as the first of its members entered it, until all have.
  struct Entered {
    std::string_view name;
    Operation operation;
    std::int64_t bytes;
    std::int64_t chunks;
    std::uint32_t rank;
    std::uint32_t left;
    std::uint64_t node;
    std::int64_t before;   ///< chunks of any group that the rank entered before
    std::uint64_t number;  ///< of the group's collectives, from 0
    std::uint32_t involved;
  };
  /// A group's collectives are told apart by their first chunk, whatever dimensions they involve, as in ASTRA-sim.
  struct Round {
    std::vector<std::uint32_t> involved;  ///< what ranks have entered there, each once
    std::uint32_t open = 0;               ///< of entered_
  };
  /// Of a collective: its group and first chunk, the dimensions that it involves, and the first rank that it joins.
  using EnteredKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Planned {
    std::shared_ptr<const Plan> plan;
    std::uint32_t involved = kAllDimensions;  ///< as far as the dimensions have several members and an algorithm
  };
  struct Waiting {
    std::int64_t priority;
    std::uint32_t stream;
    Task* ordered = nullptr;  ///< if it has a turn
    std::uint32_t turn = 0;
  };
  /// Starts that a collective with turns still owes to a dimension.
  struct Owed {
    const Task* task = nullptr;
    std::uint32_t starts = 0;
  };
  /// A queue of a dimension at a rank.
  struct Queue {
    WaitingList<Waiting> waiting;
    std::vector<Owed> owed;  ///< in the order in which the collectives were entered
    int running = 0;
  };
  /// How many chunks a rank has given to the queues of a dimension, and to its trees.
  struct Given {
    std::uint32_t both = 0;
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::uint32_t trees = 0;
  };
  struct Rank {
    std::vector<Membership> groups;
    std::vector<Queue> queues;  ///< by dimension, then lane
    std::vector<Given> given;   ///< by dimension
    std::int64_t entered = 0;
    std::int64_t chunks = 0;  ///< of all of these
  };

  void check(const Plan& plan) const;
  [[nodiscard]] Planned plan_of(const Group& group, Operation operation, std::int64_t bytes,
                                std::uint32_t involved) const;
  [[nodiscard]] CollectiveConfig config_of(const Group& group, Operation operation) const;
  Membership& membership(std::uint32_t rank, const Group& group);
  void agree(const Group& group, std::uint32_t first_chunk, const Entered& mine);
  [[nodiscard]] static Mismatch::Member member(const Entered& entered) {
    return {entered.rank,  entered.node,     entered.name,  entered.operation,
            entered.bytes, entered.involved, entered.number};
  }
  [[nodiscard]] std::uint32_t first_rank(std::uint32_t rank, std::uint32_t involved) const;
  [[nodiscard]] std::uint32_t members_of(const Group& group, std::uint32_t involved) const;
  void add_chunk(Time now, std::uint32_t rank, Task& task, std::uint32_t chunk, Membership& membership);
  void assign_lanes(Stream& stream);
  [[nodiscard]] std::uint32_t queue_of(const Stream& stream) const;
  void enqueue(std::uint32_t number);
  [[nodiscard]] std::optional<WaitingList<Waiting>::Place> next_of(const Queue& queue, std::uint32_t dimension) const;
  void start_waiting(Time now, std::uint32_t rank, std::uint32_t queue);
  void start(Time now, std::uint32_t number);
  void phase_done(Time now, std::uint32_t number);
  void leave(Time now, std::uint32_t number);
  void done(Time now, Task& task);
  [[nodiscard]] static const Phase& phase_of(const Stream& stream) { return stream.phases[stream.phase]; }
  [[nodiscard]] static std::int64_t packet_bytes(const Stream& stream, std::uint32_t packet);

  // Steps of algorithms (collectives_steps.cpp)
  void begin(Time now, std::uint32_t number);
  void received(Time now, std::uint32_t number);
  void ready(Time now, std::uint32_t number, std::uint32_t packet);
  void reduce(Time now, std::uint32_t number, std::uint32_t packet);
  void make_packet(Time now, std::uint32_t number);
  bool send_packet(Time now, std::uint32_t number);
  void packet_ready(Time now, std::uint32_t number);
  void prepare_packet(Time now, std::uint32_t number, std::int64_t bytes, bool from_network, bool reduced,
                      bool goes_on);
  void exchange(Time now, std::uint32_t number, std::uint32_t to, std::uint32_t from, std::int64_t bytes);
  void tree_received(Time now, std::uint32_t number);
  void tree_ready(Time now, std::uint32_t number);
  void begin_tree(Time now, std::uint32_t number);
  void send(Time now, const Stream& stream, std::uint32_t to, std::int64_t bytes);
  void receive(Time now, std::uint32_t number, std::uint32_t from, std::int64_t bytes);
  void bus_passed(Time now, std::uint32_t end, std::uint64_t token) override;

  Network& network_;
  Agenda& agenda_;
  std::uint32_t actor_;
  CollectiveConfig config_;
  Listener& listener_;
  std::unique_ptr<MemoryBuses> buses_;  ///< null where they are not modelled
  int active_;                          ///< chunks of a queue
  std::vector<std::uint32_t> sizes_;    ///< of the dimensions
  std::vector<std::uint32_t> strides_;  ///< of the dimensions, in ranks
  std::map<std::uint32_t, Group> groups_;
  std::map<EnteredKey, Entered> entered_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Round> rounds_;  ///< by group and first chunk
  std::vector<Rank> ranks_;
  Pool<Stream> streams_;
  Pool<Task> tasks_;
  std::map<std::tuple<std::uint32_t, Operation, std::int64_t, std::uint32_t>, Planned> plans_;
  std::int64_t unfinished_ = 0;
  std::int64_t last_reduced_ = 0;  ///< the bytes of the latest reduction,
  Time last_pass_;                 ///< and how long they take to pass the memory
  std::optional<Mismatch> mismatch_;
  bool had_nobody_ = false;         ///< a collective of one member
  bool had_group_tree_ = false;     ///< a tree in a listed group
  bool had_overtaken_ = false;      ///< a packet that was sent before it was ready, since another was
  bool had_small_gather_ = false;   ///< of less than a byte a chunk
  bool had_custom_chunks_ = false;  ///< of a collective that ranks run by themselves
  bool had_outer_join_ = false;     ///< a collective of all dimensions as one that leaves the first of them out
  bool had_other_count_ = false;    ///< a collective of all that ranks entered after different numbers of chunks
};

}  // namespace weft::analytical
