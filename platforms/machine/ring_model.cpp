// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/ring_model.h"

#include <algorithm>
#include <cstddef>
#include <deque>
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
    std::vector<Time> notified;  ///< when the member before knows of them
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
        const Member& next = member(ring, position + 1);
        const std::size_t slot = mine.sent - slots_;
        if (next.notified.size() <= slot) return std::nullopt;
        at = std::max(at, next.notified[slot]);
      }
      return at + model_.post;
    }
    return std::nullopt;
  }

  [[nodiscard]] const RingLane& lane_of(int position) const { return model_.lanes[static_cast<std::size_t>(position)]; }

  /// When a member asks for the next message that gives a slot back; nothing while that hangs on others.
  std::optional<Time> notice(Member& mine) const {
    const std::size_t slot = mine.notified.size();
    if (!is_returned(mine, slot)) return std::nullopt;
    return mine.returned[slot] + model_.post;
  }

  /// What is asked for first, a chunk or a message that gives a slot back, goes next.
  bool send_next() {
    struct Next {
      Time at = kNever;
      std::size_t ring = 0;
      int from = 0;
      bool is_notice = false;
    };
    Next next;
    const auto consider = [&next](std::optional<Time> at, std::size_t ring, int from, bool is_notice) {
      if (at && *at < next.at) next = {*at, ring, from, is_notice};
    };
    for (std::size_t ring = 0; ring < static_cast<std::size_t>(model_.rings); ++ring) {
      for (int position = 0; position < size_; ++position) {
        consider(request(ring, position), ring, position, false);
        consider(notice(member(ring, position)), ring, position, true);
      }
    }
    if (next.at == kNever) return false;
    Member& mine = member(next.ring, next.from);
    Time& link = link_free_[static_cast<std::size_t>(next.from)];
    if (next.is_notice) {
      // On the own link, to the member before.
      const RingLane& back = lane_of((next.from + size_ - 1) % size_);
      const Time ready = next.at + back.notice;
      const Time waits = model_.notice_waits(lane_of(next.from), ready, link);
      mine.notified.push_back(ready + waits + back.way + back.visible + model_.wake);
      return true;
    }
    const RingLane& lane = lane_of(next.from);
    mine.now = next.at;
    link = std::max(link, next.at + lane.request) + lane.length;
    const Time there = link + lane.way;
    member(next.ring, next.from + 1).arrived.push_back(there + lane.visible);
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

/// Chunks through staging from each member to the next, all members alike.
class StagedFlow {
 public:
  static int chunks(int slots) { return 16 * slots; }

  StagedFlow(const RingModel& model, const RingLane& lane, int slots)
      : model_(model),
        lane_(lane),
        slots_(slots),
        batch_(std::max(slots / 4, 1)),
        rings_(static_cast<std::size_t>(model.rings)) {}

  Time run() {
    while (send_next()) continue;
    return end_;
  }

 private:
  struct Ring {
    int sent = 0;
    Time thread;
    Time engine;
    std::deque<Time> notices;    ///< asked for and not on their way
    std::vector<Time> returned;  ///< batches of slots
  };

  /// When the next chunk is asked for; nothing while its slot is away.
  [[nodiscard]] std::optional<Time> request(const Ring& ring) const {
    if (ring.sent == chunks(slots_)) return std::nullopt;
    Time at = ring.thread;
    if (ring.sent >= slots_) {
      const auto batch = static_cast<std::size_t>((ring.sent - slots_) / batch_);
      if (ring.returned.size() <= batch) return std::nullopt;
      at = std::max(at, ring.returned[batch]);
    }
    return at + model_.post;
  }

  bool send_next() {
    Ring* next = nullptr;
    Time at = kNever;
    bool is_notice = false;
    for (Ring& ring : rings_) {
      if (const std::optional<Time> asked = request(ring); asked && *asked < at) {
        next = &ring;
        at = *asked;
        is_notice = false;
      }
      if (!ring.notices.empty() && ring.notices.front() < at) {
        next = &ring;
        at = ring.notices.front();
        is_notice = true;
      }
    }
    if (next == nullptr) return false;
    if (is_notice) {
      next->notices.pop_front();
      const Time ready = at + lane_.notice;
      next->returned.push_back(ready + model_.notice_waits(lane_, ready, link_) + lane_.way + lane_.visible +
                               model_.wake);
      return true;
    }
    next->thread = at;
    link_ = std::max(link_, at + lane_.request) + lane_.length;
    next->engine =
        std::max(next->engine, link_ + lane_.way + lane_.visible + model_.wake + model_.post) + model_.engine;
    end_ = std::max(end_, next->engine + model_.wake);
    if (++next->sent % batch_ == 0) next->notices.push_back(next->engine + model_.wake + model_.post);
    return true;
  }

  const RingModel& model_;
  const RingLane& lane_;
  int slots_;
  int batch_;
  Time link_;  ///< is free
  Time end_;
  std::vector<Ring> rings_;
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
  double least = 1;
  for (const RingLane& lane : lanes) {
    const Time took = StagedFlow(*this, lane, slots).run();
    const double sent =
        static_cast<double>(std::int64_t{StagedFlow::chunks(slots)} * rings) * static_cast<double>(slowest().count());
    least = std::min(least, sent / static_cast<double>(took.count()));
  }
  return least;
}

}  // namespace weft::platforms
