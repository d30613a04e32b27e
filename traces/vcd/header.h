// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Value change dumps, IEEE 1364-2005 section 18: the waveforms that simulators of RTL write.
namespace weft::vcd {

/// The unit of a file's times: some of a power of a thousand of seconds. The standard has 1, 10 and 100; emulators
/// write the period of their clock.
struct Timescale {
  int magnitude = 1;
  int exponent = -9;  ///< 0, -3, ... -15: s to fs

  [[nodiscard]] double seconds() const;
  [[nodiscard]] std::string text() const;  ///< "10ps"
  bool operator==(const Timescale&) const = default;
};

/// Reads "10ps", "10 ps" or "244 ns", with letters of either case; nothing if it is none.
std::optional<Timescale> parse_timescale(std::string_view text);

/// A time in units of `from` in those of `to`; nothing where that is no integer or does not fit in 64 bits.
std::optional<std::uint64_t> convert_time(std::uint64_t time, Timescale from, Timescale to);

enum class SignalKind : std::uint8_t { kBits, kReal, kString, kEvent };

/// Why a declared variable has no values that could be asked for. Files that have one are read all the same.
enum class SignalFault : std::uint8_t {
  kNone,
  kWidth,   ///< its width is no number, or beyond 2^26 bits
  kShared,  ///< its identifier code belongs to a variable of another kind or width
};

/// A declared variable, or several that are one vector. Several variables may share a net, which is what has values: an
/// alias by an equal identifier code.
struct Signal {
  /// Of a vector that the file has in parts, such as bit by bit.
  struct Part {
    std::uint32_t net = 0;
    int width = 1;
  };

  std::string name;   ///< from the top, joined by dots: "top.dut.data". No bit range, no backslash of escaped names
  std::string range;  ///< as in the file, "[7:0]", or nothing; of a vector in parts that of all of them
  std::string type;   ///< as in the file: "wire", "reg", "parameter", ...
  int width = 1;      ///< bits, 0 of some; what the file says for reals and strings
  SignalKind kind = SignalKind::kBits;
  SignalFault fault = SignalFault::kNone;
  std::uint32_t net = 0;    ///< of a vector in parts that of the leftmost
  std::vector<Part> parts;  ///< the leftmost first; none where `net` has all bits
};

/// What an identifier code stands for.
struct Net {
  SignalKind kind = SignalKind::kBits;
  int width = 1;
  std::uint32_t signal = 0;  ///< index of the one that was declared first
  std::string part;          ///< its bits of that signal, "[3]" or "[7:4]"; nothing if it has all
};

struct Header {
  std::string date;
  std::string version;
  std::optional<Timescale> given_timescale;
  std::vector<Signal> signals;  ///< in the order of the file
  std::vector<Net> all_nets;

  /// 1 ns where the file says nothing; the standard leaves that open, and GTKWave takes the same.
  [[nodiscard]] Timescale timescale() const { return given_timescale.value_or(Timescale{}); }
  [[nodiscard]] std::size_t nets() const { return all_nets.size(); }
  /// The one that was declared first, of which the net may be a part.
  [[nodiscard]] const Signal& signal_of(std::uint32_t net) const { return signals[all_nets[net].signal]; }
  /// Its name, with the bit if the net is one of several.
  [[nodiscard]] std::string name_of(std::uint32_t net) const { return signal_of(net).name + all_nets[net].part; }
};

/// Both numbers of "[7:0]", equal ones of "[3]"; nothing if the text is neither.
struct BitRange {
  int left = 0;
  int right = 0;

  [[nodiscard]] bool falls() const { return left >= right; }
  [[nodiscard]] int low() const { return falls() ? right : left; }
  [[nodiscard]] int high() const { return falls() ? left : right; }
  [[nodiscard]] std::int64_t width() const { return std::int64_t{high()} - low() + 1; }
  [[nodiscard]] std::string text() const;
  bool operator==(const BitRange&) const = default;
};
std::optional<BitRange> parse_range(std::string_view text);
/// Of a signal's bits. Where the file says none, or one of another width, it is that of most tools.
BitRange range_of(const Signal& signal);
/// The range at the end of a text, with blanks within or as VHDL writes it ("(7 downto 0)", "(3)"), as parse_range()
/// reads it, and where it begins.
struct PlainRange {
  std::size_t begin;
  std::string range;
};
std::optional<PlainRange> plain_range(std::string_view text);

/// The value with all of its bits: IEEE 1364-2005 section 18.2.1 lets a file leave out what is on the left, which is 0
/// before 0 and 1, x before x and z before z. What is too long is cut on the left.
void extend_bits(std::string_view bits, int width, std::string& extended);

/// The shortest text that extends to these bits.
std::string_view shorten_bits(std::string_view bits);

/// True if text matches a pattern in which * stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace weft::vcd
