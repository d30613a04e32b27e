// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "hw/memory/dram/ecc_stage.h"
#include "hw/memory/dram/pseudo_channel.h"

namespace weft::dram {

/// A channel: its pseudo channels share one bus for row commands and one for reads and writes. Goes from command to
/// command; clocks in which nothing happens cost nothing.
class Controller {
 public:
  /// `observer` may be null.
  Controller(const Device& device, const ControllerConfig& config, int channel, CommandObserver* observer);

  // What next() chose is pointed to.
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  Controller(Controller&&) = default;
  Controller& operator=(Controller&&) = delete;

  /// `now` is not after next().
  Accept push(const Request& request, Clock now) {
    const std::size_t i = request.location.pseudo_channel;
    if (!checked_) return pseudo_channels_[i].push(request, now, ++order_);
    return ecc_[i].push(pseudo_channels_[i], request, now, order_);
  }
  /// Whether requests since the last call may have changed what next() finds.
  bool changed() {
    bool any = checked_;
    for (PseudoChannel& each : pseudo_channels_) any |= each.changed();
    return any;
  }
  /// Time of the next command, or of a refresh that becomes due; kNeverClock if there is nothing to do.
  Clock next();
  /// Issues what next() found. To be called after next().
  PseudoChannel::Served step();
  /// Where nothing waits, refreshes alone go on, and each round of them is as the one before. Leaves out whole rounds
  /// that end well before `until`, after some that are as ever, and counts them. Whether it did anything; without one
  /// that observes commands.
  bool pass_idle(Clock until);

  [[nodiscard]] int waiting() const;
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] int pseudo_channels() const { return static_cast<int>(pseudo_channels_.size()); }
  [[nodiscard]] const PseudoChannel& pseudo_channel(int i) const {
    return pseudo_channels_[static_cast<std::size_t>(i)];
  }
  /// Clocks in which the bus was taken.
  [[nodiscard]] Clock row_bus_busy() const { return row_busy_; }
  [[nodiscard]] Clock column_bus_busy() const { return column_busy_; }

 private:
  void step_row();
  PseudoChannel::Served step_column();
  /// With where it is.
  [[nodiscard]] PseudoChannel::Served place(PseudoChannel::Served served, std::ptrdiff_t pseudo_channel) const;
  void observe(Command& command) const {
    if (observer_ == nullptr) return;
    command.channel = channel_;
    observer_->on_command(command);
  }

  std::vector<PseudoChannel> pseudo_channels_;
  Clock row_free_ = 0;  // the buses, from when on
  Clock column_free_ = 0;
  std::uint64_t order_ = 0;
  PseudoChannel* chosen_ = nullptr;  ///< by next(), for step()
  bool chosen_row_ = false;
  bool checked_ = false;  ///< with ECC
  Clock row_busy_ = 0;
  Clock column_busy_ = 0;
  Clock activate_slots_;
  Clock precharge_slots_;
  Clock column_slots_;
  std::uint16_t channel_;
  CommandObserver* observer_;
  std::vector<EccStage> ecc_;         ///< by pseudo channel; none without ECC
  EccStage* chosen_stage_ = nullptr;  ///< in place of a command
};

}  // namespace weft::dram
