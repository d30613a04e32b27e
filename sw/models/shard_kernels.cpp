// SPDX-License-Identifier: Apache-2.0
#include "sw/models/shard_kernels.h"

namespace weft::models {
namespace {

constexpr std::int64_t kFp32 = 4;

}  // namespace

std::vector<Kernel> kernels_before_gather(const Shard& shard, bool flat) {
  std::vector<Kernel> kernels;
  const std::int64_t plain = shard.elements - shard.float8;
  const std::int64_t plain_bytes = plain * shard.element_bytes;
  if (shard.float8 > 0) {
    constexpr std::int64_t kRead = kFp32 + kFp32 + kFp32;
    constexpr std::int64_t kWritten = kFp32 + kFp32 + 1;
    kernels.push_back({"shard.scale_cast", Elementwise{kRead * shard.float8, kWritten * shard.float8,
                                                       static_cast<int>(3 * shard.float8_tensors)}});
  }
  if (shard.element_bytes != kFp32) kernels.push_back({"shard.cast", Elementwise{kFp32 * plain, plain_bytes, 1}});
  if (flat) return kernels;
  const std::int64_t bytes = plain_bytes + shard.float8;
  kernels.push_back({"allgather.copy_in", Elementwise{bytes, bytes, 1}});
  return kernels;
}

std::vector<Kernel> kernels_after_sums(std::int64_t elements, std::int64_t element_bytes, bool flat) {
  std::vector<Kernel> kernels;
  const std::int64_t bytes = elements * element_bytes;
  if (flat) kernels.push_back({"sums.division", Elementwise{bytes, bytes, 1}});
  if (element_bytes != kFp32) kernels.push_back({"sums.cast", Elementwise{bytes, kFp32 * elements, 1}});
  return kernels;
}

}  // namespace weft::models
