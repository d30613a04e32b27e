// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/config/catalogue.h"
#include "platforms/machine/platform.h"

/// Models of a user's own, found as parts are: beside the platform, then in the folders of WEFT_PATH. `NAME` stands for
/// NAME.json or NAME.csv there, and goes before a model of that name in the catalogue; sw/models/named_model.h says
/// which files there are.
namespace weft::platforms {

/// What the text stands for, as models::named_transformer and models::named_network take it, with folders of
/// `catalogue` searched: a file by its path, or else the text itself.
std::string find_model(const Catalogue& catalogue, const std::string& text);

/// The same of a workload's field, which may also be relative to where the command runs if an override sets it. Throws
/// InputError with all models that its kind of workload takes, a user's own included, for a name that none has.
std::string find_model(Platform& platform, std::string_view field, const std::string& text);

/// Names of all models, a user's own included, that workloads of a kind take; of every kind if it is empty.
std::vector<std::string> model_names(const Catalogue& catalogue, std::string_view kind);

/// Whether the catalogue has a model of that name.
bool is_listed_model(const std::string& name);

/// The file that it is read from, if there is one.
std::vector<std::filesystem::path> files_of_model(const std::string& found);

/// That a model hides one of the catalogue, or nothing. `found` is what find_model has given for `text`.
std::vector<std::string> remarks_of_model(const std::string& text, const std::string& found);

}  // namespace weft::platforms
