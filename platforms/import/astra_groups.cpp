// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/astra_groups.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>

#include "platforms/config/text.h"
#include "traces/files/input_file.h"
#include "traces/files/kind/file_kind.h"

namespace weft::platforms::astra {
namespace {

constexpr const char* kAll = "all";
constexpr const char* kPart = "part";
constexpr const char* kLists = R"(lists of ranks by group, such as {"1": [0, 1]})";
constexpr const char* kListsOrFile =
    R"(lists of ranks by group, such as {"1": [0, 1]}, or the name of a file with them)";

bool may_be_groups(traces::FileKind kind) {
  return kind == traces::FileKind::kGroups || kind == traces::FileKind::kJson || is_unknown_text(kind);
}

/// Whether it is what groups are made of, if not of which ranks.
bool has_form_of_group(const nlohmann::json& value) {
  return value.is_string() ? value == kAll
                           : value.is_array() && !value.empty() &&
                                 std::all_of(value.begin(), value.end(),
                                             [](const nlohmann::json& rank) { return rank.is_number_integer(); });
}

using Groups = std::map<std::string, std::vector<std::uint32_t>>;

std::vector<std::uint32_t> members_of(const Node& group, std::uint32_t ends) {
  const std::string expected =
      "\"all\", or a list of different ranks" + (ends == kAnyEnds ? "" : " below " + std::to_string(ends));
  std::vector<std::uint32_t> members;
  if (group.raw() == kAll) {
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

/// An object's groups, in place of those of the same names. With a file it has the file's name, too, put aside.
void add_groups(const Node& node, std::uint32_t ends, UnusedGroups* unused, bool has_file, Groups& groups) {
  std::vector<std::string> names;
  bool any = false;
  std::optional<Node> first;
  for (const auto& [name, group] : node.members()) {
    if (has_file && name == kPart) continue;
    if (name == "0" || name.empty()) group.fail("another name, since 0 is everybody");
    names.push_back(name);
    if (!first) first = group;
    any = any || has_form_of_group(group.raw());
    try {
      groups[name] = members_of(group, ends);
    } catch (const InputError& error) {
      if (unused == nullptr || unused->is_used(name)) throw;
      groups.erase(name);
      unused->left_out.emplace_back(error.what());
    }
  }
  if (any || names.empty()) return;
  if (!node.path().empty()) static_cast<void>(members_of(*first, ends));
  constexpr std::size_t kShown = 5;
  names.resize(std::min(names.size(), kShown));
  node.fail(node.path().empty() ? kLists : kListsOrFile, "JSON with the members " + join(names, ", "));
}

}  // namespace

std::vector<std::string> remarks_of(const UnusedGroups& unused) {
  const std::size_t count = unused.left_out.size();
  if (count == 0) return {};
  return {std::to_string(count) + (count == 1 ? " group that no node names is" : " groups that no node names are") +
          " left out (" + unused.left_out.front() + ")"};
}

Groups read_groups(const std::filesystem::path& file, std::uint32_t ends, UnusedGroups* unused) {
  const nlohmann::json object = load_json_object(file.string(), "a file of communicator groups", may_be_groups);
  Document document = Document::from_text(object.dump(), file.string());
  Groups groups;
  add_groups(document.root(), ends, unused, false, groups);
  return groups;
}

Groups groups_of(const Node& node, std::uint32_t ends, UnusedGroups* unused) {
  if (!node.exists()) return {};
  std::optional<Node> name;
  if (node.is_string()) {
    name = node;
  } else if (!node.is_object()) {
    node.fail(kListsOrFile);
  } else if (node.has(kPart) && node.child(kPart).is_string() && node.child(kPart).raw() != kAll) {
    name = node.child(kPart);  // Document::put has put it aside
  }
  Groups groups;
  if (name) {
    const std::filesystem::path file = name->file(traces::is_file);
    if (!traces::is_file(file))
      name->fail(kListsOrFile, in_quotes(name->raw().get_ref<const std::string&>()) + ", which is no file");
    groups = read_groups(file, ends, unused);
  }
  if (node.is_object()) add_groups(node, ends, unused, name.has_value(), groups);
  return groups;
}

}  // namespace weft::platforms::astra
