// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sw/analytical/config.h"

/// Inputs of ASTRA-sim 1.0: a network of dimensions as JSON, and a system file of lines `key: value`. All that is wrong
/// is thrown as InputError with file, key and what was expected.
namespace weft::platforms::astra {

/// Whether the file is JSON, by its first character: 1.0's networks are, 2.0's are YAML; 2.0's systems are, 1.0's are
/// lines of text. Either may be packed with gzip. False for a file that cannot be read, too.
bool looks_like_json(const std::filesystem::path& file);

/// Whether a system file is lines of text. Throws InputError for what is neither these nor an object of JSON: a list,
/// or JSON behind a comment.
bool is_system_text(const std::filesystem::path& file);

/// Whether the object has a key of 1.0's networks that others do not have.
bool is_network_1(const nlohmann::json& root);

/// The network: `dimensions-count`, and for each dimension `topologies-per-dim` (or all of them in `topology-name`,
/// such as Ring_AllToAll_Switch), `units-count`, `link-latency` in ns, `link-bandwidth` in GB/s of 2^30 bytes, as
/// in 2.0, and maybe `links-count`: how many links of that rate join an end to the dimension. As version 1.0 does, a
/// message to a switch or round a ring has the rate of all of them, of an even number in a ring, and one to an end that
/// is fully connected that of its share. NICs, two to a message, and routers of switches add to the latency; in a ring
/// NICs are refused. Memories (`hbm-...`) are refused unless the links take longer in any case. `remarks` gets what has
/// no effect.
std::vector<analytical::DimensionConfig> read_network_1(const std::filesystem::path& file,
                                                        std::vector<std::string>& remarks);

/// The system file as system.json would say it: numbers as numbers, and `all-reduce-implementation: ring_direct` as a
/// list of one algorithm for each dimension.
nlohmann::json system_text_to_json(const std::filesystem::path& file);

}  // namespace weft::platforms::astra
