// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"

namespace weft::schedules {

/// What of a round is chosen, and what is cut into equal parts.
enum class EdgeAllocation : std::uint8_t { kEqual, kParameters, kBandwidth, kJoint };
inline EnumNames<EdgeAllocation> enum_names(EdgeAllocation /*tag*/) {
  return {{"equal", EdgeAllocation::kEqual},
          {"parameters", EdgeAllocation::kParameters},
          {"bandwidth", EdgeAllocation::kBandwidth},
          {"joint", EdgeAllocation::kJoint}};
}

struct EdgeConfig {
  std::int64_t parameters = 1'000'000;
  Frequency bandwidth = Frequency(10'000'000);
  double mean_snr = 10;
  double shadowing = 8;
  Time compute = Time(10'000'000);
  double compute_spread = 4;
  EdgeAllocation allocation = EdgeAllocation::kJoint;
  int rounds = 10;
  Bytes piece = Bytes(16 << 10);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("parameters", parameters, "Parameters of the model, of 32 bits", Range{1, 1'000'000'000});
    visit("bandwidth", bandwidth, "Of the radio, which workers share; each has its part both ways",
          Range{1'000, 1'000'000'000'000});
    visit("mean_snr", mean_snr, "Mean ratio of signal to noise at a worker, in dB", Range{-20, 60});
    visit("shadowing", shadowing,
          "Standard deviation of that ratio over workers and rounds, in dB; each round draws anew", Range{0, 20});
    visit("compute", compute, "Shortest time that a worker computes for a parameter of its block",
          Range{0, 1'000'000'000'000});
    visit("compute_spread", compute_spread,
          "How many times as long the longest is; each worker's time is drawn evenly between both", Range{1, 1000});
    visit(
        "allocation", allocation,
        "Which of block sizes and bandwidths are chosen for the shortest round: neither (equal), one, or both (joint)");
    visit("rounds", rounds, "Rounds to run", Range{1, 10'000});
    visit("piece", piece, "Bytes that the radio hands on at a time", Range{64, 1 << 30});
  }
};

/// A worker as a round finds it.
struct EdgeWorker {
  double bits_per_hz = 0;  ///< log2(1 + SNR): a band of B Hz has B times this rate, in b/s
  double compute_s = 0;    ///< for a parameter
};

/// A worker's part of a round.
struct EdgeShare {
  std::int64_t parameters = 0;
  double bandwidth_hz = 0;
};

/// Parameter blocks and bands (Wen, Bennis and Huang, Joint Parameter-and-Bandwidth Allocation for Improving the
/// Efficiency of Partitioned Edge Learning, arXiv 2003.04544), for a round whose time is that of the slowest worker:
/// its block comes, is computed and goes back, at B log2(1 + SNR) both ways.
///
/// With x parameters and a band of B, worker k takes x (a / B + c), a = 64 / log2(1 + SNR) and c its time for a
/// parameter. In the time T it can do T / (a / B + c), which is concave in B: the sum over workers is largest where all
/// gain as much by another Hz, B = (sqrt(a / lambda) - a) / c or nothing, and lambda follows from the sum of the bands
/// by bisection. Blocks are then in proportion to B / (a + c B), and all workers end at once. With bands alone to be
/// chosen for equal blocks, all end at once with B = a x / (T - c x). Blocks are whole numbers; each parameter that is
/// left over is the worker's that is done with it first. Where parameters are so few that whole blocks make a simpler
/// way the faster one, such as equal blocks and bands, that is taken.
[[nodiscard]] std::vector<EdgeShare> allocate_edge(EdgeAllocation how, std::int64_t parameters, double bandwidth_hz,
                                                   const std::vector<EdgeWorker>& workers);
/// Seconds of a worker's part.
[[nodiscard]] double edge_time(const EdgeWorker& worker, const EdgeShare& share);

}  // namespace weft::schedules
