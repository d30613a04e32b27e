// SPDX-License-Identifier: Apache-2.0
// What a loss costs a network interface: what goes again, when, and what does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/nic/nic.h"
#include "hw/nic/reliability/selective_repeat.h"
#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;

constexpr std::uint64_t kPacket = 4096;

BenchConfig long_messages(Bytes reorder) {
  BenchConfig config;
  config.network.mtu = config.network.segment = Bytes(kPacket);
  config.nic.recovery = true;
  config.nic.ack_timeout = 50_us;
  config.nic.reorder = reorder;
  config.nic.reorder_wait = 1_us;
  config.wire = test::LossyWire::Config{};
  config.data = false;
  return config;
}

/// Loses what `rule` names the first `times` times.
void lose(BenchConfig& config, int times, std::function<bool(const Packet&)> rule) {
  config.wire->lose = [rule = std::move(rule), left = std::make_shared<int>(times)](const Packet& packet) {
    if (*left == 0 || !rule(packet)) return false;
    --*left;
    return true;
  };
}

bool is_write(const Packet& packet) {
  return packet.opcode == Opcode::kWrite;
}

struct Result {
  Time done;
  Nic::Counters sender;
  Nic::Counters receiver;
};

Result run(const BenchConfig& config, const std::vector<Verb>& verbs, std::uint64_t bytes) {
  test::fresh_kernel();
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    bench.ring_at(Time(), 0, request(verbs[i], pair.a, 0, 0, bytes, i));
  }
  bench.run();
  const auto done = bench.completions(0);
  EXPECT_EQ(done.size(), verbs.size());
  EXPECT_EQ(bench.nics[1]->counters().bytes_received + bench.nics[0]->counters().bytes_received,
            static_cast<std::int64_t>(bytes * verbs.size()));
  return {done.empty() ? Time() : done.back().at, bench.nics[0]->counters(), bench.nics[1]->counters()};
}

Result run_write(const BenchConfig& config, std::uint64_t bytes) {
  return run(config, {Verb::kWrite}, bytes);
}

/// A timeout while a message is still being sent goes back, whatever stands in line.
TEST(GoBack, AtATimeoutAlsoWhileMoreIsReadAhead) {
  constexpr std::uint64_t kBytes = 16 << 20;
  const Time whole = run_write(long_messages(0_B), kBytes).done;
  ASSERT_GT(whole, 6 * 50_us) << "so that retries would run out of a sender that stands still";
  for (const bool of_nak : {false, true}) {
    BenchConfig config = long_messages(0_B);
    config.nic.retry_limit = 1;
    int packets = of_nak ? 1 : 2;  // with its repeat
    int naks = of_nak ? 1 : 0;
    config.wire->lose = [&](const Packet& packet) {
      if (packets > 0 && is_write(packet) && packet.psn == 1000) return packets-- > 0;
      return naks > 0 && packet.opcode == Opcode::kNak && naks-- > 0;
    };
    const Result result = run_write(config, kBytes);
    EXPECT_EQ(result.sender.timeouts, 1);
    // The timeout counts from the latest acknowledgement, which a NAK bears as well. Round trips are below 5 us.
    EXPECT_LT(result.done, whole + 50_us + 10_us);
    EXPECT_GT(result.done, whole + 45_us);
  }
}

/// What was read ahead of a lost packet is dropped where it stands: a loss costs the time from a packet to its repeat.
TEST(GoBack, CostsTheSameHoweverFarIsReadAhead) {
  constexpr std::uint64_t kBytes = 4 << 20;
  const auto extra = [](Bytes read_ahead) {
    BenchConfig config = long_messages(0_B);
    config.nic.read_ahead = read_ahead;
    config.nic.dma_rate = Rate(100LL * 8'000'000'000);  // twice the link's, so that all of it is here
    const Time without = run_write(config, kBytes).done;
    lose(config, 1, [](const Packet& packet) { return is_write(packet) && packet.psn == 900; });
    const Result with = run_write(config, kBytes);
    EXPECT_EQ(with.receiver.naks, 1);
    EXPECT_EQ(with.sender.timeouts, 0);
    // Counted is what has left, not what was dropped.
    EXPECT_EQ(with.sender.bytes_sent, static_cast<std::int64_t>(kBytes) + with.sender.retransmitted_bytes);
    EXPECT_EQ(with.sender.messages_sent, 1);
    EXPECT_EQ(with.sender.messages_repeated, 0);
    return with.done - without;
  };
  const Time first = extra(64_KiB);
  // From the packet's departure: it and the one after it are sent, that arrives, the NAK comes back, and the payload is
  // read again.
  BenchConfig config = long_messages(0_B);
  const Time one = run_write(config, kPacket).done;  // doorbell, read, there, acknowledgement, completion
  EXPECT_LT(first, one);
  EXPECT_GT(first, config.nic.read_latency + 2 * config.network.link.propagation);
  for (const Bytes read_ahead : {256_KiB, 1_MiB, 2_MiB}) EXPECT_EQ(extra(read_ahead), first) << read_ahead.count();
}

/// A refusal is a reason to go back as well.
TEST(GoBack, DropsWhatWasReadAheadOfARefusal) {
  for (const bool recovery : {false, true}) {
    BenchConfig config = long_messages(0_B);
    config.nic.recovery = recovery;
    config.nic.read_ahead = 4_MiB;
    test::fresh_kernel();
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    bench.ring_at(Time(), 0, send(pair.a, 0, 4 << 20, 1));
    bench.ring_at(5_us, 1, receive(pair.b, 0, 4 << 20, 2));
    bench.run();
    // Until the refusal comes, in a round trip of at most 4 us.
    EXPECT_LT(bench.nics[0]->counters().bytes_sent, (4 << 20) + 50'000 * 4);
    EXPECT_EQ(bench.nics[0]->counters().messages_sent, 1);
    EXPECT_EQ(bench.nics[0]->counters().messages_repeated, 0);
  }
}

/// A repeat that is lost too is asked for again when something has come that left after it.
TEST(SelectiveRepeat, OfARepeatThatIsLostTakesNoTimeout) {
  for (int times = 1; times <= 4; ++times) {
    for (const Time wait : {Time(), 1_us, 5_us}) {
      SCOPED_TRACE(std::to_string(times) + " times, " + to_text(wait));
      BenchConfig config = long_messages(64_MiB);
      config.nic.reorder_wait = wait;
      lose(config, times, [](const Packet& packet) { return is_write(packet) && packet.psn == 100; });
      const Result result = run_write(config, 8 << 20);
      EXPECT_EQ(result.sender.timeouts, 0);
      EXPECT_EQ(result.sender.retransmitted_packets, times) << "each once";
      EXPECT_EQ(result.receiver.duplicates, 0);
      EXPECT_EQ(result.receiver.dropped, 0);
      // A wait is longer than a round trip: the first packet after a NAK left before the repeat, the next one after it.
      if (wait >= 5_us) {
        EXPECT_EQ(result.receiver.naks, 2 * times - 1);
      }
    }
  }
}

TEST(SelectiveRepeat, OfALostNakTakesNoTimeout) {
  BenchConfig config = long_messages(64_MiB);
  bool missing = false;
  bool nak = false;
  config.wire->lose = [&](const Packet& packet) {
    if (!missing && is_write(packet) && packet.psn == 100) return missing = true;
    if (!nak && packet.opcode == Opcode::kNak) return nak = true;
    return false;
  };
  const Result result = run_write(config, 8 << 20);
  EXPECT_TRUE(missing && nak);
  EXPECT_EQ(result.sender.timeouts, 0);
  EXPECT_EQ(result.sender.retransmitted_packets, 1);
}

/// At any rate of loss each packet goes as often as it is lost, and once more; the tail of a message takes timeouts.
TEST(SelectiveRepeat, SendsNothingThatHasArrived) {
  for (const double loss : {0.001, 0.01, 0.1}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      BenchConfig config = long_messages(64_MiB);
      config.wire->loss = loss;
      config.wire->seed = seed;
      const Result result = run_write(config, 16 << 20);
      if (result.sender.timeouts == 0) {
        EXPECT_EQ(result.receiver.duplicates, 0) << loss << " " << seed;
      }
      EXPECT_LE(result.sender.timeouts, 2) << loss << " " << seed;
    }
  }
}

/// What is still to be answered of a long read is not lost with the repeat of what is missing before it.
TEST(SelectiveRepeat, OfALongReadRepeatsOnlyWhatIsMissing) {
  for (const int times : {1, 2}) {
    for (const std::size_t reads : {1, 3}) {
      if (times == 2 && reads == 1) continue;  // nothing after it shows that the repeat is lost
      SCOPED_TRACE(std::to_string(times) + " times, reads " + std::to_string(reads));
      BenchConfig config = long_messages(64_MiB);
      config.nic.ack_timeout = 1_ms;
      lose(config, times, [](const Packet& packet) {
        return packet.opcode == Opcode::kReadResponse && packet.address == 50 * kPacket;
      });
      const Result result = run(config, std::vector<Verb>(reads, Verb::kRead), 2 << 20);
      EXPECT_EQ(result.sender.timeouts, 0);
      EXPECT_EQ(result.receiver.retransmitted_bytes, times * static_cast<int>(kPacket));
    }
  }
}

TEST(GapsAndRepeats, AreThoseOfAReference) {
  std::mt19937 random(1);
  const auto draw = [&](std::uint32_t below) { return random() % below; };
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t first = UINT32_MAX - draw(50);
    Gaps gaps(first);
    std::set<std::uint32_t> here;  // from `first` on
    std::uint32_t expected = 0;
    std::uint32_t end = 0;
    for (int step = 0; step < 60; ++step) {
      const std::uint32_t psn = expected + draw(40);
      if (psn == expected || here.count(psn) != 0) {
        here.insert(psn);
        while (here.count(expected) != 0) ++expected;
        gaps.begin_at(first + expected);
        end = std::max(end, expected);
      } else {
        EXPECT_EQ(gaps.fill(first + psn), psn >= end);
        here.insert(psn);
        end = std::max(end, psn + 1);
      }
      std::vector<std::pair<std::uint32_t, std::uint32_t>> missing;
      for (std::uint32_t i = expected; i < end; ++i) {
        if (here.count(i) != 0) continue;
        if (missing.empty() || missing.back().second != first + i) missing.emplace_back(first + i, first + i);
        ++missing.back().second;
      }
      ASSERT_EQ(gaps.size(), missing.size());
      for (std::size_t i = 0; i < missing.size(); ++i) {
        EXPECT_EQ(gaps[i].psn, missing[i].first);
        EXPECT_EQ(gaps[i].end, missing[i].second);
      }
      EXPECT_EQ(gaps.end(), first + end);
    }
    // A number is asked for: it leaves again unless it is about to, or has left since `newest` did.
    Repeats repeats;
    std::map<std::uint32_t, std::uint32_t> left;  // which packet left next
    std::vector<std::uint32_t> line;
    std::uint32_t next = 100;
    for (int step = 0; step < 60; ++step) {
      if (draw(2) == 0) {
        const std::uint32_t from = draw(80);
        const std::uint32_t until = from + 1 + draw(6);
        const std::uint32_t newest = next - 1 - draw(6);
        repeats.ask(first + from, first + until, first + newest);
        for (std::uint32_t i = from; i < until; ++i) {
          if (std::find(line.begin(), line.end(), i) != line.end()) continue;
          if (left.count(i) != 0 && newest < left.at(i)) continue;
          line.push_back(i);
        }
      } else if (!line.empty()) {
        // All of a range leave before the next packet that has never left.
        for (const std::uint32_t i : line) {
          ASSERT_FALSE(repeats.empty());
          EXPECT_EQ(repeats.front(), first + i);
          repeats.take(first + next);
          left[i] = next;
        }
        line.clear();
        EXPECT_TRUE(repeats.empty());
      }
      next += draw(4);
    }
  }
}

}  // namespace
}  // namespace weft::nic
