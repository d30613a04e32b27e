// SPDX-License-Identifier: Apache-2.0
// weft trace: looks at Chakra execution traces, checks and repairs them, and converts them from and to other formats.
#include "platforms/cli/trace_command.h"

namespace weft::platforms {

Command trace_command(const Arguments& parent) {
  const Arguments app =
      parent.add_subcommand("trace", "Looks at Chakra execution traces, checks, repairs and converts them");
  app.require_subcommand(1, 1);
  const std::vector<Command> commands = {trace_info_command(app), trace_check_command(app), trace_repair_command(app),
                                         trace_convert_command(app)};
  return {app, [commands] {
            for (const Command& each : commands) {
              if (each.app.given()) return each.run();
            }
            return static_cast<int>(kDone);
          }};
}

}  // namespace weft::platforms
