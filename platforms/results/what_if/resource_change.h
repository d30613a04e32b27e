// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/results/why/field_values.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {

/// "hbm=x2": so many times as fast. Infinity: it takes no time.
struct ResourceChange {
  const Resource* resource = nullptr;
  std::string field;  ///< as it is called for all that have none of their own; empty: all of the resource
  double factor = 1;
  bool is_time = false;                ///< the field is one, so that its value is divided by the factor
  bool is_one_of_several = false;      ///< the machine has other fields of the resource, too
  std::string own{};                   ///< of these links or accelerators alone, as OwnField has it; empty: of all
  std::vector<std::string> without{};  ///< but for these, which have a value of their own
};

/// Reads NAME=xN, NAME=inf and NAME=0 (of what is a time), where NAME is a resource, one of its fields, or such a field
/// of one dimension, one edge or one entry of `others` (OwnField), and FIELD=VALUE, where `values` (of config.json) has
/// what it is. xN of a resource is so many times as fast. xN of a field multiplies its value: a time gets so many times
/// as long. Throws std::invalid_argument with what was expected.
[[nodiscard]] ResourceChange read_change(const std::string& text, const FieldValues& values);
/// Several with commas between, and spaces around these. Throws also where two are of the same thing.
[[nodiscard]] std::vector<ResourceChange> read_changes(const std::string& text, const FieldValues& values);
/// "hbm=x2", as read_change() reads it.
[[nodiscard]] std::string to_text(const ResourceChange& change);

/// "FIELD=VALUE", of what makes a change.
struct ChangedSetting {
  std::string field;
  std::string value;
  std::string asked;  ///< what the change asks for, if a field cannot have it: "inf", "64"; else empty
};

/// Settings that make the change as far as the fields' limits allow it, of those fields that the platform has. Empty:
/// there are none.
[[nodiscard]] std::vector<ChangedSetting> settings_of(const ResourceChange& change, const FieldValues& values);

/// Whether there are any for the resource.
[[nodiscard]] bool has_settings(const Resource& resource, const FieldValues& values);

}  // namespace weft::platforms
