// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "sw/firmware/task.h"
#include "sw/firmware/verbs.h"

namespace weft::firmware {

/// A queue pair whose peer may send something empty at any time, unasked: there is a stock of receives for that, which
/// its owner posts again as they are used. Made when two ends first have something to say to each other.
class StockedPair {
 public:
  /// Receives complete with `id`.
  StockedPair(const Interface& towards, CompletionQueue& completions, std::uint64_t id)
      : pair_(towards, completions), processor_(*towards.processor), id_(id) {}
  StockedPair(const StockedPair&) = delete;
  StockedPair& operator=(const StockedPair&) = delete;

  /// Joins two ends, which may be one. Each posts its stock on a thread of its own, on core `core`.
  static void join(StockedPair& a, StockedPair& b, int core) {
    QueuePair::connect(a.pair_, b.pair_);
    a.processor_.spawn("a connection", core, a.fill());
    if (&a != &b) b.processor_.spawn("a connection", core, b.fill());
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

  Task fill() {
    pair_.receive(0, 0, kStock, id_);
    co_return;
  }

  QueuePair pair_;
  Processor& processor_;
  std::uint64_t id_;
  std::uint32_t used_ = 0;
};

}  // namespace weft::firmware
