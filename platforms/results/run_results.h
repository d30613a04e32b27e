// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::platforms {

/// What a run of `weft run` or `weft collective` has left.
struct RunResults {
  std::string name;  ///< for people: the folder
  nlohmann::ordered_json summary;
  nlohmann::ordered_json config;  ///< config.json, or null
  nlohmann::ordered_json why;     ///< why.json of a run with --why, or null

  /// Simulated, in microseconds, without what a job prepared itself for; of an analytical network until its last end
  /// has finished. Throws InputError where the summary has none.
  [[nodiscard]] double time_us() const;
  /// Of a run that a signal ended, by `partial` of its summary: a sentence that says so. Else empty.
  [[nodiscard]] std::string ended_early() const;
  /// If a Weft of another schema wrote them, so that keys may mean something else: a sentence that says so, and what to
  /// do. Else empty.
  [[nodiscard]] std::string other_schema() const;
  /// The same where why.json lacks keys, since an earlier version of the schema wrote it.
  [[nodiscard]] std::string missing_of_why() const;
  /// Every field's value and its source, as config.json has them; an empty object where it has none.
  [[nodiscard]] const nlohmann::ordered_json& values() const;
};

/// Throws InputError, which names the folder or the file that is not as Weft writes it, or is of a schema that it does
/// not read.
[[nodiscard]] RunResults read_run(const std::filesystem::path& folder);

}  // namespace weft::platforms
