// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "hw/core/random.h"
#include "hw/memory/dram/memory_system.h"
#include "tests/support/benches/dram_checker.h"

namespace weft::test {

using dram::Clock;

/// Offers requests with data to a memory and follows what becomes of them.
class DramBench {
 public:
  explicit DramBench(const dram::MemoryConfig& config) : checker(config.device), memory(config, &checker) {}

  /// Steps until the request is taken. Its time is no earlier than `at`.
  void request(bool write, std::uint64_t address, Clock at, bool partial = false) {
    now_ = std::max(now_, at);
    const std::uint64_t tag = ++tags_;
    for (;;) {
      while (memory.next() < now_) step();
      switch (memory.push({memory.locate(address), write, Time(), tag, partial}, now_)) {
        case dram::Accept::kQueued:
          pending_[tag] = {write, address, write ? 0 : newest_[address]};
          if (write) newest_[address] = tag;
          return;
        case dram::Accept::kForwarded:
          EXPECT_FALSE(write);
          EXPECT_NE(newest_[address], stored_[address]) << "nothing was waiting to be written";
          ++served;
          return;
        case dram::Accept::kFull:
        case dram::Accept::kBehindRead:
          now_ = std::max(now_, memory.next());
          step();
      }
    }
  }
  void finish() {
    while (memory.waiting() > 0) step();
    EXPECT_TRUE(pending_.empty());
    EXPECT_EQ(stored_, newest_);
    EXPECT_EQ(served, tags_);
    const Clock end = memory.next() - 1;
    if (memory.config().controller.refresh != dram::RefreshPolicy::kOff) {
      checker.check_refresh(std::min(end, last_), memory.config().controller.refresh == dram::RefreshPolicy::kPerBank,
                            1 + memory.config().controller.refresh_postpone);
    }
    EXPECT_TRUE(checker.violations().empty()) << checker.text();
  }

  DramChecker checker;
  dram::MemorySystem memory;
  std::uint64_t served = 0;

 private:
  struct Pending {
    bool write;
    std::uint64_t address;
    std::uint64_t expected;  ///< by a read: the write that it must see
  };
  void step() {
    last_ = memory.next();
    ASSERT_LT(last_, dram::kNeverClock) << "requests wait and nothing happens";
    const dram::PseudoChannel::Served done = memory.step();
    if (!done.any || done.internal) return;
    const auto found = pending_.find(done.tag);
    ASSERT_NE(found, pending_.end()) << "served twice or never asked for";
    const Pending& request = found->second;
    EXPECT_EQ(done.write, request.write);
    if (request.write) {
      EXPECT_GT(done.tag, stored_[request.address]) << "writes out of order";
      stored_[request.address] = done.tag;
    } else if (memory.config().controller.ecc.mode == dram::EccMode::kInline) {
      // A later write may go while the read waits for its check bits.
      EXPECT_GE(stored_[request.address], request.expected);
    } else {
      EXPECT_EQ(stored_[request.address], request.expected);
    }
    ++served;
    pending_.erase(found);
  }

  Clock now_ = 0;
  Clock last_ = 0;
  std::uint64_t tags_ = 0;
  std::map<std::uint64_t, Pending> pending_;
  std::map<std::uint64_t, std::uint64_t> newest_;  ///< write by address, as the source has sent them
  std::map<std::uint64_t, std::uint64_t> stored_;  ///< as the banks have them
};

/// Streams, few and many rows, hot addresses, reads and writes, bursts and pauses. `partial`: the share of writes that
/// change a part of a burst.
inline void stress(DramBench& bench, std::uint64_t seed, int requests, double partial = 0) {
  Random random(seed, "stress");
  const auto burst = static_cast<std::uint64_t>(bench.memory.config().device.geometry.burst.count());
  const std::uint64_t capacity = bench.memory.map().capacity();
  std::uint64_t stream = 0;
  Clock at = 0;
  for (int i = 0; i < requests; ++i) {
    const int phase = i / 200 % 5;
    const std::uint64_t draw = random.next();
    std::uint64_t address = draw % capacity;
    if (phase == 1) address = stream += burst;
    if (phase == 2) address = draw % 64 * (capacity / 64) + draw / 64 % 4 * burst;  // rows of the same banks
    if (phase == 3) address = draw % 32 * burst;                                    // addresses that meet again
    if (phase == 4 && draw % 8 == 0) at += static_cast<Clock>(random.next() % 400);
    const double writes = i / 1000 % 2 == 0 ? 0.33 : 0.8;
    const bool write = random.share() < writes;
    bench.request(write, address % capacity / burst * burst, at, write && partial > 0 && random.share() < partial);
    if (draw % 1000 == 0) at += 20'000;
  }
  bench.finish();
}

}  // namespace weft::test
