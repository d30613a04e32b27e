// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/find_accelerator.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "platforms/config/catalogue.h"
#include "platforms/config/document.h"

namespace weft::platforms {

std::optional<AcceleratorPart> find_accelerator(const std::string& name, const std::vector<std::string>& overrides) {
  const nlohmann::json text = {{"accelerator", name}};
  std::vector<std::string> assignments;
  assignments.reserve(overrides.size());
  for (const std::string& assignment : overrides) {
    // A part alone has its fields at the top.
    assignments.push_back(assignment.starts_with("accelerator.") ? assignment : "accelerator." + assignment);
  }
  Catalogue catalogue;
  catalogue.search_first(".");
  Document document = Document::from_text(text.dump(), name, assignments, std::move(catalogue));
  const Part* part = document.catalogue().find(name);
  if (part == nullptr || part->kind != AcceleratorPart::kPartKind) return std::nullopt;
  AcceleratorPart config;
  document.root().read_part("accelerator", config);
  document.check_unused();
  accelerator::check(config.array.compute, "compute");
  return config;
}

}  // namespace weft::platforms
