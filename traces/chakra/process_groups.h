// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/chakra/node.h"

namespace weft::chakra {

/// A process group as PyTorch's execution trace observer records it on a rank: an entry of the list in the inputs of
/// the node "## process_group:init ##" (torch.distributed's pg_config_info as JSON).
struct ProcessGroup {
  std::string name;         ///< "pg_name", by which nodes name it
  std::string description;  ///< "pg_desc", such as "default_pg"
  /// "ranks", in the order of the group's ring; none, where the list is empty, is everybody. Numbers may be strings,
  /// and a map of ranks to their places in the group is a list, too.
  std::optional<std::vector<std::uint64_t>> ranks;
  std::optional<std::uint64_t> size;  ///< "group_size" or "pg_size": how many ranks it had when it was recorded
};

struct ProcessGroupList {
  std::vector<ProcessGroup> groups;
  bool is_cut = false;  ///< ends within an entry: PyTorch keeps 8,192 characters of a text
  std::string problem;  ///< why it cannot be read; empty if it can
};

/// Whether the node lists process groups, whatever its type: older converters make it a compute node.
[[nodiscard]] bool lists_process_groups(const Node& node);
/// Reads inputs.values as JSON, or as Python prints a list of such texts.
[[nodiscard]] ProcessGroupList process_groups_of(const Node& node);

/// Ranks that communicate with each other.
struct GroupMembers {
  /// Its name, with its first rank where several groups of some rank each have that name.
  std::string key;
  std::vector<std::uint32_t> ranks;  ///< in the order of the ring
  const std::vector<std::uint32_t>* sorted = nullptr;

  [[nodiscard]] bool contains(std::uint32_t rank) const;
};

/// What the names of groups mean, rank by rank: a name may be another group on another rank. A groups file goes before
/// the metadata of traces. "" is everybody. Lists of ranks are held and sorted once, however many ranks have them.
class GroupTable {
 public:
  using Named = std::map<std::string, std::vector<std::uint32_t>>;

  explicit GroupTable(std::uint32_t ranks, const Named& file = {});

  /// Of a rank's metadata; without a rank, of a file that is the trace of all ranks. Later entries of an equal name
  /// must be equal, or the name cannot be used.
  void add(std::optional<std::uint32_t> rank, const ProcessGroup& group);

  /// How a name was found, where that is worth a remark.
  enum class Way : std::uint8_t { kOwn, kByDescription, kOfOtherRanks, kOtherOrder };
  struct Found {
    const GroupMembers* group = nullptr;  ///< null: see the problem
    Way way = Way::kOwn;
    std::string problem;  ///< after "is of group X, "
    std::string expected;
    /// All ranks of a group of which some are beyond those that there are; else null.
    const std::vector<std::uint64_t>* beyond = nullptr;
  };
  /// The group that the rank means. Names are taken from the lowest rank to the highest, so that keys are the same in
  /// each run.
  Found find(std::uint32_t rank, const std::string& name);

  /// Whether traces name any group.
  [[nodiscard]] bool has_metadata() const { return !common_.by_name.empty() || !by_rank_.empty(); }
  [[nodiscard]] bool has_file() const { return !file_.empty(); }
  /// "ranks 0, 1, 2"
  [[nodiscard]] static std::string described(const GroupMembers& group);

 private:
  /// As somebody gives it.
  struct RankList {
    const std::vector<std::uint64_t>* given = nullptr;  ///< in the order of the ring
    bool fits = true;                                   ///< all are ranks that there are; if not, nothing follows
    std::vector<std::uint32_t> sorted;
    bool has_twice = false;
  };
  struct Entry {
    std::string name;
    const RankList* list = nullptr;  ///< null is everybody
    bool is_ambiguous = false;
  };
  struct Entries {
    std::map<std::string, Entry> by_name;
    std::map<std::string, std::vector<const Entry*>> by_description;
  };
  /// What the ranks that list a name mean by it.
  struct Others {
    struct Pair {
      const Entry* first = nullptr;
      const Entry* second = nullptr;  ///< another list of ranks
    };
    const Entry* of_everybody = nullptr;
    std::unordered_map<std::uint64_t, Pair> of_rank;  ///< by member
  };

  const RankList* list_of(const std::vector<std::uint64_t>& ranks);
  template <typename Rank>
  static std::string described(const std::vector<Rank>& ranks);
  static std::string described(const RankList* list);
  const Others& others_of(const std::string& name);
  Found of_other_ranks(std::uint32_t rank, const std::string& name);
  Found of_entry(std::uint32_t rank, const Entry& entry, Way way);
  Found everybody(const std::string& name, Way way);
  Found make(std::uint32_t rank, const std::string& name, const RankList* list, Way way);

  std::uint32_t ranks_;
  std::map<std::vector<std::uint64_t>, RankList> lists_;
  std::map<std::string, Entry> file_;
  Entries common_;
  std::map<std::uint32_t, Entries> by_rank_;
  std::map<std::string, Others> others_;
  const RankList* everybody_ = nullptr;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, GroupMembers> groups_;  ///< by name and sorted ranks
  /// The group of a name and a list, and whether the list has it in another order.
  std::map<std::pair<std::string, const RankList*>, std::pair<const GroupMembers*, bool>> made_;
  std::set<std::string> keys_;
};

}  // namespace weft::chakra
