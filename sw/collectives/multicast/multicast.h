// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/fifo.h"
#include "sw/collectives/config.h"
#include "sw/collectives/group.h"
#include "sw/collectives/multicast/chunk_map.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/receive_cost.h"

/// Reliable Broadcast and Allgather over unreliable multicast (Khalilov et al., Network-Offloaded Bandwidth-Optimal
/// Broadcast and Allgather for Distributed AI, SC24).
namespace weft::collectives {

/// `datagram`: chunks of at most an MTU arrive in a staging ring, from where they are copied to their place.
/// `connection`: the interface places chunks of any size (unreliable connection with multicast).
enum class MulticastTransport : std::uint8_t { kDatagram, kConnection };
inline EnumNames<MulticastTransport> enum_names(MulticastTransport /*tag*/) {
  return {{"datagram", MulticastTransport::kDatagram}, {"connection", MulticastTransport::kConnection}};
}

/// Who copies a datagram from the staging ring to its place: the interface by an RDMA write to itself, which crosses
/// the host link three times, or a copy engine of the accelerator, which stands for a core that copies where the
/// machine is one of hosts.
enum class MulticastCopy : std::uint8_t { kInterface, kEngine };
inline EnumNames<MulticastCopy> enum_names(MulticastCopy /*tag*/) {
  return {{"interface", MulticastCopy::kInterface}, {"engine", MulticastCopy::kEngine}};
}

/// Which cores run it: the host's, or those of the NIC itself.
enum class MulticastPlacement : std::uint8_t { kHost, kDpa };
inline EnumNames<MulticastPlacement> enum_names(MulticastPlacement /*tag*/) {
  return {{"host", MulticastPlacement::kHost}, {"dpa", MulticastPlacement::kDpa}};
}

/// What sums: an Allgather by multicast leaves open how a ReduceScatter is done.
enum class MulticastSums : std::uint8_t { kRing, kInNetwork };
inline EnumNames<MulticastSums> enum_names(MulticastSums /*tag*/) {
  return {{"ring", MulticastSums::kRing}, {"in-network", MulticastSums::kInNetwork}};
}

struct MulticastConfig {
  static constexpr std::string_view kAlgorithm = "multicast";

  MulticastTransport transport = MulticastTransport::kDatagram;
  MulticastCopy copy = MulticastCopy::kInterface;
  MulticastPlacement placement = MulticastPlacement::kHost;
  Bytes chunk;
  int subgroups = 4;
  int chains = 2;
  double pace = 0;
  int trees = 1;
  int queue_depth = 1024;
  int batch = 128;
  double cutoff = 5;
  Time activation = Time(5'000'000);
  MulticastSums sums = MulticastSums::kRing;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("transport", transport, "Transport of chunks");
    visit("copy", copy, "What copies datagrams into the buffer");
    visit("placement", placement, "Which cores run it: the host's, or the NIC's data-path accelerator");
    visit("chunk", chunk, "Size of a chunk, which is lost or arrives as a whole; 0: an MTU", Range{0, 1 << 30});
    visit("subgroups", subgroups, "Groups that chunks are dealt to in turn, each with a thread that receives",
          Range{1, 256});
    visit("chains", chains,
          "Members that multicast at a time in an Allgather; 0: all; 1 if this number does not divide that of the "
          "members",
          Range{0, 65'536});
    visit("pace", pace,
          "Highest share of the link's rate that these send together, so that receivers keep up and other traffic has "
          "room; 0: each sends as fast as it can",
          Range{0, 1});
    visit("trees", trees, "Spanning trees that members share, one after the other; 0: one for each", Range{0, 65'536});
    visit("queue_depth", queue_depth, "Receives that each thread keeps posted; datagrams have as many staging slots",
          Range{16, 65'536});
    visit("batch", batch,
          "Chunks that are posted at a time; only the last one of each queue reports its completion; two batches are "
          "under way",
          Range{1, 65'536});
    visit("cutoff", cutoff,
          "A member fetches missing chunks after so many times the time that all should take at the link's rate",
          Range{1, 1'000'000});
    visit("activation", activation, "Assumed time to pass the turn to the next sender; used to compute the cutoff",
          Range{0, 1'000'000'000'000});
    visit("sums", sums, "Algorithm of ReduceScatters and AllReduces");
  }
};

/// What has happened, in all tasks of a member.
struct MulticastCounters {
  std::int64_t chunks = 0;         ///< that came by multicast and were used
  std::int64_t bytes = 0;          ///< of these
  std::int64_t stale = 0;          ///< of an earlier task, or after the cut-off
  std::int64_t repeated = 0;       ///< that had come before
  std::int64_t cutoffs = 0;        ///< threads that gave up waiting
  std::int64_t missing = 0;        ///< chunks after the fast path
  std::int64_t reads = 0;          ///< one for each hole
  std::int64_t fetched_bytes = 0;  ///< by these

  template <typename Visitor>
  static void each(Visitor&& visit) {
    visit("chunks", &MulticastCounters::chunks);
    visit("bytes", &MulticastCounters::bytes);
    visit("stale", &MulticastCounters::stale);
    visit("repeated", &MulticastCounters::repeated);
    visit("cutoffs", &MulticastCounters::cutoffs);
    visit("missing", &MulticastCounters::missing);
    visit("reads", &MulticastCounters::reads);
    visit("fetched_bytes", &MulticastCounters::fetched_bytes);
  }
  MulticastCounters& add(const MulticastCounters& other, std::int64_t times = 1) {
    each([&](const char* /*name*/, auto field) { this->*field += times * other.*field; });
    return *this;
  }
};

/// When a member ended the phases of its latest Broadcast or Allgather. Each begins where the one before ends:
///
/// barrier     until all have posted receives, so that it may multicast; with the library's start and, on the cores of
///             the interface, the hand-over to them
/// fast path   until the last chunk is in its place that came by multicast, and what it multicasts itself has left
/// cut-off     until its timer says that no more will come: nothing where all came
/// recovery    until it has fetched what was missing
/// handshake   until it may leave (the last phase, which has no end here): its right neighbour has all as well
struct MulticastPhases {
  std::uint64_t tasks = 0;  ///< that it has taken part in: 0 if none
  Time barrier;
  Time fast_path;
  Time cutoff;
  Time recovery;
};

/// One member's part. A collective is a task:
///
/// 1. All meet, so that everybody has the task; the buffer gets the next of the group's memory keys; all meet again,
///    because what finds no receive posted is lost.
/// 2. Fast path. A source cuts its block into chunks, which it multicasts with an immediate of 8 bits of task and 24
///    bits of chunk, chunk i of a block to subgroup i modulo their number. Of P sources in M chains, those at the head
///    of a chain begin, and each hands the turn to the next when it has sent. A thread for each subgroup takes what
///    comes, sets a bit for each chunk, and posts receives again. It ends when it has all, or at the cut-off.
/// 3. Slow path, round a ring of reliable connections: a member asks its left neighbour for each source of which it
///    misses chunks, in ascending order; the neighbour answers with the key of its buffer once it has all of that
///    source itself; then the member reads one hole after the other. Since all ask in the same order, who waits longest
///    waits for the source, and that has its own block.
/// 4. A member that has all tells its left neighbour, and leaves when this has been acknowledged and its right
///    neighbour has told it the same. Then the key is removed: what comes later is refused by the interface, or, as a
///    datagram of an old task, not copied.
///
/// Threads: one that meets, asks and answers; one that sends; one for each subgroup. All are on the processor of
/// `place`: on the host the first is the caller's, else the caller hands the task over by a message through the
/// interface and waits for another. Costs of the receive loop: sw/firmware/receive_cost.h.
class MulticastMember {
 public:
  using Counters = MulticastCounters;

  MulticastMember(firmware::Rank& rank, const firmware::Interface& place, int position, int size,
                  const MulticastConfig& config, std::string name);

  /// Number of groups of the fabric that members need: trees x subgroups, tree after tree.
  static int groups(const MulticastConfig& config, int size) {
    return (config.trees == 0 ? size : std::min(config.trees, size)) * config.subgroups;
  }
  /// Joins the members, by `groups` of the fabric and memory keys that all have.
  static void join(const std::vector<std::unique_ptr<MulticastMember>>& members,
                   const std::vector<std::uint32_t>& groups);

  /// Distributes each source's block, at `buffer` + its extent, to all. More chunks than an immediate can tell apart
  /// end the simulation with a message.
  firmware::Task distribute(std::uint64_t buffer, BlockMap blocks);
  firmware::Task barrier() {
    return perform([this] { return meet(); });
  }

  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const MulticastPhases& phases() const { return phases_; }

 private:
  /// What messages between members say, in the upper 3 bits of an immediate; below is the value.
  enum class Say : std::uint32_t { kMeet, kTurn, kFetch, kKey, kDone };
  /// What threads of a member tell the caller's.
  enum Signal : std::uint64_t { kReady = 1, kReceived, kSent };

  /// A queue pair that receives chunks. Receives are numbered; the completions of one queue pair come in their order.
  struct Ring {
    std::uint64_t came = 0;    ///< completions
    std::uint64_t freed = 0;   ///< receives whose slots can be used again
    std::uint64_t posted = 0;  ///< receives
    firmware::GroupQueuePair group;
  };
  /// A thread's share: one subgroup in all trees.
  struct alignas(64) Receiver {
    // What every chunk touches comes first.
    firmware::CompletionQueue* completions = nullptr;
    std::vector<Ring> rings;    ///< one for datagrams, else by tree
    std::uint64_t copying = 0;  ///< chunks that are not known to be in place
    std::uint64_t missing = 0;  ///< of the task
    std::uint32_t first_queue_pair = 0;
    bool over = false;             ///< the task takes no more chunks
    std::uint64_t unsignaled = 0;  ///< of those being copied, behind the latest copy that completes
    firmware::DatagramQueuePair datagrams;
    firmware::QueuePair copies;  ///< to the own interface
    firmware::QueuePair copies_end;
    std::uint32_t engine = 0;  ///< or that copies
    std::uint64_t staging = 0;
    Fifo<std::uint64_t> signaled;  ///< by copy that completes: how many it tells of
  };
  struct TaskState {
    std::uint64_t number = 0;
    std::uint64_t buffer = 0;
    std::uint64_t bytes = 0;
    std::vector<Extent> blocks;
    std::uint32_t key = 0;
    int turns = 1;  ///< sources of a chain
    Time cutoff;
  };

  [[nodiscard]] bool copies() const { return config_.transport == MulticastTransport::kDatagram; }
  [[nodiscard]] Extent extent_of(std::uint32_t chunk) const { return extent_of(chunk, map_.source_of(chunk)); }
  [[nodiscard]] Extent extent_of(std::uint32_t chunk, int source) const;
  [[nodiscard]] std::uint64_t slot_bytes() const { return chunk_ + 64; }
  static std::uint32_t say(Say what, std::uint32_t value) { return static_cast<std::uint32_t>(what) << 29 | value; }

  /// What a task does, on the processor of `place`.
  using Step = std::function<firmware::Task()>;
  firmware::Task perform(Step step);
  firmware::Task obey(Step step);
  firmware::Task distribute_here(std::uint64_t buffer, BlockMap blocks);
  /// Its fast path is over, by the cut-off if `cut`; what it sends may still be on its way.
  void end_fast_path(bool cut);

  // multicast.cpp: tasks, meetings, sending
  void begin(std::uint64_t buffer, const BlockMap& blocks);
  /// Takes what comes to the caller's thread until `condition` holds.
  template <typename Condition>
  firmware::Task until(Condition condition) {
    while (!condition()) take(co_await messages_->next());
  }
  void take(const nic::Completion& entry);
  void hear(std::uint32_t what, std::uint32_t value);
  /// Returns when all members have entered.
  firmware::Task meet();
  /// Between chunks that this member multicasts, from one to the next.
  [[nodiscard]] Time gap() const;
  firmware::Task send();
  /// Posts chunks `from` to `to` of the own block and returns how many completions will come of it, if any.
  std::uint64_t post(const Chunks& chunks, std::uint64_t from, std::uint64_t to, bool completes);

  // multicast_receive.cpp
  void open_receiver(Receiver& receiver, const std::vector<std::uint32_t>& groups, std::size_t subgroup);
  firmware::Task receive(Receiver& receiver);
  void take_chunk(Receiver& receiver, const nic::Completion& entry);
  void copy(Receiver& receiver, std::uint64_t id, Extent chunk);
  void post_receives(Receiver& receiver, std::uint64_t least);

  // multicast_recovery.cpp
  firmware::Task recover();
  void answer();

  // What every chunk touches comes first.
  alignas(64) MulticastConfig config_;
  firmware::Interface place_;
  std::uint64_t chunk_;
  Counters counters_;
  firmware::ReceiveCost cost_;
  ChunkMap map_;
  TaskState task_;
  static constexpr std::size_t kHotBytes = sizeof(MulticastConfig) + sizeof(firmware::Interface) + sizeof(Counters) +
                                           sizeof(firmware::ReceiveCost) + sizeof(ChunkMap) + sizeof(TaskState);

  firmware::Rank& rank_;
  int position_;
  int size_;
  std::string name_;
  int trees_;

  // With an offload: the host's end of a connection to itself, and the other's.
  firmware::CompletionQueue* reports_ = nullptr;
  firmware::CompletionQueue* orders_ = nullptr;
  firmware::QueuePair host_end_;
  firmware::QueuePair place_end_;

  firmware::CompletionQueue* messages_ = nullptr;
  firmware::CompletionQueue* sent_ = nullptr;
  std::vector<firmware::QueuePair> right_;  ///< to the member 2^k places on
  std::vector<firmware::QueuePair> left_;   ///< to the one 2^k places back
  std::uint32_t first_queue_pair_ = 0;      ///< of right_, left_, right_, ...
  firmware::DatagramQueuePair sends_;
  std::vector<firmware::GroupQueuePair> group_sends_;  ///< by subgroup, in the own tree
  std::vector<std::uint32_t> groups_;                  ///< likewise
  std::vector<Receiver> receivers_;

  MulticastPhases phases_;
  Time last_chunk_;  ///< of those that were cut off
  Time all_sent_;
  std::uint64_t tasks_ = 0;
  std::uint64_t meetings_ = 0;
  std::vector<std::uint64_t> rounds_;  ///< of meetings: messages that have come
  std::uint32_t first_key_ = 0;        ///< of those that its tasks take in turn
  firmware::Counter turns_;            ///< that have been handed to this member
  std::uint64_t turns_taken_ = 0;
  firmware::Counter open_;  ///< tasks whose fast path has begun
  int ready_ = 0;
  int received_ = 0;
  bool has_sent_ = false;
  bool has_asked_ = false;  ///< the right neighbour waits for an answer
  int asked_for_ = 0;
  bool has_answer_ = false;
  std::uint32_t answer_ = 0;  ///< a key of the left neighbour
  int fetching_ = 0;          ///< sources below are complete
  std::uint64_t reads_ = 0;
  std::uint64_t reads_posted_ = 0;
  std::uint64_t told_ = 0;  ///< the left neighbour, that all has come: acknowledged
  std::uint64_t right_done_ = 0;
};

/// The members of a group, on the network that joins the nodes. It has no sums.
class MulticastGroup final : public Group {
 public:
  /// Throws ConfigError for a chunk that does not fit into a datagram.
  MulticastGroup(const std::vector<firmware::Rank*>& ranks, const MulticastConfig& config, const std::string& name);

  [[nodiscard]] int size() const override { return size_; }
  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) override;
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) override;
  firmware::Task barrier(int member, std::uint64_t token) override;

  [[nodiscard]] const MulticastMember::Counters& counters(int member) const {
    return members_[static_cast<std::size_t>(member)]->counters();
  }
  [[nodiscard]] const MulticastPhases& phases(int member) const {
    return members_[static_cast<std::size_t>(member)]->phases();
  }

 private:
  std::vector<std::unique_ptr<MulticastMember>> members_;
  int size_;
};

/// Whether collectives run on NICs' own cores.
[[nodiscard]] inline bool is_offloaded(const CommunicatorConfig& config) {
  return config.algorithm == MulticastConfig::kAlgorithm &&
         config.of<MulticastConfig>().placement == MulticastPlacement::kDpa;
}

}  // namespace weft::collectives
