// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "hw/core/fields.h"
#include "hw/core/power.h"
#include "hw/core/quantity.h"

/// The core array of an accelerator as kernels see it: units, peaks, latencies, energies.
namespace weft::accelerator {

/// What the operands are. Products of 8-bit operands are stored in 16 bits, all others in the width of the operands.
/// kTf32 is float32 in memory and multiplied on tensor cores: published float32 products reach six times the peak of
/// the vector units, so that is how libraries run them. kFp32 stays on the vector units.
enum class DataType : std::uint8_t { kBf16, kFp16, kFp8, kTf32, kFp32 };
EnumNames<DataType> enum_names(DataType);
[[nodiscard]] Bytes element_size(DataType type);

/// What the array draws. Defaults: H100 SXM5.
///
/// An operation has an energy by its type, a byte of HBM has one, and the part draws `idle` all the time. Energies of
/// caches and of moving on the die are within them. No vendor publishes the first: that of 16-bit operands is what the
/// board's power leaves for an operation at the rate that large products hold under it; where that was not measured, a
/// long product draws 95 % of the board's power beside `idle`, HBM the rest. 8-bit operands take half, tf32 twice as
/// much (663 W in bf16 and 662 W in fp8 were measured on an H200), and vector units draw the board's power at their
/// peak. So the model tells how energy divides between kernels and what a cap costs, and is no better than the board's
/// power for the total.
///
/// Under `cap` the clock of the array falls until the average power of a kernel, at the rate of HBM that tiles are
/// chosen for, is within it. Voltage follows the clock, so that an operation's energy goes with its square, down to
/// `lowest_voltage`, below which only the clock falls. HBM and `idle` keep their power. Approximate: real regulators
/// average over a fraction of a second, not a kernel, so that a burst after a pause runs at the full clock and products
/// between kernels that draw little run faster than alone.
///
/// Two measurements of the GPU of H100 and H200 give the energy of an operation and where voltage stops to fall. At 700
/// W large bf16 products hold 699 TFLOPS (the mean of eight H200 that all compute; stas00/ml-engineering,
/// compute/accelerator/benchmarks, August 2026), where Weft's burst has 815. At 500 W they reach 0.60 of the peak
/// (pytorch/ao of 2024, roofline_utils, of the H100 with HBM2e). A later version of that file has 0.69, of a machine
/// that it does not tell.
struct PowerConfig {
  Power idle = Power(80'000);
  Power cap{};
  Energy tensor_16bit = Energy(1'150);
  Energy tensor_8bit = Energy(575);
  Energy tensor_tf32 = Energy(2'300);
  Energy vector_fp32 = Energy(10'200);
  Energy memory_byte = Energy(31'200);
  double lowest_voltage = 0.764;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("idle", idle, "Drawn all the time, HBM's refresh included");
    visit("cap", cap, "Average power of a kernel that lowers the clock of the array; 0: none");
    visit("tensor_16bit", tensor_16bit, "Energy of an operation of tensor cores on bf16 and fp16");
    visit("tensor_8bit", tensor_8bit, "Energy of an operation of tensor cores on fp8");
    visit("tensor_tf32", tensor_tf32, "Energy of an operation of tensor cores on float32 operands");
    visit("vector_fp32", vector_fp32, "Energy of an operation of the float32 vector units");
    visit("memory_byte", memory_byte,
          "Energy of a byte to or from HBM: of a kernel under the cap, and of a run where nothing is said of stacks");
    visit("lowest_voltage", lowest_voltage, "Share of the clock below which the voltage stays");
  }
};

/// The core array of one accelerator. Defaults: H100 SXM5, peaks as in its data sheet.
struct ComputeConfig {
  std::int64_t sms = 132;
  Frequency clock = Frequency(1'830'000'000);
  Compute tensor_16bit = Compute(989'400'000'000'000);
  Compute tensor_8bit = Compute(1'978'900'000'000'000);
  Compute tensor_tf32 = Compute(494'700'000'000'000);
  Compute vector_fp32 = Compute(66'900'000'000'000);
  Compute vector_fp64 = Compute(33'500'000'000'000);
  double sparsity = 2;
  Bytes l2_size = Bytes(50LL << 20);
  /// Measured on an H200, the same GPU (te42kyfo/gpu-benches, gpu-l2-cache).
  Rate l2_rate = Rate(9'700LL * 8'000'000'000);
  /// Only to choose tiles, as a library does that knows its part. HBM itself is modelled elsewhere.
  Rate planned_memory = Rate(3'080LL * 8'000'000'000);

  // Fitted to published measurements, of bursts that end before a power limit acts.
  Time launch = Time(4'580'000);
  Time tile_latency = Time(1'090'000);
  Rate operand_rate = Rate(130'000'000'000'000);
  double sustained = 0.86;
  Time tile_latency_tf32 = Time(3'850'000);
  double sustained_tf32 = 0.658;

  /// From the FlashAttention-3 forward speeds at head sizes 64 and 128, by hand.
  double softmax_exposed = 0.45;
  /// Luo et al., Dissecting the NVIDIA Hopper Architecture through Microbenchmarking (arXiv 2501.12084): mma reaches
  /// 62.9 % of Hopper's peak on average, which takes wgmma.
  double synchronous_tensor = 0.629;
  /// From the inversions of ResNet-50's factors on RTX 2080 Ti (see kernels/factorisation.h).
  Time panel_step = Time(880'000);
  bool persistent_products = false;
  /// Bursts of an H200: 1,525 TFLOPS in fp8 so, 850 in bf16; held for long 1,354 and 755, which is the same share
  /// (stas00/ml-engineering, compute/accelerator; torch._scaled_mm, whose default this is). pytorch/ao issue 2377 has
  /// 1.1 to 1.2 times.
  double full_accumulation = 0.897;
  PowerConfig power;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("sms", sms, "Streaming multiprocessors; each works on one output tile at a time", Range{1, 4096});
    visit("clock", clock, "Clock at which the peaks are quoted", Range{1'000'000, 100'000'000'000});
    visit("tensor_16bit", tensor_16bit, "Dense peak of tensor operations on bf16 and fp16", Range{1});
    visit("tensor_8bit", tensor_8bit, "Dense peak of tensor operations on fp8", Range{1});
    visit("tensor_tf32", tensor_tf32, "Dense peak of tensor operations on float32 operands", Range{1});
    visit("vector_fp32", vector_fp32, "Peak of the float32 vector units", Range{1});
    visit("vector_fp64", vector_fp64, "Peak of the float64 vector units", Range{1});
    visit("sparsity", sparsity,
          "Speed of tensor cores when half of one operand is 0 (2:4), to dense; 1: not supported");
    visit("l2_size", l2_size, "Last-level cache");
    visit(
        "l2_rate", l2_rate,
        "What kernels that stream get from the last-level cache; 0bps: it is no cache but memory that products manage",
        Range{0});
    visit("planned_memory", planned_memory, "Rate of HBM that tiles are chosen for", Range{8});
    visit("launch", launch, "Start and end of a kernel on the device, with cold operands");
    visit("tile_latency", tile_latency, "Filling and draining the pipeline of an output tile");
    visit("operand_rate", operand_rate, "Operands from L2 to all SMs; a multicast counts for every receiver", Range{8});
    visit("sustained", sustained, "Share of the tensor peak in a main loop that waits for nothing");
    visit("tile_latency_tf32", tile_latency_tf32, "tile_latency for float32 operands, which pass through registers");
    visit("sustained_tf32", sustained_tf32, "sustained for float32 operands");
    visit("softmax_exposed", softmax_exposed, "Share of attention's softmax that tensor work does not hide");
    visit("synchronous_tensor", synchronous_tensor,
          "Share of the tensor peak that instructions reach which wait for their result, as older kernels use");
    visit("panel_step", panel_step, "A column of a factorisation's panel, which waits for the one before");
    visit("persistent_products", persistent_products,
          "Kernels of products have one block for each SM, which shares out its tiles at the start");
    visit("full_accumulation", full_accumulation,
          "Share of their rate that products of 8-bit operands keep without fast accumulation, summed in full float32");
    visit("power", power, "What it draws");
  }
};

/// Throws ConfigError, with `path` before the field's name, for what a Range cannot say: shares outside 0 to 1, a cap
/// that idling alone exceeds.
void check(const ComputeConfig& config, const std::string& path);

/// `sms` of the array's units as an array of its own, with their part of the peaks and of L2's rate. Kernels on it
/// still see all of L2 and of HBM.
[[nodiscard]] ComputeConfig partition(const ComputeConfig& config, std::int64_t sms);

}  // namespace weft::accelerator
