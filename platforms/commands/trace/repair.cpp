// SPDX-License-Identifier: Apache-2.0
// weft trace repair: a trace without what can be mended.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/cli/output.h"
#include "platforms/commands/trace/trace.h"
#include "traces/chakra/convert.h"
#include "traces/chakra/groups.h"
#include "traces/chakra/repair.h"
#include "traces/files/temporary.h"
#include "traces/files/whole_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct RepairCommandOptions {
  std::string from;
  std::string to;
  TraceContext context;
  bool json = false;
};

ordered_json to_json(const chakra::Mended& mended) {
  ordered_json json = {{"what", mended.text()}, {"count", mended.count}, {"file", mended.file}, {"node", nullptr}};
  if (mended.node) json["node"] = *mended.node;
  return json;
}

/// The trace that was written says its groups as the one that was read.
void write_groups(const chakra::GroupTable::Named& groups, const fs::path& to) {
  std::vector<chakra::RankGroup> listed;
  for (const auto& [name, ranks] : groups) listed.push_back({name, {ranks.begin(), ranks.end()}});
  chakra::write_groups(chakra::groups_file(to), listed);
}

int repair(const RepairCommandOptions& options) {
  const chakra::TraceFiles files = chakra::find_trace(options.from);
  const chakra::CheckOptions how = options.context.check_options(files, options.from);
  const bool has_groups = files.is_prefix && !how.groups.empty();
  std::vector<fs::path> inputs = {groups_beside(files, options.from, options.context.groups)};
  for (const chakra::RankFile& file : files.files) inputs.push_back(file.file);
  TraceResult result(inputs);
  const fs::path to =
      files.is_prefix
          ? result.prefix(options.to, files_of_ranks(options.to, chakra::repaired_ranks(files, how), has_groups))
          : result.file(options.to);
  // What goes to a pipe is looked at before.
  const bool is_stream = !files.is_prefix && traces::find_target(to).is_stream;
  const bool is_json = !files.is_prefix && has_ending(options.to, ".json");
  const bool is_apart = is_stream || is_json;
  const auto folder = is_apart ? traces::Temporary::make_folder(fs::temp_directory_path()) : traces::Temporary();
  const fs::path made = is_apart ? folder.path() / "mended.et" : to;
  const std::vector<chakra::Mended> mended = chakra::repair(files, made, how);
  if (has_groups) write_groups(how.groups, to);
  using chakra::TraceFormat;
  if (is_apart) chakra::convert_trace(made, to, is_json ? TraceFormat::kJson : TraceFormat::kProtobuf);
  result.keep();
  const chakra::CheckReport left = chakra::check(chakra::find_trace(is_stream ? made : fs::path(options.to)), how);
  const int code = left.found == 0 ? kDone : kFailed;
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const chakra::Mended& each : mended) list.push_back(to_json(each));
    print_json(ordered_json{{"mended", list}, {"files", result.written().size()}, {"left", left.found}});
    return code;
  }
  for (const chakra::Mended& each : mended) print(each.text() + "\n");
  if (mended.empty()) {
    print(!files.is_prefix ? how.ranks ? "nothing to mend\n"
                                       : "nothing to mend; with --ranks N, the file is the trace of all of them\n"
          : how.ranks
              ? "nothing to mend\n"
              : fmt::format("nothing to mend in the {} ranks that there are; --ranks N, if there are to be more\n",
                            files.files.size()));
  }
  print_wrote(result.written());
  for (const chakra::FindingKind& kind : left.remarks) {
    if (kind.first.kind != chakra::Problem::kOtherDimensions) continue;
    print("remark: " + chakra::describe(kind.first.kind, kind.count) + "\n  " + kind.first.text() + "\n");
  }
  if (left.found > 0) {
    const chakra::FindingKind& heaviest = left.kinds.front();
    chakra::Finding first = heaviest.first;
    if (is_stream) first.file = options.to;
    print(fmt::format("weft trace check still finds {} in it: {}\n  {}\n", left.found, first.text(),
                      chakra::describe(heaviest.first.kind, heaviest.count)));
  }
  return code;
}

}  // namespace

Command trace_repair_command(const Arguments& parent) {
  auto options = std::make_shared<RepairCommandOptions>();
  const Arguments app =
      parent.add_subcommand("repair", "Repairs what weft run would refuse in a trace, as far as possible");
  app.add_option("FROM", options->from, kTraceArgument).type_name("FILE").required();
  app.add_option(
         "TO", options->to,
         "The file, or for several ranks the prefix; not those of FROM; JSON if it ends in .json, else protobuf; - is "
         "standard output for one rank")
      .type_name("FILE")
      .required();
  options->context.add_to(
      app, "Number of ranks, if not one more than the highest; FILE.et is then the trace of each of them",
      "Report what weft trace check --roofline still finds; a repair cannot mend that");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return repair(*options); }};
}

}  // namespace weft::platforms
