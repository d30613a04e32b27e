// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/sizes.h"

#include <charconv>
#include <stdexcept>

#include "hw/core/quantity.h"
#include "platforms/config/input_error.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string::npos) return parts;
    start = end + 1;
  }
}

[[noreturn]] void fail(const std::string& option, const std::string& expected, const std::string& got) {
  throw UsageError(option + ": expected " + expected + ", got " + in_quotes(got));
}

bool to_integer(const std::string& text, std::int64_t& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

std::uint64_t parse_size(const std::string& text, const std::string& option) {
  Bytes size;
  try {
    size = parse_bytes(text);
  } catch (const std::invalid_argument& error) {
    fail(
        option,
        "sizes below 8388608TiB with their units, such as \"1MiB,8MiB\" or \"1KiB:1GiB:x2\"" + units_in_brackets(error),
        text);
  }
  if (size <= Bytes()) fail(option, "a size above 0", text);
  return static_cast<std::uint64_t>(size.count());
}

}  // namespace

std::vector<std::uint64_t> parse_sizes(const std::string& text, const std::string& option, std::uint64_t granule) {
  std::vector<std::uint64_t> sizes;
  const std::string multiple = "a multiple of the element's " + std::to_string(granule) + " bytes";
  for (const std::string& entry : split(text, ',')) {
    const std::vector<std::string> range = split(entry, ':');
    const std::uint64_t first = parse_size(range[0], option);
    if (first % granule != 0) fail(option, multiple, range[0]);
    if (range.size() == 1) {
      sizes.push_back(first);
      continue;
    }
    const std::uint64_t last = parse_size(range[1], option);
    std::int64_t factor = 2;
    const bool has_factor = range.size() == 3 && range[2].starts_with('x') && to_integer(range[2].substr(1), factor);
    if (range.size() > 3 || (range.size() == 3 && !has_factor) || factor < 2) {
      fail(option, "FROM:TO:xFACTOR with a factor of 2 or more", entry);
    }
    if (last < first) fail(option, "a range that goes up", entry);
    for (std::uint64_t size = first; size <= last; size *= static_cast<std::uint64_t>(factor)) {
      sizes.push_back(size);
      if (size > last / static_cast<std::uint64_t>(factor)) break;
    }
  }
  return sizes;
}

std::vector<std::int64_t> parse_numbers(const std::string& text, const std::string& option, std::size_t least,
                                        std::size_t most) {
  constexpr std::int64_t kLargest = 1LL << 40;
  std::vector<std::int64_t> numbers;
  for (const std::string& entry : split(text, ',')) {
    std::int64_t value = 0;
    if (!to_integer(entry, value) || value < 1 || value > kLargest) fail(option, "whole numbers above 0", text);
    numbers.push_back(value);
  }
  if (numbers.size() < least || numbers.size() > most) {
    const std::string count =
        least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
    fail(option, count + " numbers with commas between", text);
  }
  return numbers;
}

}  // namespace weft::platforms
