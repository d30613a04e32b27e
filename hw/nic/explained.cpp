// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/explained.h"

#include <algorithm>

namespace weft::nic {

void Nic::Explained::read(Time now, Time asked, Time ready, Time memory, std::uint32_t bytes) {
  const Time latency = read_latency_;
  const Time link = std::min(ready, nic_.host_.read_without_memory(bytes));
  // It has waited for the tag of one before. Most of a round trip is the latency, and neither link nor memory is busy:
  // then reads are as fast as round trips.
  if (asked > now && ready - asked < 2 * latency && link - latency - asked < 2 * nic_.host_.alone(bytes)) {
    latest_ = {ready, Time(), ready, Time(), Time()};
    return;
  }
  latest_ = {now + latency, std::min(link, nic_.engine_free_ + latency), link, memory + latency, Time()};
}

void Nic::Explained::read_ahead(const WayOut& way) {
  of(way).push_back(latest_);
  latest_ = {};
}

void Nic::Explained::answered(const WayOut& way, std::size_t place, Time now, Time ready) {
  Read& read = of(way)[place];
  read = {now + read_latency_, Time(), ready, Time(), read.group};
}

void Nic::Explained::first_goes_back(const WayOut& way) {
  Fifo<Read>& reads = of(way);
  const Read first = reads.front();
  reads.pop_front();
  reads.push_back(first);
}

void Nic::Explained::mark_first(const WayOut& way, Time at) {
  if (at != kNever) mark(of(way).front(), at);  // else memory will say
}

void Nic::Explained::mark(const Read& read, Time at) {
  const bool has_read = read.link > Time();
  mark(CauseKind::kReadLatency, std::min(at, read.latency));
  mark(CauseKind::kNic, std::min(at, read.engine));
  mark(CauseKind::kHostLink, std::min(at, read.link));
  mark(CauseKind::kMemory, std::min(at, read.memory));
  // What is left of a read beyond all of them is the host link's again. If it is much, it is round trips: PCI Express
  // has so many requests under way at a time.
  const Time known = std::max(read.link, read.memory);
  const CauseKind rest =
      nic_.host_.has_pcie() && at > known + read_latency_ ? CauseKind::kReadLatency : CauseKind::kHostLink;
  mark(read.group == at ? CauseKind::kGroup : has_read ? rest : CauseKind::kNic, at);
}

void Nic::Explained::mark_entries(Time here) {
  mark(CauseKind::kReadLatency, std::min(here, nic_.dispatcher_.now() + read_latency_));
  mark(CauseKind::kHostLink, here);
}

void Nic::Explained::mark_visible(Time at) {
  const Time here = linked();
  const bool waits_for_memory = at == taken_ && at > here;
  const Time by_link = waits_for_memory ? here : at;
  mark(CauseKind::kHostLink, by_link - write_latency_);
  mark(CauseKind::kWriteLatency, by_link);
  if (waits_for_memory) mark(CauseKind::kMemory, at);
}

CauseKind Nic::Explained::holder() const {
  // Credits of PCI Express come back when memory has taken the writes.
  const bool waits_for_memory = nic_.host_.has_pcie() && taken_ > std::max(linked(), nic_.dispatcher_.now());
  return waits_for_memory ? CauseKind::kMemory : CauseKind::kHostLink;
}

}  // namespace weft::nic
