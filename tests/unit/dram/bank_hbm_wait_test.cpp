// SPDX-License-Identifier: Apache-2.0
// What masters of a memory to the bank wait for each other.
#include <gtest/gtest.h>

#include "hw/memory/bank_hbm.h"
#include "tests/support/benches/bank_bench.h"

namespace weft::memory {
namespace {

using namespace weft::literals;
using test::BankBench;
using test::banks_of;
using test::BankStream;

Time waited_by_request(const BankBench& bench, std::size_t master) {
  const Memory::Traffic traffic = bench.hbm->traffic(master);
  return traffic.waited / (traffic.reads + traffic.writes);
}

TEST(BankHbmWait, AMasterAloneWaitsForNobody) {
  for (const Rate rate : {4_GBps, Rate(0)}) {
    for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
      test::fresh_kernel();
      BankHbm::Config config = banks_of("hbm2");
      config.interconnect_rate = rate;
      BankBench bench(config, 2, false);
      BankStream stream(bench, 0, command, 0, 4096, 200);
      bench.run([&] { stream.start(16); });
      // It has a backlog, on the link or at the controllers.
      EXPECT_GT(bench.hbm->counters(0).crossing + bench.hbm->counters(0).waited, 100_us);
      EXPECT_EQ(bench.hbm->traffic(0).waited, Time());
      EXPECT_EQ(bench.hbm->traffic(1).waited, Time());
    }
  }
}

TEST(BankHbmWait, EqualMastersWaitEquallyAndForHalfOfTheirTime) {
  for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
    test::fresh_kernel();
    BankBench bench(banks_of("hbm2"), 2, false);
    BankStream first(bench, 0, command, 0, 4096, 400);
    BankStream second(bench, 1, command, 1 << 24, 4096, 400);
    bench.run([&] {
      first.start(16);
      second.start(16);
    });
    const BankHbm::Counters& counters = bench.hbm->counters(0);
    const auto whole = static_cast<double>((counters.read_latency + counters.write_latency - counters.held).count() /
                                           (counters.reads + counters.writes));
    for (const std::size_t master : {0U, 1U}) {
      EXPECT_NEAR(static_cast<double>(waited_by_request(bench, master).count()) / whole, 0.5, 0.1) << master;
    }
  }
}

/// A read of a burst every 2 us, alone and beside a stream that keeps the queues full.
TEST(BankHbmWait, ALightMasterWaitsForAHeavyOneAndNotTheOtherWayRound) {
  const BankHbm::Config config = banks_of("hbm2");
  std::vector<Time> latency;
  for (const bool beside : {false, true}) {
    test::fresh_kernel();
    BankBench bench(config, 2, false);
    BankStream heavy(bench, 0, tlm::TLM_READ_COMMAND, 0, 4096, 1500);
    for (int i = 0; i < 50; ++i) {
      bench.script.at(2_us * (i + 2), [&bench, i] {
        bench.master[1]->send(tlm::TLM_READ_COMMAND, (1U << 25) + 0x10000U * static_cast<unsigned>(i), nullptr, 32);
      });
    }
    bench.run([&] {
      if (beside) heavy.start(16);
    });
    latency.push_back(bench.hbm->counters(1).mean_read_latency());
    if (!beside) {
      EXPECT_EQ(bench.hbm->traffic(1).waited, Time());
      continue;
    }
    const auto longer = static_cast<double>((latency[1] - latency[0]).count());
    EXPECT_GT(longer, 100'000);
    EXPECT_NEAR(static_cast<double>(waited_by_request(bench, 1).count()) / longer, 1, 0.1);
    EXPECT_LT(waited_by_request(bench, 0), waited_by_request(bench, 1) / 20);
    EXPECT_GT(bench.hbm->traffic(0).waited, Time());
  }
}

TEST(BankHbmWait, OnTheLinkItIsWhatOthersHaveThereBefore) {
  BankHbm::Config config = banks_of("hbm2");
  config.interconnect_rate = 4_GBps;  // an eighth of what the banks take
  BankBench bench(config, 3, false);
  bench.run([&] {
    bench.master[0]->send(tlm::TLM_READ_COMMAND, 0, nullptr, 4096);
    bench.master[0]->send(tlm::TLM_READ_COMMAND, 4096, nullptr, 4096);
    bench.master[1]->send(tlm::TLM_READ_COMMAND, 8192, nullptr, 4096);
    // When half of the first has crossed: the other half and what came second, then also the third master's own.
    bench.script.at(1_us + 512_ns, [&] {
      bench.master[2]->send(tlm::TLM_READ_COMMAND, 16384, nullptr, 4096);
      bench.master[2]->send(tlm::TLM_READ_COMMAND, 20480, nullptr, 4096);
      bench.master[0]->send(tlm::TLM_READ_COMMAND, 24576, nullptr, 4096);
    });
  });
  // Each crosses in 1,024 ns.
  EXPECT_EQ(bench.hbm->traffic(0).waited, 3 * 1024_ns);
  EXPECT_EQ(bench.hbm->traffic(1).waited, 2 * 1024_ns);
  EXPECT_EQ(bench.hbm->traffic(2).waited, 2 * (512_ns + 2 * 1024_ns));
}

}  // namespace
}  // namespace weft::memory
