// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <vector>

/// The pins of an arbiter over the virtual output queues of one output, whatever is behind them: hw/rtl/voq_arbiter.sv,
/// or a model of it.
namespace weft::fabric {

/// Parameters that an arbiter was built with.
struct ArbiterShape {
  std::size_t inputs = 0;  ///< queues of a lane
  std::size_t lanes = 0;

  [[nodiscard]] std::size_t queues() const { return inputs * lanes; }
  [[nodiscard]] std::size_t words() const { return (queues() + 31) / 32; }
};

/// A bit for each queue, that of an input in a lane being number lane * inputs + input: in words, the lowest first.
using QueueBits = std::vector<std::uint32_t>;
constexpr bool has(const QueueBits& bits, std::size_t queue) {
  return (bits[queue / 32] >> queue % 32 & 1) != 0;
}
constexpr void add(QueueBits& bits, std::size_t queue) {
  bits[queue / 32] |= 1U << queue % 32;
}

/// What is on the input pins.
struct ArbiterInputs {
  QueueBits waiting;  ///< a packet is there
  QueueBits credit;   ///< and the first may be sent; only where one waits
  bool take = false;  ///< what is granted at the next edge leaves

  friend bool operator==(const ArbiterInputs&, const ArbiterInputs&) = default;
};

/// What is on the output pins.
struct ArbiterOutputs {
  bool valid = false;
  std::uint32_t lane = 0;
  std::uint32_t input = 0;
};

class ArbiterPins {
 public:
  ArbiterPins(const ArbiterPins&) = delete;
  ArbiterPins& operator=(const ArbiterPins&) = delete;
  virtual ~ArbiterPins() = default;

  virtual void drive(const ArbiterInputs& inputs) = 0;
  /// Between two rising edges, when what the last one changed is there.
  virtual void sample(ArbiterOutputs& outputs) const = 0;
  /// At a rising edge: what the pins were before it. Afterwards an arbiter that has no process of its own has moved on.
  virtual void edge(ArbiterOutputs& outputs) { sample(outputs); }

 protected:
  ArbiterPins() = default;
};

/// Builds the module and binds its clock and reset.
using ArbiterMaker =
    std::function<std::unique_ptr<ArbiterPins>(sc_core::sc_signal<bool>& clk, sc_core::sc_signal<bool>& reset)>;

}  // namespace weft::fabric
