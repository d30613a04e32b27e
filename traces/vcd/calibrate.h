// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "traces/vcd/block_model.h"
#include "traces/vcd/block_trace.h"

namespace weft::vcd {

/// A BlockModel that was found to do what a waveform shows.
struct Calibration {
  BlockModel::Config config;
  std::map<std::string, std::uint64_t> intervals;  ///< of each type of elements, as Beat::kind has it
  // What the waveform showed, without which a value is only the most generous one that it allows.
  std::set<std::string> paces_seen;  ///< of these types beats waited for the block, or came one after the other
  bool pause_seen = false;           ///< the same between transactions
  bool stall_seen = false;           ///< the output was blocked
  bool full_seen = false;            ///< ... until the inputs were, too

  [[nodiscard]] std::uint64_t interval_of(const std::string& kind) const;
};

/// By how many cycles predicted times are off.
struct Residual {
  std::uint64_t transactions = 0;
  double mean = 0;
  std::uint64_t p99 = 0;  ///< 99 of 100 are off by no more
  std::uint64_t worst = 0;
};

/// The cycles in which beats are taken.
struct Prediction {
  std::vector<std::vector<std::uint64_t>> inputs;
  std::vector<std::uint64_t> output;
};

/// What a model does, until it has given as many beats as the waveform. Its inputs offer their beats when those of the
/// waveform did, or right after the one before where the waveform's beat had to wait for that; the output is ready when
/// the waveform's was.
Prediction predict(const Calibration& model, const BlockTrace& trace);

/// Of the first and the last beat of each transaction at the output.
Residual residual(const Calibration& model, const BlockTrace& trace);

/// The n-th beat of the output comes of the n-th of each input that has any. Throws traces::FormatError, which says at
/// which beat it is not so, and where there is nothing to learn from.
Calibration calibrate(const BlockTrace& trace);

}  // namespace weft::vcd
