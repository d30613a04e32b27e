// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "traces/chakra/joined_order.h"
#include "traces/chakra/process_groups.h"
#include "traces/chakra/ranks.h"

namespace weft::chakra {

/// What can be wrong with a trace, the heaviest first. Those from kNoTime on do not keep a trace from running: how it
/// is taken is worth a remark.
enum class Problem : std::uint8_t {
  kMissingRank,
  kExtraRank,
  kDuplicateId,
  kSelfDependency,
  kDanglingDependency,
  kCycle,
  kType,
  kImplementation,
  kAttribute,
  kPeer,
  kSharedMessage,
  kLoneMessage,
  kMessageSize,
  kGroup,
  kCollectiveOrder,
  kCircle,
  kCollectiveSize,
  kRoot,
  kOperations,
  kNoTime,
  kNoBytes,
  kNoOperations,
  kCpuCommunication,
  kCollectiveTimes,
  kTurns,
  kNumbers,
  kRootedCircle,
  kOtherDimensions,
  kUnknownDimensions,
  kNoRoot,
  kRootOfOthers,
  kTwoRoots,
  kGroupsFile,
  kGroupByDescription,
  kGroupOfOtherRanks,
  kGroupOrder,
  kGroupSize,
  kEverybody,
  kGroupsCut,
  kGroupsUnread,
  kLeftOut,
  kVersion,
  kMachineOnly,
  kAllDimensions,
  kNoDuration,
  kEmptyImplementation,
  kNoNodes,
};
inline constexpr int kProblems = static_cast<int>(Problem::kNoNodes) + 1;
[[nodiscard]] constexpr bool is_refused(Problem problem) {
  return problem < Problem::kNoTime;
}
/// For people: what so many findings are, and how a run takes them or what helps against them.
[[nodiscard]] std::string describe(Problem problem, std::uint64_t count);

/// Of a node: longer ones do not fit the picoseconds of a run.
inline constexpr std::uint64_t kMostNanos = 9'000'000'000'000'000;
/// Of a message, or of a collective over all ranks: what a double counts exactly.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;

/// Of what a kernel that is counted by its operations moves: more do not fit the slices of one memory.
inline constexpr std::int64_t kMostMoved = std::int64_t{1} << 52;

/// Something in a trace that cannot be executed, or not as it was meant.
struct Finding {
  Problem kind = Problem::kAttribute;
  std::string file;
  std::optional<std::uint64_t> node;  ///< none for the file as a whole
  std::string name;                   ///< the node's
  std::string problem;
  std::string expected;

  /// "FILE: node 7 'conv1': PROBLEM; expected EXPECTED"
  [[nodiscard]] std::string text() const { return file + ": " + problem_text(); }
  /// The same without the file.
  [[nodiscard]] std::string problem_text() const;
};

/// Findings of a kind.
struct FindingKind {
  std::uint64_t count = 0;
  Finding first;  ///< by rank, then in file order
};

struct CheckReport {
  /// What a run refuses: those of a file by rank, in file order, then those between ranks; the first CheckOptions::most
  /// of them.
  std::vector<Finding> findings;
  std::uint64_t found = 0;  ///< with those that are not in the list
  /// The same by kind, the heaviest first.
  std::vector<FindingKind> kinds;
  /// What a run takes, and in which way it does.
  std::vector<FindingKind> remarks;
  std::uint64_t ranks = 0;
  std::uint64_t nodes = 0;
  std::map<CollectiveType, std::uint64_t> collectives;
  std::uint64_t broadcasts_without_time = 0;  ///< that have no duration
  std::uint64_t operations_without_time = 0;  ///< compute nodes that have operations, and no duration or kernels
  std::uint64_t own_without_time = 0;         ///< the same in files of collectives' own implementations

  /// The groups that the trace uses, and those of a groups file, by key; and by rank the keys of names that mean
  /// another group on another rank. Everybody is not among them.
  GroupTable::Named groups;
  std::map<std::uint32_t, std::map<std::string, std::string>> keys;
  /// By rank and node: the root of a collective that other ranks name and the node does not.
  std::map<std::uint32_t, std::map<std::uint64_t, std::uint32_t>> roots;
  /// What the ranks do together, where nothing is found, they have a choice, and CheckOptions asks for it.
  std::shared_ptr<const JoinedOrder> order;
};

/// What such files are made of that are executed in place of a collective, beside METADATA_NODEs, which do nothing.
inline constexpr const char* kImplementationParts = "COMM_SEND_NODEs, COMM_RECV_NODEs and COMP_NODEs";
[[nodiscard]] bool is_part_of_implementation(NodeType type);

/// Prefixes of files that are executed in place of collectives, with a file for each rank of the group.
struct Implementations {
  std::map<CollectiveType, std::filesystem::path> by_type;
  std::map<std::uint64_t, std::filesystem::path> by_node;  ///< of single nodes, by id, which goes before

  /// Null where the collective has none.
  [[nodiscard]] const std::filesystem::path* of(std::uint64_t node, CollectiveType type) const;
};

struct CheckOptions {
  std::size_t most = 1000;  ///< findings to keep
  /// Of the machine; none: as many as there are files.
  std::optional<std::uint32_t> ranks;
  bool shared = false;       ///< a single file is the trace of all ranks
  bool roofline = false;     ///< compute nodes take their time from operations, as with ASTRA-sim's roofline-enabled
  bool machine = true;       ///< what a machine alone reads of a compute node counts
  GroupTable::Named groups;  ///< of a groups file
  bool order = false;        ///< what comes first may be chosen
  Implementations implementations;
  /// Collectives whose algorithm takes all dimensions for one (oneRing and the like): they join all ranks, whatever
  /// their involved_dim.
  std::set<CollectiveType> one_dimension;
  /// All that a node does is to take its duration, as with ASTRA-sim's replay-only: nothing else of it is read.
  bool replay = false;
  /// Of the network, the ranks in each of its dimensions, the one that varies fastest first; empty: not known.
  std::vector<std::uint32_t> dimensions;
};

/// Finds all that keeps a trace from being run, in one pass over its files.
///
/// In each file: ids that are there twice, dependencies on ids that are not there or on the node itself, cycles, node
/// types that the schema does not have, attributes that a node's type needs and that are missing, of another kind or
/// there twice with different values, durations, sizes and tags that no run takes; sends and receives that name no
/// other rank of the trace.
///
/// Between ranks: files that are missing or that the machine has no rank for; sends without a receive of the same
/// source, destination, tag and size, and receives without a send; groups that nothing names, to which a rank does not
/// belong, or whose ranks say different things about who is in them; collectives that the ranks of a group issue with
/// different types, sizes or roots or in different numbers; ranks that wait for each other in a circle.
///
/// For these the graphs of all ranks are one: a collective ends when all ranks of its group have begun it, and a
/// receive when its send has begun. A circle in it is refused, and named with the nodes of each rank. Collectives and
/// messages of a rank that are equal are told apart by the order in which a run would issue them if nothing took time,
/// or, where that leads into a circle, as ranks begin them. Circles that need a root to wait for those that it sends
/// to, or a rank for the root that it sends to, are a remark where they lead through several groups or messages; within
/// a group, whose collectives have one order, they are refused.
///
/// Where only times make the order of collectives differ between ranks it is a remark, too: a machine takes one that
/// all can follow, and ASTRA-sim's arithmetic stops. So it is where ranks that do one thing at a time wait for each
/// other. Where the dimensions of the network are known, a collective of some dimensions (involved_dim) is one of the
/// ranks that share their place in all others; else only those of all dimensions are compared, and a remark counts the
/// others and names lists that differ between ranks. Lists that name the same dimensions of the network are the same.
///
/// The files of collectives' own implementations are checked as far as the trace uses them: that there is one for each
/// rank of the group, and no other nodes in them than sends, receives, compute nodes and metadata; in each what is
/// wrong with its ids, dependencies and attributes; and between them messages, which are numbered within the group. Who
/// waits for whom in such a collective is what its messages make it.
///
/// A machine without what a node asks for is not found: only a run shows it.
///
/// Memory grows by some 41 bytes a node and 8 bytes a dependency of the largest file, some 100 bytes a node more where
/// its order is not that of its ids; by 40 bytes for each send and receive of all files and for each collective of
/// ranks that differ; and by some 60 bytes for each collective and message, and for each other node that waits for
/// several. Throws traces::FormatError for a file that cannot be read.
CheckReport check(const TraceFiles& files, const CheckOptions& options = {});

}  // namespace weft::chakra
