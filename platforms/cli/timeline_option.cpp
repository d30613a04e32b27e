// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/timeline_option.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "platforms/config/text.h"
#include "traces/timeline/kineto.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "timeline.pftrace.gz";
constexpr std::string_view kKinetoEndings[] = {".json", ".json.gz"};

/// "k/trace.rank3.json.gz" of "k/trace.json.gz".
fs::path of_rank(const fs::path& file, const std::string& rank) {
  const std::string name = file.filename().string();
  const std::size_t at = name.rfind(".json");
  return file.parent_path() / (name.substr(0, at) + ".rank" + rank + name.substr(at));
}

std::unique_ptr<traces::Timeline> open_kineto(ResultFiles& files, const TimelineOptions& options, int ranks) {
  std::vector<fs::path> places;
  for (int r = 0; r < std::min(options.ranks, ranks); ++r)
    places.push_back(files.file("--timeline", of_rank(options.file, std::to_string(r)), ResultKind::kTimeline));
  return traces::kineto_timeline(places, ranks);
}

}  // namespace

void TimelineOptions::add_to(const Arguments& app) {
  app.add_option("--timeline", file,
                 "File for what happened when, for ui.perfetto.dev; timeline.pftrace.gz among the results if left out. "
                 "FILE.json or FILE.json.gz: as PyTorch's profiler writes it, a file for each rank")
      .type_name("FILE");
  app.add_option("--timeline-ranks", ranks,
                 "Accelerators, or ends of an analytical network, to draw; 0 for no timeline")
      .shows_default()
      .check(Within(0, 1 << 20));
  app.add_option("--timeline-queues", queues, "Outputs of switches whose queues are drawn: the deepest of all")
      .shows_default()
      .check(Within(0, 1 << 20));
}

void TimelineOptions::check() const {
  if (!file.empty() && ranks == 0) {
    throw UsageError("--timeline: expected --timeline-ranks of at least 1 beside it, got 0, which draws nothing");
  }
}

bool TimelineOptions::is_kineto() const {
  return std::any_of(std::begin(kKinetoEndings), std::end(kKinetoEndings),
                     [this](std::string_view ending) { return file.ends_with(ending); });
}

fs::path TimelineOptions::place(const fs::path& out) const {
  if (file.empty()) return out / kName;
  return is_kineto() ? of_rank(file, "*") : fs::path(file);
}

std::string TimelineOptions::text() const {
  return place({}).string();
}

std::unique_ptr<TimelineProbe> open_timeline(ResultFiles& files, const TimelineOptions& options, const fs::path& out,
                                             const fs::path& folder, int ranks) {
  if (options.ranks == 0) return nullptr;
  const TimelineProbe::Limits limits{options.ranks, options.queues};
  if (options.is_kineto()) return std::make_unique<TimelineProbe>(open_kineto(files, options, ranks), limits);
  std::error_code ignored;
  // Among the results, too, it may be asked for by name.
  const bool is_result =
      fs::weakly_canonical(options.place(out), ignored) == fs::weakly_canonical(out / kName, ignored);
  const fs::path file = is_result ? folder / kName : files.file("--timeline", options.file, ResultKind::kTimeline);
  try {
    return std::make_unique<TimelineProbe>(traces::perfetto_timeline(file), limits);
  } catch (const std::system_error& error) {
    if (is_full(error)) throw;
    throw UsageError("--timeline: expected a file that can be written, got " + in_quotes(file.string()) + ": " +
                     error.what());
  }
}

}  // namespace weft::platforms
