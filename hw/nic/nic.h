// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tlm>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fifo.h"
#include "hw/core/memory_master.h"
#include "hw/core/packet.h"
#include "hw/core/probe.h"
#include "hw/core/random.h"
#include "hw/core/register_file.h"
#include "hw/core/stall.h"
#include "hw/fabric/topology/topology.h"
#include "hw/nic/any_nic.h"
#include "hw/nic/group_engine.h"
#include "hw/nic/host_link.h"
#include "hw/nic/memory_regions.h"
#include "hw/nic/nic_config.h"
#include "hw/nic/reliability/psn.h"
#include "hw/nic/requests.h"
#include "hw/nic/way_out.h"
#include "hw/nic/work.h"

namespace weft::nic {

/// A network interface with RDMA queue pairs (reliable connection, InfiniBand Architecture volume 1, 9.7): RDMA write,
/// write with immediate, send and receive, RDMA read. With other numbers the same engine is the scale-up port of an
/// accelerator.
///
/// Sending: a doorbell write carries a work request, or says how many lie in the host's memory (work_queue.cpp), from
/// where they are read over the host link, `work_queue.fetch` at a time; the engine takes `message_cost` for each, then
/// the active queue pairs take turns, `turn` bytes each. Payload is read from memory over the host link (host_link.h)
/// ahead of its time, at most `read_ahead` bytes of it; the link sends it when it has credit. Receiving: a packet takes
/// `packet_cost` per MTU, crosses the host link (`write_latency`), and its input buffer is given back; the last one of
/// a message writes a completion and returns an acknowledgement, which completes the sender's work request. A send or
/// immediate that finds no receive posted is refused with RNR NAK and repeated from there after `rnr_timer`, then after
/// an eighth longer each time, until `rnr_limit` has passed: then the queue pair stands still, and a report says so.
///
/// Recovery (9.7.5 to 9.7.7) is for fabrics that lose packets or let them overtake each other. A receiver that misses a
/// packet tells its sender once with a NAK, drops what follows, and the sender goes back to there. What it has read
/// ahead from there on is dropped; so also after an RNR NAK and after a timeout. With `reorder` the receiver holds what
/// follows, and only what is missing is repeated (selective_repeat.h). Duplicates are acknowledged and otherwise
/// ignored, repeated read requests answered again from the byte that they name. What no NAK tells is repeated
/// `ack_timeout` after the latest progress, if anything that has left is unanswered; `retry_limit` times without any,
/// then the queue pair stands in error and its work requests complete with their Status. PSNs have 24 bits (psn.h).
///
/// With a `congestion` (congestion/congestion_control.h) data that a switch has marked is answered by a congestion
/// notification, one for each queue pair and interval, if the scheme asks for them, and a queue pair cuts its packets
/// no faster and no further ahead than its CongestionControl says, while others take its turns. What has been read
/// ahead still leaves. With a scheme that asks for it each packet is acknowledged.
///
/// Memory keys (memory_regions.h): a remote write or read bears a key. What it does not open is refused with a remote
/// access error, after which the queue pairs at both ends stand in error; a multicast is dropped there.
///
/// Datagrams (datagram.cpp; unreliable datagram, 9.8.3): messages of at most an MTU to any end or group. One takes the
/// next receive of its queue pair, or of each that is attached to the group, and is dropped where there is none. A
/// queue pair whose peer is its own interface is looped back: its packets pass the host link both ways and no wire.
///
/// With `transport` of `uet` (uet/uet.h) packets take many paths and are placed as they come; what is said above of
/// recovery does not hold then.
///
/// Groups (group.cpp): a queue pair can belong to a group of the fabric. With kMulticast it writes to the same address
/// at all other members, as an unreliable connection would: complete when the last byte has been read here, and a
/// message that loses a packet does not complete there. With kReduce it sends operands into the group's reduction tree,
/// each packet a chunk, no more than the tree's window ahead of the results, and writes the results to memory; members
/// post the same requests in the same order. The engine handles the payload of groups at `group_rate`: an accelerator's
/// port is driven by its cores.
///
/// Contexts (context_cache.h): with `context_cache.entries` the interface holds the contexts of so many queue pairs.
/// Whoever's is not here has it read from the host first: a queue pair's turn to send passes to others, and packets
/// that have come for it wait in their input buffer. What is evicted is written back without cost.
///
/// A queue pair holds `send_queue_depth` and `receive_queue_depth` requests. Its place in the send queue is free when
/// one is acknowledged, or for datagrams and multicast when it has been read; its place in the receive queue when a
/// message has taken it. Firmware that asks for it is told by completions of their own, each after a quarter of the
/// depth, how many places have been freed in all, as interfaces write the head of a ring back to the host.
///
/// Sockets: `out` and `in` to the fabric; `dma` (base protocol) to the memory; `completion` (base protocol), to which
/// 32-byte Completion entries are written at each queue pair's completion address; `registers` (base protocol), to
/// whose offset kDoorbell a WorkRequest is written, and to kAnnouncement several. `near_completion`, for completion
/// addresses from kNear on, and `near_registers` are the same for cores on the interface's own side of the host link,
/// and need not be bound; what they announce lies in memory on that side and takes no time to fetch.
///
/// With a memory of phases a packet of payload waits until memory has answered its read and those before it, and a
/// completion until memory has answered the writes before it, in the order of the packets. What is written leaves its
/// input buffer when the host link has taken it; a memory that falls behind is felt by completions alone, and PCI
/// Express credits come back as if memory took as long as for the latest write that it has answered.
///
/// Left out: completion moderation; what is held for its turn is written to memory when its turn comes. Read-ahead may
/// hold packets of several queue pairs and sends them in that order.
class Nic final : public AnyNic, public EventTarget {
 private:
  class Fabric final : public fabric::Receiver {
   public:
    explicit Fabric(Nic& owner) : owner_(owner) {}
    tlm::tlm_sync_enum nb_transport_fw(Packet& packet, fabric::Phase& phase, sc_core::sc_time& delay) override;

   private:
    Nic& owner_;
  };
  struct QueuePair;
  struct GroupEnd;
  struct Contexts;  // context_cache.h
  class Explained;  // explained.h
  struct Phased;    // phased_memory.h

  // What every packet touches comes first, in as few cache lines as it fits into. A multicast packet comes to all
  // interfaces at once, and each of them is cold.
  Fabric fabric_in_;  // with the table of events, which comes before it, it shares the first line
  Dispatcher& dispatcher_;

  tlm::tlm_blocking_transport_if<>* memory_port_ = nullptr;
  fabric::BackwardCall* upstream_ = nullptr;
  PacketPool& packets_;
  std::unique_ptr<Contexts> contexts_;       ///< null where all of them are always here
  std::unique_ptr<class ReceiveRoom> room_;  ///< null where the link does not pause
  Time packet_cost_;
  std::vector<GroupEnd> group_ends_;  ///< by group

  std::uint32_t mtu_;
  std::uint32_t segment_;
  std::uint32_t control_bytes_;  ///< on the wire, of a packet without payload
  std::uint32_t end_;
  bool data_;
  bool recovers_;          ///< queue pairs have a Recovery
  bool may_fail_;          ///< a queue pair may stand in error
  bool paces_ = false;     ///< queue pairs have a Congestion
  bool hears_ = false;     ///< of acknowledgements, of each packet
  bool may_loop_ = false;  ///< a packet may be for this end
  bool phases_ = false;    ///< memory says later when it is done
  bool reports_ = false;   ///< a queue pair has Places
  bool posts_ = false;     ///< what has no payload goes to neighbours directly
  bool sprays_;            ///< queue pairs have what uet_ keeps of them
  Time most_ahead_;        ///< of what a link is given before it is free: half of `read_ahead`
  Time engine_free_;
  std::vector<QueuePair> pairs_;
  WayOut wire_;

  MemoryRegions regions_;
  Time pump_at_ = kNever;
  Counters counters_;
  MemoryMaster memory_;

 public:
  /// `end` is this interface's number in the fabric, whose packet sizes it uses.
  Nic(sc_core::sc_module_name name, const Config& config, const fabric::FabricConfig& network, std::uint32_t end,
      Dispatcher& dispatcher, PacketPool& packets, bool data, const Stall::Config& stall);
  ~Nic() override;

  fabric::InitiatorSocket out;
  fabric::TargetSocket in;
  tlm::tlm_initiator_socket<64> dma;
  tlm::tlm_initiator_socket<64> completion;
  tlm::tlm_target_socket<64> registers;
  NearInitiator near_completion;
  NearTarget near_registers;

  [[nodiscard]] Sockets sockets() override {
    return {out, in, dma, completion, registers, &near_completion, &near_registers};
  }

  std::uint32_t create_queue_pair(std::uint64_t completion_address) override;
  void connect(std::uint32_t queue_pair, std::uint32_t peer_end, std::uint32_t peer_queue_pair) override;
  void provide(const WorkRequest& receive) override;
  /// The sequence numbers of the first packets each way, which are 0 otherwise; before anything is posted.
  void start_at(std::uint32_t queue_pair, std::uint32_t send_psn, std::uint32_t receive_psn);

  std::uint32_t create_group_queue_pair(std::uint64_t completion_address, std::uint32_t group, int window) override;
  std::uint32_t create_group_sender(std::uint64_t completion_address, std::uint32_t group) override;
  std::uint32_t create_datagram_queue_pair(std::uint64_t completion_address) override;
  void attach(std::uint32_t queue_pair, std::uint32_t group) override;
  [[nodiscard]] Depths depths() const override { return {config_.send_queue_depth, config_.receive_queue_depth}; }
  void report_places(std::uint32_t queue_pair, std::uint64_t completion_address) override;
  MemoryRegions& regions() override { return regions_; }

  /// Another interface of a network whose links carry what has no payload with what has: acknowledgements, and messages
  /// of no bytes with an immediate, as the flits of a scale-up link do. They come to it after `way`, take no place on
  /// the link and wait for nothing but what their queue pair still has there.
  struct Neighbour {
    Nic* nic = nullptr;
    Time way;
  };
  /// All of them, by their ends. Before the simulation; of no effect on one that recovers, paces or caches contexts.
  void post_stores(std::vector<Neighbour> neighbours);

  void use_phases() override;

  [[nodiscard]] const Config& config() const override { return config_; }
  [[nodiscard]] std::uint32_t end() const override { return end_; }
  [[nodiscard]] const Counters& counters() const override { return counters_; }
  /// Payload that its engine to groups has passed, and that it has sent to itself.
  [[nodiscard]] std::int64_t group_bytes() const { return group_engine_.bytes(); }
  [[nodiscard]] std::int64_t loop_bytes() const { return loop_bytes_; }
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> own_counts() const override;
  /// At which a queue pair sends at the most, by now.
  [[nodiscard]] Rate rate(std::uint32_t queue_pair) const;
  [[nodiscard]] const fabric::Transmitter& transmitter() const override { return transmitter_; }
  /// Gaps of up to a microsecond are filled; drawn with the payload rate.
  void record(Probe& probe, const std::string& process, const std::string& thread) override;
  void finish_drawing() override;
  void record(Waves& waves) override { transmitter_.record(waves, std::string(name()) + ".out"); }

  [[nodiscard]] std::vector<std::string> left_over() override;
  [[nodiscard]] std::vector<std::string> failures() override;

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t tag) const override;
  void prepare(std::uint32_t tag, std::uint64_t data) override;
  void prepare_more(std::uint32_t tag, std::uint64_t data) override;

 private:
  struct Group {
    std::uint32_t id = 0;
    std::uint32_t window = 0;   ///< 0: multicast
    std::uint32_t results = 0;  ///< that have come
  };
  /// What comes of a group.
  struct GroupEnd {
    struct Source {
      std::uint32_t next_psn : kPsnBits = 0;
      std::uint32_t whole : 1 = 0;  ///< nothing of the message that comes is missing
    };
    std::array<std::uint32_t, 2> queue_pairs = {UINT32_MAX, UINT32_MAX};  ///< for multicast and reduction, or none
    std::vector<Source> sources;                                          ///< multicast: by sender
  };
  /// Of the queues of a queue pair whose firmware keeps to their depths.
  struct Places {
    struct Queue {
      std::uint64_t every = 0;  ///< places that are told of together; 0: none are
      std::uint64_t freed = 0;
      std::uint64_t told = 0;
    };
    std::uint64_t completion_address = 0;
    Queue sends;
    Queue receives;
  };
  struct Recovery;    // recovery.h
  struct Congestion;  // congestion/pacing.h
  struct Uet;         // uet/uet.h
  /// What most queue pairs have no use for.
  struct Extra {
    Fifo<Response> responses;
    Group group;
    std::unique_ptr<Places> places;        ///< null unless they are reported
    std::uint32_t unfetched_jobs = 0;      ///< at the end of `jobs`, announced and not here
    std::uint32_t unfetched_receives = 0;  ///< likewise
    Time refused_since = kNever;           ///< the first time for this PSN
    std::uint32_t refused_psn = 0;         ///< of the latest RNR NAK
  };
  /// Two cache lines, since there are tens of thousands of them where all talk to all. What every packet touches is in
  /// the first one.
  struct alignas(64) QueuePair {
    std::uint32_t peer_end = UINT32_MAX;
    std::uint32_t peer_queue_pair = 0;
    std::uint32_t next_psn = 0;
    std::uint32_t expected_psn = 0;
    std::uint32_t next_job = 0;               ///< the first one not wholly sent
    std::uint32_t ready_jobs = 0;             ///< those whose work queue entry has been taken
    Fifo<Job> jobs;                           ///< posted and not yet acknowledged
    std::uint64_t message_bytes = 0;          ///< received of the current message
    std::uint32_t acknowledged = UINT32_MAX;  ///< the last PSN that has been
    bool active = false;                      ///< in the ring of those with something to send
    bool paused = false;                      ///< between an RNR NAK and its timer
    bool grouped = false;                     ///< has a Group
    bool refuses = false;                     ///< a request without the right key has come, and is answered soon
    Fifo<Receive> receives;
    std::unique_ptr<Extra> extra;            ///< null until it is needed
    std::unique_ptr<Recovery> recovery;      ///< null where the fabric keeps everything and its order
    std::unique_ptr<Congestion> congestion;  ///< null without congestion control
    std::uint64_t completion_address = 0;
    Time completed_at;  ///< of the latest completion: what is quicker does not overtake

    Extra& with_extra() {
      if (extra == nullptr) extra = std::make_unique<Extra>();
      return *extra;
    }
    [[nodiscard]] bool owes() const { return extra != nullptr && !extra->responses.empty(); }
    [[nodiscard]] Group& group() const { return extra->group; }  ///< of one that is grouped
    void prefetch() const {
      __builtin_prefetch(this);
      __builtin_prefetch(reinterpret_cast<const std::byte*>(this) + 64);
    }
  };
  static_assert(sizeof(QueuePair) == 128);
  void end_of_elaboration() override;

  // Work queues (work_queue.cpp)
  [[nodiscard]] bool is_valid(const WorkRequest& request) const;
  bool take_doorbell(const void* entry, Time at, bool near);
  bool take_announcement(const void* entries, std::uint32_t bytes, Time at, bool near);
  void post(const WorkRequest& request, Time at);
  /// Room for one more request; none is a bug of the firmware, which ends the simulation.
  void check_depth(const WorkRequest& request);
  /// A place is free again.
  void free_place(Time now, std::uint32_t number, bool receive) {
    if (reports_) [[unlikely]]
      count_place(now, number, receive);
  }
  void count_place(Time now, std::uint32_t number, bool receive);
  void announce(std::span<const WorkRequest> requests, Time at);
  void fetch_entries(Time now, std::uint64_t data);
  void take_entries(Time now, std::uint64_t data);
  void take_entry(std::uint32_t number, Time at);

  // Sending (sender.cpp)
  void activate(std::uint32_t number);
  [[nodiscard]] bool has_something(QueuePair& pair) const;
  static bool may_number(const QueuePair& pair) { return pair.next_psn - pair.acknowledged <= kMostOutstanding; }
  [[nodiscard]] bool loops(const QueuePair& pair) const;
  WayOut& way_of(const QueuePair& pair) { return may_loop_ && loops(pair) ? loop_ : wire_; }
  /// Wire bytes that each queue pair of a way sends in its turn.
  [[nodiscard]] std::int64_t turn_of(const WayOut& way) const;
  void fill(Time now, WayOut& way);
  Fetched cut_packet(Time now, std::uint32_t number);
  Time form(Time now, Packet& packet, const Job& job, std::uint64_t from);
  Time fetch(Time now, Packet& packet, std::uint64_t address);
  void pump(Time now);
  /// Whether what is read ahead can be given to the link so long before it leaves: nothing that comes later would go
  /// before it. That is half of `read_ahead` at the most, beside which as much may be read.
  void mark_wait(Time at, Time credit);
  [[nodiscard]] bool may_go_ahead(Time ahead) const;
  void pump_loop(Time now);
  /// The first packet of a way leaves.
  void take_first(Time now, WayOut& way);
  [[nodiscard]] bool owes_control() const { return !wire_.control.empty() || !loop_.control.empty(); }
  void arm(Time at, const Packet* next);
  void acknowledge(Time now, std::uint32_t number, std::uint32_t psn, std::uint32_t echo = 0);
  void refused(Time now, std::uint32_t number, std::uint32_t psn);
  void go_back(std::uint32_t number, std::uint32_t psn);  ///< everything from there on goes again
  void drop_answers(std::uint32_t number, std::uint32_t psn);
  template <typename Rule>
  void drop_read_ahead(const Rule& rule);
  void draw(const Packet& packet, Time now);
  [[nodiscard]] std::uint32_t packets_of(std::uint64_t bytes) const;
  /// How many packets of the wire a transaction stands for.
  [[nodiscard]] std::uint32_t units_of(std::uint32_t bytes) const {
    return bytes <= mtu_ ? (bytes == 0 ? 0 : 1) : (bytes + mtu_ - 1) / mtu_;
  }

  // Receiving (receiver.cpp)
  void receive(Time now, Packet& packet);
  void handle(Time now, Packet& packet);
  void release(Packet& packet, Time delay);
  Time take(Time now, Packet& packet, QueuePair& pair);
  bool accept(Time now, Packet& packet, QueuePair& pair, std::uint64_t& address);
  void retire(Time now, std::uint32_t number);
  void refuse_access(const Packet& packet);
  void finish_message(const Packet& packet, QueuePair& pair, Time visible);
  void deliver(const Packet& packet, QueuePair& pair, Time visible);
  /// Writes the payload, with `header` bytes just before it, to memory; returns when it is visible.
  Time store(Time now, const Packet& packet, std::uint64_t address, std::uint32_t header = 0);
  Packet& control(Opcode opcode, std::uint32_t queue_pair, std::uint32_t psn);
  void answer(const Packet& packet);  ///< acknowledges it
  void complete(QueuePair& pair, const Completion& entry, Time at);
  /// The line of left_over() of a queue pair, or nothing.
  [[nodiscard]] std::string left_over_of(std::size_t pair);
  void write_entry(std::uint64_t address, const Completion& entry, Time at);

  // Posted stores (posted.cpp)
  bool post_directly(Time now, std::uint32_t number);
  /// The same of what the engine will have taken by `at`, before it has.
  bool post_ahead(Time at, std::uint32_t number);
  void take_posted(Time now, std::uint64_t data);
  void acknowledge_directly(Time now, const QueuePair& pair, std::uint32_t psn);
  void take_acknowledgement(Time now, std::uint64_t data);

  // Memory with phases (phased_memory.cpp). A time that is not known yet is kNever: then what depends on it follows the
  // latest read or write.
  Time begin_read(Time now, Packet& packet, std::uint64_t address);
  Time begin_write(Time now, const Packet& packet, std::uint64_t address, std::uint32_t header);
  void memory_answered(Time now, std::uint64_t token);
  void end_read(Time now);
  void forget_read(const Packet& packet);
  void end_write(Time now);
  /// When a packet may leave whose payload is here at `ready`.
  Time not_before(Time at, Time ready);
  /// Completes what has been read when it is here, at `ready`.
  void complete_read(std::uint32_t number, const Completion& entry, Time ready);
  /// Completes what has been written when it is visible.
  void complete_written(std::uint32_t number, const Completion& entry, Time visible);
  void finish_read(std::uint32_t number, std::uint32_t psn, Job& job, Time visible);

  // Recovery (recovery.cpp)
  enum class Turn { kNow, kHeld, kNever };
  void receive_in_turn(Time now, Packet& packet, QueuePair& pair);
  Turn turn_of(Time now, Packet& packet, QueuePair& pair);
  Turn turn_of_request(Time now, Packet& packet, QueuePair& pair);
  Turn turn_of_response(Time now, Packet& packet, QueuePair& pair);
  void note_taken(Time now, const Packet& packet, QueuePair& pair);
  void ask_for_dropped(std::uint32_t number);
  void ask_again(std::uint32_t number, std::uint32_t psn, std::uint32_t end, std::optional<std::uint32_t> newest);
  void take_held(Time now, std::uint32_t number);
  void wait_for_gaps(Time now, std::uint32_t number);
  void request_gap(Time now, std::uint32_t number);
  void wait_for_response(Time now, std::uint32_t number);
  void response_gap(Time now, std::uint32_t number);
  void repeat_reads(QueuePair& pair, bool all);
  static void note_refused(QueuePair& pair);
  void answer_again(const Packet& request, QueuePair& pair);
  void take_nak(Time now, const Packet& nak);
  void note_cut(QueuePair& pair, Packet& packet);
  void note_sent(Time now, const Packet& packet, std::uint32_t number);
  void note_acknowledged(Time now, QueuePair& pair);
  Time form_repeat(Time now, Packet& packet, std::uint32_t number);
  void count_repeat(Packet& packet);
  void discount_repeat(const Packet& packet);
  static Job* job_of(QueuePair& pair, std::uint32_t psn);
  static Job* awaited_read(QueuePair& pair);
  static bool has_repeats(QueuePair& pair);
  static bool outstanding(QueuePair& pair);
  void timeout(Time now, std::uint32_t number);
  void fail(Time now, std::uint32_t number, Status reason);
  void flush(Time now, std::uint32_t number, const WorkRequest& request);
  [[nodiscard]] bool stands_in_error(const QueuePair& pair) const { return may_fail_ && has_failed(pair); }
  static bool has_failed(const QueuePair& pair);

  // Groups (group.cpp)
  static bool window_open(const QueuePair& pair) {
    const Group& group = pair.group();
    return group.window == 0 || pair.next_psn - group.results < group.window;
  }
  Fetched cut_group_packet(Time now, std::uint32_t number, Packet& packet);
  void receive_group(Time now, Packet& packet);
  Time take_result(Time now, const Packet& packet, std::uint32_t number);
  Time take_multicast(Time now, Packet& packet, std::uint32_t group);

  // Datagrams (datagram.cpp)
  Fetched cut_datagram(Time now, std::uint32_t number, Packet& packet);
  void receive_datagram(Time now, Packet& packet);
  Time take_datagram(Time now, Packet& packet, std::uint32_t number);
  void loop_back(Time now, Packet& packet);
  static std::uint32_t key_of(const Packet& packet) {
    return static_cast<std::uint32_t>(packet.address >> Packet::kAddressBits);
  }
  [[nodiscard]] bool is_open(Time now, const Packet& packet) const {
    const std::uint32_t key = key_of(packet);
    return key == 0 || regions_.covers(key, packet.address & Packet::kAddressMask, packet.payload_bytes, now);
  }

  // Contexts (context_cache.cpp)
  bool has_context(Time now, std::uint32_t number);
  bool has_context_to_send(Time now, std::uint32_t number);
  bool waits_for_context(Time now, Packet& packet);
  void take_context(Time now, std::uint32_t number);

  // Congestion (congestion/pacing.cpp)
  void choose_congestion();
  [[nodiscard]] std::unique_ptr<Congestion> make_congestion() const;
  void notify_congestion(Time now, const Packet& packet);
  bool may_cut(Time now, std::uint32_t number);
  void note_paced(Time now, std::uint32_t number, const Packet& packet);
  void note_left(Time now, const Packet& packet, std::uint32_t number);
  void note_heard(Time now, std::uint32_t number, std::uint32_t psn, std::uint32_t echo);
  void note_confirmed(Time now, std::uint32_t number, Acknowledged acknowledged, std::uint32_t echo);
  void echo(Time now, const Packet& packet, Packet& ack) const;
  [[nodiscard]] Time idle_round_trip() const;
  void note_lost(Time now, std::uint32_t number);
  void note_timed_out(Time now, std::uint32_t number, std::int64_t wire_bytes);
  void forget_from(std::uint32_t number, std::uint32_t psn);  ///< they go again

  Config config_;
  HostLink host_;
  const fabric::FabricConfig& network_;
  fabric::Transmitter transmitter_;
  RegisterFile register_file_;
  RegisterFile near_file_;
  BlockingInitiator initiator_;
  tlm::tlm_fw_transport_if<>* completion_target_ = nullptr;
  tlm::tlm_fw_transport_if<>* near_target_ = nullptr;
  std::unique_ptr<Explained> explained_;  ///< null where no critical path is kept
  std::unique_ptr<Phased> phased_;        ///< null where memory says at once when it will be done
  GroupEngine group_engine_;
  Random random_;  ///< of retries
  const CongestionScheme* scheme_ = nullptr;
  std::unique_ptr<Uet> uet_;  ///< null with another transport
  bool notifies_ = false;     ///< of packets that came marked
  Time notify_interval_;
  WayOut loop_;
  std::vector<std::vector<std::uint32_t>> attached_;  ///< by group: queue pairs of datagrams
  std::vector<Neighbour> neighbours_;
  Time taken_until_;  ///< work requests, from their doorbells
  std::int64_t loop_bytes_ = 0;
  Probe* probe_ = nullptr;
  int track_ = 0;
  Time drawn_from_;
  Time drawn_until_;
  std::int64_t drawn_bytes_ = 0;
};

}  // namespace weft::nic
