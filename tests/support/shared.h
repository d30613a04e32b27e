// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace weft::test {

/// A folder of shared/, which holds other tools' inputs and answers. It is handed out beside the repository, since
/// these are not Weft's to give on; the product does without it.
inline std::filesystem::path shared(const std::string& folder) {
  return std::filesystem::path(WEFT_SOURCE_DIR) / "../shared" / folder;
}

/// Skips the test, which then returns, where the folder is not there, and says which tests check the same on inputs
/// that they write themselves:
///
///     if (skips_without_shared("astra", "analytical_test checks ...")) return;
inline bool skips_without_shared(const std::string& folder, const std::string& instead) {
  if (std::filesystem::exists(shared(folder))) return false;
  [&] {
    GTEST_SKIP() << "compares with other tools' files, which this repository does not carry (no " << shared(folder)
                 << "); " << instead;
  }();
  return true;
}

}  // namespace weft::test
