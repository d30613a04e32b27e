// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "hw/memory/dram/pseudo_channel.h"

namespace weft::dram {

/// What a pseudo channel's controller does for ECC in front of its queues. A code word is a burst.
///
/// - A write of part of a burst reads it first, and is queued when what it read is back and corrected. Until then
///   requests for that burst wait.
/// - Inline, the highest columns of a row hold the check bits of the others (see AddressMap). The controller keeps the
///   bursts of check bits used last. A read of whose check bits it has none reads them as well, and is done when both
///   are there. A write changes them in the controller; they are written, under a data mask, when another burst of
///   check bits takes their place. So a stream has one more burst for `covers`, and random reads twice as many.
///
/// Sideband check bits move beside the data and cost nothing but EccConfig::latency, which PseudoChannel adds.
///
/// Left out: errors and what is done about them, scrubbing; that check bits answered from the write queue may be a
/// part of a burst.
class EccStage {
 public:
  EccStage(const Device& device, const ControllerConfig& config);

  /// As PseudoChannel::push, with the order of the channel's latest request.
  Accept push(PseudoChannel& queues, const Request& request, Clock now, std::uint64_t& order);
  /// When step() has something to do; kNeverClock: not before a command was issued.
  [[nodiscard]] Clock next() const {
    if (!answers_.empty()) return answered_at_;
    return writes_.empty() ? kNeverClock : writes_.front().at;
  }
  /// To be called at next(): tells that a read is done, or queues a write.
  PseudoChannel::Served step(PseudoChannel& queues, std::uint64_t& order);
  /// What the source is to be told of a request that a command at `now` served.
  PseudoChannel::Served served(const PseudoChannel::Served& served, Clock now);

  /// Reads that are done but not told, and writes that are not queued yet.
  [[nodiscard]] int waiting() const { return static_cast<int>(answers_.size() + modifying_.size()); }
  /// Of check bits and modified bursts alone.
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  static constexpr std::uint64_t kOwn = 1ULL << 63;  ///< a tag of the stage's
  static constexpr std::uint64_t kCheck = 1ULL << 62;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// A read, or a write of part of a burst up to where it is queued.
  struct Job {
    Request request;
    int pending = 0;  ///< reads that have not been served
    Clock done = 0;
  };
  /// A burst of check bits.
  struct Entry {
    std::uint32_t row = 0;
    std::uint16_t column = 0;
    std::uint8_t bank = 0;
    bool used = false;
    bool whole = false;  ///< all of it is known
    bool dirty = false;
    bool fetching = false;
    std::uint64_t written = 0;        ///< data bursts whose check bits were written
    std::uint64_t latest = 0;         ///< use
    std::vector<std::uint32_t> jobs;  ///< that wait for it
  };
  /// Where the check bits of a burst are.
  struct Place {
    std::uint32_t entry = kNone;  ///< kNone: none can be had at the moment
    std::uint64_t bit = 0;        ///< of the burst among those it covers
    std::uint16_t column = 0;
    bool there = false;  ///< the entry is that of the burst
    bool known = false;  ///< and has its check bits
  };
  struct Due {
    Clock at = 0;
    std::uint32_t job = 0;
  };

  [[nodiscard]] bool modifies(const Location& location) const;
  [[nodiscard]] Place find(const Location& location) const;
  std::uint32_t take_job(const Request& request);
  void take_place(PseudoChannel& queues, const Request& request, const Place& place, std::uint32_t job, Clock now,
                  std::uint64_t& order);
  void part_done(std::uint32_t job, Clock done, Clock now);
  PseudoChannel::Served answer();

  int covers_;
  std::uint16_t first_check_ = 0;  ///< column
  Clock latency_;
  std::vector<Entry> entries_;
  std::uint64_t uses_ = 0;
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> free_jobs_;
  std::vector<std::uint32_t> modifying_;  ///< jobs
  std::deque<Due> writes_;                ///< of modified bursts, by time
  std::deque<PseudoChannel::Served> answers_;
  Clock answered_at_ = 0;
  Counters counters_;
};

}  // namespace weft::dram
