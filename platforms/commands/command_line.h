// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::platforms {

/// The command `weft`, for an sc_main of one's own that has provided blocks of RTL before: picks the command and turns
/// whatever goes wrong into one message on stderr. Returns what main returns.
int command_line(int argc, char** argv);

}  // namespace weft::platforms
