// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/memory/remote/cxl_link.h"
#include "hw/memory/remote/cxl_switch.h"
#include "hw/memory/remote/memory_expander.h"
#include "hw/memory/remote/remote_target.h"

namespace weft::memory {

/// How far a pool is from those who share it: at the other end of one link, or of a link, a switch and another link.
enum class CxlPath : std::uint8_t { kNear, kFar };
inline EnumNames<CxlPath> enum_names(CxlPath /*tag*/) {
  return {{"near", CxlPath::kNear}, {"far", CxlPath::kFar}};
}

/// The memory pools of a machine, wired from links, switches and memory expanders. Every `sharers` accelerators have a
/// pool of their own, one address space: near, a single device with a head and a link for each; far, a switch with a
/// link to each of them and to each of `devices` devices, in which granules lie in turn.
///
/// Contention is where it is in hardware: in a host's link and its outstanding requests, in the link of a device that
/// several ask, in the device's DRAM.
class CxlPool final : public RemoteTarget {
 public:
  struct Config {
    static constexpr std::string_view kKind = "cxl";

    int sharers = 8;
    CxlPath path = CxlPath::kNear;
    int devices = 1;
    CxlLink::Config link;
    CxlSwitch::Config switch_config;
    CxlLink::Config device_link;
    MemoryExpander::Config device;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("sharers", sharers, "Accelerators that share a pool", Range{1, 4096});
      visit("path", path, "near: a link leads to the memory; far: a link, a switch and another link");
      visit("devices", devices, "Memory devices of a pool; near: one, with a head for each accelerator", Range{1, 256});
      visit("link", link, "Link from an accelerator");
      visit("switch", switch_config, "far: switch between the accelerators' links and those of the devices");
      visit("device_link", device_link, "far: link from the switch to a device");
      visit("device", device, "Each memory device");
    }
  };

  /// For `accelerators`; requests come in pieces that do not cross multiples of `granule`. Throws ConfigError, below
  /// `remote_memory`.
  CxlPool(sc_core::sc_module_name name, const Config& config, int accelerators, Bytes granule, Dispatcher& dispatcher,
          bool data, const Stall::Config& stall);
  ~CxlPool() override;

  Socket& socket(std::size_t accelerator) override { return links_[accelerator]->up; }
  [[nodiscard]] std::size_t spaces() const override { return stores_.size(); }
  [[nodiscard]] std::size_t space_of(std::size_t accelerator) const override {
    return accelerator / static_cast<std::size_t>(config_.sharers);
  }
  [[nodiscard]] Bytes capacity() const override { return config_.device.capacity * config_.devices; }
  [[nodiscard]] std::string capacity_path() const override { return "remote_memory.cxl.device.capacity"; }
  BackingStore& store(std::size_t space) override { return stores_[space]; }
  [[nodiscard]] std::vector<std::string> left_over() const override;

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const CxlLink& link(std::size_t accelerator) const { return *links_[accelerator]; }
  /// Those of all pools in turn; near pools have no links of their own.
  [[nodiscard]] const std::vector<std::unique_ptr<CxlLink>>& device_links() const { return device_links_; }
  [[nodiscard]] const std::vector<std::unique_ptr<MemoryExpander>>& devices() const { return devices_; }
  [[nodiscard]] std::size_t switches() const { return switches_.size(); }

 private:
  void build_near(std::size_t pool, Bytes granule, Dispatcher& dispatcher, bool data, const Stall::Config& stall);
  void build_far(std::size_t pool, Bytes granule, Dispatcher& dispatcher, bool data, const Stall::Config& stall);

  Config config_;
  std::vector<BackingStore> stores_;
  std::vector<std::unique_ptr<CxlLink>> links_;
  std::vector<std::unique_ptr<CxlSwitch>> switches_;
  std::vector<std::unique_ptr<CxlLink>> device_links_;
  std::vector<std::unique_ptr<MemoryExpander>> devices_;
};

}  // namespace weft::memory
