// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/gated_clock.h"
#include "hw/core/quantity.h"
#include "hw/core/waves.h"
#include "hw/fabric/switch/arbiter_pins.h"

namespace weft::fabric {

/// What chooses the next packet of an output in a switch.
struct ArbiterConfig {
  std::string implementation = "model";
  std::vector<std::string> switches;
  Frequency clock = Frequency(1'000'000'000);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("implementation", implementation,
          "What chooses. model: the model, whenever an output needs a packet; clocked: the same rule behind pins, at "
          "the edges of a clock; or the name of a block of RTL (rtl comes with Weft). clocked and RTL take their time "
          "from the clock, not from `arbitration`");
    visit("switches", switches,
          "Names of the switches that have it, such as spine0; the others have the model; empty: all have it");
    visit("clock", clock, "Clock of clocked and of RTL", Range{1'000'000, 100'000'000'000});
  }

  [[nodiscard]] bool has_pins() const { return implementation != ArbiterConfig().implementation; }
};

/// A block that arbitrates.
struct ArbiterBlock {
  ArbiterShape shape;
  ArbiterMaker make;
};

/// From then on `arbiter.implementation` may be `name`. Before a platform is built. Throws std::invalid_argument for a
/// name that is there already.
void provide_arbiter(const std::string& name, ArbiterBlock block);

/// Throws ConfigError, with `path`, for a name that nobody has provided.
void check_arbiter(const std::string& name, const std::string& path);

/// `name` has been checked and has pins; `needed` is what the switch has, which clocked is made for. What comes back
/// may have more.
ArbiterBlock arbiter_block(const std::string& name, const ArbiterShape& needed);

/// The arbiter of one output of a switch behind pins, with a clock that stands still while nothing is asked of it.
///
/// What waits, and has credit, is on the pins from the first edge after the output asks for a packet. At each edge
/// after that the block may grant a queue; its first packet then leaves. An output asks two cycles before it needs the
/// packet, so that one with packets never idles for arbitration; one that was idle waits for one to two cycles. A block
/// that grants nothing for 64 cycles although some have credit is left alone until something has changed for it.
///
/// Reset is held for the first edges of the simulation. A grant to a queue that was not on the pins, with credit, ends
/// the simulation.
class OutputArbiter final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(OutputArbiter);

  /// Writes which queues wait now and which have credit, into bits that are 0.
  using Look = std::function<void(Time now, ArbiterInputs& inputs)>;
  /// Sends the first packet of a queue, unless that is gone.
  using Grant = std::function<void(Time now, std::uint32_t lane, std::uint32_t input)>;
  /// There is something that it does not grant.
  using GiveUp = std::function<void(Time now)>;

  OutputArbiter(sc_core::sc_module_name name, const ArbiterBlock& block, Frequency clock, Dispatcher& dispatcher,
                Look look, Grant grant, GiveUp give_up);

  /// The output takes the next packet that is granted.
  void request(Time now);
  [[nodiscard]] bool requests() const { return requests_; }
  /// Whether it granted nothing for long, and this is what it saw.
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  [[nodiscard]] bool sees(const ArbiterInputs& inputs) const {
    return inputs.waiting == in_.waiting && inputs.credit == in_.credit;
  }
  /// How long before an output needs a packet it should ask.
  [[nodiscard]] Time lead() const { return lead_; }
  [[nodiscard]] ArbiterInputs no_queues() const {
    return {QueueBits(shape_.words()), QueueBits(shape_.words()), false};
  }
  [[nodiscard]] std::size_t queue_of(std::uint32_t lane, std::uint32_t input) const {
    return lane * shape_.inputs + input;
  }
  /// The pins under the names that they have in hw/rtl/voq_arbiter.sv, in SCOPE. Before the run.
  void record(Waves& waves, const std::string& scope);

 private:
  /// In a waveform.
  struct Shown {
    Waves& waves;
    Waves::Clock clk;
    Waves::Pin reset, waiting, credit, take, grant_valid, grant_lane, grant_input;
  };

  void toggle();
  void step();
  void show(Time now);

  ArbiterShape shape_;
  Frequency frequency_;
  Dispatcher& dispatcher_;
  Look look_;
  Grant grant_;
  GiveUp give_up_;
  GatedClock clock_;
  std::unique_ptr<ArbiterPins> pins_;
  ArbiterInputs in_;
  ArbiterOutputs out_;
  Time lead_;
  int idle_edges_ = 0;  ///< since it was granted something, or saw something new
  bool requests_ = false;
  bool gave_up_ = false;
  std::unique_ptr<Shown> shown_;
};

}  // namespace weft::fabric
