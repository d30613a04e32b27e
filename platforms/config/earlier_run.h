// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "platforms/config/catalogue.h"

namespace weft::platforms {

/// What a run wrote of its values (Document::effective): by it a run of the same file knows that a part has changed
/// since, and what one was that is no longer there.
class EarlierRun {
 public:
  /// `values` are those of `file`.
  EarlierRun(std::string file, const nlohmann::json& values);
  ~EarlierRun();

  /// The part of this name that the place `path` had: with the values that parts gave it. Null if it had none.
  [[nodiscard]] std::unique_ptr<const Part> part(const std::string& path, const std::string& name,
                                                 std::string_view kind) const;
  /// "nic.rate was 400Gbps, is 200Gbps; ..." of values that the part `name` gave then or gives now, some of them; empty
  /// if there are none. `now` are such values without those that something overrides.
  [[nodiscard]] std::string changes(const std::string& name, const nlohmann::json& now) const;

  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::unique_ptr<const nlohmann::json> values_;
};

}  // namespace weft::platforms
