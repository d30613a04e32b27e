// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "traces/chakra/check.h"
#include "traces/chakra/node.h"

/// Parts of check(). Only sources of this folder and of traces/chakra/repair include it.
namespace weft::chakra {

struct Edit;
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
    std::vector<std::uint64_t> cycle;
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
  static void complete(Open& open, const Names& names);

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

  /// By id.
  using Places = std::unordered_map<std::uint64_t, std::size_t>;
  /// After check(): in which order a run that takes no time issues the nodes, the lowest of those that are ready first.
  /// Empty where that is the order of the file.
  [[nodiscard]] Places order() const;
  /// The same as places in the file. Nodes that wait for each other are not in it.
  [[nodiscard]] std::vector<std::size_t> sequence() const;
  [[nodiscard]] std::uint64_t id_of(std::size_t place) const { return ids_[place]; }
  /// After check(): of the node's dependencies their places in the file, or kNowhere.
  [[nodiscard]] std::span<const std::uint64_t> dependencies_of(std::size_t place) const {
    return std::span(dependencies_).subspan(begin_of(place), ends_[place] - begin_of(place));
  }
  static constexpr std::uint64_t kNowhere = UINT64_MAX;

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t node) const { return node == 0 ? 0 : ends_[node - 1]; }
  [[nodiscard]] std::uint64_t index_of(std::uint64_t id) const;
  void check_dependencies();
  void check_cycles();

  const RankFile& file_;
  FindingList& findings_;
  bool sorted_ = true;
  bool forward_ = true;  ///< dependencies are on nodes that come before
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint64_t> by_id_;
  std::vector<std::uint64_t> dependencies_;
  std::vector<std::size_t> ends_;  ///< of each node's dependencies
};

/// The order in which several ranks can issue what they issue together, by what each of them depends on.
class CommonOrder {
 public:
  /// By id of a node: the number of what it issues, the same on all ranks.
  using Numbers = std::unordered_map<std::uint64_t, std::uint32_t>;
  /// One of the ranks issues `first` before `second`, since it depends on it.
  struct Step {
    std::size_t file = 0;
    std::uint32_t first = 0;
    std::uint32_t second = 0;
  };

  explicit CommonOrder(std::uint32_t numbers) : numbers_(numbers), vertices_(numbers) {}

  /// A rank's graph, after its check().
  void add(std::size_t file, const GraphCheck& graph, const Numbers& numbers);
  /// Steps of different ranks, one behind the other and in a circle, which no common order has; empty if there is one.
  [[nodiscard]] std::vector<Step> contradiction() const;

 private:
  /// Numbers are the first vertices. What else nodes wait for is a vertex only where several ways meet.
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
    std::uint32_t file;
  };
  static constexpr std::uint32_t kNothing = UINT32_MAX;

  std::uint32_t numbers_;
  std::uint32_t vertices_;
  std::vector<Edge> edges_;
  std::unordered_set<std::uint64_t> known_;  ///< hashes of the edges of ranks, since many have the same
};

/// Compares what ranks say to each other.
class RankMatcher {
 public:
  /// Hands over the nodes of a file.
  using Take = std::function<void(const Node&)>;
  using Read = std::function<void(std::size_t file, const Take&)>;

  /// `read` reads a file again, as add_collective() and so on are told of it.
  RankMatcher(const TraceFiles& files, const CheckOptions& options, FindingList& findings, Read read);

  /// Nodes of one file after another.
  void add_message(std::size_t file, const Node& node, std::int64_t peer);
  void add_collective(std::size_t file, const Node& node, CollectiveType type, std::int64_t size);
  void add_groups(std::size_t file, const Node& node);
  /// A node names a group, whatever it does there.
  void use_group(std::size_t file, const Node& node) {
    if (files_.is_prefix || shared_) names(file, node.pg_name(), node.id);
  }
  /// With the order in which a run issues its nodes; empty: that of the file, by rising ids.
  void end_file(std::size_t file, const GraphCheck::Places& order);
  /// Of the machine; 0 if nobody says.
  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  /// After all files: which groups are used, and where names mean none.
  void find_groups(CheckReport& report);
  /// Then, compares.
  void compare(CheckReport& report);
  /// Or says what makes ranks fit together, by file and node (repair/ranks.cpp).
  void mend(std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log);
  [[nodiscard]] bool knows(std::uint32_t rank, const std::string& group);
  [[nodiscard]] std::optional<std::uint32_t> other_of_two(std::uint32_t rank, const std::string& group);

 private:
  struct Message {
    std::uint64_t id;
    std::uint32_t source;
    std::uint32_t destination;
    std::int64_t tag;
    std::int64_t size;
  };
  static constexpr std::int64_t kNotNamed = INT64_MIN;
  struct Collective {
    std::int64_t size;
    std::int64_t root;
    std::uint64_t id;
    std::uint64_t place;  ///< in the order of issue
    CollectiveType type;

    bool operator==(const Collective&) const = default;
  };
  static bool in_order(const Collective& a, const Collective& b) { return a.place < b.place; }
  using Sequence = std::shared_ptr<std::vector<Collective>>;
  /// What a rank issues by a group's name.
  struct Issued {
    std::uint64_t first_node = 0;
    Sequence collectives;
  };
  struct Member {
    std::size_t file;
    const Issued* issued;
  };
  struct Group {
    const GroupMembers* group = nullptr;      ///< null: nobody says who is in it
    std::string name;                         ///< by which a rank uses it
    std::map<std::uint32_t, Member> members;  ///< those with files that use it, by rank
    bool is_disputed = false;                 ///< ranks say different things about who is in it
  };
  /// A rank of a group.
  struct Part {
    std::uint32_t rank = 0;
    std::size_t file = 0;
    const std::vector<Collective>* all = nullptr;  ///< what it issues
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
  [[nodiscard]] std::vector<Channel> channels();
  void report(const Channel& channel);
  void mend(const Channel& channel, std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log) const;
  void find_group(std::size_t file, std::uint32_t rank, const std::string& name, const Issued& issued,
                  CheckReport& report);
  void remark(GroupTable::Way way, std::size_t file, const Issued& issued, const std::string& name,
              const GroupMembers& group);
  void add_member(Group& group, std::uint32_t rank, std::size_t file, const Issued& issued);
  void dispute(Group& group);
  [[nodiscard]] std::vector<Part> parts_of(const Group& group) const;
  /// Where a rank issues the same collectives as the reference in another order: which is which.
  [[nodiscard]] static bool number(const Part& reference, Part& part);
  /// What of the parts' dependencies contradicts each other.
  [[nodiscard]] std::vector<CommonOrder::Step> contradiction(const std::vector<Part>& parts) const;
  void compare(const Group& group, CheckReport& report);
  void compare_orders(const std::string& what, const std::vector<Part>& parts, const Part& first_other);
  void compare_roots(const std::string& what, const Group& group, const std::vector<Part>& parts, CheckReport& report);
  void compare(const std::string& what, const Part& reference, const Part& part);
  void align_group(const Group& group, std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log) const;
  [[nodiscard]] static bool is_member(std::int64_t rank, const GroupMembers& group) {
    return rank >= 0 && rank <= std::int64_t{UINT32_MAX} && group.contains(static_cast<std::uint32_t>(rank));
  }
  [[nodiscard]] const RankFile& file_of(std::uint32_t rank) const { return files_.files[file_of_.at(rank)]; }

  const TraceFiles& files_;
  FindingList& findings_;
  Read read_;
  std::uint32_t ranks_;
  bool shared_;
  GroupTable table_;
  std::optional<std::size_t> remarked_file_;  ///< the latest with groups beside a groups file
  std::unordered_map<std::uint32_t, std::size_t> file_of_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<std::map<std::string, Issued>> issued_;  ///< by file and name
  std::map<std::string, Sequence> latest_;             ///< by name, to share what equal ranks issue
  std::map<std::string, Group> groups_;                ///< by key
  std::deque<Issued> joined_;                          ///< of groups that go by several names on a rank
};

/// The nodes of one file, one by one.
class NodeCheck {
 public:
  NodeCheck(const RankFile& file, std::size_t index, FindingList& findings, RankMatcher& matcher, CheckReport& report,
            bool roofline = false)
      : index_(index), file_(file), findings_(findings), matcher_(matcher), report_(report), roofline_(roofline) {}

  /// Whether it can be run, for all that it says itself.
  bool add(const Node& node);

 private:
  void find(const Node& node, std::string problem, std::string expected, Problem kind = Problem::kAttribute);
  void check(const Node& node);
  bool has_one_meaning(const Node& node);
  void mark_cpu(const Node& node);
  void missing(const Node& node, const std::string& attribute, const std::string& expected);
  bool not_negative(const Node& node, const std::string& attribute, std::optional<std::int64_t> value);
  bool size(const Node& node, const std::string& attribute, std::optional<std::int64_t> value, bool is_needed);
  void memory(const Node& node);
  void compute(const Node& node, bool is_cpu_op);
  void message(const Node& node);
  void collective(const Node& node);
  void roots(const Node& node, CollectiveType type);

  std::size_t index_;
  const RankFile& file_;
  FindingList& findings_;
  RankMatcher& matcher_;
  CheckReport& report_;
  bool roofline_;
};

}  // namespace weft::chakra
