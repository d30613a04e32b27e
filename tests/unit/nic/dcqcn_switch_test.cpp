// SPDX-License-Identifier: Apache-2.0
// DCQCN end to end: switches that mark by the depth of their queues, and interfaces that slow down.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;

constexpr Time kFrom = 200_ms;  // the shares count from here
constexpr Time kUntil = 300_ms;
constexpr Rate kRate = 40_Gbps;
const fabric::MarkingConfig kMarking = {5_KiB, 200_KiB, 0.01};
constexpr double kPayload = 4096.0 / (4096 + 66);

/// The network of the paper's section 6: 40 Gb/s, PFC, and its marking. The first `flows` ends send to the last one.
BenchConfig paper(int ends) {
  BenchConfig config;
  config.ends = ends;
  config.data = false;
  fabric::LinkConfig& link = config.network.link;
  link.rate = kRate;
  link.propagation = 500_ns;
  link.lanes = 1;
  link.buffer = 16_KiB;
  link.flow_control = fabric::FlowControl::kPfc;
  config.network.switch_config.buffer.shared = 12_MiB;
  config.network.switch_config.marking = kMarking;
  config.nic.congestion = "dcqcn";
  return config;
}

/// What one run came to.
struct Outcome {
  std::vector<double> shares;  ///< of the bottleneck's payload rate, by flow
  double sum = 0;
  double jain = 0;  ///< Jain's index of fairness
  std::int64_t mean_queue = 0;
  std::int64_t most_queued = 0;
  std::int64_t pauses = 0;
};

class Shared {
 public:
  explicit Shared(const BenchConfig& config) : bench(config) {}

  /// A write without end, from `at` on.
  void flow(std::size_t from, std::size_t to, Time at) {
    const Connection pair = bench.connect(from, to);
    bench.ring_at(at, from, write(pair.a, 0, 0, std::uint64_t{8} << 30));
    senders.push_back(from);
  }
  /// `sw` is the switch with the queue.
  Outcome run(std::size_t sw) {
    constexpr Time kSample = 10_us;
    Outcome outcome;
    std::vector<std::int64_t> before(senders.size());
    std::int64_t queued = 0;
    std::int64_t samples = 0;
    bench.script.at(kFrom, [&] {
      for (std::size_t f = 0; f < senders.size(); ++f) before[f] = sent(f);
    });
    for (Time at = kFrom; at < kUntil; at += kSample) {
      bench.script.at(at, [&] {
        const std::int64_t held = dynamic_cast<fabric::Switch&>(bench.network.switch_at(sw)).buffer()->held();
        queued += held;
        ++samples;
        outcome.most_queued = std::max(outcome.most_queued, held);
      });
    }
    bench.dispatcher.run_until(kUntil);
    outcome.mean_queue = queued / samples;
    const double all = static_cast<double>((kUntil - kFrom).count()) * 1e-12 * kRate.count() / 8 * kPayload;
    double squares = 0;
    for (std::size_t f = 0; f < senders.size(); ++f) {
      outcome.shares.push_back(static_cast<double>(sent(f) - before[f]) / all);
      outcome.sum += outcome.shares.back();
      squares += outcome.shares.back() * outcome.shares.back();
    }
    outcome.jain = outcome.sum * outcome.sum / (static_cast<double>(senders.size()) * squares);
    fabric::AnySwitch& bottleneck = bench.network.switch_at(sw);
    for (std::size_t p = 0; p < bottleneck.radix(); ++p) outcome.pauses += bottleneck.port_counters(p).pauses;
    return outcome;
  }

  Bench bench;
  std::vector<std::size_t> senders;

 private:
  [[nodiscard]] std::int64_t sent(std::size_t flow) const { return bench.nics[senders[flow]]->counters().bytes_sent; }
};

void expect_converged(const Outcome& outcome, double apart) {
  const double mean = outcome.sum / static_cast<double>(outcome.shares.size());
  for (const double share : outcome.shares) EXPECT_NEAR(share / mean, 1, apart);
  EXPECT_GT(outcome.jain, 0.99);
  EXPECT_GT(outcome.sum, 0.95);
  EXPECT_LE(outcome.sum, 1.001);
  // Between the thresholds: marking holds it, not the end of the buffer.
  EXPECT_GT(outcome.mean_queue, kMarking.min.count());
  EXPECT_LT(outcome.mean_queue, kMarking.max.count() / 2);
  EXPECT_LT(outcome.most_queued, 2 * kMarking.max.count());
  EXPECT_EQ(outcome.pauses, 0);
}

class Flows : public testing::TestWithParam<int> {};

TEST_P(Flows, OfDifferentInputsConverge) {
  const int flows = GetParam();
  const auto sink = static_cast<std::size_t>(flows);
  Shared shared(paper(flows + 1));
  for (std::size_t f = 0; f < sink; ++f) shared.flow(f, sink, static_cast<std::int64_t>(f) * 1_ms);
  expect_converged(shared.run(0), 0.1);
}

TEST_P(Flows, WithoutItFillTheBufferAndPause) {
  const int flows = GetParam();
  const auto sink = static_cast<std::size_t>(flows);
  BenchConfig config = paper(flows + 1);
  config.nic.congestion = "none";
  Shared shared(config);
  for (std::size_t f = 0; f < sink; ++f) shared.flow(f, sink, Time());
  const Outcome outcome = shared.run(0);
  EXPECT_GT(outcome.mean_queue, 2 * kMarking.max.count());
  EXPECT_GT(outcome.pauses, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, Flows, testing::Values(2, 4, 16));

/// Flows that come further share an input with others at each switch. Taking turns among inputs gives the last one to
/// join half of the link, the one before a quarter, and so on; rate control gives each its own share.
TEST(ParkingLot, FlowsThatShareInputsConverge) {
  const auto shares = [](bool controlled) {
    test::fresh_kernel();
    BenchConfig config = paper(5);
    config.network.topology = fabric::Shape::kGraph;
    config.network.routing = fabric::Routing::kUpDown;
    for (const char* between :
         {"end0 - s0", "end1 - s0", "end2 - s1", "end3 - s2", "end4 - s2", "s0 - s1", "s1 - s2"}) {
      config.network.edges.push_back({between, config.network.link, 1});
    }
    config.nic.congestion = controlled ? "dcqcn" : "none";
    Shared shared(config);
    for (std::size_t f = 0; f < 4; ++f) shared.flow(f, 4, static_cast<std::int64_t>(f) * 1_ms);
    std::size_t last = 0;
    while (shared.bench.network.topology().switches[last].name != "s2") ++last;
    return shared.run(last);
  };
  expect_converged(shares(true), 0.2);
  const Outcome turns = shares(false);
  constexpr std::array<double, 4> kByTurns = {1.0 / 8, 1.0 / 8, 1.0 / 4, 1.0 / 2};
  for (std::size_t f = 0; f < 4; ++f) {
    EXPECT_NEAR(turns.shares[f] / kByTurns[f], 1, 0.01) << f;
  }
}

}  // namespace
}  // namespace weft::nic
