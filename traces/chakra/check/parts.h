// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "traces/chakra/check.h"
#include "traces/chakra/check/dimensions.h"
#include "traces/chakra/node.h"

/// Parts of check(). Only sources of this folder and of traces/chakra/repair include it.
namespace weft::chakra {

struct Aligned;
struct Edit;
class JoinedGraph;
class JoinedRun;
class MendLog;

/// Takes findings, and at the end looks up names of nodes that it does not know, so that nobody needs to keep them.
class FindingList {
 public:
  explicit FindingList(std::size_t most) : most_(most) {}

  void add(Problem kind, const RankFile& file, std::optional<std::uint64_t> node, std::string problem,
           std::string expected);
  /// Of a node whose name then needs no looking up.
  void add(Problem kind, const RankFile& file, const Node& node, std::string problem, std::string expected);
  /// The nodes of a cycle, in an order in which each waits for the next and the last for the first.
  void add_cycle(const RankFile& file, std::vector<std::uint64_t> cycle);
  /// One line of a circle of ranks: a node that comes after another one of its rank, and what both are.
  struct CircleLine {
    std::string file;
    std::uint32_t rank;
    std::uint64_t waits;
    std::string what_waits;
    std::uint64_t awaited;
    std::string what_awaited;
  };
  /// Lines of which each awaits what the next one waits to begin; of `count` in all.
  void add_circle(Problem kind, std::vector<CircleLine> lines, std::size_t count);
  /// Fills in the names and hands the findings over.
  void finish(CheckReport& report);

  /// Those that a run refuses, and the kind of the latest.
  [[nodiscard]] std::uint64_t found() const { return found_; }
  [[nodiscard]] Problem latest() const { return latest_; }
  /// Those of a kind, with the first one's name.
  [[nodiscard]] std::optional<FindingKind> of(Problem problem) const;

 private:
  struct Open {
    Finding finding;
    std::vector<std::uint64_t> cycle = {};
    std::vector<CircleLine> circle = {};
    std::size_t more = 0;  ///< lines of the circle that are not in it
    bool is_named = false;
  };
  struct Kind {
    std::uint64_t count = 0;
    Open first;
  };
  using Names = std::unordered_map<std::uint64_t, std::string>;

  void add(Open open, const Node* node);
  /// Fills in names and cycles.
  static void complete(const std::vector<Open*>& all);
  static void complete(Open& open, const std::unordered_map<std::string, Names>& names);

  std::size_t most_;
  std::uint64_t found_ = 0;
  Problem latest_ = Problem::kAttribute;
  std::vector<Open> open_;
  std::array<Kind, kProblems> kinds_;
};

/// The ids and dependencies of one file.
class GraphCheck {
 public:
  GraphCheck(const RankFile& file, FindingList& findings) : file_(file), findings_(findings) {}

  void add(const Node& node);
  void check();
  [[nodiscard]] std::size_t size() const { return ids_.size(); }

  /// After check(): places in the file, in the order in which a run that takes no time issues the nodes, the lowest of
  /// those that are ready first. Nodes that wait for each other are not in it.
  [[nodiscard]] std::vector<std::size_t> sequence() const;
  [[nodiscard]] std::uint64_t id_of(std::size_t place) const { return ids_[place]; }
  /// After check(), by place: when each could begin if nothing took time but what has a duration, in ns.
  [[nodiscard]] std::vector<std::uint64_t> begins() const;
  /// After check(): of the node's dependencies their places in the file, or kNowhere.
  [[nodiscard]] std::span<const std::uint64_t> dependencies_of(std::size_t place) const {
    return std::span(dependencies_).subspan(begin_of(place), ends_[place] - begin_of(place));
  }
  static constexpr std::uint64_t kNowhere = UINT64_MAX;

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t node) const { return node == 0 ? 0 : ends_[node - 1]; }
  /// Of an id, the first, or kNowhere.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t id) const;
  void check_dependencies();
  void check_cycles();

  const RankFile& file_;
  FindingList& findings_;
  bool sorted_ = true;
  bool forward_ = true;  ///< dependencies are on nodes that come before
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint64_t> lasts_;  ///< ns
  std::vector<std::uint64_t> by_id_;
  std::vector<std::uint64_t> dependencies_;
  std::vector<std::size_t> ends_;  ///< of each node's dependencies
};

/// A rank that cannot begin `waits` before `awaited`, which it has begun, has ended; vertices of a JoinedGraph.
struct JoinedStep {
  std::uint32_t waits;
  std::uint32_t awaited;
};

/// An implementation of its own, and the group of the collective that has it.
struct ImplementationUse {
  const std::filesystem::path* prefix = nullptr;
  CollectiveType type{};
  const GroupMembers* group = nullptr;
  const RankFile* file = nullptr;  ///< that has the first such collective
  std::uint64_t node = 0;
};
/// Of each rank in the group's list: its place among the sorted ranks.
[[nodiscard]] std::vector<std::uint32_t> places_of(const GroupMembers& group);
/// By the place of each rank of an implementation: the places of those that have to begin their part before the rank's
/// can end.
using Needs = std::vector<std::vector<std::uint32_t>>;
/// Of a prefix in a group; null where all wait for all, or nothing is known of it.
using NeedsOfUses =
    std::map<std::pair<const std::filesystem::path*, const GroupMembers*>, std::shared_ptr<const Needs>>;
/// Finds what is wrong with files that are executed in place of collectives, and who waits for whom in them. Counts
/// their compute nodes that have operations and no duration.
NeedsOfUses check_implementations(const std::vector<ImplementationUse>& uses, FindingList& findings,
                                  std::uint64_t& operations_without_time);

/// Compares what ranks say to each other.
class RankMatcher {
 public:
  RankMatcher(const TraceFiles& files, const CheckOptions& options, FindingList& findings);
  ~RankMatcher();

  /// Nodes of one file after another, with their places in it.
  void add_message(std::size_t file, const Node& node, std::uint32_t place, std::int64_t peer);
  void add_collective(std::size_t file, const Node& node, std::uint32_t place, CollectiveType type, std::int64_t size);
  void add_groups(std::size_t file, const Node& node);
  /// A node names a group, whatever it does there.
  void use_group(std::size_t file, const Node& node) {
    if (files_.is_prefix || shared_) names(file, node.pg_name(), node.id);
  }
  /// With the file's graph, after its check().
  void end_file(std::size_t file, const GraphCheck& graph);
  /// Of the machine; 0 if nobody says.
  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  /// The files are an implementation that ranks of the group execute, each its nodes as soon as they are ready. Of a
  /// group of its own, peers are numbers in the group's list, and files places among its sorted ranks.
  void implement(const GroupMembers& group);
  /// Which groups use which implementations; after find_groups().
  [[nodiscard]] const std::vector<ImplementationUse>& uses() const { return uses_; }
  void set_needs(NeedsOfUses needs) { needs_ = std::move(needs); }
  /// Of an implementation without findings, after compare().
  [[nodiscard]] std::shared_ptr<const Needs> needs() const;
  /// After all files: which groups are used, and where names mean none.
  void find_groups(CheckReport& report);
  /// Then, compares.
  void compare(CheckReport& report);
  /// Or says what makes ranks fit together, by file and node (repair/ranks.cpp).
  void mend(std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log);
  /// The same of a file that is the trace of all ranks: they fit together but for roots.
  void mend_shared(std::unordered_map<std::uint64_t, Edit>& edits, MendLog& log) const;
  [[nodiscard]] bool knows(std::uint32_t rank, const std::string& group);
  [[nodiscard]] std::optional<std::uint32_t> other_of_two(std::uint32_t rank, const std::string& group);

 private:
  struct Message {
    std::uint64_t id;
    std::uint32_t source;
    std::uint32_t destination;
    std::int64_t tag;
    std::int64_t size;
    std::uint32_t place;  ///< in the file; from end_file() on in the order of issue, a vertex of the file
  };
  static constexpr std::int64_t kNotNamed = INT64_MIN;
  static constexpr std::uint32_t kMostRepaired = 1'000'000;  ///< ranks
  struct Collective {
    std::int64_t size;
    std::int64_t root;
    std::uint64_t id;
    std::uint32_t place;  ///< in the file; from end_file() on in the order of issue, a vertex of the file
    CollectiveType type;
    InvolvedLists::List involved = InvolvedLists::kAllRanks;  ///< for everybody alone

    bool operator==(const Collective&) const = default;
  };
  static bool in_order(const Collective& a, const Collective& b) { return a.place < b.place; }
  using Sequence = std::shared_ptr<std::vector<Collective>>;
  /// What a rank issues by a group's name.
  struct Issued {
    std::uint64_t first_node = 0;
    Sequence collectives;
    /// Their places in the order in which they could begin if nothing took time but what has a duration; empty where
    /// it is the same order.
    std::vector<std::uint32_t> by_time;
    bool is_merged = false;  ///< by_time is not known
    /// The first collective with each implementation of its own.
    std::map<const std::filesystem::path*, std::pair<std::uint64_t, CollectiveType>> uses = {};
  };
  struct Member {
    std::size_t file;
    const Issued* issued;
  };
  struct Group {
    const GroupMembers* group = nullptr;      ///< null: nobody says who is in it
    std::string what = {};                    ///< of ranks that share some dimensions: "of ranks 0, 1 (dimension 0)"
    std::string name;                         ///< by which a rank uses it
    std::map<std::uint32_t, Member> members;  ///< those with files that use it, by rank
    bool is_disputed = false;                 ///< ranks say different things about who is in it
  };
  /// A rank of a group.
  struct Part {
    std::uint32_t rank = 0;
    std::size_t file = 0;
    const std::vector<Collective>* all = nullptr;  ///< what it issues
    const Issued* issued = nullptr;                ///< null: nothing
    /// Which of the lowest rank's collectives each is; empty where that is its place.
    std::vector<std::uint32_t> numbers;

    [[nodiscard]] std::size_t number(std::size_t place) const { return numbers.empty() ? place : numbers[place]; }
  };
  /// Messages of one source, destination and tag of which the other side has none of that size.
  struct Channel {
    std::vector<const Message*> sends;
    std::vector<const Message*> receives;
  };

  Issued& names(std::size_t file, const std::string& group, std::uint64_t node);
  [[nodiscard]] std::optional<std::uint32_t> rank_of(std::size_t file) const { return files_.files[file].rank; }
  /// Joins those that meet as well.
  [[nodiscard]] std::vector<Channel> channels();
  void report(const Channel& channel);
  void mend(const Channel& channel, std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log) const;
  void find_group(std::size_t file, std::uint32_t rank, const std::string& name, const Issued& issued,
                  CheckReport& report);
  /// Of everybody, and of the ranks that share some dimensions.
  void add_everybody(std::uint32_t rank, std::size_t file, const Issued& issued);
  using BySet = std::map<InvolvedLists::Set, Sequence>;
  const BySet& by_set(const Sequence& collectives);
  [[nodiscard]] InvolvedLists::Set set_of(const Collective& each) const { return involved_.set_of(each.involved); }
  /// Where nothing says which ranks share dimensions.
  void remark_unknown_dimensions();
  /// The same: whether everybody's collectives of all dimensions can be compared.
  [[nodiscard]] bool can_compare(const Group& everybody) const;
  /// In a file that is the trace of all ranks.
  void find_shared_roots(const Issued& issued);
  void remark_dimensions(std::size_t file, const Issued& issued);
  void use_implementations(std::size_t file, const Issued& issued, const GroupMembers& group);
  void remark(GroupTable::Way way, std::size_t file, const Issued& issued, const std::string& name,
              const GroupMembers& group);
  /// Whether all that is wrong with a group is that some of its ranks have no file; they are reported together.
  bool is_beyond(const GroupTable::Found& found, std::size_t file, const std::string& name, const Issued& issued);
  void report_beyond();
  void add_member(Group& group, std::uint32_t rank, std::size_t file, const Issued& issued);
  void dispute(Group& group);
  [[nodiscard]] std::vector<Part> parts_of(const Group& group) const;
  /// Where a rank issues the same collectives as the reference in another order: which is which.
  [[nodiscard]] static bool number(const Part& reference, Part& part);
  void compare(const Group& group, CheckReport& report);
  void differ_in_time(const std::string& what, const std::vector<Part>& parts, const Part& first_other);
  void differ_by_durations(const std::string& what, const std::vector<Part>& parts);
  /// Joins what the ranks of a group issue, all of which fit.
  /// Nothing where one of them waits for itself in its file, and has no vertex; then false.
  bool join(const std::string& what, const Group& group, const std::vector<Part>& parts);
  /// By the lowest rank's collectives, the ranks that they begin or end at.
  [[nodiscard]] static std::vector<std::int64_t> roots_of(const Group& group, const std::vector<Part>& parts);
  bool join(const Message& send, const Message& receive, bool is_alike);
  /// Whether ranks wait for each other, in the joined graph.
  void compare_orders(CheckReport& report);
  /// ASTRA-sim's arithmetic numbers what an end issues of everybody's, whatever dimensions it involves.
  void compare_numbers(const JoinedRun& run);
  [[nodiscard]] std::shared_ptr<const JoinedOrder> order_of(const JoinedRun& run) const;
  void report(Problem kind, const std::vector<JoinedStep>& circle);
  struct JoinedGroup;
  /// Of what a vertex is part of; null for messages.
  [[nodiscard]] const JoinedGroup* group_of(std::uint32_t vertex) const;
  [[nodiscard]] bool is_of_one_group(const std::vector<JoinedStep>& circle) const;
  /// Whether dependencies leave it no order that all of its ranks can follow.
  [[nodiscard]] bool contradicts(const JoinedGroup& group) const;
  /// What stops ranks behind circles that can be mended, which are opened.
  void add_circles_behind(JoinedRun run, std::vector<std::vector<JoinedStep>>& circles) const;
  /// Of groups with roots that contradict themselves.
  [[nodiscard]] std::vector<std::vector<JoinedStep>> circles_of_rooted_groups() const;
  [[nodiscard]] std::string described(std::uint32_t vertex) const;
  [[nodiscard]] static std::string described(const Collective& collective) {
    return name_of(collective.type) + " of " + std::to_string(collective.size) + " bytes";
  }
  /// Which of the groups have orders of their collectives that dependencies contradict, by place.
  [[nodiscard]] std::vector<bool> contradictions(const std::vector<const Group*>& groups,
                                                 const std::vector<std::vector<Part>>& parts);
  void compare_roots(const std::string& what, const Group& group, const std::vector<Part>& parts, CheckReport& report);
  void compare(const std::string& what, const Part& reference, const Part& part);
  /// What a rank has in the place of another's collective of everybody, if that involves other dimensions.
  [[nodiscard]] const Collective* other_dimensions(const Part& has, const Collective& each, const Part& lacks) const;
  void align_group(const Group& group, bool all_fit, std::vector<Part> parts,
                   std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log) const;
  void leave_out_beside(std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log) const;
  [[nodiscard]] static std::vector<Aligned> plain(const std::vector<Collective>& all);
  [[nodiscard]] static bool is_member(std::int64_t rank, const GroupMembers& group) {
    return rank >= 0 && rank <= std::int64_t{UINT32_MAX} && group.contains(static_cast<std::uint32_t>(rank));
  }
  [[nodiscard]] const RankFile& file_of(std::uint32_t rank) const { return files_.files[file_of_.at(rank)]; }

  const TraceFiles& files_;
  FindingList& findings_;
  std::uint32_t ranks_;
  bool shared_;
  bool wants_order_;
  bool takes_turns_ = true;  ///< a rank has one collective or send under way at a time
  Implementations implementations_;
  std::set<CollectiveType> one_dimension_;
  std::vector<ImplementationUse> uses_;
  std::set<std::pair<const std::filesystem::path*, const GroupMembers*>> used_;
  std::vector<std::uint32_t> place_of_peer_;  ///< empty: peers are ranks
  const GroupMembers* implements_for_ = nullptr;
  NeedsOfUses needs_;
  bool machine_;
  GroupTable table_;
  /// A rank that a group lists and that has no file, and who lists it.
  struct Beyond {
    std::size_t file;
    std::uint64_t node;
    std::string problem;
  };
  std::map<std::uint64_t, Beyond> beyond_;    ///< by rank
  std::optional<std::size_t> remarked_file_;  ///< the latest with groups beside a groups file
  std::unordered_map<std::uint32_t, std::size_t> file_of_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<std::map<std::string, Issued>> issued_;  ///< by file and name
  std::map<std::string, Sequence> latest_;             ///< by name, to share what equal ranks issue
  std::map<std::string, Group> groups_;                ///< by key
  InvolvedLists involved_;
  Group everybody_;                                          ///< all that ranks issue by its names
  std::map<const std::vector<Collective>*, BySet> by_sets_;  ///< of everybody's
  /// What is wrong with names that mean no group, each once.
  std::set<std::pair<std::string, std::string>> missed_groups_;
  std::deque<Issued> merged_;        ///< of groups that go by several names on a rank, or of some dimensions
  std::size_t sends_of_others_ = 0;  ///< in files that have ended
  std::size_t receives_of_others_ = 0;
  std::unique_ptr<JoinedGraph> joined_;
  /// What was joined, a group after the other.
  struct JoinedGroup {
    std::uint32_t first;  ///< of its units
    std::string what;
    bool is_of_everybody;
    const std::vector<Collective>* collectives;

    [[nodiscard]] std::uint32_t end() const { return first + static_cast<std::uint32_t>(collectives->size()); }
  };
  std::vector<JoinedGroup> joined_groups_;
  /// Groups whose orders differ where nothing takes time.
  struct TimesDiffer {
    std::size_t group;  ///< of those that were joined
    std::size_t file;
    std::uint64_t node;
    std::string problem;
    std::string expected;
  };
  std::vector<TimesDiffer> times_differ_;
};

/// The nodes of one file, one by one.
class NodeCheck {
 public:
  NodeCheck(const RankFile& file, std::size_t index, FindingList& findings, const GraphCheck& graph,
            RankMatcher& matcher, CheckReport& report, const CheckOptions& options)
      : index_(index),
        file_(file),
        findings_(findings),
        graph_(graph),
        matcher_(matcher),
        report_(report),
        roofline_(options.roofline),
        machine_(options.machine) {}

  /// The one that the graph has taken last. Whether it can be run, for all that it says itself.
  bool add(const Node& node);
  /// The same where nothing is read but its duration.
  bool add_replayed(const Node& node);

 private:
  template <typename Check>
  bool add(const Node& node, const Check& check);
  void unknown_type(const Node& node);
  void find(const Node& node, std::string problem, std::string expected, Problem kind = Problem::kAttribute);
  void check(const Node& node);
  bool has_one_meaning(const Node& node, std::span<const std::string_view> read);
  void mark_cpu(const Node& node);
  void missing(const Node& node, const std::string& attribute, const std::string& expected);
  bool not_negative(const Node& node, const std::string& attribute, std::optional<std::int64_t> value);
  bool size(const Node& node, const std::string& attribute, std::optional<std::int64_t> value, bool is_needed);
  void memory(const Node& node);
  void compute(const Node& node);
  /// Whether it can be taken, of those that go by it.
  bool duration(const Node& node);
  bool operations(const Node& node);
  void roofline(const Node& node);
  void message(const Node& node);
  void collective(const Node& node);
  void roots(const Node& node, CollectiveType type);
  [[nodiscard]] std::uint32_t place() const { return static_cast<std::uint32_t>(graph_.size() - 1); }

  std::size_t index_;
  const RankFile& file_;
  FindingList& findings_;
  const GraphCheck& graph_;
  RankMatcher& matcher_;
  CheckReport& report_;
  bool roofline_;
  bool machine_;
};

}  // namespace weft::chakra
