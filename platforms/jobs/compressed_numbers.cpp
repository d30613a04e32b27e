// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/compressed_numbers.h"

#include <cmath>
#include <cstring>
#include <string>

#include "hw/core/random.h"
#include "sw/firmware/contents.h"

namespace weft::platforms {

std::vector<float> CompressedNumbers::values(int rank) const {
  Random random(seed_, "numbers of rank " + std::to_string(rank));
  std::vector<float> all(elements_);
  for (float& value : all) {
    const double magnitude = -std::log(1 - random.share());
    value = static_cast<float>(random.share() < 0.5 ? -magnitude : magnitude);
  }
  return all;
}

void CompressedNumbers::fill(Machine& machine, std::uint64_t address) const {
  for (int r = 0; r < machine.size(); ++r) firmware::store_to(machine.rank(r), address, values(r));
}

std::int64_t CompressedNumbers::different(Machine& machine, std::uint64_t address) const {
  const auto elements = static_cast<std::int64_t>(elements_);
  const std::vector<float> first = firmware::load_from(machine.rank(0), address, elements);
  std::int64_t count = 0;
  for (int r = 1; r < machine.size(); ++r) {
    const std::vector<float> other = firmware::load_from(machine.rank(r), address, elements);
    for (std::size_t i = 0; i < first.size(); ++i) count += std::memcmp(&first[i], &other[i], sizeof(float)) != 0;
  }
  return count;
}

double CompressedNumbers::error(Machine& machine, std::uint64_t address) const {
  std::vector<double> expected(elements_);
  for (int r = 0; r < machine.size(); ++r) {
    const std::vector<float> own = values(r);
    for (std::size_t i = 0; i < own.size(); ++i) expected[i] += own[i];
  }
  const std::vector<float> first = firmware::load_from(machine.rank(0), address, static_cast<std::int64_t>(elements_));
  double off = 0;
  double all = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    off += std::pow(first[i] - expected[i], 2);
    all += expected[i] * expected[i];
  }
  return all > 0 ? std::sqrt(off / all) : 0;
}

}  // namespace weft::platforms
