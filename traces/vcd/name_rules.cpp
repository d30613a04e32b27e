// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/name_rules.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace weft::vcd {
namespace {

/// The text at both sides of the *, or none of them where there is no *.
struct Pattern {
  std::string_view before;
  std::string_view after;
  bool has_star = false;

  explicit Pattern(std::string_view text) {
    const std::size_t star = text.find('*');
    has_star = star != std::string_view::npos;
    before = text.substr(0, star);
    if (has_star) after = text.substr(star + 1);
  }

  [[nodiscard]] bool fits(std::string_view name) const {
    if (!has_star) return name == before;
    return name.size() >= before.size() + after.size() && name.starts_with(before) && name.ends_with(after);
  }
  [[nodiscard]] std::string_view star_of(std::string_view name) const {
    return name.substr(before.size(), name.size() - before.size() - after.size());
  }
};

std::vector<NameRule>::const_iterator rule_of(const std::vector<NameRule>& rules, const std::string& name) {
  return std::find_if(rules.begin(), rules.end(), [&](const NameRule& rule) { return Pattern(rule.from).fits(name); });
}

}  // namespace

std::string map_name(const std::vector<NameRule>& rules, const std::string& name) {
  const auto rule = rule_of(rules, name);
  if (rule == rules.end()) return name;
  const Pattern from(rule->from);
  std::string mapped = rule->to;
  const std::size_t star = mapped.find('*');
  if (!from.has_star || star == std::string::npos) return mapped;
  return mapped.replace(star, 1, from.star_of(name));
}

std::vector<std::string> remarks_of_idle(const std::vector<NameRule>& rules, const std::vector<std::string>& names) {
  std::set<std::vector<NameRule>::const_iterator> used;
  for (const std::string& name : names) used.insert(rule_of(rules, name));
  std::vector<std::string> remarks;
  for (auto rule = rules.begin(); rule != rules.end(); ++rule) {
    if (used.contains(rule)) continue;
    remarks.push_back("the map " + rule->from + "=" + rule->to +
                      " has no effect: no name that is compared fits it, or an earlier map comes first");
  }
  return remarks;
}

}  // namespace weft::vcd
