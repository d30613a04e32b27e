// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Value change dumps, IEEE 1364-2005 section 18: the waveforms that simulators of RTL write.
namespace weft::vcd {

/// The unit of a file's times: 1, 10 or 100 times a power of a thousand of seconds.
struct Timescale {
  int magnitude = 1;
  int exponent = -9;  ///< 0, -3, ... -15: s to fs

  /// Decimal exponent of the whole: -11 for 10 ps.
  [[nodiscard]] int power() const;
  [[nodiscard]] std::string text() const;  ///< "10ps"
  bool operator==(const Timescale&) const = default;
};

/// Reads "10ps" or "10 ps"; nothing if it is none.
std::optional<Timescale> parse_timescale(std::string_view text);

/// A time in units of `from` in those of `to`; nothing where that is no integer or does not fit in 64 bits.
std::optional<std::uint64_t> convert_time(std::uint64_t time, Timescale from, Timescale to);

enum class SignalKind : std::uint8_t { kBits, kReal, kString, kEvent };

/// A declared variable. Several may share a net, which is what has values: an alias by an equal identifier code.
struct Signal {
  std::string name;   ///< from the top, joined by dots: "top.dut.data". No bit range, no backslash of escaped names
  std::string range;  ///< as in the file, "[7:0]", or nothing
  std::string type;   ///< as in the file: "wire", "reg", "parameter", ...
  int width = 1;      ///< bits; what the file says for reals and strings
  SignalKind kind = SignalKind::kBits;
  std::uint32_t net = 0;
};

struct Header {
  std::string date;
  std::string version;
  std::optional<Timescale> given_timescale;
  std::vector<Signal> signals;           ///< in the order of the file
  std::vector<std::uint32_t> net_first;  ///< of each net the index of the signal that was declared first

  /// 1 ns where the file says nothing; the standard leaves that open, and GTKWave takes the same.
  [[nodiscard]] Timescale timescale() const { return given_timescale.value_or(Timescale{}); }
  [[nodiscard]] std::size_t nets() const { return net_first.size(); }
  [[nodiscard]] const Signal& signal_of(std::uint32_t net) const { return signals[net_first[net]]; }
  /// By full name, with or without the range; null if there is none.
  [[nodiscard]] const Signal* find(std::string_view name) const;
};

/// The value with all of its bits: IEEE 1364-2005 section 18.2.1 lets a file leave out what is on the left, which is 0
/// before 0 and 1, x before x and z before z. What is too long is cut on the left.
void extend_bits(std::string_view bits, int width, std::string& extended);

/// The shortest text that extends to these bits.
std::string_view shorten_bits(std::string_view bits);

/// True if text matches a pattern in which * stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace weft::vcd
