// SPDX-License-Identifier: Apache-2.0
// weft platforms: the machines of the catalogue.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/cli/listing.h"
#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/machine/platform.h"
#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

ordered_json read(const std::string& name, const std::filesystem::path& file) {
  const nlohmann::json platform = load_own_object(file.string(), "a platform");
  const auto found = platform.find("description");
  const std::string description = found != platform.end() && found->is_string() ? found->get<std::string>() : "";
  return {{"name", name}, {"description", description}, {"file", file.string()}};
}

int show_platform(const ListingOptions& options) {
  const ordered_json platform = read(options.name, find_listed_platform("NAME", options.name));
  if (options.json) {
    print_json(platform);
    return kDone;
  }
  print(fmt::format("{}\n\n{}\n\n{}\n", options.name, wrapped(platform["description"], 0),
                    platform["file"].get<std::string>()));
  return kDone;
}

int list_platforms(const ListingOptions& options) {
  if (!options.name.empty()) return show_platform(options);
  const std::map<std::string, std::filesystem::path> found = catalogue_platforms();
  if (options.names) {
    std::vector<std::string> names;
    for (const auto& [name, file] : found) names.push_back(name);
    print_names(names);
    return kDone;
  }
  std::vector<std::vector<std::string>> lines;
  ordered_json json = ordered_json::array();
  for (const auto& [name, file] : found) {
    json.push_back(read(name, file));
    lines.push_back({name, json.back()["description"]});
  }
  if (options.json) {
    print_json(json);
  } else {
    print(listed(lines) + "\nweft platforms NAME and --json show the whole descriptions\n");
  }
  return kDone;
}

}  // namespace

Command platforms_command(const Arguments& parent) {
  auto options = std::make_shared<ListingOptions>();
  const Arguments app = parent.add_subcommand("platforms", "Lists the platforms of the catalogue");
  options->add_name_to(app, "The platform to describe", "PLATFORM");
  options->add_to(app);
  return {app, [options] { return list_platforms(*options); }};
}

}  // namespace weft::platforms
