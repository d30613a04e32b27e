// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "hw/nic/congestion/congestion_control.h"

namespace weft::nic {

/// The window and rate of HPCC (Li et al., SIGCOMM 2019, algorithm 1) for a queue pair: packets bring back the load of
/// the fullest link on their way, and the window is set so that this comes to `target`. Load comes in 8 bits, computed
/// by the switches, as PINT has it (hw/core/path_load.h). The base round trip T is the longest idle one of the network.
/// The additive increase is the paper's, (1 - target) / N of the first window, for N `flows`; N is Weft's choice.
///
/// As in the paper, a queue pair alone has `target` of a link at most, since the rest keeps queues empty; and packets
/// are paced by the window over T.
class LoadWindow final : public CongestionControl {
 public:
  struct Config {
    double target = 0.95;
    int most_stages = 5;
    int flows = 16;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("target", target, "Load of the fullest link that it aims at", kShareAboveZero);
      visit("most_stages", most_stages, "Round trips of additive increase before the window follows the load again",
            Range{0, 1'000});
      visit("flows", flows,
            "Queue pairs that share a link: the additive increases of so many take what target leaves of it. With far "
            "more than there are, windows grow slowly and links stand idle; with fewer, queues stay",
            Range{1, 1'000'000});
    }
  };

  explicit LoadWindow(const CongestionSite& site);

  void sent(Time /*now*/, std::int64_t /*wire_bytes*/) override {}
  void congested(Time /*now*/) override {}
  void acknowledged(Time now, const Acknowledged& packets) override;
  [[nodiscard]] std::optional<Rate> rate(Time now) override;
  [[nodiscard]] std::int64_t window(Time /*now*/) override { return std::llround(window_); }

 private:
  Config config_;
  Time round_trip_;
  double whole_;      ///< window of a link that is full
  double increase_;   ///< bytes
  double window_;     ///< W of the paper
  double reference_;  ///< W^c: that of the round trip before
  int stage_ = 0;
  Time updated_;  ///< when the reference was: the next time is by a packet that has left since
};

/// `hpcc` among the schemes.
[[nodiscard]] CongestionScheme hpcc_scheme();

}  // namespace weft::nic
