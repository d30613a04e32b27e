// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

/// Quantities with units. Every number of the simulator that has a unit has a type here, so that a size is never taken
/// for a rate. All are integers: simulated time must not depend on floating-point rounding.
namespace weft {

/// A quantity counted in whole `Tag` units, closed under addition and scaling.
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
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return Quantity(a.count_ * n); }
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

/// Time that `size` takes at `rate`, rounded to the nearest picosecond. Divides 128 bits: for set-up, not for every
/// packet.
constexpr Time transfer_time(Bytes size, Rate rate) {
  const auto bit_ps = static_cast<__int128>(size.count()) * 8 * 1'000'000'000'000;
  return Time(static_cast<std::int64_t>((bit_ps + rate.count() / 2) / rate.count()));
}

/// Time of `cycles` at `clock`, rounded to the nearest picosecond.
constexpr Time cycle_time(std::int64_t cycles, Frequency clock) {
  const auto ps = static_cast<__int128>(cycles) * 1'000'000'000'000;
  return Time(static_cast<std::int64_t>((ps + clock.count() / 2) / clock.count()));
}

/// Serialisation at a fixed rate as one multiplication: picoseconds per byte with 32 fractional bits. Exact for rates
/// whose byte time is a multiple of 2^-32 ps (400 Gb/s is 20 ps a byte), else within 1 ps for 4 GiB.
class ByteTime {
 public:
  constexpr ByteTime() = default;
  constexpr explicit ByteTime(Rate rate)
      : q32_(static_cast<std::uint64_t>(((static_cast<__int128>(8'000'000'000'000) << 32) + rate.count() / 2) /
                                        rate.count())) {}

  [[nodiscard]] constexpr Time operator()(std::int64_t bytes) const {
    const auto product = static_cast<unsigned __int128>(q32_) * static_cast<std::uint64_t>(bytes) + (1U << 31);
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
  std::uint64_t q32_ = 0;
};

/// Reads a quantity such as "1.5us", "80GiB", "400Gbps", "450GB/s", "1980MHz" or "989TFLOPS" exactly in decimal
/// arithmetic, rounding to the nearest whole unit. Throws std::invalid_argument, whose text says what was expected, on
/// a missing or unknown unit, on trailing text, on a negative number and on overflow.
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
