// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

/// Quantities with units. Every number of the simulator that has a unit has a type here, so that a size is never taken
/// for a rate. All are integers: simulated time must not depend on floating-point rounding.
namespace weft {

/// A product, a time or a size that 64 bits do not hold: something in the platform or the workload is far too large, or
/// a rate far too low. The command line exits with 2.
class QuantityOverflow : public std::overflow_error {
 public:
  using std::overflow_error::overflow_error;
};

/// Throws QuantityOverflow; `what` is a noun phrase, such as "a product of quantities".
[[noreturn]] void overflow(std::string_view what, double value);

/// A number whose unit is missing, or is none of what it may be.
class UnknownUnit : public std::invalid_argument {
 public:
  UnknownUnit(const std::string& what, const std::string& units)
      : std::invalid_argument(what + "; its unit is one of " + units), units_(units) {}
  /// "bps, Kbps, Mbps, ...".
  [[nodiscard]] const std::string& units() const { return units_; }

 private:
  std::string units_;
};

/// a * b, or QuantityOverflow. The check is one branch that is never taken.
constexpr std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    overflow("a product of quantities", static_cast<double>(a) * static_cast<double>(b));
  return product;
}

/// The same number in 64 bits, or QuantityOverflow.
constexpr std::int64_t narrowed(__int128 value) {
  const auto narrow = static_cast<std::int64_t>(value);
  if (narrow != value) [[unlikely]]
    overflow("a quantity", static_cast<double>(value));
  return narrow;
}

/// value * over / under, rounded towards 0. Exact: the product has 128 bits where 64 do not hold it.
constexpr std::int64_t scaled(std::int64_t value, std::int64_t over, std::int64_t under) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(value, over, &product)) [[likely]]
    return product / under;
  return narrowed(static_cast<__int128>(value) * over / under);
}

/// The nearest integer, or QuantityOverflow.
inline std::int64_t rounded(double value, std::string_view what = "a quantity") {
  constexpr double kLimit = 9.2e18;
  if (!(value > -kLimit && value < kLimit)) [[unlikely]]
    overflow(what, value);
  return std::llround(value);
}

/// A quantity counted in whole `Tag` units, closed under addition and scaling. Products are checked; sums are not,
/// since nothing counts far enough by adding: an event of a time beyond the end is found when it is posted.
template <typename Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}

  /// The bare number, in the unit that the alias below names.
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Quantity&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm
  constexpr Quantity& operator+=(Quantity other) { return count_ += other.count_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return count_ -= other.count_, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return Quantity(checked_product(a.count_, n)); }
  friend constexpr Quantity operator*(std::int64_t n, Quantity a) { return a * n; }
  friend constexpr Quantity operator/(Quantity a, std::int64_t n) { return Quantity(a.count_ / n); }
  /// How many whole times `b` fits into `a`.
  friend constexpr std::int64_t operator/(Quantity a, Quantity b) { return a.count_ / b.count_; }
  friend constexpr Quantity operator%(Quantity a, Quantity b) { return Quantity(a.count_ % b.count_); }

 private:
  std::int64_t count_ = 0;
};

/// Picoseconds: a point in simulated time or the difference of two. Reaches 106 days.
using Time = Quantity<struct PicosecondTag>;
/// Bytes.
using Bytes = Quantity<struct ByteTag>;
/// Bits per second.
using Rate = Quantity<struct BitPerSecondTag>;
/// Hertz.
using Frequency = Quantity<struct HertzTag>;
/// Arithmetic operations per second.
using Compute = Quantity<struct OperationPerSecondTag>;

constexpr Time kNever = Time(INT64_MAX);

namespace literals {
constexpr Time operator""_ps(unsigned long long n) {
  return Time(static_cast<std::int64_t>(n));
}
constexpr Time operator""_ns(unsigned long long n) {
  return Time(static_cast<std::int64_t>(n) * 1'000);
}
constexpr Time operator""_us(unsigned long long n) {
  return Time(static_cast<std::int64_t>(n) * 1'000'000);
}
constexpr Time operator""_ms(unsigned long long n) {
  return Time(static_cast<std::int64_t>(n) * 1'000'000'000);
}
constexpr Bytes operator""_B(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n));
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 10);
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 20);
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 30);
}
constexpr Rate operator""_Gbps(unsigned long long n) {
  return Rate(static_cast<std::int64_t>(n) * 1'000'000'000);
}
constexpr Rate operator""_GBps(unsigned long long n) {
  return Rate(static_cast<std::int64_t>(n) * 8'000'000'000);
}
constexpr Frequency operator""_MHz(unsigned long long n) {
  return Frequency(static_cast<std::int64_t>(n) * 1'000'000);
}
}  // namespace literals

/// value * over / under, rounded to the nearest integer. Exact, as `scaled` is.
constexpr std::int64_t scaled_to_nearest(std::int64_t value, std::int64_t over, std::int64_t under) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(value, over, &product) && !__builtin_add_overflow(product, under / 2, &product))
      [[likely]]
    return product / under;
  return narrowed((static_cast<__int128>(value) * over + under / 2) / under);
}

/// Time that `size` takes at `rate`, rounded to the nearest picosecond. Divides, of more than 1.1 MiB 128 bits: for
/// set-up, not for every packet.
constexpr Time transfer_time(Bytes size, Rate rate) {
  if (rate.count() <= 0) [[unlikely]]
    overflow("a transfer at no rate", static_cast<double>(size.count()));
  return Time(scaled_to_nearest(size.count(), 8'000'000'000'000, rate.count()));
}

/// Time of `cycles` at `clock`, rounded to the nearest picosecond.
constexpr Time cycle_time(std::int64_t cycles, Frequency clock) {
  return Time(scaled_to_nearest(cycles, 1'000'000'000'000, clock.count()));
}

/// Serialisation at a fixed rate as one multiplication: picoseconds per byte with 32 fractional bits. Exact for rates
/// whose byte time is a multiple of 2^-32 ps (400 Gb/s is 20 ps a byte), else within 1 ps for 4 GiB. A rate below
/// 4 kb/s, or none, is a QuantityOverflow.
class ByteTime {
 public:
  constexpr ByteTime() = default;
  constexpr explicit ByteTime(Rate rate) : q32_(fixed_point(rate)) {}

  [[nodiscard]] constexpr Time operator()(std::int64_t bytes) const {
    const auto product = static_cast<unsigned __int128>(q32_) * static_cast<std::uint64_t>(bytes) + (1U << 31);
    const auto high = static_cast<std::uint64_t>(product >> 64);
    if (high >> 31 != 0) [[unlikely]]
      overflow("a transfer's time in ps", static_cast<double>(product >> 32));
    return Time(static_cast<std::int64_t>(product >> 32));
  }
  [[nodiscard]] constexpr Time operator()(Bytes size) const { return (*this)(size.count()); }

  /// What a serialiser that sends without a pause has left over by rounding, in 2^-32 ps: at most half a picosecond
  /// either way. 0 where it begins.
  using Rest = std::int32_t;
  /// The time of what follows `rest` without a pause, which then is that behind it: any number of transfers end within
  /// half a picosecond of when they would without rounding.
  [[nodiscard]] constexpr Time next(std::int64_t bytes, Rest& rest) const {
    const auto exact = static_cast<__int128>(q32_) * bytes + rest;
    const auto time = static_cast<std::int64_t>((exact + (1LL << 31)) >> 32);
    rest = static_cast<Rest>(exact - (static_cast<__int128>(time) << 32));
    return Time(time);
  }

 private:
  static constexpr std::uint64_t fixed_point(Rate rate) {
    if (rate.count() <= 0) [[unlikely]]
      overflow("a byte at no rate", 1);
    return static_cast<std::uint64_t>(
        narrowed(((static_cast<__int128>(8'000'000'000'000) << 32) + rate.count() / 2) / rate.count()));
  }

  std::uint64_t q32_ = 0;
};

/// Reads a quantity such as "1.5us", "1e-6s", "80GiB", "400Gbps", "450GB/s", "1980MHz" or "989TFLOPS" exactly in
/// decimal arithmetic, rounding to the nearest whole unit. A unit may be written as the field writes it: "400Gb/s",
/// "400Gbit/s", "400G" of a link (bits), "64K" of a buffer (binary, as in nccl-tests), a micro sign. Throws
/// std::invalid_argument, whose text says what was expected: UnknownUnit for a missing or unknown unit or trailing
/// text, others for what is no number, for a negative one and for overflow.
Time parse_time(std::string_view text);
Bytes parse_bytes(std::string_view text);
Rate parse_rate(std::string_view text);
Frequency parse_frequency(std::string_view text);
Compute parse_compute(std::string_view text);

/// The shortest text that parses back to the same quantity: to_text(Bytes(65536)) is "64KiB".
std::string to_text(Time time);
std::string to_text(Bytes size);
std::string to_text(Rate rate);
std::string to_text(Frequency frequency);
std::string to_text(Compute compute);

}  // namespace weft
