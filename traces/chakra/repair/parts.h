// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/chakra/node.h"
#include "traces/chakra/repair.h"

/// Parts of repair(). Only sources of this folder include it.
namespace weft::chakra {

/// Counts what is done.
class MendLog {
 public:
  void add(Problem kind, const RankFile& file, std::optional<std::uint64_t> node);
  [[nodiscard]] std::vector<Mended> mended() const;

 private:
  std::array<Mended, kProblems> kinds_;
};

/// What becomes of a node.
struct Edit {
  bool is_left_out = false;
  bool is_stripped = false;
  std::optional<std::int64_t> size;
  std::optional<std::int64_t> peer;
  std::optional<std::int64_t> root;
  bool is_rootless = false;  ///< names none, and so takes its group's first rank
};
using Edits = std::unordered_map<std::uint64_t, Edit>;  ///< by id
using Log = std::function<void(Problem, std::uint64_t node)>;

/// The nodes of a file with a graph that can be worked off.
[[nodiscard]] std::vector<Node> read_mended(const RankFile& file, const Log& log);
/// What a node says itself, as far as that can be put right without knowing others.
void mend(Node& node, std::optional<std::uint32_t> rank, const Log& log);
/// A compute node that says nothing of its time; false where what it says cannot be read.
[[nodiscard]] bool takes_no_time(const Node& node);
void leave_out(Node& node);
/// Leaves out attributes that cannot be taken and that the node can do without.
void strip(Node& node);
void apply(const Edit& edit, Node& node);
/// Puts a number in place of what the attribute holds.
void set_integer(Node& node, std::string_view attribute, std::int64_t value);
/// Takes groups without the rank out of a node's list of process groups.
void keep_groups_of(Node& node, std::uint32_t rank);

/// A collective as aligning looks at it.
struct Aligned {
  CollectiveType type;
  std::int64_t size;
};
/// Pairs of places at which two ranks issue the same, each in order: of equal types and sizes as far as that goes,
/// between these of equal types.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> align(const std::vector<Aligned>& a,
                                                                     const std::vector<Aligned>& b);

}  // namespace weft::chakra
