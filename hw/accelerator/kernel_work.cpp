// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernel_work.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "hw/accelerator/kernels/arithmetic.h"

namespace weft::accelerator {
namespace {

/// Sets the clock: no higher than the clock cap, and under a power cap so low that the kernel's average power is within
/// it. If that is still too much at the lowest clock, the array pauses.
void apply_caps(const ComputeConfig& config, KernelWork& work) {
  const PowerConfig& power = config.power;
  const auto share_of_clock = [&](Frequency frequency) {
    return std::min(1.0, static_cast<double>(frequency.count()) / static_cast<double>(config.clock.count()));
  };
  const double launch = seconds(work.launch);
  const double compute = seconds(work.compute);
  const double cache = seconds(work.cache);
  const double memory = seconds(transfer_time(work.read + work.written, config.sustained_memory()));
  const auto voltage = [&](double clock) { return std::max(clock, power.lowest_voltage); };
  const auto dynamic = [&](double clock) {
    return (work.array_energy + work.moving_energy) * voltage(clock) * voltage(clock) + work.memory_energy;
  };
  const auto busy = [&](double clock) { return std::max(std::max(compute, cache) / clock, memory); };
  const auto fits = [&](double clock) {
    return power.cap <= Power() || dynamic(clock) <= 0 ||
           watts(power.idle) + dynamic(clock) / (launch + busy(clock)) <= watts(power.cap);
  };
  const double highest = config.clock_cap > Frequency() ? share_of_clock(config.clock_cap) : 1;
  double clock = highest;
  if (!fits(highest)) {
    double low = 0.01;
    double high = highest;
    for (int i = 0; i < 50; ++i) {
      const double middle = (low + high) / 2;
      (fits(middle) ? low : high) = middle;
    }
    clock = std::min(highest, std::max(low, share_of_clock(config.lowest_clock)));
  }
  work.uncapped = {work.compute, work.cache};
  work.under_clock_cap = {to_time(compute / highest), to_time(cache / highest)};
  Time whole = to_time(compute / clock);
  if (!fits(clock)) {
    whole = std::max(whole, to_time(dynamic(clock) / (watts(power.cap) - watts(power.idle)) - launch));
    work.paused = whole - to_time(busy(clock));
  }
  work.compute = whole;
  work.cache = to_time(cache / clock);
  work.array_energy *= voltage(clock) * voltage(clock);
  work.moving_energy *= voltage(clock) * voltage(clock);
  work.clock = clock;
}

/// On parts without fp8 the 8-bit figures may be those of 16 bits, as which fp8 runs there.
double int8_energy(const ComputeConfig& config) {
  const double of_16bit = joules(config.power.tensor_16bit);
  if (!multiplies(config, DataType::kInt8)) return of_16bit;
  if (multiplies(config, DataType::kFp8) || config.tensor_8bit >= config.tensor_int8) {
    return joules(config.power.tensor_8bit);
  }
  return per_second(config.tensor_int8) >= 2 * per_second(config.tensor_16bit) ? of_16bit / 2 : of_16bit;
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
          {"L2", Cost::kCache},
          {"clock cap", Cost::kClockCap},
          {"interconnect", Cost::kInterconnect}};
}

void too_long(double s) {
  char number[32];
  std::snprintf(number, sizeof number, "%.3g", s);
  throw KernelOverflow("accelerator.compute",
                       std::string("expected rates at which each kernel ends within the 106 days that simulated time "
                                   "holds; one would take ") +
                           number + " s");
}

void too_large(double bytes) {
  char number[32];
  std::snprintf(number, sizeof number, "%.3g", bytes);
  throw KernelOverflow(
      "workload", std::string("expected kernels that move less than 8 EiB each; one would move ") + number + " bytes");
}

void require_not_negative(const char* shape, std::initializer_list<std::int64_t> dimensions) {
  for (const std::int64_t dimension : dimensions) {
    if (dimension < 0) throw std::invalid_argument(std::string(shape) + ": a dimension is negative");
  }
}

double size_of(DataType type) {
  constexpr double kFp4Scale = 1.0 / 16;
  return type == DataType::kFp4 ? 0.5 + kFp4Scale : static_cast<double>(element_size(type).count());
}

double sustained_rate(const ComputeConfig& config, DataType type) {
  return per_second(peak_of(config, type)) * (type == DataType::kTf32 ? config.sustained_tf32 : config.sustained);
}

double operations_energy(const ComputeConfig& config, DataType type, double flops) {
  switch (type) {
    case DataType::kBf16:
    case DataType::kFp16:
      return flops * joules(config.power.tensor_16bit);
    case DataType::kFp8:
      return flops * joules(config.power.tensor_8bit);
    case DataType::kInt8:
      return flops * int8_energy(config);
    case DataType::kFp4:
      return flops * joules(config.power.tensor_8bit) / (multiplies(config, type) ? 2 : 1);
    case DataType::kTf32:
      return flops * joules(config.power.tensor_tf32);
    case DataType::kFp32:
      return flops * joules(config.power.vector_fp32);
    case DataType::kFp64:
      // Tensor cores draw on float64 at their peak what vector units draw at theirs.
      return flops * joules(config.power.vector_fp32) *
             (config.tensor_fp64 > Compute() ? per_second(config.vector_fp32) / per_second(config.tensor_fp64) : 2.0);
  }
  return 0;
}

Cost units_of(const ComputeConfig& config, DataType type) {
  if (type == DataType::kFp64) return config.tensor_fp64 > Compute() ? Cost::kTensor : Cost::kVector;
  return type == DataType::kFp32 ? Cost::kVector : Cost::kTensor;
}

void count_bytes(const PowerConfig& power, KernelWork& work, double bytes) {
  const double voltage = std::max(work.clock, power.lowest_voltage);
  work.memory_energy += bytes * joules(power.memory_byte);
  work.moving_energy += bytes * joules(power.moved_byte) * voltage * voltage;
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
  count_bytes(config.power, work, static_cast<double>((work.read + work.written).count()));
  apply_caps(config, work);
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
  for (KernelWork::Span KernelWork::*each : {&KernelWork::uncapped, &KernelWork::under_clock_cap}) {
    (work.*each).compute += (next.*each).compute;
    (work.*each).cache += (next.*each).cache;
  }
  work.array_energy += next.array_energy;
  work.memory_energy += next.memory_energy;
  work.moving_energy += next.moving_energy;
  work.clock = std::min(work.clock, next.clock);
  work.paused += next.paused;
}

void lengthen(KernelWork& work, Cost cost, Time more, bool follows_clock) {
  Time clock_capped = more;
  if (follows_clock && work.uncapped.compute > Time()) {
    clock_capped = to_time(seconds(more) * seconds(work.under_clock_cap.compute) / seconds(work.uncapped.compute));
  }
  work.compute += follows_clock ? to_time(seconds(more) / work.clock) : more;
  work.under_clock_cap.compute += clock_capped;
  work.uncapped.compute += more;
  work.parts[static_cast<std::size_t>(cost)] += more;
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
  work.moving_energy *= lost;
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
  const KernelWork::Span& alone = work.uncapped;
  if (moving > alone.compute && moving >= alone.cache) {
    add(Cost::kMemory, moving);
  } else if (alone.cache > alone.compute) {
    add(Cost::kCache, alone.cache);
  } else {
    for (std::size_t c = 0; c < kCosts; ++c) add(static_cast<Cost>(c), work.parts[c]);
  }
  const auto longest = [moving](Time compute, Time cache) { return std::max({compute, cache, moving}); };
  const Time clock_capped = longest(work.under_clock_cap.compute, work.under_clock_cap.cache);
  add(Cost::kClockCap, clock_capped - longest(alone.compute, alone.cache));
  add(Cost::kPowerCap, longest(work.compute, work.cache) - clock_capped);
  std::stable_sort(costs.begin(), costs.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return costs;
}

double drawn(const KernelWork& work) {
  return work.array_energy + work.memory_energy + work.moving_energy;
}

double energy(const PowerConfig& power, const KernelWork& work, Rate memory) {
  return drawn(work) + watts(power.idle) * seconds(estimate(work, memory));
}

}  // namespace weft::accelerator
