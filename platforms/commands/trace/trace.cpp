// SPDX-License-Identifier: Apache-2.0
// weft trace: looks at Chakra execution traces, checks and repairs them, and converts them from and to other formats.
#include "platforms/commands/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "platforms/cli/output.h"
#include "platforms/config/text.h"
#include "platforms/import/astra_groups.h"
#include "platforms/import/astra_sim.h"
#include "platforms/jobs/graph/graph_workload.h"
#include "traces/chakra/groups.h"

namespace weft::platforms {

namespace fs = std::filesystem;

void warn_of_missing(const chakra::TraceFiles& files) {
  if (files.missing.empty()) return;
  print_warnings({fmt::format("rank {} has no file, and {} in all have none below rank {}", files.missing.front(),
                              files.missing.size(), *files.files.back().rank)});
}

fs::path groups_beside(const chakra::TraceFiles& files, const std::string& prefix, const std::string& groups) {
  if (!groups.empty()) return groups;
  return files.is_prefix ? chakra::find_groups(prefix).value_or(fs::path()) : fs::path();
}

chakra::GroupTable::Named read_groups_beside(const chakra::TraceFiles& files, const std::string& prefix,
                                             const std::string& groups, std::optional<std::uint32_t> ranks) {
  const fs::path file = groups_beside(files, prefix, groups);
  if (file.empty()) return {};
  if (!files.is_prefix && !ranks) throw UsageError("--groups: expected with a prefix, or with --ranks");
  const std::uint32_t there_are = ranks.value_or(files.files.back().rank.value_or(0) + 1);
  astra::UnusedGroups unused = unused_groups(prefix);
  try {
    chakra::GroupTable::Named read = astra::read_groups(file, there_are, &unused);
    print_warnings(remarks_of(unused));
    return read;
  } catch (const InputError& error) {
    if (ranks) throw;
    // Where the number of ranks is not what it fails by, it fails again.
    const chakra::GroupTable::Named of_more = astra::read_groups(file, astra::kAnyEnds, &unused);
    std::uint32_t highest = 0;
    for (const auto& [name, members] : of_more) {
      for (const std::uint32_t rank : members) highest = std::max(highest, rank);
    }
    throw UsageError(fmt::format("{}; rank {} has no file, and --ranks {} says how many ranks there are to be",
                                 error.what(), highest, std::uint64_t{highest} + 1));
  }
}

namespace {

/// What a run does with traces by the system file.
void read_system(const std::string& file, chakra::CheckOptions& how) {
  const astra::System system = astra::read_system_alone(file);
  const analytical::EndConfig& end = system.config.end;
  how.replay = end.replay_only;
  how.roofline = (how.roofline || end.roofline) && !how.replay;
  dimensions::Workload traces;
  traces.custom = system.custom;
  traces.custom_nodes = system.custom_nodes;
  how.implementations = implementations_of(traces);
  how.one_dimension = one_dimension_of(system.config);
}

/// The network's dimensions, and as many ranks as it has ends.
void read_network(const std::string& network, chakra::CheckOptions& how) {
  how.dimensions = astra::read_network_sizes(network);
  const std::uint32_t ends =
      std::accumulate(how.dimensions.begin(), how.dimensions.end(), std::uint32_t{1}, std::multiplies<>());
  if (how.ranks && *how.ranks != ends) {
    throw UsageError(fmt::format("--ranks: expected {}, as many as {} has ends, got {}", ends, network, *how.ranks));
  }
  how.ranks = ends;
}

}  // namespace

bool has_ending(const std::string& name, const std::string& ending) {
  return name.ends_with(ending) || name.ends_with(ending + ".gz");
}

void TraceContext::add_to(const Arguments& app, const char* ranks_doc, const char* roofline_doc) {
  app.add_option("--groups", groups, "Communicator groups file; PREFIX.groups.json if left out and if it exists")
      .type_name("FILE");
  app.add_option("--ranks", ranks, ranks_doc).check(Within(std::uint32_t{1}, std::uint32_t{1'000'000}));
  app.add_flag("--roofline", roofline, roofline_doc);
  app.add_option("--system", system,
                 "ASTRA-sim's system.json: its roofline-enabled and replay-only, and the files of collectives' own "
                 "implementations that it names")
      .type_name("FILE");
  app.add_option("--network", network,
                 "ASTRA-sim's network file; collectives with involved_dim join ranks by its dimensions")
      .type_name("FILE");
}

chakra::CheckOptions TraceContext::check_options(const chakra::TraceFiles& files, const std::string& trace) const {
  chakra::CheckOptions how;
  if (ranks > 0) how.ranks = ranks;
  how.roofline = roofline;
  if (!system.empty()) read_system(system, how);
  if (!network.empty()) read_network(network, how);
  how.shared = !files.is_prefix && how.ranks > 0U;
  how.groups = read_groups_beside(files, trace, groups, how.ranks);
  return how;
}

std::vector<fs::path> files_of_ranks(const fs::path& prefix, std::uint64_t ranks, bool has_groups) {
  std::vector<fs::path> files;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) files.push_back(chakra::rank_file(prefix, rank));
  if (has_groups) files.push_back(chakra::groups_file(prefix));
  return files;
}

void expect_no_other_trace(const std::string& option, const fs::path& prefix, const std::vector<fs::path>& written) {
  std::vector<fs::path> ours = written;
  std::sort(ours.begin(), ours.end());
  for (const fs::path& file : chakra::files_of_prefix(prefix)) {
    if (std::binary_search(ours.begin(), ours.end(), file)) continue;
    throw UsageError(
        fmt::format("{}: expected no files of another trace with the prefix {}, got {}, which would be taken for one "
                    "of this trace: remove it, or take another prefix",
                    option, in_quotes(prefix.string()), in_quotes(file.string())));
  }
}

fs::path TraceResult::file(const fs::path& to) {
  const fs::path place = to == "-" ? fs::path("/dev/stdout") : to;
  if (const auto name = chakra::rank_name(place)) {
    // Two files of a rank are no trace.
    std::error_code ignored;
    for (const std::string_view ending : chakra::kTraceEndings) {
      const fs::path other = chakra::rank_file(name->prefix, name->rank, ending);
      if (other.filename() == place.filename() || !fs::exists(other, ignored)) continue;
      throw UsageError(fmt::format(
          "{}: expected a name that no reader takes for rank {} of the trace {}, which has {}, got {}: take "
          "a prefix of its own",
          option_, name->rank, in_quotes(name->prefix.string()), other.string(), in_quotes(to.string())));
    }
  }
  if (const auto prefix = chakra::prefix_of_groups(place)) {
    throw UsageError(fmt::format("{}: expected a name that no reader takes for the groups of the trace {}, got {}",
                                 option_, in_quotes(prefix->string()), in_quotes(to.string())));
  }
  written_ = {place};
  return files_.file(option_, place, ResultKind::kTrace);
}

fs::path TraceResult::prefix(const fs::path& to, std::vector<fs::path> written) {
  if (ResultFiles::is_no_prefix(to)) {
    throw UsageError(fmt::format(
        "{}: expected a prefix, for several files, got {}: they do not go to standard output, a pipe or a device",
        option_, in_quotes(to.string())));
  }
  expect_no_other_trace(option_, to, written);
  written_ = std::move(written);
  std::vector<std::string> names;
  for (const fs::path& file : written_) names.push_back(file.filename().string());
  std::vector<NamedResult> results;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_groups = written_[i] == chakra::groups_file(to);
    results.push_back({names[i], is_groups ? ResultKind::kGroups : ResultKind::kTrace});
  }
  const fs::path folder = to.has_parent_path() ? to.parent_path() : fs::path(".");
  return files_.folder(option_, folder, results) / to.filename();
}

void TraceResult::keep() {
  files_.keep();
}

void print_wrote(const std::vector<fs::path>& files) {
  if (files.size() == 1) {
    print("wrote " + files[0].string() + "\n");
  } else {
    print(fmt::format("wrote {} files, {} to {}\n", files.size(), files.front().string(), files.back().string()));
  }
}

Command trace_command(const Arguments& parent) {
  const Arguments app =
      parent.add_subcommand("trace", "Inspects, checks, repairs and converts Chakra execution traces");
  app.require_subcommand(1, 1);
  const std::vector<Command> commands = {trace_info_command(app), trace_check_command(app), trace_repair_command(app),
                                         trace_convert_command(app)};
  return {app, [commands] {
            for (const Command& each : commands) {
              if (each.app.given()) return each.run();
            }
            return static_cast<int>(kDone);
          }};
}

}  // namespace weft::platforms
