// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/fabric/planes.h"
#include "hw/fabric/switch/switch.h"
#include "hw/fabric/topology/plan.h"
#include "hw/fabric/topology/spanning_tree.h"
#include "hw/fabric/topology/topology.h"

namespace weft::fabric {

/// A whole network as one module: the switches of a topology, wired, with a port for each end to bind its sockets to.
class Fabric final : public sc_core::sc_module {
 public:
  using Config = FabricConfig;

  /// `path` is where the configuration stands in the platform, for error messages.
  Fabric(sc_core::sc_module_name name, const Config& config, int ends, Dispatcher& dispatcher, PacketPool& packets,
         const Stall::Config& stall, const std::string& path);
  /// The same of a plan that is there already.
  Fabric(sc_core::sc_module_name name, std::shared_ptr<const Plan> plan, Dispatcher& dispatcher, PacketPool& packets,
         const Stall::Config& stall);
  ~Fabric() override;

  /// Joins end number `end` of the network to the sockets of a network interface.
  void bind_end(std::uint32_t end, InitiatorSocket& out, TargetSocket& in);

  /// What a group is for.
  struct GroupOptions {
    bool reduces = false;
    int window = 16;        ///< reductions: chunks that may be open at a time
    bool streaming = true;  ///< reductions: else low latency
  };
  /// Control path, as a subnet manager does it: joins `ends` by a spanning tree. Packets for Packet::kFirstGroup plus
  /// the number returned reach all of them but their sender. Nothing if the engine of a switch of the tree has no room
  /// for it, if an end is cut off, or if no plane is left that joins all of them.
  ///
  /// When routes change and avoid a link of the tree, the group gets another one, in multicast for those that can be
  /// reached; packets that are on their way then keep the old one, and those that it cannot carry any more are dropped,
  /// so that reductions in flight end in the report of what is unfinished.
  ///
  /// Throws ConfigError for reductions on links that lose packets, and where packets of groups could wait for each
  /// other for ever (find_lane in deadlock.h).
  std::optional<std::uint32_t> create_group(const std::vector<std::uint32_t>& ends, const GroupOptions& options);
  void destroy_group(std::uint32_t id);
  /// Whether there was one, ever.
  [[nodiscard]] bool had_groups() const { return had_groups_; }
  /// That of now.
  [[nodiscard]] const SpanningTree& tree(std::uint32_t group) const;

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] const Config& config() const { return plan_->config(); }
  [[nodiscard]] const Topology& topology() const { return plan_->topology(); }
  /// The link between an end and its switch, and the whole configuration with it as `link`, which is what a network
  /// interface of that end is built from.
  [[nodiscard]] const LinkConfig& end_link(std::uint32_t end) const { return plan_->end_link(end); }
  [[nodiscard]] const Config& end_config(std::uint32_t end) const { return plan_->end_config(end); }
  [[nodiscard]] std::size_t switch_count() const { return switches_.size(); }
  AnySwitch& switch_at(std::size_t index) { return *switches_[index]; }

  /// What slowed a link of it down: faults of its own, and outages of planes, by their names.
  [[nodiscard]] std::vector<std::string> faults_of(const Transmitter& link) const;

  /// Draws the queues of its switches.
  void record(Probe& probe, const std::string& process) {
    for (const auto& sw : switches_) sw->record(probe, process);
  }
  /// Tells what the pins of its switches would show.
  void record(Waves& waves) {
    for (const auto& sw : switches_) sw->record(waves);
  }
  void finish_drawing() {
    for (const auto& sw : switches_) sw->finish_drawing();
  }

  /// What is left over when nothing moves any more, one line each: packets in queues, credits that did not come back.
  [[nodiscard]] std::vector<std::string> left_over();
  /// Which ends were cut off for a while by what was down by now, whether or not anybody missed them; one line for each
  /// time that something went down.
  [[nodiscard]] std::vector<std::string> partitions() const;
  /// Why, as far as it lies with what is down: which faults hold and which ends they cut off, one line each. Faults
  /// that are over are named too where packets were dropped, and where `gave_up` says that an interface repeats no
  /// more.
  [[nodiscard]] std::vector<std::string> outages(bool gave_up = false);

 private:
  void start_of_simulation() override;
  [[nodiscard]] Transmitter* transmitter(const Direction& direction) const;
  void spread_over_planes();

  std::shared_ptr<const Plan> plan_;
  Dispatcher& dispatcher_;
  std::vector<std::unique_ptr<AnySwitch>> switches_;
  // Groups (fabric_groups.cpp)
  /// A tree and how its packets travel.
  struct GroupTree {
    SpanningTree tree;
    std::uint8_t lane;
    bool reduces;
    int weight = 0;  ///< in `loads_`
  };
  [[nodiscard]] std::vector<std::uint32_t> reachable(const std::vector<std::uint32_t>& ends, std::size_t epoch) const;
  [[nodiscard]] const std::vector<Routes>& routes_of(std::size_t epoch) const;
  [[nodiscard]] bool whole(const SpanningTree& tree, std::size_t epoch) const;
  [[nodiscard]] GroupTree plan_tree(const std::vector<std::uint32_t>& ends, bool reduces, std::uint32_t salt,
                                    std::size_t epoch) const;
  void require_engine(std::uint32_t sw, std::size_t children) const;
  bool join(std::uint32_t number, const GroupTree& tree, const GroupOptions& options,
            const std::vector<std::uint32_t>& earlier);
  [[nodiscard]] std::vector<std::string> changed_groups() const;
  /// What became of packets and of the trees of groups while something was down, or full.
  [[nodiscard]] std::vector<std::string> losses();

  std::unique_ptr<Planes> planes_;  ///< null unless some are down at a time
  bool had_groups_ = false;
  GroupTrees group_trees_;
  std::map<std::uint32_t, GroupTree> trees_;  // by their numbers in switches
  LinkLoads loads_;                           // of these
};

}  // namespace weft::fabric
