// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/own_fields.h"

#include <algorithm>
#include <cstddef>

namespace weft::platforms {
namespace {

constexpr std::string_view kOthers = "others.";
constexpr std::string_view kLink = ".link.";

/// Where the number of a list's element ends that begins there; npos: there is none.
std::size_t end_of_number(std::string_view name, std::size_t from) {
  const std::size_t end = name.find('.', from);
  const bool is_number = end != std::string_view::npos && end > from &&
                         name.substr(from, end - from).find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? end : std::string_view::npos;
}

}  // namespace

std::optional<OwnField> own_field(std::string_view name) {
  if (name.starts_with(kOthers)) {
    const std::size_t end = end_of_number(name, kOthers.size());
    if (end == std::string_view::npos) return std::nullopt;
    return OwnField{std::string(name.substr(end + 1)), std::string(name.substr(0, end))};
  }
  for (const std::string_view list : {".edges.", ".dimensions."}) {
    const std::size_t at = name.find(list);
    if (at == std::string_view::npos) continue;
    const std::size_t end = end_of_number(name, at + list.size());
    if (end == std::string_view::npos || !name.substr(end).starts_with(kLink)) continue;
    return OwnField{std::string(name.substr(0, at)) + std::string(name.substr(end)),
                    std::string(name.substr(0, end + kLink.size() - 1))};
  }
  return std::nullopt;
}

std::string name_of(const OwnField& field) {
  if (field.own.starts_with(kOthers)) return field.own + "." + field.usually;
  return field.own + field.usually.substr(field.usually.rfind(kLink) + kLink.size() - 1);
}

std::vector<OwnField> own_fields(const std::string& field, const FieldValues& values) {
  std::vector<OwnField> all;
  for (const auto& [name, value] : values) {
    auto own = own_field(name);
    if (!own || own->usually != field) continue;
    // What an edge does not say it has from `fabric.link`. An entry of `others` is another part.
    const bool is_set = values.source(name) != "default" && !values.source(name).empty();
    if (is_set || own->own.starts_with(kOthers)) all.push_back(std::move(*own));
  }
  return all;
}

}  // namespace weft::platforms
