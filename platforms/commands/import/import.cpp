// SPDX-License-Identifier: Apache-2.0
// weft import: other simulators' inputs, and descriptions of hardware, become platforms.
#include "platforms/commands/import/import.h"

#include "platforms/cli/result_files.h"

namespace weft::platforms {

std::string imported_name(const std::filesystem::path& out, const std::filesystem::path& from) {
  return (ResultFiles::is_no_prefix(out) ? from : out).stem().string();
}

Command import_command(const Arguments& parent) {
  const Arguments app = parent.add_subcommand(
      "import", "Makes a platform from another simulator's inputs, or from a description of hardware");
  app.require_subcommand(1, 1);
  const Command astra = import_astra_sim(app);
  const Command lstopo = import_lstopo(app);
  const Command infragraph = import_infragraph(app);
  return {app, [astra, lstopo, infragraph] {
            if (lstopo.app.given()) return lstopo.run();
            return infragraph.app.given() ? infragraph.run() : astra.run();
          }};
}

}  // namespace weft::platforms
