// SPDX-License-Identifier: Apache-2.0
#include "hw/core/config/registry.h"

#include <algorithm>
#include <stdexcept>

#include "hw/core/fields.h"
#include "traces/nearest_names.h"

namespace weft::detail {

void check_new_name(const std::string& what, std::string_view name, bool is_taken) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  const std::string got = ", got \"" + std::string(name) + "\"";
  if (name.empty() || name.find_first_not_of(kCharacters) != std::string_view::npos) {
    throw std::invalid_argument(what + ": expected a name of letters, digits, - and _" + got);
  }
  if (is_taken) throw std::invalid_argument(what + ": expected a name that no other has" + got);
}

void fail_unknown_name(const std::vector<std::string>& names, std::string_view name, const std::string& path) {
  traces::NearestNames near(name);
  std::string all;
  for (const std::string& each : names) {
    near.look_at(each);
    all += (all.empty() ? "" : ", ") + each;
  }
  throw ConfigError(path, "expected one of " + all + ", got \"" + std::string(name) + "\"" + near.question());
}

std::string section_key(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Section section_of(const std::string& what, const std::string& name, const AnyConfig& config, const std::string& doc) {
  return {name, section_key(name), doc.empty() ? "The " + what + " " + name : doc, config};
}

}  // namespace weft::detail
