// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/benches/nic_bench.h"
#include "tests/support/random_network.h"

/// Messages at random, for networks at random.
namespace weft::test {

struct Message {
  nic::Verb verb;
  std::size_t from;  ///< who posts it
  std::size_t to;
  std::uint64_t local;
  std::uint64_t remote;
  std::uint64_t bytes;

  /// Who has its bytes in the end, and where.
  [[nodiscard]] std::size_t taker() const { return verb == nic::Verb::kRead ? from : to; }
  [[nodiscard]] std::uint64_t place() const { return verb == nic::Verb::kRead ? local : remote; }
};

struct MessageLimits {
  int least_pairs = 1;
  int pairs = 6;
  int messages = 5;  ///< of each pair
  int bytes = 20'000;
  int gap_us = 8;  ///< between two of a pair
  std::vector<nic::Verb> verbs = {nic::Verb::kWrite, nic::Verb::kSend, nic::Verb::kRead};
};

/// Messages between random ends, through queue pairs of their own; each has its place in both memories.
inline std::vector<Message> draw_messages(Draw& draw, nic::test_bench::Bench& bench, const MessageLimits& limits) {
  using nic::Verb;
  std::vector<Message> messages;
  const auto ends = static_cast<int>(bench.nics.size());
  std::uint64_t place = 0;
  for (int pairs = draw(limits.least_pairs, limits.pairs); pairs > 0; --pairs) {
    const int a = draw(0, ends - 1);
    const int b = (a + draw(1, ends - 1)) % ends;
    const auto from = static_cast<std::size_t>(a);
    const auto to = static_cast<std::size_t>(b);
    const nic::test_bench::Connection pair = bench.connect(from, to);
    Time at;  // rising, since receives are taken in their order
    for (int i = draw(1, limits.messages); i > 0; --i) {
      const auto bytes = static_cast<std::uint64_t>(draw(1, limits.bytes));
      const Message message{draw.of<Verb>(limits.verbs), from, to, place, place + 32'768, bytes};
      place += 65'536;
      at += Time(draw(0, limits.gap_us) * 1'000'000);
      const bool reads = message.verb == Verb::kRead;
      bench.store(reads ? to : from, reads ? message.remote : message.local,
                  pattern_bytes(bytes, static_cast<unsigned>(messages.size())));
      if (message.verb == Verb::kSend) {
        bench.ring_at(Time(), to, nic::test_bench::receive(pair.b, message.remote, bytes));
      }
      bench.ring_at(
          at, from,
          nic::test_bench::request(message.verb, pair.a, message.local, message.remote, bytes, messages.size()));
      messages.push_back(message);
    }
  }
  return messages;
}

/// Whether the bytes of message `index` are where they belong.
inline bool has_arrived(nic::test_bench::Bench& bench, const Message& message, std::size_t index) {
  return bench.load(message.taker(), message.place(), message.bytes) ==
         pattern_bytes(message.bytes, static_cast<unsigned>(index));
}

/// All messages are in place, and nothing is left anywhere.
inline void expect_all_arrived(nic::test_bench::Bench& bench, const std::vector<Message>& messages) {
  for (std::size_t m = 0; m < messages.size(); ++m) EXPECT_TRUE(has_arrived(bench, messages[m], m)) << "message " << m;
  for (const auto& nic : bench.nics) EXPECT_EQ(nic->left_over(), std::vector<std::string>());
  EXPECT_EQ(bench.network.left_over(), std::vector<std::string>());
  EXPECT_EQ(bench.packets.outstanding(), 0);
  EXPECT_EQ(bench.packets.payloads_outstanding(), 0);
  EXPECT_EQ(bench.dispatcher.pending(), 0u);
}

}  // namespace weft::test
