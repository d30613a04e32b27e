// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/repair.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "traces/chakra/check/parts.h"
#include "traces/chakra/reader.h"
#include "traces/chakra/repair/parts.h"
#include "traces/chakra/writer.h"
#include "traces/files/format_error.h"

namespace weft::chakra {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostDoubles = 1 << 16;

/// What was done, by kind of finding.
constexpr std::array<std::string_view, kProblems> kDeeds = {
    "ranks without a file, now with the lowest rank's nodes but its messages",
    "",
    "ids that were there before, now others, or left out where the node is a copy",
    "dependencies of a node on itself, left out",
    "dependencies on nodes that are not in the file, left out",
    "dependencies that close a cycle, left out",
    "nodes of a type that cannot be executed, now METADATA_NODEs, which take no time",
    "",
    "nodes with attributes missing, or not what they should be, now without these, or METADATA_NODEs, which take no "
    "time",
    "sends and receives without another rank as their peer, now with that of a group of two, or METADATA_NODEs",
    "sends and receives of a trace of all ranks, now METADATA_NODEs",
    "sends and receives without a counterpart, now METADATA_NODEs",
    "messages of two sizes, now of the larger",
    "collectives of groups that a new rank is not in, now METADATA_NODEs",
    "collectives that other ranks of the group do not issue, or not in that order, now METADATA_NODEs",
    "",
    "collectives of other sizes on other ranks, now of the size that most have",
    "roots that are no rank of the group, or another one on another rank, now the lowest rank's or the group's first",
    "",
    "compute nodes without a time, now of 1 ns as in ASTRA-sim",
    "",
    "",
    "collectives and messages marked as operations of the CPU, no longer marked"};

/// All ranks, with those that have no file as others' doubles.
struct Sources {
  TraceFiles files;
  std::vector<bool> is_double;  ///< by file
};

Sources sources_of(const TraceFiles& in, const CheckOptions& options) {
  Sources sources{in, std::vector<bool>(in.files.size())};
  if (!in.is_prefix) return sources;
  sources.files.files.clear();
  sources.files.missing.clear();
  sources.is_double.clear();
  const std::uint32_t ranks = repaired_ranks(in, options);
  auto next = in.files.begin();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const bool has_file = next != in.files.end() && *next->rank == rank;
    sources.files.files.push_back({has_file ? next->file : in.files.front().file, rank});
    sources.is_double.push_back(!has_file);
    if (has_file) ++next;
  }
  return sources;
}

class Repair {
 public:
  Repair(const TraceFiles& in, const CheckOptions& options)
      : sources_(sources_of(in, options)),
        findings_(0),
        matcher_(sources_.files, with_ranks(options), findings_),
        edits_(sources_.files.files.size()) {}

  /// Finds out what is to be done. Doubles come last, since groups are known then.
  void look() {
    for (const bool doubles : {false, true}) {
      for (std::size_t i = 0; i < edits_.size(); ++i) {
        if (sources_.is_double[i] == doubles) look_at(i);
      }
    }
    CheckReport report;
    matcher_.find_groups(report);
    for (const Problem problem : {Problem::kMissingRank, Problem::kGroup}) {
      const auto unknown = findings_.of(problem);
      if (!unknown) continue;
      throw traces::FormatError(unknown->first.file, 0,
                                unknown->first.problem_text() + "; " + describe(problem, unknown->count));
    }
    sources_.files.is_prefix ? matcher_.mend(edits_, log_) : matcher_.mend_shared(edits_.front(), log_);
  }

  void write(const fs::path& out) const {
    for (std::size_t i = 0; i < edits_.size(); ++i) {
      const RankFile& file = sources_.files.files[i];
      TraceWriter writer(sources_.files.is_prefix ? rank_file(out, *file.rank) : out,
                         TraceReader(file.file).metadata());
      for (Node& node : read_mended(file, [](Problem, std::uint64_t) {})) {
        prepare(i, node, [](Problem, std::uint64_t) {});
        if (const auto edit = edits_[i].find(node.id); edit != edits_[i].end()) apply(edit->second, node);
        writer.write(node);
      }
      writer.close();
    }
  }

  [[nodiscard]] std::vector<Mended> mended() const { return log_.mended(); }

 private:
  CheckOptions with_ranks(CheckOptions options) const {
    if (sources_.files.is_prefix) options.ranks = static_cast<std::uint32_t>(sources_.files.files.size());
    return options;
  }

  void prepare(std::size_t index, Node& node, const Log& log) const {
    const RankFile& file = sources_.files.files[index];
    if (sources_.is_double[index]) {
      if (node.type == NodeType::kSend || node.type == NodeType::kReceive) return leave_out(node);
      if (lists_process_groups(node)) keep_groups_of(node, *file.rank);
    }
    mend(node, file.rank, log);
  }

  void look_at(std::size_t index) {
    const RankFile& file = sources_.files.files[index];
    const bool is_double = sources_.is_double[index];
    const RankFile named = is_double ? RankFile{"rank " + std::to_string(*file.rank), file.rank} : file;
    if (is_double) log_.add(Problem::kMissingRank, named, {});
    // What a double does was counted with the original.
    const Log log = [&](Problem kind, std::uint64_t node) {
      if (!is_double) log_.add(kind, file, node);
    };
    CheckReport counts;
    FindingList nothing(0);
    GraphCheck graph(file, nothing);
    NodeCheck check(file, index, findings_, graph, matcher_, counts, {});
    for (Node& node : read_mended(file, log)) {
      graph.add(node);
      prepare(index, node, log);
      if (find_peer(file, node)) {
        edits_[index][node.id].peer = node.integer(node.type == NodeType::kSend ? "comm_dst" : "comm_src");
        log(Problem::kPeer, node.id);
      }
      if (is_double && is_foreign(*file.rank, node)) {
        log_.add(Problem::kGroup, named, node.id);
        edits_[index][node.id].is_left_out = true;
      } else if (!check.add(node)) {
        log(findings_.latest(), node.id);
        Edit& edit = edits_[index][node.id];
        edit.is_stripped = can_do_without(check, node);
        edit.is_left_out = !edit.is_stripped;
      }
    }
    graph.check();
    matcher_.end_file(index, graph);
  }

  /// Whether the node can be run without what is wrong with it.
  static bool can_do_without(NodeCheck& check, Node node) {
    const std::size_t attributes = node.attributes.size();
    strip(node);
    return node.attributes.size() < attributes && !takes_no_time(node) && check.add(node);
  }

  /// Whether the group says who the peer is, which the node does not.
  bool find_peer(const RankFile& file, Node& node) {
    if (node.type != NodeType::kSend && node.type != NodeType::kReceive) return false;
    const char* const attribute = node.type == NodeType::kSend ? "comm_dst" : "comm_src";
    if (node.find(attribute) != nullptr || !file.rank || !sources_.files.is_prefix) return false;
    const std::optional<std::string> group = group_of(node);
    const auto peer = group ? matcher_.other_of_two(*file.rank, *group) : std::nullopt;
    if (peer) set_integer(node, attribute, *peer);
    return peer.has_value();
  }

  bool is_foreign(std::uint32_t rank, const Node& node) {
    if (node.type != NodeType::kCollective) return false;
    const std::optional<std::string> group = group_of(node);
    return group && !matcher_.knows(rank, *group);
  }

  static std::optional<std::string> group_of(const Node& node) {
    try {
      return node.pg_name();
    } catch (const AttributeError&) {
      return std::nullopt;
    }
  }

  Sources sources_;
  FindingList findings_;
  RankMatcher matcher_;
  std::vector<Edits> edits_;
  MendLog log_;
};

}  // namespace

std::string Mended::text() const {
  return std::string(kDeeds[static_cast<std::size_t>(kind)]) + ": " + std::to_string(count) + " (the first in " + file +
         (node ? ", node " + std::to_string(*node) : "") + ")";
}

void MendLog::add(Problem kind, const RankFile& file, std::optional<std::uint64_t> node) {
  Mended& mended = kinds_[static_cast<std::size_t>(kind)];
  if (mended.count++ == 0) mended = {kind, 1, file.file.string(), node};
}

std::vector<Mended> MendLog::mended() const {
  std::vector<Mended> all;
  std::copy_if(kinds_.begin(), kinds_.end(), std::back_inserter(all),
               [](const Mended& each) { return each.count > 0; });
  return all;
}

std::uint32_t repaired_ranks(const TraceFiles& in, const CheckOptions& options) {
  const RankFile& highest = in.files.back();
  const std::uint64_t least = std::uint64_t{*highest.rank} + 1;
  if (options.ranks && *options.ranks < least) {
    throw traces::FormatError(highest.file.string(), 0,
                              "is the trace of rank " + std::to_string(*highest.rank) + ": expected none beyond the " +
                                  std::to_string(*options.ranks) + " ranks that there are to be");
  }
  const std::uint64_t ranks = options.ranks.value_or(least);
  if (ranks - in.files.size() > kMostDoubles) {
    throw traces::FormatError(highest.file.string(), 0,
                              std::to_string(ranks - in.files.size()) + " ranks have no file: expected at most " +
                                  std::to_string(kMostDoubles));
  }
  return static_cast<std::uint32_t>(ranks);
}

std::vector<Mended> repair(const TraceFiles& in, const fs::path& out, const CheckOptions& options) {
  Repair work(in, options);
  work.look();
  work.write(out);
  return work.mended();
}

}  // namespace weft::chakra
