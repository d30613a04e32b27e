// SPDX-License-Identifier: Apache-2.0
// The slow path: holes are read from the left neighbour, and nobody leaves before all have all.
#include "sw/collectives/multicast/multicast.h"

namespace weft::collectives {

void MulticastMember::answer() {
  if (!has_asked_ || received_ < static_cast<int>(receivers_.size())) return;
  if (asked_for_ >= fetching_ && map_.missing(asked_for_) > 0) return;  // not before it is here
  has_asked_ = false;
  right_[0].send_immediate(say(Say::kKey, task_.key));
}

firmware::Task MulticastMember::recover() {
  counters_.missing += map_.missing();
  rank_.multicast_missed += map_.missing();
  firmware::QueuePair& left = left_[0];
  for (int source = 0; source < size_; ++source) {
    if (map_.missing(source) == 0) continue;
    fetching_ = source;
    answer();
    left.send_immediate(say(Say::kFetch, static_cast<std::uint32_t>(source)));
    co_await until([this] { return has_answer_; });
    has_answer_ = false;
    ChunkMap::Hole hole = map_.next_hole(source, map_.first(source));
    for (; hole.count > 0; hole = map_.next_hole(source, hole.first + hole.count)) {
      const Extent first = extent_of(hole.first);
      const Extent last = extent_of(hole.first + hole.count - 1);
      const std::uint64_t address = task_.buffer + first.offset;
      const std::uint64_t bytes = last.offset + last.bytes - first.offset;
      left.read(address, address, bytes, 0, answer_);
      ++counters_.reads;
      counters_.fetched_bytes += static_cast<std::int64_t>(bytes);
      co_await until([this, done = ++reads_posted_] { return reads_ == done; });
    }
  }
  phases_.recovery = place_.processor->now();
  fetching_ = size_;
  answer();
  left.send_immediate(say(Say::kDone, 0), true);
  co_await until([this] { return told_ == task_.number && right_done_ >= task_.number; });
}

}  // namespace weft::collectives
