// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/fifo.h"
#include "hw/core/quantity.h"
#include "sw/analytical/agenda.h"

namespace weft::analytical {

/// The bus between an end's compute unit and the adapter that sends its messages, by the LogGP model (Alexandrov et al.
/// 1995): "model-shared-bus" of ASTRA-sim, with its keys L, o, g, G and local-reduction-delay.
struct BusConfig {
  bool modelled = false;
  std::int64_t latency_ns = 0;   ///< L
  std::int64_t overhead_ns = 0;  ///< o
  std::int64_t gap_ns = 0;       ///< g
  double ns_per_byte = 0;        ///< G
  std::int64_t reduction_ns = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("modelled", modelled, "Messages of collectives pass the bus, instead of waiting endpoint_delay");
    visit("latency_ns", latency_ns, "L of LogGP: latency of a transfer", Range{0, 1'000'000'000});
    visit("overhead_ns", overhead_ns, "o of LogGP: overhead of a transfer at either side", Range{0, 1'000'000'000});
    visit("gap_ns", gap_ns, "g of LogGP: time from the end of a side's transfer to its next one",
          Range{0, 1'000'000'000});
    visit("ns_per_byte", ns_per_byte, "G of LogGP: time of a byte");
    visit("reduction_ns", reduction_ns, "Time of the compute unit for each whole 100 bytes, in addition to 50 ns",
          Range{0, 1'000'000'000});
  }
};

/// Told when something has passed its end's buses.
class BusUser {
 public:
  virtual ~BusUser() = default;
  virtual void bus_passed(Time now, std::uint32_t end, std::uint64_t token) = 0;
};

/// The buses of all ends, as ASTRA-sim's arithmetic has them. Each end has two with two sides each: the compute unit
/// and the adapter, and the compute unit and its memory. Both have the same L, o and g; memory moves a byte in 3.8 ps.
///
/// What goes to the adapter is read from memory and crosses. What comes from it crosses and is
/// - reduced: read (a request as long as the data, then the data), worked on one at a time, then written or, if it goes
///   on to the adapter, read again;
/// - passed on: read as well, and back to the adapter;
/// - kept: written.
///
/// A side sends one transfer at a time, and a side that is receiving none: it is free again when the one transfer that
/// is on its way has come. A side that has sent more than eight in a row lets the other go first. Times are whole
/// nanoseconds. State is made for ends that use it.
class MemoryBuses final : Actor {
 public:
  MemoryBuses(Agenda& agenda, const BusConfig& config, std::uint32_t ends, BusUser& user);
  ~MemoryBuses();

  void to_adapter(Time now, std::uint32_t end, std::int64_t bytes, std::uint64_t token);
  void from_adapter(Time now, std::uint32_t end, std::int64_t bytes, bool reduced, bool goes_on, std::uint64_t token);

  void act(Time now, std::uint64_t what) override;

 private:
  enum Side : std::uint8_t { kUnit, kAdapter, kUnitAtMemory, kMemory };
  static constexpr std::uint32_t kSides = 4;
  enum class Next : std::uint8_t { kSend, kReduce, kDone };  ///< of the compute unit, when memory has answered

  struct Move {
    std::uint64_t token;
    std::int64_t bytes;
    bool reduced = false;
    bool goes_on = false;          ///< on the bus that it is on
    bool to_adapter_then = false;  ///< on the memory's bus: once reduced
    Next next = Next::kDone;       ///< likewise
  };
  struct Port {
    enum class State : std::uint8_t { kFree, kSending, kReceiving };
    State state = State::kFree;
    State before = State::kFree;
    Time last;              ///< when it last ended a transfer
    std::uint32_t row = 0;  ///< transfers that it has sent since it last received
    Fifo<Move> sends;
    Fifo<Move> receives;
  };
  struct End {
    Port ports[kSides];
    Fifo<Move> reductions;  ///< the first is being worked on
  };
  struct Place {
    std::uint32_t number;
    End& end;
    Side side;
    [[nodiscard]] Place at(Side other) const { return {number, end, other}; }
    [[nodiscard]] Port& port() const { return end.ports[side]; }
    [[nodiscard]] Place partner() const { return at(static_cast<Side>(side ^ 1)); }
  };

  End& end(std::uint32_t number);
  void request(Time now, Place place, const Move& move);
  /// Lets memory answer the compute unit: `reads` sends a request of the same size first.
  void remember(Time now, Place place, Move move, bool reads, Next next);
  void go_on(Time now, Place place);
  void send_next(Time now, Place place);
  void received(Time now, Place place);
  void answered(Time now, Place place, const Move& move);
  void reduced(Time now, Place place);
  void reduce_first(Time now, Place place);
  void post(Time at, Place place, std::uint32_t kind);
  [[nodiscard]] double ns_per_byte(Side side) const;

  Agenda& agenda_;
  std::uint32_t actor_;
  BusConfig config_;
  BusUser& user_;
  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace weft::analytical
