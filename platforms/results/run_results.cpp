// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/run_results.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/results/format.h"
#include "platforms/results/version.h"
#include "platforms/results/why/check_why.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kAgain = "run it again with this Weft to have all.";
constexpr const char* kRun = "a folder of results of weft run, or of weft collective --out";

/// With its keys in the order in which they were written.
ordered_json object_of(const fs::path& file, const std::string& what) {
  static_cast<void>(load_own_object(file.string(), what));
  return ordered_json::parse(load_document(file.string(), what));
}

/// Of what wrote a file; nothing: it does not say.
std::optional<int> schema_of(const ordered_json& results) {
  const ordered_json weft = results.is_object() ? results.value("weft", ordered_json()) : ordered_json();
  const auto schema = weft.is_object() ? weft.find("schema") : weft.end();
  if (schema == weft.end() || !schema->is_number_integer()) return std::nullopt;
  return schema->get<int>();
}

/// "weft 0.1.0 (6ec4cf7c04f1)", or what is known of it.
std::string writer_of(const ordered_json& results) {
  const ordered_json weft = results.value("weft", ordered_json());
  const auto text = [&weft](const char* key) {
    const bool is_text = weft.is_object() && weft.contains(key) && weft[key].is_string();
    return is_text ? weft[key].get<std::string>() : std::string();
  };
  if (text("version").empty()) return "an earlier Weft";
  return "weft " + text("version") + (text("commit").empty() ? "" : " (" + text("commit") + ")");
}

bool is_of_other_schema(const ordered_json& results) {
  const std::optional<int> schema = schema_of(results);
  return schema && *schema != kSchema;
}

/// check_why(), where what is wrong with a file of another schema is that.
void check_path(const ordered_json& why, const std::string& file) {
  try {
    check_why(why, file);
  } catch (const InputError&) {
    if (!is_of_other_schema(why)) throw;
    throw InputError(file, "weft.schema", fmt::format("{}, which {} reads", kSchema, version_text()),
                     fmt::format("{}, which {} wrote", *schema_of(why), writer_of(why)));
  }
}

}  // namespace

std::string RunResults::other_schema() const {
  for (const ordered_json* const results : {&why, &summary}) {
    if (!is_of_other_schema(*results)) continue;
    return fmt::format(
        "{} was written by {}, with schema {} where {} has {}: keys may be missing or mean something else; {}", name,
        writer_of(*results), *schema_of(*results), version_text(), kSchema, kAgain);
  }
  return "";
}

std::string RunResults::missing_of_why() const {
  const std::vector<std::string> missing = why.is_object() ? missing_in_why(why) : std::vector<std::string>();
  if (missing.empty()) return "";
  return fmt::format(
      "{} was written by {}, which did not tell {}: what needs that is missing or rough, also in estimates "
      "and their bounds; {}",
      (fs::path(name) / "why.json").string(), writer_of(why), and_list(missing), kAgain);
}

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

std::string RunResults::ended_early() const {
  const auto partial = summary.find("partial");
  if (partial == summary.end() || !partial->is_object() || partial->empty()) return "";
  const auto by = partial->find("ended_by");
  const std::string signal = by != partial->end() && by->is_string() ? " by " + by->get<std::string>() : "";
  return name + " was ended early" + signal + ": its time is that of what had run until then.";
}

const ordered_json& RunResults::values() const {
  static const ordered_json kNone = ordered_json::object();
  return config.is_object() && config.contains("values") ? config["values"] : kNone;
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
  if (run.summary.contains("breakdown_us") && !run.summary["breakdown_us"].is_object())
    throw InputError((folder / "summary.json").string(), "breakdown_us", "an object",
                     run.summary["breakdown_us"].dump());
  if (has("config.json")) {
    run.config = object_of(folder / "config.json", "config.json of weft run");
    check_config(run.config, (folder / "config.json").string());
  }
  if (has("why.json")) {
    run.why = object_of(folder / "why.json", "why.json of weft run --why");
    check_path(run.why, (folder / "why.json").string());
  }
  return run;
}

}  // namespace weft::platforms
