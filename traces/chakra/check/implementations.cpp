// SPDX-License-Identifier: Apache-2.0
// Files that are executed in place of collectives.
#include <filesystem>
#include <system_error>
#include <tuple>

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

void check_files(const ImplementationUse& use, const TraceFiles& files, FindingList& findings) {
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
void check_implementations(const std::vector<ImplementationUse>& uses, FindingList& findings) {
  std::set<std::tuple<fs::path, bool, std::vector<std::uint32_t>>> checked;
  for (const ImplementationUse& use : uses) {
    if (!checked.emplace(*use.prefix, use.group->key.empty(), places_of(*use.group)).second) continue;
    const std::optional<TraceFiles> files = files_of(use, findings);
    if (files) check_files(use, *files, findings);
  }
}

}  // namespace weft::chakra
