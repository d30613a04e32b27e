// SPDX-License-Identifier: Apache-2.0
// weft parts: the parts of the catalogue, and a user's own.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "platforms/cli/listing.h"
#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/config/catalogue.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

struct PartOptions {
  std::string kind;
  ListingOptions listing;
};

void check_kind(Catalogue& catalogue, const std::string& kind) {
  if (kind.empty()) return;
  std::set<std::string> kinds;
  for (const std::string& name : catalogue.names("")) kinds.insert(catalogue.find(name)->kind);
  const std::string error = not_one_of({kinds.begin(), kinds.end()}, kind);
  if (!error.empty()) throw UsageError("--kind: " + error);
}

nlohmann::ordered_json to_json(Catalogue& catalogue, const std::vector<std::string>& names) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const std::string& name : names) {
    const Part& part = *catalogue.find(name);
    json.push_back({{"name", part.name}, {"kind", part.kind}, {"source", part.source}, {"file", part.file}});
  }
  return json;
}

/// Of a kind with all of their sources, of all kinds on a line each.
int list_parts(const PartOptions& options) {
  Catalogue catalogue;
  check_kind(catalogue, options.kind);
  const std::vector<std::string> names = catalogue.names(options.kind);
  if (options.listing.names) {
    print_names(names);
    return kDone;
  }
  if (options.listing.json) {
    print_json(to_json(catalogue, names));
    return kDone;
  }
  if (options.kind.empty()) {
    std::vector<std::vector<std::string>> lines;
    for (const std::string& name : names)
      lines.push_back({name, catalogue.find(name)->kind, catalogue.find(name)->source});
    print(listed(lines) + "\n--kind KIND and --json show the whole sources\n");
    return kDone;
  }
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string lines;
  for (const std::string& name : names) {
    const std::string start = fmt::format("{:<{}}  {:<12} ", name, width, options.kind);
    lines += start + wrapped(catalogue.find(name)->source, start.size()) + "\n";
  }
  print(lines);
  return kDone;
}

}  // namespace

Command parts_command(const Arguments& parent) {
  auto options = std::make_shared<PartOptions>();
  const Arguments app = parent.add_subcommand("parts", "Lists the parts of the catalogue");
  app.add_option("--kind", options->kind, "Those of one kind");
  options->listing.add_to(app);
  return {app, [options] { return list_parts(*options); }};
}

}  // namespace weft::platforms
