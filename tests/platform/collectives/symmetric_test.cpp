// SPDX-License-Identifier: Apache-2.0
// Collectives by NCCL's kernels for symmetric windows: every byte in place by each kernel, what links carry, which SMs
// they keep, and where there are none.
#include "sw/collectives/nccl/symmetric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
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
using collectives::NcclConfig;
using collectives::NcclVersion;
using collectives::Reference;
using collectives::SymmetricKernel;
using collectives::SymmetricKernels;
using collectives::SymmetricKind;
using dimensions::Operation;

MachineConfig with_windows(int nodes, int per_node, bool multicast = true) {
  MachineConfig config;
  config.accelerators = nodes * per_node;
  config.per_node = per_node;
  config.scale_up.fabric.segment = 64_KiB;
  if (multicast) {
    config.scale_up.fabric.switch_config.reduction.trees = 16;
    config.scale_up.fabric.switch_config.reduction.chunks = 1 << 16;
    config.scale_up.fabric.switch_config.reduction.fp32 = 512;
    config.scale_up.fabric.switch_config.reduction.bf16 = 1024;
  }
  config.collectives.algorithm = "nccl";
  config.collectives.of<NcclConfig>().symmetric = true;
  return config;
}

/// One collective by one kernel.
struct WindowTurn {
  Operation what;
  SymmetricKernel how;
  std::uint64_t bytes;
  ElementType type;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};

firmware::Task take_window_turns(SymmetricKernels& kernels, int member, int members, std::vector<WindowTurn> turns) {
  for (const WindowTurn& turn : turns) {
    const collectives::BlockMap blocks = collectives::even_blocks({0, turn.bytes}, members, size_of(turn.type));
    switch (turn.what) {
      case Operation::kAllgather:
        co_await kernels.allgather(member, turn.input, blocks, turn.how);
        break;
      case Operation::kReduceScatter:
        co_await kernels.reduce_scatter(member, turn.input, turn.output, blocks, turn.type, turn.how);
        break;
      default:
        co_await kernels.all_reduce(member, turn.input, turn.bytes, turn.type, turn.how);
        break;
    }
  }
}

/// Several of each kind one after the other, so that what one leaves behind meets the next; blocks may differ.
void expect_right(int ranks, Time stall) {
  MachineConfig config = with_windows(1, ranks, ranks > 2);
  config.stall = stall;
  config.data = true;
  test::fresh_kernel();
  Machine machine(config);
  SymmetricKernels kernels(machine.ranks(), ranks > 2, "group");
  ASSERT_EQ(kernels.has_multicast(), ranks > 2);
  std::vector<WindowTurn> turns;
  std::vector<Reference> contents;
  for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{20'004}, std::uint64_t{1'300'008}}) {
    for (const SymmetricKind kind :
         {SymmetricKind::kWords, SymmetricKind::kWordsMulticast, SymmetricKind::kDirect, SymmetricKind::kMulticast}) {
      const bool switches = kind == SymmetricKind::kWordsMulticast || kind == SymmetricKind::kMulticast;
      if (switches && ranks == 2) continue;
      for (const Operation what : {Operation::kAllgather, Operation::kReduceScatter, Operation::kAllReduce}) {
        if (what == Operation::kReduceScatter && kind == SymmetricKind::kWordsMulticast) continue;
        const ElementType type = turns.size() % 2 == 0 ? ElementType::kFp32 : ElementType::kBf16;
        turns.push_back({what,
                         {kind, static_cast<int>(turns.size() % 5) + 1},
                         bytes,
                         type,
                         firmware::allocate_together(machine.ranks(), "input", bytes),
                         firmware::allocate_together(machine.ranks(), "output", bytes)});
        contents.push_back({what, ranks, bytes, type, turns.size()});
        for (int r = 0; r < ranks; ++r) contents.back().fill(machine.memory(r).store(), turns.back().input, r);
      }
    }
  }
  for (int r = 0; r < ranks; ++r) {
    machine.rank(r).processor->spawn("turns", 0, take_window_turns(kernels, r, ranks, turns));
  }
  machine.run();
  for (int r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const bool scatters = turns[i].what == Operation::kReduceScatter;
      EXPECT_EQ(contents[i].wrong(machine.memory(r).store(), scatters ? turns[i].output : turns[i].input, r), 0)
          << ranks << " ranks, turn " << i << ", " << turns[i].bytes << " bytes, kernel "
          << kernel_name(turns[i].how.kind, turns[i].what) << " of " << name_of(turns[i].what);
    }
  }
}

TEST(SymmetricKernels, PutEveryByteInPlace) {
  for (const int ranks : {2, 3, 8}) {
    expect_right(ranks, Time());
    expect_right(ranks, 3_us);
  }
}

struct WindowRun {
  CollectiveResult result;
  std::string remark;
  std::int64_t received = 0;  ///< by the first accelerator's port
};

WindowRun run_windows(const MachineConfig& config, CollectiveOp op, std::uint64_t bytes,
                      ElementType type = ElementType::kFp32, bool warm = false) {
  test::fresh_kernel();
  Machine machine(config);
  WindowRun run;
  run.result = run_collective(machine, op, {bytes}, type, &run.remark, warm).front();
  if (config.per_node > 1) run.received = machine.scale_up_port(0)->counters().bytes_received;
  return run;
}

// An own block in place is a ReduceScatter's, too.
TEST(SymmetricKernels, SumTheOwnBlockInPlace) {
  for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{3'000'000}}) {
    for (const SymmetricKind kind : {SymmetricKind::kWords, SymmetricKind::kDirect}) {
      MachineConfig config = with_windows(1, 4, false);
      config.data = true;
      test::fresh_kernel();
      Machine machine(config);
      SymmetricKernels kernels(machine.ranks(), false, "group");
      const std::uint64_t buffer = firmware::allocate_together(machine.ranks(), "buffer", bytes);
      const Reference contents = {Operation::kReduceScatter, 4, bytes, ElementType::kFp32, 7};
      for (int r = 0; r < 4; ++r) {
        contents.fill(machine.memory(r).store(), buffer, r);
        const WindowTurn turn = {Operation::kReduceScatter, {kind, 4}, bytes,
                                 ElementType::kFp32,        buffer,    buffer + contents.block(r).offset};
        machine.rank(r).processor->spawn("turn", 0, take_window_turns(kernels, r, 4, {turn}));
      }
      machine.run();
      for (int r = 0; r < 4; ++r) {
        EXPECT_EQ(contents.wrong(machine.memory(r).store(), buffer + contents.block(r).offset, r), 0) << r;
      }
    }
  }
}

// By hand: what comes to an accelerator, and that the links are full with much of it.
TEST(SymmetricKernels, CarryWhatTheyHaveTo) {
  const MachineConfig config = with_windows(1, 8, false);
  constexpr std::uint64_t kMany = 256 << 20;
  const Rate link = std::min(config.scale_up.fabric.payload_rate(), config.scale_up.port.dma_rate);
  const auto expect = [&](CollectiveOp op, std::uint64_t bytes, std::uint64_t received) {
    const WindowRun run = run_windows(config, op, bytes);
    EXPECT_EQ(run.result.algorithm(), "symmetric");
    EXPECT_EQ(run.received, static_cast<std::int64_t>(received)) << run.result.protocol();
    const Time least = transfer_time(Bytes(static_cast<std::int64_t>(received)), link);
    EXPECT_GE(run.result.time, least);
    if (bytes == kMany) {
      // Loads of several members meet in the switch, behind which others wait; stores go to one after the other.
      const std::int64_t percent = run.result.protocol() == "LD" ? 50 : 10;
      EXPECT_LE(run.result.time, least + percent * least / 100) << run.result.protocol();
    }
  };
  expect(CollectiveOp::kAllgather, 8 << 10, 7 * 2 * (1 << 10));  // each word with its flag
  expect(CollectiveOp::kReduceScatter, 8 << 10, 7 * 2 * (1 << 10));
  expect(CollectiveOp::kAllReduce, 1 << 10, 7 * 2 * (1 << 10));
  expect(CollectiveOp::kAllgather, kMany, kMany / 8 * 7);
  expect(CollectiveOp::kReduceScatter, kMany, kMany / 8 * 7);
  expect(CollectiveOp::kAllReduce, kMany, kMany / 8 * 7 * 2);
}

TEST(SymmetricKernels, AreFasterThanRingsAndTreesWhereLatencyCounts) {
  for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllgather, CollectiveOp::kReduceScatter}) {
    MachineConfig config = with_windows(1, 8);
    const auto time = [&] { return run_windows(config, op, 8 << 10, ElementType::kFp32, /*warm=*/true).result.time; };
    const Time windows = time();
    config.collectives.of<NcclConfig>().symmetric = false;
    EXPECT_LT(2 * windows, time()) << name_of(op);
  }
}

TEST(SymmetricKernels, KeepTheSmsOfTheirBlocks) {
  MachineConfig config = with_windows(1, 8);
  config.accelerator.array.shared_cores = true;
  test::fresh_kernel();
  Machine machine(config);
  Communicator group(machine.ranks(), config.collectives, "group");
  for (const std::uint64_t bytes : {std::uint64_t{1} << 10, std::uint64_t{1} << 30}) {
    for (const Operation what : {Operation::kAllReduce, Operation::kAllgather, Operation::kReduceScatter}) {
      EXPECT_EQ(group.kernel_cores(0, what, bytes),
                collectives::symmetric_kernel({8, false, true}, what, bytes).blocks);
    }
  }
  EXPECT_EQ(group.kernel_cores(0, Operation::kAllToAll, 1 << 20), config.accelerator.array.copy_engines);
  EXPECT_EQ(group.kernel_cores(0, collectives::Rooted::kBroadcast), config.accelerator.array.copy_engines);
}

TEST(SymmetricKernels, DoWithoutSwitchesThatHaveNoRoom) {
  MachineConfig config = with_windows(1, 8);
  config.scale_up.fabric.switch_config.reduction.trees = 1;
  const WindowRun run = run_windows(config, CollectiveOp::kAllReduce, 64 << 20);
  EXPECT_EQ(run.result.protocol(), "RSxLD_AGxST");
  EXPECT_NE(run.remark.find("its kernels for symmetric windows do without them"), std::string::npos) << run.remark;
}

TEST(SymmetricKernels, SumNoIntegersAndReachOneNodeWhichIsSaid) {
  const MachineConfig one = with_windows(1, 8);
  EXPECT_NE(run_windows(one, CollectiveOp::kAllReduce, 1 << 10, ElementType::kInt32).result.algorithm(), "symmetric");
  EXPECT_EQ(run_windows(one, CollectiveOp::kAllgather, 1 << 10, ElementType::kInt32).result.algorithm(), "symmetric");
  const WindowRun two = run_windows(with_windows(2, 4), CollectiveOp::kAllReduce, 1 << 10);
  EXPECT_NE(two.result.algorithm(), "symmetric");
  EXPECT_NE(two.remark.find("all_reduce without symmetric windows in spite of collectives.nccl.symmetric"),
            std::string::npos)
      << two.remark;
}

TEST(SymmetricKernels, AreRefusedBeforeTheirRelease) {
  MachineConfig config = with_windows(1, 4);
  config.collectives.of<NcclConfig>().version = NcclVersion::k2_26;
  test::fresh_kernel();
  Machine machine(config);
  try {
    Communicator group(machine.ranks(), config.collectives, "group");
    FAIL() << "expected a refusal";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("expected false, since collectives.nccl.version is 2.26 and symmetric windows are of 2.27"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace weft::platforms
