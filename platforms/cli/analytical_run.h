// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platforms/cli/platform.h"

namespace weft::platforms {

struct AnalyticalRunOptions {
  PlatformOptions platform;
  std::string out;
  bool json = false;
};

/// Whether the platform has "network": "analytical".
bool is_analytical(const PlatformOptions& options);

/// `weft run` of such a platform: Chakra traces in ASTRA-sim's arithmetic. Returns an ExitCode.
int run_analytical(const AnalyticalRunOptions& options);

}  // namespace weft::platforms
