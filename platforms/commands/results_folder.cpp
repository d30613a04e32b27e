// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/results_folder.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/cli/output.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

bool are_pieces(const nlohmann::json& pieces) {
  if (!pieces.is_array()) return false;
  for (const auto& piece : pieces) {
    for (const char* name : {"of", "about", "kind", "place"}) {
      if (!piece.contains(name) || !piece[name].is_string()) return false;
    }
    if (!piece.contains("on_link") || !piece["on_link"].is_boolean()) return false;
    if (!piece.contains("ps") || !piece["ps"].is_number_integer()) return false;
  }
  return true;
}

bool is_critical_path(const nlohmann::json& why) {
  for (const char* name : {"from_ps", "until_ps"}) {
    if (!why.contains(name) || !why[name].is_number_integer()) return false;
  }
  return why.contains("pieces") && are_pieces(why["pieces"]);
}

}  // namespace

RunResults read_results(const std::string& folder) {
  RunResults results;
  results.name = folder;
  std::error_code error;
  const auto file = [&folder](const char* name) { return (fs::path(folder) / name).string(); };
  if (!fs::is_directory(folder, error)) {
    throw UsageError("expected a folder of results of weft run, got " + folder);
  }
  if (!fs::exists(file("summary.json"), error))
    throw UsageError(folder + " has no summary.json, which weft run writes");
  results.summary = load_own_object(file("summary.json"), "summary.json of weft run");
  if (!results.summary.contains("simulated_us") || !results.summary["simulated_us"].is_number()) {
    throw InputError(file("summary.json"), "simulated_us", "a number", "another value");
  }
  results.values = ordered_json::object();
  if (fs::exists(file("config.json"), error)) {
    const nlohmann::json config = load_own_object(file("config.json"), "config.json of weft run");
    if (config.contains("values") && config["values"].is_object()) results.values = config["values"];
  }
  if (fs::exists(file("why.json"), error)) {
    const nlohmann::json why = load_own_object(file("why.json"), "why.json of weft run --why");
    if (!is_critical_path(why)) throw InputError(file("why.json"), "", "why.json of weft run --why", "another object");
    results.why = why;
  }
  return results;
}

}  // namespace weft::platforms
