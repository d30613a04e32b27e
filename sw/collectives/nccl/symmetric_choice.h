// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "sw/dimensions/plan.h"

namespace weft::collectives {

/// How a kernel of NCCL reaches the others of its node where buffers are symmetric windows (ncclSymKernelId of NCCL
/// 2.27): words with flags to every member, or to all at once through the switches; stores to and loads from the
/// others' buffers; or the switches' copies and sums.
enum class SymmetricKind : std::uint8_t { kWords, kWordsMulticast, kDirect, kMulticast };

/// One of them, on as many SMs as it has blocks.
struct SymmetricKernel {
  SymmetricKind kind = SymmetricKind::kDirect;
  int blocks = 1;
  bool operator==(const SymmetricKernel&) const = default;
};

/// What kernels are for.
struct SymmetricGroup {
  int members = 1;
  bool blackwell = false;  ///< or later
  bool multicast = false;  ///< the switches copy and sum
};

/// The most blocks of a kernel (ncclSymMaxBlocks).
inline constexpr int kMostSymmetricBlocks = 64;
/// What a block takes of a buffer at the least (NCCL_SYM_KERNEL_CELL_SIZE).
inline constexpr std::uint64_t kSymmetricCell = 1 << 10;

/// The kernel that NCCL 2.27 and 2.28 take for an Allgather, a ReduceScatter or an AllReduce of `bytes` bytes in all
/// (queryModel() and ncclSymPickKernel() in src/symmetric.cc, src/sym_kernels.cc): of each kind the fewest blocks with
/// which it takes at most 2.5 % longer than with all that it may have, and of these the least time, where each block
/// counts as 2.5 % more. The model is a latency, and bytes over what the blocks move or the links carry.
[[nodiscard]] SymmetricKernel symmetric_kernel(const SymmetricGroup& group, dimensions::Operation what,
                                               std::uint64_t bytes);

/// As NCCL writes it behind the collective's name: "RSxLD_AGxST".
[[nodiscard]] std::string_view kernel_name(SymmetricKind kind, dimensions::Operation what);

}  // namespace weft::collectives
