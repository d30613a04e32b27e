// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"

/// How long a kernel keeps the core array of an accelerator busy and what it moves to and from HBM. Plain arithmetic on
/// shapes: no SystemC, no state. The accelerator module overlaps the two with the rest of its traffic.
///
/// A matrix product is cut into output tiles, one per SM at a time: the last wave of tiles costs as much as a full one,
/// and a tile at an edge as much as a whole one. A tile takes a latency to fill and drain its pipeline, a main loop at
/// the slower of its tensor cores and the delivery of operands from L2, and the write of its result, which nothing
/// hides. The tile and the number of parts that k is cut into are those that this model finds fastest, for which a
/// library searches too. Left out: clocks that rise during short kernels, launches that overlap the kernel before, L2
/// slices and conflicts.
///
/// Checked against 1,125 published H100 products (traces/published/h100_gemm.csv), of which a third, whole shapes,
/// stayed out of the fit; tests/published/gemm_fit.cpp prints the fitted defaults below and their errors. Held out, the
/// mean error is 4 % for 16-bit (within 3 % over 100 GFLOP), 6 % for 8-bit and 17 % for float32 operands. The 8-bit
/// rows exceed the part's peak as they stand: they are compared through a model of how they were recorded
/// (tests/published/gemm_table.h). For float32 the library switches between kernels in ways that this model does not
/// follow. Attention forward was compared with the H100 speeds of FlashAttention-3 (arXiv 2407.08608) at head sizes 64
/// and 128; its backward is not checked.
///
/// Floating point is used inside and rounded once, in a fixed order of IEEE operations: the same result on every
/// machine.
namespace weft::accelerator {

/// What the operands are. Products of 8-bit operands are stored in 16 bits, all others in the width of the operands.
/// kTf32 is float32 in memory and multiplied on tensor cores: published float32 products reach six times the peak of
/// the vector units, so that is how libraries run them. kFp32 stays on the vector units.
enum class DataType : std::uint8_t { kBf16, kFp16, kFp8, kTf32, kFp32 };
EnumNames<DataType> enum_names(DataType);
[[nodiscard]] Bytes element_size(DataType type);

/// The core array of one accelerator. Defaults: H100 SXM5, peaks as in its data sheet.
struct ComputeConfig {
  std::int64_t sms = 132;
  Frequency clock = Frequency(1'830'000'000);
  Compute tensor_16bit = Compute(989'400'000'000'000);
  Compute tensor_8bit = Compute(1'978'900'000'000'000);
  Compute tensor_tf32 = Compute(494'700'000'000'000);
  Compute vector_fp32 = Compute(66'900'000'000'000);
  Bytes l2_size = Bytes(50LL << 20);
  /// Only to choose tiles, as a library does that knows its part. HBM itself is modelled elsewhere.
  Rate planned_memory = Rate(3'080LL * 8'000'000'000);

  // Fitted to published measurements.
  Time launch = Time(4'580'000);
  Time tile_latency = Time(1'090'000);
  Rate operand_rate = Rate(130'000'000'000'000);
  double sustained = 0.86;
  Time tile_latency_tf32 = Time(3'850'000);
  double sustained_tf32 = 0.658;

  /// From the FlashAttention-3 forward speeds at head sizes 64 and 128, by hand.
  double softmax_exposed = 0.45;
  /// The measurements came from short, cool runs; real training at 500 to 700 W clocks lower. They do not tell how
  /// much.
  double power_limit = 1.0;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("sms", sms, "Streaming multiprocessors; each works on one output tile at a time", Range{1, 4096});
    visit("clock", clock, "Clock at which the peaks are quoted", Range{1'000'000, 100'000'000'000});
    visit("tensor_16bit", tensor_16bit, "Dense peak of tensor operations on bf16 and fp16", Range{1});
    visit("tensor_8bit", tensor_8bit, "Dense peak of tensor operations on fp8", Range{1});
    visit("tensor_tf32", tensor_tf32, "Dense peak of tensor operations on float32 operands", Range{1});
    visit("vector_fp32", vector_fp32, "Peak of the float32 vector units", Range{1});
    visit("l2_size", l2_size, "Last-level cache");
    visit("planned_memory", planned_memory, "Rate of HBM that tiles are chosen for", Range{8});
    visit("launch", launch, "Start and end of a kernel on the device, with cold operands");
    visit("tile_latency", tile_latency, "Filling and draining the pipeline of an output tile");
    visit("operand_rate", operand_rate, "Operands from L2 to all SMs; a multicast counts for every receiver", Range{8});
    visit("sustained", sustained, "Share of the tensor peak in a main loop that waits for nothing");
    visit("tile_latency_tf32", tile_latency_tf32, "tile_latency for float32 operands, which pass through registers");
    visit("sustained_tf32", sustained_tf32, "sustained for float32 operands");
    visit("softmax_exposed", softmax_exposed, "Share of attention's softmax that tensor work does not hide");
    visit("power_limit", power_limit, "Share of the sustained tensor rate that the power limit leaves");
  }
};

/// What a kernel needs from an accelerator. Of several kernels in a row (a split product) it is the sum.
struct KernelWork {
  Time launch{};     ///< before and after the work, overlapped with nothing
  Time compute{};    ///< how long the core array is busy when HBM is infinitely fast
  Bytes read{};      ///< from HBM
  Bytes written{};   ///< to HBM
  double flops = 0;  ///< useful operations, for utilisation: recomputed, padded and masked ones do not count
};

/// C[b] = A[b] B[b] for b < batch, with A of m by k, B of k by n and both cold in HBM.
struct Gemm {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DataType type = DataType::kBf16;
};

/// How gemm() cut a product.
struct GemmPlan {
  std::int64_t tile_m = 0;
  std::int64_t tile_n = 0;
  std::int64_t split_k = 1;  ///< parts of k computed side by side and summed by a second kernel
  std::int64_t units = 0;    ///< tiles x parts
  std::int64_t waves = 0;    ///< units over SMs, rounded up
  Time reduction{};          ///< the second kernel, which the work includes; 0 without
};

/// softmax(Q K^T) V without storing the scores (FlashAttention). `backward` is the gradient pass alone, which computes
/// the scores again: five products for the two of the forward pass.
struct FlashAttention {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t seq = 0;
  std::int64_t head_dim = 128;
  bool causal = false;
  bool backward = false;
};

/// A pass over memory that does a little arithmetic: activation, normalisation, residual, optimiser step.
struct Elementwise {
  std::int64_t elements = 0;
  Bytes read{};
  Bytes written{};
  double flops_per_element = 1;
};

/// Device memory to device memory by a kernel (copy engines have a module of their own).
struct Copy {
  Bytes size{};
};

/// The work of a kernel. A shape with nothing to write gives no work and no launch. Throws std::invalid_argument on a
/// negative dimension and on key heads that do not divide the heads.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Gemm& shape, GemmPlan* plan = nullptr);
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const FlashAttention& shape);
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Elementwise& shape);
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Copy& shape);

/// Time on an otherwise idle accelerator whose kernels see `memory` from HBM (about 92 % of its peak): the launch, then
/// the longer of computing and moving. The measurements ask for no exposed share of the shorter one.
[[nodiscard]] Time estimate(const KernelWork& work, Rate memory);

}  // namespace weft::accelerator
