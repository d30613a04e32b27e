// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "hw/nic/congestion/congestion_control.h"

namespace weft::nic {

/// The window of DCTCP (Alizadeh et al., SIGCOMM 2010, section 3.1; RFC 8257, section 3.3) for a queue pair: the share
/// of bytes that come marked in a window sets how far the window is cut.
///
/// It begins with what the link carries in a round trip, as network interfaces do, and not with a slow start. It grows
/// by a packet in a round trip, and only if it has held a packet back.
///
/// Left out: the receiver's delayed acknowledgements, for each packet is acknowledged here.
class MarkWindow final : public CongestionControl {
 public:
  struct Config {
    double g = 1.0 / 16;
    Bytes initial;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("g", g, "Weight of the newest window in alpha, the estimate of the marked share", kShareAboveZero);
      visit("initial", initial, "First window; 0B: what the link carries in the longest idle round trip",
            Range{0, 1LL << 40});
    }
  };

  explicit MarkWindow(const CongestionSite& site);

  void sent(Time /*now*/, std::int64_t /*wire_bytes*/) override {}
  void congested(Time /*now*/) override {}
  void acknowledged(Time now, const Acknowledged& packets) override;
  /// Halves it, once in a round trip.
  void lost(Time now) override;
  /// Halves it once for a window of data (RFC 8257, section 3.5): what left before the latest cut cuts no more, though
  /// it is found to be lost a round trip and more after it.
  void overtaken(Time now, std::int64_t /*wire_bytes*/, Time left) override {
    if (left >= cut_at_) cut(now, 0.5);
  }
  [[nodiscard]] std::optional<Rate> rate(Time /*now*/) override { return std::nullopt; }
  [[nodiscard]] std::int64_t window(Time /*now*/) override { return static_cast<std::int64_t>(window_); }
  [[nodiscard]] double alpha() const { return alpha_; }
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> own_counts() const override {
    return {{"window_cuts", cuts_}};
  }

 private:
  void cut(Time now, double share);

  double g_;
  double packet_;
  double window_;
  double alpha_ = 1;
  double acknowledged_ = 0;  ///< bytes of this round
  double marked_ = 0;
  Time round_from_ = kNever;  ///< it ends with a packet that has left since; kNever: none has begun
  Time cut_at_;
  Time round_trip_;  ///< the latest
  std::int64_t cuts_ = 0;
};

/// `dctcp` among the schemes.
[[nodiscard]] CongestionScheme dctcp_scheme();

}  // namespace weft::nic
