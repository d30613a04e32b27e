// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/result_kind.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "traces/files/format_error.h"
#include "traces/files/input_file.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/kind/json_beginning.h"
#include "traces/files/read_files.h"
#include "traces/timeline/kineto.h"
#include "traces/timeline/timeline.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using traces::FileKind;

/// A file's beginning, unpacked, and what that says.
struct Beginning {
  std::string text;
  traces::FileGuess guess;
};

/// The line of this index, without its end.
std::string_view line_of(std::string_view text, int index) {
  for (; index > 0; --index) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

bool has_members(const Beginning& file, std::initializer_list<std::string_view> members) {
  if (!traces::is_json(file.guess.kind)) return false;
  const traces::JsonBeginning json = traces::json_beginning(file.text);
  return !json.is_list &&
         std::all_of(members.begin(), members.end(), [&json](std::string_view member) { return json.has(member); });
}

/// Nothing but the model of a reduction engine, in one of the places that --at has.
bool is_patch(const std::string& text) {
  const nlohmann::json whole = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const nlohmann::json* at = &whole;
  for (const char* const key : {"scale_up", "fabric", "switch", "reduction"}) {
    if (at->is_object() && at->size() == 1 && at->contains(key)) {
      at = &(*at)[key];
    } else if (key != std::string_view("scale_up")) {
      return false;
    }
  }
  return at->is_object() && at->contains("clock") && at->contains("latency") && at->contains("pipeline");
}

/// FST has the program's name behind its counts, in 128 bytes.
bool is_waves(const Beginning& file) {
  constexpr std::size_t kProgram = 74;
  const std::string_view text = file.text;
  if (file.guess.kind == FileKind::kFst)
    return text.size() > kProgram && text.substr(kProgram).starts_with(std::string_view("Weft\0", 5));
  return text.starts_with("$version Weft $end");
}

/// The first line has the eight words of a beat, of hexadecimal digits.
bool is_stimulus(std::string_view text) {
  std::string_view line = line_of(text, 0);
  constexpr int kWords = 8;
  int words = 1;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ') {
      if (i == 0 || line[i - 1] == ' ') return false;
      ++words;
    } else if (std::string_view("0123456789abcdef").find(line[i]) == std::string_view::npos) {
      return false;
    }
  }
  return words == kWords && line.back() != ' ';
}

bool is_of(ResultKind kind, const Beginning& file) {
  const std::string_view text = file.text;
  switch (kind) {
    case ResultKind::kConfiguration:
      return has_members(file, {"weft", "file", "platform"});
    case ResultKind::kSummary:
      return has_members(file, {"weft", "platform", "workload"});
    case ResultKind::kWhy:
      return has_members(file, {"weft", "until_ps", "pieces"});
    case ResultKind::kReport:
      return text.starts_with("<!DOCTYPE html>\n") &&
             text.find("<meta name=\"generator\" content=\"weft report\">") != std::string_view::npos;
    case ResultKind::kLinkTable:
      return text.starts_with("link,utilisation,");
    case ResultKind::kEndTable:
      return text.starts_with("end,finish_ns,");
    case ResultKind::kTimeTable:
      return text.starts_with("until_us,computing,");
    case ResultKind::kPicture:
      return text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"") &&
             line_of(text, 0).find("font-family=\"sans-serif\" font-size=") != std::string_view::npos &&
             line_of(text, 1).starts_with("<rect ");
    case ResultKind::kGraph:
      return text.starts_with("graph \"") && line_of(text, 1) == "  node [shape=box];";
    case ResultKind::kTimeline:
      return text.starts_with(traces::perfetto_beginning()) || text.starts_with(traces::kKinetoBeginning);
    case ResultKind::kWaves:
      return is_waves(file);
    case ResultKind::kStimulus:
      return is_stimulus(text);
    case ResultKind::kPatch:
      return traces::is_json(file.guess.kind) && is_patch(file.text);
    case ResultKind::kPlatform:
      return has_members(file, {"name", "description"}) &&
             (text.find("\"description\": \"From ASTRA-sim: ") != std::string_view::npos ||
              text.find("\"description\": \"From lstopo: ") != std::string_view::npos ||
              text.find("\"description\": \"From InfraGraph: ") != std::string_view::npos);
    case ResultKind::kTrace:
      return file.guess.kind == FileKind::kChakra || file.guess.kind == FileKind::kChakraJson ||
             file.guess.kind == FileKind::kChakraJsonizer;
    case ResultKind::kGroups:
      return file.guess.kind == FileKind::kGroups;
    case ResultKind::kAccuracy:
      return text.starts_with("# ") && line_of(text, 2).starts_with("This page is written by `weft validate");
    case ResultKind::kAccuracyTable:
      return text.starts_with("row,platform,arguments,metric,published,simulated,");
    case ResultKind::kStudyTable:
      return text.starts_with("key,") && line_of(text, 0).ends_with(",status,digest,version,wall_s,user_s,peak_bytes");
    case ResultKind::kStudyPage:
      return text.starts_with("<!DOCTYPE html>\n") &&
             text.find("<meta name=\"generator\" content=\"weft study\">") != std::string_view::npos;
    case ResultKind::kJunit:
      return line_of(text, 1).starts_with("<testsuites name=\"weft regress\" ");
  }
  return false;
}

}  // namespace

std::optional<std::string> other_than(ResultKind kind, const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error || size == 0) return std::nullopt;
  if (access(file.c_str(), R_OK) != 0) return std::string("a file that cannot be read: ") + std::strerror(errno);
  Beginning beginning;
  try {
    traces::InputFile input(file);
    beginning.guess = traces::guess(input);
    beginning.text = input.peek(traces::kGuessed);
  } catch (const traces::FormatError& damaged) {
    return std::string("damaged: ") + damaged.what();
  }
  traces::forget_read(file);  // to be looked at is not to be read
  if (is_of(kind, beginning)) return std::nullopt;
  return traces::describe(beginning.guess);
}

std::string_view describe(ResultKind kind) {
  switch (kind) {
    case ResultKind::kConfiguration:
      return "the configuration of a run of Weft";
    case ResultKind::kSummary:
      return "the summary of a run of Weft";
    case ResultKind::kWhy:
      return "the critical path of a run of Weft";
    case ResultKind::kReport:
      return "a report of a run of Weft";
    case ResultKind::kLinkTable:
      return "links.csv of a run of Weft";
    case ResultKind::kEndTable:
      return "ends.csv of a run of Weft";
    case ResultKind::kTimeTable:
      return "over_time.csv of a run of Weft";
    case ResultKind::kPicture:
      return "a picture that Weft has drawn";
    case ResultKind::kGraph:
      return "a graph that weft topology has written";
    case ResultKind::kTimeline:
      return "a timeline of Weft";
    case ResultKind::kWaves:
      return "a waveform of Weft";
    case ResultKind::kStimulus:
      return "the beats that weft vcd replay has written";
    case ResultKind::kPatch:
      return "a patch that weft vcd calibrate has written";
    case ResultKind::kPlatform:
      return "a platform that weft import has made";
    case ResultKind::kTrace:
      return "a Chakra trace";
    case ResultKind::kGroups:
      return "a file of communicator groups";
    case ResultKind::kAccuracy:
      return "a page of weft validate";
    case ResultKind::kAccuracyTable:
      return "a table of weft validate";
    case ResultKind::kStudyTable:
      return "a table of weft study";
    case ResultKind::kStudyPage:
      return "a page of weft study";
    case ResultKind::kJunit:
      return "verdicts of weft regress";
  }
  return "";
}

}  // namespace weft::platforms
