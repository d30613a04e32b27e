// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "platforms/results/what_if/kernel_pieces.h"
#include "platforms/results/what_if/resource_change.h"
#include "platforms/results/why/parts.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {

/// A resource of a network, "fabric" or "scale_up", by what it is called in the fabric: "buffer".
[[nodiscard]] const Resource& resource_within(std::string_view network, std::string_view name);
/// "nic" of the fabric, "port" within nodes.
[[nodiscard]] const Resource& interface_of(std::string_view network);
/// Whether it is what `name` is in the fabric, or the same within nodes.
[[nodiscard]] bool is_called(const Resource& resource, std::string_view name);
[[nodiscard]] bool is_interface(const Resource& resource);

/// How many times as fast resources are with changes.
class Factors {
 public:
  Factors() = default;
  /// Of a memory, by the rates that it has, one behind the other; null: nothing is known of them.
  explicit Factors(const std::vector<ResourceChange>& changes, const MemoryRates* rates = nullptr);
  void set(const Resource& resource, double factor) { of_[&resource] = {factor, 1}; }

  /// Of several fields of one the one that does more.
  [[nodiscard]] double of(const Resource& resource) const;
  /// What interfaces get of HBM. of() is what kernels and copies get.
  [[nodiscard]] double of_memory_at_interfaces() const { return memory_at_interfaces_; }
  /// The same, where whatever gets slower of HBM is what it waits for.
  [[nodiscard]] Factors with_slowest_memory() const;
  /// More uplinks share what links between switches carry.
  [[nodiscard]] double of_uplinks(const Resource& link) const;
  [[nodiscard]] KernelFactors of_kernels() const;
  /// The most that something which packets meet on their way through a network is faster: whoever waits for room may
  /// gain as much.
  [[nodiscard]] double most_gained(std::string_view network) const;
  /// Packets meet something at other places of a network that is so much faster.
  void let_gain(std::string_view network, double most) { gained_elsewhere_[network] = most; }
  [[nodiscard]] double gained_elsewhere(std::string_view network) const;
  /// What is slower.
  [[nodiscard]] std::vector<const Resource*> costs() const;
  /// Whether changes are of what kernels follow.
  [[nodiscard]] bool are_of_kernels() const { return are_of_kernels_; }
  /// Of each resource what is faster in one of both.
  void take_better(const Factors& other);

 private:
  struct Most {
    double better = 1;
    double worse = 1;
  };
  void set_memory(const std::vector<ResourceChange>& changes, const MemoryRates& rates);

  std::map<const Resource*, Most> of_;
  double power_cap_ = 1;
  double clock_cap_ = 1;
  double memory_at_interfaces_ = 1;
  double slowest_memory_ = 1;
  bool are_of_kernels_ = false;
  std::map<std::string_view, double> gained_elsewhere_;
};

/// Whether kernels follow it, and not what is between them.
[[nodiscard]] bool is_of_kernels(const Resource& resource);
/// Whether accelerators of another kind have another one.
[[nodiscard]] bool is_of_accelerator(const Resource& resource);

/// Whether it passes the same bytes at the same time as others do.
[[nodiscard]] bool passes_bytes(const Resource& resource);
/// Of an interface its link, of a link the interface: the same bytes pass both. Else nothing.
[[nodiscard]] const Resource* partner_of(const Resource& resource);
/// Whether one of them has one after the other, so that no run is shorter than that takes. Threads of a core may wait
/// for others while they run, launches of several streams are at the same time, and what interfaces need is reckoned.
[[nodiscard]] bool is_served_in_turn(const Resource& resource);
/// What is in use where it is: more uplinks are links.
[[nodiscard]] const Resource& in_use(const Resource& resource);

}  // namespace weft::platforms
