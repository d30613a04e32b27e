// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::platforms {

/// Exit codes of the command line, as scripts know them.
enum ExitCode : int { kDone = 0, kFailed = 1, kBadInput = 2 };

}  // namespace weft::platforms
