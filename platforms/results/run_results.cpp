// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/run_results.h"

#include <algorithm>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kRun = "a folder of results of weft run, or of weft collective --out";

bool are_pieces(const ordered_json& pieces) {
  return pieces.is_array() && std::all_of(pieces.begin(), pieces.end(), [](const ordered_json& piece) {
           const auto is = [&piece](const char* name, bool (ordered_json::*kind)() const) {
             return piece.contains(name) && (piece[name].*kind)();
           };
           for (const char* name : {"of", "about", "kind", "place"}) {
             if (!is(name, &ordered_json::is_string)) return false;
           }
           return is("on_link", &ordered_json::is_boolean) && is("ps", &ordered_json::is_number_integer);
         });
}

/// Keys that a version does not have are fine; others are as this one writes them.
bool is_critical_path(const ordered_json& why) {
  const auto is = [](const ordered_json& object, const char* name, bool (ordered_json::*kind)() const) {
    return object.contains(name) && (object[name].*kind)();
  };
  for (const char* name : {"from_ps", "until_ps"}) {
    if (!is(why, name, &ordered_json::is_number_integer)) return false;
  }
  if (!why.contains("pieces") || !are_pieces(why["pieces"])) return false;
  for (const ordered_json& wait : why.value("waits", ordered_json::array())) {
    const bool is_wait =
        is(wait, "place", &ordered_json::is_string) && is(wait, "ps", &ordered_json::is_number_integer);
    if (!is_wait || !wait.contains("for") || !are_pieces(wait["for"])) return false;
  }
  for (const ordered_json& collective : why.value("collectives", ordered_json::array())) {
    for (const char* name : {"group", "operation"}) {
      if (!is(collective, name, &ordered_json::is_string)) return false;
    }
    for (const char* name : {"bytes", "members", "calls", "ps", "late_ps"}) {
      if (!is(collective, name, &ordered_json::is_number_integer)) return false;
    }
    if (!is(collective, "last", &ordered_json::is_array)) return false;
    if (!collective.contains("transfer") || !are_pieces(collective["transfer"])) return false;
  }
  return true;
}

/// With its keys in the order in which they were written.
ordered_json object_of(const fs::path& file, const std::string& what) {
  static_cast<void>(load_own_object(file.string(), what));
  return ordered_json::parse(load_document(file.string(), what));
}

}  // namespace

double RunResults::time_us() const {
  constexpr double kNanosecond = 1e-3;
  const auto number = [this](const char* key) { return summary.contains(key) && summary[key].is_number(); };
  if (number("simulated_us")) {
    const ordered_json prepared = summary.value("prepared", ordered_json());
    const bool has_prepared = prepared.is_object() && prepared.contains("time_us") && prepared["time_us"].is_number();
    return summary["simulated_us"].get<double>() - (has_prepared ? prepared["time_us"].get<double>() : 0);
  }
  if (number("last_finish_ns")) return kNanosecond * summary["last_finish_ns"].get<double>();
  throw InputError((fs::path(name) / "summary.json").string(), "simulated_us", "a number", "none");
}

ordered_json RunResults::values() const {
  return config.is_object() && config.contains("values") ? config["values"] : ordered_json::object();
}

RunResults read_run(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) throw InputError(folder.string(), "", kRun, "no such file or directory");
  if (!fs::is_directory(folder, ignored)) throw InputError(folder.string(), "", kRun, "something else");
  const auto has = [&folder](const char* name) {
    std::error_code none;
    return fs::is_regular_file(folder / name, none);
  };
  if (!has("summary.json")) throw InputError(folder.string(), "", kRun, "one without summary.json");
  RunResults run;
  run.name = folder.string();
  run.summary = object_of(folder / "summary.json", "summary.json of weft run");
  if (has("config.json")) run.config = object_of(folder / "config.json", "config.json of weft run");
  if (!has("why.json")) return run;
  const std::string what = "why.json of weft run --why";
  run.why = object_of(folder / "why.json", what);
  if (!is_critical_path(run.why)) throw InputError((folder / "why.json").string(), "", what, "another object");
  return run;
}

}  // namespace weft::platforms
