// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "traces/chakra/check/parts.h"
#include "traces/chakra/reader.h"
#include "traces/files/text_file.h"

namespace weft::chakra {
namespace {

/// Of a cycle, in a message.
constexpr std::size_t kMostNamed = 20;

/// What findings of a kind are, and how they are taken or what helps.
struct Words {
  std::string_view one;
  std::string_view several;
  std::string_view what_then;
};
constexpr std::array<Words, kProblems> kWords = {{
    {"rank has no file", "ranks have no file",
     "weft trace repair FROM TO --ranks N, with the number of all ranks, writes them from another rank's; a FILE.et as "
     "the trace is that of all ranks"},
    {"file is of a rank that the machine does not have", "files are of ranks that the machine does not have",
     "a machine of as many ranks runs them, and files of an older trace are to be removed"},
    {"id is there more than once", "ids are there more than once", "weft trace repair gives each node its own"},
    {"node depends on itself", "nodes depend on themselves", "weft trace repair leaves such dependencies out"},
    {"dependency is on a node that is not in the file", "dependencies are on nodes that are not in the file",
     "weft trace repair leaves them out"},
    {"dependency closes a cycle", "dependencies close cycles", "weft trace repair leaves them out"},
    {"node is of a type that cannot be executed", "nodes are of types that cannot be executed",
     "weft trace repair makes them METADATA_NODEs, which take no time"},
    {"file of a collective's own implementation is missing, or has a node that is no part of one",
     "files of collectives' own implementations are missing, or have nodes that are no part of one",
     "each rank of the group has a file of COMM_SEND_NODEs, COMM_RECV_NODEs and COMP_NODEs (named by workload.custom "
     "of a platform, all-reduce-implementation-custom and the like of a system file of ASTRA-sim)"},
    {"attribute is missing, or not what it should be", "attributes are missing, or not what they should be",
     "weft trace repair leaves out what a node can do without, and makes the others METADATA_NODEs"},
    {"send or receive has no other rank of the trace as its peer",
     "sends and receives have no other rank of the trace as their peer",
     "weft trace repair takes the other rank of a group of two, and leaves out the rest"},
    {"send or receive is in a file that is the trace of all ranks",
     "sends and receives are in a file that is the trace of all ranks",
     "files of the ranks, PREFIX.0.et and so on, keep them, and weft trace repair FILE.et OUT.et --ranks N leaves them "
     "out"},
    {"send or receive has no counterpart", "sends and receives have no counterpart",
     "weft trace repair leaves them out"},
    {"message is sent with one size and received with another",
     "messages are sent with one size and received with another", "weft trace repair takes the larger"},
    {"group is not what the rank needs", "groups are not what ranks need",
     "a groups file says which ranks are in a group (PREFIX.groups.json, or --groups)"},
    {"collective is not the same on all ranks of its group",
     "collectives are not the same on all ranks of their groups",
     "weft trace repair leaves out what others do not issue, by the dimensions that they involve with --network FILE"},
    {"cycle of ranks that wait for each other", "cycles of ranks that wait for each other",
     "dependencies that give all ranks one order of collectives and messages avoid it; weft trace repair leaves it, "
     "since nothing says which of the dependencies is wrong"},
    {"collective has another size on another rank", "collectives have other sizes on other ranks",
     "weft trace repair takes the one that most ranks have, the largest of such"},
    {"root is not a rank of its group, or differs between ranks",
     "roots are not ranks of their groups, or differ between ranks",
     "weft trace repair takes the lowest rank's, or the group's first rank where that is none of it"},
    {"compute node has no num_ops, by which a roofline counts its time",
     "compute nodes have no num_ops, by which a roofline counts their time",
     "without a roofline durations count (analytical.end.roofline=false; roofline-enabled 0 of a system file)"},
    {"compute node takes no time: it has no duration, operations or kernels",
     "compute nodes take no time: they have no duration, operations or kernels", ""},
    {"compute node moves no bytes, and takes the time of its operations, where ASTRA-sim's roofline passes it over and "
     "what depends on it may never begin",
     "compute nodes move no bytes, and take the time of their operations, where ASTRA-sim's roofline passes them over "
     "and what depends on them may never begin",
     ""},
    {"compute node has no operations, and takes the time of its bytes, where ASTRA-sim's roofline divides zero by "
     "zero and ends it at no sensible time or never",
     "compute nodes have no operations, and take the time of their bytes, where ASTRA-sim's roofline divides zero "
     "by zero and ends them at no sensible time or never",
     ""},
    {"collective or message is marked as an operation of the CPU, and uses the network all the same",
     "collectives and messages are marked as operations of the CPU, and use the network all the same", ""},
    {"group issues its collectives in an order that depends on times, which may differ between its ranks: a machine "
     "takes one that all can follow, and ASTRA-sim's arithmetic stops where they differ",
     "groups issue their collectives in orders that depend on times, which may differ between their ranks: a machine "
     "takes ones that all can follow, and ASTRA-sim's arithmetic stops where they differ",
     "dependencies that give all ranks one order avoid it"},
    {"rank takes its collectives and sends in an order in which ranks wait for each other where each has one under way "
     "at a time: a machine holds back what others wait for, and ASTRA-sim's arithmetic stops",
     "", "dependencies that give all ranks one order avoid it"},
    {"rank has a collective of all ranks or of some dimensions at another number than others of its ranks: a machine "
     "runs it, and ASTRA-sim's arithmetic, which numbers these collectives together whatever they involve, stops",
     "", "groups by pg_name are numbered each for itself"},
    {"cycle of ranks that wait for each other, unless collectives with a root end on some ranks before others begin "
     "them: a machine may stop there, and ASTRA-sim's arithmetic takes a BROADCAST's duration",
     "cycles of ranks that wait for each other, unless collectives with a root end on some ranks before others begin "
     "them: a machine may stop there, and ASTRA-sim's arithmetic takes a BROADCAST's duration",
     "dependencies that give all ranks one order avoid it"},
    {"collective involves other dimensions than on another rank: the network says which ranks it joins, and whether "
     "these wait for each other",
     "collectives involve other dimensions than on other ranks: the network says which ranks they join, and whether "
     "these wait for each other",
     "weft trace check --network FILE takes ASTRA-sim's network file, and weft run looks in any case"},
    {"collective of some dimensions (involved_dim) is not compared between ranks: the network says which ranks it "
     "joins",
     "collectives of some dimensions (involved_dim) are not compared between ranks: the network says which ranks they "
     "join",
     "weft trace check --network FILE takes ASTRA-sim's network file, and weft run looks in any case"},
    {"collective names no root, and takes the first rank of its group",
     "collectives name no root, and take the first rank of their group", ""},
    {"collective names no root, and takes the one that another rank names for it",
     "collectives name no root, and take the ones that other ranks name for them", ""},
    {"collective names several roots, and takes the first of comm_root, root and root_rank",
     "collectives name several roots, and take the first of comm_root, root and root_rank", ""},
    {"trace names process groups, and the groups file goes before them",
     "traces name process groups, and the groups file goes before them", ""},
    {"group is found by its description", "groups are found by their descriptions", ""},
    {"group is taken from the metadata of other ranks", "groups are taken from the metadata of other ranks", ""},
    {"group is listed in another order on another rank, and takes that of the lowest rank",
     "groups are listed in other orders on other ranks, and take that of the lowest rank", ""},
    {"group had another size when it was recorded", "groups had other sizes when they were recorded", ""},
    {"group 0 lists only some ranks, but stands for all of them",
     "groups 0 list only some ranks, but stand for all of them", ""},
    {"list of process groups is cut off, and its whole entries are taken",
     "lists of process groups are cut off, and their whole entries are taken", ""},
    {"list of process groups cannot be read, and what can be is taken",
     "lists of process groups cannot be read, and what can be is taken", ""},
    {"member of the file's JSON is behind its nodes, and left out",
     "members of files' JSON are behind their nodes, and left out", ""},
    {"file is of a version of the schema that is not known, and is read as one of 1.0.0",
     "files are of a version of the schema that is not known, and are read as of 1.0.0", ""},
    {"collective is a REDUCE, GATHER or SCATTER: Weft's machine runs it, its ASTRA-sim arithmetic does not",
     "collectives are REDUCEs, GATHERs or SCATTERs: Weft's machine runs them, its ASTRA-sim arithmetic does not", ""},
    {"collective joins all ranks of its group, whatever its involved_dim: groups, implementations of their own, "
     "oneRing, oneDirect and oneHalvingDoubling have one dimension",
     "collectives join all ranks of their groups, whatever their involved_dim: groups, implementations of their own, "
     "oneRing, oneDirect and oneHalvingDoubling have one dimension",
     ""},
    {"node has no duration, and takes 1 ns, as in ASTRA-sim with replay-only",
     "nodes have no duration, and take 1 ns, as in ASTRA-sim with replay-only", ""},
    {"file of a collective's own implementation has no nodes: the collective ends at once on its rank, and in "
     "ASTRA-sim it never ends",
     "files of collectives' own implementations have no nodes: the collectives end at once on their ranks, and in "
     "ASTRA-sim they never end",
     ""},
    {"rank has a file without any node, and does nothing", "ranks have files without any node, and do nothing", ""},
}};

/// Of its leading number; what else a version says is many tools' own.
bool is_beyond_known(const std::string& version) {
  constexpr int kKnown = 1;
  int major = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  return error == std::errc::result_out_of_range || (error == std::errc() && major > kKnown);
}

}  // namespace

std::string describe(Problem problem, std::uint64_t count) {
  const Words& words = kWords[static_cast<std::size_t>(problem)];
  return std::to_string(count) + " " + std::string(count == 1 ? words.one : words.several) +
         (words.what_then.empty() ? "" : "; " + std::string(words.what_then));
}

std::string Finding::problem_text() const {
  std::string text;
  if (node) text += "node " + std::to_string(*node) + (name.empty() ? "" : " '" + traces::one_line(name) + "'") + ": ";
  return text + problem + (expected.empty() ? "" : "; expected " + expected);
}

void FindingList::add(Problem kind, const RankFile& file, std::optional<std::uint64_t> node, std::string problem,
                      std::string expected) {
  add({{kind, file.file.string(), node, "", std::move(problem), std::move(expected)}}, nullptr);
}

void FindingList::add(Problem kind, const RankFile& file, const Node& node, std::string problem, std::string expected) {
  add({{kind, file.file.string(), node.id, "", std::move(problem), std::move(expected)}}, &node);
}

void FindingList::add_cycle(const RankFile& file, std::vector<std::uint64_t> cycle) {
  const std::uint64_t node = cycle.front();
  add({{Problem::kCycle, file.file.string(), node, "", "", "a graph without cycles"}, std::move(cycle)}, nullptr);
}

void FindingList::add_circle(Problem kind, std::vector<CircleLine> lines, std::size_t count) {
  Open open{{kind, lines.front().file, lines.front().waits, "", "", ""}, {}, std::move(lines), 0, false};
  open.more = count - open.circle.size();
  add(std::move(open), nullptr);
}

void FindingList::add(Open open, const Node* node) {
  Kind& kind = kinds_[static_cast<std::size_t>(open.finding.kind)];
  const bool is_kept = kind.count == 0 || (is_refused(open.finding.kind) && open_.size() < most_);
  if (is_kept && node != nullptr) {
    open.finding.name = node->name;
    open.is_named = true;
  }
  if (kind.count++ == 0) kind.first = open;
  if (!is_refused(open.finding.kind)) return;
  latest_ = open.finding.kind;
  ++found_;
  if (open_.size() < most_) open_.push_back(std::move(open));
}

std::optional<FindingKind> FindingList::of(Problem problem) const {
  const Kind& kind = kinds_[static_cast<std::size_t>(problem)];
  if (kind.count == 0) return std::nullopt;
  Open first = kind.first;
  complete({&first});
  return FindingKind{kind.count, std::move(first.finding)};
}

void FindingList::complete(const std::vector<Open*>& all) {
  std::unordered_map<std::string, Names> wanted;
  for (const Open* open : all) {
    if (open->is_named || !open->finding.node) continue;
    Names& names = wanted[open->finding.file];
    names.emplace(*open->finding.node, "");
    for (const std::uint64_t id : open->cycle) names.emplace(id, "");
    for (const CircleLine& line : open->circle) {
      wanted[line.file].emplace(line.waits, "");
      wanted[line.file].emplace(line.awaited, "");
    }
  }
  for (auto& [file, names] : wanted) {
    TraceReader reader(file);
    std::size_t left = names.size();
    for (Node node; left > 0 && reader.next(node);) {
      const auto found = names.find(node.id);
      if (found == names.end()) continue;
      found->second = node.name;
      --left;
    }
  }
  for (Open* open : all) {
    if (!open->is_named && open->finding.node) complete(*open, wanted);
  }
}

void FindingList::finish(CheckReport& report) {
  std::vector<Open*> all;
  for (Open& open : open_) all.push_back(&open);
  for (Kind& kind : kinds_) {
    if (kind.count > 0) all.push_back(&kind.first);
  }
  complete(all);
  for (Open& open : open_) report.findings.push_back(std::move(open.finding));
  report.found = found_;
  for (Kind& kind : kinds_) {
    if (kind.count == 0) continue;
    const Problem problem = kind.first.finding.kind;
    (is_refused(problem) ? report.kinds : report.remarks).push_back({kind.count, std::move(kind.first.finding)});
  }
}

void FindingList::complete(Open& open, const std::unordered_map<std::string, Names>& names) {
  const auto label_in = [&](const std::string& file, std::uint64_t id) {
    Node node;
    node.id = id;
    node.name = names.at(file).at(id);
    return node.label();
  };
  const auto label = [&](std::uint64_t id) { return label_in(open.finding.file, id); };
  open.finding.name = names.at(open.finding.file).at(*open.finding.node);
  std::string& text = open.finding.problem;
  if (!open.circle.empty()) {
    text = "waits for itself through other ranks:";
    for (const CircleLine& line : open.circle) {
      text += "\n    rank " + std::to_string(line.rank) + ": " + label_in(line.file, line.waits) + ", " +
              line.what_waits + ", comes after " + label_in(line.file, line.awaited) + ", " + line.what_awaited;
    }
    if (open.more > 0) text += "\n    and so on, over " + std::to_string(open.more) + " more ranks";
  }
  if (open.cycle.empty()) return;
  text = "waits for ";
  for (std::size_t i = 1; i < open.cycle.size() && i < kMostNamed; ++i)
    text += label(open.cycle[i]) + ", which waits for ";
  if (open.cycle.size() > kMostNamed) text += "... (" + std::to_string(open.cycle.size()) + " nodes), which waits for ";
  text += label(open.cycle.front());
}

CheckReport check(const TraceFiles& files, const CheckOptions& options) {
  CheckReport report;
  FindingList findings(options.most);
  RankMatcher matcher(files, options, findings);
  for (std::size_t i = 0; i < files.files.size(); ++i) {
    const RankFile& file = files.files[i];
    TraceReader reader(file.file);
    GraphCheck graph(file, findings);
    NodeCheck nodes(file, i, findings, graph, matcher, report, options);
    if (const std::string& version = reader.metadata().version; is_beyond_known(version)) {
      findings.add(Problem::kVersion, file, std::nullopt, "is of version " + traces::one_line(version),
                   "1.0.0 or below");
    }
    for (Node node; reader.next(node); ++report.nodes) {
      graph.add(node);
      options.replay ? nodes.add_replayed(node) : nodes.add(node);
    }
    if (graph.size() == 0) findings.add(Problem::kNoNodes, file, std::nullopt, "has no nodes", "");
    for (const std::string& member : reader.left_out()) {
      findings.add(Problem::kLeftOut, file, std::nullopt, member, "it before the nodes");
    }
    graph.check();
    matcher.end_file(i, graph);
    ++report.ranks;
  }
  matcher.find_groups(report);
  matcher.set_needs(check_implementations(matcher.uses(), findings, report.own_without_time));
  matcher.compare(report);
  findings.finish(report);
  return report;
}

}  // namespace weft::chakra
