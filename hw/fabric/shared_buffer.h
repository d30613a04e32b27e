// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/fifo.h"
#include "hw/core/quantity.h"

namespace weft::fabric {

/// The packet memory of a switch without credits: admission of what arrives, by input and lane.
///
/// A lane of an input fills its private buffer first (`link.buffer`), then the pool that all share, of which it may
/// hold at most `alpha` times what is still free (dynamic threshold, Choudhury and Hahne 1998). What fits neither is
/// dropped, or with priority flow control goes to the lane's headroom, and the sender is told to pause; it may go on
/// when the headroom is empty and the lane's part of the pool is `resume` below its limit. A lane gives its space back
/// in the opposite order.
class SharedBuffer {
 public:
  struct Config {
    Bytes shared = Bytes(16 << 20);
    double alpha = 0.125;
    Bytes headroom = Bytes(160 << 10);
    Bytes resume = Bytes(8 << 10);

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("shared", shared, "pfc and lossy: packet memory that all inputs and lanes share", Range{0, 1LL << 40});
      visit("alpha", alpha, "pfc and lossy: how much of what is free of it a lane may hold, as a share",
            Range{0, 1024});
      visit("headroom", headroom, "pfc: for what arrives before a pause takes effect, for each input and lane",
            Range{0, 1LL << 40});
      visit("resume", resume, "pfc: how far below its limit a lane must fall before its sender may go on",
            Range{0, 1LL << 40});
    }
  };
  enum class Verdict : std::uint8_t { kTaken, kTakenPause, kDropped };
  struct Counters {
    std::int64_t most = 0;  ///< bytes held at a time, of all kinds
    std::int64_t most_headroom = 0;
  };

  SharedBuffer(const Config& config, std::int64_t private_bytes, bool pauses, std::size_t inputs, std::size_t lanes);

  /// A packet arrives. kTakenPause asks the caller to pause the lane's sender, once.
  Verdict admit(std::size_t input, std::size_t lane, std::int64_t bytes, Time now);
  /// A packet that was taken will be gone at `at`.
  void leave(std::size_t input, std::size_t lane, std::int64_t bytes, Time at);
  /// Gives back what is gone by `now`. Calls `resume(input, lane)` for each lane whose sender may go on.
  template <typename Resume>
  void collect(Time now, const Resume& resume) {
    while (!leaving_.empty() && leaving_.front().at <= now) {
      const Leaving gone = leaving_.front();
      leaving_.pop_front();
      if (give_back(gone)) resume(gone.lane / lanes_, gone.lane % lanes_);
    }
  }

  [[nodiscard]] bool paused(std::size_t input, std::size_t lane) const { return held_[input * lanes_ + lane].paused; }
  [[nodiscard]] std::int64_t held() const { return held_sum_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Held {
    std::int64_t own = 0;
    std::int64_t shared = 0;
    std::int64_t headroom = 0;
    bool paused = false;
  };
  struct Leaving {
    Time at;
    std::uint32_t lane = 0;  ///< input and lane in one number
    std::uint32_t bytes = 0;
    [[nodiscard]] bool before(const Leaving& other) const { return at != other.at ? at < other.at : lane < other.lane; }
  };

  [[nodiscard]] double limit() const { return alpha_ * static_cast<double>(shared_ - shared_used_); }
  bool give_back(const Leaving& gone);

  std::int64_t shared_;
  double alpha_;
  std::int64_t headroom_;
  std::int64_t resume_;
  std::int64_t private_;
  bool pauses_;
  std::size_t lanes_;
  std::int64_t shared_used_ = 0;
  std::int64_t held_sum_ = 0;
  std::vector<Held> held_;
  Fifo<Leaving> leaving_;  ///< by time: outputs book about equally far ahead, so that what is new goes near the end
  Counters counters_;
};

}  // namespace weft::fabric
