// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "hw/memory/dram/address_map.h"
#include "hw/memory/dram/controller.h"
#include "hw/memory/dram/tournament.h"

namespace weft::dram {

struct MemoryConfig {
  Device device;
  ControllerConfig controller;
  std::string mapping = "burst";
  std::string hash = "off";
  int stacks = 1;
  Bytes stack_interleave = Bytes(256);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("device", device, "The DRAM");
    visit("controller", controller, "How requests become commands");
    visit("mapping", mapping,
          "Which bits of an address choose what: burst, 128B, or a list from the lowest bit up, such as "
          "offset:5,pseudo_channel:1,bank_group:2,column:5,bank:2,stack_id:1,row");
    visit("hash", hash,
          "Fields into which bits of the row are mixed: off, row (all that choose a bank), or a list such as "
          "bank_group^row:0,bank^row:2");
    visit("stacks", stacks, "Stacks of that device, side by side", Range{1, 64});
    visit("stack_interleave", stack_interleave, "Bytes in one stack before the next stack begins; a power of two",
          Range{64, 1 << 20});
  }
  [[nodiscard]] int channels() const { return stacks * device.geometry.channels; }
  /// Of all stacks together, without what inline ECC reserves.
  [[nodiscard]] Bytes capacity() const {
    const int covers = controller.inline_covers();
    return device.geometry.capacity() * stacks / (covers + 1) * std::max(1, covers);
  }
  /// Throws ConfigError for `path`.
  [[nodiscard]] AddressMap map(const std::string& path = "mapping") const {
    return {device.geometry, mapping, path, stacks, stack_interleave, controller.inline_covers(), hash};
  }
  [[nodiscard]] double peak_bytes_per_second() const { return device.peak_bytes_per_second() * stacks; }
  void check(const std::string& path = "") const {
    const std::string prefix = path.empty() ? "" : path + ".";
    device.check(prefix + "device");
    controller.check(prefix + "controller");
    if (controller.refresh == RefreshPolicy::kPerBank && device.timing.rfcpb == 0) {
      throw ConfigError(prefix + "controller.refresh",
                        "all-bank or off, since the device has no per-bank refresh (device.timing.rfcpb is 0)");
    }
    device.check_refresh(controller.refresh, prefix + "device");
    if (!std::has_single_bit(static_cast<std::uint64_t>(stack_interleave.count()))) {
      throw ConfigError(prefix + "stack_interleave", "a power of two");
    }
    if (stack_interleave < device.geometry.burst) {
      throw ConfigError(prefix + "stack_interleave", "a burst of the device at the least");
    }
    if (controller.inline_covers() >= device.geometry.columns) {
      throw ConfigError(prefix + "controller.ecc.covers",
                        "less than the bursts of a row, which are " + std::to_string(device.geometry.columns));
    }
  }
};

/// All channels behind one address map. Whoever drives it (Replay, or a SystemC module) offers requests in the order of
/// time and lets it step up to the time of the next one.
class MemorySystem {
 public:
  /// Throws ConfigError. `observer` may be null.
  explicit MemorySystem(const MemoryConfig& config, CommandObserver* observer = nullptr);

  [[nodiscard]] Location locate(std::uint64_t address) const { return map_.locate(address); }
  /// `now` is not after next().
  Accept push(const Request& request, Clock now) {
    const std::size_t channel = request.location.channel;
    const Accept accept = channels_[channel].push(request, now);
    if (accept == Accept::kQueued && channels_[channel].changed()) next_.set(channel, channels_[channel].next());
    return accept;
  }
  /// Time of the next command of any channel.
  [[nodiscard]] Clock next() const { return next_.least(); }
  /// Issues it.
  PseudoChannel::Served step() {
    const std::size_t channel = next_.first();
    const PseudoChannel::Served served = channels_[channel].step();
    next_.set(channel, channels_[channel].next());
    return served;
  }

  /// Brings channels in which nothing waits close to `until`, by whole rounds of their refreshes; see Controller.
  void pass_idle(Clock until);

  [[nodiscard]] const MemoryConfig& config() const { return config_; }
  [[nodiscard]] const AddressMap& map() const { return map_; }
  [[nodiscard]] const std::vector<Controller>& channels() const { return channels_; }
  [[nodiscard]] int waiting() const;
  [[nodiscard]] Counters counters() const;
  /// The clock that `time` falls into or, if it is between two, the later.
  [[nodiscard]] Clock clock_at(Time time) const {
    // A multiplication in place of the division, right to one clock.
    const std::int64_t above = time.count() + period_ - 1;
    auto clock = static_cast<Clock>(static_cast<unsigned __int128>(above) * per_period_ >> 64);
    if (clock * period_ > above) --clock;
    return clock;
  }
  [[nodiscard]] Time time_of(Clock clock) const { return Time(period_ * clock); }

 private:
  MemoryConfig config_;
  std::int64_t period_;       ///< of the clock, in picoseconds
  std::uint64_t per_period_;  ///< 2^64 / period_, rounded up
  AddressMap map_;
  std::vector<Controller> channels_;
  Tournament<Clock> next_;  ///< by channel
};

}  // namespace weft::dram
