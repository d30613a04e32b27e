// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/described/infragraph_members.h"

#include <map>
#include <set>
#include <sstream>

#include "platforms/config/text.h"

namespace weft::platforms::described {
namespace {

using Names = std::set<std::string>;

/// As a path without the numbers of elements: "devices.N.components.N.memory".
std::string without_numbers(const std::string& path) {
  std::string result;
  std::istringstream steps(path);
  for (std::string step; std::getline(steps, step, '.');)
    result += (result.empty() ? "" : ".") + (whole_number(step) ? "N" : step);
  return result;
}

class Members {
 public:
  std::vector<std::string> find(const YAML::Node& root) {
    if (root["infrastructure"]) {
      expect(root, "", {"infrastructure"});
      infrastructure(root["infrastructure"], "infrastructure");
    } else {
      infrastructure(root, "");
    }
    std::vector<std::string> all;
    for (const std::string& kind : order_) {
      const auto& [first, count] = unread_.at(kind);
      all.push_back(count == 1 ? first : first + " (and " + std::to_string(count - 1) + " more such)");
    }
    return all;
  }

 private:
  /// Names what is in an object beside these.
  void expect(const YAML::Node& object, const std::string& path, const Names& known) {
    if (!object.IsMap()) return;
    for (const auto& member : object) {
      if (known.contains(member.first.Scalar())) continue;
      const std::string at = join_path(path, member.first.Scalar());
      const std::string kind = without_numbers(at);
      const auto [found, is_new] = unread_.try_emplace(kind, at, 0);
      if (is_new) order_.push_back(kind);
      ++found->second.second;
    }
  }

  template <typename Each>
  static void each(const YAML::Node& object, const std::string& path, const char* list, const Each& visit) {
    const YAML::Node elements = object[list];
    if (!elements || !elements.IsSequence()) return;
    for (std::size_t i = 0; i < elements.size(); ++i)
      visit(elements[i], join_path(join_path(path, list), std::to_string(i)));
  }

  void infrastructure(const YAML::Node& top, const std::string& path) {
    expect(top, path, {"name", "description", "devices", "links", "instances", "edges"});
    each(top, path, "devices", [this](const YAML::Node& device, const std::string& at) {
      expect(device, at, {"name", "description", "components", "links", "edges"});
      each(device, at, "components",
           [this](const YAML::Node& one, const std::string& where) { component(one, where); });
      links_and_edges(device, at, "device");
    });
    each(top, path, "instances", [this](const YAML::Node& instance, const std::string& at) {
      expect(instance, at, {"name", "description", "device", "count"});
    });
    links_and_edges(top, path, "instance");
  }

  void component(const YAML::Node& one, const std::string& path) {
    std::string kind = one["choice"] ? one["choice"].Scalar() : "";
    for (const std::string& each : component_kinds()) {
      if (kind.empty() && one[each]) kind = each;
    }
    expect(one, path, {"name", "description", "count", "choice", kind});
    if (const YAML::Node chosen = one[kind])
      expect(chosen, join_path(path, kind), kind == "custom" ? Names{"type"} : Names{});
  }

  void links_and_edges(const YAML::Node& above, const std::string& path, const char* owner) {
    each(above, path, "links", [this](const YAML::Node& link, const std::string& at) {
      expect(link, at, {"name", "description", "physical"});
      const YAML::Node physical = link["physical"];
      if (!physical || !physical.IsMap()) return;
      const std::string inside = join_path(at, "physical");
      expect(physical, inside, {"bandwidth", "latency"});
      quantity(physical, inside, "bandwidth", bandwidth_units());
      quantity(physical, inside, "latency", latency_units());
    });
    each(above, path, "edges", [this, owner](const YAML::Node& edge, const std::string& at) {
      expect(edge, at, {"description", "ep1", "ep2", "link", "scheme"});
      for (const char* end : {"ep1", "ep2"}) expect(edge[end], join_path(at, end), {owner, "component"});
    });
  }

  void quantity(const YAML::Node& physical, const std::string& path, const char* name, const Units& units) {
    const YAML::Node value = physical[name];
    if (!value || !value.IsMap()) return;
    std::string chosen = value["choice"] ? value["choice"].Scalar() : "";
    for (const auto& [unit, factor] : units) {
      if (chosen.empty() && value[unit]) chosen = unit;
    }
    expect(value, join_path(path, name), chosen == kTransfers ? Names{"choice"} : Names{"choice", chosen});
  }

  std::map<std::string, std::pair<std::string, std::size_t>> unread_;  ///< the first of a kind, and how many there are
  std::vector<std::string> order_;
};

}  // namespace

const Units& bandwidth_units() {
  static const Units units = {{"gigabits_per_second", 0.125}, {"gigabytes_per_second", 1}};
  return units;
}

const Units& latency_units() {
  static const Units units = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}};
  return units;
}

const std::vector<std::string>& component_kinds() {
  static const std::vector<std::string> kinds = {"cpu", "xpu", "nic", "memory", "port", "switch", "device", "custom"};
  return kinds;
}

std::vector<std::string> unread_members(const YAML::Node& root) {
  return Members().find(root);
}

}  // namespace weft::platforms::described
