// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platforms/cli/timeline_option.h"
#include "platforms/machine/platform.h"

namespace weft::platforms {

struct AnalyticalRunOptions {
  PlatformOptions platform;
  std::string out;
  TimelineOptions timeline;
  bool json = false;
  bool report = false;  ///< report.html, too
};

/// `weft run` of a platform with an analytical network: Chakra traces in ASTRA-sim's arithmetic. Returns an ExitCode.
int run_analytical(const AnalyticalRunOptions& options);

}  // namespace weft::platforms
