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
  if (config.ecc.mode == EccMode::kOff) return;
  checked_ = true;
  for (int i = 0; i < device.geometry.pseudo_channels; ++i) ecc_.emplace_back(device, config);
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
  if (!checked_) return best->at;
  chosen_stage_ = nullptr;
  Clock at = best->at;
  for (std::size_t i = 0; i < ecc_.size(); ++i) {
    if (ecc_[i].next() > at || (chosen_stage_ != nullptr && ecc_[i].next() == at)) continue;
    at = ecc_[i].next();
    chosen_stage_ = &ecc_[i];
    chosen_ = &pseudo_channels_[i];
  }
  return at;
}

bool Controller::pass_idle(Clock until) {
  constexpr Clock kSettling = 4;  // rounds until all rows are closed and refreshes have caught up
  const Clock round = pseudo_channels_.front().refresh_round();
  const Clock start = next();
  if (observer_ != nullptr || round == 0 || waiting() > 0 || (until - start) / round < 3 * kSettling) return false;
  const auto run_to = [this](Clock end) {
    while (next() < end) step();
  };
  run_to(start + kSettling * round);
  const Clock busy = row_busy_;
  for (PseudoChannel& each : pseudo_channels_) each.begin_round();
  run_to(start + (kSettling + 1) * round);
  const std::int64_t rounds = (until - start) / round - 2 * kSettling;
  row_busy_ += rounds * (row_busy_ - busy);
  for (PseudoChannel& each : pseudo_channels_) each.repeat_round(rounds);
  return true;
}

PseudoChannel::Served Controller::step() {
  if (checked_ && chosen_stage_ != nullptr) {
    return place(chosen_stage_->step(*chosen_, order_), chosen_stage_ - ecc_.data());
  }
  if (!chosen_row_) return step_column();
  step_row();
  return {};
}

void Controller::step_row() {
  Command command;
  chosen_->issue_row(command);
  if (command.kind == CommandKind::kRefreshDue) return;
  const Clock slots = command.kind == CommandKind::kActivate ? activate_slots_ : precharge_slots_;
  row_free_ = command.at + slots;
  row_busy_ += slots;
  observe(command);
}

PseudoChannel::Served Controller::step_column() {
  Command command;
  PseudoChannel::Served served = chosen_->issue_column(command);
  column_free_ = command.at + column_slots_;
  column_busy_ += column_slots_;
  if (checked_) served = place(ecc_[command.pseudo_channel].served(served, command.at), command.pseudo_channel);
  observe(command);
  return served;
}

PseudoChannel::Served Controller::place(PseudoChannel::Served served, std::ptrdiff_t pseudo_channel) const {
  served.channel = channel_;
  served.pseudo_channel = static_cast<std::uint8_t>(pseudo_channel);
  return served;
}

int Controller::waiting() const {
  int waiting = 0;
  for (const PseudoChannel& each : pseudo_channels_) waiting += each.waiting();
  for (const EccStage& each : ecc_) waiting += each.waiting();
  return waiting;
}

Counters Controller::counters() const {
  Counters sum;
  for (const PseudoChannel& each : pseudo_channels_) sum += each.counters();
  for (const EccStage& each : ecc_) sum += each.counters();
  return sum;
}

}  // namespace weft::dram
