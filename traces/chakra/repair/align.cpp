// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "traces/chakra/repair/parts.h"

namespace weft::chakra {
namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// Of a table of common lengths; longer sequences are compared place by place.
constexpr std::size_t kMostCells = 1 << 24;

bool equal(const Aligned& a, const Aligned& b) {
  return a.type == b.type && a.size == b.size;
}

struct Part {
  std::size_t a;
  std::size_t a_end;
  std::size_t b;
  std::size_t b_end;
};

/// Where in a sequence the next collective of each type is, for places that only grow.
class NextOfType {
 public:
  NextOfType(const std::vector<Aligned>& in, std::size_t end) : in_(in), end_(end) {}

  /// The end if there is none.
  std::size_t operator()(std::size_t from, CollectiveType type) {
    std::size_t& next = next_[static_cast<std::size_t>(type)];
    next = std::max(next, from);
    while (next < end_ && in_[next].type != type) ++next;
    return next;
  }

 private:
  const std::vector<Aligned>& in_;
  std::size_t end_;
  std::array<std::size_t, kCollectiveTypes> next_{};
};

/// Of equal types alone, first come first served.
void pair_types(const std::vector<Aligned>& a, const std::vector<Aligned>& b, Part part, Pairs& pairs) {
  NextOfType next_in_a(a, part.a_end);
  NextOfType next_in_b(b, part.b_end);
  while (part.a < part.a_end && part.b < part.b_end) {
    if (a[part.a].type == b[part.b].type) {
      pairs.emplace_back(part.a++, part.b++);
      continue;
    }
    // Whichever comes to the other's type sooner.
    const std::size_t next_a = next_in_a(part.a, b[part.b].type);
    const std::size_t next_b = next_in_b(part.b, a[part.a].type);
    const bool moves_a = next_a < part.a_end && (next_b == part.b_end || next_a - part.a <= next_b - part.b);
    if (moves_a) {
      part.a = next_a;
    } else if (next_b < part.b_end) {
      part.b = next_b;
    } else {
      ++part.a;
      ++part.b;
    }
  }
}

/// The longest common subsequence.
Pairs common(const std::vector<Aligned>& a, const std::vector<Aligned>& b, const Part& part) {
  const std::size_t rows = part.a_end - part.a;
  const std::size_t columns = part.b_end - part.b;
  Pairs pairs;
  if (rows == 0 || columns == 0 || rows > kMostCells / columns) return pairs;
  std::vector<std::uint32_t> lengths((rows + 1) * (columns + 1));
  const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return lengths[i * (columns + 1) + j]; };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      at(i, j) = equal(a[part.a + i], b[part.b + j]) ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
    if (equal(a[part.a + i], b[part.b + j])) {
      pairs.emplace_back(part.a + i++, part.b + j++);
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

}  // namespace

Pairs align(const std::vector<Aligned>& a, const std::vector<Aligned>& b) {
  Part middle{0, a.size(), 0, b.size()};
  Pairs pairs;
  while (middle.a < middle.a_end && middle.b < middle.b_end && equal(a[middle.a], b[middle.b])) {
    pairs.emplace_back(middle.a++, middle.b++);
  }
  Pairs behind;
  while (middle.a < middle.a_end && middle.b < middle.b_end && equal(a[middle.a_end - 1], b[middle.b_end - 1])) {
    behind.emplace_back(--middle.a_end, --middle.b_end);
  }
  Pairs anchors = common(a, b, middle);
  anchors.emplace_back(middle.a_end, middle.b_end);
  for (const auto& [in_a, in_b] : anchors) {
    pair_types(a, b, {middle.a, in_a, middle.b, in_b}, pairs);
    if (in_a < middle.a_end) pairs.emplace_back(in_a, in_b);
    middle.a = in_a + 1;
    middle.b = in_b + 1;
  }
  pairs.insert(pairs.end(), behind.rbegin(), behind.rend());
  return pairs;
}

}  // namespace weft::chakra
