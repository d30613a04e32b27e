// SPDX-License-Identifier: Apache-2.0
// Broadcasts down trees, segment by segment: the trees themselves, every byte in place from any root, each sent once to
// each child, and times and traffic against closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/pattern.h"
#include "tests/support/benches/ideal.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::AlgorithmName;
using collectives::BroadcastAlgorithm;
using collectives::Communicator;
using collectives::rooted_place;
using collectives::RootedAlgorithm;
using collectives::RootedPlace;
using firmware::Task;

std::string name_without_signs(std::string_view name) {
  std::string text(name);
  std::erase(text, '-');
  return text;
}

// --- Trees ---

std::vector<int> children(RootedAlgorithm tree, int radix, int members, int number) {
  return rooted_place(tree, radix, members, number).children;
}

TEST(RootedPlace, IsThatOfTheLibraries) {
  using Numbers = std::vector<int>;
  const auto knomial = [](int radix, int number) { return children(RootedAlgorithm::kKNomial, radix, 10, number); };
  // The trees over 10 that Open MPI draws above ompi_coll_base_bcast_intra_knomial.
  EXPECT_EQ(knomial(4, 0), (Numbers{8, 4, 3, 2, 1}));
  EXPECT_EQ(knomial(4, 4), (Numbers{7, 6, 5}));
  EXPECT_EQ(knomial(4, 8), (Numbers{9}));
  EXPECT_EQ(knomial(3, 0), (Numbers{9, 6, 3, 2, 1}));
  EXPECT_EQ(knomial(3, 3), (Numbers{5, 4}));
  EXPECT_EQ(knomial(3, 6), (Numbers{8, 7}));
  EXPECT_EQ(knomial(2, 0), (Numbers{8, 4, 2, 1}));
  EXPECT_EQ(knomial(2, 4), (Numbers{6, 5}));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(children(RootedAlgorithm::kBinomial, 7, 10, i), knomial(2, i));
  // That of 7 with a fanout of 2 above ompi_coll_base_topo_build_tree.
  EXPECT_EQ(children(RootedAlgorithm::kBinaryTree, 4, 7, 0), (Numbers{1, 2}));
  EXPECT_EQ(children(RootedAlgorithm::kBinaryTree, 4, 7, 1), (Numbers{3, 5}));
  EXPECT_EQ(children(RootedAlgorithm::kBinaryTree, 4, 7, 2), (Numbers{4, 6}));
}

TEST(RootedPlace, HasEveryMemberBelowOneParent) {
  for (const auto& [name, tree] : enum_names(RootedAlgorithm{})) {
    for (const int radix : {2, 3, 4, 7, 1 << 20}) {
      for (int members = 1; members <= 70; ++members) {
        int reached = 1;
        EXPECT_EQ(rooted_place(tree, radix, members, 0).parent, RootedPlace::kNone);
        for (int number = 0; number < members; ++number) {
          for (const int child : children(tree, radix, members, number)) {
            ASSERT_EQ(rooted_place(tree, radix, members, child).parent, number) << name << ' ' << radix << ' ' << child;
            ASSERT_LT(number, child);
            ++reached;
          }
        }
        EXPECT_EQ(reached, members) << name << ' ' << radix;
      }
    }
  }
}

// --- Bytes ---

MachineConfig broadcasts_of(BroadcastAlgorithm algorithm, int ranks, int per_node = 1) {
  MachineConfig config;
  config.accelerators = ranks;
  config.per_node = per_node;
  config.collectives.broadcast.algorithm = algorithm;
  config.data = true;
  return config;
}

constexpr BroadcastAlgorithm kTrees[] = {BroadcastAlgorithm::kChain, BroadcastAlgorithm::kDirect,
                                         BroadcastAlgorithm::kBinomial, BroadcastAlgorithm::kKNomial,
                                         BroadcastAlgorithm::kBinaryTree};

class BroadcastTrees : public testing::TestWithParam<std::tuple<BroadcastAlgorithm, bool>> {};

TEST_P(BroadcastTrees, PutEveryByteInPlaceAndMoveNoneTwice) {
  const auto& [algorithm, kernels] = GetParam();
  struct BroadcastCase {
    int ranks;
    int per_node;
    int radix;
    Bytes segment;
    int depth;
    Time stall;
  };
  for (const BroadcastCase& shape :
       {BroadcastCase{1, 1, 4, 128_KiB, 2, Time()}, BroadcastCase{2, 1, 4, 4_KiB, 1, Time()},
        BroadcastCase{3, 1, 2, 100_B, 2, 3_us}, BroadcastCase{5, 1, 3, 64_KiB, 2, 3_us},
        BroadcastCase{7, 1, 4, Bytes(), 2, Time()}, BroadcastCase{13, 1, 4, 10_KiB, 3, 3_us},
        BroadcastCase{16, 4, 4, 4_KiB, 32, 3_us}, BroadcastCase{64, 1, 4, 128_KiB, 2, Time()}}) {
    test::fresh_kernel();
    MachineConfig config = broadcasts_of(algorithm, shape.ranks, shape.per_node);
    config.collectives.broadcast.radix = shape.radix;
    config.collectives.broadcast.segment = shape.segment;
    config.collectives.broadcast.depth = shape.depth;
    config.accelerator.array.shared_cores = kernels;
    config.accelerator.array.relay = kernels ? 10_us : Time();
    config.stall = shape.stall;
    Machine machine(config);
    const std::vector<std::uint64_t> sizes = {77'777, 0, 1, 200'000, 3};
    auto sum = static_cast<std::int64_t>(sizes.front());  // run once more before
    std::string remark;
    for (const CollectiveResult& result :
         run_collective(machine, CollectiveOp::kBroadcast, sizes, ElementType::kFp32, &remark)) {
      EXPECT_EQ(result.wrong, 0) << shape.ranks << " ranks, " << result.bytes << " bytes";
      EXPECT_EQ(result.algorithms, std::vector{weft::name_of(algorithm)});
      sum += static_cast<std::int64_t>(result.bytes);
    }
    EXPECT_EQ(remark, "");
    std::int64_t received = 0;
    std::int64_t refused = 0;
    const auto count = [&](const nic::NicCounters& counters) {
      received += counters.bytes_received;
      refused += counters.not_ready;
    };
    for (int r = 0; r < machine.size(); ++r) {
      count(machine.nic(r).counters());
      if (const nic::AnyNic* port = machine.scale_up_port(r)) count(port->counters());
    }
    EXPECT_EQ(received, (shape.ranks - 1) * sum);
    EXPECT_EQ(refused, 0) << "a connection was there before its receives";
  }
}

INSTANTIATE_TEST_SUITE_P(All, BroadcastTrees, testing::Combine(testing::ValuesIn(kTrees), testing::Bool()),
                         [](const auto& test) {
                           return name_without_signs(weft::name_of(std::get<0>(test.param))) +
                                  (std::get<1>(test.param) ? "BesideKernels" : "");
                         });

/// One Broadcast after the other, from each rank in turn. Who leaves one overwrites the buffer, which nobody may change
/// or still read; some enter late.
TEST(BroadcastTree, AnyRankIsTheRootAndMayChangeItsBufferWhenItLeaves) {
  constexpr int kRanks = 7;
  constexpr std::uint64_t kBytes = 30'001;
  for (const BroadcastAlgorithm algorithm : kTrees) {
    for (const bool kernels : {false, true}) {
      test::fresh_kernel();
      MachineConfig config = broadcasts_of(algorithm, kRanks);
      config.collectives.broadcast.segment = 4_KiB;
      config.accelerator.array.shared_cores = kernels;
      Machine machine(config);
      Communicator communicator(machine.ranks(), machine.config().collectives, "roots");
      std::uint64_t buffer = 0;
      for (firmware::Rank* rank : machine.ranks()) buffer = rank->memory.allocate("buffer", kBytes);
      const auto run = [&](int rank) -> Task {
        memory::BackingStore& store = machine.memory(rank).store();
        for (int root = 0; root < kRanks; ++root) {
          const auto right = collectives::pattern_bytes(100 + static_cast<std::uint64_t>(root), root, kBytes);
          const auto other = collectives::pattern_bytes(500, rank, kBytes);
          store.write(buffer, rank == root ? right.data() : other.data(), kBytes);
          co_await machine.rank(rank).processor->delay(Time((rank * 5 + root * 3) % 4 * 7'000'000));
          co_await communicator.broadcast(rank, root, buffer, kBytes);
          co_await machine.rank(rank).processor->delay(1_ns);
          EXPECT_EQ(collectives::differing(store, buffer, right), 0)
              << weft::name_of(algorithm) << ": rank " << rank << " of root " << root;
          store.write(buffer, other.data(), kBytes);
        }
      };
      for (int r = 0; r < kRanks; ++r) machine.rank(r).processor->spawn("rank " + std::to_string(r), 0, run(r));
      machine.run();
    }
  }
}

TEST(BroadcastTree, WaitsForPlacesInQueues) {
  for (const BroadcastAlgorithm algorithm : kTrees) {
    for (const int depth : {1, 2, 64}) {
      test::fresh_kernel();
      MachineConfig config = broadcasts_of(algorithm, 8, 2);
      config.collectives.broadcast.segment = 1_KiB;
      config.collectives.broadcast.depth = 32;
      for (nic::NicConfig* nic : {&config.nic, &config.scale_up.port}) {
        nic->send_queue_depth = nic->receive_queue_depth = depth;
      }
      Machine machine(config);
      for (const auto& result : run_collective(machine, CollectiveOp::kBroadcast, {60'004, 12}, ElementType::kFp32)) {
        EXPECT_EQ(result.wrong, 0) << weft::name_of(algorithm) << " at depth " << depth;
      }
    }
  }
}

/// It brings a Broadcast to an algorithm that has none, and leaves all else to it.
TEST(BroadcastTree, StandsBesideAnyAlgorithm) {
  for (const AlgorithmName algorithm : {"hierarchical", "multicast", "nccl"}) {
    MachineConfig config = broadcasts_of(BroadcastAlgorithm::kKNomial, 8, 4);
    config.collectives.algorithm = algorithm;
    for (const CollectiveOp op : {CollectiveOp::kBroadcast, CollectiveOp::kAllgather}) {
      test::fresh_kernel();
      Machine machine(config);
      const auto result = run_collective(machine, op, {10'000}, ElementType::kFp32)[0];
      EXPECT_EQ(result.wrong, 0);
      EXPECT_EQ(result.algorithms.front() == "k-nomial", op == CollectiveOp::kBroadcast) << weft::name_of(algorithm);
    }
  }
}

// --- Time ---

MachineConfig ideal_star(BroadcastAlgorithm algorithm, int ranks) {
  MachineConfig config = broadcasts_of(algorithm, ranks);
  config.data = false;
  config.fabric.radix = 64;
  config.fabric.hosts_per_leaf = 64;
  config.fabric.segment = 4_KiB;
  config.fabric.link.rate = 400_Gbps;
  test::leave_links_alone(config);
  return config;
}

/// Segments that a link sends until the last member has the last of them. The root sends each to all of its children,
/// which share its link and so have it at the same time; each member below adds what it sends of the last one.
std::int64_t segments_on_the_longest_way(RootedAlgorithm tree, int radix, int members, std::int64_t segments) {
  std::vector<std::int64_t> until(static_cast<std::size_t>(members));
  std::int64_t longest = 0;
  for (int number = 0; number < members; ++number) {
    const std::vector<int> below = children(tree, radix, members, number);
    const auto sends = static_cast<std::int64_t>(below.size()) * (number == 0 ? segments : 1);
    for (const int child : below)
      until[static_cast<std::size_t>(child)] = until[static_cast<std::size_t>(number)] + sends;
    longest = std::max(longest, until[static_cast<std::size_t>(number)]);
  }
  return longest;
}

TEST(BroadcastTree, TakesWhatItsClosedFormSays) {
  constexpr std::int64_t kSegments = 100;
  const std::pair<BroadcastAlgorithm, RootedAlgorithm> trees[] = {
      {BroadcastAlgorithm::kChain, RootedAlgorithm::kChain},
      {BroadcastAlgorithm::kDirect, RootedAlgorithm::kDirect},
      {BroadcastAlgorithm::kBinomial, RootedAlgorithm::kBinomial},
      {BroadcastAlgorithm::kKNomial, RootedAlgorithm::kKNomial},
      {BroadcastAlgorithm::kBinaryTree, RootedAlgorithm::kBinaryTree}};
  for (const auto& [algorithm, tree] : trees) {
    for (const int ranks : {2, 7, 16, 64}) {
      test::fresh_kernel();
      const MachineConfig config = ideal_star(algorithm, ranks);
      const Bytes segment = config.collectives.broadcast.segment;
      Machine machine(config);
      const auto bytes = static_cast<std::uint64_t>((segment * kSegments).count());
      const Time time = run_collective(machine, CollectiveOp::kBroadcast, {bytes}, ElementType::kFp32)[0].time;
      const std::int64_t form = segments_on_the_longest_way(tree, 4, ranks, kSegments);
      const double segments = static_cast<double>(time.count()) /
                              static_cast<double>(transfer_time(segment, config.fabric.link.rate).count());
      EXPECT_NEAR(segments, static_cast<double>(form), 0.02 * static_cast<double>(form))
          << weft::name_of(algorithm) << " over " << ranks;
    }
  }
}

// --- Traffic ---

/// What crosses links, in times the buffer: leaves of `per_leaf` hosts below spines.
struct Crossings {
  double from_ends = 0;
  double to_ends = 0;
  double between_switches = 0;
};

Crossings of_tree(RootedAlgorithm tree, int ranks, int per_leaf) {
  Crossings crossings{static_cast<double>(ranks - 1), static_cast<double>(ranks - 1), 0};
  for (int number = 0; number < ranks; ++number) {
    for (const int child : children(tree, 4, ranks, number)) {
      if (child / per_leaf != number / per_leaf) crossings.between_switches += 2;
    }
  }
  return crossings;
}

/// A tree of links: from the root's leaf up once, and down to each other leaf.
Crossings of_multicast(int ranks, int per_leaf) {
  const double leaves = (ranks + per_leaf - 1) / per_leaf;
  return {1, static_cast<double>(ranks - 1), leaves > 1 ? leaves : 0};
}

/// A ring's Allgather: each of its hops carries all blocks but one.
Crossings of_ring(int ranks, int per_leaf) {
  const double leaves = (ranks + per_leaf - 1) / per_leaf;
  const auto hops = static_cast<double>(ranks - 1);
  return {hops, hops, leaves > 1 ? 2 * leaves * hops / ranks : 0};
}

void expect_crossings(const MachineConfig& config, CollectiveOp op, const Crossings& expected) {
  constexpr std::uint64_t kBytes = 8 << 20;
  test::fresh_kernel();
  Machine machine(config);
  const NetworkTraffic traffic = run_collective(machine, op, {kBytes}, ElementType::kFp32)[0].traffic.fabric;
  const double packet = static_cast<double>(config.fabric.wire_bytes(4096)) / 4096;
  const auto check = [&](std::int64_t bytes, double times, const char* what) {
    const double right = times * packet * static_cast<double>(kBytes);
    // Acknowledgements, barriers and handshakes are small, and are messages between hosts.
    EXPECT_NEAR(static_cast<double>(bytes), right, 0.015 * right + 0.002 * kBytes)
        << what << ", " << config.accelerators << " ranks, " << weft::name_of(config.collectives.broadcast.algorithm);
  };
  check(traffic.from_ends, expected.from_ends, "from NICs");
  check(traffic.to_ends, expected.to_ends, "to NICs");
  check(traffic.between_switches, expected.between_switches, "between switches");
}

TEST(Traffic, IsWhatTheClosedFormsSay) {
  constexpr int kPerLeaf = 4;
  for (const int ranks : {2, 4, 7, 16}) {
    MachineConfig config = broadcasts_of(BroadcastAlgorithm::kChain, ranks);
    config.data = false;
    config.fabric.radix = 16;
    config.fabric.hosts_per_leaf = kPerLeaf;
    config.fabric.mtu = 4_KiB;
    config.fabric.segment = 4_KiB;
    config.collectives.algorithm = "multicast";
    expect_crossings(config, CollectiveOp::kBroadcast, of_tree(RootedAlgorithm::kChain, ranks, kPerLeaf));
    config.collectives.broadcast.algorithm = BroadcastAlgorithm::kKNomial;
    expect_crossings(config, CollectiveOp::kBroadcast, of_tree(RootedAlgorithm::kKNomial, ranks, kPerLeaf));
    config.collectives.broadcast.algorithm = BroadcastAlgorithm::kBinaryTree;
    expect_crossings(config, CollectiveOp::kBroadcast, of_tree(RootedAlgorithm::kBinaryTree, ranks, kPerLeaf));
    config.collectives.broadcast.algorithm = BroadcastAlgorithm::kAutomatic;
    expect_crossings(config, CollectiveOp::kBroadcast, of_multicast(ranks, kPerLeaf));
    expect_crossings(config, CollectiveOp::kAllgather, of_multicast(ranks, kPerLeaf));
    config.collectives.algorithm = "ring";
    expect_crossings(config, CollectiveOp::kAllgather, of_ring(ranks, kPerLeaf));
  }
}

/// Each byte leaves a member once for each of its children.
TEST(BroadcastTree, SendsEachByteOnceToEachChild) {
  constexpr std::uint64_t kBytes = 100'000;
  for (const int ranks : {5, 13, 16}) {
    test::fresh_kernel();
    Machine machine(broadcasts_of(BroadcastAlgorithm::kKNomial, ranks));
    run_collective(machine, CollectiveOp::kBroadcast, {kBytes}, ElementType::kFp32, nullptr, false);
    for (int r = 0; r < ranks; ++r) {
      const auto below = static_cast<std::int64_t>(children(RootedAlgorithm::kKNomial, 4, ranks, r).size());
      EXPECT_EQ(machine.nic(r).transmitter().counters().payload_bytes, below * static_cast<std::int64_t>(kBytes)) << r;
    }
  }
}

}  // namespace
}  // namespace weft::platforms
