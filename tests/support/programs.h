// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace weft::test {

/// Skips the test, which then returns, and says why, where a program that it runs is not installed:
///
///     if (skips_without("iverilog")) return;
inline bool skips_without(const std::string& program) {
  if (std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0) return false;
  [&program] { GTEST_SKIP() << program << " is not installed; ./weft installs it"; }();
  return true;
}

}  // namespace weft::test
