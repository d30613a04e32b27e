// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "hw/core/config/any_config.h"

/// Mistakes in what a user provides that would otherwise show in a run, or never.
namespace weft {

/// Throws std::invalid_argument, which begins with the place of the field below `path`, for two fields of one name, for
/// a name that a platform could not set ("part", or with other characters than letters, digits, - and _), and for a
/// default that a platform could not give.
void check_own_fields(const std::string& path, const AnyConfig& config);

/// What the `make` of the entry `name` has returned. Throws ConfigError of `path`, which names the entry, if that is
/// null.
template <typename Thing>
[[nodiscard]] std::unique_ptr<Thing> made(std::unique_ptr<Thing> thing, const std::string& path,
                                          const std::string& name) {
  if (thing == nullptr) {
    throw ConfigError(path, "expected one whose make returns what it makes: that of " + name + " returned null");
  }
  return thing;
}

}  // namespace weft
