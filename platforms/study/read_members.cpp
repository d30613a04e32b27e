// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/read_members.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "platforms/config/text.h"

namespace weft::study {

using platforms::Node;

std::vector<std::pair<std::string, Node>> Order::members(const Node& node,
                                                         const std::vector<std::string>& place) const {
  std::vector<std::pair<std::string, Node>> found = node.members();
  const nlohmann::ordered_json* at = &tree_;
  for (const std::string& key : place) {
    at = at->is_array() ? &(*at)[std::stoul(key)] : &(*at)[key];
  }
  std::map<std::string, std::size_t> rank;
  for (const auto& [key, value] : at->items()) rank.emplace(key, rank.size());
  std::stable_sort(found.begin(), found.end(),
                   [&rank](const auto& a, const auto& b) { return rank.at(a.first) < rank.at(b.first); });
  return found;
}

Expression read_expression(const Node& node) {
  if (node.raw().is_number()) return Expression(node.raw().dump());
  if (!node.is_string()) node.fail("an expression in quotes");
  const auto& text = node.raw().get_ref<const std::string&>();
  if (const std::string wrong = wrong_for_one_point(text); !wrong.empty()) node.fail(wrong, "");
  return Expression(text);
}

const std::vector<std::string>& reserved_names() {
  static const std::vector<std::string> kNames = {"key",    "status", "error",      "digest",  "version",  "wall_s",
                                                  "user_s", "points", "peak_bytes", "current", "fidelity", "require"};
  return kNames;
}

void check_metric_name(const std::string& name, const Node& node) {
  check_name(name, node);
  const std::vector<std::string>& taken = reserved_names();
  if (std::find(taken.begin(), taken.end(), name) == taken.end()) return;
  node.fail("another name than " + platforms::join(taken, ", ") + ", which columns of the tables have",
            platforms::in_quotes(name));
}

void check_name(const std::string& name, const Node& node) {
  const bool is_name =
      !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!is_name) node.fail("a name of letters, digits and _", platforms::in_quotes(name));
}

}  // namespace weft::study
