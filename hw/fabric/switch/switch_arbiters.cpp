// SPDX-License-Identifier: Apache-2.0
// Outputs whose next packet is chosen behind pins, by RTL or at the edges of a clock. An output asks its OutputArbiter
// when the model would have chosen, less what that takes.
#include <algorithm>
#include <bit>
#include <string>

#include "hw/fabric/switch/switch.h"
#include "hw/fabric/switch/switch_tags.h"

namespace weft::fabric {

void Switch::build_arbiters() {
  // They take their own time for it.
  latency_ -= config_.arbitration.latency;
  egress_interval_ = std::max(config_.crossbar.interval, config_.egress.interval);
  const ArbiterBlock block = arbiter_block(config_.arbiter.implementation, {sources_, lanes_});
  for (std::uint32_t output = 0; output < outputs_.size(); ++output) {
    arbiters_.push_back(std::make_unique<OutputArbiter>(
        ("arbiter" + std::to_string(output)).c_str(), block, config_.arbiter.clock, dispatcher_,
        [this, output](Time now, ArbiterInputs& inputs) { look(now, output, inputs); },
        [this, output](Time now, std::uint32_t lane, std::uint32_t input) { grant(now, output, lane, input); },
        [this, output](Time now) { arm(now, output); }));
  }
}

/// Calls `what` with each queue of an output that has packets, and when the first of them has credit.
template <typename What>
void Switch::for_each_queue(Time now, std::uint32_t output, const What& what) {
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    if (!is_made(lane)) continue;
    const std::uint64_t* words = bitmap(output, lane);
    for (std::uint32_t word = 0; word < words_; ++word) {
      for (std::uint64_t bits = words[word]; bits != 0; bits &= bits - 1) {
        const std::uint32_t input = 64 * word + static_cast<std::uint32_t>(std::countr_zero(bits));
        const Packet& first = *queue(output, lane, input).head;
        what(lane, input, transmitters_[output].credit_at(static_cast<int>(lane), first.wire_bytes, now));
      }
    }
  }
}

void Switch::look(Time now, std::uint32_t output, ArbiterInputs& inputs) {
  for_each_queue(now, output, [&](std::uint32_t lane, std::uint32_t input, Time credit) {
    const std::size_t queue = arbiters_[output]->queue_of(lane, input);
    add(inputs.waiting, queue);
    if (credit <= now) add(inputs.credit, queue);
  });
}

/// At the time for which it was armed, or when a credit has come.
void Switch::ask(Time now, std::uint32_t index) {
  OutputArbiter& arbiter = *arbiters_[index];
  const Time needed = std::max(transmitters_[index].free_at(), outputs_[index].next_grant) - latency_;
  if (needed - arbiter.lead() <= now && first_credit(now, index) <= now) return arbiter.request(now);
  arm(now, index);
}

/// When the first of an output's packets has credit. An arbiter that granted nothing of what is there is asked again
/// when something else has.
Time Switch::first_credit(Time now, std::uint32_t index) {
  const OutputArbiter& arbiter = *arbiters_[index];
  bool in_vain = arbiter.gave_up();
  if (in_vain) {
    ArbiterInputs inputs = arbiter.no_queues();
    look(now, index, inputs);
    in_vain = arbiter.sees(inputs);
  }
  Time first = kNever;
  for_each_queue(now, index, [&](std::uint32_t /*lane*/, std::uint32_t /*input*/, Time credit) {
    if (credit > now || !in_vain) first = std::min(first, credit);
  });
  return first;
}

}  // namespace weft::fabric
