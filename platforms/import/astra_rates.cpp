// SPDX-License-Identifier: Apache-2.0
// Rates that ASTRA-sim's files may leave open.
#include <fmt/format.h>

#include "platforms/import/astra_sim.h"

namespace weft::platforms::astra {

namespace fs = std::filesystem;

void expect_rates(System& system, const fs::path& system_file, const fs::path& memory_file,
                  const std::function<chakra::TraceDemands()>& traces) {
  if (system.has_memory_rate && system.has_remote_rate) return;
  analytical::EndConfig& end = system.config.end;
  const chakra::TraceDemands demands = end.replay_only ? chakra::TraceDemands() : traces();
  const std::string expected = "a rate above 0 in GB/s, which nodes of the traces need";
  if (!system.has_memory_rate) {
    const bool plans =
        !end.replay_only && system.config.collectives.inter_dimension != dimensions::InterDimension::kBaseline;
    if (plans || demands.reduces || (end.roofline && demands.computes)) {
      throw InputError(system_file.string(), "local-mem-bw", expected, "0 or none");
    }
    system.remarks.push_back(
        fmt::format("{}: local-mem-bw is not given, and nothing in the traces needs it: the platform has {} GB/s",
                    system_file.string(), end.memory_GBps));
  }
  if (system.has_remote_rate) return;
  if (demands.moves_memory) throw InputError(memory_file.string(), "remote-mem-bw", expected, "nothing");
  system.remarks.push_back(memory_file.string() +
                           ": remote-mem-bw is not given, and nothing in the traces needs it: the platform has no "
                           "remote memory");
  end.remote_memory = analytical::RemoteMemory::kNone;
}

}  // namespace weft::platforms::astra
