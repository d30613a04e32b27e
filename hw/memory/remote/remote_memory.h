// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tlm>
#include <tuple>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/element.h"
#include "hw/core/fields.h"
#include "hw/core/fixed_vector.h"
#include "hw/core/quantity.h"
#include "hw/core/slots.h"
#include "hw/core/stall.h"
#include "hw/memory/remote/remote_config.h"
#include "hw/memory/remote/remote_target.h"

namespace weft::memory {

enum class RemoteKind : std::uint8_t { kPerAccelerator, kPerNode, kPool, kHierarchical };
inline EnumNames<RemoteKind> enum_names(RemoteKind /*tag*/) {
  return {{"per-accelerator", RemoteKind::kPerAccelerator},
          {"per-node", RemoteKind::kPerNode},
          {"pool", RemoteKind::kPool},
          {"hierarchical", RemoteKind::kHierarchical}};
}

/// Memory beyond the accelerators' own, behind a base-protocol socket for each accelerator: one memory for each
/// accelerator or each node, one that all share, or the hierarchical pool of ASTRA-sim 2. There, memory groups stand
/// behind switches outside of the nodes; each such switch has a link to each node; a node's fabric joins its links with
/// a port for each of its accelerators. Chunks of the address space lie in the groups in turn, and group g is behind
/// switch g modulo their number.
///
/// Timing: a request is cut at multiples of `chunk`. Each piece takes its memory, link and port one after the other
/// (a store the other way round), each for its bytes at that resource's rate, first come first served, and is stored
/// and forwarded: so several pieces under way are a pipeline. Links and ports are full duplex; a memory serves loads
/// and stores alike. Latencies do not occupy anything. Requests themselves and acknowledgements take no bandwidth.
///
/// With `in_switch`, requests that carry an InSwitch extension are collectives of a group of accelerators; a request
/// lies within one chunk, and the nth loads (or stores) of all members must be alike. A load is served when the last
/// member has asked: the chunk leaves its memory once, crosses the link to each node once, and every port. A store is
/// added up in the node and again outside of it: a link is taken when all members of its node have delivered, the
/// memory when all nodes have. Adding keeps pace with the links. Sums are taken in the order of accelerators.
///
/// Function: with `data` on, bytes are stored sparsely and move when the last piece of a request is done.
/// nb_transport_fw takes any number of requests (END_REQ at once) and answers later with BEGIN_RESP; b_transport books
/// all stages ahead and annotates the delay, for plain requests alone. Debug transport moves bytes in no time; no DMI.
/// Bytes of a plain request that are not enabled are left alone. An address at or beyond `capacity` gets
/// TLM_ADDRESS_ERROR_RESPONSE; a collective that crosses chunks TLM_BURST_ERROR_RESPONSE, one with byte enables
/// TLM_BYTE_ENABLE_ERROR_RESPONSE; one of no known group, or unlike the other members', TLM_GENERIC_ERROR_RESPONSE;
/// other errors are those of check_attributes.
///
/// Left out: what memories are made of, pages, placement other than in turn, losses.
class RemoteMemory final : public RemoteTarget, public EventTarget {
 public:
  struct Hierarchy {
    int groups = 256;
    int switches = 16;
    Rate out_node = Rate(256LL * 8'000'000'000);
    Time out_node_latency = Time(500'000);
    Rate in_node = Rate(256LL * 8'000'000'000);
    Time in_node_latency = Time(300'000);
    bool in_switch = false;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("groups", groups, "Memory groups", Range{1, 1 << 16});
      visit("switches", switches, "Switches outside the nodes; the groups are shared out among them",
            Range{1, 1 << 12});
      visit("out_node", out_node, "Rate from such a switch to a node, each way", Range{1'000'000, 1LL << 60});
      visit("out_node_latency", out_node_latency, "Latency of such a link with its switch", Range{0, 1'000'000'000});
      visit("in_node", in_node, "Rate from a node's fabric to an accelerator, each way", Range{1'000'000, 1LL << 60});
      visit("in_node_latency", in_node_latency, "Latency of the fabric within a node", Range{0, 1'000'000'000});
      visit("in_switch", in_switch, "Switches gather loads and add up stores of groups of accelerators");
    }
  };
  struct Config : RemoteFields {
    RemoteKind kind = RemoteKind::kPool;
    Hierarchy hierarchy;
  };
  /// Of a memory, or of one direction of a link or port.
  struct Counters {
    std::int64_t pieces = 0;
    std::int64_t bytes = 0;
    Time busy;
  };
  struct Totals {
    std::int64_t loads = 0;  ///< requests
    std::int64_t stores = 0;
    std::int64_t loaded_bytes = 0;  ///< as accelerators see them
    std::int64_t stored_bytes = 0;
    std::int64_t gathers = 0;  ///< chunks that went to all of a group
    std::int64_t reductions = 0;
    std::uint64_t highest = 0;  ///< the end of what has been touched, in any one memory
  };
  enum Direction : std::uint8_t { kLoad, kStore, kDirections };

  /// For `accelerators` in nodes of `per_node`. Throws ConfigError, below `remote_memory`.
  RemoteMemory(sc_core::sc_module_name name, const Config& config, int accelerators, int per_node,
               Dispatcher& dispatcher, bool data, const Stall::Config& stall);
  ~RemoteMemory() override;

  Socket& socket(std::size_t accelerator) override { return ports_[accelerator].socket; }
  std::uint32_t create_group(const std::vector<std::uint32_t>& accelerators) override;

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::size_t memories() const { return memories_.size(); }
  [[nodiscard]] const Counters& memory(std::size_t index) const { return memories_[index].counters; }
  /// A hierarchical pool's; others have none.
  [[nodiscard]] bool has_links() const { return config_.kind == RemoteKind::kHierarchical; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] const Counters& link(Direction direction, int of_switch, int node) const {
    return links_[direction][static_cast<std::size_t>(of_switch) * static_cast<std::size_t>(nodes_) +
                             static_cast<std::size_t>(node)]
        .counters;
  }
  [[nodiscard]] const Counters& port(Direction direction, std::size_t accelerator) const {
    return in_ports_[direction][accelerator].counters;
  }
  [[nodiscard]] std::size_t spaces() const override { return stores_.size(); }
  [[nodiscard]] std::size_t space_of(std::size_t accelerator) const override;
  [[nodiscard]] Bytes capacity() const override { return config_.capacity; }
  BackingStore& store(std::size_t space) override { return stores_[space]; }
  [[nodiscard]] std::uint64_t ways() const override { return has_links() ? memories_.size() : 1; }
  [[nodiscard]] bool runs_collectives() const override { return config_.hierarchy.in_switch; }

  /// Collectives that some members have not come to, one line each.
  [[nodiscard]] std::vector<std::string> left_over() const override;

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t /*tag*/) const override { return CauseKind::kRemoteMemory; }

 private:
  struct Port final : public tlm::tlm_fw_transport_if<> {
    Port(RemoteMemory& owner_memory, std::uint32_t number)
        : socket(("from_" + std::to_string(number)).c_str()), owner(owner_memory), index(number) {
      socket.bind(*this);
    }
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    bool get_direct_mem_ptr(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_dmi& /*dmi*/) override { return false; }
    unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override;

    Socket socket;
    RemoteMemory& owner;
    std::uint32_t index;
    Time begins;                          ///< when the latest request gets here
    std::deque<std::uint32_t> responses;  ///< requests that are done; the first one's response is out if `responding`
    bool responding = false;
  };
  /// What serves one piece after the other.
  struct Resource {
    Time free;
    Counters counters;
  };
  struct Request {
    tlm::tlm_generic_payload* payload = nullptr;
    std::uint32_t port = 0;
    std::uint32_t pieces = 0;  ///< that are not done
  };
  struct Piece {
    std::uint32_t request = 0;
    std::uint32_t memory = 0;
    std::int64_t bytes = 0;
  };
  struct Group {
    struct Node {
      std::uint32_t number = 0;
      std::uint32_t begin = 0;  ///< its members among the group's
      std::uint32_t end = 0;
    };
    std::vector<std::uint32_t> members;  ///< accelerators, ascending
    std::vector<std::int64_t> place_of;  ///< by accelerator: among the members, -1 for none
    std::vector<Node> nodes;
    std::vector<std::uint32_t> node_of;                        ///< by member: among the nodes
    std::array<std::vector<std::uint64_t>, kDirections> next;  ///< by member: the number of its next request
  };
  /// A chunk's collective, from the first member's request on.
  struct Flow {
    std::uint32_t group = 0;
    Direction direction = kLoad;
    std::uint64_t number = 0;
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    ElementType type = ElementType::kFp32;
    std::uint32_t missing = 0;            ///< members that have not asked
    std::uint32_t nodes_left = 0;         ///< that the chunk has not come to, or from
    std::vector<std::uint32_t> left;      ///< of a store, by node: members whose bytes are not in it
    std::vector<std::uint32_t> requests;  ///< by member; kNone before it has asked
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;
  using FlowName = std::tuple<std::uint32_t, Direction, std::uint64_t>;

  [[nodiscard]] bool in_range(const tlm::tlm_generic_payload& payload) const;
  [[nodiscard]] tlm::tlm_response_status check(const tlm::tlm_generic_payload& payload, std::size_t port) const;
  [[nodiscard]] std::uint32_t memory_of(std::size_t port, std::uint64_t address) const;
  [[nodiscard]] Resource& link_to(Direction direction, std::uint32_t memory, std::uint32_t node);
  [[nodiscard]] std::uint32_t node_of(std::size_t port) const {
    return static_cast<std::uint32_t>(port) / static_cast<std::uint32_t>(per_node_);
  }
  static Time book(Resource& resource, Time arrives, std::int64_t bytes, const ByteTime& byte_time);
  Time pass(std::uint32_t stage, Direction direction, const Piece& piece, std::uint32_t port, Time arrives);
  [[nodiscard]] std::uint32_t first_stage(Direction direction) const;
  [[nodiscard]] std::uint32_t stage_after(std::uint32_t stage, Direction direction) const;
  void step(Time now, std::uint32_t stage, std::uint32_t piece);
  [[nodiscard]] std::vector<Piece> cut(const tlm::tlm_generic_payload& payload, std::uint32_t port) const;
  void account(const tlm::tlm_generic_payload& payload);
  void move_bytes(tlm::tlm_generic_payload& payload, std::size_t port);

  void begin(Time now, std::uint32_t request);
  void piece_done(std::uint32_t piece);
  void finish(std::uint32_t request, tlm::tlm_response_status status);
  void respond(Port& port);

  // In-switch collectives.
  [[nodiscard]] tlm::tlm_response_status check(const InSwitch& asked, const tlm::tlm_generic_payload& payload,
                                               std::size_t port) const;
  void join(Time now, std::uint32_t request, const InSwitch& asked);
  void gather_to_nodes(Time now, std::uint32_t flow);
  void gather_to_ports(Time now, std::uint32_t flow, std::uint32_t place);
  void reduce_in_node(Time now, std::uint32_t flow, std::uint32_t place);
  void reduce_outside(Time now, std::uint32_t flow);
  void reduce_done(std::uint32_t flow);
  void add_up(const Flow& flow);
  std::uint32_t open(const FlowName& name, const tlm::tlm_generic_payload& payload, ElementType type);

  Config config_;
  int per_node_;
  int nodes_;
  Dispatcher& dispatcher_;
  bool data_;
  Stall stall_;
  ByteTime memory_time_;
  ByteTime link_time_;
  ByteTime port_time_;
  FixedVector<Port> ports_;
  std::vector<Resource> memories_;
  std::array<std::vector<Resource>, kDirections> links_;     ///< by switch and node
  std::array<std::vector<Resource>, kDirections> in_ports_;  ///< by accelerator
  std::vector<BackingStore> stores_;
  Slots<Request> requests_;
  Slots<Piece> pieces_;
  std::vector<Group> groups_;
  Slots<Flow> flows_;
  std::map<FlowName, std::uint32_t> open_;  ///< flows that members can still come to
  Totals totals_;
};

}  // namespace weft::memory
