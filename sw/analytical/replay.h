// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "hw/core/fifo.h"
#include "sw/analytical/agenda.h"
#include "sw/analytical/collectives.h"
#include "sw/analytical/end_statistics.h"
#include "sw/analytical/end_timeline.h"
#include "sw/analytical/network.h"
#include "sw/dimensions/workload.h"
#include "traces/chakra/window.h"

namespace weft::analytical {

enum class RemoteMemory : std::uint8_t { kNone, kPerEnd, kPerNode, kPool };
inline EnumNames<RemoteMemory> enum_names(RemoteMemory /*tag*/) {
  return {{"none", RemoteMemory::kNone},
          {"per-end", RemoteMemory::kPerEnd},
          {"per-node", RemoteMemory::kPerNode},
          {"pool", RemoteMemory::kPool}};
}

/// What an end is, as ASTRA-sim's system.json and remote memory file say it (their keys in quotes).
struct EndConfig {
  bool roofline = false;      ///< "roofline-enabled": compute nodes take their operations, else their duration
  bool replay_only = false;   ///< "replay-only": every node takes its duration
  double peak_tflops = 0;     ///< "peak-perf"
  double memory_GBps = 1600;  ///< "local-mem-bw"
  RemoteMemory remote_memory = RemoteMemory::kNone;  ///< "memory-type"
  double remote_latency_ns = 0;                      ///< "remote-mem-latency"
  double remote_GBps = 1;                            ///< "remote-mem-bw"
  int ends_per_node = 1;                             ///< "num-npus-per-node"
  BusConfig bus;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("roofline", roofline, "Compute nodes take the time of their operations and bytes; false: their duration");
    visit("replay_only", replay_only, "Every node takes its duration");
    visit("peak_tflops", peak_tflops, "Peak of the roofline, in 10^12 operations a second",
          Range{0, 1'000'000'000'000});
    visit("memory_GBps", memory_GBps, "Rate of the local memory, in 10^9 bytes a second",
          Range{0, 1'000'000'000'000, true});
    visit("remote_memory", remote_memory, "Who shares a remote memory");
    visit("remote_latency_ns", remote_latency_ns, "Latency of a load or store", Range{0, 1'000'000'000'000});
    visit("remote_GBps", remote_GBps, "Rate of a remote memory, in 10^9 bytes a second", Range{0, 1'000'000'000'000});
    visit("ends_per_node", ends_per_node, "Ends that share a remote memory of kind per-node", Range{1, 1 << 24});
    visit("bus", bus, "Bus that messages pass within an end");
  }
};

/// Ends wait for each other, or for nobody. The text says who waits for what.
class ReplayError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Chakra traces, one for each end, on an analytical network with the rules of ASTRA-sim.
///
/// A BROADCAST takes its recorded duration; REDUCE, GATHER and SCATTER are refused.
///
/// An end does one compute node at a time, one of its CPU, and one of what communicates or moves memory; receives wait
/// beside these. Ready nodes go in the order of their ids. A send ends when its message has arrived. Metadata takes no
/// time. A memory node takes floor(latency + floor(bytes / rate)), one at a time for a node's or a pool's memory.
///
/// It begins when the simulation starts. Where a collective has an implementation of its own, `custom` names the prefix
/// of Chakra files whose sends, receives and compute nodes are executed in its place, each as soon as it is ready
/// (dimensions::CustomPlace); compute nodes take their durations there. Other nodes in such files are refused.
///
/// With `replay_only` nothing is read of a node but its type, its duration and whether it is the CPU's, where
/// communication can be as well.
class Replay final : public sc_core::sc_module, public EventTarget, Listener, Actor {
 public:
  /// Attaches itself. The collectives of the network are its own. Throws traces::FormatError for files that are missing
  /// or damaged, and ConfigError.
  Replay(sc_core::sc_module_name name, Dispatcher& dispatcher, Network& network, const CollectiveConfig& collectives,
         const EndConfig& end, dimensions::Workload traces);
  ~Replay() override;

  /// Draws the nodes of the first `ends` ends; before the run.
  void record(Probe& probe, std::uint32_t ends);

  /// After the run, which throws a traces::FormatError for what a trace asks for, or a ConfigError: throws a
  /// ReplayError unless all ends have done their traces.
  void check_finished() const;

  /// When an end had done its trace.
  [[nodiscard]] Time finished_at(std::uint32_t end) const { return ends_[end].finished; }
  [[nodiscard]] std::uint64_t nodes() const { return nodes_; }
  /// What an end that has done its trace spent its time on.
  /// `now`: of an end that has not done it.
  [[nodiscard]] EndReport report(std::uint32_t end, Time now) const {
    return statistics_.report(end, std::min(finished_at(end), now), end_.roofline && !end_.replay_only);
  }
  /// Where ASTRA-sim would have stopped with an error or never ended, and this has gone on: a sentence each. After the
  /// run.
  [[nodiscard]] std::vector<std::string> remarks() const;

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  void act(Time now, std::uint64_t what) override;

 private:
  enum Resource : std::uint8_t { kCpu, kCompute, kCommunication, kReceiving, kResources };

  struct HigherId {
    bool operator()(const chakra::Node* a, const chakra::Node* b) const { return a->id > b->id; }
  };
  /// A graph that an end works off: its trace, or a collective's own implementation.
  struct Graph {
    std::uint32_t end = 0;
    std::unique_ptr<chakra::TraceWindow> window;
    bool limited = true;                                  ///< one node of a resource at a time
    std::uint64_t instance = 0;                           ///< the same for the graphs of ends that talk to each other
    const std::vector<std::uint32_t>* members = nullptr;  ///< that its peers are numbers of; null: all ends
    Graph* parent = nullptr;
    const chakra::Node* parent_node = nullptr;
    std::array<std::priority_queue<const chakra::Node*, std::vector<const chakra::Node*>, HigherId>, kResources> ready;
    std::array<bool, kResources> busy{};
  };
  struct End {
    Graph trace;
    std::map<std::uint64_t, std::uint64_t> customs;  ///< collectives' own implementations that have run, by group
    Time finished = kNever;
  };
  /// What an event or a collective's token stands for.
  struct Work {
    Graph* graph = nullptr;
    const chakra::Node* node = nullptr;
  };
  /// A remote memory that several ends share: it moves one thing at a time.
  struct SharedMemory {
    bool busy = false;
    Fifo<std::uint64_t> waiting;  ///< works
  };

  void start_of_simulation() override;
  void collective_done(Time now, std::uint32_t rank, std::uint64_t token) override;
  void advance(Time now, Graph& graph);
  void issue_ready(Time now, Graph& graph);
  void issue(Time now, Graph& graph, const chakra::Node& node);
  void begun(Time now, const Graph& graph, const chakra::Node& node);
  void ended(Time now, const Graph& graph, const chakra::Node& node);
  void done(Time now, Work work);
  void finish(Time now, Graph& graph);
  [[nodiscard]] Resource resource_of(const chakra::Node& node) const;
  [[nodiscard]] static Time duration_of(const chakra::Node& node);
  [[nodiscard]] std::uint32_t involved_in(const chakra::Node& node, Operation operation);
  [[nodiscard]] Time compute_time(const Graph& graph, const chakra::Node& node);
  [[nodiscard]] Time remote_memory_time(const Graph& graph, const chakra::Node& node) const;
  [[nodiscard]] std::uint32_t memory_of(const Graph& graph) const;
  void issue_memory(Time now, Graph& graph, const chakra::Node& node);
  void move_memory(Time now, std::uint64_t work);
  void memory_is_free(Time now, std::uint32_t memory);
  void issue_collective(Time now, Graph& graph, const chakra::Node& node);
  void start_custom(Time now, Graph& graph, const chakra::Node& node, const std::filesystem::path& prefix,
                    const dimensions::CustomPlace& place);
  void issue_send(Time now, Graph& graph, const chakra::Node& node);
  void issue_receive(Time now, Graph& graph, const chakra::Node& node);
  void call_done(Time at, Graph& graph, const chakra::Node& node);
  [[nodiscard]] std::string receives_left() const;
  [[nodiscard]] std::string partly_begun() const;
  [[nodiscard]] std::string different_orders() const;
  [[nodiscard]] std::string numbered_apart(const Collectives::Mismatch& found) const;
  [[nodiscard]] std::string group_text(std::uint32_t id) const;
  /// " in dimension 0"; empty for all.
  [[nodiscard]] std::string dimensions_text(std::uint32_t involved) const;
  static constexpr std::uint64_t kPurpose = 1ULL << 62;  // of messages that are not of collectives
  // What it has on the agenda: a work or a memory, and one of these.
  static constexpr std::uint64_t kKinds = 2;
  static constexpr std::uint64_t kNodeDone = 0;
  static constexpr std::uint64_t kMemoryFree = 1;
  std::uint64_t remember(Work work);
  Work recall(std::uint64_t token);
  [[noreturn]] static void fail(const Graph& graph, const chakra::Node& node, const std::string& message);
  [[nodiscard]] static std::int64_t need(const Graph& graph, const chakra::Node& node,
                                         std::optional<std::int64_t> value, const char* attribute);
  [[nodiscard]] Mailboxes::Message message(const Graph& graph, const chakra::Node& node, bool sends) const;

  Dispatcher& dispatcher_;
  Network& network_;
  Agenda& agenda_;
  std::uint32_t actor_;
  EndConfig end_;
  dimensions::Workload traces_;
  std::shared_ptr<chakra::RecordPool> records_ = std::make_shared<chakra::RecordPool>();  ///< of all windows
  Collectives collectives_;
  EndStatistics statistics_;
  std::unique_ptr<EndTimeline> timeline_;  ///< null where nothing is drawn
  std::map<std::string, Group> groups_;
  std::deque<End> ends_;
  std::unordered_map<const Graph*, std::unique_ptr<Graph>> customs_;
  std::map<std::uint32_t, SharedMemory> memories_;  ///< by node
  std::vector<Work> works_;
  std::vector<std::uint64_t> free_works_;
  std::uint64_t nodes_ = 0;
  bool had_short_ = false;  ///< an involved_dim that does not name all dimensions
  bool left_out_ = false;   ///< dimensions, since a collective has no involved_dim
  bool had_metadata_ = false;
};

}  // namespace weft::analytical
