// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sw/compression/compressor.h"

/// Kernels where each operation of a formula is one of its own (KernelStyle::kFramework), as operations of TensorFlow
/// are on its GPU kernels without XLA. Operations are counted in GRACE's sources (github.com/sands-lab/grace,
/// grace_dl/tensorflow).
namespace weft::compression {

/// Operations on all elements: of one tensor, of two, and reductions to a number.
struct Operations {
  int unary = 0;
  int binary = 0;
  int reductions = 0;
};
void append(Kernels& kernels, std::string_view name, std::int64_t elements, const Operations& operations);

/// Error feedback: the residual is added; and behind a message of its own, which has been decompressed, what that
/// stands for is taken off and the rest assigned.
void append_compensation(Kernels& kernels, std::int64_t elements);
void append_residual(Kernels& kernels, std::int64_t elements);

/// A tensor for each message, added up by one kernel, and divided.
void append_aggregation(Kernels& kernels, std::int64_t elements, int messages);

/// The largest, in order: TensorFlow's top_k of 100 and more sorts all of a tensor by cub's segmented radix sort, whose
/// only segment is one block's. Six passes of 5 or 6 bits over keys and indices: one reads keys and counts, the other
/// reads and writes both. (Recalled: tensorflow/core/kernels/topk_op_gpu.h, cub/device/dispatch/dispatch_radix_sort.)
void append_sort(Kernels& kernels, std::int64_t elements);

}  // namespace weft::compression
