// SPDX-License-Identifier: Apache-2.0
// Network interfaces on a fabric that loses packets and lets them overtake each other: what is sent arrives once,
// whole and in order, or the queue pair says that it cannot.
#include "hw/nic/nic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/nic/congestion/dcqcn.h"
#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;
using test::pattern_bytes;

BenchConfig lossy(double loss, Bytes reorder, std::uint64_t seed) {
  BenchConfig config;
  config.network.mtu = config.network.segment = 1_KiB;
  config.nic.recovery = true;
  config.nic.ack_timeout = 50_us;
  config.nic.retry_limit = 100;
  config.nic.reorder = reorder;
  config.nic.reorder_wait = 5_us;
  config.wire = test::LossyWire::Config{};
  config.wire->loss = loss;
  config.wire->seed = seed;
  return config;
}

/// Loses the first packet that `rule` names.
void lose_once(BenchConfig& config, std::function<bool(const Packet&)> rule) {
  config.wire->lose = [rule = std::move(rule), lost = std::make_shared<bool>(false)](const Packet& packet) {
    if (*lost || !rule(packet)) return false;
    return *lost = true;
  };
}

Nic::Counters total(const Bench& bench) {
  Nic::Counters sum;
  for (const auto& nic : bench.nics) {
    const Nic::Counters& each = nic->counters();
    sum.dropped += each.dropped;
    sum.held += each.held;
    sum.duplicates += each.duplicates;
    sum.naks += each.naks;
    sum.messages_sent += each.messages_sent;
    sum.messages_repeated += each.messages_repeated;
    sum.timeouts += each.timeouts;
    sum.retransmitted_packets += each.retransmitted_packets;
    sum.retransmitted_bytes += each.retransmitted_bytes;
    sum.bytes_received += each.bytes_received;
    sum.messages_received += each.messages_received;
  }
  return sum;
}

enum class Kind { kWrite, kWriteImmediate, kSend, kRead, kMixed };

/// Posts `messages` from end 0 to end 1 and checks memories and completions of both. Their sizes go round.
Nic::Counters exchange(const BenchConfig& config, Kind kind, std::uint32_t messages, std::uint64_t largest) {
  test::fresh_kernel();
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  std::vector<std::uint32_t> delivered;
  std::uint64_t bytes_asked = 0;
  const auto size = [&](std::uint32_t i) -> std::uint64_t {
    if (messages == 1) return largest;
    return i % 5 == 4 ? i % 3 : (i * 7919ULL + config.wire->seed * 31) % largest;
  };
  const auto kind_of = [&](std::uint32_t i) {
    return kind == Kind::kMixed ? static_cast<Kind>(i * 2654435761U >> 30) : kind;
  };
  for (std::uint32_t i = 0; i < messages; ++i) {
    const std::uint64_t at = i * largest;
    const Kind what = kind_of(i);
    const std::size_t from = what == Kind::kRead ? 1 : 0;
    bench.store(from, at, pattern_bytes(size(i), i));
    bytes_asked += size(i);
    const std::uint64_t target = (1ULL << 30) + at;
    switch (what) {
      case Kind::kWrite:
      case Kind::kMixed:
        bench.ring_at(Time(), 0, write(pair.a, at, target, size(i), i));
        break;
      case Kind::kWriteImmediate:
        bench.ring_at(Time(), 0, immediate(write(pair.a, at, target, size(i), i), i));
        break;
      case Kind::kSend:
        bench.ring_at(Time(), 0, immediate(send(pair.a, at, size(i), i), i));
        break;
      case Kind::kRead:
        bench.ring_at(Time(), 0, read(pair.a, target, at, size(i), i));
        break;
    }
    if (what != Kind::kSend && what != Kind::kWriteImmediate) continue;
    delivered.push_back(i);
    // Some receives come too late, all in the order of their messages.
    const Time late = Time(i / 8 * 20'000'000LL);
    bench.ring_at(late, 1, receive(pair.b, what == Kind::kSend ? target : 0, size(i), i));
  }
  bench.run();
  for (std::uint32_t i = 0; i < messages; ++i) {
    const std::size_t to = kind_of(i) == Kind::kRead ? 0 : 1;
    EXPECT_TRUE(bench.load(to, (1ULL << 30) + i * largest, size(i)) == pattern_bytes(size(i), i)) << "message " << i;
  }
  const auto sent = bench.completions(0);
  const auto got = bench.completions(1);
  EXPECT_EQ(sent.size(), messages);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].entry.id, i);
    EXPECT_EQ(sent[i].entry.status, Status::kSuccess);
  }
  EXPECT_EQ(got.size(), delivered.size());
  for (std::size_t i = 0; i < std::min(got.size(), delivered.size()); ++i) {
    EXPECT_EQ(got[i].entry.immediate, delivered[i]);
    EXPECT_EQ(got[i].entry.bytes, size(delivered[i]));
  }
  const Nic::Counters sum = total(bench);
  EXPECT_EQ(sum.bytes_received, static_cast<std::int64_t>(bytes_asked)) << "something was written twice or not at all";
  return sum;
}

/// Loss, kind of message, reorder buffer.
class Loss : public testing::TestWithParam<std::tuple<int, Kind, int>> {};

TEST_P(Loss, IsRecovered) {
  const auto [permille, kind, reorder] = GetParam();
  const BenchConfig config = lossy(permille / 1000.0, Bytes(reorder << 10), 1);
  const Nic::Counters counters = exchange(config, kind, permille < 10 ? 60 : 24, 40'000);
  if (permille >= 10) {
    EXPECT_GT(counters.retransmitted_packets, 0);
  }
  if (permille == 0) {
    EXPECT_EQ(counters.timeouts, 0);
    EXPECT_EQ(counters.naks, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Rates, Loss,
                         testing::Combine(testing::Values(0, 1, 10, 200),
                                          testing::Values(Kind::kWrite, Kind::kWriteImmediate, Kind::kSend, Kind::kRead,
                                                          Kind::kMixed),
                                          testing::Values(0, 16, 1024)));

TEST(Recovery, OfAnythingAtRandom) {
  for (std::uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const double losses[] = {0.01, 0.05, 0.3};
    BenchConfig config = lossy(losses[seed % 3], Bytes(seed % 4 * (3 << 10)), seed);
    if (seed % 5 < 2) config.wire->delay = 2_us;
    if (seed % 3 == 1) {
      config.nic.congestion = "dcqcn";
      config.wire->mark = [](const Packet& packet) { return packet.psn % 8 == 0; };
    }
    if (seed % 7 == 0) config.network.segment = 4_KiB;
    exchange(config, Kind::kMixed, 12, 9'000);
  }
}

/// The wire's 24 bits of a sequence number go round, or those and all 32 that are counted: it makes no difference.
TEST(Recovery, GoesOnWhereSequenceNumbersEnd) {
  for (const std::uint32_t first : {kPsnMask - 9, UINT32_MAX - 9}) {
    for (const Kind kind : {Kind::kWrite, Kind::kSend, Kind::kRead, Kind::kMixed}) {
      for (const Bytes reorder : {0_B, 16_KiB}) {
        BenchConfig config = lossy(0.05, reorder, 1);
        const Nic::Counters expected = exchange(config, kind, 24, 40'000);
        bool before_end = false;
        bool after_end = false;
        config.first_psn = {first, 77};
        config.wire->mark = [&](const Packet& packet) {
          EXPECT_LE(packet.psn, kPsnMask);
          before_end = before_end || packet.psn >= (first & kPsnMask);
          after_end = after_end || packet.psn < 10;
          return false;
        };
        const Nic::Counters counters = exchange(config, kind, 24, 40'000);
        EXPECT_TRUE(before_end && after_end);
        EXPECT_GT(counters.retransmitted_packets, 0);
        EXPECT_EQ(counters.retransmitted_packets, expected.retransmitted_packets);
        EXPECT_EQ(counters.duplicates, expected.duplicates);
        EXPECT_EQ(counters.dropped, expected.dropped);
        EXPECT_EQ(counters.timeouts, expected.timeouts);
        EXPECT_EQ(counters.naks, expected.naks);
      }
    }
  }
}

TEST(Recovery, GoesBackToEitherSideOfTheLastSequenceNumber) {
  for (const std::uint32_t lost : {kPsnMask - 1, kPsnMask, 0U, 1U}) {
    for (const Bytes reorder : {0_B, 1_MiB}) {
      BenchConfig config = lossy(0, reorder, 1);
      config.first_psn = {kPsnMask - 9, 0};
      lose_once(config, [lost](const Packet& packet) { return packet.payload_bytes != 0 && packet.psn == lost; });
      const Nic::Counters counters = exchange(config, Kind::kWrite, 1, 30'000);
      EXPECT_EQ(counters.naks, 1) << lost;
      EXPECT_EQ(counters.timeouts, 0) << lost;
      if (reorder > 0_B) {
        EXPECT_EQ(counters.retransmitted_packets, 1) << lost;
      }
    }
  }
}

/// A requester that hears nothing must not send so much that an old packet looks like a new one.
TEST(Recovery, StopsAtTheMostOutstandingPackets) {
  BenchConfig config = lossy(0, 0_B, 1);
  config.network.mtu = config.network.segment = 256_B;
  config.nic.ack_timeout = Time(100'000'000'000);
  config.data = false;
  // The first acknowledgement that gets through is that of the last packet allowed.
  std::uint32_t furthest = 0;
  std::uint32_t furthest_then = 0;
  config.wire->lose = [&](const Packet& packet) {
    if (packet.opcode != Opcode::kAck) {
      furthest = std::max(furthest, packet.psn);
    } else if (packet.psn == kMostOutstanding - 1) {
      furthest_then = furthest;
    }
    return packet.opcode == Opcode::kAck && packet.psn < kMostOutstanding - 1;
  };
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(1_us, 0, write(pair.a, 0, 0, (kMostOutstanding + 1000ULL) * 256));
  bench.run();
  EXPECT_EQ(furthest_then, kMostOutstanding - 1);
  EXPECT_EQ(furthest, kMostOutstanding + 999);
  EXPECT_EQ(bench.completions(0).size(), 1u);
  EXPECT_EQ(total(bench).timeouts, 0);
}

TEST(Recovery, ToldOfALostPacketGoesBack) {
  BenchConfig config = lossy(0, 0_B, 1);
  lose_once(config, [](const Packet& packet) { return packet.opcode == Opcode::kWrite && packet.psn == 3; });
  const Nic::Counters counters = exchange(config, Kind::kWrite, 1, 30'000);
  EXPECT_EQ(counters.naks, 1) << "one for each gap, not for each packet after it";
  EXPECT_GT(counters.retransmitted_packets, 1);
  EXPECT_EQ(counters.timeouts, 0);
}

TEST(Recovery, OfALostAnswerRepeatsTheReadFromThere) {
  BenchConfig config = lossy(0, 0_B, 1);
  lose_once(config,
            [](const Packet& packet) { return packet.opcode == Opcode::kReadResponse && packet.address == 20 * 1024; });
  const Nic::Counters counters = exchange(config, Kind::kRead, 1, 30'000);
  EXPECT_EQ(counters.retransmitted_bytes, 30'000 - 20 * 1024);
  EXPECT_EQ(counters.timeouts, 0);
}

TEST(Recovery, ThatHoldsRepeatsOnlyWhatIsMissing) {
  for (const Kind kind : {Kind::kWrite, Kind::kRead, Kind::kSend}) {
    BenchConfig config = lossy(0, 1_MiB, 1);
    lose_once(config, [kind](const Packet& packet) {
      if (kind == Kind::kRead) return packet.opcode == Opcode::kReadResponse && packet.address == 3072;
      return packet.psn == 3 && packet.payload_bytes != 0;
    });
    const Nic::Counters counters = exchange(config, kind, 4, 30'000);
    EXPECT_EQ(counters.naks, kind == Kind::kRead ? 0 : 1);
    EXPECT_EQ(counters.retransmitted_bytes, 1024);
    EXPECT_EQ(counters.dropped, 0);
    EXPECT_EQ(counters.duplicates, kind == Kind::kRead ? 1 : 0) << "of the request";
    EXPECT_EQ(counters.timeouts, 0);
  }
}

TEST(Recovery, OfLostAnswersTakesATimeout) {
  // The acknowledgement, the last packet, the NAK of a gap, a read's request, the last of its answer.
  using Rule = std::function<bool(const Packet&)>;
  const std::vector<std::pair<Kind, Rule>> rules = {
      {Kind::kWrite, [](const Packet& packet) { return packet.opcode == Opcode::kAck; }},
      {Kind::kWrite, [](const Packet& packet) { return (packet.flags & Packet::kLast) != 0; }},
      {Kind::kRead, [](const Packet& packet) { return packet.opcode == Opcode::kReadRequest; }},
      {Kind::kRead, [](const Packet& packet) { return (packet.flags & Packet::kLast) != 0 && packet.address != 0; }},
  };
  for (const auto& [kind, rule] : rules) {
    for (const Bytes reorder : {0_B, 64_KiB}) {
      BenchConfig config = lossy(0, reorder, 1);
      lose_once(config, rule);
      const Nic::Counters counters = exchange(config, kind, 1, 30'000);
      EXPECT_EQ(counters.timeouts, 1);
      EXPECT_EQ(counters.naks, 0);
    }
  }
}

TEST(Recovery, CountsAMessageOnce) {
  for (const Bytes reorder : {0_B, 64_KiB}) {
    BenchConfig config = lossy(0, reorder, 1);
    lose_once(config, [](const Packet& packet) { return (packet.flags & Packet::kLast) != 0; });
    const Nic::Counters counters = exchange(config, Kind::kWrite, 3, 30'000);
    EXPECT_EQ(counters.messages_sent, 3);
    EXPECT_EQ(counters.messages_repeated, reorder == 0_B ? 3 : 1);
  }
}

TEST(Recovery, EndsARunWithItsLastPacketNotWithItsLastTimer) {
  const auto end = [](bool recovery, Time& timer) {
    test::fresh_kernel();
    BenchConfig config;
    config.nic.recovery = recovery;
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    bench.ring_at(Time(), 0, write(pair.a, 0, 0, 30'000));
    bench.run();
    timer = bench.dispatcher.now();
    return bench.dispatcher.last_change();
  };
  Time timer;
  const Time without = end(false, timer);
  EXPECT_EQ(timer, without);
  EXPECT_EQ(end(true, timer), without);
  EXPECT_GT(timer, without);
}

TEST(Recovery, OfALostRefusalIsRefusedAgain) {
  BenchConfig config = lossy(0, 0_B, 1);
  lose_once(config, [](const Packet& packet) { return packet.opcode == Opcode::kReceiverNotReady; });
  EXPECT_EQ(exchange(config, Kind::kSend, 12, 9'000).timeouts, 1);
}

TEST(Recovery, IsNotNeededForOvertaking) {
  for (const bool recovery : {true, false}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      BenchConfig config = lossy(0, 1_MiB, seed);
      config.wire->delay = 2_us;  // twice, so still below the wait
      config.nic.recovery = recovery;
      const Nic::Counters counters = exchange(config, Kind::kMixed, 8, 30'000);
      EXPECT_GT(counters.held, 0);
      EXPECT_EQ(counters.dropped, 0);
      EXPECT_EQ(counters.duplicates, 0);
      EXPECT_EQ(counters.retransmitted_packets, 0);
    }
  }
}

TEST(Recovery, AsksForWhatFoundNoRoomToBeHeld) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    BenchConfig config = lossy(0, Bytes(static_cast<std::int64_t>(seed % 4) * 2048 + 512), seed);
    config.wire->delay = 2_us;
    config.nic.recovery = false;  // no timer would help
    const Nic::Counters counters = exchange(config, Kind::kMixed, 8, 30'000);
    EXPECT_GT(counters.dropped, 0);
  }
}

TEST(Recovery, DoesNotMistakeSlownessForLoss) {
  // 40 queue pairs share the link: each message takes several timeouts.
  BenchConfig config = lossy(0, 0_B, 1);
  config.data = false;
  config.network.link.rate = 100_Gbps;
  Bench bench(config);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Connection pair = bench.connect(0, 1);
    bench.ring_at(Time(), 0, i % 2 == 0 ? write(pair.a, 0, 0, 100'000, i) : read(pair.a, 0, 0, 100'000, i));
  }
  bench.run();
  EXPECT_EQ(bench.completions(0).size(), 40u);
  EXPECT_GT(bench.completions(0).back().at, 150_us);
  EXPECT_EQ(total(bench).timeouts, 0);
  EXPECT_EQ(total(bench).duplicates, 0);
}

TEST(Recovery, DoesNotMistakeALowRateForLoss) {
  BenchConfig config = lossy(0, 0_B, 1);
  config.nic.congestion = "dcqcn";
  auto& dcqcn = config.nic.sections.of<RateControl::Config>();
  dcqcn.minimum = Rate(40'000'000);  // 218 us for a packet
  dcqcn.cnp_interval = 1_us;
  config.wire->mark = [](const Packet&) { return true; };
  config.network.link.rate = 1_Gbps;
  const Nic::Counters counters = exchange(config, Kind::kWrite, 1, 100'000);
  EXPECT_EQ(counters.timeouts, 0);
  EXPECT_EQ(counters.duplicates, 0);
}

TEST(Recovery, EndsWhenRetriesRunOut) {
  BenchConfig config = lossy(1, 0_B, 1);
  config.nic.retry_limit = 3;
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(pair.a, 0, 0, 2048, 7));
  bench.ring_at(Time(), 0, read(pair.a, 0, 0, 2048, 8));
  bench.ring_at(1_ms, 0, write(pair.a, 0, 0, 2048, 9));
  sc_core::sc_start();
  EXPECT_EQ(bench.dispatcher.pending(), 0u);
  EXPECT_EQ(bench.packets.outstanding(), 0);
  EXPECT_EQ(bench.nics[0]->counters().timeouts, 3);
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[0].entry.id, 7u);
  EXPECT_EQ(done[0].entry.status, Status::kRetryExceeded);
  EXPECT_GE(done[0].at, 200_us);
  EXPECT_EQ(done[1].entry.status, Status::kFlushed);
  EXPECT_EQ(done[2].entry.status, Status::kFlushed);
  EXPECT_EQ(done[2].entry.id, 9u);
  EXPECT_EQ(bench.nics[0]->left_over(),
            std::vector<std::string>{
                "nic0: queue pair 0 to end 1 stands in error: retries ran out after 3, each 50us without an answer; 3 "
                "work requests failed, first a write of 2KiB"});
  EXPECT_EQ(bench.nics[0]->failures(), bench.nics[0]->left_over());
  EXPECT_EQ(bench.nics[1]->failures(), std::vector<std::string>());
}

}  // namespace
}  // namespace weft::nic
