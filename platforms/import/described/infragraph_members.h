// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "platforms/import/astra_yaml.h"

namespace weft::platforms::described {

/// Members of the links' objects: the units of `bandwidth` and `latency`, with their factors to what Weft has of them,
/// gigabytes a second and nanoseconds.
using Units = std::vector<std::pair<std::string, double>>;
const Units& bandwidth_units();
const Units& latency_units();
/// Transfers of PCI Express, of which no rate follows without a number of lanes.
inline constexpr const char* kTransfers = "gigatransfers_per_second";
/// What a component can be.
const std::vector<std::string>& component_kinds();

/// The members of a description, at all levels, that are not read: "devices.0.components.1.memory". Of those alike in
/// elements of one list, the first, with the number of others. `root` is a file that has been read without an error.
std::vector<std::string> unread_members(const YAML::Node& root);

}  // namespace weft::platforms::described
