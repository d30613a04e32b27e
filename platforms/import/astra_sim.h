// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "platforms/config/document.h"
#include "sw/analytical/config.h"
#include "traces/chakra/demands.h"

/// ASTRA-sim's input files, as its code reads them (commit 518bd51). Every key is honoured or refused by name; keys
/// that ASTRA-sim's own samples have and its code does not read are passed over and told as remarks. All that is wrong
/// is thrown as InputError with file, key and what was expected.
namespace weft::platforms::astra {

struct System {
  analytical::AnalyticalConfig config;
  /// Prefixes of Chakra files that are executed in place of an operation.
  std::map<dimensions::Operation, std::filesystem::path> custom;
  std::map<std::uint64_t, std::filesystem::path> custom_nodes;  ///< of nodes
  /// What has no effect.
  std::vector<std::string> remarks;
  bool has_memory_rate = true;  ///< false: no local-mem-bw, nor a default of the file's version
  bool has_remote_rate = true;  ///< false: no remote-mem-bw where there is a remote memory
  bool has_links = true;        ///< false for a logical topology of ns-3, whose links are in another file
};

/// network.yml (`topology`, `npus_count`, `bandwidth` in GB/s of 2^30 bytes, `latency` in ns, one value a dimension,
/// the innermost first) and system.json; or either of them as ASTRA-sim 1.0 has it (astra_sim_1.h), or as network a
/// logical topology of ns-3 (wired_network.h), which is told by what is in the file. `injection_scale` multiplies an
/// endpoint delay that the file gives.
System read_system(const std::filesystem::path& network, const std::filesystem::path& system,
                   double injection_scale = 1);

/// system.json without a network: what it says of the traces that are run. Its dimensions are as many as it may name
/// algorithms for, and none of a network.
System read_system_alone(const std::filesystem::path& system);

/// The ends in each dimension of a network file that read_system() takes, the innermost first. Throws InputError.
std::vector<std::uint32_t> read_network_sizes(const std::filesystem::path& network);

/// "all-reduce-implementation", the key of an operation's algorithms in system.json.
std::string key_of(dimensions::Operation operation);

/// Remarks on operations with fewer algorithms than the network has dimensions: ASTRA-sim's arithmetic leaves the
/// others out, and a machine has rings there. `file` is system.json.
void remark_algorithms(System& system, const std::filesystem::path& file, bool is_machine);

/// How many ends the network has. Throws InputError in the name of its file for more than can be.
std::uint32_t ends_of(const System& system, const std::filesystem::path& network);

/// The remote memory file of a machine of `ends`, into what system.json has given.
void read_memory(const std::filesystem::path& file, System& system, std::uint32_t ends);

/// Of rates that the files do not give: throws InputError in the name of its file for one that the nodes of the traces
/// need, and says in a remark what stands for the others. `traces` is asked only then.
void expect_rates(System& system, const std::filesystem::path& system_file, const std::filesystem::path& memory_file,
                  const std::function<chakra::TraceDemands()>& traces);

}  // namespace weft::platforms::astra
