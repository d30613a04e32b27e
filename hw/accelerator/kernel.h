// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"

/// How long a kernel keeps the core array of an accelerator busy and what it moves to and from HBM. Plain arithmetic on
/// shapes: no SystemC, no state. The accelerator module overlaps the two with the rest of its traffic.
///
/// A kernel is described by its shape and becomes a KernelWork. Floating point is used inside and rounded once to whole
/// picoseconds and bytes, with IEEE operations in a fixed order, so the result is the same on every machine.
///
/// Checked against 1,125 published H100 GEMM measurements (traces/published/h100_gemm.csv), of which a third, whole shapes,
/// were kept out of the fit: tests/published/gemm_fit.cpp prints the parameters below and their errors. Attention was
/// compared with the forward speeds that the FlashAttention-3 authors publish for the H100.
namespace weft::accelerator {

/// What the operands are. Results of 8-bit products are 16 bits wide, all others have the width of the operands.
/// kTf32 is 32-bit storage multiplied on the tensor cores: the published float32 GEMMs reach six times the vector peak, so
/// that is how libraries run them. kFp32 is 32-bit storage on the vector units.
enum class DataType : std::uint8_t { kBf16, kFp16, kFp8, kTf32, kFp32 };
EnumNames<DataType> enum_names(DataType);
/// Storage of one operand element.
[[nodiscard]] Bytes element_size(DataType type);

/// The core array of one accelerator. Defaults: H100 SXM5; peaks from its data sheet, the last block fitted.
struct ComputeConfig {
  std::int64_t sms = 132;
  Compute bf16 = Compute(989'400'000'000'000);
  Compute fp8 = Compute(1'978'900'000'000'000);
  Compute tf32 = Compute(494'700'000'000'000);
  Compute fp32 = Compute(66'900'000'000'000);
  Frequency clock = Frequency(1'830'000'000);
  Bytes l2_size = Bytes(50LL << 20);
  /// 1.0: whatever clock the measurements sustained. Lower where a power limit throttles long stretches of tensor work.
  double power_limit = 1.0;

  Time launch = Time(4'000'000);
  Time tile_latency = Time(700'000);
  Rate l2_rate = Rate(8LL * 5'500'000'000'000);
  double sustained = 0.85;
  double sustained_tf32 = 0.70;
  double softmax_exposed = 0.45;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("sms", sms, "Streaming multiprocessors, each working on one output tile at a time", Range{1, 4096});
    visit("bf16", bf16, "Dense peak of 16-bit tensor operations");
    visit("fp8", fp8, "Dense peak of 8-bit tensor operations");
    visit("tf32", tf32, "Dense peak of tensor operations on float32 operands");
    visit("fp32", fp32, "Peak of the vector units");
    visit("clock", clock, "Clock at which the peaks are quoted");
    visit("l2_size", l2_size, "Last-level cache");
    visit("power_limit", power_limit, "Share of the sustained tensor rate that the power limit leaves");
    visit("launch", launch, "Start and end of a kernel on an idle device");
    visit("tile_latency", tile_latency, "Filling and draining the pipeline of one output tile");
    visit("l2_rate", l2_rate, "From the L2 cache to all SMs together");
    visit("sustained", sustained, "Share of the tensor peak that a long main loop reaches");
    visit("sustained_tf32", sustained_tf32, "The same for float32 operands");
    visit("softmax_exposed", softmax_exposed, "Share of the softmax of attention that tensor work does not hide");
  }
};

/// What a kernel needs.
struct KernelWork {
  Time launch;   ///< before the first and after the last work on the array: not overlapped with anything
  Time compute;  ///< busy time of the core array, when HBM answers at once
  Bytes read;    ///< from HBM
  Bytes written;
  double flops = 0;  ///< useful operations, for utilisation figures
};

/// C[b] = A[b] B[b]; A is m by k, B is k by n.
struct Gemm {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DataType type = DataType::kBf16;
};

struct GemmPlan {
  std::int64_t tile_m = 0;
  std::int64_t tile_n = 0;
  std::int64_t split_k = 1;
  std::int64_t units = 0;
  std::int64_t waves = 0;
};

[[nodiscard]] KernelWork gemm(const ComputeConfig& config, const Gemm& shape, GemmPlan* plan = nullptr);
[[nodiscard]] Time estimate(const KernelWork& work, Rate memory);

}  // namespace weft::accelerator
