// SPDX-License-Identifier: Apache-2.0
// weft models: the networks that a workload can name.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "platforms/cli/listing.h"
#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/config/catalogue.h"
#include "platforms/config/text.h"
#include "platforms/jobs/model_list.h"
#include "platforms/jobs/own_model.h"
#include "platforms/results/format.h"
#include "traces/nearest_names.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// "8.03 B"
std::string count_text(std::int64_t count) {
  constexpr double kThousand = 1e3;
  constexpr double kMillion = 1e6;
  constexpr double kBillion = 1e9;
  const auto number = static_cast<double>(count);
  if (number < kMillion) return fmt::format("{:.3g} k", number / kThousand);
  return number < kBillion ? fmt::format("{:.3g} M", number / kMillion) : fmt::format("{:.4g} B", number / kBillion);
}

ListedModel find(const std::string& name) {
  Catalogue catalogue;
  catalogue.search_first(".");
  const std::string found = find_model(catalogue, name);
  print_warnings(remarks_of_model(name, found));
  try {
    return read_model(name, found);
  } catch (const std::invalid_argument&) {
    traces::NearestNames near(name);
    for (const ListedModel& model : list_models(catalogue)) near.look_at(model.name);
    throw UsageError("NAME: expected a model (weft models), or a file with one, got " + in_quotes(name) +
                     near.question());
  }
}

/// What its JSON has, a line each.
int show_model(const ListingOptions& options) {
  const ListedModel model = find(options.name);
  const ordered_json json = to_json(model);
  if (options.json) {
    print_json(json);
    return kDone;
  }
  std::vector<std::vector<std::string>> lines;
  for (const auto& [key, value] : json.items()) {
    const std::string text =
        key == "parameters"          ? fmt::format("{} ({})", value.dump(), count_text(model.parameters()))
        : key == "active_parameters" ? fmt::format("{} ({})", value.dump(), count_text(model.active()))
        : key == "flops_per_token"
            ? fmt::format("{:.4g}, of a sequence as long as it was trained with", value.get<double>())
        : key == "kinds"    ? join(model.kinds(), ", ")
        : value.is_string() ? value.get<std::string>()
                            : value.dump();
    lines.push_back({key, text});
  }
  print(listed(lines));
  return kDone;
}

int list_all_models(const ListingOptions& options) {
  if (!options.name.empty()) return show_model(options);
  const std::vector<ListedModel> models = list_models(Catalogue());
  ordered_json json = ordered_json::array();
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> lines = {
      {"name", "parameters", "of a token", "layers", "hidden", "kinds of workload"}};
  for (const ListedModel& model : models) {
    names.push_back(model.name);
    json.push_back(to_json(model));
    lines.push_back({model.name, fmt::format("{:>10}", count_text(model.parameters())),
                     fmt::format("{:>10}", model.active() > 0 ? count_text(model.active()) : "-"),
                     fmt::format("{:>6}", model.layers()),
                     fmt::format("{:>6}", model.hidden() > 0 ? std::to_string(model.hidden()) : "-"),
                     join(model.kinds(), ", ")});
  }
  if (options.names) {
    print_names(names);
  } else if (options.json) {
    print_json(json);
  } else {
    print(listed(lines));
  }
  return kDone;
}

}  // namespace

Command models_command(const Arguments& parent) {
  auto options = std::make_shared<ListingOptions>();
  const Arguments app = parent.add_subcommand("models", "Lists the networks that a workload can name");
  options->add_name_to(app, "The model to describe, or a file with one", "MODEL");
  options->add_to(app);
  return {app, [options] { return list_all_models(*options); }};
}

}  // namespace weft::platforms
