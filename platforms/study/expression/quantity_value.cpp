// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/expression/quantity_value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "hw/core/power.h"
#include "hw/core/quantity.h"

namespace weft::study {

using nlohmann::json;

namespace {

/// A kind of quantity: how a text of it reads in its base unit, and how a number of that unit is written.
struct Kind {
  double (*parse)(const std::string& text);
  std::string (*write)(double number);
  double counts;   ///< of its base unit
  bool is_binary;  ///< a size
};

template <auto Parse, std::int64_t kCountsOfBase>
constexpr Kind kind() {
  return {[](const std::string& text) {
            return static_cast<double>(Parse(text).count()) / static_cast<double>(kCountsOfBase);
          },
          [](double number) {
            using Quantity = decltype(Parse(std::string()));
            return to_text(Quantity(rounded(number * static_cast<double>(kCountsOfBase))));
          },
          static_cast<double>(kCountsOfBase), std::is_same_v<decltype(Parse(std::string())), Bytes>};
}

constexpr std::int64_t kPico = 1'000'000'000'000;

constexpr std::array kKinds = {kind<parse_time, kPico>(),  kind<parse_bytes, 1>(),   kind<parse_rate, 1>(),
                               kind<parse_frequency, 1>(), kind<parse_compute, 1>(), kind<parse_energy, kPico * 1000>(),
                               kind<parse_power, 1000>()};

const Kind* kind_of(const json& value, double* number = nullptr) {
  if (!value.is_string()) return nullptr;
  for (const Kind& each : kKinds) {
    try {
      const double parsed = each.parse(value.get<std::string>());
      if (number != nullptr) *number = parsed;
      return &each;
    } catch (const std::exception&) {  // of another kind
      continue;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<double> number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  double number = 0;
  if (kind_of(value, &number) != nullptr) return number;
  return std::nullopt;
}

bool are_alike(const json& one, const json& other) {
  const Kind* const first = kind_of(one);
  const Kind* const second = kind_of(other);
  if (first == second) return true;
  const Kind* const only = first == nullptr ? second : second == nullptr ? first : nullptr;
  return only != nullptr && only->is_binary;
}

bool is_size(const json& value) {
  const Kind* const kind = kind_of(value);
  return kind != nullptr && kind->is_binary;
}

json value_like(const json& example, double number) {
  if (const Kind* const kind = kind_of(example)) return kind->write(number);
  if (example.is_boolean()) return number != 0;
  // What is nearly whole was meant to be: 0.1 * 30.
  const double whole = std::round(number);
  constexpr double kMost = 9e15;  // which a double has all digits of
  if (std::abs(whole) < kMost && std::abs(number - whole) < 1e-9 * std::max(1.0, std::abs(number))) {
    return static_cast<std::int64_t>(whole);
  }
  return number;
}

json round_like(const json& example, double number, bool down) {
  const Kind* const kind = kind_of(example);
  const double counts = std::abs(number) * (kind == nullptr ? 1 : kind->counts);
  if (counts == 0 || example.is_boolean()) return value_like(example, number);
  constexpr int kDigits = 4;
  constexpr double kParts = 256;  // of a power of two
  constexpr double kElement = 4;  // bytes, the largest that a collective has
  constexpr double kKibi = 1024;
  constexpr double kSmall = 64 * kKibi;
  constexpr double kSlack = 1e-9;  // of what is computed
  const auto rounded_to = [&](double value) { return down ? std::floor(value * (1 + kSlack)) : std::round(value); };
  const double sign = number < 0 ? -1 : 1;
  if (kind != nullptr && kind->is_binary) {
    const double least = counts < kElement ? 1 : counts < kSmall ? kElement : kKibi;
    const double grain = std::max(least, std::exp2(std::floor(std::log2(counts))) / kParts);
    return kind->write(sign * rounded_to(counts / grain) * grain);
  }
  // By whole powers of ten, of which a division is as exact as the text of the number.
  const int power = kDigits - 1 - static_cast<int>(std::floor(std::log10(counts)));
  const double ten = std::pow(10.0, std::abs(power));
  const double value = power > 0 ? rounded_to(counts * ten) / ten : rounded_to(counts / ten) * ten;
  return value_like(example, sign * value / (kind == nullptr ? 1 : kind->counts));
}

}  // namespace weft::study
