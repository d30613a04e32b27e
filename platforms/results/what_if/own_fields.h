// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/results/why/field_values.h"

namespace weft::platforms {

/// A field of one dimension, one edge or one entry of `others`, which stands there in place of another:
/// "fabric.edges.1.link.rate" is "fabric.link.rate" of "fabric.edges.1.link", "others.0.accelerator.hbm.rate" is
/// "accelerator.hbm.rate" of "others.0".
struct OwnField {
  std::string usually;
  std::string own;  ///< as why.json's links have their `path`, or the entry of `others`
};
/// Nothing if it is no such name.
[[nodiscard]] std::optional<OwnField> own_field(std::string_view name);
/// The name that own_field() reads.
[[nodiscard]] std::string name_of(const OwnField& field);

/// Those that stand in place of `field` somewhere because somebody has said so.
[[nodiscard]] std::vector<OwnField> own_fields(const std::string& field, const FieldValues& values);

}  // namespace weft::platforms
