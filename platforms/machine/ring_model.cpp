// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/ring_model.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace weft::platforms {
namespace {

/// Rounds of half of the slots that are replayed, so that the first one's beginning counts little.
constexpr int kRounds = 12;

/// A ReduceScatter on all members of all rings, message by message.
class Replay {
 public:
  Replay(const RingModel& model, int slots)
      : model_(model),
        size_(static_cast<int>(model.lanes.size())),
        slots_(static_cast<std::size_t>(slots)),
        group_(std::max(slots / 2, 1)),
        link_free_(model.lanes.size()),
        members_(model.lanes.size() * static_cast<std::size_t>(model.rings)) {}

  /// Until all rounds are done.
  Time run() {
    while (send_next()) continue;
    Time end;
    for (const Member& member : members_) end = std::max(end, member.now);
    return end;
  }
  /// Chunks that each lane has carried of each ring.
  [[nodiscard]] std::int64_t chunks() const { return std::int64_t{kRounds} * (size_ - 1) * group_; }

 private:
  struct Member {
    int round = 0;
    int step = 0;
    int chunk = 0;
    bool has_sum = false;  ///< of the chunk at hand
    Time now;
    std::vector<Time> arrived;
    std::vector<Time> acknowledged;
    /// By slot: the send that empties it, or the time at which it is free.
    struct Filled {
      std::optional<std::size_t> by;
      Time at;
    };
    std::vector<Filled> filled;
    std::vector<Time> returned;
    std::size_t sent = 0;
  };

  Member& member(std::size_t ring, int position) {
    return members_[ring * model_.lanes.size() + static_cast<std::size_t>(position % size_)];
  }

  void step_on(Member& member) const {
    member.has_sum = false;
    if (++member.chunk < group_) return;
    member.chunk = 0;
    if (++member.step < size_) return;
    member.step = 0;
    ++member.round;
  }

  /// Whether slot number `slot` of `member` has been given back, as far as that can be known.
  bool is_returned(Member& member, std::size_t slot) const {
    while (member.returned.size() <= slot && member.returned.size() < member.filled.size()) {
      const Member::Filled& filled = member.filled[member.returned.size()];
      if (filled.by && *filled.by >= member.acknowledged.size()) return false;
      const Time free = filled.by ? member.acknowledged[*filled.by] + model_.wake : filled.at;
      member.returned.push_back(member.returned.empty() ? free : std::max(free, member.returned.back()));
    }
    return member.returned.size() > slot;
  }

  /// When this member asks for its next chunk to be sent; nothing while that hangs on others.
  std::optional<Time> request(std::size_t ring, int position) {
    Member& mine = member(ring, position);
    while (mine.round < kRounds) {
      const bool last = mine.step == size_ - 1;
      if (mine.step > 0 && !mine.has_sum) {
        const std::size_t next = mine.filled.size();
        if (mine.arrived.size() <= next) return std::nullopt;
        mine.now = std::max(mine.now, mine.arrived[next] + model_.wake) + model_.post + model_.engine + model_.wake;
        mine.has_sum = true;
        mine.filled.push_back(last ? Member::Filled{std::nullopt, mine.now} : Member::Filled{mine.sent, Time()});
      }
      if (last) {
        step_on(mine);
        continue;
      }
      Time at = mine.now;
      if (mine.sent >= slots_) {
        Member& next = member(ring, position + 1);
        const std::size_t slot = mine.sent - slots_;
        if (!is_returned(next, slot)) return std::nullopt;
        const RingLane& lane = lane_of(position);
        at = std::max(at, next.returned[slot] + model_.post + lane.notice + lane.way + lane.visible + model_.wake);
      }
      return at + model_.post;
    }
    return std::nullopt;
  }

  [[nodiscard]] const RingLane& lane_of(int position) const { return model_.lanes[static_cast<std::size_t>(position)]; }

  bool send_next() {
    std::optional<Time> earliest;
    std::size_t of_ring = 0;
    int from = 0;
    for (std::size_t ring = 0; ring < static_cast<std::size_t>(model_.rings); ++ring) {
      for (int position = 0; position < size_; ++position) {
        const std::optional<Time> at = request(ring, position);
        if (!at || (earliest && *at >= *earliest)) continue;
        earliest = at;
        of_ring = ring;
        from = position;
      }
    }
    if (!earliest) return false;
    const RingLane& lane = lane_of(from);
    Member& mine = member(of_ring, from);
    mine.now = *earliest;
    Time& link = link_free_[static_cast<std::size_t>(from)];
    link = std::max(link, *earliest + lane.request) + lane.length;
    const Time there = link + lane.way;
    member(of_ring, from + 1).arrived.push_back(there + lane.visible);
    mine.acknowledged.push_back(there + lane.way + lane.visible);
    ++mine.sent;
    step_on(mine);
    return true;
  }

  const RingModel& model_;
  int size_;
  std::size_t slots_;
  int group_;
  std::vector<Time> link_free_;  ///< by lane
  std::vector<Member> members_;
};

}  // namespace

Time RingModel::slowest() const {
  Time longest;
  for (const RingLane& lane : lanes) longest = std::max(longest, lane.length);
  return longest;
}

double RingModel::reduce_scatter(int slots) const {
  Replay replay(*this, slots);
  const auto took = static_cast<double>(replay.run().count());
  return std::min(1.0, static_cast<double>(replay.chunks() * rings) * static_cast<double>(slowest().count()) / took);
}

double RingModel::staged_flow(int slots) const {
  // Members do alike, so that one lane tells: the one on which a slot is away longest for its length.
  const auto batch = std::max(slots / 4, 1);
  const int chunks = 16 * slots;
  double least = 1;
  for (const RingLane& lane : lanes) {
    Time link;
    std::vector<Time> thread(static_cast<std::size_t>(rings));
    std::vector<Time> engines(static_cast<std::size_t>(rings));
    std::vector<std::vector<Time>> returned(static_cast<std::size_t>(rings));
    Time end;
    for (int i = 0; i < chunks; ++i) {
      for (std::size_t ring = 0; ring < static_cast<std::size_t>(rings); ++ring) {
        Time& now = thread[ring];
        if (i >= slots) now = std::max(now, returned[ring][static_cast<std::size_t>((i - slots) / batch)]);
        now += post;
        link = std::max(link, now + lane.request) + lane.length;
        Time& busy = engines[ring];
        busy = std::max(busy, link + lane.way + lane.visible + wake + post) + engine;
        end = busy + wake;
        if ((i + 1) % batch == 0) {
          returned[ring].push_back(end + post + lane.notice + lane.way + lane.visible + wake);
        }
      }
    }
    const double sent = static_cast<double>(std::int64_t{chunks} * rings) * static_cast<double>(slowest().count());
    least = std::min(least, sent / static_cast<double>(end.count()));
  }
  return least;
}

}  // namespace weft::platforms
