// SPDX-License-Identifier: Apache-2.0
// weft trace convert: traces from and to other formats.
#include <fmt/format.h>

#include <system_error>
#include <utility>
#include <vector>

#include "platforms/cli/output.h"
#include "platforms/commands/trace/trace.h"
#include "platforms/results/write_file.h"
#include "traces/chakra/convert.h"
#include "traces/chakra/groups.h"
#include "traces/chakra/text/workload.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/text_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using chakra::TraceFiles;
using chakra::TraceFormat;
using traces::FileKind;

constexpr std::uint64_t kMostRanks = 1'000'000;  ///< each has a file

struct ConvertOptions {
  std::string from;
  std::string to;
  std::string format;  ///< empty: as TO is called, or the other than FROM's
  std::uint64_t ranks = 0;
  std::uint64_t passes = 1;
  std::string time_unit = "ns";
  std::string dialect;  ///< empty: as the file's words tell
};

TraceFormat format_of(const ConvertOptions& options, bool is_protobuf) {
  if (options.format == "et") return TraceFormat::kProtobuf;
  if (options.format == "json") return TraceFormat::kJson;
  if (options.format == "jsonizer") return TraceFormat::kJsonizer;
  if (has_ending(options.to, ".et")) return TraceFormat::kProtobuf;
  if (has_ending(options.to, ".json")) return TraceFormat::kJson;
  return is_protobuf ? TraceFormat::kJson : TraceFormat::kProtobuf;
}

void convert(const fs::path& from, const fs::path& to, TraceFormat format) {
  for (const std::string& member : chakra::convert_trace(from, to, format)) {
    print_warnings({from.string() + ": " + member + " is behind the nodes, and left out"});
  }
}

void convert_file(const ConvertOptions& options, const fs::path& from) {
  TraceResult result({from});
  convert(from, result.file(options.to), format_of(options, traces::guess(from).kind == FileKind::kChakra));
  result.keep();
  print_wrote(result.written());
}

/// The groups file goes with the ranks.
void convert_ranks(const ConvertOptions& options, const TraceFiles& files) {
  const TraceFormat format = format_of(options, traces::guess(files.files.front().file).kind == FileKind::kChakra);
  const char* const ending = format == TraceFormat::kProtobuf ? ".et" : ".json";
  const fs::path groups = groups_beside(files, options.from, "");
  std::vector<fs::path> inputs = {groups};
  std::vector<fs::path> written;
  for (const chakra::RankFile& file : files.files) {
    inputs.push_back(file.file);
    written.push_back(chakra::rank_file(options.to, *file.rank, ending));
  }
  if (!groups.empty()) written.push_back(chakra::groups_file(options.to));
  TraceResult result(inputs);
  const fs::path to = result.prefix(options.to, std::move(written));
  for (const chakra::RankFile& file : files.files) {
    convert(file.file, chakra::rank_file(to, *file.rank, ending), format);
  }
  if (!groups.empty()) write_file(chakra::groups_file(to), traces::read_text(groups, "a file of groups"));
  result.keep();
  warn_of_missing(files);
  print_wrote(result.written());
}

void convert_text(const ConvertOptions& options) {
  chakra::TextWorkload workload = chakra::read_text_workload(options.from);
  using Dialect = chakra::TextWorkload::Dialect;
  if (!options.dialect.empty()) workload.dialect = options.dialect == "simai" ? Dialect::kSimAi : Dialect::kAstraSim;
  chakra::TextConversion conversion;
  conversion.ranks = options.ranks;
  if (conversion.ranks == 0) {
    conversion.ranks = workload.ranks;
    if (conversion.ranks > kMostRanks) {
      throw UsageError(
          fmt::format("{}: all_gpus: expected at most {} ranks, a file each, got {}: --ranks N writes so many",
                      options.from, kMostRanks, conversion.ranks));
    }
  }
  if (conversion.ranks == 0) {
    throw UsageError("trace convert: expected --ranks N, for a text workload that does not say all_gpus");
  }
  conversion.passes = options.passes;
  conversion.take_nanos_for_micros = options.time_unit == "us";
  const bool has_groups = !chakra::groups_of(workload, conversion.ranks).empty();
  TraceResult result({options.from});
  const fs::path to = result.prefix(options.to, files_of_ranks(options.to, conversion.ranks, has_groups));
  chakra::convert_text_workload(workload, to, conversion);
  result.keep();
  print_warnings(chakra::remarks_of(workload, conversion));
  print_wrote(result.written());
}

int convert(const ConvertOptions& options) {
  std::error_code ignored;
  const bool is_file = fs::exists(options.from, ignored) && !fs::is_directory(options.from, ignored);
  const traces::FileGuess guess = is_file ? traces::guess(fs::path(options.from)) : traces::FileGuess();
  // With the number of ranks a text workload is meant, whatever is wrong with it.
  const bool is_text =
      is_file && (guess.kind == FileKind::kTextWorkload ||
                  (options.ranks != 0 && (traces::is_plain_text(guess.kind) || guess.kind == FileKind::kBinary)));
  if (is_text && !options.format.empty() && options.format != "et") {
    throw UsageError("--format: expected et, or none, with a text workload: convert the traces then");
  }
  if (is_file && !is_text && options.ranks != 0) {
    throw UsageError(
        fmt::format("--ranks: expected only with a text workload; {} is {}", options.from, traces::describe(guess)));
  }
  if (is_text) {
    convert_text(options);
  } else if (is_file) {
    convert_file(options, options.from);
  } else {
    const TraceFiles files = chakra::find_trace(options.from);
    if (options.ranks != 0) {
      throw UsageError(
          fmt::format("--ranks: expected only with a text workload; {} is the prefix of a trace", options.from));
    }
    convert_ranks(options, files);
  }
  return kDone;
}

}  // namespace

Command trace_convert_command(const Arguments& parent) {
  auto options = std::make_shared<ConvertOptions>();
  const Arguments app = parent.add_subcommand(
      "convert", "Converts Chakra to JSON and back, and text workloads to Chakra: a file, or all ranks of a prefix");
  app.add_option("FROM", options->from, "A trace, a PREFIX, or a text workload of ASTRA-sim 1.0 or SimAI")
      .type_name("FILE")
      .required();
  app.add_option("TO", options->to,
                 "The file, or for several ranks the prefix; .gz packs it, and - is standard output for one rank")
      .type_name("FILE")
      .required();
  app.add_option("--format", options->format,
                 "Format to write: et, json (Weft's, which keeps everything) or jsonizer (as chakra_jsonizer); if left "
                 "out, by the name of TO, else JSON from protobuf and protobuf from anything else")
      .check(OneOf({"et", "json", "jsonizer"}));
  app.add_option("--ranks", options->ranks, "Text workload: ranks to write; its all_gpus if left out")
      .check(Within(std::uint64_t{1}, kMostRanks));
  app.add_option("--passes", options->passes, "Text workload: training steps to write")
      .shows_default()
      .check(Within(std::uint64_t{1}, std::uint64_t{1'000'000}));
  app.add_option("--dialect", options->dialect,
                 "Text workload: what sizes of ALLGATHER are. astra-sim: what a rank has before it; simai: what it has "
                 "after it; if left out, simai if the file has words of SimAI's own")
      .check(OneOf({"astra-sim", "simai"}));
  app.add_option("--time-unit", options->time_unit,
                 "Text workload: unit of its compute times, which are nanoseconds. us writes the traces that the usual "
                 "converter writes, with times 1,000 times too long")
      .shows_default()
      .check(OneOf({"ns", "us"}));
  return {app, [options] { return convert(*options); }};
}

}  // namespace weft::platforms
