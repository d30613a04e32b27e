// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "hw/core/cause/causes.h"
#include "hw/core/fifo.h"
#include "hw/nic/nic.h"
#include "hw/nic/way_out.h"

namespace weft::nic {

/// What the critical path is told of an interface's reads and writes of its host.
///
/// The time of a read is its latency first, and then what its bytes wait for. So a stream of reads that follow each
/// other closely has the latency once: each waits for the bytes of the one before it. A write's latency comes last.
class alignas(64) Nic::Explained {
 public:
  explicit Explained(Nic& nic)
      : nic_(nic), read_latency_(nic.config_.read_latency), write_latency_(nic.config_.write_latency) {}

  /// A read that is to be asked for now, and finds a tag at `asked`, is here at `ready`. Memory has its first packet's
  /// worth at `memory`.
  void read(Time now, Time asked, Time ready, Time memory, std::uint32_t bytes);
  /// It waits for its turn in the engine to groups, too.
  void waits_for_group() { latest_.group = nic_.group_engine_.free(); }
  /// It is read ahead.
  void read_ahead(const WayOut& way);
  /// Memory of phases has answered the one at `place`.
  void answered(const WayOut& way, std::size_t place, Time now, Time ready);
  /// The first one has left, is dropped, or goes behind all others.
  void first_left(const WayOut& way) { of(way).pop_front(); }
  void first_goes_back(const WayOut& way);
  /// What comes next waits for the first one, until then.
  void mark_first(const WayOut& way, Time at);
  /// Or for the latest one.
  void mark_latest(Time at) { mark(latest_, at); }
  /// Or for entries of queues, or contexts, which are here then.
  void mark_entries(Time here);

  /// A write is visible then, which memory has taken at `memory`.
  void written(Time now, Time memory, Time visible) {
    written_ = now;
    taken_ = memory == visible ? visible : Time();
  }
  /// What comes next waits until a write is visible.
  void mark_visible(Time at);
  /// What keeps the room of packets that have come.
  [[nodiscard]] CauseKind holder() const;

 private:
  /// Until when the first bytes of a read wait for what, each from where the one before it ends.
  struct Read {
    Time latency;
    Time engine;  ///< work within the interface
    Time link;    ///< bytes that pass the host link
    Time memory;
    Time group;  ///< the engine to groups
  };

  [[nodiscard]] Fifo<Read>& of(const WayOut& way) { return &way == &nic_.wire_ ? wire_ : loop_; }
  void mark(const Read& read, Time at);
  void mark(CauseKind kind, Time until) { nic_.dispatcher_.causes()->mark(kind, until, Dispatcher::place_of(nic_)); }

  /// When the latest write would be visible with a memory that takes no time.
  [[nodiscard]] Time linked() const { return nic_.host_.written(written_) + write_latency_; }

  // What every write touches is one cache line.
  Nic& nic_;
  Time read_latency_;
  Time write_latency_;
  Time written_;  ///< by the wire, the latest
  /// Memory has taken it then, and it is visible; else the beginning of time.
  Time taken_;
  Read latest_;
  Fifo<Read> wire_;  ///< of packets that are read ahead, in their order
  Fifo<Read> loop_;
};

}  // namespace weft::nic
