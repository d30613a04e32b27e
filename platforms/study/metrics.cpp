// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/metrics.h"

#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "platforms/config/text.h"

namespace weft::study {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr std::string_view kSeveral = ".*";

/// The value at a path, whose keys may have dots in them.
const ordered_json* find(const ordered_json& tree, std::string_view path) {
  if (path.empty()) return &tree;
  if (tree.is_array()) {
    const std::string_view key = path.substr(0, path.find('.'));
    const auto index = platforms::whole_number(key);
    if (!index || *index >= tree.size()) return nullptr;
    return find(tree[*index], key.size() == path.size() ? "" : path.substr(key.size() + 1));
  }
  if (!tree.is_object()) return nullptr;
  for (std::size_t dot = path.find('.');; dot = path.find('.', dot + 1)) {
    const auto member = tree.find(std::string(path.substr(0, dot)));
    if (member != tree.end()) {
      const bool is_last = dot == std::string_view::npos;
      if (const ordered_json* found = find(*member, is_last ? "" : path.substr(dot + 1))) return found;
    }
    if (dot == std::string_view::npos) return nullptr;
  }
}

/// All values at a path with `*` in it, into an array; what is missing or null is left out.
void find_all(const ordered_json& tree, const std::string& path, json& all) {
  const std::size_t star = path.find(kSeveral);
  if (star == std::string::npos) {
    const ordered_json* const found = find(tree, path);
    if (found != nullptr && !found->is_null()) all.push_back(json(*found));
    return;
  }
  const ordered_json* const list = find(tree, std::string_view(path).substr(0, star));
  if (list == nullptr || !(list->is_array() || list->is_object())) return;
  const std::size_t next = star + kSeveral.size();
  for (const auto& each : *list) find_all(each, next < path.size() ? path.substr(next + 1) : "", all);
}

bool is_value(const ordered_json* value) {
  return value != nullptr && !value->is_object() && !value->is_array() && !value->is_null();
}

/// Metrics of one point.
class Finding {
 public:
  Finding(const Study& study, const ordered_json& result, const ordered_json& values, const ordered_json& configuration)
      : study_(study), result_(result), values_(values), configuration_(configuration) {}

  /// Throws ExpressionError.
  ordered_json metric(const std::string& name, const Expression& expression) {
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    const ordered_json* const at = find(result_, expression.text());
    if (is_value(at)) return known_[name] = *at;
    if (at != nullptr && !at->is_null()) {
      throw ExpressionError("a path to a number or a text, got " + platforms::got_text(json(*at)) + " at " +
                            platforms::in_quotes(expression.text()));
    }
    if (at != nullptr) return known_[name] = nullptr;
    if (!under_way_.insert(name).second) throw ExpressionError("an expression that does not need its own value");
    const double number = expression.value([this](const std::string& path) { return lookup(path); });
    if (!std::isfinite(number)) {
      throw ExpressionError("a finite number, got " + not_finite_text(number) + " of " +
                            platforms::in_quotes(expression.text()));
    }
    return known_[name] = number;
  }

 private:
  std::optional<json> lookup(const std::string& name) {
    for (const auto& [metric_name, expression] : study_.metrics) {
      if (metric_name == name) return json(metric(name, expression));
    }
    if (const auto own = values_.find(name); own != values_.end()) return json(*own);
    for (const auto& [own, value] : study_.constants) {
      if (own == name) return value;
    }
    if (configuration_.contains("values")) {
      const auto field = configuration_["values"].find(name);
      if (field != configuration_["values"].end()) return json((*field)["value"]);
    }
    if (name.find(kSeveral) != std::string::npos) {
      json all = json::array();
      find_all(result_, name, all);
      return all.empty() ? std::nullopt : std::optional(all);
    }
    const ordered_json* const at = find(result_, name);
    if (is_value(at)) return json(*at);
    return std::nullopt;
  }

  const Study& study_;
  const ordered_json& result_;
  const ordered_json& values_;
  const ordered_json& configuration_;
  std::map<std::string, ordered_json> known_;
  std::set<std::string> under_way_;
};

}  // namespace

ordered_json Metrics::of(const ordered_json& result, const ordered_json& values, const ordered_json& configuration) {
  asked_ = true;
  Finding finding(*study_, result, values, configuration);
  ordered_json all = ordered_json::object();
  for (const auto& [name, expression] : study_->metrics) {
    all[name] = nullptr;
    try {
      all[name] = finding.metric(name, expression);
      if (!all[name].is_null()) found_.insert(name);
    } catch (const ExpressionError& error) {
      wrong_.emplace(name, error.what());
    }
  }
  return all;
}

ordered_json value_in(const ordered_json& tree, const std::string& path) {
  const ordered_json* const found = find(tree, path);
  return found == nullptr ? ordered_json() : *found;
}

}  // namespace weft::study
