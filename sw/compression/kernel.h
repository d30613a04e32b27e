// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "hw/accelerator/kernel.h"

/// Kernels that compress and decompress, as shapes: passes over memory in float32, and products. Costs are counted from
/// what each pass must read and write; none was measured.
namespace weft::compression {

/// Passes over memory by one thread block, such as a segmented sort of one segment: an SM's share of the last-level
/// cache bounds it.
struct OneBlock {
  Bytes read{};
  Bytes written{};
};
[[nodiscard]] accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& config, const OneBlock& shape);

struct Kernel {
  /// Of static storage, such as "compress.select".
  std::string_view name;
  std::variant<accelerator::Elementwise, accelerator::Gemm, OneBlock> shape;
};
[[nodiscard]] accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& config, const Kernel& kernel);

using Kernels = std::vector<Kernel>;

/// Bytes of a float32, and of a pair of index and value.
constexpr std::int64_t kElement = 4;
constexpr std::int64_t kPair = 8;
/// What memory gives of values that lie apart, one each.
constexpr std::int64_t kSector = 32;

[[nodiscard]] Kernel pass(std::string_view name, std::int64_t elements, std::int64_t read, std::int64_t written,
                          double flops);
/// Adds what was left behind.
[[nodiscard]] Kernel accumulate(std::int64_t elements);
/// Pairs are written, and with error feedback what stays.
[[nodiscard]] Kernel pack_pairs(std::int64_t elements, std::int64_t pairs, bool error_feedback);
/// Clears the result, and adds pairs, each at its place.
[[nodiscard]] Kernels scatter_kernels(std::int64_t elements, std::int64_t pairs);

}  // namespace weft::compression
