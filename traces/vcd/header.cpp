// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

namespace weft::vcd {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 6> kUnits = {
    {{"s", 0}, {"ms", -3}, {"us", -6}, {"ns", -9}, {"ps", -12}, {"fs", -15}}};

}  // namespace

double Timescale::seconds() const {
  return magnitude * std::pow(10.0, exponent);
}

std::string Timescale::text() const {
  const auto* const unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& known) { return known.second == exponent; });
  return std::to_string(magnitude) + std::string(unit == kUnits.end() ? "?" : unit->first);
}

std::optional<Timescale> parse_timescale(std::string_view text) {
  constexpr int kMost = 1'000'000;
  int magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
  if (error != std::errc() || magnitude < 1 || magnitude > kMost) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::string unit(text);
  for (char& c : unit) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const auto& [name, exponent] : kUnits) {
    if (unit == name) return Timescale{magnitude, exponent};
  }
  return std::nullopt;
}

std::optional<std::uint64_t> convert_time(std::uint64_t time, Timescale from, Timescale to) {
  // In the finer of both powers, so that a unit is whole. What wraps around is seen by dividing.
  const int power = std::min(from.exponent, to.exponent);
  const auto unit = [&](Timescale of) {
    unsigned __int128 units = static_cast<unsigned>(of.magnitude);
    for (int i = power; i < of.exponent; ++i) units *= 10;
    return units;
  };
  const auto all = unit(from) * time;
  if (all / unit(from) != time || all % unit(to) != 0) return std::nullopt;
  const auto converted = all / unit(to);
  if (converted > std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  return static_cast<std::uint64_t>(converted);
}

std::string BitRange::text() const {
  std::string text = "[" + std::to_string(left);
  if (left != right) text += ":" + std::to_string(right);
  return text + "]";
}

std::optional<BitRange> parse_range(std::string_view text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const auto number = [](std::string_view digits) -> std::optional<int> {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const std::size_t colon = text.find(':');
  const auto left = number(text.substr(0, colon));
  const auto right = colon == std::string_view::npos ? left : number(text.substr(colon + 1));
  if (!left || !right) return std::nullopt;
  return BitRange{*left, *right};
}

BitRange range_of(const Signal& signal) {
  const std::optional<BitRange> range = parse_range(signal.range);
  return range && range->width() == signal.width ? *range : BitRange{signal.width - 1, 0};
}

std::optional<PlainRange> plain_range(std::string_view text) {
  if (text.empty() || (text.back() != ']' && text.back() != ')')) return std::nullopt;
  const std::size_t begin = text.rfind(text.back() == ']' ? '[' : '(');
  if (begin == std::string_view::npos) return std::nullopt;
  std::string within(text.substr(begin + 1, text.size() - begin - 2));
  for (const std::string_view direction : {" downto ", " to "}) {
    if (const std::size_t at = within.find(direction); at != std::string::npos)
      within.replace(at, direction.size(), ":");
  }
  std::erase(within, ' ');
  std::string range = "[" + within + "]";
  if (!parse_range(range)) return std::nullopt;
  return PlainRange{begin, std::move(range)};
}

void extend_bits(std::string_view bits, int width, std::string& extended) {
  const auto wanted = static_cast<std::size_t>(width);
  if (bits.size() >= wanted) {
    extended.assign(bits.substr(bits.size() - wanted));
    return;
  }
  const char left = bits.empty() ? 'x' : bits.front() == '1' ? '0' : bits.front();
  extended.assign(wanted - bits.size(), left);
  extended.append(bits);
}

std::string_view shorten_bits(std::string_view bits) {
  while (bits.size() > 1) {
    const char left = bits[0];
    const char next = bits[1];
    if (left == '1' || (left == '0' ? next != '0' && next != '1' : next != left)) break;
    bits.remove_prefix(1);
  }
  return bits;
}

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  std::size_t from = 0;
  while (from < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      retry = from;
    } else if (at < pattern.size() && pattern[at] == text[from]) {
      ++at;
      ++from;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      from = ++retry;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace weft::vcd
