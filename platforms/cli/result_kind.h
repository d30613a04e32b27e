// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace weft::platforms {

/// What commands write, a kind of file each.
enum class ResultKind : std::uint8_t {
  kConfiguration,  ///< config.json of a run
  kSummary,        ///< summary.json
  kWhy,            ///< why.json
  kReport,         ///< report.html
  kLinkTable,      ///< links.csv
  kEndTable,       ///< ends.csv
  kTimeTable,      ///< over_time.csv
  kPicture,        ///< network.svg, timeline.svg, and those of weft topology
  kGraph,          ///< .dot of weft topology
  kTimeline,       ///< for Perfetto, or for readers of Kineto
  kWaves,          ///< VCD or FST
  kStimulus,       ///< of weft vcd replay
  kPatch,          ///< of weft vcd calibrate
  kPlatform,       ///< of weft import
  kTrace,          ///< a rank of a Chakra trace, in a format that Weft writes
  kGroups,         ///< of a trace
  kAccuracy,       ///< Markdown of weft validate
  kAccuracyTable,  ///< of weft validate
  kStudyTable,     ///< points of a study
  kStudyPage,      ///< of weft study
  kJunit,          ///< of weft regress
};

/// Nothing if a result of the kind may take the file's place: it is empty, or it is one itself, as its beginning says.
/// A command knows its own by what nobody else begins a file with; any Chakra trace, and any groups, count as a result,
/// for these files do not say who wrote them. Else what the file is: "text that begins with "# notes"".
std::optional<std::string> other_than(ResultKind kind, const std::filesystem::path& file);

/// "a platform that weft import has made"
std::string_view describe(ResultKind kind);

}  // namespace weft::platforms
