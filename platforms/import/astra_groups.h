// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "platforms/config/document.h"

namespace weft::platforms::astra {

/// Of groups whose machine is not known yet: "all" is an empty list.
constexpr std::uint32_t kAnyEnds = UINT32_MAX;

/// Groups that no node of the traces names stop nothing, whatever is wrong with them.
struct UnusedGroups {
  /// Whether a node names the group; asked of those alone that something is wrong with.
  std::function<bool(const std::string& name)> is_used;
  std::vector<std::string> left_out = {};  ///< what is wrong with each
};
/// Remarks on these, none or one.
std::vector<std::string> remarks_of(const UnusedGroups& unused);

/// The communicator groups file: ranks by group, different ones below `ends`, or "all" of them. Throws InputError, with
/// file and path, also for an object that has no groups at all.
std::map<std::string, std::vector<std::uint32_t>> read_groups(const std::filesystem::path& file, std::uint32_t ends,
                                                              UnusedGroups* unused = nullptr);
/// The same where they stand in a platform, or in the file that it names, of which `--set` may replace some; none if
/// there are none.
std::map<std::string, std::vector<std::uint32_t>> groups_of(const Node& node, std::uint32_t ends,
                                                            UnusedGroups* unused = nullptr);

}  // namespace weft::platforms::astra
