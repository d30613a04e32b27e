// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
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
///
/// A `headroom` of 0 is one that nobody has set: it follows from the links of the switch (fitting_headroom in
/// hw/fabric/credit_loop.h), and is never below kLeastHeadroom.
class SharedBuffer {
 public:
  static constexpr Bytes kLeastHeadroom = Bytes(160 << 10);
  struct Config {
    Bytes shared = Bytes(16 << 20);
    double alpha = 0.125;
    Bytes headroom;
    Bytes resume = Bytes(8 << 10);
    Bytes trim;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("shared", shared, "pfc and lossy: packet memory that all inputs and lanes share", Range{0, 1LL << 40});
      visit("alpha", alpha, "pfc and lossy: share of the free packet memory that a lane may hold", Range{0, 1024});
      visit("headroom", headroom,
            "pfc: memory of each input and lane for packets that arrive before a pause takes effect; 0B: what the "
            "links need, at least 160KiB",
            Range{0, 1LL << 40});
      visit("resume", resume, "pfc: how far below its limit a lane must fall before its sender may go on",
            Range{0, 1LL << 40});
      visit("trim", trim,
            "lossy: payload and headers queued for an output behind which a packet is cut to its header. Headers, "
            "acknowledgements and credits then have the last lane for themselves, with ten turns for one of the "
            "others; 0B: "
            "none is cut",
            Range{0, 1LL << 40});
    }
  };
  enum class Verdict : std::uint8_t { kTaken, kTakenPause, kDropped };
  struct Counters {
    std::int64_t most = 0;  ///< bytes held at a time, of all kinds
    std::int64_t most_headroom = 0;
  };

  /// `private_bytes` is that of each lane of an input, by input. A headroom of 0 is kLeastHeadroom here.
  SharedBuffer(const Config& config, const std::vector<std::int64_t>& private_bytes, bool pauses, std::size_t lanes);

  /// A packet arrives. kTakenPause asks the caller to pause the lane's sender, once.
  Verdict admit(std::size_t input, std::size_t lane, std::int64_t bytes) {
    Held& held = held_[input * lanes_ + lane];
    if (held.own + bytes > held.most_own) return admit_beyond(held, bytes);
    held.own += bytes;
    count(bytes);
    return Verdict::kTaken;
  }
  /// A packet that was taken will be gone at `at`. Calls `look(time)` for each time at which a sender may be allowed to
  /// go on: the caller must collect then. At all others nobody needs to.
  template <typename Look>
  void leave(std::size_t input, std::size_t lane, std::int64_t bytes, Time at, const Look& look) {
    const auto index = static_cast<std::uint32_t>(input * lanes_ + lane);
    Held& held = held_[index];
    held.booked += bytes;
    const bool looks = held.paused && held.booked >= held.headroom;
    if (looks) {
      look(at);
      // What was booked before it and leaves after it, by another output, may be the one instead.
      if (!leaving_.empty() && leaving_.back().at > at) look_again(index, at, look);
    }
    insert({at, index, static_cast<std::uint32_t>(bytes) << 1 | (looks ? 1U : 0U)});
  }
  /// The same at `now` for what has been booked before, after a kTakenPause.
  template <typename Look>
  void look_again(std::size_t input, std::size_t lane, Time now, const Look& look) {
    look_again(static_cast<std::uint32_t>(input * lanes_ + lane), now, look);
  }
  /// Gives back what is gone by `now`. Calls `resume(input, lane)` for each lane whose sender may go on.
  template <typename Resume>
  void collect(Time now, const Resume& resume) {
    while (!leaving_.empty() && leaving_.front().at <= now) {
      const Leaving gone = leaving_.front();
      leaving_.pop_front();
      if (!give_back(gone)) continue;
      assert(gone.looked_at() && "a sender could have gone on earlier");
      resume(gone.lane / lanes_, gone.lane % lanes_);
    }
  }

  /// What the next packet of an input will touch.
  void prefetch(std::size_t input, std::size_t lane) const { __builtin_prefetch(&held_[input * lanes_ + lane]); }
  /// What the next collect() will touch.
  void prefetch() const {
    if (!leaving_.empty()) __builtin_prefetch(&held_[leaving_.front().lane]);
  }

  [[nodiscard]] std::int64_t held() const { return held_sum_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct alignas(64) Held {
    std::int64_t own = 0;
    std::int64_t most_own = 0;  ///< its private buffer
    std::int64_t shared = 0;
    std::int64_t headroom = 0;
    std::int64_t booked = 0;  ///< of all these, what will leave at times that are known
    bool paused = false;
  };
  struct Leaving {
    Time at;
    std::uint32_t lane = 0;  ///< with its input
    std::uint32_t bytes_and_look = 0;
    [[nodiscard]] std::int64_t bytes() const { return bytes_and_look >> 1; }
    /// Somebody will look when it leaves.
    [[nodiscard]] bool looked_at() const { return (bytes_and_look & 1) != 0; }
    [[nodiscard]] bool before(const Leaving& other) const { return at != other.at ? at < other.at : lane < other.lane; }
  };

  void count(std::int64_t bytes) {
    held_sum_ += bytes;
    counters_.most = std::max(counters_.most, held_sum_);
  }
  void insert(Leaving one) {
    leaving_.push_back(one);
    std::size_t place = leaving_.size() - 1;
    if (place == 0 || !one.before(leaving_[place - 1])) return;
    for (; place > 0 && one.before(leaving_[place - 1]); --place) leaving_[place] = leaving_[place - 1];
    leaving_[place] = one;
  }
  // A lane goes on at one of its own leaves, and not before so much is booked as lies in its headroom, which goes
  // first.
  template <typename Look>
  void look_again(std::uint32_t lane, Time after, const Look& look) {
    if (held_[lane].booked < held_[lane].headroom) return;
    for (std::size_t i = 0; i < leaving_.size(); ++i) {
      Leaving& one = leaving_[i];
      if (one.lane != lane || one.at <= after || one.looked_at()) continue;
      one.bytes_and_look |= 1;
      look(one.at);
    }
  }
  /// A packet that its lane's private buffer cannot hold alone.
  Verdict admit_beyond(Held& held, std::int64_t bytes);
  [[nodiscard]] double limit() const { return alpha_ * static_cast<double>(shared_ - shared_used_); }
  /// Whether the sender may go on now.
  bool give_back(Leaving gone) {
    Held& held = held_[gone.lane];
    const std::int64_t bytes = gone.bytes();
    held_sum_ -= bytes;
    held.booked -= bytes;
    if (held.paused) [[unlikely]]
      return give_back_paused(held, bytes);
    // What is in headroom is of a lane that is paused.
    const std::int64_t part = std::min(bytes, held.shared);
    held.shared -= part;
    shared_used_ -= part;
    held.own -= bytes - part;
    return false;
  }
  bool give_back_paused(Held& held, std::int64_t bytes);

  std::int64_t shared_;
  double alpha_;
  std::int64_t headroom_;
  std::int64_t resume_;
  bool pauses_;
  std::size_t lanes_;
  std::int64_t shared_used_ = 0;
  std::int64_t held_sum_ = 0;
  std::vector<Held> held_;
  Fifo<Leaving> leaving_;  ///< by time: outputs book about equally far ahead, so that what is new goes near the end
  Counters counters_;
};

}  // namespace weft::fabric
