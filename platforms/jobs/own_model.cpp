// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/own_model.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "platforms/config/text.h"
#include "platforms/jobs/model_list.h"
#include "sw/models/named_model.h"
#include "traces/files/input_file.h"
#include "traces/nearest_names.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

/// In the first of the folders that has the file.
std::optional<fs::path> find_in(const std::vector<fs::path>& folders, const fs::path& file) {
  for (const fs::path& folder : folders) {
    if (traces::is_file(folder / file)) return (folder / file).lexically_normal();
  }
  return std::nullopt;
}

}  // namespace

bool is_listed_model(const std::string& name) {
  const std::vector<std::string> networks = models::network_names();
  const std::vector<models::Transformer> transformers = models::load_transformers();
  return std::find(networks.begin(), networks.end(), name) != networks.end() ||
         std::any_of(transformers.begin(), transformers.end(), [&](const auto& model) { return model.name == name; });
}

std::vector<std::string> model_names(const Catalogue& catalogue, std::string_view kind) {
  std::vector<std::string> names;
  for (const ListedModel& model : list_models(catalogue)) {
    const std::vector<std::string> kinds = model.kinds();
    if (kind.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) names.push_back(model.name);
  }
  return names;
}

std::string find_model(const Catalogue& catalogue, const std::string& text) {
  if (std::optional<models::ModelFile> own = models::model_file(text)) {
    own->file = find_in(catalogue.own_folders(), own->file).value_or(own->file);
    return own->name();
  }
  for (const fs::path& folder : catalogue.own_folders()) {
    for (const char* ending : {".json", ".csv"}) {
      const fs::path file = folder / (text + ending);
      // Beside a platform lie files of other kinds, and a platform may be called as its model is.
      if (models::has_model(file)) return file.lexically_normal().string();
    }
  }
  return text;
}

std::string find_model(Platform& platform, std::string_view field, const std::string& text) {
  const Node node = platform.workload().child(field);
  const bool may_be_file = models::model_file(text) || text.find('.') != std::string::npos;
  if (may_be_file && node.exists()) {
    const auto is_there = [](const fs::path& at) {
      const std::optional<models::ModelFile> own = models::model_file(at.string());
      return traces::is_file(own ? own->file : at);
    };
    const fs::path beside = node.file(is_there);
    // With a slash it is known for a file, whatever its ending.
    if (is_there(beside)) return beside.has_parent_path() ? beside.string() : ("." / beside).string();
  }
  const Catalogue& catalogue = platform.document().catalogue();
  std::string found = find_model(catalogue, text);
  if (found != text || models::model_file(text) || is_listed_model(text)) return found;
  const auto kind = platform.workload().get<std::string>("kind", "");
  traces::NearestNames near(text);
  const std::vector<std::string> names = model_names(catalogue, kind);
  for (const std::string& name : names) near.look_at(name);
  node.fail("one of " + join(names, ", ") + ", or a file whose name ends in .csv or .json or has a / in it",
            in_quotes(text) + near.question());
}

std::vector<fs::path> files_of_model(const std::string& found) {
  const std::optional<models::ModelFile> own = models::model_file(found);
  return own ? std::vector<fs::path>{own->file} : std::vector<fs::path>();
}

std::vector<std::string> remarks_of_model(const std::string& text, const std::string& found) {
  if (text == found || !is_listed_model(text)) return {};
  return {text + " is " + found + ", not the model of that name in the catalogue"};
}

}  // namespace weft::platforms
