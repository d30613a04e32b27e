// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/platform.h"

namespace weft::platforms {

struct AnalyticalCollectiveOptions {
  PlatformOptions platform;
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::string name;                  ///< of that operation
  std::vector<std::uint64_t> bytes;  ///< of the whole, gathered or unscattered buffer
  std::string type;
  std::uint64_t element = 4;  ///< bytes of one of that type
  bool json = false;
};

/// `weft collective` of a platform with an analytical network: one collective of all ends for each size, one after the
/// other. Beside times it says how much of its time each dimension's links were busy: bytes that they carried over
/// what they could have carried. Returns an ExitCode.
int run_analytical_collective(const AnalyticalCollectiveOptions& options);

}  // namespace weft::platforms
