// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "hw/core/fields.h"
#include "hw/core/power.h"
#include "hw/core/quantity.h"

/// The core array of an accelerator as kernels see it: units, peaks, latencies, energies.
namespace weft::accelerator {

/// What the operands are. Products of operands of 8 bits and less are stored in 16 bits, all others in the width of the
/// operands. kTf32 is float32 in memory and multiplied on tensor cores: published float32 products reach six times the
/// peak of the vector units, so that is how libraries run them. kFp32 stays on the vector units. kInt8, kFp64 and kFp4
/// are for products alone; of the last, 16 values share a byte of scale, as in NVFP4.
enum class DataType : std::uint8_t { kBf16, kFp16, kFp8, kTf32, kFp32, kInt8, kFp64, kFp4 };
EnumNames<DataType> enum_names(DataType);
/// In memory; of kFp4 a byte, which holds two.
[[nodiscard]] Bytes element_size(DataType type);

/// What the array draws. Defaults: H100 SXM5.
///
/// An operation has an energy by its type, a byte of HBM has two, of HBM itself and of its way to the array and back,
/// and the part draws `idle` all the time. Energies of caches and of what else moves on the die are within them. No
/// vendor publishes the first: that of 16-bit operands is what the board's power leaves for an operation at the rate
/// that large products hold under it; where that was not measured, a long product draws 95 % of the board's power
/// beside `idle`, HBM the rest. 8-bit operands take half, tf32 twice as much (663 W in bf16 and 662 W in fp8 were
/// measured on an H200), 4-bit ones half of those of 8 bits, and vector units draw the board's power at their peak, as
/// tensor cores do on float64. So the model tells how energy divides between kernels and what a cap costs, and is no
/// better than the board's power for the total.
///
/// Under `cap` the clock of the array falls until the average power of a kernel, at the rate of HBM that tiles are
/// chosen for, is within it. Voltage follows the clock, so that an operation's energy goes with its square, down to
/// `lowest_voltage`, below which only the clock falls. `idle` and what HBM draws for its bytes stay. Where the kernel
/// draws too much at `lowest_clock` too, as one that streams does when the cap leaves little for HBM, the array pauses
/// for part of the time, as boards do that gate their clocks: bytes then come as slowly as the cap allows. Approximate:
/// real regulators average over a fraction of a second, not a kernel, so that a burst after a pause runs at the full
/// clock and products between kernels that draw little run faster than alone.
///
/// Two measurements of the GPU of H100 and H200 give the energy of an operation and where voltage stops to fall. At 700
/// W large bf16 products hold 699 TFLOPS (the mean of eight H200 that all compute; stas00/ml-engineering,
/// compute/accelerator/benchmarks, August 2026), where Weft's burst has 815. At 500 W they reach 0.60 of the peak
/// (pytorch/ao of 2024, roofline_utils, of the H100 with HBM2e). A later version of that file has 0.69, of a machine
/// that it does not tell.
///
/// What passes over memory without computing was measured on an H100 (docs/reference/models): threads that sleep on
/// all SMs draw 133 W, and reads of random numbers from 0.1 to 3.1 TB/s 126 to 134 pJ a byte above it; of these 31.2
/// are HBM's. Zeros draw 88 pJ, copies 127 to 154, and a byte from the last-level cache alone 48 to 53. Other parts
/// have no such figure, so that their passes over memory draw too little.
struct PowerConfig {
  Power idle = Power(133'000);
  Power cap{};
  /// "between 200.00 W and 700.00 W" is what nvidia-smi says of H100 when asked for less (stackhpc/
  /// ansible-slurm-appliance, pull request 975).
  Power lowest_cap = Power(200'000);
  Energy tensor_16bit = Energy(928);
  Energy tensor_8bit = Energy(464);
  Energy tensor_tf32 = Energy(1'856);
  Energy vector_fp32 = Energy(9'360);
  Energy memory_byte = Energy(31'200);
  Energy moved_byte = Energy(99'000);
  double lowest_voltage = 0.75;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("idle", idle, "Power drawn all the time at the full clock, including HBM's refresh");
    visit("cap", cap, "Power cap: a kernel that would draw more on average lowers the clock of the array; 0: none");
    visit("lowest_cap", lowest_cap, "Lowest cap that the board accepts; 0: anything above idle");
    visit("tensor_16bit", tensor_16bit, "Energy of an operation of tensor cores on bf16 and fp16");
    visit("tensor_8bit", tensor_8bit, "Energy of an operation of tensor cores on fp8");
    visit("tensor_tf32", tensor_tf32, "Energy of an operation of tensor cores on float32 operands");
    visit("vector_fp32", vector_fp32, "Energy of an operation of the float32 vector units");
    visit("memory_byte", memory_byte,
          "Energy of a byte to or from HBM, for kernels under the cap and for runs without hbm.stacks");
    visit("moved_byte", moved_byte,
          "Energy of a kernel's byte between HBM and the array, beyond HBM's own; 0pJ: not known");
    visit("lowest_voltage", lowest_voltage, "Share of the clock below which the voltage is constant", kShareAboveZero);
  }
};

/// The core array of one accelerator. Defaults: H100 SXM5, peaks as in its data sheet.
///
/// `clock` belongs to the peaks: another one with the same peaks is another array, not the same one run slower. That is
/// `clock_cap`, below which all that the array does is slower in proportion: peaks, the latencies of tiles and panels,
/// the rates of operands and of the last-level cache (whose clock is taken as the array's). HBM and `launch` stay.
/// Energy follows the voltage, see PowerConfig; of `clock_cap` and what the power cap leaves, the lower clock counts.
struct ComputeConfig {
  std::int64_t sms = 132;
  Frequency clock = Frequency(1'830'000'000);
  Frequency clock_cap{};
  /// What nvidia-smi shows of a GPU of H200 that does nothing (awslabs/amazon-eks-ami, pull request 1985).
  Frequency lowest_clock = Frequency(345'000'000);
  Compute tensor_16bit = Compute(989'400'000'000'000);
  Compute tensor_8bit = Compute(1'978'900'000'000'000);
  Compute tensor_tf32 = Compute(494'700'000'000'000);
  Compute tensor_int8 = Compute(1'978'900'000'000'000);
  Compute tensor_fp64 = Compute(66'900'000'000'000);
  Compute tensor_fp4{};
  Compute vector_fp32 = Compute(66'900'000'000'000);
  /// The white paper has another clock for vector units than for tensor cores.
  Frequency vector_clock = Frequency(1'980'000'000);
  Compute vector_fp64 = Compute(33'500'000'000'000);
  /// CUDA C++ Programming Guide, throughput of arithmetic instructions: 16 for all generations since Volta (recalled).
  std::int64_t special_functions = 16;
  bool block_scales = false;
  bool fp8_any_layout = false;
  std::string lacks;
  double sparsity = 2;
  Bytes l2_size = Bytes(50LL << 20);
  /// Measured on an H200, the same GPU (te42kyfo/gpu-benches, gpu-l2-cache).
  Rate l2_rate = Rate(9'700LL * 8'000'000'000);
  /// Only to choose tiles, as a library does that knows its part. HBM itself is modelled elsewhere.
  Rate planned_memory = Rate(3'080LL * 8'000'000'000);
  /// What HBM sustains, which the machine knows: a power cap holds over the time that a kernel really lasts. No field.
  Rate memory{};
  [[nodiscard]] Rate sustained_memory() const { return memory > Rate() ? memory : planned_memory; }

  /// Own measurement of an H100 (docs/reference/models): a kernel that scales 512 elements from HBM lasts 1.54 us, and
  /// the next one in its stream begins 1.02 us later.
  Time launch = Time(2'560'000);

  // Fitted to published measurements, of bursts that end before a power limit acts.
  Time tile_latency = Time(1'040'000);
  Rate operand_rate = Rate(130'000'000'000'000);
  double sustained = 0.859;
  Time tile_latency_tf32 = Time(3'720'000);
  double sustained_tf32 = 0.651;

  /// From the FlashAttention-3 forward speeds at head sizes 64 and 128, by hand: those of 4,096 tokens and more are met
  /// in the mean.
  double softmax_exposed = 0.48;
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
    visit("clock", clock, "Clock at which peaks, rates and latencies are quoted. They do not follow it: see clock_cap",
          Range{1'000'000, 100'000'000'000});
    visit("clock_cap", clock_cap, "Upper limit of the array's clock, as nvidia-smi -lgc sets it; 0: none", Range{0});
    visit("lowest_clock", lowest_clock, "Lowest clock that a cap can set", Range{0});
    visit("tensor_16bit", tensor_16bit, "Dense peak of tensor operations on bf16 and fp16", Range{1});
    visit("tensor_8bit", tensor_8bit, "Dense peak of tensor operations on fp8", Range{1});
    visit("tensor_tf32", tensor_tf32, "Dense peak of tensor operations on float32 operands", Range{1});
    visit("tensor_int8", tensor_int8, "Dense peak of tensor operations on int8; 0: none, they run as 16-bit ones",
          Range{0});
    visit("tensor_fp64", tensor_fp64, "Peak of tensor operations on float64; 0: none, they run on the vector units",
          Range{0});
    visit("tensor_fp4", tensor_fp4, "Dense peak of tensor operations on fp4; 0: none, they run as 8-bit ones",
          Range{0});
    visit("vector_fp32", vector_fp32, "Peak of the float32 vector units", Range{1});
    visit("vector_clock", vector_clock, "Clock at which vector_fp32 is quoted; both together give the lanes of an SM",
          Range{1'000'000, 100'000'000'000});
    visit("vector_fp64", vector_fp64, "Peak of the float64 vector units", Range{1});
    visit("special_functions", special_functions, "Exponentials that an SM computes in a cycle", Range{1, 4096});
    visit("block_scales", block_scales,
          "Tensor cores multiply 8-bit operands that have a scale for each 32 values (MXFP8), at the rate of fp8");
    visit(
        "fp8_any_layout", fp8_any_layout,
        "Tensor cores multiply fp8 operands whichever dimension is contiguous; else only along the summed one, so that "
        "libraries transpose some");
    visit("lacks", lacks, "Types that no unit multiplies, separated by commas; they have the peak of another type");
    visit("sparsity", sparsity,
          "Speed-up of tensor cores when half of one operand is 0 (2:4 sparsity); 1: not supported", Range{1, 4});
    visit("l2_size", l2_size, "Last-level cache");
    visit("l2_rate", l2_rate,
          "Rate of the last-level cache for kernels that stream; 0bps: it is no cache, but memory that products manage",
          Range{0});
    visit("planned_memory", planned_memory, "Rate of HBM that tiles are chosen for", Range{8});
    visit("launch", launch, "Start and end of a kernel on the device, with cold operands");
    visit("tile_latency", tile_latency, "Filling and draining the pipeline of an output tile");
    visit("operand_rate", operand_rate, "Operands from L2 to all SMs; a multicast counts for every receiver", Range{8});
    visit("sustained", sustained, "Share of the tensor peak that a main loop reaches when it waits for nothing",
          kShareAboveZero);
    visit("tile_latency_tf32", tile_latency_tf32, "tile_latency for float32 operands, which pass through registers");
    visit("sustained_tf32", sustained_tf32, "sustained for float32 operands", kShareAboveZero);
    visit("softmax_exposed", softmax_exposed, "Share of attention's softmax that tensor work does not hide",
          Range{0, 1});
    visit("synchronous_tensor", synchronous_tensor,
          "Share of the tensor peak that older kernels reach: their instructions wait for results", kShareAboveZero);
    visit("panel_step", panel_step, "Time of one column of a factorisation's panel; it waits for the column before");
    visit("persistent_products", persistent_products,
          "The kernel of a product has one block for each SM; tiles are shared out at its start");
    visit("full_accumulation", full_accumulation,
          "Share of their rate that products of 8-bit operands keep without fast accumulation, when sums are full "
          "float32",
          kShareAboveZero);
    visit("power", power, "Power and energy");
  }
};

/// The dense peak of products of the type: where nothing multiplies it, that of the type that it is computed as.
[[nodiscard]] Compute peak_of(const ComputeConfig& config, DataType type);
/// Whether the array has units for the type.
[[nodiscard]] bool multiplies(const ComputeConfig& config, DataType type);
/// float32 lanes of an SM, each of which adds and multiplies in a cycle.
[[nodiscard]] std::int64_t vector_lanes(const ComputeConfig& config);

/// Throws ConfigError, with `path` before the field's name, for a number outside its Range, a cap
/// that idling alone exceeds or the board does not take, a type that does not exist.
void check(const ComputeConfig& config, const std::string& path);

/// `sms` of the array's units as an array of its own, with their part of the peaks and of L2's rate. Kernels on it
/// still see all of L2 and of HBM.
[[nodiscard]] ComputeConfig partition(const ComputeConfig& config, std::int64_t sms);

}  // namespace weft::accelerator
