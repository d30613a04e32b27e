// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::study {

/// What an optimiser is asked for. It looks for small values of all objectives.
struct EngineTask {
  std::string method;                 ///< a name of SearchMethod
  std::size_t continuous = 0;         ///< variables from 0 to 1
  std::vector<std::size_t> integers;  ///< how many values each other variable has, from 0
  std::size_t objectives = 1;
  std::size_t population = 20;
  std::uint64_t seed = 1;
  /// Objectives of each of several lists of variables, continuous ones first. What it throws ends the search.
  std::function<std::vector<std::vector<double>>(const std::vector<std::vector<double>>&)> evaluate;
  std::function<bool()> goes_on;  ///< asked between generations
};

/// Of the module weft_search, which is linked with pagmo.
extern "C" void weft_search(const EngineTask& task);
using EngineFunction = void (*)(const EngineTask& task);

}  // namespace weft::study
