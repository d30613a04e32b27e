// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace weft::vcd {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 6> kUnits = {
    {{"s", 0}, {"ms", -3}, {"us", -6}, {"ns", -9}, {"ps", -12}, {"fs", -15}}};

}  // namespace

int Timescale::power() const {
  return exponent + (magnitude == 100 ? 2 : magnitude == 10 ? 1 : 0);
}

std::string Timescale::text() const {
  const auto* const unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& known) { return known.second == exponent; });
  return std::to_string(magnitude) + std::string(unit == kUnits.end() ? "?" : unit->first);
}

std::optional<Timescale> parse_timescale(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (digits != "1" && digits != "10" && digits != "100") return std::nullopt;
  for (const auto& [unit, exponent] : kUnits) {
    if (text == unit) return Timescale{digits == "1" ? 1 : digits == "10" ? 10 : 100, exponent};
  }
  return std::nullopt;
}

std::optional<std::uint64_t> convert_time(std::uint64_t time, Timescale from, Timescale to) {
  for (int power = from.power(); power > to.power() && time != 0; --power) {
    if (time > std::numeric_limits<std::uint64_t>::max() / 10) return std::nullopt;
    time *= 10;
  }
  for (int power = from.power(); power < to.power() && time != 0; ++power) {
    if (time % 10 != 0) return std::nullopt;
    time /= 10;
  }
  return time;
}

const Signal* Header::find(std::string_view name) const {
  for (const Signal& signal : signals) {
    if (!name.starts_with(signal.name)) continue;
    const std::string_view rest = name.substr(signal.name.size());
    if (rest.empty() || rest == signal.range) return &signal;
  }
  return nullptr;
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
