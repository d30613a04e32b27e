// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
  Verdict admit(std::size_t input, std::size_t lane, std::int64_t bytes) {
    Held& held = held_[input * lanes_ + lane];
    if (held.own + bytes > private_) return admit_beyond(held, bytes);
    held.own += bytes;
    count(bytes);
    return Verdict::kTaken;
  }
  /// A packet that was taken will be gone at `at`.
  void leave(std::size_t input, std::size_t lane, std::int64_t bytes, Time at) {
    const Leaving one{at, static_cast<std::uint32_t>(input * lanes_ + lane), static_cast<std::uint32_t>(bytes)};
    leaving_.push_back(one);
    std::size_t place = leaving_.size() - 1;
    if (place == 0 || !one.before(leaving_[place - 1])) return;
    for (; place > 0 && one.before(leaving_[place - 1]); --place) leaving_[place] = leaving_[place - 1];
    leaving_[place] = one;
  }
  /// Gives back what is gone by `now`. Calls `resume(input, lane)` for each lane whose sender may go on.
  template <typename Resume>
  void collect(Time now, const Resume& resume) {
    while (!leaving_.empty() && leaving_.front().at <= now) {
      const Leaving gone = leaving_.front();
      leaving_.pop_front();
      if (give_back(gone)) resume(gone.lane / lanes_, gone.lane % lanes_);
    }
  }

  /// What the next packet of an input will touch.
  void prefetch(std::size_t input) const { __builtin_prefetch(&held_[input * lanes_]); }

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

  void count(std::int64_t bytes) {
    held_sum_ += bytes;
    counters_.most = std::max(counters_.most, held_sum_);
  }
  /// A packet that its lane's private buffer cannot hold alone.
  Verdict admit_beyond(Held& held, std::int64_t bytes);
  [[nodiscard]] double limit() const { return alpha_ * static_cast<double>(shared_ - shared_used_); }
  /// Whether the sender may go on now.
  bool give_back(const Leaving& gone) {
    Held& held = held_[gone.lane];
    held_sum_ -= gone.bytes;
    if (held.paused) [[unlikely]]
      return give_back_paused(held, gone.bytes);
    // What is in headroom is of a lane that is paused.
    const std::int64_t part = std::min<std::int64_t>(gone.bytes, held.shared);
    held.shared -= part;
    shared_used_ -= part;
    held.own -= gone.bytes - part;
    return false;
  }
  bool give_back_paused(Held& held, std::int64_t bytes);

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
