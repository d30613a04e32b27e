// SPDX-License-Identifier: Apache-2.0
// Reliable multicast on whole machines: every byte in place and none touched afterwards, under loss, repeats, late
// members and small queues; what is fetched is what was missing; the traffic and the times that the study promises.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/communicator.h"
#include "sw/collectives/multicast/multicast.h"
#include "tests/support/multicast.h"
#include "tests/support/random_network.h"
#include "tests/support/reports.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using namespace test_multicast;
using collectives::AlgorithmName;
using collectives::Communicator;
using collectives::Extent;
using collectives::MulticastCopy;
using collectives::MulticastTransport;
using firmware::Task;
using test::Draw;
using test::seeds;

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
constexpr bool kFast = true;
#else
constexpr bool kFast = false;
#endif

/// Bytes that depend on where they are.
std::vector<std::byte> content(std::uint64_t seed, Extent extent) {
  std::vector<std::byte> bytes(extent.bytes);
  for (std::uint64_t i = 0; i < extent.bytes; ++i) {
    const std::uint64_t z = (extent.offset + i + 1) * 0x9e3779b97f4a7c15ULL + seed * 0xbf58476d1ce4e5b9ULL;
    bytes[i] = static_cast<std::byte>((z ^ (z >> 31)) * 0x94d049bb133111ebULL >> 56);
  }
  return bytes;
}

/// Several collectives one after the other. Each member enters when it likes; when it leaves, it has compared the
/// buffer and written other bytes over it, which nobody may change.
class Rounds {
 public:
  struct Round {
    int root = -1;  ///< of a Broadcast; -1: an Allgather
    std::uint64_t bytes = 0;
    std::vector<Time> late;  ///< by member
  };

  Rounds(Machine& machine, Communicator& communicator, std::vector<Round> rounds, std::uint64_t seed)
      : machine_(machine), communicator_(communicator), rounds_(std::move(rounds)), seed_(seed) {
    for (const Round& round : rounds_) {
      std::uint64_t buffer = 0;
      for (firmware::Rank* rank : machine_.ranks()) buffer = rank->memory.allocate("buffer", round.bytes);
      buffers_.push_back(buffer);
    }
    for (int r = 0; r < machine_.size(); ++r) {
      machine_.rank(r).processor->spawn("rank " + std::to_string(r), 0, run(r));
    }
    machine_.run();
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      for (int r = 0; r < machine_.size(); ++r) check(r, i, garbage(r, i), "written after completion");
    }
  }
  [[nodiscard]] bool wrong() const { return wrong_; }

 private:
  [[nodiscard]] std::uint64_t garbage(int rank, std::size_t round) const {
    return seed_ * 1000 + round * 100 + static_cast<std::uint64_t>(rank) + 7;
  }
  void check(int rank, std::size_t i, std::uint64_t seed, const char* what) {
    std::vector<std::byte> actual(rounds_[i].bytes);
    machine_.memory(rank).store().read(buffers_[i], actual.data(), actual.size());
    if (actual == content(seed, {0, actual.size()})) return;
    wrong_ = true;
    ADD_FAILURE() << what << ": round " << i << ", rank " << rank;
  }
  Task run(int rank) {
    memory::BackingStore& store = machine_.memory(rank).store();
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      const Round& round = rounds_[i];
      co_await machine_.rank(rank).processor->delay(round.late[static_cast<std::size_t>(rank)]);
      const std::vector<std::byte> empty(round.bytes);
      store.write(buffers_[i], empty.data(), empty.size());
      Extent own = communicator_.block(round.bytes, rank, 1);
      if (round.root >= 0) own = {0, rank == round.root ? round.bytes : 0};
      const std::vector<std::byte> data = content(seed_ + i, own);
      store.write(buffers_[i] + own.offset, data.data(), data.size());
      if (round.root >= 0) {
        co_await communicator_.broadcast(rank, round.root, buffers_[i], round.bytes);
      } else {
        co_await communicator_.allgather(rank, buffers_[i], round.bytes, 1);
      }
      // A thread runs ahead of the simulation by what it is charged: wait until this has gone by.
      co_await machine_.rank(rank).processor->delay(1_ns);
      check(rank, i, seed_ + i, "wrong bytes");
      const std::vector<std::byte> other = content(garbage(rank, i), {0, round.bytes});
      store.write(buffers_[i], other.data(), other.size());
    }
  }

  Machine& machine_;
  Communicator& communicator_;
  std::vector<Round> rounds_;
  std::uint64_t seed_;
  std::vector<std::uint64_t> buffers_;
  bool wrong_ = false;
};

/// A round whose members all come at once.
Rounds::Round round_of(const Machine& machine, int root, std::uint64_t bytes) {
  return {root, bytes, std::vector<Time>(static_cast<std::size_t>(machine.size()))};
}

struct Counts {
  MulticastCounters all;
  std::int64_t no_receive = 0;
  std::int64_t refused = 0;
};

/// False if anything is wrong.
bool survives(std::uint64_t seed, Counts& counts) {
  test::fresh_kernel();
  Draw draw(seed, "multicast");
  const int ranks = draw.chance(0.03) ? draw(17, 64) : draw(2, 12);
  MachineConfig config = machine_of(ranks);
  config.seed = static_cast<std::int64_t>(seed);
  config.fabric.mtu = draw.of<Bytes>({256_B, 1_KiB, 4_KiB});
  config.fabric.segment = config.fabric.mtu;
  config.fabric.routing = draw.of<fabric::Routing>({fabric::Routing::kDmodk, fabric::Routing::kAdaptive});
  lose(config, draw.of<double>({0, 0.0001, 0.01, 0.2}));
  config.nic.reorder = config.fabric.routing == fabric::Routing::kAdaptive ? 64_KiB : draw.of<Bytes>({0_B, 64_KiB});
  config.nic.reorder_wait = 2_us;
  config.stall = draw.of<Time>({Time(), Time(), 200_ns});
  auto& multicast = config.collectives.of<collectives::MulticastConfig>();
  multicast.transport = draw.of<MulticastTransport>({MulticastTransport::kDatagram, MulticastTransport::kConnection});
  multicast.copy = draw.of<MulticastCopy>({MulticastCopy::kInterface, MulticastCopy::kEngine});
  const bool datagrams = multicast.transport == MulticastTransport::kDatagram;
  const Bytes mtu = config.fabric.mtu;
  multicast.chunk = datagrams ? draw.of<Bytes>({0_B, mtu / 2}) : draw.of<Bytes>({0_B, mtu / 2, mtu * 3});
  multicast.subgroups = draw(1, 3);
  multicast.chains = draw(1, 4);
  multicast.trees = draw(0, 2);
  multicast.queue_depth = draw.of<int>({16, 16, 64});
  multicast.batch = draw.of<int>({1, 4, 128});
  multicast.cutoff = draw.of<double>({1, 5});
  multicast.activation = draw.of<Time>({Time(), 2_us});
  Machine machine(config);
  const double repeats = draw.of<double>({0, 0.1});
  for (int r = 0; r < ranks; ++r) machine.rank(r).processor->repeat_completions(repeats, seed);
  Communicator communicator(machine.ranks(), machine.config().collectives, "all");
  std::vector<Rounds::Round> rounds;
  for (int i = draw(1, 4); i > 0; --i) {
    Rounds::Round round = round_of(machine, draw.chance(0.4) ? draw(0, ranks - 1) : -1,
                                   static_cast<std::uint64_t>(draw(0, static_cast<int>(mtu.count()) * 8 * ranks)));
    if (draw.chance(0.5)) {
      for (Time& late : round.late) late = Time(draw(0, 30) * 1'000'000);
    }
    rounds.push_back(round);
  }
  const Rounds ran(machine, communicator, rounds, seed);
  const MulticastCounters sum = *communicator.multicast_counters();
  counts.all.add(sum);
  // What came by multicast and what was fetched make up everything, once.
  std::int64_t all = 0;
  for (const Rounds::Round& round : rounds) all += static_cast<std::int64_t>(round.bytes) * (ranks - 1);
  EXPECT_EQ(sum.bytes + sum.fetched_bytes, all);
  for (int r = 0; r < ranks; ++r) {
    counts.no_receive += machine.nic(r).counters().no_receive;
    counts.refused += machine.nic(r).counters().access_errors;
  }
  return !ran.wrong() && !testing::Test::HasFailure();
}

TEST(MulticastProperty, EveryByteIsInPlaceAndStays) {
  Counts counts;
  for (const std::uint64_t seed : seeds(800)) {
    SCOPED_TRACE("WEFT_TEST_SEED=" + std::to_string(seed));
    bool fine = false;
    try {
      fine = survives(seed, counts);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (!fine) return;
  }
  EXPECT_GT(counts.all.missing, 0);
  EXPECT_GT(counts.all.cutoffs, 0);
  EXPECT_GT(counts.all.stale, 0);
  EXPECT_GT(counts.all.repeated, 0);
  EXPECT_GT(counts.no_receive, 0);
  EXPECT_GT(counts.refused, 0) << "nothing came after a key was removed";
}

TEST(Multicast, TaskNumbersComeAgain) {
  // 8 bits tell tasks apart: the 257th has the number of the first, and late chunks of the 256th are not its own.
  test::fresh_kernel();
  MachineConfig config = machine_of(3);
  lose(config, 0.05);
  config.fabric.mtu = 256_B;
  config.fabric.segment = 256_B;
  Machine machine(config);
  Communicator communicator(machine.ranks(), machine.config().collectives, "all");
  const Rounds ran(machine, communicator, std::vector<Rounds::Round>(600, round_of(machine, -1, 3000)), 5);
  EXPECT_FALSE(ran.wrong());
  EXPECT_GT(communicator.multicast_counters()->missing, 0);
}

TEST(Multicast, OneChainWhereTheNumberDoesNotDivide) {
  // With chains of 3 for 7 members the turn goes once round all: as slow as a single chain, and never wrong.
  MachineConfig config = machine_of(7);
  config.collectives.of<collectives::MulticastConfig>().chains = 3;
  const auto three = collective(config, CollectiveOp::kAllgather, {64 * 1024});
  config.collectives.of<collectives::MulticastConfig>().chains = 1;
  const auto one = collective(config, CollectiveOp::kAllgather, {64 * 1024});
  EXPECT_EQ(three[0].wrong, 0);
  EXPECT_EQ(three[0].time, one[0].time);
}

TEST(Multicast, MoreChainsHideTheTurn) {
  MachineConfig config = machine_of(16);
  config.collectives.of<collectives::MulticastConfig>().transport = MulticastTransport::kConnection;
  config.collectives.of<collectives::MulticastConfig>().chains = 1;
  const Time one = collective(config, CollectiveOp::kAllgather, {256 * 1024})[0].time;
  config.collectives.of<collectives::MulticastConfig>().chains = 4;
  const Time four = collective(config, CollectiveOp::kAllgather, {256 * 1024})[0].time;
  EXPECT_LT(four, one * 3 / 4);
}

TEST(Multicast, AnOverrunReceiveQueueIsRecoveredFrom) {
  // One slow core, 16 receives: much of what comes finds none and is dropped, and is read from the neighbour.
  MachineConfig config = machine_of(4);
  config.firmware.clock = Frequency(200'000'000);
  config.collectives.of<collectives::MulticastConfig>().subgroups = 1;
  config.collectives.of<collectives::MulticastConfig>().queue_depth = 16;
  config.collectives.of<collectives::MulticastConfig>().cutoff = 1;
  config.collectives.of<collectives::MulticastConfig>().activation = Time(20'000'000);
  test::fresh_kernel();
  Machine machine(config);
  const auto results = run_collective(machine, CollectiveOp::kBroadcast, {1 << 20}, ElementType::kFp32);
  EXPECT_EQ(results[0].wrong, 0);
  EXPECT_GT(totals(results[0]).missing, 0);
  EXPECT_EQ(totals(results[0]).fetched_bytes, totals(results[0]).missing * 4096);
  std::int64_t dropped = 0;
  for (int r = 0; r < machine.size(); ++r) dropped += machine.nic(r).counters().no_receive;
  EXPECT_GT(dropped, 0);
}

TEST(Multicast, NothingIsFetchedWhereNothingIsLost) {
  for (const auto transport : {MulticastTransport::kDatagram, MulticastTransport::kConnection}) {
    MachineConfig config = machine_of(12);
    config.collectives.of<collectives::MulticastConfig>().transport = transport;
    for (const auto op : {CollectiveOp::kAllgather, CollectiveOp::kBroadcast}) {
      for (const CollectiveResult& result : collective(config, op, {4, 1000, 65540, 1 << 20})) {
        EXPECT_EQ(result.wrong, 0);
        EXPECT_EQ(totals(result).missing, 0) << result.bytes;
        EXPECT_EQ(totals(result).stale, 0);
      }
    }
  }
}

/// Broadcast: the fast path does not know how many there are; what grows is the two meetings, and the levels of the
/// tree.
TEST(Multicast, BroadcastTakesTheSameTimeForAnyNumber) {
  constexpr std::uint64_t kBytes = 256 * 1024;
  const auto fast_path = [](int ranks) {
    MachineConfig config = machine_of(ranks);
    config.data = false;
    config.fabric.radix = 256;
    config.fabric.hosts_per_leaf = 4;  // the tree has two levels for any number
    config.collectives.of<collectives::MulticastConfig>().transport = MulticastTransport::kConnection;
    const Time whole = collective(config, CollectiveOp::kBroadcast, {kBytes})[0].time;
    const Time meeting = collective(config, CollectiveOp::kBarrier, {4})[0].time;
    return whole - meeting * 2;
  };
  const Time few = fast_path(8);
  for (const int ranks : kFast ? std::vector{64, 256, 1024} : std::vector{64, 256}) {
    EXPECT_EQ(fast_path(ranks), few) << ranks;
  }
}

/// The study's testbed: 188 hosts, 18 switches of 36 ports. What the ports of its switches take in and send is nearly
/// twice as much with a ring.
TEST(Multicast, HalvesTheTrafficOf188Nodes) {
  constexpr int kRanks = 188;
  constexpr std::int64_t kBlock = 65'536;
  MachineConfig config = machine_of(kRanks);
  config.data = false;
  config.fabric.radix = 36;
  config.fabric.hosts_per_leaf = 16;
  config.fabric.uplinks = 18;
  config.fabric.spines = 6;
  config.fabric.header = Bytes();
  const auto bytes_of = [&](const AlgorithmName& algorithm) {
    test::fresh_kernel();
    config.collectives.algorithm = algorithm;
    Machine machine(config);
    run_collective(machine, CollectiveOp::kAllgather, {kRanks * kBlock}, ElementType::kFp32, nullptr, false);
    std::int64_t sum = 0;
    for (int r = 0; r < kRanks; ++r) sum += machine.nic(r).transmitter().counters().wire_bytes;
    for (std::size_t s = 0; s < machine.network().switch_count(); ++s) {
      fabric::AnySwitch& sw = machine.network().switch_at(s);
      for (std::size_t p = 0; p < sw.radix(); ++p) sum += sw.transmitter(p).counters().wire_bytes;
    }
    return sum;
  };
  // Up from the sender, down to each other, and between the 12 leaves and the tree's spine: one up from the sender's
  // leaf, one down to each other. Blocks of a ring go to the next host over two links, or four where it is under the
  // next leaf.
  const std::int64_t multicast = kRanks * (kRanks + 12) * kBlock;
  const std::int64_t ring = (kRanks - 1) * ((kRanks - 12) * 2 + 12 * 4) * kBlock;
  const std::pair<AlgorithmName, std::int64_t> both[] = {{"multicast", multicast}, {"ring", ring}};
  for (const auto& [algorithm, data] : both) {
    const std::int64_t bytes = bytes_of(algorithm);
    EXPECT_GE(bytes, data);
    EXPECT_LE(bytes, data + data / 50) << "more than messages and acknowledgements";
  }
  EXPECT_GT(ring * 100, multicast * 195);
}

TEST(Multicast, RunsOnTheCoresOfTheNic) {
  MachineConfig config = machine_of(6);
  config.dpa.cores = 2;
  config.dpa.threads = 4;
  config.dpa.wait = firmware::Wait::kPoll;
  config.collectives.of<collectives::MulticastConfig>().placement = collectives::MulticastPlacement::kDpa;
  config.collectives.of<collectives::MulticastConfig>().subgroups = 3;
  const auto run = [](const MachineConfig& machine_config) {
    test::fresh_kernel();
    Machine machine(machine_config);
    const auto results = run_collective(machine, CollectiveOp::kAllgather, {1 << 20}, ElementType::kFp32);
    EXPECT_EQ(results[0].wrong, 0);
    return results[0];
  };
  const auto offloaded = run(config);
  config.collectives.of<collectives::MulticastConfig>().placement = collectives::MulticastPlacement::kHost;
  const auto on_host = run(config);
  EXPECT_LT(offloaded.host_busy * 20, on_host.host_busy);
  EXPECT_GT(offloaded.dpa_busy.value(), offloaded.host_busy * 20);
  EXPECT_EQ(on_host.dpa_busy, Time());
  config.dpa = {};
  config.dpa.cores = 0;
  EXPECT_EQ(run(config).dpa_busy, std::nullopt);
}

/// A member that never comes: all others wait for it, and the report says where.
TEST(Multicast, AMissingMemberIsNamed) {
  test::fresh_kernel();
  Machine machine(machine_of(4));
  Communicator communicator(machine.ranks(), machine.config().collectives, "all");
  for (int r = 0; r < 3; ++r) {
    machine.rank(r).processor->spawn("rank " + std::to_string(r), 0, communicator.broadcast(r, 0, 0, 1024));
  }
  try {
    machine.run();
    ADD_FAILURE() << "ended";
  } catch (const DeadlockError& error) {
    EXPECT_NE(std::string(error.what()).find("thread rank 0 waits for a message or a read in all multicast"),
              std::string::npos)
        << error.what();
  }
}

/// A member whose link goes down in the middle of it: connections to it run out of retries.
TEST(Multicast, ACrashedMemberIsReported) {
  test::fresh_kernel();
  MachineConfig config = machine_of(4);
  lose(config, 0);
  config.nic.retry_limit = 3;
  fabric::Fault fault;
  fault.link = "end2";
  fault.down = true;
  fault.from = 100_us;
  config.fabric.faults.push_back(fault);
  Machine machine(config);
  try {
    run_collective(machine, CollectiveOp::kBroadcast, {4 << 20}, ElementType::kFp32);
    ADD_FAILURE() << "ended";
  } catch (const DeadlockError& error) {
    EXPECT_NE(std::string(error.what()).find("end2"), std::string::npos) << error.what();
  }
}

std::string message_of(const MachineConfig& config, CollectiveOp op = CollectiveOp::kBroadcast,
                       std::uint64_t bytes = 1024) {
  try {
    collective(config, op, {bytes});
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

TEST(MulticastErrors, SayWhatToChange) {
  MachineConfig config = machine_of(4);
  config.collectives.of<collectives::MulticastConfig>().chunk = 8_KiB;
  EXPECT_EQ(message_of(config),
            "collectives.multicast.chunk: expected at most the network's MTU of 4KiB for datagrams, or transport "
            "connection, got 8KiB");
  config = machine_of(4);
  config.collectives.of<collectives::MulticastConfig>().placement = collectives::MulticastPlacement::kDpa;
  EXPECT_EQ(message_of(config), "collectives.multicast.placement: expected host, or a dpa with cores, got dpa");
  config.dpa.cores = 1;
  config.collectives.of<collectives::MulticastConfig>().copy = MulticastCopy::kEngine;
  EXPECT_EQ(message_of(config),
            "collectives.multicast.copy: expected interface, since the cores of a NIC do not reach the accelerator's "
            "engines, got engine");
  config = machine_of(2);
  config.data = false;
  config.collectives.of<collectives::MulticastConfig>().chunk = 1_B;
  {
    const test::ExpectReports reports;  // what an event throws passes the kernel
    EXPECT_EQ(
        message_of(config, CollectiveOp::kBroadcast, (1 << 24) + 4),
        "collectives.multicast.chunk: expected a larger one for collectives multicast: 16777220 chunks of 1B make "
        "up 16777220B, and 24 bits of an immediate tell 16777216 apart");
  }
  config = machine_of(4);
  config.firmware.cores = 0;
  EXPECT_EQ(message_of(config), "firmware.cores: expected at least 1, got 0");
}

}  // namespace
}  // namespace weft::platforms
