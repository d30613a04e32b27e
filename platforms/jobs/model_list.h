// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "platforms/config/catalogue.h"
#include "sw/models/named_model.h"

namespace weft::platforms {

/// A network that a workload can name.
struct ListedModel {
  std::string name;  ///< as a platform has it
  models::AnyModel model;

  [[nodiscard]] std::int64_t parameters() const;
  /// Of a transformer with experts those that a token passes (models::active_parameters); 0 for others.
  [[nodiscard]] std::int64_t active() const;
  /// Blocks of a transformer, an encoder's among them; of other networks the layers that have weights, but for norms.
  [[nodiscard]] std::int64_t layers() const;
  /// The width of a transformer; 0 for others.
  [[nodiscard]] std::int64_t hidden() const;
  /// Values of workload.kind that take it.
  [[nodiscard]] std::vector<std::string> kinds() const;
};

/// Those of the catalogue, and those in the folders of WEFT_PATH, of which files that cannot be read are left out.
std::vector<ListedModel> list_models(const Catalogue& catalogue);

/// One that find_model has found. Throws std::invalid_argument, or traces::FormatError.
ListedModel read_model(const std::string& name, const std::string& found);

/// Of a transformer with all that a file of it has.
nlohmann::ordered_json to_json(const ListedModel& model);

}  // namespace weft::platforms
