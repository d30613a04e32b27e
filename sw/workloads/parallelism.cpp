// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/parallelism.h"

#include <charconv>

namespace weft::workloads {
namespace {

constexpr std::array<std::string_view, kAxes> kNames = {"tp", "cp", "ep", "fsdp", "dp", "pp"};

Axis axis_at(std::size_t index) {
  return static_cast<Axis>(index);
}

}  // namespace

std::string_view name_of(Axis axis) {
  return kNames[static_cast<std::size_t>(axis)];
}

std::int64_t Parallelism::ranks() const {
  std::int64_t product = 1;
  for (const std::int64_t degree : degrees_) product *= degree;
  return product;
}

std::int64_t Parallelism::coordinate(std::int64_t rank, Axis axis) const {
  for (std::size_t i = 0; axis_at(i) != axis; ++i) rank /= degrees_[i];
  return rank % degree(axis);
}

std::int64_t Parallelism::with(std::int64_t rank, Axis axis, std::int64_t wanted) const {
  std::int64_t stride = 1;
  for (std::size_t i = 0; axis_at(i) != axis; ++i) stride *= degrees_[i];
  return rank + (wanted - coordinate(rank, axis)) * stride;
}

std::int64_t Parallelism::group_size(AxisSet axes) const {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < kAxes; ++i) size *= axes.has(axis_at(i)) ? degrees_[i] : 1;
  return size;
}

std::int64_t Parallelism::group_number(std::int64_t rank, AxisSet axes) const {
  std::int64_t number = 0;
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < kAxes; ++i) {
    if (axes.has(axis_at(i))) continue;
    number += coordinate(rank, axis_at(i)) * stride;
    stride *= degrees_[i];
  }
  return number;
}

AxisSet Parallelism::reduced(AxisSet axes) const {
  for (std::size_t i = 0; i < kAxes; ++i) {
    if (degrees_[i] == 1) axes.remove(axis_at(i));
  }
  return axes;
}

std::string Parallelism::text() const {
  std::string text;
  for (std::size_t i = 0; i < kAxes; ++i) {
    if (degrees_[i] == 1) continue;
    text += (text.empty() ? "" : ",") + std::string(kNames[i]) + "=" + std::to_string(degrees_[i]);
  }
  return text.empty() ? "1" : text;
}

Parallelism parse_parallelism(std::string_view text) {
  static const std::string option = "--parallel";
  Parallelism parallel;
  std::array<bool, kAxes> given{};
  while (true) {
    const std::string entry(text.substr(0, text.find(',')));
    const std::size_t equals = entry.find('=');
    const std::string key = entry.substr(0, equals);
    std::size_t axis = 0;
    while (axis < kAxes && kNames[axis] != key) ++axis;
    if (equals == std::string::npos || axis == kAxes) {
      throw WorkloadError(option,
                          "expected degrees of tp, cp, ep, fsdp, dp and pp such as tp=8,pp=4, got \"" + entry + "\"");
    }
    if (given[axis]) throw WorkloadError(option, key + ": expected one degree, got a second one");
    given[axis] = true;
    std::int64_t degree = 0;
    const char* const end = entry.data() + entry.size();
    const auto [stop, error] = std::from_chars(entry.data() + equals + 1, end, degree);
    if (error != std::errc() || stop != end || degree < 1 || degree > Parallelism::kMostRanks) {
      throw WorkloadError(option, key + ": expected a degree from 1 to " + std::to_string(Parallelism::kMostRanks) +
                                      ", got \"" + entry.substr(equals + 1) + "\"");
    }
    // Before the product can leave 64 bits.
    if (parallel.ranks() > Parallelism::kMostRanks / degree) {
      throw WorkloadError(option, "expected at most " + std::to_string(Parallelism::kMostRanks) + " ranks in all");
    }
    parallel.set(axis_at(axis), degree);
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return parallel;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace weft::workloads
