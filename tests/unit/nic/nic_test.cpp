// SPDX-License-Identifier: Apache-2.0
// Messages of a network interface: what arrives, what completes, what is refused.
#include "hw/nic/nic.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;
using test::pattern_bytes;

/// Message size and segment: nothing, one byte, around a packet, many packets, not a multiple of anything.
class Messages : public testing::TestWithParam<std::pair<std::uint64_t, std::int64_t>> {
 protected:
  Messages() {
    config.network.segment = Bytes(GetParam().second);
    bench = std::make_unique<Bench>(config);
    pair = bench->connect(0, 1);
    bytes = GetParam().first;
    source = pattern_bytes(bytes, 7);
    // Whatever lies around the target must stay.
    around = pattern_bytes(bytes + 2 * kMargin, 9);
  }

  void expect_arrived(std::size_t end, std::uint64_t address) {
    std::vector<std::byte> expected = around;
    std::copy(source.begin(), source.end(), expected.begin() + kMargin);
    EXPECT_TRUE(bench->load(end, address - kMargin, expected.size()) == expected);
  }

  static constexpr std::uint64_t kMargin = 100;
  static constexpr std::uint64_t kFrom = 12'345;
  static constexpr std::uint64_t kTo = 7'000'001;
  BenchConfig config;
  std::unique_ptr<Bench> bench;
  Connection pair{};
  std::uint64_t bytes = 0;
  std::vector<std::byte> source;
  std::vector<std::byte> around;
};

TEST_P(Messages, WriteArrivesAndCompletesAtTheSender) {
  bench->store(0, kFrom, source);
  bench->store(1, kTo - kMargin, around);
  bench->ring_at(1_us, 0, write(pair.a, kFrom, kTo, bytes, 42));
  bench->run();
  expect_arrived(1, kTo);
  const auto done = bench->completions(0);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].address, 100u);
  EXPECT_EQ(done[0].entry.id, 42u);
  EXPECT_EQ(done[0].entry.bytes, bytes);
  EXPECT_EQ(done[0].entry.queue_pair, pair.a);
  EXPECT_EQ(done[0].entry.verb, Verb::kWrite);
  EXPECT_FALSE(done[0].entry.has_immediate);
  EXPECT_TRUE(bench->completions(1).empty());
  EXPECT_EQ(bench->nics[0]->counters().bytes_sent, static_cast<std::int64_t>(bytes));
  EXPECT_EQ(bench->nics[1]->counters().bytes_received, static_cast<std::int64_t>(bytes));
  EXPECT_EQ(bench->nics[0]->counters().messages_sent, 1);
  EXPECT_EQ(bench->nics[1]->counters().messages_received, 1);
}

TEST_P(Messages, WriteWithImmediateTellsTheReceiver) {
  bench->store(0, kFrom, source);
  bench->store(1, kTo - kMargin, around);
  bench->ring_at(Time(), 1, receive(pair.b, 0, 0, 77));
  bench->ring_at(1_us, 0, immediate(write(pair.a, kFrom, kTo, bytes, 42), 0xdeadbeef));
  bench->run();
  expect_arrived(1, kTo);
  ASSERT_EQ(bench->completions(0).size(), 1u);
  const auto got = bench->completions(1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].address, 201u);
  EXPECT_EQ(got[0].entry.id, 77u);
  EXPECT_EQ(got[0].entry.bytes, bytes);
  EXPECT_EQ(got[0].entry.immediate, 0xdeadbeefu);
  EXPECT_TRUE(got[0].entry.has_immediate);
  EXPECT_EQ(got[0].entry.verb, Verb::kReceive);
  EXPECT_EQ(got[0].entry.queue_pair, pair.b);
}

TEST_P(Messages, SendLandsInTheReceive) {
  bench->store(0, kFrom, source);
  bench->store(1, kTo - kMargin, around);
  bench->ring_at(Time(), 1, receive(pair.b, kTo, bytes, 77));
  bench->ring_at(1_us, 0, send(pair.a, kFrom, bytes, 42));
  bench->run();
  expect_arrived(1, kTo);
  ASSERT_EQ(bench->completions(0).size(), 1u);
  const auto got = bench->completions(1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].entry.bytes, bytes);
  EXPECT_FALSE(got[0].entry.has_immediate);
}

TEST_P(Messages, ReadFetches) {
  bench->store(1, kFrom, source);
  bench->store(0, kTo - kMargin, around);
  bench->ring_at(1_us, 0, read(pair.a, kTo, kFrom, bytes, 42));
  bench->run();
  expect_arrived(0, kTo);
  const auto done = bench->completions(0);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].entry.id, 42u);
  EXPECT_EQ(done[0].entry.bytes, bytes);
  EXPECT_EQ(done[0].entry.verb, Verb::kRead);
  EXPECT_TRUE(bench->completions(1).empty());
  EXPECT_EQ(bench->nics[0]->counters().bytes_received, static_cast<std::int64_t>(bytes));
  EXPECT_EQ(bench->nics[1]->counters().bytes_sent, static_cast<std::int64_t>(bytes));
}

TEST_P(Messages, SendBeforeTheReceiveIsRepeatedAndDeliveredOnce) {
  // Three sends; the receives come one by one, later than the refusals.
  const std::uint64_t ids[] = {1, 2, 3};
  for (const std::uint64_t id : ids) {
    bench->store(0, id * 2'000'000, pattern_bytes(bytes, id));
    bench->ring_at(Time(static_cast<std::int64_t>(id)), 0, send(pair.a, id * 2'000'000, bytes, id));
    bench->ring_at(Time(static_cast<std::int64_t>(25'000'000 * id)), 1,
                   receive(pair.b, 1'000'000 + id * 2'000'000, bytes, 10 + id));
  }
  bench->run();
  for (const std::uint64_t id : ids) {
    EXPECT_TRUE(bench->load(1, 1'000'000 + id * 2'000'000, bytes) == pattern_bytes(bytes, id)) << id;
  }
  const auto sent = bench->completions(0);
  const auto got = bench->completions(1);
  ASSERT_EQ(sent.size(), 3u);
  ASSERT_EQ(got.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sent[i].entry.id, i + 1);
    EXPECT_EQ(got[i].entry.id, i + 11);
    EXPECT_EQ(got[i].entry.bytes, bytes);
    EXPECT_GE(got[i].at, Time(static_cast<std::int64_t>(25'000'000 * (i + 1))));
  }
  EXPECT_GE(bench->nics[1]->counters().not_ready, 3);
  EXPECT_EQ(bench->nics[1]->counters().messages_received, 3);
  EXPECT_EQ(bench->nics[1]->counters().bytes_received, static_cast<std::int64_t>(3 * bytes));
}

TEST_P(Messages, ImmediateBeforeTheReceiveRepeatsOnlyItsLastPacket) {
  bench->store(0, kFrom, source);
  bench->store(1, kTo - kMargin, around);
  bench->ring_at(Time(), 0, immediate(write(pair.a, kFrom, kTo, bytes, 42), 5));
  bench->ring_at(95_us, 1, receive(pair.b, 0, 0, 77));
  bench->run();
  expect_arrived(1, kTo);
  ASSERT_EQ(bench->completions(0).size(), 1u);
  const auto got = bench->completions(1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].entry.bytes, bytes);
  EXPECT_EQ(bench->nics[1]->counters().bytes_received, static_cast<std::int64_t>(bytes));
  const auto segment = static_cast<std::uint64_t>(GetParam().second);
  const std::uint64_t last = bytes == 0 ? 0 : (bytes - 1) % segment + 1;
  const auto repeats = static_cast<std::uint64_t>(bench->nics[1]->counters().not_ready);
  EXPECT_GE(repeats, 1u);
  EXPECT_EQ(static_cast<std::uint64_t>(bench->nics[0]->counters().bytes_sent), bytes + repeats * last);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Messages,
                         testing::Values(std::pair{0ULL, 4096LL}, std::pair{1ULL, 4096LL}, std::pair{63ULL, 4096LL},
                                         std::pair{4095ULL, 4096LL}, std::pair{4096ULL, 4096LL},
                                         std::pair{4097ULL, 4096LL}, std::pair{100'003ULL, 4096LL},
                                         std::pair{0ULL, 16384LL}, std::pair{1ULL, 16384LL},
                                         std::pair{4097ULL, 16384LL}, std::pair{16385ULL, 16384LL},
                                         std::pair{100'003ULL, 20'000LL}, std::pair{1'000'001ULL, 65536LL}),
                         [](const auto& test) {
                           return std::to_string(test.param.first) + "BytesBy" + std::to_string(test.param.second);
                         });

// --- Registers and reports ---

TEST(Registers, RefuseWhatIsNoDoorbell) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  bench.script.at(1_us, [&] {
    test::Initiator& doorbell = *bench.doorbells[0];
    WorkRequest posted = write(pair.a, 0, 0, 0);
    doorbell.write(kDoorbell + 8, &posted, sizeof posted);
    EXPECT_EQ(doorbell.status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    doorbell.write(kDoorbell, &posted, sizeof posted - 1);
    EXPECT_EQ(doorbell.status(), tlm::TLM_BURST_ERROR_RESPONSE);
    doorbell.read(kDoorbell, &posted, sizeof posted);
    EXPECT_EQ(doorbell.status(), tlm::TLM_COMMAND_ERROR_RESPONSE);
    posted.queue_pair = pair.a + 1;
    doorbell.write(kDoorbell, &posted, sizeof posted);
    EXPECT_EQ(doorbell.status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
    EXPECT_EQ(doorbell.debug(tlm::TLM_READ_COMMAND, kDoorbell, &posted, sizeof posted), 0u);
    tlm::tlm_dmi dmi;
    EXPECT_FALSE(doorbell.socket->get_direct_mem_ptr(doorbell.payload, dmi));
  });
  bench.run();
  EXPECT_EQ(bench.nics[0]->counters().packets_sent, 0);
}

TEST(Registers, TakeADoorbellByNonBlockingTransport) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  WorkRequest posted = write(pair.a, 0, 0, 100, 5);
  bench.script.at(1_us, [&] {
    test::Initiator& doorbell = *bench.doorbells[0];
    doorbell.prepare(tlm::TLM_WRITE_COMMAND, kDoorbell, &posted, sizeof posted);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    EXPECT_EQ(doorbell.socket->nb_transport_fw(doorbell.payload, phase, delay), tlm::TLM_COMPLETED);
    EXPECT_EQ(doorbell.status(), tlm::TLM_OK_RESPONSE);
  });
  bench.run();
  ASSERT_EQ(bench.completions(0).size(), 1u);
  EXPECT_EQ(bench.completions(0)[0].entry.id, 5u);
}

TEST(LeftOver, NamesTheRequestThatIsRefusedAndItsPeer) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 0, send(pair.a, 0, 2048));
  bench.dispatcher.run_until(5_us);
  ASSERT_EQ(bench.nics[0]->left_over().size(), 1u);
  EXPECT_EQ(
      bench.nics[0]->left_over()[0],
      "nic0: queue pair 0 to end 1 has 1 unfinished work requests, first a send of 2KiB, refused: the peer has no "
      "receive posted");
}

}  // namespace
}  // namespace weft::nic
