// SPDX-License-Identifier: Apache-2.0
#include "sw/compression/kernel.h"

namespace weft::compression {

accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& config, const Kernel& kernel) {
  using accelerator::kernel_work;
  return std::visit([&](const auto& shape) { return kernel_work(config, shape); }, kernel.shape);
}

accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& config, const OneBlock& shape) {
  const Bytes moved = shape.read + shape.written;
  if (moved.count() == 0) return {};
  accelerator::KernelWork work = accelerator::kernel_work(
      config, accelerator::Elementwise{moved.count() / kElement, shape.read, shape.written, 0});
  const Rate share = accelerator::partition(config, 1).l2_rate;
  const Time alone = transfer_time(moved, share);
  if (alone > work.compute) accelerator::lengthen(work, accelerator::Cost::kCache, alone - work.compute, false);
  return work;
}

Kernel pass(std::string_view name, std::int64_t elements, std::int64_t read, std::int64_t written, double flops) {
  return {name, accelerator::Elementwise{elements, Bytes(read), Bytes(written), flops}};
}

Kernel accumulate(std::int64_t elements) {
  return pass("compress.accumulate", elements, 2 * kElement * elements, kElement * elements, 1);
}

Kernel pack_pairs(std::int64_t elements, std::int64_t pairs, bool error_feedback) {
  const std::int64_t left = error_feedback ? kElement * elements : 0;
  return pass("compress.pack", elements, kElement * elements, left + kPair * pairs, 1);
}

Kernels scatter_kernels(std::int64_t elements, std::int64_t pairs) {
  return {pass("decompress.clear", elements, 0, kElement * elements, 0),
          pass("decompress.add", pairs, (kPair + kElement) * pairs, kElement * pairs, 1)};
}

}  // namespace weft::compression
