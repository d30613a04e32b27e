// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/timeline_option.h"

#include <system_error>

#include "platforms/config/text.h"

namespace weft::platforms {

std::unique_ptr<TimelineProbe> open_timeline(ResultFiles& files, const std::string& option,
                                             const std::filesystem::path& out, const std::filesystem::path& folder,
                                             int processes) {
  if (processes == 0) return nullptr;
  const std::filesystem::path name = "timeline.json.gz";
  std::error_code ignored;
  // Among the results, too, it may be asked for by name.
  const bool is_result = option.empty() || std::filesystem::weakly_canonical(option, ignored) ==
                                               std::filesystem::weakly_canonical(out / name, ignored);
  const std::filesystem::path file =
      is_result ? folder / name : files.file("--timeline", option, ResultKind::kTimeline);
  try {
    return std::make_unique<TimelineProbe>(file, processes);
  } catch (const std::system_error& error) {
    if (is_full(error)) throw;
    throw UsageError("--timeline: expected a file that can be written, got " + in_quotes(file.string()) + ": " +
                     error.what());
  }
}

}  // namespace weft::platforms
