// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sw/analytical/config.h"

/// Inputs of ASTRA-sim 2.0 in YAML. All that is wrong is thrown as InputError with file, key and what was expected.
namespace weft::platforms::astra {

/// An object, with each key once; `expected` says what the file should be.
YAML::Node load_yaml(const std::string& file, const std::string& expected);

/// Whether it is a network in YAML with its keys in braces, which is no JSON: {topology: [Ring], ...}.
bool is_flow_yaml(const std::filesystem::path& network);

/// A network: `topology`, `npus_count`, `bandwidth` in GB/s of 2^30 bytes and `latency` in ns, a list each, with one
/// value a dimension.
std::vector<analytical::DimensionConfig> read_network(const std::filesystem::path& file);

}  // namespace weft::platforms::astra
