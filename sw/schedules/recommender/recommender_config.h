// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/fields.h"

namespace weft::schedules {

/// A recommender with embedding tables over the ranks and perceptrons on all of them (DLRM: Naumov et al., arXiv
/// 1906.00091). Defaults are those of a small model of that kind.
struct RecommenderConfig {
  std::int64_t tables = 64;
  std::int64_t rows = 1'000'000;
  std::int64_t width = 64;
  std::int64_t lookups = 32;
  std::int64_t dense = 256;
  std::vector<int> bottom = {512, 256};
  std::vector<int> top = {1024, 512, 256};
  std::int64_t batch = 2048;
  double exchanged = 1;
  int steps = 2;
  double rate = 0.1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("tables", tables, "Embedding tables, dealt to the ranks in equal numbers", Range{1, 1 << 20});
    visit("rows", rows, "Rows of a table", Range{1, 1LL << 40});
    visit("width", width, "Numbers of a row", Range{1, 1 << 20});
    visit("lookups", lookups, "Rows of a table that are added up for a sample", Range{1, 1 << 20});
    visit("dense", dense, "Numbers that the bottom perceptron takes", Range{1, 1 << 20});
    visit("bottom", bottom, "Widths of its hidden layers; a layer of `width` follows", Range{1, 1 << 20});
    visit("top", top, "Widths of the hidden layers of the top perceptron; a layer of one number follows",
          Range{1, 1 << 20});
    visit("batch", batch, "Samples of one rank", Range{1, 1 << 24});
    visit("exchanged", exchanged,
          "Share of the numbers of a sample, the largest, that travel between tables and perceptrons, forward and "
          "backward, each with an index of 32 bits; 1: all, without indices",
          kShareAboveZero);
    visit("steps", steps, "Training steps to run", Range{1, 1000});
    visit("rate", rate, "Learning rate where data is on");
  }
};

}  // namespace weft::schedules
