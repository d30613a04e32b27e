// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "hw/core/quantity.h"
#include "sw/firmware/processor.h"
#include "sw/firmware/receive_cost.h"

namespace weft::platforms {

/// A processor whose firmware receives: a source writes completions to the queues of its threads, and each thread takes
/// them, does the work of a ReceiveCost and posts the receive again. There is no network and no payload, as in
/// packet-rate tests with small packets. One SystemC elaboration, any number of measurements one after the other.
class DpaBench {
 public:
  explicit DpaBench(const firmware::Processor::Config& config);
  ~DpaBench();

  /// Packets per second that `threads` threads receive when there is always one more for each, counted over the time
  /// in which one thread without siblings receives 3,000.
  double saturated_rate(const firmware::ReceiveCost& cost, int threads);

  /// Whether `threads` threads, given every packet of a line in turn, never leave one without a posted receive: 16 are
  /// posted to each, and 4,000 come for each.
  bool sustains(const firmware::ReceiveCost& cost, int threads, Rate line, Bytes packet);

  /// The least number of threads for which sustains() holds; 0 if there is none.
  int threads_for(const firmware::ReceiveCost& cost, Rate line, Bytes packet);

 private:
  class Source;
  struct Cycles {
    double alone;   ///< of a thread without siblings
    double shared;  ///< of these, with the pipeline or the port
  };
  [[nodiscard]] Cycles per_packet(const firmware::ReceiveCost& cost) const;
  void drain();
  void begin(const firmware::ReceiveCost& cost, int threads);
  void end();

  firmware::Processor::Config config_;
  Dispatcher dispatcher_;
  firmware::Processor processor_;
  std::unique_ptr<Source> source_;
  std::vector<firmware::CompletionQueue*> queues_;
};

}  // namespace weft::platforms
