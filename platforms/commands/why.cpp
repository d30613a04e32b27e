// SPDX-License-Identifier: Apache-2.0
// weft why: what the time of a run went to.
#include "platforms/results/why.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct WhyOptions {
  std::string results;
  bool json = false;
};

bool is_critical_path(const nlohmann::json& why) {
  if (!why.contains("until_ps") || !why["until_ps"].is_number_integer()) return false;
  if (!why.contains("from_ps") || !why["from_ps"].is_number_integer()) return false;
  if (!why.contains("pieces") || !why["pieces"].is_array()) return false;
  for (const auto& piece : why["pieces"]) {
    for (const char* name : {"of", "about", "kind", "place"}) {
      if (!piece.contains(name) || !piece[name].is_string()) return false;
    }
    if (!piece.contains("on_link") || !piece["on_link"].is_boolean()) return false;
    if (!piece.contains("ps") || !piece["ps"].is_number_integer()) return false;
  }
  return true;
}

int explain(const WhyOptions& options) {
  std::error_code error;
  const bool is_folder = fs::is_directory(options.results, error);
  const std::string file = is_folder ? (fs::path(options.results) / "why.json").string() : options.results;
  if (is_folder && !fs::exists(file, error)) {
    throw UsageError("OUT: " + options.results + " has no why.json, which weft run --why writes");
  }
  const nlohmann::json why = load_own_object(file, "why.json of weft run --why");
  if (!is_critical_path(why)) throw InputError(file, "", "why.json of weft run --why", "another object");
  if (options.json) {
    print_json(why);
  } else {
    print(why_text(why));
  }
  return kDone;
}

}  // namespace

Command why_command(const Arguments& parent) {
  auto options = std::make_shared<WhyOptions>();
  const Arguments app = parent.add_subcommand("why", "Tells what the time of a run went to");
  app.add_option("OUT", options->results, "Folder of the results of weft run --why").required().type_name("FOLDER");
  app.add_flag("--json", options->json, "Print why.json");
  return {app, [options] { return explain(*options); }};
}

}  // namespace weft::platforms
