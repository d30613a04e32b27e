// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sw/firmware/verbs.h"

namespace weft::firmware {

/// A queue pair whose peer may send something empty at any time, unasked: there is a stock of receives for that, which
/// its owner posts again as they are used. Made when two ends first have something to say to each other.
class StockedPair {
 public:
  /// Receives complete with `id`.
  StockedPair(const Interface& towards, CompletionQueue& completions, std::uint64_t id)
      : pair_(towards, completions), id_(id) {}
  StockedPair(const StockedPair&) = delete;
  StockedPair& operator=(const StockedPair&) = delete;

  /// Joins two ends, which may be one, each with its stock.
  static void join(StockedPair& a, StockedPair& b) {
    QueuePair::connect(a.pair_, b.pair_);
    a.pair_.provide(kStock, a.id_);
    if (&a != &b) b.pair_.provide(kStock, b.id_);
  }

  QueuePair& pair() { return pair_; }
  /// Receives beyond the stock, for what has been asked for.
  void expect(int messages) { pair_.receive(0, 0, static_cast<std::uint32_t>(messages), id_); }
  /// One of the stock has been used.
  void used() {
    if (++used_ < kRestock) return;
    used_ = 0;
    pair_.receive(0, 0, kRestock, id_);
  }

 private:
  static constexpr std::uint32_t kStock = 64;
  static constexpr std::uint32_t kRestock = 16;  ///< with one doorbell

  QueuePair pair_;
  std::uint64_t id_;
  std::uint32_t used_ = 0;
};

}  // namespace weft::firmware
