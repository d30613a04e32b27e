// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/switch/output_arbiter.h"

#include <stdexcept>
#include <utility>

#include "hw/core/config/registry.h"
#include "hw/fabric/implementations.h"
#include "hw/fabric/switch/clocked_arbiter.h"

namespace weft::fabric {
namespace {

constexpr const char* kClocked = "clocked";
constexpr int kPatience = 64;  // edges

struct NamedArbiter {
  std::string name;
  std::function<ArbiterBlock(const ArbiterShape& needed)> block;
};

Registry<NamedArbiter>& blocks() {
  static Registry<NamedArbiter> all = [] {
    Registry<NamedArbiter> own("arbiter");
    own.provide({ArbiterConfig().implementation, nullptr});  // no block: it chooses when an output needs it
    own.provide({kClocked, [](const ArbiterShape& needed) -> ArbiterBlock {
                   return {needed, [needed](auto& /*clk*/, auto& /*reset*/) {
                             return std::make_unique<ClockedArbiter>(needed);
                           }};
                 }});
    return own;
  }();
  return all;
}

}  // namespace

void provide_arbiter(const std::string& name, ArbiterBlock block) {
  if (!block.make) throw std::invalid_argument("arbiter \"" + name + "\": expected a make, got none");
  blocks().provide({name, [block = std::move(block)](const ArbiterShape& /*needed*/) { return block; }});
}

void check_arbiter(const std::string& name, const std::string& path) {
  check_implementation(blocks().names(), name, path);
}

ArbiterBlock arbiter_block(const std::string& name, const ArbiterShape& needed) {
  return blocks().at(name, "arbiter.implementation").block(needed);
}

OutputArbiter::OutputArbiter(sc_core::sc_module_name name, const ArbiterBlock& block, Frequency clock,
                             Dispatcher& dispatcher, Look look, Grant grant, GiveUp give_up)
    : sc_module(name),
      shape_(block.shape),
      frequency_(clock),
      dispatcher_(dispatcher),
      look_(std::move(look)),
      grant_(std::move(grant)),
      give_up_(std::move(give_up)),
      clock_(dispatcher, clock),
      pins_(block.make(clock_.signal(), clock_.reset())),
      in_(no_queues()),
      lead_(cycle_time(2, clock)) {
  SC_METHOD(toggle);
  sensitive << clock_.event();
  SC_METHOD(step);
  sensitive << clock_.signal().posedge_event();
  dont_initialize();
}

void OutputArbiter::request(Time now) {
  requests_ = true;
  gave_up_ = false;
  idle_edges_ = 0;
  clock_.wake(now);
}

void OutputArbiter::toggle() {
  const Time now = dispatcher_.now();
  if (clock_.toggle()) {
    if (shown_ != nullptr) shown_->waves.run(shown_->clk, now, now);
    return;
  }
  if (shown_ != nullptr) show(now);
  if (clock_.resets() || requests_ || in_.take) clock_.wake(now);
}

/// At a rising edge, like any other register: it sees what the pins were before it.
void OutputArbiter::step() {
  if (clock_.reset_edge()) return;
  const Time now = dispatcher_.now();
  pins_->edge(out_);
  if (in_.take && out_.valid) {
    const bool is_there = out_.lane < shape_.lanes && out_.input < shape_.inputs;
    if (!is_there || !has(in_.credit, queue_of(out_.lane, out_.input))) {
      fail_block(name(), now,
                 "it granted input " + std::to_string(out_.input) + " of lane " + std::to_string(out_.lane) +
                     ", where no packet waited with credit");
    }
    requests_ = false;
    grant_(now, out_.lane, out_.input);
  }
  ArbiterInputs next = no_queues();
  look_(now, next);
  if (requests_) {
    idle_edges_ = sees(next) && in_.take ? idle_edges_ + 1 : 0;
    if (idle_edges_ == kPatience) {
      requests_ = false;
      gave_up_ = true;
    }
  }
  next.take = requests_;
  if (next != in_) {
    in_ = std::move(next);
    pins_->drive(in_);
  }
  if (gave_up_) give_up_(now);
}

void OutputArbiter::record(Waves& waves, const std::string& scope) {
  if (!waves.wants(scope)) return;
  const std::size_t bytes = (shape_.queues() + 7) / 8;
  const auto pin = [&](const char* name, int width = 1) { return waves.pin(scope + "." + name, width); };
  const auto bus = [&](const char* name) { return waves.bus(scope + "." + name, bytes); };
  shown_ = std::make_unique<Shown>(Shown{.waves = waves,
                                         .clk = waves.clock(scope + ".clk", frequency_),
                                         .reset = pin("reset"),
                                         .waiting = bus("waiting"),
                                         .credit = bus("credit"),
                                         .take = pin("take"),
                                         .grant_valid = pin("grant_valid"),
                                         .grant_lane = pin("grant_lane", 8),
                                         .grant_input = pin("grant_input", 16)});
  waves.set(Time(), shown_->reset, 1);
}

/// Before an edge: what the pins are then. Numbers without a grant stay what they were.
void OutputArbiter::show(Time now) {
  Waves& waves = shown_->waves;
  const auto bits = [&](Waves::Pin bus, const QueueBits& queues) {
    waves.set_bytes(now, bus, reinterpret_cast<const std::byte*>(queues.data()), (shape_.queues() + 7) / 8);
  };
  pins_->sample(out_);
  waves.set(now, shown_->reset, clock_.resets() ? 1 : 0);
  bits(shown_->waiting, in_.waiting);
  bits(shown_->credit, in_.credit);
  waves.set(now, shown_->take, in_.take ? 1 : 0);
  waves.set(now, shown_->grant_valid, out_.valid ? 1 : 0);
  if (!out_.valid) return;
  waves.set(now, shown_->grant_lane, out_.lane);
  waves.set(now, shown_->grant_input, out_.input);
}

}  // namespace weft::fabric
