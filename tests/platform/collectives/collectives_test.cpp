// SPDX-License-Identifier: Apache-2.0
// Collectives on whole machines: every byte where it belongs, none too many on the wire, at the speed of the ring
// bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/benches/ideal.h"
#include "tests/support/kernel.h"
#include "tests/support/reports.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::AlgorithmName;

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSlowBuild = true;
#else
constexpr bool kSlowBuild = false;
#endif

struct Shape {
  int ranks;
  int per_node;
  AlgorithmName algorithm;
};

std::string name_of(const Shape& shape) {
  return std::to_string(shape.ranks) + "x" + std::to_string(shape.per_node) +
         (shape.algorithm == "ring" ? "Ring" : "Hierarchical");
}

std::string name_of(CollectiveOp op) {
  std::string name;
  for (const auto& [text, value] : enum_names(op)) {
    if (value == op) name = text;
  }
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
}

MachineConfig machine_of(const Shape& shape) {
  MachineConfig config;
  config.accelerators = shape.ranks;
  config.per_node = shape.per_node;
  config.collectives.algorithm = shape.algorithm;
  config.data = true;
  return config;
}

/// Payload bytes that all interfaces put on wires, and that all took from them.
struct Moved {
  std::int64_t sent = 0;
  std::int64_t received = 0;
};

Moved moved(Machine& machine) {
  Moved sum;
  const auto add = [&sum](const nic::AnyNic& nic) {
    sum.sent += nic.counters().bytes_sent;
    sum.received += nic.counters().bytes_received;
  };
  for (int r = 0; r < machine.size(); ++r) {
    add(machine.nic(r));
    if (const nic::AnyNic* port = machine.scale_up_port(r)) add(*port);
  }
  return sum;
}

/// What `op` on `bytes` moves at the least, summed over ranks; each of the algorithms reaches it.
std::int64_t least_traffic(CollectiveOp op, int ranks, std::uint64_t bytes) {
  return (op == CollectiveOp::kAllReduce ? 2 : 1) * (ranks - 1) * static_cast<std::int64_t>(bytes);
}

struct Outcome {
  std::vector<CollectiveResult> results;
  Moved bytes;
  std::uint64_t digest = 0;
  std::uint64_t events = 0;
};

Outcome collective(const MachineConfig& config, CollectiveOp op, const std::vector<std::uint64_t>& sizes,
                   ElementType type = ElementType::kFp32) {
  Machine machine(config);
  Outcome outcome;
  outcome.results = run_collective(machine, op, sizes, type);
  outcome.bytes = moved(machine);
  outcome.digest = machine.dispatcher().digest();
  outcome.events = machine.dispatcher().handled();
  return outcome;
}

/// run_collective repeats the first size once to open connections.
std::int64_t least_traffic(CollectiveOp op, int ranks, const std::vector<std::uint64_t>& sizes) {
  std::int64_t sum = least_traffic(op, ranks, sizes.front());
  for (const std::uint64_t bytes : sizes) sum += least_traffic(op, ranks, bytes);
  return sum;
}

const std::vector<std::uint64_t> kSizes = {3, 0, 1, 1000, 65537, (1 << 20) + 5};

class Collectives : public testing::TestWithParam<std::tuple<CollectiveOp, Shape>> {};

TEST_P(Collectives, PutEveryByteInPlaceAndMoveNoneTwice) {
  const auto& [op, shape] = GetParam();
  const Outcome outcome = collective(machine_of(shape), op, kSizes);
  ASSERT_EQ(outcome.results.size(), kSizes.size());
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    EXPECT_EQ(outcome.results[i].bytes, kSizes[i]);
    EXPECT_EQ(outcome.results[i].wrong, 0) << kSizes[i] << " bytes";
    EXPECT_GT(outcome.results[i].time, Time()) << kSizes[i] << " bytes";
  }
  EXPECT_EQ(outcome.bytes.sent, least_traffic(op, shape.ranks, kSizes));
  EXPECT_EQ(outcome.bytes.received, outcome.bytes.sent);
}

const Shape kShapes[] = {
    {1, 1, "ring"},          {2, 1, "ring"},          {3, 1, "ring"},          {5, 1, "ring"},
    {8, 1, "ring"},          {16, 1, "ring"},         {2, 2, "ring"},          {4, 2, "ring"},
    {8, 4, "ring"},          {16, 4, "ring"},         {12, 4, "ring"},         {4, 2, "hierarchical"},
    {6, 3, "hierarchical"},  {8, 4, "hierarchical"},  {10, 2, "hierarchical"}, {12, 4, "hierarchical"},
    {16, 4, "hierarchical"}, {16, 8, "hierarchical"},
};

INSTANTIATE_TEST_SUITE_P(
    All, Collectives,
    testing::Combine(testing::Values(CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce),
                     testing::ValuesIn(kShapes)),
    [](const auto& test) { return name_of(std::get<0>(test.param)) + name_of(std::get<1>(test.param)); });

TEST(RingOrder, ChangesWhoSendsToWhomAndNoSum) {
  for (const int per_node : {1, 4}) {
    for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce}) {
      test::fresh_kernel();
      MachineConfig config = machine_of({8, per_node, "ring"});
      const Outcome own = collective(config, op, kSizes);
      test::fresh_kernel();
      config.collectives.order = {0, 2, 3, 1};
      const Outcome ordered = collective(config, op, kSizes);
      for (const CollectiveResult& result : ordered.results) EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
      EXPECT_EQ(ordered.bytes.sent, own.bytes.sent);
      EXPECT_NE(ordered.digest, own.digest);
    }
  }
}

// Two leaves of four behind a link each: in the machine's order two of a ring's hops leave a leaf, in the other all.
TEST(RingOrder, ThatLeavesALeafAtEveryHopIsSlower) {
  MachineConfig config = machine_of({8, 1, "ring"});
  config.collectives.channels = 1;
  config.fabric.topology = fabric::Shape::kFatTree;
  config.fabric.radix = 8;
  config.fabric.hosts_per_leaf = 4;
  config.fabric.uplinks = 1;
  const std::vector<std::uint64_t> size = {8 << 20};
  const Time own = collective(config, CollectiveOp::kAllgather, size).results[0].time;
  test::fresh_kernel();
  config.collectives.order = {0, 4, 1, 5, 2, 6, 3, 7};
  EXPECT_GT(collective(config, CollectiveOp::kAllgather, size).results[0].time, 3 * own);
}

TEST(RingOrder, ErrorsNameTheField) {
  const auto refusal = [](const std::vector<int>& order) {
    MachineConfig config = machine_of({6, 1, "ring"});
    config.collectives.order = order;
    test::fresh_kernel();
    try {
      collective(config, CollectiveOp::kAllgather, {4});
    } catch (const ConfigError& error) {
      return error.path() + ": " + error.expected();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({0, 2, 2}), "collectives.order: expected each of the positions 0 to 2 once, got 0, 2, 2");
  EXPECT_EQ(refusal({1, 3}), "collectives.order: expected each of the positions 0 to 1 once, got 1, 3");
  EXPECT_EQ(refusal({0, 2, 3, 1}),
            "collectives.order: expected as many positions as divide the 6 members of collectives, got 4");
}

/// A chunk, a slot count, a channel count: the corners of the pipeline.
struct Pipeline {
  int channels;
  Bytes chunk;
  int slots;
};

class Pipelines : public testing::TestWithParam<std::tuple<Shape, Pipeline>> {};

TEST_P(Pipelines, AllReduceHoldsForAnyChunkingAndNumberOfSlots) {
  const auto& [shape, pipeline] = GetParam();
  MachineConfig config = machine_of(shape);
  config.collectives.channels = pipeline.channels;
  config.collectives.chunk = pipeline.chunk;
  config.collectives.slots = pipeline.slots;
  const std::vector<std::uint64_t> sizes = {40'000, 4, 77'777};
  const Outcome outcome = collective(config, CollectiveOp::kAllReduce, sizes);
  for (const CollectiveResult& result : outcome.results) EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
  EXPECT_EQ(outcome.bytes.sent, least_traffic(CollectiveOp::kAllReduce, shape.ranks, sizes));
}

INSTANTIATE_TEST_SUITE_P(Corners, Pipelines,
                         testing::Combine(testing::Values(Shape{5, 1, "ring"}, Shape{8, 4, "ring"},
                                                          Shape{12, 4, "hierarchical"}, Shape{6, 3, "hierarchical"}),
                                          testing::Values(Pipeline{1, 256_B, 2}, Pipeline{1, 1_KiB, 3},
                                                          Pipeline{3, 512_B, 5}, Pipeline{7, 4_KiB, 2},
                                                          Pipeline{16, 256_B, 64}, Pipeline{1, 1_MiB, 2})),
                         [](const auto& test) {
                           const Pipeline& p = std::get<1>(test.param);
                           return name_of(std::get<0>(test.param)) + "Channels" + std::to_string(p.channels) + "Chunk" +
                                  std::to_string(p.chunk.count()) + "Slots" + std::to_string(p.slots);
                         });

class ElementTypes : public testing::TestWithParam<ElementType> {};

TEST_P(ElementTypes, AllReduceAdds) {
  for (const AlgorithmName algorithm : {"ring", "hierarchical"}) {
    const Outcome outcome =
        collective(machine_of({8, 4, algorithm}), CollectiveOp::kAllReduce, {1000, 65538, 300'000}, GetParam());
    for (const CollectiveResult& result : outcome.results) EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
    test::fresh_kernel();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ElementTypes,
                         testing::Values(ElementType::kFp32, ElementType::kBf16, ElementType::kInt32,
                                         ElementType::kFp16),
                         [](const auto& test) {
                           return std::string(enum_names(ElementType())[static_cast<std::size_t>(test.param)].first);
                         });

class Networks : public testing::TestWithParam<fabric::Shape> {};

TEST_P(Networks, CarryCollectives) {
  for (const std::int64_t segment : {4096, 65536}) {
    MachineConfig config = machine_of({12, 1, "ring"});
    config.fabric.topology = GetParam();
    config.fabric.hosts_per_leaf = 4;
    config.fabric.radix = 8;
    config.fabric.segment = Bytes(segment);
    config.fabric.routing = segment == 4096 ? fabric::Routing::kDmodk : fabric::Routing::kEcmp;
    const std::vector<std::uint64_t> sizes = {200'000};
    const Outcome outcome = collective(config, CollectiveOp::kAllReduce, sizes);
    EXPECT_EQ(outcome.results[0].wrong, 0);
    EXPECT_EQ(outcome.bytes.sent, least_traffic(CollectiveOp::kAllReduce, 12, sizes));
    test::fresh_kernel();
  }
}

INSTANTIATE_TEST_SUITE_P(All, Networks,
                         testing::Values(fabric::Shape::kSwitch, fabric::Shape::kRing, fabric::Shape::kFatTree),
                         [](const auto& test) { return "Shape" + std::to_string(static_cast<int>(test.param)); });

// --- Random stalls change when things happen, never what is in memory. ---

struct Stalled {
  Time limit;
  std::int64_t seed;
};

class Stalls : public testing::TestWithParam<std::tuple<CollectiveOp, Shape, Stalled>> {};

TEST_P(Stalls, ChangeOnlyTimes) {
  const auto& [op, shape, stalled] = GetParam();
  MachineConfig config = machine_of(shape);
  config.collectives.chunk = 16_KiB;
  config.seed = stalled.seed;
  const std::vector<std::uint64_t> sizes = {70'001, 1, 300'000};
  const Outcome calm = collective(config, op, sizes);
  test::fresh_kernel();
  config.stall = stalled.limit;
  const Outcome rough = collective(config, op, sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(rough.results[i].wrong, 0) << sizes[i] << " bytes";
    EXPECT_GT(rough.results[i].time, calm.results[i].time) << sizes[i] << " bytes";
  }
  EXPECT_EQ(rough.bytes.sent, calm.bytes.sent);
  EXPECT_EQ(rough.bytes.received, calm.bytes.received);
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, Stalls,
    testing::Combine(testing::Values(CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce),
                     testing::Values(Shape{5, 1, "ring"}, Shape{8, 4, "hierarchical"}),
                     testing::Values(Stalled{100_ns, 1}, Stalled{1_us, 2}, Stalled{5_us, 3}, Stalled{1_us, 4})),
    [](const auto& test) {
      const Stalled& s = std::get<2>(test.param);
      return name_of(std::get<0>(test.param)) + name_of(std::get<1>(test.param)) + "Upto" +
             std::to_string(s.limit.count() / 1000) + "nsSeed" + std::to_string(s.seed);
    });

// --- Time ---

MachineConfig ideal_ring(int ranks) {
  MachineConfig config;
  config.accelerators = ranks;
  config.per_node = 1;
  config.fabric.topology = fabric::Shape::kRing;
  config.fabric.link.rate = 400_Gbps;
  config.fabric.link.lanes = 2;
  test::leave_links_alone(config);
  return config;
}

TEST(Ring, AllReduceRunsAtTheBoundOnAnIdealRing) {
  constexpr int kRanks = 8;
  constexpr std::uint64_t kBytes = kSlowBuild ? 64ULL << 20 : 1ULL << 30;
  const MachineConfig config = ideal_ring(kRanks);
  // Each rank's link carries every block but one, twice: 2 (n - 1) / n of the buffer.
  const Time bound =
      transfer_time(Bytes(static_cast<std::int64_t>(2 * (kRanks - 1) * (kBytes / kRanks))), config.fabric.link.rate);
  const CollectiveResult result = collective(config, CollectiveOp::kAllReduce, {4096, kBytes}).results[1];
  // What is not hidden behind the links: at the end of the first half the last chunk of each of the four channels is
  // added to the own one, three passes over it at the memory's rate, one after the other in the worst case. All else
  // costs nothing but for single packets.
  const Time reduction = 3 * transfer_time(config.collectives.chunk, config.accelerator.hbm.rate);
  EXPECT_GE(result.time, bound);
  EXPECT_LE(result.time, bound + 4 * reduction + 1_ns);
  EXPECT_LE(static_cast<double>(result.time.count()), 1.001 * static_cast<double>(bound.count()));
  // NCCL's bus bandwidth is the rate of a link.
  EXPECT_NEAR(result.busbw_GBps, 50.0, 0.05);
}

TEST(Digest, IsTheSameForTheSameMachineAndNotForAnotherSeed) {
  const auto run = [](std::int64_t seed) {
    test::fresh_kernel();
    MachineConfig config = machine_of({8, 4, "hierarchical"});
    config.seed = seed;
    config.stall = 200_ns;
    return collective(config, CollectiveOp::kAllReduce, {100'000, 3000});
  };
  const Outcome first = run(1);
  const Outcome again = run(1);
  const Outcome other = run(2);
  EXPECT_EQ(first.digest, again.digest);
  EXPECT_EQ(first.events, again.events);
  for (std::size_t i = 0; i < first.results.size(); ++i) EXPECT_EQ(first.results[i].time, again.results[i].time);
  EXPECT_NE(first.digest, other.digest);
}

TEST(Digest, DoesNotDependOnWhetherDataIsMoved) {
  const auto run = [](bool data) {
    test::fresh_kernel();
    MachineConfig config = machine_of({8, 4, "hierarchical"});
    config.data = data;
    return collective(config, CollectiveOp::kAllReduce, {100'000, 3000, 1 << 20});
  };
  const Outcome with = run(true);
  const Outcome without = run(false);
  EXPECT_EQ(with.digest, without.digest);
  EXPECT_EQ(without.results[0].wrong, -1);
}

// --- Deadlocks ---

firmware::Task gather(collectives::Communicator& communicator, int member, std::uint64_t buffer, int times) {
  for (int i = 0; i < times; ++i) co_await communicator.allgather(member, buffer, 100'000, 4);
}

/// What Machine::run says when rank 2 of 4 takes part in `times` of 2 collectives.
std::string deserted_by_rank_two(int times) {
  const MachineConfig config = machine_of({4, 1, "ring"});
  Machine machine(config);
  collectives::Communicator communicator(machine.ranks(), config.collectives, "world");
  for (int r = 0; r < machine.size(); ++r) {
    const std::uint64_t buffer = machine.rank(r).memory.allocate("buffer", 100'000);
    const int mine = r == 2 ? times : 2;
    if (mine == 0) continue;
    machine.rank(r).processor->spawn("rank " + std::to_string(r), 0, gather(communicator, r, buffer, mine));
  }
  machine.dispatcher().on_progress(1 << 16, [&machine] {
    if (machine.dispatcher().now() > 10_ms) throw std::runtime_error("still busy after 10 ms");
  });
  // What a handler throws comes out of SystemC as a report.
  test::ExpectReports reports;
  try {
    machine.run();
  } catch (const DeadlockError& error) {
    return error.what();
  } catch (const sc_core::sc_report& report) {
    return std::string("livelock: ") + report.what();
  }
  return "no deadlock";
}

void expect_a_deadlock_of_all_but_rank_two(const std::string& text) {
  EXPECT_NE(text.find("deadlock: "), std::string::npos) << text;
  for (const char* rank : {"thread rank 0 waits", "thread rank 1 waits", "thread rank 3 waits"}) {
    EXPECT_NE(text.find(rank), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("thread rank 2 waits"), std::string::npos) << text;
}

TEST(Deadlock, NamesTheRanksThatWaitForOneThatLeaves) {
  expect_a_deadlock_of_all_but_rank_two(deserted_by_rank_two(1));
}

TEST(Deadlock, NamesTheRanksThatWaitForOneThatNeverEnters) {
  expect_a_deadlock_of_all_but_rank_two(deserted_by_rank_two(0));
}

TEST(Machine, RefusesNodesThatDoNotDivideIt) {
  MachineConfig config;
  config.accelerators = 10;
  config.per_node = 4;
  try {
    Machine machine(config);
    FAIL() << "10 accelerators in nodes of 4";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "accelerators");
    EXPECT_EQ(error.expected(), "expected a multiple of per_node, which is 4, got 10");
  }
}

}  // namespace
}  // namespace weft::platforms
