// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/compressed_numbers.h"

#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "hw/core/random.h"
#include "sw/collectives/compressed/numbers.h"

namespace weft::platforms {

using dimensions::Operation;

/// As memory has them.
std::vector<float> CompressedNumbers::values(int rank) const {
  Random random(seed_, "numbers of rank " + std::to_string(rank));
  std::vector<float> all(elements_);
  for (float& value : all) {
    const double magnitude = -std::log(1 - random.share());
    value = static_cast<float>(random.share() < 0.5 ? -magnitude : magnitude);
  }
  return collectives::numbers_of(collectives::elements_of(all, type_, false), type_, false);
}

void CompressedNumbers::fill(Machine& machine, std::uint64_t address) const {
  for (int r = 0; r < ranks_; ++r) {
    const std::vector<std::byte> elements = collectives::elements_of(values(r), type_, false);
    firmware::store_to(machine.rank(r), address, std::span<const std::byte>(elements));
  }
}

std::vector<float> CompressedNumbers::there(Machine& machine, int rank, std::uint64_t address,
                                            std::size_t count) const {
  return collectives::numbers_of(collectives::bytes_from(machine.rank(rank), address, count * size_of(type_)), type_,
                                 false);
}

std::int64_t CompressedNumbers::different(Machine& machine, std::uint64_t address) const {
  if (!is_same_everywhere()) return 0;
  const std::vector<float> first = there(machine, 0, address, elements_);
  std::int64_t count = 0;
  for (int r = 1; r < ranks_; ++r) {
    const std::vector<float> other = there(machine, r, address, elements_);
    for (std::size_t i = 0; i < first.size(); ++i) count += std::memcmp(&first[i], &other[i], sizeof(float)) != 0;
  }
  return count;
}

std::vector<double> CompressedNumbers::expected(const std::vector<std::vector<float>>& all, int rank) const {
  std::vector<double> numbers;
  const auto append = [&](int from, collectives::Extent part) {
    const auto& values = all[static_cast<std::size_t>(from)];
    for (std::uint64_t i = part.offset; i < part.offset + part.bytes; ++i) numbers.push_back(values[i]);
  };
  if (operation_ == Operation::kAllgather) {
    for (int r = 0; r < ranks_; ++r) append(r, block(r));
    return numbers;
  }
  if (operation_ == Operation::kAllToAll) {
    const std::uint64_t part = elements_ / static_cast<std::uint64_t>(ranks_);
    for (int r = 0; r < ranks_; ++r) append(r, {part * static_cast<std::uint64_t>(rank), part});
    return numbers;
  }
  const collectives::Extent own =
      operation_ == Operation::kReduceScatter ? block(rank) : collectives::Extent{0, elements_};
  numbers.resize(own.bytes);
  for (const std::vector<float>& values : all) {
    for (std::uint64_t i = 0; i < own.bytes; ++i) numbers[i] += values[own.offset + i];
  }
  return numbers;
}

double CompressedNumbers::error(Machine& machine, std::uint64_t address) const {
  std::vector<std::vector<float>> all;
  for (int r = 0; r < ranks_; ++r) all.push_back(values(r));
  double off = 0;
  double sum = 0;
  for (int r = 0; r < (is_same_everywhere() ? 1 : ranks_); ++r) {
    const std::vector<double> should = expected(all, r);
    const std::vector<float> is = there(machine, r, address, should.size());
    for (std::size_t i = 0; i < is.size(); ++i) {
      off += std::pow(is[i] - should[i], 2);
      sum += should[i] * should[i];
    }
  }
  return sum > 0 ? std::sqrt(off / sum) : 0;
}

}  // namespace weft::platforms
