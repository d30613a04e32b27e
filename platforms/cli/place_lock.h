// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "traces/files/temporary.h"

namespace weft::platforms {

/// Keeps a place for the results of one command: a hidden file beside them that says who has it, and that the system
/// unlocks when the process ends, however that is. Where a file system has no locks, nothing is kept.
class PlaceLock {
 public:
  /// Of the folder `place`, or of the file.
  enum class Kind { kFolder, kFile };

  PlaceLock(const std::filesystem::path& place, Kind kind);
  ~PlaceLock();
  PlaceLock(PlaceLock&& other) noexcept;
  PlaceLock& operator=(PlaceLock&&) = delete;

  /// Another command that has it: "process 1234 since 2026-11-26 12:03:04: weft run dgx-h100".
  [[nodiscard]] const std::optional<std::string>& other() const { return other_; }

 private:
  std::optional<std::string> other_;
  traces::Temporary file_;
  int descriptor_ = -1;
};

}  // namespace weft::platforms
