// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/kernel/beside.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/accelerator/accelerator.h"
#include "hw/core/config/own_fields.h"
#include "hw/core/register_file.h"
#include "hw/memory/memory_model.h"
#include "sw/schedules/kernel_work.h"

namespace weft::platforms {
namespace {

using accelerator::Accelerator;
using accelerator::Done;

/// An accelerator with its memory. Gives it commands at time 0 and keeps when which of them was notified.
class Bench final : public sc_core::sc_module, public EventTarget {
 public:
  Bench(sc_core::sc_module_name name, const AcceleratorPart& part, const memory::StreamModel* model,
        Dispatcher& dispatcher, std::vector<accelerator::Command> commands)
      : sc_module(name),
        dispatcher_(dispatcher),
        commands_(std::move(commands)),
        notices_(dispatcher),
        hbm_(make_memory(part.hbm, model, dispatcher)),
        array_("array", config_of(part), dispatcher, false, {}) {
    dispatcher.attach(*this, this->name());
    array_.compute.bind(hbm_->socket(0));
    array_.copy.bind(hbm_->socket(1));
    window_.bind(initiator_);
    window_.bind(array_.registers);
    notices_.add_window(0, 1, sizeof(Done), sizeof(Done), sizeof(Done),
                        [this](std::uint64_t /*address*/, const void* data, std::uint32_t /*bytes*/, Time at) {
                          Done done;
                          std::memcpy(&done, data, sizeof done);
                          done_.at(done.id) = at;
                          return true;
                        });
    completions_.bind(notices_);
    array_.completion.bind(completions_);
  }

  [[nodiscard]] Time done(std::uint64_t id) const { return done_.at(id); }

  void on_event(Time /*now*/, std::uint32_t /*tag*/, std::uint64_t /*data*/) override {
    tlm::tlm_generic_payload payload;
    for (const accelerator::Command& command : commands_) {
      write_through(*window_.operator->(), payload, accelerator::kCommandWindow, &command, sizeof command, Time());
    }
  }

 private:
  static std::unique_ptr<memory::Memory> make_memory(const memory::HbmConfig& config, const memory::StreamModel* stacks,
                                                     Dispatcher& dispatcher) {
    const memory::MemoryModel& model = memory::model_of(config);
    return made(model.make({.name = "hbm",
                            .config = config,
                            .dispatcher = dispatcher,
                            .masters = {"compute", "copy"},
                            .data = false,
                            .stall = {},
                            .stacks = stacks}),
                "accelerator.hbm.detail", model.name);
  }
  /// Alike in all runs, and with slices short enough for kernels of some microseconds to take turns.
  static Accelerator::Config config_of(const AcceleratorPart& part) {
    Accelerator::Config config = part.array;
    config.speed_spread = 0;
    config.shared_cores = false;
    config.slice = Time(1'000'000);
    return config;
  }
  void start_of_simulation() override { dispatcher_.post(Time(), *this, 0, 0); }

  Dispatcher& dispatcher_;
  std::vector<accelerator::Command> commands_;
  std::vector<Time> done_ = std::vector<Time>(2);
  BlockingInitiator initiator_;
  RegisterFile notices_;
  tlm::tlm_initiator_socket<64> window_;
  tlm::tlm_target_socket<64> completions_;
  std::unique_ptr<memory::Memory> hbm_;
  Accelerator array_;
};

/// A kernel in a stream of its own, and word of its end.
std::vector<accelerator::Command> commands_for(const Placed& kernel, std::uint32_t index) {
  accelerator::Command run = schedules::kernel_command(index, nullptr, kernel.work);
  run.cores = static_cast<std::uint32_t>(kernel.sms);
  accelerator::Command notify;
  notify.operation = accelerator::Operation::kNotify;
  notify.stream = index;
  notify.id = index;
  return {run, notify};
}

}  // namespace

std::array<Placed, 2> place_beside(const accelerator::ComputeConfig& compute, const std::array<KernelShape, 2>& shapes,
                                   const std::array<std::int64_t, 2>& sms) {
  accelerator::ComputeConfig held = compute;
  held.power.cap = Power();
  std::array<Placed, 2> placed;
  const auto draws = [&](Frequency clock) {
    held.clock_cap = clock;
    double power = watts(compute.power.idle);
    for (std::size_t i = 0; i < 2; ++i) {
      placed.at(i) = {shapes.at(i).work(partition(held, sms.at(i)), nullptr), sms.at(i)};
      const accelerator::KernelWork& work = placed.at(i).work;
      const double seconds = static_cast<double>(estimate(work, compute.sustained_memory()).count()) * 1e-12;
      if (seconds > 0) power += drawn(work) / seconds;
    }
    return power;
  };
  const Frequency full = compute.clock_cap > Frequency() ? std::min(compute.clock_cap, compute.clock) : compute.clock;
  const double cap = watts(compute.power.cap);
  if (cap <= 0 || draws(full) <= cap) {
    draws(full);
    return placed;
  }
  Frequency low = std::min(compute.lowest_clock, full);
  Frequency high = full;
  while (high - low > Frequency(1'000'000)) {
    const Frequency middle = low + (high - low) / 2;
    (draws(middle) <= cap ? low : high) = middle;
  }
  draws(low);
  return placed;
}

Ends run_beside(const AcceleratorPart& part, const std::array<Placed, 2>& kernels) {
  Dispatcher dispatcher("dispatcher");
  const std::shared_ptr<const memory::StreamModel> model = part.hbm.model();
  std::array<std::unique_ptr<Bench>, 2> alone;
  std::vector<accelerator::Command> both;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::vector<accelerator::Command> commands = commands_for(kernels.at(i), i);
    both.insert(both.end(), commands.begin(), commands.end());
    alone.at(i) =
        std::make_unique<Bench>(("alone" + std::to_string(i)).c_str(), part, model.get(), dispatcher, commands);
  }
  Bench beside("beside", part, model.get(), dispatcher, both);
  dispatcher.run_to_end();
  Ends ends;
  for (std::size_t i = 0; i < 2; ++i) {
    ends.alone.at(i) = alone.at(i)->done(i);
    ends.beside.at(i) = beside.done(i);
  }
  return ends;
}

}  // namespace weft::platforms
