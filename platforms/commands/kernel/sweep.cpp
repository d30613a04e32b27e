// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/kernel/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>

#include "platforms/commands/command.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

/// "4096", "128,512", "128:8192:x2"; numbers of elements, or sizes with or without a unit.
std::vector<std::int64_t> parse_values(const std::string& text, const KernelKind::Dimension& dimension) {
  constexpr std::int64_t kLargest = 1LL << 40;
  const std::string option = "--" + dimension.name;
  const std::int64_t least = dimension.may_be_zero ? 0 : 1;
  const auto number = [&](const std::string& digits) -> std::int64_t {
    std::int64_t value = -1;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (dimension.name == "bytes" && stop != end) {
      try {
        value = parse_bytes(digits).count();
      } catch (const std::invalid_argument&) {
        value = -1;
      }
    } else if (error != std::errc() || stop != end) {
      value = -1;
    }
    if (value >= least && value <= kLargest) return value;
    throw UsageError(option + ": expected " +
                     (dimension.name == "bytes" ? "a size such as \"64MiB\"" : "a whole number") +
                     fmt::format(" from {} to 2^40, a list with commas between, or a range such as 128:8192:x2, got {}",
                                 least, in_quotes(text)));
  };
  std::vector<std::int64_t> values;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string entry = text.substr(start, end - start);
    start = end + 1;
    const std::size_t colon = entry.find(':');
    const std::int64_t first = number(entry.substr(0, colon));
    if (colon == std::string::npos) {
      values.push_back(first);
      continue;
    }
    const std::size_t second = entry.find(':', colon + 1);
    const std::int64_t last = number(entry.substr(colon + 1, second - std::min(second, colon + 1)));
    std::int64_t factor = 2;
    if (second != std::string::npos) {
      const std::string text_of_factor = entry.substr(second + 1);
      factor = text_of_factor.starts_with('x') ? number(text_of_factor.substr(1)) : 0;
    }
    if (factor < 2)
      throw UsageError(option + ": expected a factor of 2 or more, as in 128:8192:x2, got " + in_quotes(entry));
    if (last < first) throw UsageError(option + ": expected a range that goes up, got " + in_quotes(entry));
    if (first == 0) throw UsageError(option + ": expected a range that begins above 0, got " + in_quotes(entry));
    for (std::int64_t value = first; value <= last; value *= factor) values.push_back(value);
  }
  return values;
}

}  // namespace

std::vector<KernelKind::Values> combinations(const KernelKind& kind, const std::map<std::string, std::string>& given) {
  constexpr std::size_t kMost = 4096;
  const std::vector<KernelKind::Dimension> dimensions = kind.dimensions();
  const auto is_name = [&](const std::string& text) {
    return std::any_of(dimensions.begin(), dimensions.end(), [&](const auto& d) { return d.name == text; });
  };
  std::vector<KernelKind::Values> all = {{}};
  for (const KernelKind::Dimension& dimension : dimensions) {
    const std::string& text = given.at(dimension.name);
    if (text.empty() && dimension.fallback == 0 && !dimension.may_be_zero) {
      throw UsageError(fmt::format("--{}: expected a number for {}, got nothing", dimension.name, kind.name()));
    }
    if (is_name(text)) continue;
    const std::vector<std::int64_t> values =
        text.empty() ? std::vector<std::int64_t>{dimension.fallback} : parse_values(text, dimension);
    std::vector<KernelKind::Values> next;
    for (const KernelKind::Values& before : all) {
      for (const std::int64_t value : values) {
        next.push_back(before);
        next.back()[dimension.name] = value;
      }
      if (next.size() > kMost)
        throw UsageError(fmt::format("--{}: expected at most {} kernels", dimension.name, kMost));
    }
    all = std::move(next);
  }
  for (KernelKind::Values& values : all) {
    for (const KernelKind::Dimension& dimension : dimensions) {
      const std::string& text = given.at(dimension.name);
      if (!is_name(text)) continue;
      const auto other = values.find(text);
      if (other == values.end() || is_name(given.at(text))) {
        throw UsageError(
            fmt::format("--{}: expected a dimension that has a number, got {}", dimension.name, in_quotes(text)));
      }
      values[dimension.name] = other->second;
    }
  }
  return all;
}

}  // namespace weft::platforms
