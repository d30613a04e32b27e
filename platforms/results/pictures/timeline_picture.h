// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/quantity.h"

namespace weft::platforms {

/// What one accelerator did when, at a glance: a row for each of its tracks, and in red when the first of them, its
/// computing, stood still. Single kernels and messages are in the timeline; here one sees where a step's bubbles are.
class TimelinePicture {
 public:
  explicit TimelinePicture(std::string title) : title_(std::move(title)) {}

  /// Rows are drawn in the order in which they are added.
  std::size_t add_row(std::string name);
  /// Of a row, in any order; slices may overlap.
  void add_slice(std::size_t row, Time from, Time to);

  /// How long the row had a slice.
  [[nodiscard]] Time busy(std::size_t row) const;
  /// As SVG, from zero to the last slice's end. Bars that one could not tell apart are one.
  [[nodiscard]] std::string svg() const;

 private:
  struct Bar {
    Time from;
    Time to;
  };
  using Bars = std::vector<Bar>;
  struct Row {
    std::string name;
    Bars bars;
  };
  [[nodiscard]] static Bars in_order(Bars bars);
  /// The bars in order, with those joined that overlap or touch.
  [[nodiscard]] static Bars join(Bars bars);

  std::string title_;
  std::vector<Row> rows_;
  Time end_;
};

}  // namespace weft::platforms
