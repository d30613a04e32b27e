// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "hw/accelerator/kernel.h"
#include "hw/core/probe.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/line/dimensional.h"
#include "sw/collectives/reference.h"
#include "sw/collectives/shared_buffers.h"
#include "sw/collectives/tally.h"
#include "sw/collectives/watch.h"
#include "sw/dimensions/workload.h"
#include "sw/firmware/rank.h"
#include "sw/schedules/collective_kernel.h"
#include "sw/schedules/graph/begin_order.h"
#include "sw/schedules/graph/graph_steady.h"
#include "sw/schedules/graph/host_clock.h"
#include "sw/schedules/graph/kernel_names.h"
#include "sw/schedules/graph/messages.h"
#include "sw/schedules/phase_row.h"
#include "sw/schedules/remote_transfers.h"
#include "traces/chakra/kernels.h"
#include "traces/chakra/window.h"

namespace weft::schedules {

enum class ComputeTime : std::uint8_t { kAuto, kKernels, kDuration, kOperations };
inline EnumNames<ComputeTime> enum_names(ComputeTime /*tag*/) {
  return {{"auto", ComputeTime::kAuto},
          {"kernels", ComputeTime::kKernels},
          {"duration", ComputeTime::kDuration},
          {"operations", ComputeTime::kOperations}};
}

/// Who runs a group's collectives.
enum class Library : std::uint8_t { kDimensions, kCommunicators };
inline EnumNames<Library> enum_names(Library /*tag*/) {
  return {{"dimensions", Library::kDimensions}, {"communicators", Library::kCommunicators}};
}

/// How a rank works off its graph.
struct GraphConfig {
  ComputeTime compute = ComputeTime::kAuto;
  Library library = Library::kDimensions;
  int communications = 1;
  int kernels = 1;
  int memories = 1;
  ElementType type = ElementType::kFp32;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("compute", compute,
          "What a compute node costs: its kernels, its duration, or its operations at the accelerator's 16-bit tensor "
          "peak beside its bytes of memory traffic; auto: the first of these that it has");
    visit("library", library,
          "How collectives run. dimensions: by collectives.dimensions, chunks of several collectives at a time; "
          "communicators: by collectives.algorithm, the collectives of a group one after the other, as kernels that "
          "occupy cores if cores are shared");
    visit("communications", communications, "Collectives and sends that a rank has under way at a time; 0: any number",
          Range{0, 1 << 20});
    visit("kernels", kernels,
          "Compute nodes that a rank has handed to its accelerator at a time; with several, nodes of different streams "
          "run side by side if their cores fit",
          Range{1, 64});
    visit("memories", memories, "Loads and stores of remote memory that a rank has under way at a time; 0: any number",
          Range{0, 1 << 20});
    visit("type", type, "Type of the elements that collectives add");
  }
};

/// What a run was.
struct GraphResult {
  std::vector<Time> finished;  ///< by rank, since its start; kNever of one that has not
  std::uint64_t nodes = 0;
  std::uint64_t collectives = 0;  ///< of all ranks
  std::uint64_t messages = 0;
  std::uint64_t transfers = 0;            ///< loads and stores of remote memory
  std::int64_t wrong = -1;                ///< elements that differ from what they should be; -1 where data is off
  collectives::CollectiveTally of_first;  ///< collectives of rank 0
  std::vector<LeftOutPieces> left_out;    ///< which is in all of the above
  Time busy;                              ///< of accelerators in what is left out, the sum over ranks
};

/// Chakra execution graphs as firmware: on each rank a thread that takes the nodes whose dependencies have completed,
/// in the order of their ids, and hands them to the hardware. Kernels go to the accelerator's command stream and
/// compete for its memory; collectives to their group (collectives::DimensionGroup); sends and receives to the NIC;
/// loads and stores of remote memory to its DMA engine, and refused where the machine has no such memory.
///
/// BROADCAST, REDUCE, GATHER and SCATTER go out from the rank that the node names as its root, or come to it, and from
/// the one that another rank names for it where it names none, or the group's first member. What is marked as an
/// operation of the CPU runs there if it computes.
///
/// All ranks of a group begin its collectives in one order: a rank holds back what others have begun something else
/// before. The rank that is first decides, and where the workload has a joined order, as far as all others can follow:
/// a rank then holds back as well what would keep it, with its limit of communications, from what others wait for.
/// Without one, collectives are told apart by their operation, size and root alone.
///
/// With communicators as the library, AllReduces, Allgathers, ReduceScatters and Broadcasts run as those of FSDP do: a
/// group has a collectives::Communicator and does one at a time, in the order in which its members begin them, each a
/// kernel that keeps as many SMs as there are copy engines from its start to its end, but for multicast. So do
/// AllToAlls where the algorithm has them, as `nccl` has sends and receives; else they stay with the dimensions. Parts
/// of an AllToAll that differ (traces/chakra/exchange.h) need a communicator, and tokens that come to several members
/// one whose algorithm dispatches them, `deepep`. An algorithm may say for itself how many SMs its kernels keep.
///
/// Compute nodes run one after the other, in the order in which they become ready, unless several may be under way
/// (`kernels`): then nodes with the same attribute `stream` do, in command streams of their own as far as the
/// accelerator has any. Those on parts of the array (`cores`) run side by side while these fit, others take turns. A
/// duration, and listed kernels, are what the node takes on its cores; operations are at the rate of these.
///
/// A rank has as many kernels, communications and transfers of remote memory under way as is configured, and one
/// operation of its CPU; receives wait beside these. Metadata takes no time. A send ends when the peer has acknowledged
/// all of it. Of a memory node, tensor_size is what comes to the rank or leaves it. With the attribute in_switch it is
/// a gather or reduction by the switches of the pool, of the group that pg_name names.
///
/// Where a collective has an implementation of its own (`custom`), the sends, receives and compute nodes of its files
/// are executed in its place, each as soon as it is ready (dimensions::CustomPlace), and other nodes refused. Compute
/// nodes cost there what they do with `auto`, or their duration if that is configured.
///
/// A collective of a group that `pg_name` names joins all of it, as does one whose algorithm takes all dimensions for
/// one (oneRing and the like), whatever its involved_dim.
///
/// Nodes can say in an attribute `traffic` what they are for, by the names of compression::Traffic: communicators'
/// collectives and messages travel compressed where collectives.compression has it so. Collectives of the dimensions
/// and AllToAlls whose parts differ travel as they are.
///
/// With data on, collectives and messages carry patterns, which every rank compares with what must come.
class GraphEngine {
 public:
  /// Opens the traces and joins the groups. Throws traces::FormatError and ConfigError.
  GraphEngine(std::vector<firmware::Rank*> ranks, const GraphConfig& config,
              const collectives::Communicator::Config& collectives, const accelerator::ComputeConfig& compute,
              dimensions::Workload traces);
  ~GraphEngine();

  /// Draws the nodes of the first `ranks` ranks.
  void record(Probe& probe, int ranks);
  /// By the name of a compute node, the phases that it is in, the outermost first; empty: none that is known.
  using PhasesOf = std::function<std::vector<std::string>(const std::string& node)>;
  /// Draws these, too; before record().
  void set_phases(PhasesOf phases_of) { phases_of_ = std::move(phases_of); }
  /// Whether a node is the last of a rank's training step, by its name; before start().
  void set_ends_step(std::function<bool(const std::string& node)> ends_step) { ends_step_ = std::move(ends_step); }
  /// Pieces of the rows may be left out (LeavingOut), before start().
  void set_steady(const SteadyConfig& steady, GraphRows rows, LeavingOut::Hooks hooks);
  /// Why nothing can be left out of such graphs; empty if something can.
  [[nodiscard]] std::string simulates_all(const GraphRows& rows) const;
  /// Spawns the firmware threads. They throw what is wrong in a trace, a traces::FormatError or std::length_error.
  void start();
  [[nodiscard]] GraphResult result() const;
  /// When each training step ended on its last rank; none where no node is known to end one.
  [[nodiscard]] std::vector<Time> step_ends() const;
  /// Of a run that ended before the ranks had: the limit that holds back what is ready, if one does, then what they
  /// have under way, a line each.
  [[nodiscard]] std::vector<std::string> unfinished() const;
  /// What collectives that involve some dimensions have left out, a sentence each. After the run.
  [[nodiscard]] std::vector<std::string> remarks() const;
  /// What its communicators do otherwise than configured, a line each. After the run.
  [[nodiscard]] std::vector<std::string> remarks_of_groups() const;
  /// After the run.
  [[nodiscard]] collectives::CompressedAmount compressed() const;
  /// After the run: whether some kernel took its time from the accelerator's configuration.
  [[nodiscard]] bool estimates() const { return estimates_; }
  /// Nodes that a rank has done, the mean of all, those that are left out among them. One rank alone does not tell
  /// progress: while a pipeline fills, its first stage is ahead.
  [[nodiscard]] double done_by_mean() const;

 private:
  static constexpr std::uint64_t kWake = 1ULL << 60;
  enum Resource : std::uint8_t { kCpu, kCompute, kCommunication, kMemory, kResources };

  struct HigherId {
    bool operator()(const chakra::Node* a, const chakra::Node* b) const { return a->id > b->id; }
  };
  /// A graph that a rank works off: its trace, or a collective's own implementation.
  struct Graph {
    std::unique_ptr<chakra::TraceWindow> window;
    bool limited = true;                                  ///< so many nodes of a resource at a time
    std::uint64_t instance = 0;                           ///< the same for the graphs of ranks that talk to each other
    const std::vector<std::uint32_t>* members = nullptr;  ///< that its peers are numbers of; null: all ranks
    Graph* parent = nullptr;
    const chakra::Node* parent_node = nullptr;
    Time began;
    std::optional<collectives::Watch::Call> watched;  ///< of an implementation, where the critical path is kept
    std::array<std::priority_queue<const chakra::Node*, std::vector<const chakra::Node*>, HigherId>, kResources> ready;
    std::array<int, kResources> busy{};
  };
  /// What a completion stands for.
  struct Work {
    Graph* graph = nullptr;
    const chakra::Node* node = nullptr;
    Time began;
  };
  struct GroupOf;
  /// A collective that is ready and not the next of its group.
  struct Held {
    const chakra::Node* node = nullptr;  ///< the latest
    const GroupOf* group = nullptr;
    std::int64_t number = 0;
  };
  struct End {
    firmware::Rank* rank = nullptr;
    firmware::CompletionQueue* events = nullptr;
    std::unique_ptr<Messages> messages;
    std::unique_ptr<RemoteTransfers> transfers;
    Graph trace;
    std::unordered_map<const Graph*, std::unique_ptr<Graph>> customs;
    std::map<std::uint64_t, std::uint64_t> customs_begun;  ///< by group
    std::vector<Work> works;
    std::vector<std::uint64_t> free_works;
    std::map<std::string, std::int64_t> calls;      ///< collectives begun, by group
    std::map<std::int64_t, std::uint32_t> streams;  ///< command streams, by the trace's
    Time finished = kNever;
    std::vector<Time> step_ends;
    std::uint64_t done = 0;
    std::uint64_t collectives = 0;
    collectives::CollectiveTally tally;
    std::int64_t wrong = 0;
    Held held;
    HostClock host;           ///< where nodes say what it takes to launch them
    Time wakes_at;            ///< when the host has launched a communication that is ready
    bool holds_back = false;  ///< something, until other ranks go on
    Probe* probe = nullptr;
    std::array<int, kResources> tracks{};
    std::map<MessageName, std::uint64_t> drawn;  ///< messages, by name
    std::optional<PhaseRow> phases;
  };
  struct Call;
  /// A collective that some members of a group have begun and others have not.
  struct Begun {
    dimensions::Operation operation;
    std::uint64_t bytes;
    std::optional<collectives::Rooted> rooted;
    int root;
    int first;  ///< the rank that began it
    std::uint64_t node;
    int members = 0;

    [[nodiscard]] bool is(const Call& call) const;
    [[nodiscard]] std::string text() const;
  };
  /// A member's part of a collective.
  struct Call {
    collectives::Reference contents;
    std::optional<collectives::Rooted> rooted;  ///< in place of the contents' operation
    int root = 0;                               ///< member
    std::int64_t number = 0;                    ///< of its group
    int member = 0;
    std::uint64_t input = 0;
    std::uint64_t token = 0;
    Time began;
    std::vector<std::uint64_t> to = {};  ///< of an AllToAll whose parts differ, bytes to each member
    std::optional<collectives::TokenReference> tokens = std::nullopt;  ///< of one of tokens, in place of contents
    collectives::Carries carries = {};
  };
  /// A member's calls of its communicator.
  struct Caller {
    std::deque<Call> calls;
    bool runs = false;
    std::optional<CollectiveKernel> kernel;
  };
  struct GroupOf {
    std::string name;
    std::map<std::int64_t, Begun> begun;                      ///< by number
    std::vector<int> member_of;                               ///< by rank; -1: none
    std::unique_ptr<collectives::Communicator> communicator;  ///< null where the dimensions do all
    std::vector<Caller> callers;                              ///< by member
    std::unique_ptr<collectives::DimensionGroup> group;
    std::unique_ptr<collectives::Watch> watch;  ///< of what the dimensions do, where the critical path is kept
    /// By member: collectives with a root that it has under way in the dimensions. Their senders tell nobody that they
    /// have begun, so chunks of a later one could keep theirs from the places that they need.
    std::vector<int> rooted;
    std::unique_ptr<collectives::SharedBuffers> buffers;
    std::unique_ptr<RemoteGroup> remote;  ///< null where no switches run collectives of remote memory

    [[nodiscard]] std::string text() const { return name.empty() ? "all ranks" : "group " + name; }
  };

  firmware::Task run(End& end);
  void take(End& end, const nic::Completion& entry);
  void advance(End& end, Graph& graph);
  /// What ends now.
  void draw(End& end, const Work& work);
  void issue_ready(End& end, Graph& graph);
  /// A collective that is about to begin.
  struct Next {
    GroupOf* group = nullptr;  ///< null for all other nodes, and where the node has an implementation of its own
    Call call = {};
  };
  void issue(End& end, Graph& graph, const chakra::Node& node, const Next& next);
  void issue_by_type(End& end, Graph& graph, const chakra::Node& node, const Next& next);
  [[nodiscard]] ComputeTime counted_in(const Graph& graph) const;
  /// Those that a node lists, if they count.
  [[nodiscard]] std::vector<chakra::KernelDemand> kernels_of(const Graph& graph, const chakra::Node& node) const;
  void issue_kernel(End& end, Graph& graph, const chakra::Node& node);
  bool is_launched(End& end, const Graph& graph, const chakra::Node& node);
  /// The kernels of a compute node, when the host has launched them.
  void submit(End& end, Graph& graph, const chakra::Node& node, const std::vector<accelerator::Command>& commands);
  /// The command stream for kernels of the node's stream.
  static std::uint32_t stream_of(End& end, const chakra::Node& node);
  void issue_cpu(End& end, Graph& graph, const chakra::Node& node);
  void issue_collective(End& end, Graph& graph, const chakra::Node& node, const Next& next);
  /// A thread for the calls that there are.
  firmware::Task work_off(End& end, GroupOf& group, Caller& caller);
  static int kernel_cores(GroupOf& group, const Call& call);
  firmware::Task run(GroupOf& group, const Call& call) const;
  void end_collective(End& end, GroupOf& group, const Call& call) const;
  /// The rank's next call of the group, as the node has it.
  [[nodiscard]] Call call_of(const End& end, const Graph& graph, const chakra::Node& node, const GroupOf& group) const;
  static void set_parts(Call& call, const chakra::Node& node);
  /// As the node says in `traffic` and `element_bytes`.
  [[nodiscard]] collectives::Carries carries_of(const Graph& graph, const chakra::Node& node) const;
  /// What a rank may begin of what is ready: a collective that is the next of its group, or anything else.
  std::optional<Next> next_of(End& end, Graph& graph, const chakra::Node& node);
  /// The implementation of its own that a collective has, if any.
  [[nodiscard]] const std::filesystem::path* custom_of(const chakra::Node& node) const;
  /// The same as far as other ranks can follow.
  bool may_begin(End& end, const Graph& graph, const chakra::Node& node);
  [[nodiscard]] BeginOrder::Item item_of(const End& end, const Graph& graph, const chakra::Node& node) const;
  /// Has the others look at what they hold back, if they may begin it by now.
  void wake_others(const End& end);
  /// Why a rank has not begun what is ready although nothing limits it; empty if there is no such thing.
  [[nodiscard]] static std::string held_by_others(const End& end);
  [[nodiscard]] collectives::Reference contents_of(const Graph& graph, const chakra::Node& node,
                                                   dimensions::Operation operation, int members) const;
  /// The member that a collective with a root begins or ends at: the first where no rank names one.
  [[nodiscard]] int root_of(const End& end, const Graph& graph, const chakra::Node& node, const GroupOf& group) const;
  static void fill(End& end, const Call& call);
  [[nodiscard]] static std::int64_t wrong(const End& end, const Call& call);
  void start_custom(End& end, Graph& graph, const chakra::Node& node, const GroupOf& group,
                    const std::filesystem::path& prefix);
  [[nodiscard]] MessageName message_of(const End& end, const Graph& graph, const chakra::Node& node) const;
  void issue_message(End& end, Graph& graph, const chakra::Node& node);
  void issue_memory(End& end, Graph& graph, const chakra::Node& node);
  GroupOf& add_group(const std::string& name, const std::vector<std::uint32_t>& members);
  /// The node's; it fails where the rank is in none of that name. Of everybody a node may involve some dimensions
  /// alone: then those who differ from the rank in these.
  GroupOf& group_of(const End& end, const Graph& graph, const chakra::Node& node);
  GroupOf& group_across(const End& end, const std::vector<bool>& involved);
  void done(End& end, Work work);
  void finish(End& end, Graph& graph);
  [[nodiscard]] static Resource resource_of(const chakra::Node& node);
  [[nodiscard]] int limit(Resource resource) const;
  /// What is ready and not begun, since so many of its resource are under way; empty if nothing is.
  [[nodiscard]] std::string held_back(Resource resource) const;
  std::uint64_t remember(End& end, Graph& graph, const chakra::Node& node);
  Work recall(End& end, std::uint64_t token);

  std::vector<firmware::Rank*> ranks_;
  GraphConfig config_;
  collectives::Communicator::Config collectives_;
  accelerator::ComputeConfig compute_;
  dimensions::Workload traces_;
  std::shared_ptr<chakra::RecordPool> records_ = std::make_shared<chakra::RecordPool>();  ///< of all windows
  MessageTags tags_;
  std::optional<collectives::SendScopes> scopes_;
  firmware::MemoryMap remote_shared_{Bytes()};  ///< of the part of a remote memory that is for collectives
  std::map<std::string, GroupOf> groups_;
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<Messages*> messages_;                           ///< by rank
  std::unique_ptr<collectives::MessageWatch> message_watch_;  ///< where the critical path is kept
  Time started_;
  std::optional<BeginOrder> order_;
  std::unique_ptr<GraphSteady> steady_;  ///< null where all is simulated
  Probe* probe_ = nullptr;
  KernelNames kernel_names_;
  PhasesOf phases_of_;
  std::function<bool(const std::string&)> ends_step_;
  bool estimates_ = false;   ///< some kernel of which its operations alone are known
  bool had_short_ = false;   ///< a list of dimensions that ends before the network's
  bool left_out_ = false;    ///< dimensions behind the first four, of collectives without a list
  bool had_nobody_ = false;  ///< a list that names none
};

}  // namespace weft::schedules
