// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/dram/controller.h"

namespace weft::dram {

Controller::Controller(const Device& device, const ControllerConfig& config, int channel, CommandObserver* observer)
    : activate_slots_(device.timing.activate_slots),
      precharge_slots_(device.timing.precharge_slots),
      column_slots_(device.timing.column_slots),
      channel_(static_cast<std::uint16_t>(channel)),
      observer_(observer) {
  for (int i = 0; i < device.geometry.pseudo_channels; ++i) pseudo_channels_.emplace_back(device, config, i);
}

Clock Controller::next() {
  const PseudoChannel::Candidate* best = nullptr;
  const auto offer = [&](const PseudoChannel::Candidate& candidate, PseudoChannel& each, bool row) {
    if (best != nullptr && (candidate.at > best->at || (candidate.at == best->at && candidate.order >= best->order))) {
      return;
    }
    best = &candidate;
    chosen_ = &each;
    chosen_row_ = row;
  };
  for (PseudoChannel& each : pseudo_channels_) {
    offer(each.column(column_free_), each, false);
    offer(each.row(row_free_), each, true);
  }
  return best->at;
}

PseudoChannel::Served Controller::step() {
  Command command;
  PseudoChannel::Served served;
  if (chosen_row_) {
    chosen_->issue_row(command);
    if (command.kind == CommandKind::kRefreshDue) return served;
    const Clock slots = command.kind == CommandKind::kActivate ? activate_slots_ : precharge_slots_;
    row_free_ = command.at + slots;
    row_busy_ += slots;
  } else {
    served = chosen_->issue_column(command);
    column_free_ = command.at + column_slots_;
    column_busy_ += column_slots_;
  }
  if (observer_ != nullptr) {
    command.channel = channel_;
    observer_->on_command(command);
  }
  return served;
}

int Controller::waiting() const {
  int waiting = 0;
  for (const PseudoChannel& each : pseudo_channels_) waiting += each.waiting();
  return waiting;
}

}  // namespace weft::dram
