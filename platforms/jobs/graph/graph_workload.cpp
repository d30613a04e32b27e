// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/graph/graph_workload.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "platforms/config/text.h"
#include "sw/collectives/config.h"
#include "sw/collectives/line/dimensional.h"
#include "traces/chakra/check.h"
#include "traces/chakra/convert.h"
#include "traces/chakra/groups.h"
#include "traces/chakra/ranks.h"
#include "traces/chakra/reader.h"
#include "traces/files/format_error.h"
#include "traces/files/input_file.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/temporary.h"

namespace weft::platforms {

namespace fs = std::filesystem;
using dimensions::Operation;

namespace {

/// JSON that all ranks read is parsed once, not by each of them.
fs::path converted(const fs::path& trace) {
  if (!traces::is_trace_json(traces::guess(trace).kind)) return trace;
  fs::path made = trace_folder() / trace.filename().replace_extension(".et");
  chakra::convert_trace(trace, made, chakra::TraceFormat::kProtobuf);
  return made;
}

[[noreturn]] void refuse(const chakra::FindingKind& kind) {
  throw traces::FormatError(kind.first.file, 0,
                            kind.first.problem_text() + "; " + describe(kind.first.kind, kind.count));
}

/// The heaviest finding, what helps against it, and how to see the others.
[[noreturn]] void refuse(const chakra::CheckReport& report, const dimensions::Workload& traces) {
  const chakra::FindingKind& heaviest = report.kinds.front();
  const chakra::Finding& first = heaviest.first;
  std::string text = first.problem_text() + "; " + describe(first.kind, heaviest.count);
  if (report.found > heaviest.count) {
    text += "; findings of " + std::to_string(report.kinds.size()) + " kinds in all, which weft trace check lists";
  }
  const bool is_conversion = traces.shared && first.file == traces.prefix.string();
  throw traces::FormatError(is_conversion ? traces.source.string() : first.file, 0, text);
}

/// Compute nodes without a duration, where durations are what counts: always in the arithmetic's implementations of
/// collectives.
void remark_operations(const chakra::CheckReport& report, Document& document, const Node& workload, Runner runner,
                       std::vector<std::string>& remarks) {
  const Node root = document.root();
  const bool is_machine = runner == Runner::kMachine;
  const auto remark = [&](std::uint64_t count, const char* where, const char* what) {
    if (count == 0) return;
    remarks.push_back(std::to_string(count) + (count == 1 ? " compute node" : " compute nodes") + where +
                      (count == 1 ? " has" : " have") + " num_ops and no duration, and " +
                      (count == 1 ? "takes " : "take ") + what);
  };
  constexpr const char* kOwn = " of collectives' own implementations";
  if (is_machine) {
    if (workload.get<std::string>("compute", "auto") != "duration") return;
    constexpr const char* kWhat = "no time: workload.compute=operations or auto counts operations";
    remark(report.operations_without_time, "", kWhat);
    return remark(report.own_without_time, kOwn, kWhat);
  }
  remark(report.own_without_time, kOwn, "1 ns, as in ASTRA-sim, whose roofline is not for these");
  if (root.child("analytical").child("end").get("roofline", false)) return;
  remark(report.operations_without_time, "",
         "1 ns, as in ASTRA-sim with roofline-enabled 0: analytical.end.roofline=true counts operations");
}

std::vector<std::string> remarks_of(const chakra::CheckReport& report, Runner runner) {
  using chakra::CollectiveType;
  using chakra::Problem;
  std::vector<std::string> remarks;
  for (const chakra::FindingKind& kind : report.remarks) {
    const Problem problem = kind.first.kind;
    if (problem == (runner == Runner::kAnalytical ? Problem::kNoRoot : Problem::kMachineOnly)) continue;
    remarks.push_back(describe(kind.first.kind, kind.count) + " (" + kind.first.text() + ")");
  }
  if (runner == Runner::kMachine) return remarks;
  for (const auto& [type, count] : report.collectives) {
    const std::string what = std::to_string(count) + " " + name_of(type);
    if (type == CollectiveType::kBroadcast) {
      remarks.push_back(what + ": the recorded duration, as in ASTRA-sim");
    } else if (type == CollectiveType::kBarrier) {
      remarks.push_back(what + ": an ALL_REDUCE of no bytes, since ASTRA-sim has no such collective");
    } else if (type == CollectiveType::kReduceScatterBlock) {
      remarks.push_back(what + ": a REDUCE_SCATTER, since ASTRA-sim has no such collective");
    }
  }
  if (report.broadcasts_without_time > 0) {
    remarks.push_back(std::to_string(report.broadcasts_without_time) +
                      " BROADCAST without a recorded duration: 1 ns, as in ASTRA-sim");
  }
  return remarks;
}

/// The types of nodes that are the operation.
std::vector<chakra::CollectiveType> types_of(Operation operation) {
  using chakra::CollectiveType;
  switch (operation) {
    case Operation::kAllReduce:
      return {CollectiveType::kAllReduce, CollectiveType::kBarrier};
    case Operation::kAllgather:
      return {CollectiveType::kAllGather};
    case Operation::kReduceScatter:
      return {CollectiveType::kReduceScatter, CollectiveType::kReduceScatterBlock};
    case Operation::kAllToAll:
      break;
  }
  return {CollectiveType::kAllToAll};
}

std::optional<Operation> operation_of(std::optional<chakra::CollectiveType> type) {
  for (const auto& [name, operation] : enum_names(Operation{})) {
    const auto types = types_of(operation);
    if (type && std::find(types.begin(), types.end(), *type) != types.end()) return operation;
  }
  return std::nullopt;
}

/// Whether a finding is about a collective's own implementation.
bool is_of_implementation(const chakra::Finding& finding, const dimensions::Workload& traces) {
  if (finding.kind == chakra::Problem::kImplementation) return true;
  const auto file = chakra::rank_name(finding.file);
  if (!file || file->prefix == traces.prefix) return false;
  const auto is_its = [&](const auto& entry) { return entry.second == file->prefix; };
  return std::any_of(traces.custom.begin(), traces.custom.end(), is_its) ||
         std::any_of(traces.custom_nodes.begin(), traces.custom_nodes.end(), is_its);
}

/// Collectives that join all ranks whatever they involve.
std::set<chakra::CollectiveType> one_dimension_in(Document& document, Runner runner) {
  std::set<chakra::CollectiveType> result;
  if (runner == Runner::kAnalytical) {
    analytical::AnalyticalConfig arithmetic;
    document.root().read("analytical", arithmetic);
    return one_dimension_of(arithmetic);
  }
  // In a machine all operations join the dimensions or none does.
  collectives::CommunicatorConfig machine;
  document.root().read("collectives", machine);
  const std::vector<dimensions::Algorithm>& algorithms = machine.of<collectives::DimensionsConfig>().all_reduce;
  if (algorithms.empty() || !joins_dimensions(algorithms.front())) return result;
  for (int type = 0; type < chakra::kCollectiveTypes; ++type) result.insert(chakra::CollectiveType{type});
  return result;
}

std::uint32_t ranks_of(const std::vector<std::uint32_t>& dimensions) {
  return std::accumulate(dimensions.begin(), dimensions.end(), std::uint32_t{1}, std::multiplies<>());
}

/// Finds what cannot be run, and what names of groups mean.
GraphWorkload checked(dimensions::Workload traces, const std::vector<std::uint32_t>& dimensions, Document& document,
                      const Node& workload, Runner runner) {
  chakra::CheckOptions options;
  options.ranks = ranks_of(dimensions);
  options.dimensions = dimensions;
  options.shared = traces.shared;
  options.groups = traces.groups;
  const Node end = document.root().child("analytical").child("end");
  options.replay = runner == Runner::kAnalytical && end.get("replay_only", false);
  options.roofline = runner == Runner::kAnalytical && end.get("roofline", false) && !options.replay;
  options.machine = runner == Runner::kMachine;
  options.order = options.machine;
  options.implementations = implementations_of(traces);
  options.one_dimension = one_dimension_in(document, runner);
  const chakra::CheckReport report = chakra::check(chakra::find_trace(traces.prefix), options);
  if (report.found > 0) refuse(report, traces);
  traces.groups.insert(report.groups.begin(), report.groups.end());
  traces.keys = report.keys;
  traces.roots = report.roots;
  traces.order = report.order;
  std::vector<std::string> remarks = remarks_of(report, runner);
  remark_operations(report, document, workload, runner, remarks);
  if (traces.shared) {
    for (std::string& remark : remarks_of_shared(traces.source)) remarks.push_back(std::move(remark));
  }
  return {std::move(traces), report.nodes / std::max<std::uint64_t>(report.ranks, 1), std::move(remarks)};
}

/// The file, or the prefix, that is named there.
fs::path named(const Node& parent, std::string_view key) {
  static_cast<void>(parent.require<std::string>(key));
  return parent.child(key).file([](const fs::path& at) { return !files_of_trace(at).empty(); });
}

/// Of the workload, or of the file beside its traces.
std::map<std::string, std::vector<std::uint32_t>> groups_of(const Node& workload, const fs::path& traces,
                                                            std::uint32_t ranks, astra::UnusedGroups& unused) {
  if (workload.has("groups")) return astra::groups_of(workload.child("groups"), ranks, &unused);
  static_cast<void>(workload.child("groups"));  // a key that is known
  const std::optional<fs::path> beside = chakra::find_groups(traces);
  if (!beside) return {};
  return astra::read_groups(*beside, ranks, &unused);
}

}  // namespace

chakra::Implementations implementations_of(const dimensions::Workload& traces) {
  chakra::Implementations result{{}, traces.custom_nodes};
  for (const auto& [operation, prefix] : traces.custom) {
    for (const chakra::CollectiveType type : types_of(operation)) result.by_type[type] = prefix;
  }
  return result;
}

std::set<chakra::CollectiveType> one_dimension_of(const analytical::AnalyticalConfig& arithmetic) {
  std::set<chakra::CollectiveType> result;
  if (arithmetic.dimensions.empty()) return result;
  analytical::DimensionConfig first = arithmetic.dimensions.front();
  for (const auto& [name, operation] : enum_names(Operation{})) {
    if (!joins_dimensions(first.algorithm(operation))) continue;
    for (const chakra::CollectiveType type : types_of(operation)) result.insert(type);
    if (operation != Operation::kAllReduce) continue;
    // A machine, which alone has these, joins the dimensions for all operations or for none.
    for (int type = 0; type < chakra::kCollectiveTypes; ++type) {
      if (has_root(chakra::CollectiveType{type})) result.insert(chakra::CollectiveType{type});
    }
  }
  return result;
}

std::vector<fs::path> files_of_trace(const fs::path& source) {
  std::vector<fs::path> files = chakra::files_of_prefix(source);
  if (traces::is_file(source)) files.push_back(source);
  return files;
}

std::vector<fs::path> files_of_traces(const dimensions::Workload& workload) {
  std::vector<fs::path> files = files_of_trace(workload.source);
  const auto add = [&files](const auto& custom) {
    for (const auto& [what, prefix] : custom) {
      for (fs::path& file : files_of_trace(prefix)) files.push_back(std::move(file));
    }
  };
  add(workload.custom);
  add(workload.custom_nodes);
  return files;
}

std::vector<std::string> remarks_of_shared(const fs::path& file) {
  const auto name = chakra::rank_name(file);
  if (!name) return {};
  std::vector<fs::path> others;
  for (const fs::path& other : chakra::files_of_prefix(name->prefix)) {
    const auto rank = chakra::rank_name(other);
    if (rank && rank->rank != name->rank) others.push_back(other);
  }
  if (others.empty()) return {};
  return {file.string() + " is taken for the trace of all ranks, and " + others.front().filename().string() +
          (others.size() > 1 ? ", with " + std::to_string(others.size() - 1) + " more," : "") +
          " beside it is not read: with the prefix " + name->prefix.string() + " in its place each rank has its own"};
}

chakra::TraceDemands demands_of(const fs::path& trace) {
  return chakra::demands(chakra::find_trace(trace));
}

astra::UnusedGroups unused_groups(const fs::path& trace) {
  const auto names = std::make_shared<std::optional<std::set<std::string>>>();
  return {[trace, names](const std::string& name) {
    if (!*names) *names = demands_of(trace).groups;
    return (*names)->contains(name);
  }};
}

fs::path trace_folder() {
  static const auto folder = traces::Temporary::make_folder(fs::temp_directory_path());
  return folder.path();
}

void expect_implementations(const dimensions::Workload& traces, std::uint32_t ranks) {
  if (traces.custom.empty() && traces.custom_nodes.empty()) return;
  chakra::CheckOptions options;
  options.ranks = ranks;
  options.shared = traces.shared;
  options.groups = traces.groups;
  options.implementations = implementations_of(traces);
  const chakra::CheckReport report = chakra::check(chakra::find_trace(traces.prefix), options);
  for (const chakra::FindingKind& kind : report.kinds) {
    if (is_of_implementation(kind.first, traces)) refuse(kind);
  }
}

std::set<astra::UsedCollective> collectives_of(dimensions::Workload traces, std::uint32_t ranks) {
  chakra::CheckOptions options;
  options.ranks = ranks;
  options.shared = traces.shared;
  options.groups = traces.groups;
  options.implementations = implementations_of(traces);
  const chakra::TraceFiles files = chakra::find_trace(traces.prefix);
  chakra::CheckReport report = chakra::check(files, options);
  traces.groups.merge(report.groups);
  traces.keys = std::move(report.keys);
  std::set<astra::UsedCollective> used;
  for (const chakra::RankFile& file : files.files) {
    chakra::TraceReader reader(file.file);
    for (chakra::Node node; reader.next(node);) {
      if (node.type != chakra::NodeType::kCollective) continue;
      try {
        const std::optional<Operation> operation = operation_of(node.comm_type());
        if (!operation || traces.custom_of(node.id, operation) != nullptr) continue;
        astra::UsedCollective each{*operation, {}, node.involved_dim()};
        const std::string key = traces.key_of(file.rank.value_or(0), node.pg_name());
        const auto group = traces.groups.find(key);
        if (group == traces.groups.end() && !key.empty()) continue;
        if (group != traces.groups.end() && group->second.size() != ranks) each.members = group->second;
        used.insert(std::move(each));
      } catch (const chakra::AttributeError&) {
        continue;
      }
    }
  }
  return used;
}

fs::path traces_of(Document& document) {
  const Node workload = document.root().child("workload");
  if (!workload.is_object() || workload.child("kind").raw() != "chakra") return {};
  return workload.child("traces").is_string() ? named(workload, "traces") : fs::path();
}

GraphWorkload read_graph_workload(Document& document, const Node& workload,
                                  const std::vector<std::uint32_t>& dimensions, Runner runner) {
  const std::uint32_t ranks = ranks_of(dimensions);
  if (!workload.exists()) workload.fail("what to run, such as {\"kind\": \"chakra\", \"traces\": \"PREFIX\"}");
  if (workload.require<std::string>("kind") != "chakra") workload.child("kind").fail("\"chakra\"");
  dimensions::Workload traces;
  traces.source = named(workload, "traces");
  traces.prefix = traces.source;
  std::error_code ignored;
  traces.shared = weft::traces::is_file(traces.source);
  if (traces.shared) traces.prefix = converted(traces.source);
  const fs::path beyond = chakra::find_rank(traces.prefix, ranks);
  if (!traces.shared && fs::exists(beyond, ignored)) {
    workload.child("traces").fail("traces of " + std::to_string(ranks) +
                                  " ranks, as many as there are accelerators, but " + "there is " +
                                  beyond.filename().string());
  }
  astra::UnusedGroups unused = unused_groups(traces.prefix);
  traces.groups = groups_of(workload, traces.source, ranks, unused);
  const Node custom = workload.child("custom");
  for (const auto& [key, operation] : enum_names(Operation{})) {
    const auto prefix = custom.get<std::string>(key, "");
    if (!prefix.empty()) traces.custom[operation] = named(custom, key);
  }
  const Node nodes = workload.child("custom_nodes");
  for (const auto& [id, prefix] : nodes.exists() ? nodes.members() : decltype(nodes.members())()) {
    const std::optional<std::uint64_t> number = whole_number(id);
    if (!number) prefix.fail("the id of a node as its name");
    traces.custom_nodes[*number] = named(nodes, id);
  }
  GraphWorkload checked_workload = checked(std::move(traces), dimensions, document, workload, runner);
  for (std::string& remark : remarks_of(unused)) checked_workload.remarks.push_back(std::move(remark));
  return checked_workload;
}

}  // namespace weft::platforms
