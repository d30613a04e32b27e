// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernel_work.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "hw/accelerator/kernels/arithmetic.h"

namespace weft::accelerator {
namespace {

/// Lowers the clock until the kernel's average power is within the cap.
void apply_cap(const ComputeConfig& config, KernelWork& work) {
  const PowerConfig& power = config.power;
  if (power.cap <= Power() || work.array_energy <= 0) return;
  const double launch = seconds(work.launch);
  const double compute = seconds(work.compute);
  const double memory = seconds(transfer_time(work.read + work.written, config.planned_memory));
  const auto voltage = [&](double clock) { return std::max(clock, power.lowest_voltage); };
  const auto draws = [&](double clock) {
    const double dynamic = work.array_energy * voltage(clock) * voltage(clock) + work.memory_energy;
    return watts(power.idle) + dynamic / (launch + std::max(compute / clock, memory));
  };
  const double cap = watts(power.cap);
  if (draws(1) <= cap) return;
  double low = 0.01;  // if even that draws too much, it is HBM that does
  double high = 1;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (draws(middle) <= cap ? low : high) = middle;
  }
  const Time slower = to_time(compute / low);
  work.parts[static_cast<std::size_t>(Cost::kPowerCap)] += slower - work.compute;
  work.compute = slower;
  work.array_energy *= voltage(low) * voltage(low);
  work.clock = low;
}

}  // namespace

EnumNames<Cost> enum_names(Cost) {
  return {{"launch", Cost::kLaunch},
          {"HBM", Cost::kMemory},
          {"tensor cores", Cost::kTensor},
          {"vector units", Cost::kVector},
          {"tile edges", Cost::kEdges},
          {"wave quantisation", Cost::kQuantisation},
          {"operands from L2", Cost::kOperands},
          {"tile latency", Cost::kTiles},
          {"split-k sum", Cost::kReduction},
          {"softmax", Cost::kSoftmax},
          {"panel latency", Cost::kPanels},
          {"power cap", Cost::kPowerCap},
          {"L2", Cost::kCache}};
}

void require_not_negative(const char* shape, std::initializer_list<std::int64_t> dimensions) {
  for (const std::int64_t dimension : dimensions) {
    if (dimension < 0) throw std::invalid_argument(std::string(shape) + ": a dimension is negative");
  }
}

double sustained_rate(const ComputeConfig& config, DataType type) {
  switch (type) {
    case DataType::kBf16:
    case DataType::kFp16:
      return per_second(config.tensor_16bit) * config.sustained;
    case DataType::kFp8:
      return per_second(config.tensor_8bit) * config.sustained;
    case DataType::kTf32:
      return per_second(config.tensor_tf32) * config.sustained_tf32;
    case DataType::kFp32:
      return per_second(config.vector_fp32) * config.sustained;
  }
  return per_second(config.vector_fp32);
}

double operations_energy(const ComputeConfig& config, DataType type, double flops) {
  switch (type) {
    case DataType::kBf16:
    case DataType::kFp16:
      return flops * joules(config.power.tensor_16bit);
    case DataType::kFp8:
      return flops * joules(config.power.tensor_8bit);
    case DataType::kTf32:
      return flops * joules(config.power.tensor_tf32);
    case DataType::kFp32:
      return flops * joules(config.power.vector_fp32);
  }
  return 0;
}

Cost units_of(DataType type) {
  return type == DataType::kFp32 ? Cost::kVector : Cost::kTensor;
}

void settle(const ComputeConfig& config, KernelWork& work, const Seconds& parts) {
  double sum = 0;
  Time given;
  for (std::size_t c = 0; c < kCosts; ++c) {
    sum += std::max(0.0, parts[c]);
    const Time until = std::min(to_time(sum), work.compute);
    work.parts[c] = until - given;
    given = until;
  }
  *std::max_element(work.parts.begin(), work.parts.end()) += work.compute - given;
  work.memory_energy = static_cast<double>((work.read + work.written).count()) * joules(config.power.memory_byte);
  apply_cap(config, work);
}

void append(KernelWork& work, const KernelWork& next) {
  work.launch += next.launch;
  work.compute += next.compute;
  work.read += next.read;
  work.written += next.written;
  work.cached += next.cached;
  work.cache += next.cache;
  work.flops += next.flops;
  for (std::size_t c = 0; c < kCosts; ++c) work.parts[c] += next.parts[c];
  work.array_energy += next.array_energy;
  work.memory_energy += next.memory_energy;
  work.clock = std::min(work.clock, next.clock);
}

KernelWork streaming_work(const ComputeConfig& config, double read, double written, double flops, int launches,
                          double again, double doubles) {
  KernelWork work{.launch = config.launch * launches,
                  .compute = to_time(flops / per_second(config.vector_fp32) + doubles / per_second(config.vector_fp64)),
                  .read = to_bytes(read),
                  .written = to_bytes(written),
                  .flops = flops + doubles};
  if (config.l2_rate > Rate(0)) {
    work.cached = to_bytes(read + written + again);
    work.cache = transfer_time(work.cached, config.l2_rate);
  }
  work.array_energy = operations_energy(config, DataType::kFp32, flops + 2 * doubles);
  Seconds parts{};
  at(parts, Cost::kVector) = seconds(work.compute);
  settle(config, work, parts);
  return work;
}

KernelWork tensor_work(const ComputeConfig& config, double operations, Bytes read) {
  KernelWork work{.launch = config.launch,
                  .compute = to_time(operations / sustained_rate(config, DataType::kBf16)),
                  .read = read,
                  .flops = operations};
  work.array_energy = operations_energy(config, DataType::kBf16, operations);
  Seconds parts{};
  at(parts, Cost::kTensor) = seconds(work.compute);
  settle(config, work, parts);
  return work;
}

double hit_rate(const KernelWork& work) {
  if (work.cached == Bytes(0)) return 0;
  return std::max(
      0.0, 1 - static_cast<double>((work.read + work.written).count()) / static_cast<double>(work.cached.count()));
}

double cache_hit_rate(const ComputeConfig& config, Bytes working_set) {
  constexpr int kWays = 16;
  if (config.l2_rate == Rate(0) || config.l2_size == Bytes(0)) return 0;
  // Of the other lines, as many lie in a line's set as a Poisson distribution says.
  const double mean = kWays * static_cast<double>(working_set.count()) / static_cast<double>(config.l2_size.count());
  double term = std::exp(-mean);
  double sum = 0;
  for (int others = 0; others < kWays; ++others) {
    sum += term;
    term *= mean / (others + 1);
  }
  return std::min(1.0, sum);
}

KernelWork with_warm_operands(const ComputeConfig& config, KernelWork work) {
  const double lost = 1 - cache_hit_rate(config, work.read + work.written);
  const auto left = [lost](Bytes bytes) { return to_bytes(static_cast<double>(bytes.count()) * lost); };
  work.read = left(work.read);
  work.written = left(work.written);
  work.memory_energy *= lost;
  return work;
}

Time estimate(const KernelWork& work, Rate memory) {
  return work.launch + std::max({work.compute, work.cache, transfer_time(work.read + work.written, memory)});
}

std::vector<std::pair<Cost, Time>> breakdown(const KernelWork& work, Rate memory) {
  std::vector<std::pair<Cost, Time>> costs;
  const auto add = [&costs](Cost cost, Time time) {
    if (time > Time()) costs.emplace_back(cost, time);
  };
  add(Cost::kLaunch, work.launch);
  const Time moving = transfer_time(work.read + work.written, memory);
  if (moving > work.compute && moving >= work.cache) {
    add(Cost::kMemory, moving);
  } else if (work.cache > work.compute) {
    add(Cost::kCache, work.cache);
  } else {
    for (std::size_t c = 0; c < kCosts; ++c) add(static_cast<Cost>(c), work.parts[c]);
  }
  std::stable_sort(costs.begin(), costs.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return costs;
}

double energy(const PowerConfig& power, const KernelWork& work, Rate memory) {
  return work.array_energy + work.memory_energy + watts(power.idle) * seconds(estimate(work, memory));
}

}  // namespace weft::accelerator
