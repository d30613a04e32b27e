// SPDX-License-Identifier: Apache-2.0
// Which kernel for symmetric windows, and how many blocks, against the functions of NCCL 2.27 (src/symmetric.cc), run
// on these numbers by themselves.
#include "sw/collectives/nccl/symmetric_choice.h"

#include <gtest/gtest.h>

#include <string_view>

namespace weft::collectives {
namespace {

using dimensions::Operation;

struct Choice {
  SymmetricGroup group;
  Operation what;
  std::uint64_t bytes;
  std::string_view name;
  int blocks;
};

TEST(SymmetricChoice, IsThatOfNccl) {
  constexpr SymmetricGroup kHopper = {8, false, true};
  constexpr SymmetricGroup kHopperAlone = {8, false, false};
  constexpr SymmetricGroup kRack = {72, true, true};
  constexpr SymmetricGroup kTray = {4, true, false};
  const Choice choices[] = {
      {kHopper, Operation::kAllReduce, 1 << 10, "AGxLLMC_R", 2},
      {kHopper, Operation::kAllReduce, 64 << 10, "RSxLDMC_AGxSTMC", 1},
      {kHopper, Operation::kAllReduce, 1 << 20, "RSxLDMC_AGxSTMC", 1},
      {kHopper, Operation::kAllReduce, 1 << 30, "RSxLDMC_AGxSTMC", 2},
      {kHopper, Operation::kAllgather, 1 << 10, "LLMC", 1},
      {kHopper, Operation::kAllgather, 64 << 10, "LLMC", 7},
      {kHopper, Operation::kAllgather, 1 << 20, "STMC", 2},
      {kHopper, Operation::kAllgather, 1 << 30, "STMC", 2},
      {kHopper, Operation::kReduceScatter, 1 << 10, "LL", 1},
      {kHopper, Operation::kReduceScatter, 64 << 10, "LL", 8},
      {kHopper, Operation::kReduceScatter, 1 << 20, "LDMC", 2},
      {kHopper, Operation::kReduceScatter, 1 << 30, "LDMC", 2},
      {kHopperAlone, Operation::kAllReduce, 1 << 10, "AGxLL_R", 2},
      {kHopperAlone, Operation::kAllReduce, 64 << 10, "RSxLD_AGxST", 2},
      {kHopperAlone, Operation::kAllReduce, 1 << 20, "RSxLD_AGxST", 7},
      {kHopperAlone, Operation::kAllReduce, 1 << 30, "RSxLD_AGxST", 7},
      {kHopperAlone, Operation::kAllgather, 1 << 10, "LL", 1},
      {kHopperAlone, Operation::kAllgather, 64 << 10, "LL", 8},
      {kHopperAlone, Operation::kAllgather, 1 << 20, "ST", 8},
      {kHopperAlone, Operation::kAllgather, 1 << 30, "ST", 9},
      {kHopperAlone, Operation::kReduceScatter, 1 << 10, "LL", 1},
      {kHopperAlone, Operation::kReduceScatter, 64 << 10, "LL", 8},
      {kHopperAlone, Operation::kReduceScatter, 1 << 20, "LD", 8},
      {kHopperAlone, Operation::kReduceScatter, 1 << 30, "LD", 9},
      {kRack, Operation::kAllReduce, 1 << 10, "AGxLLMC_R", 7},
      {kRack, Operation::kAllReduce, 64 << 10, "RSxLDMC_AGxSTMC", 1},
      {kRack, Operation::kAllReduce, 1 << 20, "RSxLDMC_AGxSTMC", 1},
      {kRack, Operation::kAllReduce, 1 << 30, "RSxLDMC_AGxSTMC", 1},
      {kRack, Operation::kAllgather, 1 << 10, "LLMC", 1},
      {kRack, Operation::kAllgather, 64 << 10, "LLMC", 7},
      {kRack, Operation::kAllgather, 1 << 20, "STMC", 1},
      {kRack, Operation::kAllgather, 1 << 30, "STMC", 1},
      {kRack, Operation::kReduceScatter, 1 << 10, "LL", 1},
      {kRack, Operation::kReduceScatter, 64 << 10, "LDMC", 1},
      {kRack, Operation::kReduceScatter, 1 << 20, "LDMC", 1},
      {kRack, Operation::kReduceScatter, 1 << 30, "LDMC", 1},
      {kTray, Operation::kAllReduce, 1 << 10, "AGxLL_R", 1},
      {kTray, Operation::kAllReduce, 64 << 10, "AGxLL_R", 11},
      {kTray, Operation::kAllReduce, 1 << 20, "RSxLD_AGxST", 9},
      {kTray, Operation::kAllReduce, 1 << 30, "RSxLD_AGxST", 13},
      {kTray, Operation::kAllgather, 1 << 10, "LL", 1},
      {kTray, Operation::kAllgather, 64 << 10, "LL", 8},
      {kTray, Operation::kAllgather, 1 << 20, "ST", 8},
      {kTray, Operation::kAllgather, 1 << 30, "ST", 13},
      {kTray, Operation::kReduceScatter, 1 << 10, "LL", 1},
      {kTray, Operation::kReduceScatter, 64 << 10, "LD", 1},
      {kTray, Operation::kReduceScatter, 1 << 20, "LD", 8},
      {kTray, Operation::kReduceScatter, 1 << 30, "LD", 13},
  };
  for (const Choice& choice : choices) {
    const SymmetricKernel kernel = symmetric_kernel(choice.group, choice.what, choice.bytes);
    EXPECT_EQ(kernel_name(kernel.kind, choice.what), choice.name) << choice.group.members << ", " << choice.bytes;
    EXPECT_EQ(kernel.blocks, choice.blocks) << choice.group.members << ", " << choice.bytes;
  }
}

}  // namespace
}  // namespace weft::collectives
