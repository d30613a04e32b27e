// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hw/memory/dram/memory_system.h"

namespace weft::dram {

/// Puts a sequence of requests through a memory, in order: each goes when its time has come, fewer than `outstanding`
/// reads are on their way, and the queue that it needs has room. Writes are posted: they are done for the source when
/// the write queue has them.
///
/// `partial` writes some bytes of a burst, of which the others must stay.
///
/// A read's latency is from its time, or from when it could go if it has none, to the end of its data.
class Replay {
 public:
  Replay(MemorySystem& memory, int outstanding);

  /// One burst, as soon as it can go.
  void request(bool write, std::uint64_t address, bool partial = false) {
    put({memory_.locate(address), write, source_, 0, partial}, source_, false);
  }
  void request(bool write, const Location& location, bool partial = false) {
    put({location, write, source_, 0, partial}, source_, false);
  }
  /// One burst that goes at `at` or, if that is past or too much is on its way, as soon after it as it can.
  void request(bool write, std::uint64_t address, Time at, bool partial = false) {
    put({memory_.locate(address), write, at, 0, partial}, at, true);
  }
  void request(bool write, const Location& location, Time at, bool partial = false) {
    put({location, write, at, 0, partial}, at, true);
  }
  /// Serves what still waits.
  void finish();

  /// From the first request to the last command's data. The memory's counters are from clock 0: what divides refreshes
  /// by this begins there.
  [[nodiscard]] Time elapsed() const { return memory_.time_of(last_) - first_; }
  [[nodiscard]] std::int64_t requests() const { return requests_; }
  [[nodiscard]] std::int64_t bytes() const { return requests_ * memory_.config().device.geometry.burst.count(); }
  [[nodiscard]] double bytes_per_second() const;
  [[nodiscard]] const LatencyHistogram& read_latency() const { return read_latency_; }

 private:
  void put(Request&& request, Time at, bool timed);
  void step();
  void complete(Time created, Clock done);
  /// Frees the places of reads that are done at `now`.
  void release(Clock now) {
    while (flying_ > 0 && done_[oldest_] <= now) pop();
  }
  void pop() {
    oldest_ = oldest_ + 1 == done_.size() ? 0 : oldest_ + 1;
    --flying_;
  }

  MemorySystem& memory_;
  std::size_t outstanding_;
  std::vector<Clock> done_;  ///< a ring, in the order of time: when reads that were served are back
  std::size_t oldest_ = 0;
  std::size_t flying_ = 0;
  std::size_t reads_ = 0;  ///< that wait in queues
  Time source_;            ///< when the source sent the last one
  Clock entered_ = 0;      ///< when it reached its queue
  Clock last_ = 0;
  Time first_;
  std::int64_t requests_ = 0;
  LatencyHistogram read_latency_;
};

/// What a memory was kept busy with, in shares of the time; the greatest says what bounds it. What commands take before
/// the next one is not counted of the last, so that a single request is not bound by anything but its latency.
struct Occupancy {
  double data_bus = 0;
  double ccds = 0;                ///< tCCD short, of reads and writes behind those of another bank group
  double ccdl = 0;                ///< tCCD long, of those behind another one of theirs
  double turnaround = 0;          ///< of the data bus, from reads to writes and back
  double row_bus = 0;             ///< activates and precharges on their shared bus
  double column_bus = 0;          ///< reads and writes on theirs
  double faw = 0;                 ///< the four activates of tFAW
  double rrd = 0;                 ///< tRRD short of activates
  double rrefd = 0;               ///< tRREFD of per-bank refreshes, which keeps activates off as tRRD does
  double bank = 0;                ///< a row of the busiest bank after another, each with one burst
  const char* row_cycle = "tRC";  ///< what the least distance of those rows is
  double refresh = 0;             ///< of all banks, or of each in the mean
  [[nodiscard]] const char* bound() const;
};

/// Of the busiest channel and pseudo channel in `elapsed`.
Occupancy occupancy_of(const MemorySystem& memory, Time elapsed);

}  // namespace weft::dram
