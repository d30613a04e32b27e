// SPDX-License-Identifier: Apache-2.0
// Files that are executed in place of collectives.
#include <filesystem>
#include <system_error>
#include <tuple>

#include "traces/chakra/check/joined_graph.h"
#include "traces/chakra/check/parts.h"
#include "traces/chakra/reader.h"

namespace weft::chakra {
namespace {

namespace fs = std::filesystem;

/// "an ALL_REDUCE", or the node's type where that says more.
std::string kind_of(const Node& node) {
  std::string kind = name_of(node.type);
  if (node.type == NodeType::kCollective) {
    try {
      if (const auto type = node.comm_type()) kind = name_of(*type);
    } catch (const AttributeError&) {  // its type says enough
    }
  }
  const bool has_vowel = std::string("AEIO").find(kind.front()) != std::string::npos;
  return (has_vowel ? "an " : "a ") + kind;
}

/// The files by place; nothing, and a finding, where one is missing.
std::optional<TraceFiles> files_of(const ImplementationUse& use, FindingList& findings) {
  TraceFiles files;
  files.is_prefix = true;
  const auto count = static_cast<std::uint32_t>(use.group->sorted->size());
  for (std::uint32_t place = 0; place < count; ++place) {
    files.files.push_back({find_rank(*use.prefix, place), place});
    std::error_code ignored;
    if (fs::exists(files.files.back().file, ignored)) continue;
    findings.add(Problem::kImplementation, *use.file, use.node,
                 name_of(use.type) + " has the implementation " + use.prefix->string() + ", of which there is no " +
                     files.files.back().file.filename().string(),
                 "a file for each of its " + std::to_string(count) + (count == 1 ? " rank" : " ranks"));
    return std::nullopt;
  }
  return files;
}

std::shared_ptr<const Needs> check_files(const ImplementationUse& use, const TraceFiles& files, FindingList& findings,
                                         std::uint64_t& operations_without_time) {
  const std::uint64_t found = findings.found();
  CheckReport report;
  CheckOptions options;
  options.ranks = static_cast<std::uint32_t>(files.files.size());
  RankMatcher matcher(files, options, findings);
  matcher.implement(*use.group);
  for (std::size_t i = 0; i < files.files.size(); ++i) {
    // Within a group the rank of a file is not its number.
    const RankFile file{files.files[i].file, use.group->key.empty() ? files.files[i].rank : std::nullopt};
    TraceReader reader(file.file);
    GraphCheck graph(file, findings);
    NodeCheck nodes(file, i, findings, graph, matcher, report, options);
    for (Node node; reader.next(node);) {
      graph.add(node);
      if (is_part_of_implementation(node.type)) {
        nodes.add(node);
        continue;
      }
      findings.add(Problem::kImplementation, file, node,
                   "is " + kind_of(node) + " in the implementation of " + name_of(use.type),
                   std::string(kImplementationParts) + ", which the implementation of a collective is made of");
    }
    if (graph.size() == 0) {
      findings.add(Problem::kEmptyImplementation, file, std::nullopt, "has no nodes",
                   "the part of a rank in " + name_of(use.type));
    }
    graph.check();
    matcher.end_file(i, graph);
  }
  matcher.compare(report);
  operations_without_time += report.operations_without_time;
  return findings.found() == found ? matcher.needs() : nullptr;
}

}  // namespace

bool is_part_of_implementation(NodeType type) {
  return type == NodeType::kSend || type == NodeType::kReceive || type == NodeType::kCompute ||
         type == NodeType::kMetadata;
}

const fs::path* Implementations::of(std::uint64_t node, CollectiveType type) const {
  if (const auto own = by_node.find(node); own != by_node.end()) return &own->second;
  const auto of_type = by_type.find(type);
  return of_type != by_type.end() ? &of_type->second : nullptr;
}

/// Groups that number their ranks alike have one check of their files.
NeedsOfUses check_implementations(const std::vector<ImplementationUse>& uses, FindingList& findings,
                                  std::uint64_t& operations_without_time) {
  NeedsOfUses needs;
  std::map<std::tuple<fs::path, bool, std::vector<std::uint32_t>>, std::shared_ptr<const Needs>> checked;
  for (const ImplementationUse& use : uses) {
    const auto [known, is_new] = checked.try_emplace({*use.prefix, use.group->key.empty(), places_of(*use.group)});
    if (is_new) {
      const std::optional<TraceFiles> files = files_of(use, findings);
      if (files) known->second = check_files(use, *files, findings, operations_without_time);
    }
    needs[{use.prefix, use.group}] = known->second;
  }
  return needs;
}

/// Who waits for whom follows from the messages in an order in which they can be received.
std::shared_ptr<const Needs> RankMatcher::needs() const {
  constexpr std::size_t kMostWords = std::size_t{1} << 22;
  constexpr std::size_t kBits = 64;
  const std::size_t count = files_.files.size();
  const std::size_t words = (count + kBits - 1) / kBits;
  std::vector<std::uint64_t> of_file(count * words);
  const auto has = [&](std::size_t file, std::size_t place) {
    return (of_file[file * words + place / kBits] >> place % kBits & 1) != 0;
  };
  const auto add = [&](std::uint64_t* set, std::size_t place) {
    set[place / kBits] |= std::uint64_t{1} << place % kBits;
  };
  for (std::size_t file = 0; file < count; ++file) add(&of_file[file * words], file);
  const JoinedRun run(*joined_, {});
  if (run.ends() && joined_->size() <= kMostWords / words) {
    std::vector<std::uint64_t> of_vertex(joined_->size() * words);
    const auto join = [&](std::uint64_t* set, const std::uint64_t* other) {
      for (std::size_t i = 0; i < words; ++i) set[i] |= other[i];
    };
    for (const std::uint32_t vertex : run.order()) {
      std::uint64_t* const mine = &of_vertex[vertex * words];
      const std::size_t file = joined_->file_of(vertex);
      add(mine, file);
      for (const std::uint32_t before : joined_->before(vertex)) join(mine, &of_vertex[before * words]);
      const std::uint32_t unit = joined_->unit_of(vertex);
      const bool receives = unit != JoinedGraph::kNone && joined_->members(unit).back() == vertex;
      if (receives) join(mine, &of_vertex[joined_->members(unit).front() * words]);
      join(&of_file[file * words], mine);
    }
  } else {
    // For whose messages a rank waits itself is certain.
    for (const Message& each : receives_) add(&of_file[each.destination * words], each.source);
  }
  auto needs = std::make_shared<Needs>(count);
  bool all_for_all = true;
  for (std::size_t file = 0; file < count; ++file) {
    for (std::uint32_t place = 0; place < count; ++place) {
      if (has(file, place)) (*needs)[file].push_back(place);
    }
    all_for_all = all_for_all && (*needs)[file].size() == count;
  }
  return all_for_all ? nullptr : needs;
}

}  // namespace weft::chakra
