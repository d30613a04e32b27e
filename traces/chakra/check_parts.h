// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/chakra/check.h"
#include "traces/chakra/node.h"

/// Parts of check(). Only sources of this folder include it.
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

  /// By id.
  using Places = std::unordered_map<std::uint64_t, std::size_t>;
  /// After check(): in which order a run that takes no time issues the nodes, the lowest of those that are ready first.
  /// Empty where that is the order of the file.
  [[nodiscard]] Places order() const;

 private:
  static constexpr std::uint64_t kNowhere = UINT64_MAX;

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

/// Compares what ranks say to each other.
class RankMatcher {
 public:
  RankMatcher(const TraceFiles& files, const CheckOptions& options, FindingList& findings);

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
  void compare();
  /// Or says what makes ranks fit together, by file and node (repair_ranks.cpp).
  void mend(std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log);
  [[nodiscard]] bool knows(std::uint32_t rank, const std::string& group);
  [[nodiscard]] std::optional<std::uint32_t> other_of_two(std::uint32_t rank, const std::string& group);

 private:
  /// Those of a file lie in the order of their issue.
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
    std::map<std::uint32_t, Member> members;  ///< those with files that use it, by rank
  };
  /// Messages of one source, destination and tag, in the order of issue.
  using Messages = std::vector<Message>::const_iterator;
  struct Channel {
    Messages send;
    Messages send_end;
    Messages receive;
    Messages receive_end;
  };

  Issued& names(std::size_t file, const std::string& group, std::uint64_t node);
  [[nodiscard]] std::optional<std::uint32_t> rank_of(std::size_t file) const { return files_.files[file].rank; }
  [[nodiscard]] std::vector<Channel> channels();
  void match(const Channel& channel);
  void match_in_order(const Channel& channel);
  void report_pair(Problem problem, const Message& sent, const Message& received);
  void mend(const Channel& channel, std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log) const;
  void find_group(std::size_t file, std::uint32_t rank, const std::string& name, const Issued& issued,
                  CheckReport& report);
  void remark(GroupTable::Way way, std::size_t file, const Issued& issued, const std::string& name,
              const GroupMembers& group);
  void add_member(Group& group, std::uint32_t rank, std::size_t file, const Issued& issued);
  void compare(const std::string& key, const Group& group);
  void compare(const std::string& what, const Group& group, std::uint32_t reference, const Issued& expected,
               const Member& member);
  void align_group(const Group& group, std::vector<std::unordered_map<std::uint64_t, Edit>>& edits, MendLog& log) const;
  [[nodiscard]] static std::int64_t root_of(const Collective& collective, const Group& group);
  [[nodiscard]] static bool is_member(std::int64_t rank, const GroupMembers& group) {
    return rank >= 0 && rank <= std::int64_t{UINT32_MAX} && group.contains(static_cast<std::uint32_t>(rank));
  }
  [[nodiscard]] const RankFile& file_of(std::uint32_t rank) const { return files_.files[file_of_.at(rank)]; }

  const TraceFiles& files_;
  FindingList& findings_;
  std::uint32_t ranks_;
  bool shared_;
  bool matches_sizes_;
  GroupTable table_;
  bool remarked_file_ = false;
  std::unordered_map<std::uint32_t, std::size_t> file_of_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::size_t first_send_ = 0;  ///< of the file that is read
  std::size_t first_receive_ = 0;
  std::vector<std::map<std::string, Issued>> issued_;  ///< by file and name
  std::map<std::string, Sequence> latest_;             ///< by name, to share what equal ranks issue
  std::map<std::string, Group> groups_;                ///< by key
  std::deque<Issued> joined_;                          ///< of groups that go by several names on a rank
};

/// The nodes of one file, one by one.
class NodeCheck {
 public:
  NodeCheck(const RankFile& file, std::size_t index, FindingList& findings, RankMatcher& matcher, CheckReport& report)
      : index_(index), file_(file), findings_(findings), matcher_(matcher), report_(report) {}

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

  std::size_t index_;
  const RankFile& file_;
  FindingList& findings_;
  RankMatcher& matcher_;
  CheckReport& report_;
};

}  // namespace weft::chakra
