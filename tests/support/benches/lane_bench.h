// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/random.h"
#include "hw/fabric/reduction/reduction_model.h"
#include "hw/rtl/reduction_lane.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

namespace weft::test {

/// An engine, and the model with the same operands to compare with.
class EngineBench {
 public:
  using Config = fabric::ReductionEngine::Config;
  using Maker = std::function<std::unique_ptr<fabric::ReductionEngine>(const fabric::ReductionSite&)>;
  struct Sum {
    std::uint32_t psn;
    std::uint32_t source;
    Time head;
    Time whole;
    std::vector<std::byte> bytes;
  };

  struct Release {
    std::uint16_t port;
    Time gone;

    bool operator==(const Release&) const = default;
  };

  explicit EngineBench(const Config& with = {}, const Maker& make = fabric::make_reduction_engine)
      : dispatcher("dispatcher"), script("script", dispatcher), config(with) {
    config.trees = 4;
    model = std::make_unique<fabric::ReductionModel>(config, 8, packets);
    const auto pass_on = [this](Packet& sum, Time head) {
      sums.push_back({sum.psn, sum.source, head, dispatcher.now(), bytes_of(sum)});
      const Time now = std::max(gone, dispatcher.now());
      gone = now + sum_takes;
      engine->left(sum.payload_bytes, gone);
      packets.give_back(&sum);
    };
    const auto release = [this](const fabric::ReductionSite::Held& held, Time at) {
      EXPECT_GE(at, dispatcher.now());
      releases.push_back({held.port, at});
    };
    engine = make(fabric::ReductionSite{config, 8, dispatcher, packets, pass_on, release});
  }

  void open(std::uint32_t group, const std::vector<std::uint16_t>& children, bool streaming = true) {
    const fabric::ReductionEngine::Tree tree{children, 16, streaming, false};
    EXPECT_TRUE(engine->open(group, tree));
    EXPECT_TRUE(model->open(group, tree));
  }
  /// An operand that begins to come at `at` and takes `lag`. The model gets the same one.
  void take(Time at, std::uint32_t group, std::uint16_t port, std::uint32_t psn, std::vector<std::byte> bytes,
            Time lag = Time(), ElementType type = ElementType::kFp32, bool data = true) {
    script.at(at, [=, this] {
      const auto outcome = engine->take(group, port, *operand(port, psn, bytes, lag, type, data), at);
      EXPECT_EQ(outcome.consumed, config.operand_buffer > Bytes() ? kNever : at + lag);
      EXPECT_EQ(outcome.sum, nullptr);
      Packet* sum = model->take(group, port, *operand(port, psn, bytes, lag, type, data), at).sum;
      if (sum == nullptr) return;
      expected.push_back({sum->psn, sum->source, Time(), Time(), bytes_of(*sum)});
      packets.give_back(sum);
    });
  }
  void run() {
    sc_core::sc_start();
    EXPECT_EQ(engine->open_chunks(), 0U);
    EXPECT_EQ(packets.outstanding(), 0);
    EXPECT_EQ(packets.payloads_outstanding(), 0);
    EXPECT_EQ(sums.size(), expected.size());
    for (const Sum& sum : sums) {
      const auto found = std::find_if(expected.begin(), expected.end(), [&sum](const Sum& each) {
        return each.psn == sum.psn;  // of all groups
      });
      ASSERT_NE(found, expected.end());
      EXPECT_EQ(sum.source, found->source) << "chunk " << sum.psn;
      EXPECT_EQ(sum.bytes, found->bytes) << "chunk " << sum.psn;
    }
  }

  PacketPool packets;
  Dispatcher dispatcher;
  test::Script script;
  Config config;
  std::unique_ptr<fabric::ReductionModel> model;
  std::unique_ptr<fabric::ReductionEngine> engine;
  Time sum_takes;  ///< through the output of a switch, one after the other
  Time gone;
  std::vector<Sum> sums;
  std::vector<Release> releases;
  std::vector<Sum> expected;

 private:
  static std::vector<std::byte> bytes_of(const Packet& packet) {
    if (packet.payload == nullptr) return {};
    return {packet.payload, packet.payload + packet.payload_bytes};
  }
  Packet* operand(std::uint16_t port, std::uint32_t psn, const std::vector<std::byte>& bytes, Time lag,
                  ElementType type, bool data) {
    Packet* packet = packets.take();
    packet->source = packet->ingress = port;
    packet->psn = psn;
    packet->opcode = Opcode::kReduce;
    packet->queue_pair = static_cast<std::uint32_t>(type);
    packet->payload_bytes = static_cast<std::uint32_t>(bytes.size());
    packet->wire_bytes = packet->payload_bytes + 64;
    packet->tail_lag_ps = static_cast<std::uint32_t>(lag.count());
    if (bytes.empty() || !data) return packet;
    packets.attach_payload(*packet, packet->payload_bytes);
    std::memcpy(packet->payload, bytes.data(), bytes.size());
    return packet;
  }
};

/// The adapter with a lane.
template <typename Lane, std::size_t kChildren, std::size_t kBytes>
class LaneBench : public EngineBench {
 public:
  explicit LaneBench(const Config& with = {}) : EngineBench(with, &LaneBench::make) {}
  explicit LaneBench(Frequency clock) : LaneBench(at(clock)) {}

 private:
  static Config at(Frequency clock) {
    Config with;
    with.clock = clock;
    return with;
  }
  static std::unique_ptr<fabric::ReductionEngine> make(const fabric::ReductionSite& site) {
    const fabric::PinsMaker pins = [](auto& clk, auto& reset) {
      return std::make_unique<rtl::ReductionLane<Lane, kChildren, kBytes>>(clk, reset);
    };
    return std::make_unique<fabric::ReductionLaneEngine>("reduction", fabric::LaneShape{kChildren, kBytes}, pins, site);
  }
};

/// fp32 numbers of any size, so that the order of addition shows in the sum.
inline std::vector<std::byte> numbers(Random& random, std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
    const auto value = std::ldexp(static_cast<float>(random.share()) - 0.5F, static_cast<int>(random.next() % 40) - 20);
    std::memcpy(&all[i], &value, 4);
  }
  return all;
}

/// Chunks of trees of different children and element types, members that abstain, odd sizes, operands that come at
/// random times. Returns when the sums began to leave.
template <typename Bench>
std::vector<Time> add_at_random(Bench& bench, std::uint32_t chunks, bool data) {
  const std::vector<std::vector<std::uint16_t>> trees = {{0, 1, 2, 3}, {1, 5}, {2, 4, 7}, {6}};
  Random random(3, "");
  for (std::uint32_t group = 0; group < trees.size(); ++group) bench.open(group, trees[group], group != 2);
  for (std::uint32_t psn = 0; psn < chunks; ++psn) {
    const auto group = static_cast<std::uint32_t>(random.next() % trees.size());
    const auto type = static_cast<ElementType>(random.next() % 4);
    const std::size_t bytes = 4 * (random.next() % 200);
    for (const std::uint16_t port : trees[group]) {
      const Time at = Time(1'000'000 + static_cast<std::int64_t>(random.next() % (30'000 * chunks)));
      const Time lag = Time(static_cast<std::int64_t>(random.next() % 300'000));
      const bool abstains = random.next() % 5 == 0;
      bench.take(at, group, port, psn, numbers(random, abstains ? 0 : bytes), lag, type, data);
    }
  }
  bench.run();
  std::vector<Time> heads;
  for (const auto& sum : bench.sums) {
    heads.push_back(sum.head);
    EXPECT_GE(sum.whole, sum.head);
  }
  return heads;
}

}  // namespace weft::test
