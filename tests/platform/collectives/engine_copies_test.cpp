// SPDX-License-Identifier: Apache-2.0
// Collectives of a node by DMA engines: every byte in place, none moved twice, no SMs kept, and when NCCL has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/nccl/nccl_collectives.h"
#include "sw/collectives/reference.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::Communicator;
using collectives::CtaPolicy;
using collectives::NcclConfig;
using collectives::NcclVersion;
using collectives::Reference;
using dimensions::Operation;

MachineConfig with_engines(int nodes, int per_node) {
  MachineConfig config;
  config.accelerators = nodes * per_node;
  config.per_node = per_node;
  config.collectives.algorithm = "nccl";
  config.collectives.of<NcclConfig>().cta_policy = CtaPolicy::kZero;
  config.accelerator.array.dma.engines = 2;
  return config;
}

struct EngineTurn {
  Operation what;
  std::uint64_t bytes;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};

firmware::Task take_turns(Communicator& group, int member, std::vector<EngineTurn> turns) {
  for (const EngineTurn& turn : turns) {
    if (turn.what == Operation::kAllgather) {
      co_await group.allgather(member, turn.input, turn.bytes, 4);
    } else {
      co_await group.all_to_all(member, turn.input, turn.output, turn.bytes);
    }
  }
}

TEST(EngineCopies, PutsEveryByteInPlaceAndMovesNoneTwice) {
  for (const int ranks : {2, 3, 8}) {
    for (const auto& [stall, engines] : std::vector<std::pair<Time, int>>{{Time(), 1}, {Time(), 2}, {3_us, 2}}) {
      MachineConfig config = with_engines(1, ranks);
      config.accelerator.array.dma.engines = engines;
      config.stall = stall;
      config.data = true;
      test::fresh_kernel();
      Machine machine(config);
      Communicator group(machine.ranks(), config.collectives, "group");
      std::vector<EngineTurn> turns;
      std::vector<Reference> contents;
      std::int64_t sent = 0;
      for (const std::uint64_t block : {4ULL, 0ULL, 70'000ULL, 300'004ULL}) {
        for (const Operation what : {Operation::kAllgather, Operation::kAllToAll}) {
          // Blocks of an Allgather may differ.
          const std::uint64_t bytes =
              block * static_cast<std::uint64_t>(ranks) + (what == Operation::kAllgather && block > 4 ? 4 : 0);
          const std::uint64_t room = std::max<std::uint64_t>(bytes, 1);
          turns.push_back({what, bytes, firmware::allocate_together(machine.ranks(), "input", room),
                           firmware::allocate_together(machine.ranks(), "output", room)});
          contents.push_back({what, ranks, bytes, ElementType::kFp32, turns.size()});
          for (int r = 0; r < ranks; ++r) contents.back().fill(machine.memory(r).store(), turns.back().input, r);
          sent += static_cast<std::int64_t>(bytes) * (ranks - 1);
        }
      }
      for (int r = 0; r < ranks; ++r) machine.rank(r).processor->spawn("turns", 0, take_turns(group, r, turns));
      machine.run();
      std::int64_t received = 0;
      for (int r = 0; r < ranks; ++r) {
        received += machine.scale_up_port(r)->counters().bytes_received;
        for (std::size_t i = 0; i < turns.size(); ++i) {
          const bool gathers = turns[i].what == Operation::kAllgather;
          EXPECT_EQ(contents[i].wrong(machine.memory(r).store(), gathers ? turns[i].input : turns[i].output, r), 0)
              << ranks << " ranks, " << turns[i].bytes << " bytes";
        }
      }
      EXPECT_EQ(received, sent);
    }
  }
}

CollectiveResult run_one(const MachineConfig& config, CollectiveOp op, std::uint64_t bytes) {
  test::fresh_kernel();
  Machine machine(config);
  return run_collective(machine, op, {bytes}, ElementType::kFp32, nullptr, false).front();
}

// Of eight, a member starts seven copies and twice says where it is.
TEST(EngineCopies, TakeTheirStartsAndTheLinksTime) {
  MachineConfig config = with_engines(1, 8);
  for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kAllToAll}) {
    config.accelerator.array.dma.start = Time();
    const CollectiveResult none = run_one(config, op, 4096);
    EXPECT_EQ(none.algorithms.front(), "copy-engines");
    config.accelerator.array.dma.start = 5_us;
    const Time starts = run_one(config, op, 4096).time - none.time;
    EXPECT_GE(starts, 9 * 5_us);
    EXPECT_LE(starts, 9 * 5_us + 1_us);
  }
  constexpr std::uint64_t kBytes = 256 << 20;
  const CollectiveResult large = run_one(config, CollectiveOp::kAllgather, kBytes);
  const Time least = transfer_time(Bytes(kBytes / 8 * 7),
                                   std::min(config.scale_up.fabric.payload_rate(), config.scale_up.port.dma_rate));
  EXPECT_GE(large.time, least);
  EXPECT_LE(large.time, least + least / 16 + 9 * 5_us);
}

// What a member keeps goes at the rate of a local copy, beside the others where there is an engine for it.
TEST(EngineCopies, HaveALocalCopyOfTheirOwnRate) {
  MachineConfig config = with_engines(1, 4);
  config.accelerator.array.dma.local_rate = 1_GBps;
  constexpr std::uint64_t kBytes = 16 << 20;
  const Time local = transfer_time(Bytes(kBytes / 4), 1_GBps);
  const Time beside = run_one(config, CollectiveOp::kAllToAll, kBytes).time;
  EXPECT_GE(beside, local);
  EXPECT_LE(beside, local + local / 16);
  config.accelerator.array.dma.engines = 1;
  const Time others = transfer_time(Bytes(kBytes / 4 * 3), config.scale_up.fabric.payload_rate());
  EXPECT_GE(run_one(config, CollectiveOp::kAllToAll, kBytes).time, local + others);
}

TEST(EngineCopies, KeepNoSms) {
  MachineConfig config = with_engines(2, 4);
  config.accelerator.array.shared_cores = true;
  test::fresh_kernel();
  Machine machine(config);
  std::vector<firmware::Rank*> node;
  for (int r = 0; r < 4; ++r) node.push_back(&machine.rank(r));
  Communicator within(node, config.collectives, "node");
  Communicator across(machine.ranks(), config.collectives, "all");
  const int all = config.accelerator.array.copy_engines;
  EXPECT_EQ(within.kernel_cores(0, Operation::kAllgather, 1 << 20), 0);
  EXPECT_EQ(within.kernel_cores(0, Operation::kAllToAll, 1 << 20), 0);
  EXPECT_EQ(within.kernel_cores(0, Operation::kAllToAll, 1 << 20, {}, false), all);
  EXPECT_EQ(within.kernel_cores(0, Operation::kReduceScatter, 1 << 20), all);
  EXPECT_EQ(within.kernel_cores(0, Operation::kAllReduce, 1 << 20), all);
  EXPECT_EQ(across.kernel_cores(0, Operation::kAllgather, 1 << 20), all);
}

TEST(EngineCopies, AreNotOfSeveralNodesWhichIsSaid) {
  const MachineConfig config = with_engines(2, 4);
  test::fresh_kernel();
  Machine machine(config);
  Communicator group(machine.ranks(), config.collectives, "all");
  const std::uint64_t buffer = firmware::allocate_together(machine.ranks(), "buffer", 8192);
  EXPECT_EQ(group.algorithm_of(Operation::kAllgather, 8192, ElementType::kFp32), "ring");
  EXPECT_EQ(group.remark(), "");
  for (int r = 0; r < 8; ++r) {
    machine.rank(r).processor->spawn("turns", 0, take_turns(group, r, {{Operation::kAllgather, 8192, buffer, 0}}));
  }
  machine.run();
  EXPECT_NE(group.remark().find("all_gather by kernels in spite of collectives.nccl.cta_policy"), std::string::npos);
}

std::string refusal(const MachineConfig& config) {
  test::fresh_kernel();
  Machine machine(config);
  try {
    Communicator group(machine.ranks(), config.collectives, "group");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(EngineCopies, AreRefusedWhereTheReleaseOrTheAcceleratorHasNone) {
  MachineConfig config = with_engines(1, 4);
  EXPECT_EQ(refusal(config), "");
  config.collectives.of<NcclConfig>().version = NcclVersion::k2_27;
  EXPECT_NE(
      refusal(config).find("collectives.nccl.cta_policy: expected default, since collectives.nccl.version is 2.27"),
      std::string::npos);
  config.collectives.of<NcclConfig>().version = NcclVersion::k2_28;
  config.accelerator.array.dma.engines = 0;
  EXPECT_NE(refusal(config).find("collectives.nccl.cta_policy: expected default, since accelerator.dma.engines"),
            std::string::npos);
}

// The release says how many SMs a kernel keeps on Blackwell, of those that there are.
TEST(NcclCtas, OfBlackwellAreFewerFrom2_28On) {
  MachineConfig config;
  config.accelerators = config.per_node = 4;
  config.collectives.algorithm = "nccl";
  config.accelerator.array.shared_cores = true;
  config.accelerator.array.copy_engines = 32;
  const auto kept = [&config](Rate rate, NcclVersion version) {
    config.scale_up.fabric.link.rate = rate;
    config.scale_up.port.dma_rate = rate;
    config.collectives.of<NcclConfig>().version = version;
    test::fresh_kernel();
    Machine machine(config);
    Communicator group(machine.ranks(), config.collectives, "group");
    return group.kernel_cores(0, Operation::kAllReduce, 1 << 20);
  };
  EXPECT_EQ(kept(900_GBps, NcclVersion::k2_28), 16);
  EXPECT_EQ(kept(900_GBps, NcclVersion::k2_27), 32);
  EXPECT_EQ(kept(450_GBps, NcclVersion::k2_28), 32);
}

}  // namespace
}  // namespace weft::platforms
