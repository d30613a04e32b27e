// SPDX-License-Identifier: Apache-2.0
// Remote memory through its base-protocol sockets: memories of accelerators, nodes, and a pool.
#include "hw/memory/remote/remote_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/benches/byte_enables.h"
#include "tests/support/benches/remote_bench.h"
#include "tests/support/kernel.h"

namespace weft::memory {
namespace {

using namespace test_remote;
using test::pattern_bytes;

struct Sharing {
  RemoteKind kind;
  int sharers;  ///< of the 8 accelerators in 2 nodes
};

class Shared : public testing::TestWithParam<Sharing> {};

TEST_P(Shared, SharesItsRateEquallyAmongThoseWhoseItIs) {
  RemoteMemory::Config config = flat(GetParam().kind);
  config.latency = 10_ns;  // which 20 chunks of 1 ns hide
  Bench bench(config, 8, 4);
  std::vector<Time> ended(8);
  constexpr std::int64_t kBytes = 100'000;
  bench.run([&] {
    for (int e = 0; e < 8; ++e) bench.stream(e, kRead, 0, kBytes, 20, ended[static_cast<std::size_t>(e)]);
  });
  const std::int64_t sharers = GetParam().sharers;
  for (const Time time : ended) {
    // They end within a window of each other.
    EXPECT_LE(time, Time(sharers * kBytes) + 10_ns);
    EXPECT_GE(time, Time(sharers * (kBytes - 20'000)) + 10_ns);
  }
  std::int64_t bytes = 0;
  for (std::size_t m = 0; m < bench.memory->memories(); ++m) {
    bytes += bench.memory->memory(m).bytes;
    EXPECT_EQ(bench.memory->memory(m).busy, Time(sharers * kBytes));
  }
  EXPECT_EQ(bytes, 8 * kBytes);
  EXPECT_EQ(bench.memory->memories(), 8 / static_cast<std::size_t>(sharers));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Shared,
                         testing::Values(Sharing{RemoteKind::kPerAccelerator, 1}, Sharing{RemoteKind::kPerNode, 4},
                                         Sharing{RemoteKind::kPool, 8}));

TEST(RemoteMemory, OfANodeMayBeSharedByOthersThanTheNodes) {
  // Nodes of one; pairs share. A byte takes a picosecond.
  RemoteMemory::Config config = flat(RemoteKind::kPerNode);
  config.sharers = 2;
  Bench bench(config, 4, 1);
  std::vector<Time> times;
  bench.run([&] {
    for (const auto& end : bench.ends) {
      end->ask(kRead, 0, nullptr, 1000,
               [&](Time now, tlm::tlm_response_status /*status*/) { times.push_back(now - 1_us); });
    }
  });
  std::sort(times.begin(), times.end());
  EXPECT_EQ(times, (std::vector<Time>{1000_ps + 1_us, 1000_ps + 1_us, 2000_ps + 1_us, 2000_ps + 1_us}));
}

TEST(RemoteMemory, TakesItsLatencyAndItsRate) {
  Bench bench(flat(RemoteKind::kPerAccelerator), 2, 1);
  std::vector<Time> times;
  const auto note = [&](Time now, tlm::tlm_response_status /*status*/) { times.push_back(now - 1_us); };
  bench.run([&] {
    bench.ends[0]->ask(kRead, 500, nullptr, 5000, note);
    bench.ends[0]->ask(kWrite, 0, nullptr, 100, note);
    bench.ends[1]->ask(kWrite, 0, nullptr, 100, note);
    bench.ends[1]->ask(kRead, 0, nullptr, 0, note);  // nothing takes no time
  });
  EXPECT_EQ(times, (std::vector<Time>{Time(), 100_ps + 1_us, 5000_ps + 1_us, 5100_ps + 1_us}));
  EXPECT_EQ(bench.memory->totals().loads, 2);
  EXPECT_EQ(bench.memory->totals().stores, 2);
  EXPECT_EQ(bench.memory->totals().loaded_bytes, 5000);
  EXPECT_EQ(bench.memory->totals().highest, 5500u);
}

TEST(RemoteMemory, BlockingTransportBooksTheSameStagesAhead) {
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  RemoteMemory memory("remote", pool(4, 2, 1000_GBps, 500_GBps, 250_GBps), 2, 1, dispatcher, true, {});
  test::Initiator first("first");
  test::Initiator second("second");
  first.socket.bind(memory.socket(0));
  second.socket.bind(memory.socket(1));
  const auto bytes = pattern_bytes(1000, 3);
  std::vector<std::byte> back(1000);
  script.at(1_us, [&] {
    EXPECT_EQ(first.write(2000, bytes.data(), 1000), 7_ns);   // 1 + 2 + 4 ns for 1000 bytes
    EXPECT_EQ(second.read(2000, back.data(), 1000), 14_ns);   // behind it at the memory
    EXPECT_EQ(first.read(0, nullptr, 4000, 100_ns), 119_ns);  // four groups at once, then one after the other: 3 + 16
    InSwitch group;
    first.payload.set_extension(&group);
    first.read(0, nullptr, 10);
    EXPECT_EQ(first.status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
    first.payload.clear_extension(&group);
    EXPECT_EQ(first.debug(kRead, 2500, back.data(), 100), 100u);
  });
  sc_core::sc_start();
  EXPECT_TRUE(std::equal(back.begin() + 100, back.end(), bytes.begin() + 100));
  EXPECT_TRUE(std::equal(back.begin(), back.begin() + 100, bytes.begin() + 500));
}

TEST(RemoteMemory, LeavesBytesAloneThatAreNotEnabled) {
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  RemoteMemory memory("remote", flat(RemoteKind::kPool), 1, 1, dispatcher, true, {});
  test::Initiator master("master");
  master.socket.bind(memory.socket(0));
  script.at(1_us, [&] { test::expect_byte_enables(master, 5); });
  sc_core::sc_start();
}

TEST(RemoteMemory, LeavesThemAloneWithPhasesToo) {
  Bench bench(flat(RemoteKind::kPool), 1, 1, true);
  auto bytes = pattern_bytes(64, 1);
  std::vector<tlm::tlm_response_status> statuses;
  const auto note = [&](Time /*now*/, tlm::tlm_response_status status) { statuses.push_back(status); };
  bench.run([&] {
    bench.ends[0]->enables = {TLM_BYTE_DISABLED, TLM_BYTE_ENABLED};
    bench.ends[0]->ask(kWrite, 0, bytes.data(), 64, note);
    InSwitch group;
    bench.ends[0]->ask(kWrite, 0, bytes.data(), 64, note, &group);
  });
  // Collectives of flat memories are refused for their group.
  EXPECT_EQ(statuses, (std::vector{tlm::TLM_GENERIC_ERROR_RESPONSE, tlm::TLM_OK_RESPONSE}));
  std::vector<std::byte> held(64);
  bench.memory->store(0).read(0, held.data(), 64);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(held[i], i % 2 == 1 ? bytes[i] : std::byte{0}) << i;
}

TEST(RemoteMemory, RefusesWhatLiesBeyondItsCapacity) {
  Bench bench(flat(RemoteKind::kPool), 1, 1, true);
  std::vector<tlm::tlm_response_status> statuses;
  std::byte data[64] = {};
  const auto note = [&](Time /*now*/, tlm::tlm_response_status status) { statuses.push_back(status); };
  bench.run([&] {
    for (const std::uint64_t address : {1'000'000'000ULL - 63, 1'000'000'000ULL, 1ULL << 63}) {
      bench.ends[0]->ask(kRead, address, data, 64, note);
    }
    bench.ends[0]->ask(tlm::TLM_IGNORE_COMMAND, 0, data, 64, note);
    bench.ends[0]->ask(kRead, 1'000'000'000 - 64, data, 64, note);
  });
  EXPECT_EQ(statuses,
            (std::vector{tlm::TLM_ADDRESS_ERROR_RESPONSE, tlm::TLM_ADDRESS_ERROR_RESPONSE,
                         tlm::TLM_ADDRESS_ERROR_RESPONSE, tlm::TLM_COMMAND_ERROR_RESPONSE, tlm::TLM_OK_RESPONSE}));
}

TEST(RemoteMemory, RefusesConfigurationsThatCannotBe) {
  const auto path_of = [](RemoteMemory::Config config) -> std::string {
    test::fresh_kernel();
    Dispatcher dispatcher("dispatcher");
    try {
      const RemoteMemory memory("remote", config, 4, 2, dispatcher, false, {});
    } catch (const ConfigError& error) {
      return error.path();
    }
    return "";
  };
  RemoteMemory::Config config = flat(RemoteKind::kPool);
  config.hierarchy.in_switch = true;
  EXPECT_EQ(path_of(config), "remote_memory.hierarchical.in_switch");
  config = pool(3, 4, 100_GBps, 100_GBps, 100_GBps);
  EXPECT_EQ(path_of(config), "remote_memory.hierarchical.groups");
}

TEST(RemoteMemory, AnswersOneAtATime) {
  Bench bench(flat(RemoteKind::kPool), 2, 1);
  bench.ends[0]->hesitates = 50_us;
  std::vector<Time> times;
  bench.run([&] {
    for (int i = 0; i < 3; ++i) {
      bench.ends[0]->ask(kRead, 0, nullptr, 1000,
                         [&](Time now, tlm::tlm_response_status /*status*/) { times.push_back(now - 1_us); });
    }
  });
  EXPECT_EQ(times, (std::vector<Time>{1001_ns + 50_us, 1001_ns + 100_us, 1001_ns + 150_us}));
}

}  // namespace
}  // namespace weft::memory
