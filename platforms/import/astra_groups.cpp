// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/astra_groups.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "platforms/config/text.h"

namespace weft::platforms::astra {
namespace {

std::vector<std::uint32_t> members_of(const Node& group, std::uint32_t ends) {
  const std::string expected =
      "\"all\", or a list of different ranks" + (ends == kAnyEnds ? "" : " below " + std::to_string(ends));
  std::vector<std::uint32_t> members;
  if (group.raw() == "all") {
    if (ends == kAnyEnds) return members;
    members.resize(ends);
    std::iota(members.begin(), members.end(), 0U);
    return members;
  }
  if (!group.raw().is_array()) group.fail(expected);
  if (group.raw().empty()) group.fail(expected, "an empty list");
  std::set<std::uint32_t> different;
  for (const Node& member : group.elements()) {
    const nlohmann::json& rank = member.raw();
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= ends) member.fail(expected);
    members.push_back(rank.get<std::uint32_t>());
    if (!different.insert(members.back()).second) {
      member.fail(expected, "rank " + std::to_string(members.back()) + " twice");
    }
  }
  return members;
}

}  // namespace

std::vector<std::string> remarks_of(const UnusedGroups& unused) {
  const std::size_t count = unused.left_out.size();
  if (count == 0) return {};
  return {std::to_string(count) + (count == 1 ? " group that no node names is" : " groups that no node names are") +
          " left out (" + unused.left_out.front() + ")"};
}

std::map<std::string, std::vector<std::uint32_t>> read_groups(const std::filesystem::path& file, std::uint32_t ends,
                                                              UnusedGroups* unused) {
  Document document = Document::from_text(load_json_object(file.string(), "a file of ASTRA-sim").dump(), file.string());
  return groups_of(document.root(), ends, unused);
}

std::map<std::string, std::vector<std::uint32_t>> groups_of(const Node& node, std::uint32_t ends,
                                                            UnusedGroups* unused) {
  std::map<std::string, std::vector<std::uint32_t>> groups;
  if (!node.exists()) return groups;
  for (const auto& [name, group] : node.members()) {
    if (name == "0" || name.empty()) group.fail("another name, since 0 is everybody");
    try {
      groups[name] = members_of(group, ends);
    } catch (const InputError& error) {
      if (unused == nullptr || unused->is_used(name)) throw;
      groups.erase(name);
      unused->left_out.emplace_back(error.what());
    }
  }
  return groups;
}

}  // namespace weft::platforms::astra
