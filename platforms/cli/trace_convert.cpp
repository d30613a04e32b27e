// SPDX-License-Identifier: Apache-2.0
// weft trace convert: traces from and to other formats.
#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "platforms/cli/output.h"
#include "platforms/cli/trace_command.h"
#include "traces/chakra/convert.h"
#include "traces/chakra/text/workload.h"
#include "traces/file_kind.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using chakra::TraceFiles;
using chakra::TraceFormat;
using traces::FileKind;

struct ConvertOptions {
  std::string from;
  std::string to;
  std::string format;  ///< empty: as TO is called, or the other than FROM's
  std::uint64_t ranks = 0;
  std::uint64_t passes = 1;
  std::string time_unit = "ns";
  std::string dialect;  ///< empty: as the file's words tell
};

/// What is read, so that no result takes its place, by whatever name.
class Inputs {
 public:
  void add(const fs::path& file) {
    if (const auto identity = identity_of(file)) files_.emplace(*identity, file);
  }

  /// Throws UsageError unless a result can stand there.
  void check(const fs::path& to) const {
    std::error_code ignored;
    if (fs::is_directory(to, ignored)) throw UsageError(to.string() + ": expected a file or none, got a folder");
    // It is written beside its place first.
    for (const fs::path& place : {to, fs::path(to.string() + ".part")}) {
      const auto identity = identity_of(place);
      const auto found = identity ? files_.find(*identity) : files_.end();
      if (found == files_.end()) continue;
      throw UsageError(to.string() + ": expected another file than " + found->second.string() + ", which is read");
    }
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  static std::optional<Identity> identity_of(const fs::path& file) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) return std::nullopt;
    return Identity(status.st_dev, status.st_ino);
  }

  std::map<Identity, fs::path> files_;
};

bool ends_in(const std::string& name, const std::string& ending) {
  return name.ends_with(ending) || name.ends_with(ending + ".gz");
}

TraceFormat format_of(const ConvertOptions& options, bool is_protobuf) {
  if (options.format == "et") return TraceFormat::kProtobuf;
  if (options.format == "json") return TraceFormat::kJson;
  if (options.format == "jsonizer") return TraceFormat::kJsonizer;
  if (ends_in(options.to, ".et")) return TraceFormat::kProtobuf;
  if (ends_in(options.to, ".json")) return TraceFormat::kJson;
  return is_protobuf ? TraceFormat::kJson : TraceFormat::kProtobuf;
}

/// Of each rank; a file is one rank.
std::vector<fs::path> convert_ranks(const ConvertOptions& options, const TraceFiles& files) {
  const TraceFormat format = format_of(options, traces::guess(files.files.front().file).kind == FileKind::kChakra);
  Inputs inputs;
  std::vector<fs::path> places;
  for (const chakra::RankFile& file : files.files) {
    inputs.add(file.file);
    places.push_back(!files.is_prefix ? fs::path(options.to)
                                      : chakra::rank_file(options.to, *file.rank,
                                                          format == TraceFormat::kProtobuf ? ".et" : ".json"));
  }
  for (const fs::path& place : places) inputs.check(place);
  std::vector<std::unique_ptr<traces::OutputFile>> written;
  for (std::size_t i = 0; i < places.size(); ++i) {
    written.push_back(chakra::convert_trace(files.files[i].file, places[i], format));
  }
  for (const auto& file : written) file->appear();
  warn_of_missing(files);
  return places;
}

std::vector<fs::path> convert_text(const ConvertOptions& options) {
  chakra::TextWorkload workload = chakra::read_text_workload(options.from);
  using Dialect = chakra::TextWorkload::Dialect;
  if (!options.dialect.empty()) workload.dialect = options.dialect == "simai" ? Dialect::kSimAi : Dialect::kAstraSim;
  chakra::TextConversion conversion;
  conversion.ranks = options.ranks;
  if (conversion.ranks == 0) conversion.ranks = workload.ranks;
  if (conversion.ranks == 0) {
    throw UsageError("trace convert: expected --ranks N, for a text workload that does not say all_gpus");
  }
  conversion.passes = options.passes;
  conversion.take_nanos_for_micros = options.time_unit == "us";
  Inputs inputs;
  inputs.add(options.from);
  for (std::uint64_t rank = 0; rank < conversion.ranks; ++rank) inputs.check(chakra::rank_file(options.to, rank));
  inputs.check(chakra::groups_file(options.to));
  std::vector<fs::path> written = chakra::convert_text_workload(workload, options.to, conversion);
  print_warnings(chakra::remarks_of(workload, conversion));
  return written;
}

int convert(const ConvertOptions& options) {
  std::error_code ignored;
  const bool is_file = fs::exists(options.from, ignored) && !fs::is_directory(options.from, ignored);
  const bool is_text = is_file && traces::guess(fs::path(options.from)).kind == FileKind::kTextWorkload;
  if (is_text && !options.format.empty() && options.format != "et") {
    throw UsageError("--format: expected et, or none, with a text workload: convert the traces then");
  }
  if (!is_text && options.ranks != 0) throw UsageError("--ranks: expected only with a text workload");
  std::vector<fs::path> written;
  try {
    written = is_text ? convert_text(options) : convert_ranks(options, chakra::find_trace(options.from));
  } catch (const std::system_error& error) {
    throw UsageError("trace convert: expected a place that can be written: " + std::string(error.what()));
  }
  print_wrote(written);
  return kDone;
}

}  // namespace

void print_wrote(const std::vector<fs::path>& files) {
  if (files.size() == 1) {
    print("wrote " + files[0].string() + "\n");
  } else {
    print(fmt::format("wrote {} files, {} to {}\n", files.size(), files.front().string(), files.back().string()));
  }
}

Command trace_convert_command(const Arguments& parent) {
  auto options = std::make_shared<ConvertOptions>();
  const Arguments app = parent.add_subcommand(
      "convert", "Chakra to JSON and back, of a file or of all ranks of a prefix, and text workloads to Chakra");
  app.add_option("FROM", options->from, "A trace, a PREFIX, or a text workload of ASTRA-sim 1.0 or SimAI").required();
  app.add_option("TO", options->to, "The file, or for several ranks the prefix; .gz packs it").required();
  app.add_option("--format", options->format,
                 "What to write: et, json (Weft's, which keeps everything) or jsonizer (as chakra_jsonizer); left out, "
                 "what TO is called, or JSON of protobuf and protobuf of all else")
      .check(OneOf({"et", "json", "jsonizer"}));
  app.add_option("--ranks", options->ranks, "Of a text workload: how many ranks to write; left out, its all_gpus")
      .check(Within(std::uint64_t{1}, std::uint64_t{1'000'000}));
  app.add_option("--passes", options->passes, "Of a text workload: how many training steps")
      .shows_default()
      .check(Within(std::uint64_t{1}, std::uint64_t{1'000'000}));
  app.add_option("--dialect", options->dialect,
                 "Of a text workload, how sizes of ALLGATHER are read: astra-sim, what a rank has before it, or simai, "
                 "after it; left out, simai where the file has words of its own")
      .check(OneOf({"astra-sim", "simai"}));
  app.add_option("--time-unit", options->time_unit,
                 "Of a text workload: what its compute times count. They are nanoseconds; us makes the traces that "
                 "the usual converter makes, in which they are 1,000 times too long")
      .shows_default()
      .check(OneOf({"ns", "us"}));
  return {app, [options] { return convert(*options); }};
}

}  // namespace weft::platforms
