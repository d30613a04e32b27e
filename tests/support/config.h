// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "platforms/config/input_error.h"

/// What tests of configurations share.
namespace weft::platforms::test_config {

using namespace literals;
using Overrides = std::vector<std::string>;

/// A part of other configurations.
struct TimingConfig {
  Time start = 10_ns;
  std::uint64_t seed = 1;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("start", start, "Latency of the first operation", Range{1'000, 8'000'000});
    visit("seed", seed, "Seed");
  }
};

/// What an action throws.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace weft::platforms::test_config
