// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hw/core/quantity.h"

/// How much of their time links and memories were busy, for summary.json.
namespace weft::platforms {

struct Used {
  std::string name;
  double utilisation = 0;
  std::int64_t bytes = 0;
};

inline double share(Time part, Time span) {
  return span > Time() ? static_cast<double>(part.count()) / static_cast<double>(span.count()) : 0;
}

/// {"count", "mean", "max", "bytes"} of things of one kind, which are Used or more.
template <typename T>
nlohmann::ordered_json aggregate(const std::vector<T>& all) {
  double sum = 0;
  double max = 0;
  std::int64_t bytes = 0;
  for (const T& used : all) {
    sum += used.utilisation;
    max = std::max(max, used.utilisation);
    bytes += used.bytes;
  }
  const double mean = all.empty() ? 0 : sum / static_cast<double>(all.size());
  return {{"count", all.size()}, {"mean", mean}, {"max", max}, {"bytes", bytes}};
}

/// The first few by utilisation of all lists together.
template <typename T, typename... More>
std::vector<T> busiest(const std::vector<T>& first, const More&... more) {
  constexpr std::size_t kShown = 10;
  std::vector<const T*> all;
  const auto add = [&all](const std::vector<T>& list) {
    for (const T& used : list) all.push_back(&used);
  };
  add(first);
  (add(more), ...);
  std::stable_sort(all.begin(), all.end(), [](const T* a, const T* b) { return a->utilisation > b->utilisation; });
  all.resize(std::min(all.size(), kShown));
  std::vector<T> shown;
  for (const T* used : all) shown.push_back(*used);
  return shown;
}

}  // namespace weft::platforms
