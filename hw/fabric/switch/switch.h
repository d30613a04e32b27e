// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/fixed_vector.h"
#include "hw/core/power.h"
#include "hw/core/probe.h"
#include "hw/fabric/link.h"
#include "hw/fabric/protocol.h"
#include "hw/fabric/reduction/reduction_engines.h"
#include "hw/fabric/switch/any_switch.h"
#include "hw/fabric/switch/output_arbiter.h"
#include "hw/fabric/switch/shared_buffer.h"
#include "hw/fabric/topology/group_trees.h"
#include "hw/fabric/topology/routing.h"

namespace weft::fabric {

/// A stage of a switch's pipeline: how long a packet takes through it, and how soon the next one may follow.
struct Stage {
  Time latency;
  Time interval;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("latency", latency, "Time of the stage for one packet", Range{0, 100'000'000});
    visit("interval", interval, "Time between the starts of two packets of one port", Range{0, 100'000'000});
  }
};

/// Explicit congestion notification (IEEE 802.1Qau, RFC 3168): a packet that has to queue behind `min` bytes for its
/// output is marked with a probability that rises to `probability` at `max`, and always above.
struct MarkingConfig {
  Bytes min;
  Bytes max;
  double probability = 0.01;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("min", min, "Bytes queued for an output from which packets are marked; 0: never", Range{0, 1LL << 40});
    visit("max", max, "Bytes queued from which every packet is marked", Range{0, 1LL << 40});
    visit("probability", probability, "Share of packets marked just below max", Range{0, 1});
  }
};

/// What a switch draws beside its links.
struct SwitchPower {
  Energy bit;
  Power idle;
  Power port;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("bit", bit, "Energy of a bit that leaves the switch, header included");
    visit("idle", idle, "Power drawn all the time, without the ports");
    visit("port", port, "Power that each wired port draws all the time, without its transceiver");
  }
};

/// An input-buffered switch: virtual output queues per input, lane and output; virtual cut-through.
///
/// A packet passes parse, route and admission at its input, then waits in its queue; an arbiter per output picks a lane
/// (round robin, or by `weights` with deficit round robin, Shreedhar and Varghese 1996), then an input (round robin);
/// crossbar and egress follow. With `flow_queues` the turns go by flow instead (stochastic fairness queueing, McKenney
/// 1990): a flow that shares its input with others then gets as much of an output as one that comes alone. The
/// latencies of the stages add up with `latency`; the interval of the slowest stage on either side of the queue bounds
/// the packets per second of a port. A packet is arbitrated so much before its output becomes free that an output under
/// load never idles for arbitration. With `arbiter` something behind pins chooses, such as RTL (OutputArbiter). One
/// that comes by a slower link asks for its output only when it can leave without a gap. With `speedup` an input passes
/// the crossbar at that many times its output's rate, one packet at a time; 0 lets it feed all outputs at once.
///
/// With credits the input buffer is the sender's to know and is given back when the last byte has left. Without, it is
/// a SharedBuffer: what does not fit pauses the sender or is dropped, by the link's flow control. A packet that finds
/// its output free and nobody waiting costs one event.
///
/// With `buffer.trim` (switch_trimming.cpp; packet trimming of the Ultra Ethernet Specification 1.0, 4.1) a packet that
/// finds so much in the queue of its output is cut to its header, or instead of it the newest that waits there, by the
/// toss of a coin. One that finds no room in the buffer is cut. Headers and what tells of
/// other packets wait on the last lane, which has ten turns for one of the others.
///
/// A packet for a group leaves by each port of the group's tree but the one that it came by; every copy waits and is
/// sent on its own, and the input buffer is free when the last one has left (switch_groups.cpp). An operand of a
/// reduction goes to the engine, and what comes out of it up the tree, or from the root down as the result.
///
/// Approximations: a damaged packet is dropped where it arrives, not passed on with a broken check; a packet waits in
/// the queue of the lane on which it will leave, so that none waits for credit of another lane; a packet that the
/// arbiter has chosen is not stopped by a pause that comes before it starts. Checked against closed forms in
/// tests/unit/fabric/switch_test.cpp and flow_control_test.cpp.
class Switch final : public AnySwitch, public EventTarget {
 public:
  struct Config {
    Time latency = Time(220'000);
    Stage parse;
    Stage route;
    Stage admission;
    Stage arbitration;
    ArbiterConfig arbiter;
    Stage crossbar;
    Stage egress;
    double speedup = 0;
    int flow_queues = 0;
    std::vector<int> weights;
    SharedBuffer::Config buffer;
    MarkingConfig marking;
    ReductionEngine::Config reduction;
    SwitchPower power;
    SwitchName implementation;
    Sections sections{names_for<SwitchModel>()};
    /// Time over which it measures the load of its outputs, to write it into packets (switch_load.cpp); 0: it does not.
    /// No field: congestion control that follows load has it set (CongestionScheme::needs_load).
    Time load_window;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("latency", latency, "First byte in to first byte out of an idle switch, beyond the latency of its stages",
            Range{0, 100'000'000});
      visit("parse", parse, "Parsing of the header");
      visit("route", route, "Choice of output and lane by the destination");
      visit("admission", admission, "Admission to the buffer");
      visit("arbitration", arbitration, "Choice of an output's next packet");
      visit("arbiter", arbiter, "Unit that makes that choice");
      visit("crossbar", crossbar, "Way from input to output");
      visit("egress", egress, "Rewriting of the packet, and its way to the wire");
      visit("speedup", speedup,
            "Rate at which an input passes the crossbar, as a multiple of its output's rate; 0: no limit",
            Range{0, 1024});
      visit("flow_queues", flow_queues,
            "Queues of each output and lane. Flows are spread over them by hash, and they take turns; 0: inputs take "
            "turns",
            Range{0, 1 << 15});
      visit("weights", weights, "Shares of the lanes in an output, in KiB a turn; empty: packet by packet in turn",
            Range{1, 1 << 16});
      visit("buffer", buffer, "Packet memory, if the links have no credits");
      visit("marking", marking, "Explicit congestion notification");
      visit("reduction", reduction, "The engine that adds packets");
      visit("power", power, "Power and energy");
      const std::string implementations = names_for<SwitchModel>().doc();
      visit("implementation", implementation, implementations);
      sections.fields(visit);
    }

    /// First byte in to first byte out of an idle switch.
    [[nodiscard]] Time total_latency() const;
  };
  /// `links` gives the outgoing direction of each port, all with as many lanes. `routes` must outlive the switch;
  /// `packets` takes what is dropped. Ports that are `joined` have no sockets.
  Switch(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, PacketPool& packets,
         const Routes& routes, const std::vector<LinkConfig>& links, const Stall::Config& stall,
         const std::vector<bool>& joined = {});
  ~Switch() override;

  bool join(std::uint32_t id, const Group& group) override;
  void leave(std::uint32_t id) override;
  void change_trees(const GroupTrees& trees) override { group_trees_ = &trees; }
  /// What waits for an output that is down then is routed again (switch_routes.cpp).
  void change_routes(Time at, const Routes& routes) override;
  void expect_slow_links() override { rates_differ_ = true; }
  void spread_over(const Planes& planes) override {
    if (engine_ != nullptr) engine_->spread_over(planes);
  }
  [[nodiscard]] Transmitter* sender(std::size_t port) const override { return inputs_[port].sender(); }
  [[nodiscard]] const ReductionEngine* engine() const override { return engine_.get(); }

  [[nodiscard]] std::size_t radix() const override { return ports_.size(); }
  Port& port(std::size_t index) override { return *ports_[index]; }
  ForwardCall& input(std::size_t port) override { return inputs_[port]; }
  void join(std::size_t port, AnySwitch& other, std::size_t other_port) override;
  void take_from(std::size_t port, Transmitter& sender) override { inputs_[port].join(sender); }

  [[nodiscard]] const Counters& counters() const override { return counters_; }
  [[nodiscard]] PortCounters port_counters(std::size_t index) const override {
    PortCounters counters = port_counters_[index];
    counters.most_queued = outputs_[index].most_waiting_bytes;  // kept where every packet that waits looks
    return counters;
  }
  /// Null where the links have credits.
  [[nodiscard]] const SharedBuffer* buffer() const { return buffer_.get(); }
  Transmitter& transmitter(std::size_t index) override { return transmitters_[index]; }
  /// Draws how many bytes wait for each output that is ever contended: the most in each microsecond, and in intervals
  /// twice as long after each 4,096 that were drawn, so that a picture of a long run can be opened.
  void record(Probe& probe, const std::string& process) override;
  void finish_drawing() override;
  void record(Waves& waves) override;
  [[nodiscard]] std::int64_t waiting() const override;

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t tag) const override;
  void prepare(std::uint32_t tag, std::uint64_t data) override;

 private:
  /// The forward interface of one port's input.
  class alignas(64) Input final : public Receiver {
   public:
    Input(Switch& owner, std::uint32_t port) : owner_(&owner), port_(port) {}
    tlm::tlm_sync_enum nb_transport_fw(Packet& packet, Phase& phase, sc_core::sc_time& delay) override;
    void resolve(TargetSocket& socket) {
      peer_ = socket.operator->();
      sender_ = dynamic_cast<Transmitter*>(peer_);
    }
    void join(Transmitter& sender) {
      peer_ = &sender;
      sender_ = &sender;
    }
    [[nodiscard]] Transmitter* sender() const { return sender_; }
    /// Gives the buffer space of `bytes` on `lane` back to the sender.
    void release(std::uint8_t lane, std::uint32_t bytes, Time delay) { tell(Phase::kCredit, lane, bytes, delay); }
    void tell(Phase phase, std::uint8_t lane, std::uint32_t bytes, Time delay) {
      Packet& notice = owner_->notice_;
      notice.lane = lane;
      notice.wire_bytes = bytes;
      sc_core::sc_time annotated = to_delay(delay);
      peer_->nb_transport_bw(notice, phase, annotated);
    }

    /// A packet that came at `now` will wait.
    void waits(Time now, const Packet& packet) {
      latest_ = &packet;
      tail_at_ = now + Time(packet.tail_lag_ps);
    }
    /// What has not come yet of a packet that waited: only the latest one's last byte can be missing.
    [[nodiscard]] Time missing(Time now, const Packet& packet) const {
      return latest_ == &packet && tail_at_ > now ? tail_at_ - now : Time();
    }

    Time ingress_free;

   private:
    Switch* owner_;
    std::uint32_t port_;
    BackwardCall* peer_ = nullptr;
    Transmitter* sender_ = nullptr;  ///< the same, if it is one of ours
    const Packet* latest_ = nullptr;
    Time tail_at_;
  };

  /// What a port's packets touch at the other end of its link, to be prefetched.
  struct Neighbour {
    const ForwardCall* receiver;
    const Transmitter* sender;  ///< null if it is not one of ours
  };
  struct Queue {
    Packet* head = nullptr;
    Packet* tail = nullptr;
  };
  /// Queues of neighbouring inputs, made when one of them has to wait: most of a large switch's never do.
  static constexpr std::uint32_t kQueuesOfBlock = 8;
  using Block = std::array<Queue, kQueuesOfBlock>;
  /// Where the queues of a lane are, made when a packet has to wait on it.
  struct LaneQueues {
    std::unique_ptr<std::uint64_t[]> nonempty;  ///< per output, a bit per input with a packet
    std::unique_ptr<std::uint32_t[]> blocks;    ///< by output and block of inputs: in `queues_`; 0: none
  };
  /// Arbitration state of one output; its queues and bitmaps are in arrays of the switch.
  struct alignas(64) Output {
    Time service_at = kNever;  ///< when its next arbitration is scheduled
    Time next_grant;           ///< the slowest stage's interval after the last
    Time blocked_since = kNever;
    std::int64_t waiting_bytes = 0;
    std::int64_t most_waiting_bytes = 0;
    std::uint32_t waiting = 0;
    std::array<std::uint16_t, 8> next_input{};  ///< by lane
    std::uint8_t next_lane = 0;
    std::uint8_t lanes = 0;  ///< a bit per lane with a packet
  };

  void prefetch_output(std::uint32_t output) const {
    __builtin_prefetch(&outputs_[output]);
    transmitters_[output].prefetch();
    __builtin_prefetch(neighbours_[output].receiver);
  }
  void end_of_elaboration() override;
  void arrive(Time now, std::uint32_t input, Packet& packet);
  bool enter(Time now, Packet& packet);
  bool admit(Time now, Packet& packet);
  void pause(Time now, std::uint32_t input, std::uint8_t lane, Phase phase);
  void collect(Time now);
  void discard(Time now, Packet& packet);
  bool must_come_in(Time now, std::uint32_t output, Packet& packet);
  void dispatch(Time now, Packet& packet);
  [[nodiscard]] std::uint32_t route(Time now, Packet& packet) const;
  [[nodiscard]] std::uint32_t least_queued(Time now, const Choices& choices) const;
  void send_by(Time now, std::uint32_t output, std::uint32_t lane, Packet& packet);
  void release(Time now, std::uint32_t input, std::uint8_t lane, std::uint32_t bytes, Time gone);
  void handle_group(Time now, Packet& packet);
  void reduce(Time now, std::uint32_t group, Packet& packet);
  void emit(Time now, Packet& packet);
  void emit_whole(Time now, Packet& packet);
  void replicate(Time now, const Group& group, Packet& packet);
  std::uint16_t original_of(Time now, const Packet& packet, std::size_t copies);
  void copy_left(Time now, std::uint16_t original, Time gone);
  [[nodiscard]] std::uint32_t tree_of(Time now, Packet& packet) const;
  void send_copy(Time now, std::uint32_t output, const Group& group, Packet& packet);
  void drop_copy(Time now, Packet& packet);
  void serve(Time now, std::uint32_t output);
  void forward(Time now, std::uint32_t output, std::uint32_t lane, Packet& packet);
  /// True if it is the first of its queue.
  bool enqueue(std::uint32_t output, std::uint32_t lane, Packet& packet);
  /// The same, for what is rare enough to be called from other files.
  bool let_wait(std::uint32_t output, std::uint32_t lane, Packet& packet);
  void draw(std::uint32_t output);
  void mark(std::uint32_t output, Packet& packet);
  void find_last_hops();
  [[nodiscard]] static bool is_urgent(const Packet& packet);
  bool cut(Time now, Packet& packet, bool held);
  bool cut_at_output(Time now, std::uint32_t output, Packet& packet);
  bool cut_newest(Time now, std::uint32_t output);
  std::uint32_t lane_to_wait(Time now, std::uint32_t output, std::uint32_t lane, Packet& packet);
  [[nodiscard]] std::uint32_t lane_in_turn(std::uint32_t output);
  [[nodiscard]] std::uint32_t urgent_lane() const { return lanes_ - 1; }
  void note_load(Time now, std::uint32_t output, Packet& packet);
  Packet* dequeue(std::uint32_t output, std::uint32_t lane, std::uint32_t input);
  /// The input whose turn it is among those with a packet and a free crossbar; else -1, and `free` is when the first
  /// crossbar is.
  [[nodiscard]] int pick_input(std::uint32_t output, std::uint32_t lane, Time now, Time& free) const;
  enum class Turn : std::uint8_t { kSent, kTooShort, kNothing };
  Turn serve_lane(Time now, std::uint32_t output, std::uint32_t lane);
  void send_first(Time now, std::uint32_t output, std::uint32_t lane, std::uint32_t input);
  void serve_by_weight(Time now, std::uint32_t output);
  void arm(Time now, std::uint32_t output);
  void serve_at(Time now, std::uint32_t output, Time at, Time free);
  void build_arbiters();
  template <typename What>
  void for_each_queue(Time now, std::uint32_t output, const What& what);
  void look(Time now, std::uint32_t output, ArbiterInputs& inputs);
  void ask(Time now, std::uint32_t output);
  void arm_to_ask(Time now, std::uint32_t output);
  void grant(Time now, std::uint32_t output, std::uint32_t lane, std::uint32_t input);
  Time first_credit(Time now, std::uint32_t output);
  void take_changed_routes(Time now);
  void route_again(Time now, std::uint32_t output);
  bool waits_for_routes(Time now, std::uint32_t output, Time at);
  std::uint32_t& block_of(std::uint32_t output, std::uint32_t lane, std::uint32_t input) {
    return lane_queues_[lane].blocks[output * blocks_ + input / kQueuesOfBlock];
  }
  /// Of a lane that is made; empty for good where nothing has waited yet.
  Queue& queue(std::uint32_t output, std::uint32_t lane, std::uint32_t input) {
    return queues_[block_of(output, lane, input)][input % kQueuesOfBlock];
  }
  [[nodiscard]] std::uint32_t source_of(const Packet& packet) const {
    return by_flow_ ? Routes::flow_hash(packet) % sources_ : packet.ingress;
  }
  [[nodiscard]] bool is_made(std::uint32_t lane) const { return lane_queues_[lane].blocks != nullptr; }
  void make_lane(std::uint32_t lane);
  /// Of a lane that is made.
  [[nodiscard]] std::uint64_t* bitmap(std::uint32_t output, std::uint32_t lane) const {
    return &lane_queues_[lane].nonempty[output * words_];
  }

  // What every packet touches comes first.
  Packet notice_;  ///< what goes back to senders: only lane and wire bytes mean something, so it is made once
  Dispatcher& dispatcher_;
  const Routes* routes_;
  Time careful_from_ = kNever;  ///< routes change, or may lead nowhere
  Probe* probe_ = nullptr;
  Time latency_;
  Time spent_;  ///< of the latency, by the sum that is being sent
  std::uint32_t lanes_;
  std::uint32_t sources_;  ///< of queues: inputs, and the engine where there is one; or flows by their hash
  std::uint32_t words_;
  std::uint32_t blocks_;       ///< of queues, for the sources of a lane
  std::uint32_t largest_ = 0;  ///< wire bytes of any packet that has waited
  bool inspects_;              ///< something other than routing happens to what arrives
  bool limits_crossbar_;
  bool has_arbiters_;
  bool by_flow_;
  bool rates_differ_;  ///< of its links
  bool marks_;
  bool weighs_;
  bool measures_load_;
  bool trims_;
  Time ingress_interval_;
  Time egress_interval_;
  std::unique_ptr<SharedBuffer> buffer_;
  FixedVector<Input> inputs_;
  std::vector<Output> outputs_;
  FixedVector<Transmitter> transmitters_;
  std::vector<Neighbour> neighbours_;  // by port
  std::array<LaneQueues, LinkConfig::kMostLanes> lane_queues_;
  std::vector<Block> queues_ = std::vector<Block>(1);
  Counters counters_;
  std::vector<PortCounters> port_counters_;
  std::vector<std::unique_ptr<Port>> ports_;
  Config config_;
  PacketPool& packets_;
  FlowControl flow_control_;
  std::vector<std::int64_t> quanta_;    // bytes a turn by lane; empty for plain round robin
  std::vector<std::int64_t> deficits_;  // by output and lane
  std::vector<Time> crossbar_free_;     // by source
  std::unique_ptr<ReductionEngine> engine_;
  std::vector<std::unique_ptr<OutputArbiter>> arbiters_;  ///< by output; none where the model chooses
  std::vector<std::unique_ptr<Group>> groups_;            // by number of the tree
  const GroupTrees* group_trees_ = nullptr;
  /// A packet of which copies are here, and what its input buffer waits for, or that of the engine's sums.
  struct Original {
    std::uint32_t copies = 0;
    std::uint32_t bytes = 0;  ///< in that buffer
    std::uint16_t ingress = 0;
    std::uint8_t lane = 0;
    Time gone;
  };
  struct Change {
    Time at;
    const Routes* routes;
  };
  std::vector<Change> changes_;
  std::size_t changed_ = 0;  ///< how many of them hold
  Time change_posted_ = kNever;
  std::vector<Original> originals_;
  std::vector<std::uint16_t> free_originals_;
  std::vector<std::uint16_t> copied_to_;  ///< of the packet that is being copied: ports
  std::vector<Packet*> copies_;           ///< likewise, and what goes there
  Random random_;
  /// Load of an output, of which the next packet tells.
  struct Load {
    double share = 0;
    Time at;
  };
  std::vector<Load> loads_;  ///< by output; empty where none is measured
  /// Of an output: what has come last of those that may be cut; it may have left.
  struct Newest {
    const Packet* packet = nullptr;
    std::uint32_t source = 0;
    std::uint32_t lane = 0;
  };
  std::vector<Newest> newest_;              ///< empty where none is cut
  std::vector<std::int64_t> urgent_bytes_;  ///< that wait for an output, of those waiting; empty where none is cut
  std::vector<std::uint8_t> urgent_turns_;  ///< by output: in a row
  std::vector<bool> last_hops_;             ///< by output: it leads to an end
  /// What waited for an output in the interval that began at `from`.
  struct Depth {
    static constexpr int kUndeclared = -2;
    int track = kUndeclared;  ///< negative if it is not drawn
    std::uint32_t drawn = 0;  ///< intervals
    Time from;
    Time interval = Time(1'000'000);
    std::int64_t most = 0;
    std::int64_t last = 0;
  };
  void draw(const Depth& depth);
  std::string process_;
  std::vector<Depth> depths_;
};

}  // namespace weft::fabric
