// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

namespace weft::platforms {

using nlohmann::ordered_json;

namespace {
constexpr std::size_t kTerminalWidth = 120;
}  // namespace

std::string in_columns(const std::vector<std::vector<std::string>>& lines, std::size_t texts) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char* const gap = i == 0 ? "" : "  ";
      row += i == 0 || i >= texts ? fmt::format("{}{:<{}}", gap, line[i], widths[i])
                                  : fmt::format("{}{:>{}}", gap, line[i], widths[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string lines;
  std::size_t column = indent;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kTerminalWidth) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    }
    lines += (column > indent ? " " : "") + word;
    column += (column > indent ? 1 : 0) + word.size();
  }
  return lines;
}

std::string and_list(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string few(const std::vector<std::string>& words) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> shown(words.begin(),
                                 words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), kMost)));
  if (words.size() > kMost) shown.push_back(std::to_string(words.size() - kMost) + " others");
  return and_list(shown);
}

std::string short_number(double value) {
  if (value != 0 && std::abs(value) < 0.01) return fmt::format("{:.2e}", value);
  return fmt::format("{:.{}f}", value, std::abs(value) < 10 ? 3 : std::abs(value) < 1000 ? 2 : 0);
}

std::string short_time(Time time) {
  const double ps = static_cast<double>(time.count());
  if (ps < 1e3) return fmt::format("{} ps", time.count());
  if (ps < 1e6) return fmt::format("{:.3g} ns", ps * 1e-3);
  if (ps < 1e9) return fmt::format("{:.4g} us", ps * 1e-6);
  if (ps < 1e12) return fmt::format("{:.4g} ms", ps * 1e-9);
  return fmt::format("{:.4g} s", ps * 1e-12);
}

std::string short_bytes(double bytes) {
  struct Unit {
    const char* name;
    double bytes;
  };
  constexpr double kMebi = 1 << 20;
  constexpr double kFourDigits = 1e4;
  constexpr std::array kUnits = {Unit{"B", 1},         Unit{"KB", 1e3},    Unit{"KiB", 1 << 10},
                                 Unit{"MB", 1e6},      Unit{"MiB", kMebi}, Unit{"GB", 1e9},
                                 Unit{"GiB", 1 << 30}, Unit{"TB", 1e12},   Unit{"TiB", kMebi * kMebi}};
  const std::string rounded = bytes < kMebi ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} MiB", bytes / kMebi);
  std::string best;
  for (const Unit& unit : kUnits) {
    const double tenths = bytes * 10 / unit.bytes;
    if (bytes < unit.bytes || tenths != std::floor(tenths)) continue;
    const int decimals = std::fmod(tenths, 10) == 0 ? 0 : 1;
    const std::string text = fmt::format("{:.{}f} {}", bytes / unit.bytes, decimals, unit.name);
    // Small units show all, but of a large size nobody counts them.
    const bool is_short = bytes / unit.bytes < kFourDigits || text.size() <= rounded.size();
    if (!is_short || (unit.bytes == 1 && decimals > 0)) continue;
    if (best.empty() || text.size() < best.size() || (text.size() == best.size() && decimals == 0)) best = text;
  }
  return best.empty() ? rounded : best;
}

ordered_json to_us(const std::vector<Time>& times) {
  ordered_json json = ordered_json::array();
  for (const Time time : times) json.push_back(to_us(time));
  return json;
}

std::string to_hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace weft::platforms
