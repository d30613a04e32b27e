// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "platforms/config/find_field.h"

namespace weft::platforms {

/// Config.json's `values` by their fields: what is asked of them again and again is found by an index. Nothing is
/// copied, so that the values have to live as long.
class FieldValues {
 public:
  using Each = std::pair<std::string_view, const nlohmann::ordered_json*>;

  /// Whoever has the values of a run has this of them. Null: they are not known.
  FieldValues(const nlohmann::ordered_json& values);  // NOLINT(google-explicit-constructor)
  /// Without those of kernels that none of the run follows, by why.json's `kernels_ignore`.
  [[nodiscard]] static FieldValues followed(const nlohmann::ordered_json& why, const nlohmann::ordered_json& values);

  [[nodiscard]] bool empty() const { return fields_.empty(); }
  /// In the order of the file: a field, and its `value` and `source`.
  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }
  [[nodiscard]] bool contains(std::string_view field) const { return by_name_.contains(field); }
  /// Its value; null: there is none.
  [[nodiscard]] const nlohmann::ordered_json* value(std::string_view field) const;
  /// The same as text; empty if there is none.
  [[nodiscard]] std::string text(std::string_view field) const;
  /// "default", "file", "command line"; empty: it is not known.
  [[nodiscard]] std::string_view source(std::string_view field) const;
  /// Whether it has a value other than 0, and the platform has a use for it.
  [[nodiscard]] bool is_something(std::string_view field) const;
  /// A field that this platform has no use for, as lanes of a link that is none.
  [[nodiscard]] bool is_idle(std::string_view field) const;

 private:
  FieldValues(const nlohmann::ordered_json& values, const std::unordered_set<std::string_view>& without);

  std::vector<Each> fields_;
  std::unordered_map<std::string_view, const nlohmann::ordered_json*> by_name_;
};

/// A field of a machine; nothing if it has none of this name.
[[nodiscard]] std::optional<FoundField> field_of_machine(const std::string& field);
/// How many times as fast a field is at `value` as at `present`; nothing where one of them is no value of it, or is 0.
[[nodiscard]] std::optional<double> speed_at(const std::string& field, const std::string& present,
                                             const std::string& value, bool is_rate);

}  // namespace weft::platforms
