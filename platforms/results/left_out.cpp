// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/left_out.h"

#include "hw/fabric/switch/switch_model.h"
#include "hw/memory/memory_model.h"
#include "hw/nic/nic_model.h"

namespace weft::platforms {
void LeftOut::mark(std::size_t mark) {
  marks_.emplace(mark, take_baseline(machine_, machine_.dispatcher().now()));
  while (marks_.size() > kKept) marks_.erase(marks_.begin());
}

void LeftOut::leave_out(std::size_t from, std::size_t to, int times) {
  if (!any_) {
    sum_ = marks_.at(from);
    sum_.add(marks_.at(from), -1);
  }
  any_ = true;
  sum_.add(marks_.at(from), times);
  sum_.add(marks_.at(to), -times);
}

Baseline LeftOut::moved(const Baseline* since) const {
  if (since == nullptr) return sum_;
  Baseline moved = *since;
  moved.add(sum_, 1);
  return moved;
}

bool repeats_itself(const MachineConfig& config) {
  if (config.data || !config.others.empty() || config.stall > Time() ||
      !memory::model_of(config.accelerator.hbm).uniform)
    return false;
  if (config.remote_memory.exists()) return false;
  if (!nic::model_of(config.nic).repeats || !nic::model_of(config.scale_up.port).repeats) return false;
  for (const fabric::FabricConfig* network : {&config.fabric, &config.scale_up.fabric}) {
    const fabric::Switch::Config& of_switch = network->switch_config;
    if (!network->faults.empty() || of_switch.marking.min > Bytes() || of_switch.arbiter.has_pins()) return false;
    if (!fabric::model_of(of_switch).repeats) return false;
    if (of_switch.reduction.implementation != fabric::ReductionEngine::Config().implementation) return false;
  }
  return true;
}

}  // namespace weft::platforms
