// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hw/fabric/fabric_config.h"
#include "hw/fabric/outage.h"
#include "hw/fabric/planes.h"
#include "hw/fabric/topology/routing.h"
#include "hw/fabric/topology/topology.h"

namespace weft::fabric {

/// A network before its modules are built: topology and routes, checked to be free of deadlock. Networks of the same
/// configuration, such as those of all nodes, share one.
class Plan {
 public:
  /// `path` is where the configuration stands in the platform, for error messages; `seed` is that of random routes.
  /// Throws ConfigError.
  Plan(const FabricConfig& config, int ends, const std::string& path, std::uint64_t seed = 0);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  [[nodiscard]] const FabricConfig& config() const { return config_; }
  /// Its switches are to measure the load of links over so long (Switch::Config::load_window).
  void measure_load(Time window) { config_.switch_config.load_window = window; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// Of every switch, while nothing is down.
  [[nodiscard]] const std::vector<Routes>& routes() const { return routes_; }
  /// As a subnet manager has arranged them by then.
  [[nodiscard]] const std::vector<Routes>& routes_at(Time at) const;
  [[nodiscard]] const std::vector<Rerouting>& reroutings() const { return reroutings_; }
  /// What each of the configured faults is for.
  [[nodiscard]] const std::vector<std::vector<Direction>>& faulty_links() const { return faulty_links_; }
  /// Of the same faults, what those of planes take out of service.
  [[nodiscard]] const std::vector<std::optional<PlaneOutage>>& plane_outages() const { return plane_outages_; }
  /// Where the configuration stands in the platform.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The first fault that damages packets which their link does not send again; -1 if there is none.
  [[nodiscard]] int first_loss() const;
  /// Throws ConfigError if links may lose what passes them: operands of reductions are sent once.
  void require_no_loss() const;
  /// The ends that most others cannot reach at a time, because of what is down then.
  [[nodiscard]] std::vector<std::uint32_t> cut_off(Time at) const {
    if (faulty_links_.empty()) return {};
    return find_cut_off(topology_, config_, faulty_links_, at);
  }
  /// Whether the channel dependency graph was looked at; else the shape and its routing are free of deadlock by what
  /// hw/fabric/topology/deadlock.h argues.
  [[nodiscard]] bool checked() const { return checked_; }

  /// The link between an end and its switch.
  [[nodiscard]] const LinkConfig& end_link(std::uint32_t end) const;
  /// The configuration as this end's network interface needs it: `link` is its own.
  [[nodiscard]] const FabricConfig& end_config(std::uint32_t end) const;

 private:
  [[nodiscard]] std::uint32_t link_index(std::uint32_t end) const;
  void check_passage() const;
  void check_reduction() const;
  void check_switch() const;
  void check_arbiters() const;
  void check_switches(const std::vector<std::string>& names, const std::string& path) const;

  FabricConfig config_;
  std::string path_;
  Topology topology_;
  std::vector<Routes> routes_;
  std::map<std::uint32_t, FabricConfig> end_configs_;  // by link
  bool checked_;
  std::vector<std::vector<Direction>> faulty_links_;
  std::vector<Rerouting> reroutings_;
  std::vector<std::optional<PlaneOutage>> plane_outages_;
};

}  // namespace weft::fabric
