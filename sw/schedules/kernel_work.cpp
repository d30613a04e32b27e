// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kernel_work.h"

namespace weft::schedules {
namespace {

accelerator::DataType data_type(int element_bytes) {
  return element_bytes == 2 ? accelerator::DataType::kBf16
                            : (element_bytes == 1 ? accelerator::DataType::kFp8 : accelerator::DataType::kTf32);
}

struct ToWork {
  const accelerator::ComputeConfig& compute;

  accelerator::KernelWork operator()(const models::Gemm& gemm) const {
    return kernel_work(compute, accelerator::Gemm{gemm.batch, gemm.m, gemm.n, gemm.k, data_type(gemm.element_bytes)});
  }
  accelerator::KernelWork operator()(const models::FlashAttention& attention) const {
    return kernel_work(compute, accelerator::FlashAttention{attention.batch, attention.heads, attention.kv_heads,
                                                            attention.queries, attention.head_dim, attention.causal,
                                                            attention.backward, attention.synchronous});
  }
  accelerator::KernelWork operator()(const models::Elementwise& pass) const {
    auto work = kernel_work(
        compute, accelerator::Elementwise{pass.bytes_read / 4, Bytes(pass.bytes_read), Bytes(pass.bytes_written), 1});
    work.launch = work.launch * pass.launches;
    return work;
  }
};

}  // namespace

accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& compute, const models::Kernel& kernel) {
  return std::visit(ToWork{compute}, kernel.shape);
}

accelerator::Command kernel_command(std::uint32_t stream, const char* label, const accelerator::KernelWork& work) {
  accelerator::Command command;
  command.operation = accelerator::Operation::kKernel;
  command.stream = stream;
  command.launch_ps = work.launch.count();
  command.compute_ps = work.compute.count();
  command.read = static_cast<std::uint64_t>(work.read.count());
  command.written = static_cast<std::uint64_t>(work.written.count());
  command.cached = static_cast<std::uint64_t>(work.cached.count());
  command.blocks = static_cast<std::uint32_t>(work.blocks);
  command.energy = work.array_energy;
  command.label = label;
  return command;
}

}  // namespace weft::schedules
