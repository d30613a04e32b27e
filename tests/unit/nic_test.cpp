// SPDX-License-Identifier: Apache-2.0
// Network interfaces on one switch, each with a memory, a doorbell and a completion queue that the test holds.
#include "hw/nic/nic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hw/fabric/fabric.h"
#include "hw/memory/hbm.h"
#include "tests/support/kernel.h"
#include "tests/support/sockets.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using test::pattern_bytes;

struct BenchConfig {
  int ends = 2;
  Nic::Config nic;
  fabric::FabricConfig network;
  memory::Hbm::Config memory;
  Stall::Config stall;
  bool data = true;

  BenchConfig() { network.topology = fabric::Shape::kSwitch; }
};

/// A queue pair at each of two ends, joined.
struct Connection {
  std::uint32_t a;
  std::uint32_t b;
};

class Bench {
 public:
  using Entries = std::vector<test::Sink<Completion>::Written>;

  explicit Bench(const BenchConfig& config = {})
      : config_(config),
        dispatcher("dispatcher"),
        network("network", config.network, config.ends, dispatcher, config.stall, "fabric"),
        script("script", dispatcher) {
    for (int i = 0; i < config.ends; ++i) {
      const std::string number = std::to_string(i);
      memories.push_back(std::make_unique<memory::Hbm>(("hbm" + number).c_str(), config.memory, dispatcher,
                                                       std::vector<std::string>{"nic"}, config.data, config.stall));
      nics.push_back(std::make_unique<Nic>(("nic" + number).c_str(), config.nic, network.config(),
                                           static_cast<std::uint32_t>(i), dispatcher, packets, config.data,
                                           config.stall));
      doorbells.push_back(std::make_unique<test::Initiator>(("doorbell" + number).c_str()));
      queues.push_back(std::make_unique<test::Sink<Completion>>(("completions" + number).c_str(), dispatcher));
      Nic& nic = *nics.back();
      nic.dma.bind(memories.back()->socket(0));
      nic.completion.bind(queues.back()->socket);
      doorbells.back()->socket.bind(nic.registers);
      network.bind_end(static_cast<std::uint32_t>(i), nic.out, nic.in);
    }
  }

  Connection connect(std::size_t a, std::size_t b) {
    const Connection pair{nics[a]->create_queue_pair(100 + nics[a]->end()),
                          nics[b]->create_queue_pair(200 + nics[b]->end())};
    nics[a]->connect(pair.a, nics[b]->end(), pair.b);
    nics[b]->connect(pair.b, nics[a]->end(), pair.a);
    return pair;
  }

  void ring(std::size_t end, const WorkRequest& request, Time delay = Time()) {
    doorbells[end]->write(kDoorbell, &request, sizeof request, delay);
    ASSERT_EQ(doorbells[end]->status(), tlm::TLM_OK_RESPONSE);
  }
  void ring_at(Time when, std::size_t end, const WorkRequest& request) {
    script.at(when, [this, end, request] { ring(end, request); });
  }

  void store(std::size_t end, std::uint64_t address, const std::vector<std::byte>& bytes) {
    memories[end]->store().write(address, bytes.data(), bytes.size());
  }
  std::vector<std::byte> load(std::size_t end, std::uint64_t address, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    memories[end]->store().read(address, data.data(), bytes);
    return data;
  }

  /// Runs to the end and checks that nothing is left anywhere.
  void run() {
    sc_core::sc_start();
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (const auto& nic : nics) {
      EXPECT_EQ(nic->left_over(), std::vector<std::string>());
      sent += nic->counters().packets_sent;
      received += nic->counters().packets_received;
    }
    EXPECT_EQ(network.left_over(), std::vector<std::string>());
    EXPECT_EQ(packets.outstanding(), 0);
    EXPECT_EQ(packets.payloads_outstanding(), 0);
    EXPECT_EQ(dispatcher.pending(), 0u);
    EXPECT_EQ(sent, received);
  }

  /// Completions of one end by the time at which they are written, calls at one time in order.
  [[nodiscard]] Entries completions(std::size_t end) const {
    Entries entries = queues[end]->written;
    std::stable_sort(entries.begin(), entries.end(), [](const auto& x, const auto& y) { return x.at < y.at; });
    return entries;
  }

  BenchConfig config_;
  PacketPool packets;
  Dispatcher dispatcher;
  fabric::Fabric network;
  test::Script script;
  std::vector<std::unique_ptr<memory::Hbm>> memories;
  std::vector<std::unique_ptr<Nic>> nics;
  std::vector<std::unique_ptr<test::Initiator>> doorbells;
  std::vector<std::unique_ptr<test::Sink<Completion>>> queues;
};

WorkRequest request(Verb verb, std::uint32_t pair, std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                    std::uint64_t id = 0) {
  WorkRequest request;
  request.verb = verb;
  request.queue_pair = pair;
  request.local_address = local;
  request.remote_address = remote;
  request.bytes = bytes;
  request.id = id;
  return request;
}

WorkRequest write(std::uint32_t pair, std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                  std::uint64_t id = 0) {
  return request(Verb::kWrite, pair, local, remote, bytes, id);
}
WorkRequest send(std::uint32_t pair, std::uint64_t local, std::uint64_t bytes, std::uint64_t id = 0) {
  return request(Verb::kSend, pair, local, 0, bytes, id);
}
WorkRequest read(std::uint32_t pair, std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                 std::uint64_t id = 0) {
  return request(Verb::kRead, pair, local, remote, bytes, id);
}
WorkRequest receive(std::uint32_t pair, std::uint64_t local, std::uint64_t bytes, std::uint64_t id = 0,
                    std::uint32_t count = 1) {
  WorkRequest posted = request(Verb::kReceive, pair, local, 0, bytes, id);
  posted.count = count;
  return posted;
}
WorkRequest immediate(WorkRequest request, std::uint32_t value) {
  request.with_immediate = true;
  request.immediate = value;
  return request;
}

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

// --- Exact times ---

/// What one message of one byte meets, from the configuration alone.
TEST(Latency, OfOneByteIsTheSumOfItsParts) {
  BenchConfig config;
  config.network.link.propagation = 10_ns;
  config.network.switch_config.latency = 220_ns;
  config.memory.rate = 1000_GBps;
  config.memory.efficiency = 1.0;  // 1 ps a byte
  config.memory.latency = 500_ns;
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 1, receive(pair.b, 0, 0));
  bench.ring_at(1_us, 0, immediate(write(pair.a, 0, 4096, 1), 1));
  bench.run();
  const Time wire = 10_ns + 220_ns + 10_ns;
  const Time fetched = 1_us + 20_ns /* message */ + 500_ns + 1_ps /* memory */ + 350_ns /* host link */;
  const Time arrived = fetched + wire + 67 * 20_ps;
  const Time visible = arrived + 500_ns + 1_ps;  // longer than the host link's 250 ns, beside which the memory writes
  const Time acknowledged = arrived + wire + 66 * 20_ps;
  ASSERT_EQ(bench.completions(1).size(), 1u);
  EXPECT_EQ(bench.completions(1)[0].at.count(), visible.count());
  ASSERT_EQ(bench.completions(0).size(), 1u);
  EXPECT_EQ(bench.completions(0)[0].at.count(), (acknowledged + 250_ns).count());
}

TEST(Latency, StartsWhenTheDelayOfTheDoorbellIsOver) {
  const auto finish = [](Time when, Time delay) {
    test::fresh_kernel();
    Bench bench;
    const Connection pair = bench.connect(0, 1);
    bench.script.at(when, [&] { bench.ring(0, write(pair.a, 0, 0, 100), delay); });
    bench.run();
    return bench.completions(0).at(0).at;
  };
  EXPECT_EQ(finish(1_us, 2_us), finish(3_us, Time()));
  EXPECT_EQ(finish(3_us, Time()) - finish(1_us, Time()), 2_us);
}

/// Time from the doorbell to the sender's completion of one write.
Time time_of_write(const BenchConfig& config, std::uint64_t bytes) {
  test::fresh_kernel();
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(pair.a, 0, 0, bytes));
  bench.run();
  return bench.completions(0).at(0).at;
}

TEST(Throughput, OfALongWriteIsThatOfTheLink) {
  BenchConfig config;
  config.data = false;
  const Time mid = time_of_write(config, 1 << 20);
  const Time end = time_of_write(config, 9 << 20);
  EXPECT_EQ((end - mid).count(), (8 << 20) / 4096 * (4096 + 66) * 20);
}

TEST(Throughput, IsThatOfTheHostLinkWhereThatIsSlower) {
  for (const bool at_sender : {true, false}) {
    test::fresh_kernel();
    BenchConfig config;
    config.data = false;
    config.nic.dma_rate = 100_Gbps;
    // A read moves data from end 1 to end 0, a write the other way: both host links are slow, and only one is not
    // hidden.
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    constexpr std::uint64_t kBytes = 8 << 20;
    bench.ring_at(Time(), 0, at_sender ? write(pair.a, 0, 0, kBytes) : read(pair.a, 0, 0, kBytes));
    bench.run();
    const double ratio = static_cast<double>(bench.completions(0).at(0).at.count()) / (kBytes * 80.0);
    EXPECT_GT(ratio, 1.0);
    EXPECT_LT(ratio, 1.01);
  }
}

TEST(Throughput, HardlyDependsOnTheSegment) {
  BenchConfig config;
  config.data = false;
  const auto fine = static_cast<double>(time_of_write(config, 16 << 20).count());
  for (const Bytes segment : {8_KiB, 16_KiB, 64_KiB}) {
    config.network.segment = segment;
    const auto coarse = static_cast<double>(time_of_write(config, 16 << 20).count());
    EXPECT_NEAR(coarse / fine, 1.0, 0.02) << to_text(segment);
  }
}

TEST(Throughput, OfAnIncastIsThatOfTheOneLink) {
  BenchConfig config;
  config.ends = 4;
  config.data = false;
  Bench bench(config);
  constexpr std::uint64_t kBytes = 4 << 20;
  for (std::size_t i = 1; i < 4; ++i) {
    const Connection pair = bench.connect(i, 0);
    bench.ring_at(Time(), i, write(pair.a, 0, 0, kBytes));
  }
  bench.run();
  const std::int64_t packet = (4096 + 66) * 20;
  const std::int64_t bound = 3 * static_cast<std::int64_t>(kBytes / 4096) * packet;
  std::vector<std::int64_t> ends;
  for (std::size_t i = 1; i < 4; ++i) ends.push_back(bench.completions(i).at(0).at.count());
  std::sort(ends.begin(), ends.end());
  EXPECT_GE(ends.back(), bound);
  EXPECT_LE(ends.back(), bound + 3'000'000);  // latencies there and back
  // They take turns: the last packets of the three go one after the other.
  EXPECT_EQ(ends.back() - ends.front(), 2 * packet);
}

TEST(Throughput, IsSharedByQueuePairsPacketByPacket) {
  constexpr std::size_t kPairs = 5;
  BenchConfig config;
  config.ends = 3;
  config.data = false;
  Bench bench(config);
  for (std::size_t i = 0; i < kPairs; ++i) {
    const Connection pair = bench.connect(0, 1 + i % 2);
    bench.ring_at(Time(), 0, write(pair.a, 0, 0, 2 << 20, i));
  }
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), kPairs);
  const std::int64_t packet = (4096 + 66) * 20;
  // They take turns, but the first message was alone when the read-ahead was filled: it ends that many rounds earlier.
  const std::int64_t ahead = config.nic.read_ahead.count() / 4096 + 1;
  EXPECT_LE((done.back().at - done.front().at).count(), static_cast<std::int64_t>(kPairs) * ahead * packet);
  EXPECT_GE(done.front().at.count(), static_cast<std::int64_t>((kPairs - 1) * (2 << 20) / 4096) * packet);
}

TEST(Fairness, AShortMessageDoesNotWaitBehindALongOneOfAnotherQueuePair) {
  BenchConfig config;
  config.data = false;
  Bench bench(config);
  const Connection big = bench.connect(0, 1);
  const Connection small = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(big.a, 0, 0, 64 << 20, 1));
  bench.ring_at(100_us, 0, write(small.a, 0, 0, 64, 2));
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].entry.id, 2u);
  EXPECT_LT(done[0].at, 106_us);
}

// --- Order ---

TEST(Order, OfCompletionsIsThatOfTheMessagesOfAQueuePair) {
  // A long write, an empty one and a short send: what is quick must not overtake.
  BenchConfig config;
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 1, receive(pair.b, 1 << 20, 4096, 0, 6));
  for (std::uint64_t round = 0; round < 2; ++round) {
    bench.ring_at(1_us, 0, immediate(write(pair.a, 0, 0, 9000, 3 * round), static_cast<std::uint32_t>(3 * round)));
    bench.ring_at(1_us, 0, immediate(send(pair.a, 0, 0, 3 * round + 1), static_cast<std::uint32_t>(3 * round + 1)));
    bench.ring_at(1_us, 0, immediate(send(pair.a, 0, 100, 3 * round + 2), static_cast<std::uint32_t>(3 * round + 2)));
  }
  bench.run();
  const auto sent = bench.completions(0);
  const auto got = bench.completions(1);
  ASSERT_EQ(sent.size(), 6u);
  ASSERT_EQ(got.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(sent[i].entry.id, i);
    EXPECT_EQ(got[i].entry.immediate, i) << "the completion at " << to_text(got[i].at) << " overtook another";
  }
}

TEST(Order, HoldsUnderStalls) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    test::fresh_kernel();
    BenchConfig config;
    config.stall = {2_us, seed};
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    bench.ring_at(Time(), 1, receive(pair.b, 0, 0, 0, 40));
    for (std::uint32_t i = 0; i < 40; ++i) {
      bench.store(0, i * 10'000, pattern_bytes(10'000, i));
      bench.ring_at(1_us, 0, immediate(write(pair.a, i * 10'000, i * 10'000, 1 + i * 237, i), i));
    }
    bench.run();
    const auto sent = bench.completions(0);
    const auto got = bench.completions(1);
    ASSERT_EQ(sent.size(), 40u);
    ASSERT_EQ(got.size(), 40u);
    for (std::uint32_t i = 0; i < 40; ++i) {
      EXPECT_EQ(sent[i].entry.id, i) << "seed " << seed;
      EXPECT_EQ(got[i].entry.immediate, i) << "seed " << seed;
      const auto expected = pattern_bytes(10'000, i);
      EXPECT_TRUE(
          std::equal(expected.begin(), expected.begin() + 1 + i * 237, bench.load(1, i * 10'000, 10'000).begin()));
    }
  }
}

TEST(Order, AWriteAfterAReadDoesNotCompleteTheRead) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  const auto source = pattern_bytes(200'000, 3);
  bench.store(1, 0, source);
  bench.ring_at(Time(), 0, read(pair.a, 1 << 20, 0, 200'000, 1));
  bench.ring_at(Time(), 0, write(pair.a, 0, 1 << 20, 64, 2));
  bench.ring_at(Time(), 0, read(pair.a, 2 << 20, 0, 1000, 3));
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(done[i].entry.id, i + 1);
  // 200,000 bytes take 4 us on the wire: a read that is done before has been answered by another's acknowledgement.
  EXPECT_GT(done[0].at, 4_us);
  EXPECT_TRUE(bench.load(0, 1 << 20, 200'000) == source);
  EXPECT_TRUE(bench.load(0, 2 << 20, 1000) == std::vector<std::byte>(source.begin(), source.begin() + 1000));
}

TEST(Order, AReadAfterARefusedSendIsRepeatedWithIt) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  const auto source = pattern_bytes(50'000, 3);
  bench.store(1, 0, source);
  bench.ring_at(Time(), 0, send(pair.a, 0, 5000, 1));
  bench.ring_at(Time(), 0, read(pair.a, 1 << 20, 0, 50'000, 2));
  bench.ring_at(15_us, 1, receive(pair.b, 4 << 20, 5000));
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].entry.id, 1u);
  EXPECT_EQ(done[1].entry.id, 2u);
  EXPECT_TRUE(bench.load(0, 1 << 20, 50'000) == source);
}

TEST(Order, ReadsOfBothEndsCross) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  for (std::uint64_t i = 0; i < 4; ++i) {
    bench.store(0, i << 20, pattern_bytes(70'000, i));
    bench.store(1, i << 20, pattern_bytes(70'000, 10 + i));
    bench.ring_at(Time(), 0, read(pair.a, (16 + i) << 20, i << 20, 70'000, i));
    bench.ring_at(Time(), 1, read(pair.b, (16 + i) << 20, i << 20, 70'000, i));
  }
  bench.run();
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(bench.load(0, (16 + i) << 20, 70'000) == pattern_bytes(70'000, 10 + i));
    EXPECT_TRUE(bench.load(1, (16 + i) << 20, 70'000) == pattern_bytes(70'000, i));
    EXPECT_EQ(bench.completions(0).at(i).entry.id, i);
    EXPECT_EQ(bench.completions(1).at(i).entry.id, i);
  }
}

TEST(Order, UnsignaledRequestsCompleteNothing) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  WorkRequest quiet = write(pair.a, 0, 0, 100, 1);
  quiet.signaled = false;
  bench.ring_at(Time(), 0, quiet);
  bench.ring_at(Time(), 0, write(pair.a, 0, 0, 100, 2));
  bench.run();
  ASSERT_EQ(bench.completions(0).size(), 1u);
  EXPECT_EQ(bench.completions(0)[0].entry.id, 2u);
}

/// Everything at once, from all to all, with receives that come late: what was sent is what arrives, once.
TEST(Conservation, OfMixedTrafficAmongFour) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    test::fresh_kernel();
    BenchConfig config;
    config.ends = 4;
    config.network.segment = seed % 2 == 0 ? 4_KiB : 8_KiB;
    config.network.link.buffer = 20_KiB;
    config.stall = {seed < 2 ? Time() : 500_ns, seed};
    Bench bench(config);
    std::uint64_t state = seed;
    const auto random = [&state](std::uint64_t below) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return (state >> 33) % below;
    };
    struct Expected {
      std::size_t from;
      std::uint64_t source;
      std::size_t to;
      std::uint64_t target;
      std::uint64_t bytes;
    };
    std::vector<Expected> expected;
    std::vector<std::size_t> completions(4);
    std::uint64_t next = 0;
    for (std::size_t a = 0; a < 4; ++a) {
      bench.store(a, 0, pattern_bytes(1 << 20, a));
      for (std::size_t b = 0; b < 4; ++b) {
        if (a == b) continue;
        const Connection pair = bench.connect(a, b);
        for (int i = 0; i < 12; ++i) {
          const std::uint64_t bytes = random(4) == 0 ? random(3) : random(40'000);
          const std::uint64_t source = random((1 << 20) - 40'000);
          const std::uint64_t target = (2 << 20) + 40'000 * next++;
          const Time when(static_cast<std::int64_t>(random(20'000'000)) + i * 20'000'000);
          ++completions[a];
          if (random(3) == 0) {
            bench.ring_at(when, a, read(pair.a, target, source, bytes));
            expected.push_back({b, source, a, target, bytes});
            continue;
          }
          expected.push_back({a, source, b, target, bytes});
          const bool is_send = random(2) == 0;
          if (is_send) {
            bench.ring_at(when, a, send(pair.a, source, bytes));
          } else {
            bench.ring_at(when, a, immediate(write(pair.a, source, target, bytes), 1));
          }
          // All later receives of this pair come later too, so each belongs to its message.
          bench.ring_at(Time(i * 20'000'000 + static_cast<std::int64_t>(random(19'000'000))), b,
                        receive(pair.b, is_send ? target : 0, bytes));
          ++completions[b];
        }
      }
    }
    bench.run();
    for (const Expected& e : expected) {
      EXPECT_TRUE(bench.load(e.from, e.source, e.bytes) == bench.load(e.to, e.target, e.bytes)) << "seed " << seed;
    }
    std::int64_t received = 0;
    std::int64_t asked = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(bench.completions(i).size(), completions[i]) << "seed " << seed;
      received += bench.nics[i]->counters().bytes_received;
    }
    for (const Expected& e : expected) asked += static_cast<std::int64_t>(e.bytes);
    EXPECT_EQ(received, asked) << "seed " << seed;
  }
}

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
