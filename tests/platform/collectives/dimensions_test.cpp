// SPDX-License-Identifier: Apache-2.0
// Collectives over the dimensions of a machine: every algorithm leaves the right bytes in every kind of network, for
// groups of any size, whatever order chunks and collectives come in.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/line/dimensional.h"
#include "sw/collectives/line/line_algorithms.h"
#include "sw/collectives/pattern.h"
#include "sw/collectives/reference.h"
#include "tests/support/kernel.h"
#include "tests/support/reports.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::DimensionGroup;
using collectives::encode;
using collectives::pattern;
using collectives::Rooted;
using collectives::RootedAlgorithm;
using dimensions::Algorithm;
using dimensions::Operation;

MachineConfig machine_of(const std::vector<std::string>& blocks, Operation operation, Algorithm algorithm) {
  MachineConfig config;
  config.accelerators = 1;
  config.per_node = 1;
  config.data = true;
  config.fabric.topology = fabric::Shape::kDimensions;
  for (const std::string& block : blocks) {
    fabric::DimensionConfig dimension;
    dimension.block = block;
    config.fabric.dimensions.push_back(dimension);
    config.accelerators *= std::stoi(block.substr(block.find('(') + 1));
  }
  collectives::DimensionsConfig& dimensions = config.collectives.of<collectives::DimensionsConfig>();
  config.collectives.algorithm = "dimensions";
  if (operation == Operation::kAllReduce) dimensions.all_reduce = {algorithm};
  if (operation == Operation::kAllgather) dimensions.all_gather = {algorithm};
  if (operation == Operation::kReduceScatter) dimensions.reduce_scatter = {algorithm};
  if (operation == Operation::kAllToAll) dimensions.all_to_all = {algorithm};
  return config;
}

CollectiveOp op_of(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return CollectiveOp::kAllReduce;
    case Operation::kAllgather:
      return CollectiveOp::kAllgather;
    case Operation::kReduceScatter:
      return CollectiveOp::kReduceScatter;
    case Operation::kAllToAll:
      break;
  }
  return CollectiveOp::kAllToAll;
}

const std::vector<std::vector<std::string>> kNetworks = {
    {"Ring(2)"},
    {"Ring(3)"},
    {"FullyConnected(5)"},
    {"Switch(8)"},
    {"Ring(13)"},
    {"Ring(4)", "Switch(3)"},
    {"FullyConnected(3)", "Ring(5)"},
    {"Ring(2)", "FullyConnected(3)", "Switch(2)"},
    {"Ring(3)", "Ring(2)", "Ring(2)", "Switch(2)"},
};

class Dimensions : public testing::TestWithParam<std::tuple<Operation, Algorithm, std::size_t>> {};

TEST_P(Dimensions, PutEveryByteInPlace) {
  const auto& [operation, algorithm, network] = GetParam();
  if (!collectives::is_possible(operation, algorithm)) return;  // refused, which RefuseWhatAnAlgorithmHasNot checks
  Machine machine(machine_of(kNetworks[network], operation, algorithm));
  const std::vector<std::uint64_t> sizes = {3, 0, 4, 1000, 65537, (1 << 18) + 5};
  const auto results = run_collective(machine, op_of(operation), sizes, ElementType::kFp32);
  for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(results[i].wrong, 0) << sizes[i] << " bytes";
}

std::string text_of(const testing::TestParamInfo<Dimensions::ParamType>& test) {
  std::string text =
      std::string(name_of(std::get<0>(test.param))) + "_" + std::string(name_of(std::get<1>(test.param)));
  for (const std::string& block : kNetworks[std::get<2>(test.param)]) text += "_" + block;
  std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
  return text;
}

constexpr Operation kOperations[] = {Operation::kAllReduce, Operation::kAllgather, Operation::kReduceScatter,
                                     Operation::kAllToAll};
constexpr Algorithm kAlgorithms[] = {Algorithm::kRing,
                                     Algorithm::kBidirectionalRing,
                                     Algorithm::kDirect,
                                     Algorithm::kHalvingDoubling,
                                     Algorithm::kDoubleBinaryTree,
                                     Algorithm::kBruck};

INSTANTIATE_TEST_SUITE_P(All, Dimensions,
                         testing::Combine(testing::ValuesIn(kOperations), testing::ValuesIn(kAlgorithms),
                                          testing::Range(std::size_t{0}, kNetworks.size())),
                         text_of);

class WithARoot : public testing::TestWithParam<std::tuple<CollectiveOp, RootedAlgorithm, std::size_t>> {};

TEST_P(WithARoot, PutEveryByteInPlace) {
  const auto& [op, algorithm, network] = GetParam();
  MachineConfig config = machine_of(kNetworks[network], Operation::kAllReduce, Algorithm::kRing);
  config.collectives.of<collectives::DimensionsConfig>().rooted = {algorithm};
  Machine machine(config);
  const std::vector<std::uint64_t> sizes = {3, 0, 4, 1000, 65537, (1 << 18) + 5};
  const auto results = run_collective(machine, op, sizes, ElementType::kFp32);
  for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(results[i].wrong, 0) << sizes[i] << " bytes";
}

INSTANTIATE_TEST_SUITE_P(All, WithARoot,
                         testing::Combine(testing::Values(CollectiveOp::kBroadcast, CollectiveOp::kReduce,
                                                          CollectiveOp::kGather, CollectiveOp::kScatter),
                                          testing::Values(RootedAlgorithm::kChain, RootedAlgorithm::kDirect,
                                                          RootedAlgorithm::kBinomial, RootedAlgorithm::kKNomial,
                                                          RootedAlgorithm::kBinaryTree),
                                          testing::Range(std::size_t{0}, kNetworks.size())),
                         [](const auto& test) {
                           std::string text = std::string(name_of(std::get<0>(test.param))) + "_" +
                                              std::string(name_of(std::get<1>(test.param))) + "_" +
                                              std::to_string(std::get<2>(test.param));
                           std::erase(text, '-');
                           return text;
                         });

/// The root need not be the first: each rank in turn, in three dimensions.
TEST(WithARoot, AnyRankCanBeIt) {
  for (const auto& [name, what] : enum_names(Rooted{})) {
    for (int root = 0; root < 12; ++root) {
      SCOPED_TRACE(std::string(name) + " of " + std::to_string(root));
      test::fresh_kernel();
      const MachineConfig config = machine_of(kNetworks[7], Operation::kAllReduce, Algorithm::kRing);
      Machine machine(config);
      DimensionGroup group(machine.ranks(), config.collectives.of<collectives::DimensionsConfig>(), "rooted");
      const bool sums = what == Rooted::kReduce;
      const collectives::Reference contents{sums ? Operation::kAllReduce : Operation::kAllgather, 12, 10'000,
                                            ElementType::kInt32, 5};
      const bool from_root = what == Rooted::kBroadcast || what == Rooted::kScatter;
      std::uint64_t buffer = 0;
      for (int r = 0; r < machine.size(); ++r) {
        buffer = machine.rank(r).memory.allocate("a buffer", contents.bytes);
        memory::BackingStore& store = machine.memory(r).store();
        if (from_root) {
          contents.fill_broadcast(store, buffer, r, root);
        } else {
          contents.fill(store, buffer, r);
        }
      }
      for (int r = 0; r < machine.size(); ++r) {
        machine.rank(r).processor->spawn("rooted", 0,
                                         group.rooted(r, what, root, buffer, contents.bytes, contents.type));
      }
      machine.run();
      for (int r = 0; r < machine.size(); ++r) {
        const memory::BackingStore& store = machine.memory(r).store();
        if (what == Rooted::kBroadcast) {
          EXPECT_EQ(contents.wrong_copy(store, buffer, {0, contents.bytes}, root), 0) << r;
        } else if (what == Rooted::kScatter) {
          EXPECT_EQ(contents.wrong_copy(store, buffer, contents.block(r), root), 0) << r;
        } else if (r == root) {
          EXPECT_EQ(contents.wrong(store, buffer, r), 0);
        }
      }
    }
  }
}

/// Where the network is so fast that what a copy engine takes for each piece counts: a chunk is in pieces there.
TEST(Dimensions, TakeNoLongerForASmallBufferThanForALargeOne) {
  test::fresh_kernel();
  MachineConfig config = machine_of({"Ring(2)", "FullyConnected(8)"}, Operation::kAllToAll, Algorithm::kDirect);
  config.data = false;
  config.collectives.of<collectives::DimensionsConfig>().splits = 8;
  for (fabric::DimensionConfig& dimension : config.fabric.dimensions) {
    dimension.link.rate = Rate(3'200'000'000'000);
    dimension.link.propagation = 100_ns;
  }
  config.nic.dma_rate = Rate(12'400'000'000'000);
  config.nic.packet_cost = Time();
  Machine machine(config);
  const auto results = run_collective(machine, CollectiveOp::kAllToAll, {64 << 10, 4 << 20}, ElementType::kFp32);
  EXPECT_LT(results[0].time, results[1].time * 21 / 20);
}

TEST(Dimensions, RefuseWhatAnAlgorithmHasNot) {
  for (const Operation operation : kOperations) {
    for (const Algorithm algorithm : kAlgorithms) {
      if (collectives::is_possible(operation, algorithm)) continue;
      test::fresh_kernel();
      Machine machine(machine_of({"Ring(4)"}, operation, algorithm));
      try {
        run_collective(machine, op_of(operation), {1024}, ElementType::kFp32);
        ADD_FAILURE() << name_of(operation) << " by " << name_of(algorithm);
      } catch (const ConfigError& error) {
        EXPECT_EQ(error.path(), "collectives.dimensions." + std::string(name_of(operation)));
        EXPECT_EQ(error.expected(), collectives::possible_names(operation));
      }
    }
  }
}

/// A Barrier is an AllReduce, whose phases are ReduceScatters in all dimensions but the last.
TEST(Dimensions, RefuseWhatAPhaseHasNot) {
  const auto error = [](CollectiveOp op, const std::vector<std::string>& blocks, const auto& change) {
    test::fresh_kernel();
    MachineConfig config = machine_of(blocks, Operation::kReduceScatter, Algorithm::kBruck);
    change(config.collectives.of<collectives::DimensionsConfig>());
    Machine machine(config);
    try {
      run_collective(machine, op, {1024}, ElementType::kFp32);
    } catch (const ConfigError& thrown) {
      EXPECT_EQ(machine.dispatcher().handled(), 0u) << "ran before";
      return std::string(thrown.what());
    }
    return std::string("none");
  };
  const auto as_it_is = [](auto& /*config*/) {};
  const std::string expected =
      "collectives.dimensions.reduce_scatter: expected ring or direct or halvingDoubling or bidirectionalRing for a "
      "phase of all_reduce";
  EXPECT_EQ(error(CollectiveOp::kAllReduce, {"Ring(2)", "Ring(2)"}, as_it_is), expected);
  EXPECT_EQ(error(CollectiveOp::kBarrier, {"Ring(2)", "Ring(2)"}, as_it_is), expected);
  EXPECT_EQ(error(CollectiveOp::kAllReduce, {"Ring(4)"}, as_it_is), "none");
  // Bruck's algorithm cannot sum, but does not have to.
  const auto last = [](auto& config) {
    config.reduce_scatter = {Algorithm::kRing};
    config.all_reduce = {Algorithm::kBruck, Algorithm::kRing};
  };
  EXPECT_EQ(error(CollectiveOp::kAllReduce, {"Ring(2)", "Ring(2)"}, last), "none");
  EXPECT_NE(error(CollectiveOp::kAllReduce, {"Ring(2)", "Ring(2)"},
                  [&](auto& config) {
                    last(config);
                    config.inter_dimension = dimensions::InterDimension::kThemis;
                  }),
            "none");
}

TEST(Dimensions, RefuseWhatCannotBeTheirs) {
  const auto error = [](const auto& change) {
    test::fresh_kernel();
    MachineConfig config = machine_of({"Ring(2)", "Ring(2)"}, Operation::kAllReduce, Algorithm::kRing);
    change(config.collectives.of<collectives::DimensionsConfig>());
    Machine machine(config);
    try {
      DimensionGroup group(machine.ranks(), config.collectives.of<collectives::DimensionsConfig>(), "wrong");
    } catch (const ConfigError& thrown) {
      return std::string(thrown.what());
    }
    return std::string("nothing");
  };
  using Config = collectives::DimensionsConfig;
  EXPECT_EQ(error([](Config& config) { config.rooted.clear(); }),
            "collectives.dimensions.rooted: expected at least one algorithm, got none");
  EXPECT_EQ(error([](Config& config) { config.all_gather.clear(); }),
            "collectives.dimensions.all_gather: expected at least one algorithm, got none");
  EXPECT_EQ(error([](Config& config) {
              config.sizes = {2, 3};
            }),
            "collectives.dimensions.sizes: expected sizes whose product is the machine's 4 accelerators, got 6");
  EXPECT_EQ(error([](Config& config) {
              config.inter_dimension = dimensions::InterDimension::kThemis;
              config.optimization = dimensions::Optimization::kBaseline;
            }),
            "collectives.dimensions.inter_dimension: expected baseline with optimization baseline, where the order of "
            "dimensions does not matter");
}

/// Nine dimensions have more phases than an immediate can tell apart.
TEST(Dimensions, AreEightAtMost) {
  const std::vector<std::string> nine(9, "Mesh(2)");
  const MachineConfig config = machine_of(nine, Operation::kAllReduce, Algorithm::kRing);
  Machine machine(config);
  EXPECT_THROW(DimensionGroup(machine.ranks(), config.collectives.of<collectives::DimensionsConfig>(), "nine"),
               ConfigError);
}

// --- Several collectives at a time ---

struct Order {
  dimensions::Scheduling scheduling;
  dimensions::Optimization optimization;
  int active;
  std::int64_t seed;
  dimensions::InterDimension inter = dimensions::InterDimension::kBaseline;
};

class Crowd : public testing::TestWithParam<Order> {};

/// Ranks begin eight collectives at once and are held up at random, so that members of a line come to begin different
/// chunks: none may wait for ever, and all sums must be right.
TEST_P(Crowd, EndsWithTheRightSums) {
  const Order& order = GetParam();
  constexpr int kCalls = 8;
  constexpr std::uint64_t kElements = 5000;
  MachineConfig config = machine_of({"Ring(3)", "Ring(4)"}, Operation::kAllReduce, Algorithm::kRing);
  config.stall = 3_us;
  config.seed = order.seed;
  collectives::DimensionsConfig& dimensions = config.collectives.of<collectives::DimensionsConfig>();
  dimensions.scheduling = order.scheduling;
  dimensions.optimization = order.optimization;
  dimensions.active_chunks = order.active;
  dimensions.inter_dimension = order.inter;
  if (order.inter == dimensions::InterDimension::kThemis) {
    dimensions.intra_dimension = dimensions::IntraDimension::kSmallestFirst;
    config.fabric.dimensions.back().link.rate = 100_Gbps;
  }
  Machine machine(config);
  DimensionGroup group(machine.ranks(), dimensions, "crowd");
  std::vector<std::uint64_t> buffers;
  for (int c = 0; c < kCalls; ++c) {
    for (int r = 0; r < machine.size(); ++r) {
      const std::uint64_t at = machine.rank(r).memory.allocate("a buffer", 4 * kElements);
      if (r == 0) buffers.push_back(at);
      std::vector<std::byte> data(4 * kElements);
      for (std::uint64_t i = 0; i < kElements; ++i) {
        encode(ElementType::kInt32, pattern(static_cast<std::uint64_t>(c), r, i), &data[4 * i]);
      }
      machine.memory(r).store().write(at, data.data(), data.size());
    }
  }
  int ended = 0;
  const auto work = [&](int r) -> firmware::Task {
    firmware::Counter done(*machine.rank(r).processor, "the crowd");
    for (int c = 0; c < kCalls; ++c) {
      group.begin(r,
                  {.input = buffers[static_cast<std::size_t>(c)],
                   .bytes = 4 * kElements,
                   .type = ElementType::kInt32,
                   .priority = c * 7 % kCalls},
                  [&] { done.increment(); });
      co_await machine.rank(r).processor->delay(2_us);
    }
    co_await done.reach(kCalls);
    ++ended;
  };
  for (int r = 0; r < machine.size(); ++r) machine.rank(r).processor->spawn("crowd", 0, work(r));
  machine.run();
  EXPECT_EQ(ended, machine.size());
  for (int c = 0; c < kCalls; ++c) {
    for (int r = 0; r < machine.size(); ++r) {
      std::vector<std::uint32_t> actual(kElements);
      machine.memory(r).store().read(buffers[static_cast<std::size_t>(c)], reinterpret_cast<std::byte*>(actual.data()),
                                     4 * kElements);
      for (std::uint64_t i = 0; i < kElements; ++i) {
        std::uint32_t sum = 0;
        for (int s = 0; s < machine.size(); ++s) sum += pattern(static_cast<std::uint64_t>(c), s, i);
        ASSERT_EQ(actual[i], sum) << "collective " << c << ", rank " << r << ", element " << i;
      }
    }
  }
}

std::vector<Order> orders() {
  std::vector<Order> all;
  for (const auto scheduling :
       {dimensions::Scheduling::kLifo, dimensions::Scheduling::kFifo, dimensions::Scheduling::kExplicit}) {
    for (const auto optimization : {dimensions::Optimization::kBaseline, dimensions::Optimization::kBandwidthAware}) {
      for (const int active : {1, 3}) {
        for (std::int64_t seed = 1; seed <= 3; ++seed) all.push_back({scheduling, optimization, active, seed});
      }
    }
  }
  for (std::int64_t seed = 1; seed <= 6; ++seed) {
    all.push_back({dimensions::Scheduling::kLifo, dimensions::Optimization::kBandwidthAware, seed % 2 == 0 ? 1 : 3,
                   seed, dimensions::InterDimension::kThemis});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Orders, Crowd, testing::ValuesIn(orders()), [](const auto& test) {
  return std::string(name_of(test.param.scheduling)) + "_" + std::string(name_of(test.param.optimization)) + "_" +
         std::string(name_of(test.param.inter)) + "_" + std::to_string(test.param.active) + "_" +
         std::to_string(test.param.seed);
});

// --- Groups of some ranks ---

struct Members {
  std::vector<int> ranks;
  std::vector<int> sizes;  ///< of the dimensions that are left
};

class SomeRanks : public testing::TestWithParam<Members> {};

TEST_P(SomeRanks, KeepTheDimensionsThatTheyFill) {
  MachineConfig config = machine_of({"Ring(4)", "Switch(3)", "Ring(2)"}, Operation::kAllReduce, Algorithm::kDirect);
  Machine machine(config);
  std::vector<firmware::Rank*> ranks;
  for (const int rank : GetParam().ranks) ranks.push_back(&machine.rank(rank));
  DimensionGroup group(ranks, config.collectives.of<collectives::DimensionsConfig>(), "some");
  EXPECT_EQ(group.sizes(), GetParam().sizes);
  constexpr std::uint64_t kElements = 1001;
  for (int r = 0; r < machine.size(); ++r) machine.rank(r).memory.allocate("a buffer", 4 * kElements);
  const auto address = firmware::allocate_together(ranks, "the sum", 4 * kElements);
  for (std::size_t m = 0; m < ranks.size(); ++m) {
    std::vector<std::uint32_t> data(kElements);
    for (std::uint64_t i = 0; i < kElements; ++i) data[i] = pattern(1, static_cast<int>(m), i);
    ranks[m]->store->write(address, reinterpret_cast<const std::byte*>(data.data()), 4 * kElements);
    ranks[m]->processor->spawn("some", 0,
                               group.all_reduce(static_cast<int>(m), address, 4 * kElements, ElementType::kInt32));
  }
  machine.run();
  for (firmware::Rank* rank : ranks) {
    std::vector<std::uint32_t> actual(kElements);
    rank->store->read(address, reinterpret_cast<std::byte*>(actual.data()), 4 * kElements);
    for (std::uint64_t i = 0; i < kElements; ++i) {
      std::uint32_t sum = 0;
      for (std::size_t m = 0; m < ranks.size(); ++m) sum += pattern(1, static_cast<int>(m), i);
      ASSERT_EQ(actual[i], sum) << "rank " << rank->index << ", element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, SomeRanks,
                         testing::Values(Members{{5}, {}}, Members{{4, 5, 6, 7}, {4}}, Members{{1, 5, 9}, {3}},
                                         Members{{1, 3, 5, 7, 9, 11}, {2, 3}}, Members{{0, 13}, {2}},
                                         Members{{23, 0, 7, 4, 11}, {5}}, Members{{4, 0, 5, 1}, {4}},
                                         Members{{0, 1, 2, 3, 4}, {5}}, Members{{0, 1, 4}, {3}},
                                         Members{{0, 4, 12}, {3}}));

}  // namespace
}  // namespace weft::platforms
