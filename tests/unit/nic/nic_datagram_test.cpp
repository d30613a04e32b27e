// SPDX-License-Identifier: Apache-2.0
// Unreliable datagrams and multicast placement, memory keys, and what an interface sends to itself.
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <tuple>

#include "hw/nic/memory_regions.h"
#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace test_bench;

constexpr std::uint64_t kSource = 0x1000;
constexpr std::uint64_t kTarget = 0x8000;

BenchConfig bench_of(int ends) {
  BenchConfig config;
  config.ends = ends;
  return config;
}

/// A bench with a datagram queue pair at each end, attached to a group of all.
struct Datagrams {
  explicit Datagrams(const BenchConfig& config) : bench(config) {
    std::vector<std::uint32_t> ends;
    for (const auto& nic : bench.nics) ends.push_back(nic->end());
    group = *bench.network.create_group(ends, {});
    for (const auto& nic : bench.nics) {
      pairs.push_back(nic->create_datagram_queue_pair(100));
      nic->attach(pairs.back(), group);
    }
  }
  WorkRequest to_group(std::size_t end, std::uint64_t bytes, std::uint32_t value) {
    WorkRequest request = immediate(send(pairs[end], kSource, bytes, value), value);
    request.peer = Packet::kFirstGroup + group;
    return request;
  }
  WorkRequest to_end(std::size_t end, std::size_t peer, std::uint64_t bytes) {
    WorkRequest request = send(pairs[end], kSource, bytes, 5);
    request.peer = bench.nics[peer]->end();
    request.peer_queue_pair = pairs[peer];
    return request;
  }
  WorkRequest slots(std::size_t end, std::uint32_t count, std::uint64_t bytes = 4096 + 64) {
    WorkRequest request = receive(pairs[end], kTarget, bytes, 7, count);
    request.stride = bytes;
    return request;
  }
  void run() {
    sc_core::sc_start();
    EXPECT_EQ(bench.packets.outstanding(), 0);
    EXPECT_EQ(bench.packets.payloads_outstanding(), 0);
    EXPECT_EQ(bench.network.left_over(), std::vector<std::string>());
    for (const auto& nic : bench.nics) EXPECT_EQ(nic->left_over(), std::vector<std::string>());
  }

  Bench bench;
  std::uint32_t group;
  std::vector<std::uint32_t> pairs;
};

TEST(Datagram, LandsBehindItsHeaderAndNamesItsSource) {
  Datagrams net(bench_of(3));
  const auto data = pattern_bytes(1000, 1);
  net.bench.store(2, kSource, data);
  net.bench.ring(1, net.slots(1, 1));
  net.bench.ring_at(1_us, 2, net.to_end(2, 1, 1000));
  net.run();
  EXPECT_EQ(net.bench.load(1, kTarget + kGlobalRouteHeader, 1000), data);
  const auto got = net.bench.completions(1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].entry.source, net.bench.nics[2]->end());
  EXPECT_EQ(got[0].entry.bytes, 1000 + kGlobalRouteHeader);
  EXPECT_EQ(got[0].entry.id, 7u);
  EXPECT_FALSE(got[0].entry.has_immediate);
  ASSERT_EQ(net.bench.completions(2).size(), 1u) << "of the send";
  EXPECT_EQ(net.bench.nics[0]->counters().packets_received, 0);
}

TEST(Datagram, ForAGroupTakesAReceiveOfEachMember) {
  Datagrams net(bench_of(4));
  const auto data = pattern_bytes(4096, 1);
  net.bench.store(0, kSource, data);
  for (const std::size_t end : {1U, 2U, 3U}) net.bench.ring(end, net.slots(end, 3));
  for (std::uint32_t i = 0; i < 3; ++i) net.bench.ring_at(1_us, 0, net.to_group(0, 4096, i));
  net.run();
  for (const std::size_t end : {1U, 2U, 3U}) {
    const auto got = net.bench.completions(end);
    ASSERT_EQ(got.size(), 3u);
    for (std::uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(got[i].entry.immediate, i);
      EXPECT_EQ(net.bench.load(end, kTarget + i * (4096 + 64) + kGlobalRouteHeader, 4096), data) << "slot " << i;
    }
  }
  EXPECT_EQ(net.bench.nics[0]->counters().bytes_sent, 3 * 4096);
  EXPECT_EQ(net.bench.nics[0]->counters().packets_received, 0) << "none comes back to its sender";
}

TEST(Datagram, ReachesEveryQueuePairThatIsAttached) {
  Datagrams net(bench_of(2));
  const std::uint32_t second = net.bench.nics[1]->create_datagram_queue_pair(300);
  net.bench.nics[1]->attach(second, net.group);
  net.bench.ring(1, net.slots(1, 1));
  WorkRequest other = net.slots(1, 1);
  other.queue_pair = second;
  other.local_address = 2 * kTarget;
  net.bench.ring(1, other);
  net.bench.store(0, kSource, pattern_bytes(64, 1));
  net.bench.ring_at(1_us, 0, net.to_group(0, 64, 1));
  net.run();
  EXPECT_EQ(net.bench.completions(1).size(), 2u);
  EXPECT_EQ(net.bench.load(1, 2 * kTarget + kGlobalRouteHeader, 64), pattern_bytes(64, 1));
}

TEST(Datagram, IsDroppedWhereNoReceiveWaits) {
  Datagrams net(bench_of(3));
  net.bench.ring(1, net.slots(1, 2));
  for (std::uint32_t i = 0; i < 3; ++i) net.bench.ring_at(1_us, 0, net.to_group(0, 100, i));
  net.bench.ring_at(20_us, 2, net.slots(2, 1));
  net.bench.ring_at(30_us, 0, net.to_group(0, 100, 9));
  net.run();
  EXPECT_EQ(net.bench.completions(1).size(), 2u);
  EXPECT_EQ(net.bench.nics[1]->counters().no_receive, 2);
  ASSERT_EQ(net.bench.completions(2).size(), 1u);
  EXPECT_EQ(net.bench.completions(2)[0].entry.immediate, 9u);
  EXPECT_EQ(net.bench.nics[2]->counters().no_receive, 3);
}

TEST(Datagram, IsRefusedAboveTheMtuAndByAReceiveThatIsTooShort) {
  Datagrams net(bench_of(2));
  const WorkRequest longer = net.to_group(0, 4097, 0);
  net.bench.doorbells[0]->write(kDoorbell, &longer, sizeof longer, Time());
  EXPECT_NE(net.bench.doorbells[0]->status(), tlm::TLM_OK_RESPONSE);
  net.bench.ring(1, net.slots(1, 1, 100 + kGlobalRouteHeader - 1));
  net.bench.ring_at(1_us, 0, net.to_group(0, 100, 0));
  net.run();
  ASSERT_EQ(net.bench.completions(1).size(), 1u);
  EXPECT_EQ(net.bench.completions(1)[0].entry.status, Status::kLengthError);
}

TEST(Datagram, ForAGroupThatNobodyHasAttachedIsDropped) {
  Datagrams net(bench_of(2));
  const std::uint32_t other = *net.bench.network.create_group({0, 1}, {});
  WorkRequest request = net.to_group(0, 100, 0);
  request.peer = Packet::kFirstGroup + other;
  net.bench.ring_at(1_us, 0, request);
  net.run();
  EXPECT_EQ(net.bench.nics[1]->counters().dropped, 1);
}

TEST(Datagram, ForAGroupThatDoesNotExistIsDroppedByTheSwitch) {
  for (const bool existed : {false, true}) {
    test::fresh_kernel();
    Datagrams net(bench_of(3));
    WorkRequest request = net.to_group(0, 100, 0);
    request.peer = Packet::kFirstGroup + net.group + 1;
    if (existed) {
      const std::uint32_t former = *net.bench.network.create_group({0, 1, 2}, {});
      EXPECT_EQ(former, net.group + 1);
      net.bench.nics[1]->attach(net.pairs[1], former);
      net.bench.network.destroy_group(former);
    }
    for (const std::size_t end : {1U, 2U}) net.bench.ring(end, net.slots(end, 2));
    net.bench.ring_at(1_us, 0, request);
    net.bench.ring_at(2_us, 0, net.to_group(0, 100, 8));
    net.run();
    ASSERT_EQ(net.bench.completions(0).size(), 2u) << "its sender knows nothing of it";
    for (const auto& entry : net.bench.completions(0)) EXPECT_EQ(entry.entry.status, Status::kSuccess);
    for (const std::size_t end : {1U, 2U}) {
      EXPECT_EQ(net.bench.nics[end]->counters().packets_received, 1) << end;
      ASSERT_EQ(net.bench.completions(end).size(), 1u) << end;
      EXPECT_EQ(net.bench.completions(end)[0].entry.immediate, 8u) << "the way is free for others";
    }
    EXPECT_EQ(net.bench.network.switch_at(0).port_counters(0).dropped, 1);
  }
}

// --- Multicast that places its payload ---

/// A multicast of `bytes` to `key`'s memory at the others.
struct Placement {
  explicit Placement(const BenchConfig& config) : bench(config) {
    std::vector<std::uint32_t> ends;
    for (const auto& nic : bench.nics) ends.push_back(nic->end());
    group = *bench.network.create_group(ends, {});
    for (const auto& nic : bench.nics) pairs.push_back(nic->create_group_queue_pair(100, group, 0));
  }
  WorkRequest message(std::uint64_t offset, std::uint64_t bytes, std::uint32_t value, std::uint32_t key = 0) {
    WorkRequest request =
        immediate(test_bench::request(Verb::kMulticast, pairs[0], kSource + offset, kTarget + offset, bytes), value);
    request.remote_key = key;
    return request;
  }
  void run() {
    sc_core::sc_start();
    EXPECT_EQ(bench.packets.outstanding(), 0);
    for (const auto& nic : bench.nics) EXPECT_EQ(nic->left_over(), std::vector<std::string>());
  }
  Bench bench;
  std::uint32_t group;
  std::vector<std::uint32_t> pairs;
};

TEST(Placement, LosesTheMessageOfALostPacketAndNoOther) {
  BenchConfig config = bench_of(2);
  config.network.mtu = 1_KiB;
  config.network.segment = 1_KiB;
  config.wire.emplace();
  int seen = 0;
  config.wire->lose = [&seen](const Packet& packet) {
    return packet.opcode == Opcode::kWrite && packet.destination >= Packet::kFirstGroup && ++seen == 2;
  };
  Placement net(config);
  const auto data = pattern_bytes(8192, 1);
  net.bench.store(0, kSource, data);
  net.bench.ring(1, receive(net.pairs[1], 0, 0, 0, 4));
  // Of two packets each; the first loses its second.
  for (std::uint32_t i = 0; i < 4; ++i) net.bench.ring_at(1_us, 0, net.message(i * 2048, 2048, i));
  net.run();
  const auto got = net.bench.completions(1);
  ASSERT_EQ(got.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(got[i].entry.immediate, i + 1);
  EXPECT_EQ(net.bench.load(1, kTarget + 2048, 6144), std::vector<std::byte>(data.begin() + 2048, data.end()));
}

TEST(Placement, IsOnlyForMembersOfTheGroup) {
  Bench bench(bench_of(4));
  const std::uint32_t group = *bench.network.create_group({0, 1, 2}, {});
  const std::uint32_t sender = bench.nics[0]->create_group_queue_pair(100, group, 0);
  const std::uint32_t member = bench.nics[1]->create_group_queue_pair(100, group, 0);
  const std::uint32_t elsewhere = bench.nics[0]->create_group_queue_pair(100, group + 1, 0);
  const auto data = pattern_bytes(4096, 1);
  bench.store(0, kSource, data);
  bench.ring(1, receive(member, 0, 0, 0, 2));
  bench.ring_at(1_us, 0, request(Verb::kMulticast, elsewhere, kSource, kTarget, 4096));
  bench.ring_at(2_us, 0, immediate(request(Verb::kMulticast, sender, kSource, kTarget, 4096), 1));
  sc_core::sc_start();
  EXPECT_EQ(bench.packets.outstanding(), 0);
  EXPECT_EQ(bench.network.switch_at(0).port_counters(0).dropped, 1) << "of no group";
  EXPECT_EQ(bench.completions(1).size(), 1u);
  EXPECT_EQ(bench.load(1, kTarget, 4096), data);
  EXPECT_EQ(bench.nics[2]->counters().dropped, 1) << "the switch reaches it, and it has no queue pair for it";
  EXPECT_EQ(bench.load(2, kTarget, 4096), std::vector<std::byte>(4096));
  EXPECT_EQ(bench.nics[3]->counters().packets_received, 0);
}

/// Sequence numbers of groups go round as others do.
TEST(Placement, GoesOnWhereSequenceNumbersEnd) {
  BenchConfig config = bench_of(2);
  config.network.mtu = config.network.segment = 1_KiB;
  Placement net(config);
  net.bench.nics[0]->start_at(net.pairs[0], kPsnMask - 2, 0);
  const auto data = pattern_bytes(6000, 1);
  net.bench.store(0, kSource, data);
  net.bench.ring(1, receive(net.pairs[1], 0, 0, 0, 1));
  net.bench.ring_at(1_us, 0, net.message(0, 6000, 7));
  net.run();
  ASSERT_EQ(net.bench.completions(1).size(), 1u);
  EXPECT_EQ(net.bench.load(1, kTarget, 6000), data);
}

TEST(Reduction, GoesOnWhereSequenceNumbersEnd) {
  BenchConfig config = bench_of(2);
  config.network.mtu = config.network.segment = 1_KiB;
  config.network.switch_config.reduction.trees = 1;
  Bench bench(config);
  const std::uint32_t group = *bench.network.create_group({0, 1}, {.reduces = true, .window = 4});
  std::vector<float> sums;
  for (std::size_t end = 0; end < 2; ++end) {
    const std::uint32_t pair = bench.nics[end]->create_group_queue_pair(100, group, 4);
    bench.nics[end]->start_at(pair, kPsnMask - 2, kPsnMask - 2);
    std::vector<float> values(2000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + end);
    sums.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
    bench.memories[end]->store().write(kSource, reinterpret_cast<const std::byte*>(values.data()), 8000);
    bench.ring_at(1_us, end, request(Verb::kReduce, pair, kSource, kTarget, 8000));
  }
  sc_core::sc_start();
  for (std::size_t end = 0; end < 2; ++end) {
    EXPECT_EQ(bench.nics[end]->left_over(), std::vector<std::string>());
    std::vector<float> got(sums.size());
    bench.memories[end]->store().read(kTarget, reinterpret_cast<std::byte*>(got.data()), 8000);
    EXPECT_EQ(got, sums) << end;
  }
}

TEST(Placement, NeedsAKeyThatIsStillValid) {
  Placement net(bench_of(3));
  std::uint32_t key = 0;
  for (const auto& nic : net.bench.nics) key = nic->regions().add(kTarget, 8192);
  EXPECT_EQ(key, 1u) << "the same everywhere";
  const auto data = pattern_bytes(4096, 1);
  net.bench.store(0, kSource, data);
  for (const std::size_t end : {1U, 2U}) net.bench.ring(end, receive(net.pairs[end], 0, 0, 0, 9));
  net.bench.ring_at(1_us, 0, net.message(0, 4096, 0, key));
  net.bench.ring_at(10_us, 0, net.message(8192 - 4095, 4096, 1, key));  // a byte too far
  net.bench.ring_at(20_us, 0, net.message(0, 4096, 2, key + 1));        // of nobody
  net.bench.script.at(29_us, [&] { net.bench.nics[2]->regions().remove(key, 30_us); });
  net.bench.ring_at(40_us, 0, net.message(4096, 4096, 3, key));
  net.run();
  EXPECT_EQ(net.bench.completions(1).size(), 2u);
  EXPECT_EQ(net.bench.completions(2).size(), 1u);
  EXPECT_EQ(net.bench.nics[1]->counters().access_errors, 2);
  EXPECT_EQ(net.bench.nics[2]->counters().access_errors, 3);
  EXPECT_EQ(net.bench.load(1, kTarget, 4096), data);
  EXPECT_EQ(net.bench.load(2, kTarget + 4096, 4096), std::vector<std::byte>(4096)) << "after the key was withdrawn";
}

// --- Over PCI Express ---

class OverPciExpress : public testing::TestWithParam<int> {};

BenchConfig pcie_bench(int ends, int generation, int lanes = 16) {
  BenchConfig config = bench_of(ends);
  config.nic.pcie.generation = generation;
  config.nic.pcie.lanes = lanes;
  return config;
}

TEST_P(OverPciExpress, DatagramsForEndsAndGroupsLandWhole) {
  Datagrams net(pcie_bench(3, GetParam()));
  const auto data = pattern_bytes(4096, 1);
  net.bench.store(0, kSource, data);
  for (const std::size_t end : {1U, 2U}) net.bench.ring(end, net.slots(end, 8));
  for (std::uint32_t i = 0; i < 4; ++i) net.bench.ring_at(1_us, 0, net.to_group(0, 4096, i));
  net.bench.ring_at(1_us, 0, net.to_end(0, 2, 1));
  net.run();
  EXPECT_EQ(net.bench.completions(0).size(), 5u);
  EXPECT_EQ(net.bench.completions(1).size(), 4u);
  ASSERT_EQ(net.bench.completions(2).size(), 5u);
  for (const std::size_t end : {1U, 2U}) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(net.bench.completions(end)[i].entry.immediate, i) << "in order";
      EXPECT_EQ(net.bench.load(end, kTarget + i * (4096 + 64) + kGlobalRouteHeader, 4096), data);
    }
  }
  EXPECT_EQ(net.bench.completions(2)[4].entry.bytes, 1 + kGlobalRouteHeader);
}

TEST_P(OverPciExpress, MulticastPlacesItsPayloadBeforeItTells) {
  Placement net(pcie_bench(3, GetParam()));
  const auto data = pattern_bytes(40'000, 1);
  net.bench.store(0, kSource, data);
  for (const std::size_t end : {1U, 2U}) net.bench.ring(end, receive(net.pairs[end], 0, 0, 0, 2));
  net.bench.ring_at(1_us, 0, net.message(0, 30'000, 1));
  net.bench.ring_at(1_us, 0, net.message(30'000, 10'000, 2));
  net.run();
  for (const std::size_t end : {1U, 2U}) {
    ASSERT_EQ(net.bench.completions(end).size(), 2u);
    EXPECT_EQ(net.bench.completions(end)[1].entry.immediate, 2u);
    EXPECT_EQ(net.bench.load(end, kTarget, data.size()), data);
  }
}

INSTANTIATE_TEST_SUITE_P(Generations, OverPciExpress, testing::Range(1, 7));

/// From the first completion to the last of many datagrams to one end, by datagram.
double time_of_datagram(const BenchConfig& config, std::uint64_t bytes) {
  test::fresh_kernel();
  constexpr std::uint32_t kHalf = 200;
  Datagrams net(config);
  net.bench.ring(1, net.slots(1, 2 * kHalf));
  for (std::uint32_t i = 0; i < 2 * kHalf; ++i) net.bench.ring_at(1_us, 0, net.to_end(0, 1, bytes));
  net.run();
  const auto got = net.bench.completions(1);
  EXPECT_EQ(got.size(), 2 * kHalf);
  return static_cast<double>((got[2 * kHalf - 1].at - got[kHalf].at).count()) / (kHalf - 1);
}

TEST(OverPciExpress, DatagramsGoAtTheRateOfTheLinkWithTheirHeaders) {
  // Sixteen packets of payload and a 17th since the route header precedes it, and a completion entry.
  BenchConfig config = pcie_bench(2, 2, 4);
  config.data = false;
  config.nic.pcie.posted_credits = 4096;
  const double rate = static_cast<double>(HostLink::packet_rate(config.nic.pcie).count());
  const double sent = 4096 + 40 + 17 * 24 + 64 + 24;
  EXPECT_NEAR(time_of_datagram(config, 4096) / (8e12 * sent / rate), 1, 0.01);
}

// --- Keys of reliable connections ---

class KeyOf : public testing::TestWithParam<std::tuple<Verb, bool>> {};

TEST_P(KeyOf, AnotherRegionPutsBothEndsInError) {
  const auto [verb, recovers] = GetParam();
  BenchConfig config = bench_of(2);
  config.nic.recovery = recovers;
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  const std::uint32_t key = bench.nics[1]->regions().add(kTarget, 4096);
  bench.store(0, kSource, pattern_bytes(4096, 1));
  bench.store(1, kTarget, pattern_bytes(4096, 1));
  const auto with = [&, verb = verb](std::uint64_t remote, std::uint64_t id) {
    WorkRequest wanted = request(verb, pair.a, kSource, remote, 4096, id);
    wanted.remote_key = key;
    return wanted;
  };
  bench.ring_at(1_us, 0, with(kTarget, 1));
  bench.ring_at(1_us, 0, with(kTarget + 1, 2));
  bench.ring_at(1_us, 0, with(kTarget, 3));
  bench.ring_at(50_us, 0, with(kTarget, 4));
  sc_core::sc_start();
  const auto entries = bench.completions(0);
  ASSERT_EQ(entries.size(), 4u);
  const Status expected[] = {Status::kSuccess, Status::kRemoteAccessError, Status::kFlushed, Status::kFlushed};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(entries[i].entry.id, i + 1);
    EXPECT_EQ(entries[i].entry.status, expected[i]) << "request " << i + 1;
  }
  EXPECT_EQ(bench.nics[1]->counters().access_errors, 1);
  EXPECT_EQ(bench.load(1, kTarget + 4096, 1), std::vector<std::byte>(1)) << "beyond the region";
  ASSERT_EQ(bench.nics[0]->left_over().size(), 1u);
  EXPECT_NE(bench.nics[0]->left_over()[0].find("its key does not open; 3 work requests failed"), std::string::npos)
      << bench.nics[0]->left_over()[0];
  EXPECT_EQ(bench.nics[1]->left_over().size(), 1u) << "the queue pair there stands in error too";
  EXPECT_EQ(bench.packets.outstanding(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, KeyOf, testing::Combine(testing::Values(Verb::kWrite, Verb::kRead), testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) == Verb::kWrite ? "Write" : "Read") +
                                  (std::get<1>(test.param) ? "Recovering" : "");
                         });

TEST(MemoryRegions, GiveAKeyAgainOnlyAfterAllOthers) {
  MemoryRegions regions;
  EXPECT_TRUE(regions.covers(0, 1 << 20, 1, Time())) << "key 0 opens all";
  const std::uint32_t first = regions.add(100, 10);
  EXPECT_TRUE(regions.covers(first, 100, 10, Time()));
  EXPECT_FALSE(regions.covers(first, 99, 1, Time()));
  EXPECT_FALSE(regions.covers(first, 101, 10, Time()));
  EXPECT_FALSE(regions.covers(first, 105, UINT64_MAX, Time()));
  EXPECT_FALSE(regions.covers(first + 1, 100, 1, Time()));
  regions.remove(first, 5_us);
  EXPECT_TRUE(regions.covers(first, 100, 1, 4_us));
  EXPECT_FALSE(regions.covers(first, 100, 1, 5_us));
  for (std::uint32_t key = 2; key < MemoryRegions::kKeys; ++key) ASSERT_EQ(regions.add(0, 1), key);
  EXPECT_EQ(regions.add(0, 1), first);
  EXPECT_THROW(regions.add(0, 1), std::length_error);
  regions.remove(77, Time());
  EXPECT_EQ(regions.add(0, 1), 77u);
}

TEST(MemoryRegions, ReserveTheSameKeysAtSeveralInterfaces) {
  MemoryRegions one;
  MemoryRegions other;
  EXPECT_EQ(one.add(0, 1), 1u);
  EXPECT_EQ(one.add(0, 1), 2u);
  const std::uint32_t first = MemoryRegions::reserve({&one, &other}, 2);
  EXPECT_EQ(first, 3u);
  EXPECT_FALSE(other.covers(first, 100, 1, Time())) << "nobody has opened it";
  for (MemoryRegions* regions : {&one, &other}) {
    regions->open(first + 1, 100, 10);
    EXPECT_TRUE(regions->covers(first + 1, 109, 1, Time()));
    regions->remove(first + 1, 5_us);
    EXPECT_FALSE(regions->covers(first + 1, 109, 1, 5_us));
    regions->open(first + 1, 200, 10);
    EXPECT_FALSE(regions->covers(first + 1, 100, 1, 6_us));
    EXPECT_TRUE(regions->covers(first + 1, 200, 1, 6_us));
  }
  EXPECT_EQ(other.add(0, 1), 1u);
  EXPECT_EQ(other.add(0, 1), 2u);
  EXPECT_EQ(other.add(0, 1), 5u) << "those between are reserved";
  EXPECT_THROW(MemoryRegions::reserve({&one, &other}, MemoryRegions::kKeys - 4), std::length_error);
}

// --- Loop-back ---

TEST(Loopback, MovesMemoryWithoutTheWire) {
  for (const bool recovers : {false, true}) {
    test::fresh_kernel();
    BenchConfig config = bench_of(2);
    config.nic.recovery = recovers;
    Bench bench(config);
    const Connection pair = bench.connect(0, 0);
    const auto data = pattern_bytes(100'000, 1);
    bench.store(0, kSource, data);
    bench.ring(0, receive(pair.b, 0, 0, 9));
    bench.ring_at(1_us, 0, immediate(write(pair.a, kSource, 0x100000, 100'000, 1), 3));
    bench.ring_at(1000_us, 0, read(pair.a, 0x200000, 0x100000, 100'000, 2));
    bench.run();
    EXPECT_EQ(bench.load(0, 0x100000, 100'000), data);
    EXPECT_EQ(bench.load(0, 0x200000, 100'000), data);
    EXPECT_EQ(bench.completions(0).size(), 3u);
    EXPECT_EQ(bench.nics[0]->counters().bytes_sent, 0);
    EXPECT_EQ(bench.nics[0]->counters().bytes_received, 0);
    EXPECT_EQ(bench.network.switch_at(0).counters().packets, 0);
  }
}

}  // namespace
}  // namespace weft::nic
