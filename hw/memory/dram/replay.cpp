// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/dram/replay.h"

#include <algorithm>
#include <utility>

namespace weft::dram {
namespace {

/// From an activate of a bank to its next with a burst between them, and what that is.
std::pair<Clock, const char*> row_cycle(const Timing& timing, const Counters& counters) {
  std::pair<Clock, const char*> longest{timing.rc, "tRC"};
  const auto raise = [&longest](Clock clocks, const char* name) {
    if (clocks > longest.first) longest = {clocks, name};
  };
  raise(timing.ras + timing.rp, "tRAS and tRP");
  // Of a bank that is both read and written, nobody counts how often.
  if (counters.writes == 0) raise(timing.rcdrd + timing.rtp + timing.rp, "tRTP and tRP");
  if (counters.reads == 0) raise(timing.rcdwr + timing.write_to_precharge() + timing.rp, "tWR and tRP");
  return longest;
}

}  // namespace

Replay::Replay(MemorySystem& memory, int outstanding)
    : memory_(memory), outstanding_(static_cast<std::size_t>(outstanding)), done_(outstanding_ + 1) {}

void Replay::complete(Time created, Clock done) {
  read_latency_.add(memory_.time_of(done) - created);
  last_ = std::max(last_, done);
  // Reads are back in the order of their commands, except those that a write queue answers.
  std::size_t place = oldest_ + flying_++;
  if (place >= done_.size()) place -= done_.size();
  for (std::size_t i = flying_; i > 1; --i) {
    const std::size_t before = place == 0 ? done_.size() - 1 : place - 1;
    if (done_[before] <= done) break;
    done_[place] = done_[before];
    place = before;
  }
  done_[place] = done;
}

void Replay::step() {
  const PseudoChannel::Served served = memory_.step();
  if (!served.any) return;
  if (served.write || served.internal) {
    last_ = std::max(last_, served.done);
  } else {
    --reads_;
    complete(served.created, served.done);
  }
}

void Replay::put(Request&& request, Time at, bool timed) {
  source_ = std::max(source_, at);
  if (!request.write) {
    // Until there is a place for it.
    release(memory_.clock_at(source_));
    while (reads_ + flying_ >= outstanding_) {
      if (flying_ > 0 && done_[oldest_] <= memory_.next()) {
        source_ = std::max(source_, memory_.time_of(done_[oldest_]));
        pop();
      } else {
        step();
      }
    }
  }
  if (!timed) request.created = source_;
  if (requests_++ == 0) first_ = request.created;
  Clock enters = std::max(entered_, memory_.clock_at(source_ + memory_.config().controller.latency));
  constexpr Clock kPause = 1 << 16;
  if (enters - entered_ > kPause) {
    // What still waits is served first.
    while (memory_.waiting() > 0 && memory_.next() < enters) step();
    memory_.pass_idle(enters);
  }
  for (;;) {
    while (memory_.next() < enters) step();
    const Accept accept = memory_.push(request, enters);
    if (accept == Accept::kQueued) {
      if (!request.write) ++reads_;
      break;
    }
    if (accept == Accept::kForwarded) {
      complete(request.created, enters);
      break;
    }
    enters = std::max(enters, memory_.next());
    step();
  }
  entered_ = enters;
  source_ = std::max(source_, memory_.time_of(enters) - memory_.config().controller.latency);
  last_ = std::max(last_, enters);
}

void Replay::finish() {
  while (memory_.waiting() > 0) step();
}

double Replay::bytes_per_second() const {
  return elapsed() > Time() ? static_cast<double>(bytes()) / (static_cast<double>(elapsed().count()) * 1e-12) : 0;
}

const char* Occupancy::bound() const {
  const double data = std::max(data_bus, ccds + ccdl) + turnaround;
  const double most = std::max({data, row_bus, column_bus, faw, rrd + rrefd, bank});
  // Refresh takes its share of all of them. What is far from being busy does not bound: latency does.
  if (most + refresh < 0.75) return "latency";
  if (most < refresh) return "refresh";
  if (most == bank) return row_cycle;
  if (most == data) return ccdl > ccds ? "tCCD long" : ccds > data_bus ? "tCCD short" : "data bus";
  if (most == row_bus) return "row command bus";
  if (most == faw) return "tFAW";
  if (most == column_bus) return "column command bus";
  return rrefd > rrd ? "tRREFD" : "tRRD";
}

Occupancy occupancy_of(const MemorySystem& memory, Time elapsed) {
  Occupancy most;
  const Timing& timing = memory.config().device.timing;
  const double clocks = static_cast<double>(memory.clock_at(elapsed));
  if (clocks <= 0) return most;
  const auto raise = [clocks](double& value, std::int64_t busy) {
    value = std::max(value, std::min(1.0, static_cast<double>(busy) / clocks));
  };
  const auto gaps = [](std::int64_t commands) { return std::max<std::int64_t>(0, commands - 1); };
  const int banks = memory.config().device.geometry.all_banks();
  for (const Controller& channel : memory.channels()) {
    raise(most.row_bus, channel.row_bus_busy());
    raise(most.column_bus, channel.column_bus_busy());
    for (int i = 0; i < channel.pseudo_channels(); ++i) {
      const Counters& counters = channel.pseudo_channel(i).counters();
      const std::int64_t bursts = counters.reads + counters.writes;
      raise(most.data_bus, bursts * timing.bl);
      raise(most.ccds, gaps(bursts - counters.same_group) * timing.ccds);
      raise(most.ccdl, counters.same_group * timing.ccdl);
      const Clock there_and_back = timing.rtw + timing.write_to_read(false) - 2 * timing.ccds;
      // The first command of all counts as a turn if it writes.
      if (counters.reads > 0) raise(most.turnaround, counters.turnarounds * there_and_back / 2);
      raise(most.faw, gaps(counters.activates) / 4 * timing.faw);
      raise(most.rrd, gaps(counters.activates) * timing.rrds);
      raise(most.rrefd, counters.bank_refreshes * timing.rrefd);
      const auto [cycle, name] = row_cycle(timing, counters);
      const double before = most.bank;
      raise(most.bank, gaps(channel.pseudo_channel(i).most_activates()) * cycle);
      if (most.bank > before) most.row_cycle = name;
      raise(most.refresh, counters.refreshes * timing.rfc + counters.bank_refreshes * timing.rfcpb / banks);
    }
  }
  return most;
}

}  // namespace weft::dram
