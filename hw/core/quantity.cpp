// SPDX-License-Identifier: Apache-2.0
#include "hw/core/quantity.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <span>
#include <stdexcept>

#include "hw/core/power.h"

namespace weft {
namespace {

/// A unit's name and how many base counts it holds, as numerator over denominator.
struct Unit {
  std::string_view name;
  std::int64_t numerator;
  std::int64_t denominator = 1;
};

constexpr std::int64_t kKilo = 1'000;
constexpr std::int64_t kMega = 1'000'000;
constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kTera = 1'000'000'000'000;
constexpr std::int64_t kPeta = 1'000'000'000'000'000;

// Printing takes the last unit of a table that divides the count, so each table ascends.
constexpr std::array kTimeUnits = {Unit{"ps", 1}, Unit{"ns", kKilo}, Unit{"us", kMega}, Unit{"ms", kGiga},
                                   Unit{"s", kTera}};
constexpr std::array kByteUnits = {Unit{"B", 1},           Unit{"KB", kKilo},      Unit{"KiB", 1LL << 10},
                                   Unit{"MB", kMega},      Unit{"MiB", 1LL << 20}, Unit{"GB", kGiga},
                                   Unit{"GiB", 1LL << 30}, Unit{"TB", kTera},      Unit{"TiB", 1LL << 40}};
constexpr std::array kRateUnits = {Unit{"bps", 1},          Unit{"B/s", 8},          Unit{"KB/s", 8 * kKilo},
                                   Unit{"MB/s", 8 * kMega}, Unit{"GB/s", 8 * kGiga}, Unit{"TB/s", 8 * kTera},
                                   Unit{"Kbps", kKilo},     Unit{"Mbps", kMega},     Unit{"Gbps", kGiga},
                                   Unit{"Tbps", kTera}};
constexpr std::array kFrequencyUnits = {Unit{"Hz", 1}, Unit{"kHz", kKilo}, Unit{"MHz", kMega}, Unit{"GHz", kGiga}};
constexpr std::array kComputeUnits = {Unit{"FLOPS", 1}, Unit{"GFLOPS", kGiga}, Unit{"TFLOPS", kTera},
                                      Unit{"PFLOPS", kPeta}};
constexpr std::array kEnergyUnits = {Unit{"fJ", 1}, Unit{"pJ", kKilo}, Unit{"nJ", kMega}, Unit{"uJ", kGiga}};
constexpr std::array kPowerUnits = {Unit{"mW", 1}, Unit{"W", kKilo}, Unit{"kW", kMega}};

[[noreturn]] void fail(std::string_view text, std::string_view expected) {
  throw std::invalid_argument("\"" + std::string(text) + "\" is not " + std::string(expected));
}

/// Decimal number, unit, nothing else; exact in 128 bits, rounded to the nearest count.
std::int64_t parse(std::string_view text, std::span<const Unit> units, std::string_view expected) {
  __int128 mantissa = 0;
  __int128 scale = 1;
  std::size_t at = 0;
  bool digits = false;
  bool fraction = false;
  constexpr __int128 kFinest = static_cast<__int128>(kPeta) * 1000;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !fraction) {
      fraction = true;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits = true;
      mantissa = mantissa * 10 + (c - '0');
      if (fraction) scale *= 10;
      if (mantissa > INT64_MAX || scale > kFinest) fail(text, expected);
    } else {
      break;
    }
  }
  if (!digits) fail(text, expected);
  while (at < text.size() && text[at] == ' ') ++at;
  for (const Unit& unit : units) {
    if (text.substr(at) != unit.name) continue;
    const __int128 divisor = scale * unit.denominator;
    const __int128 count = (mantissa * unit.numerator + divisor / 2) / divisor;
    if (count > INT64_MAX) fail(text, expected);
    return static_cast<std::int64_t>(count);
  }
  fail(text, expected);
}

std::string print(std::int64_t count, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (count != 0 && count % unit.numerator == 0) best = &unit;
  }
  return std::to_string(count / best->numerator) + std::string(best->name);
}

}  // namespace

void overflow(std::string_view what, double value) {
  char number[32];
  std::snprintf(number, sizeof number, "%.3g", value);
  throw QuantityOverflow(std::string(what) + " of " + number +
                         " is beyond what 64 bits hold (times reach 106 days, sizes 8 EiB): a size, a time or a count "
                         "of the platform or its workload is too large for it, or a rate too low");
}

Time parse_time(std::string_view text) {
  return Time(parse(text, kTimeUnits, "a time such as \"1.5us\""));
}
Bytes parse_bytes(std::string_view text) {
  return Bytes(parse(text, kByteUnits, "a size such as \"64KiB\""));
}
Rate parse_rate(std::string_view text) {
  return Rate(parse(text, kRateUnits, "a rate such as \"400Gbps\" or \"450GB/s\""));
}
Frequency parse_frequency(std::string_view text) {
  return Frequency(parse(text, kFrequencyUnits, "a frequency such as \"1980MHz\""));
}
Compute parse_compute(std::string_view text) {
  return Compute(parse(text, kComputeUnits, "a compute rate such as \"989TFLOPS\""));
}
Energy parse_energy(std::string_view text) {
  return Energy(parse(text, kEnergyUnits, "an energy such as \"0.75pJ\""));
}
Power parse_power(std::string_view text) {
  return Power(parse(text, kPowerUnits, "a power such as \"700W\""));
}

std::string to_text(Time time) {
  return print(time.count(), kTimeUnits);
}
std::string to_text(Bytes size) {
  return print(size.count(), kByteUnits);
}
std::string to_text(Rate rate) {
  return print(rate.count(), kRateUnits);
}
std::string to_text(Frequency frequency) {
  return print(frequency.count(), kFrequencyUnits);
}
std::string to_text(Compute compute) {
  return print(compute.count(), kComputeUnits);
}
std::string to_text(Energy energy) {
  return print(energy.count(), kEnergyUnits);
}
std::string to_text(Power power) {
  return print(power.count(), kPowerUnits);
}

}  // namespace weft
