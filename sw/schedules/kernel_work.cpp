// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kernel_work.h"

#include <algorithm>
#include <cmath>

namespace weft::schedules {
namespace {

constexpr double kNanojoule = 1e-9;

accelerator::DataType data_type(int element_bytes) {
  return element_bytes == 2 ? accelerator::DataType::kBf16
                            : (element_bytes == 1 ? accelerator::DataType::kFp8 : accelerator::DataType::kTf32);
}

struct ToWork {
  const accelerator::ComputeConfig& compute;

  accelerator::KernelWork operator()(const models::Gemm& gemm) const {
    // Tiles are those of the larger ones, where some products of a batch have a row or a term more.
    const bool is_fp4 = gemm.scale_block == models::kNvfp4Block;
    accelerator::KernelWork work = kernel_work(
        compute, accelerator::Gemm{.batch = gemm.batch,
                                   .m = gemm.m + (gemm.more_m > 0 ? 1 : 0),
                                   .n = gemm.n,
                                   .k = gemm.k + (gemm.more_k > 0 ? 1 : 0),
                                   .type = is_fp4 ? accelerator::DataType::kFp4 : data_type(gemm.element_bytes),
                                   .fast_accumulation = gemm.fast_accumulation || gemm.scale_block > 0});
    // Those of fp4 are the array's own.
    if (gemm.scale_block > 0 && !is_fp4) work.read = work.read + Bytes(work.read.count() / gemm.scale_block);
    return work;
  }
  accelerator::KernelWork operator()(const models::FlashAttention& attention) const {
    accelerator::FlashAttention work{attention.batch,    attention.heads,  attention.kv_heads, attention.queries,
                                     attention.head_dim, attention.causal, attention.backward, attention.synchronous};
    // Heads whose values are of another width: one width with as many operations.
    const std::int64_t values = attention.values();
    work.head_dim =
        attention.backward ? (3 * attention.head_dim + 2 * values + 2) / 5 : (attention.head_dim + values) / 2;
    // A window is as many scores as blocks of queries that attend each to one of keys.
    if (const std::int64_t window = attention.window; window > 0 && window < attention.keys) {
      work.batch = attention.batch * ((attention.queries + window - 1) / window);
      work.seq = std::min(window, attention.queries);
      work.causal = false;
    }
    return kernel_work(compute, work);
  }
  accelerator::KernelWork operator()(const models::Elementwise& pass) const {
    auto work = kernel_work(
        compute, accelerator::Elementwise{pass.bytes_read / 4, Bytes(pass.bytes_read), Bytes(pass.bytes_written), 1});
    work.launch = work.launch * pass.launches;
    return work;
  }
  accelerator::KernelWork operator()(const models::Inverse& inverse) const {
    if (inverse.is_eigen) return kernel_work(compute, accelerator::SymmetricEigen{inverse.batch, inverse.n});
    return kernel_work(compute, accelerator::Inverse{inverse.batch, inverse.n});
  }
};

}  // namespace

accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& compute, const models::Kernel& kernel) {
  return std::visit(ToWork{compute}, kernel.shape);
}

chakra::KernelDemand kernel_demand(const accelerator::KernelWork& work) {
  const accelerator::Command command = kernel_command(0, nullptr, work);
  chakra::KernelDemand kernel;
  kernel.launch_ps = work.launch.count();
  kernel.compute_ps = command.compute_ps;
  kernel.capped_ps = command.capped_ps;
  kernel.read = work.read.count();
  kernel.written = work.written.count();
  kernel.cached = work.cached.count();
  kernel.blocks = work.blocks;
  kernel.tiles = work.tiles;
  kernel.energy_nj = rounded(command.energy / kNanojoule, "the energy of a kernel in nJ");
  return kernel;
}

accelerator::Command kernel_command(std::uint32_t stream, const chakra::KernelDemand& kernel) {
  accelerator::Command command;
  command.operation = accelerator::Operation::kKernel;
  command.stream = stream;
  command.launch_ps = kernel.launch_ps;
  command.compute_ps = kernel.compute_ps;
  command.capped_ps = kernel.capped_ps;
  command.read = static_cast<std::uint64_t>(kernel.read);
  command.written = static_cast<std::uint64_t>(kernel.written);
  command.cached = static_cast<std::uint64_t>(kernel.cached);
  command.blocks = static_cast<std::uint32_t>(kernel.blocks);
  command.tiles = static_cast<std::uint32_t>(kernel.tiles);
  command.energy = static_cast<double>(kernel.energy_nj) * kNanojoule;
  return command;
}

}  // namespace weft::schedules
