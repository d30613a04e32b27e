// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hw/core/cause/cause_tables.h"
#include "hw/core/cause/growing_pool.h"
#include "hw/core/quantity.h"

namespace weft {

/// The critical path of a run, kept while it runs: which event ended each wait.
///
/// What happens in an event follows from it, so that each event that it posts has it as parent: whoever waits for
/// several things goes on in the event of the one that came last. From the last event back to the start there is one
/// chain without gaps, and its pieces add up to the run, to the picosecond.
///
/// The chains of all events under way are a tree of pieces, which grows at its leaves. A piece that no event under way
/// follows from is given back at once, so that memory follows what is under way, and the path itself.
///
/// A model may say what the time to the next event that it posts goes to (`mark`). What is not marked is what its
/// target says of the event (EventTarget::cause).
class Causes {
 public:
  using Place = CausePlace;

  /// A piece of the path: up to `until`, from where the one before it ends.
  struct Step {
    std::int64_t until = 0;
    CauseKind kind = CauseKind::kOther;
    Place place = 0;
    std::uint32_t context = 0;
  };

  Causes();

  /// A place of this name, which is not a target. Before the run.
  [[nodiscard]] Place place(std::string name);
  [[nodiscard]] const std::string& place_name(Place place) const;
  /// Whether it is a link: no target.
  [[nodiscard]] static bool is_link(Place place) { return place >= kFirstLink; }
  /// A number for what somebody is about: a kernel, or what a firmware thread is for.
  [[nodiscard]] std::uint32_t context(const std::string& name, bool is_kernel = false);
  struct Context {
    std::string name;  ///< empty: none
    bool is_kernel = false;
  };
  [[nodiscard]] const Context& context_of(std::uint32_t context) const { return contexts_[context >> 1]; }

  // For models, while an event is being handled:

  /// The time up to `until` of the next event that is posted goes to this; marks follow each other.
  void mark(CauseKind kind, Time until, Place place) {
    if (marks_ > 0 && until.count() <= next_[marks_ - 1].until) return;
    if (marks_ < kMarks) next_[marks_++] = {until.count(), what(kind, place)};
  }
  void forget_marks() { marks_ = 0; }
  /// What follows is about this.
  void set_context(std::uint32_t context) { context_ = context; }
  /// Somebody gives back room that such work has taken: what whoever waits for room waits for.
  void set_holder(CauseKind kind, Place place) { holder_ = {0, kind, place}; }
  /// Kind kOther: nobody said so.
  [[nodiscard]] Why take_holder() { return std::exchange(holder_, {}); }
  /// The pieces that lead to the event being handled, from `since` on, are added to `sums`.
  void add_since(Time since, CauseSums& sums) const;
  [[nodiscard]] CauseTables& tables() { return tables_; }
  [[nodiscard]] const CauseTables& tables() const { return tables_; }

  // For the dispatcher:

  /// The names of the event targets in their order.
  void begin_run(std::vector<std::string> targets) { targets_ = std::move(targets); }

  /// An event is posted for `when`: the last piece of its chain that is known, which waits for it.
  std::uint32_t posted(std::int64_t when) {
    std::uint32_t tip = current_;
    for (std::size_t i = 0; i < marks_; ++i) {
      const std::int64_t until = next_[i].until < when ? next_[i].until : when;
      if (until <= nodes_[tip].until) continue;
      tip = add(tip, until, next_[i].what);
      if (i + 1 < marks_ &&
          extend(nodes_[tip], next_[i + 1].until < when ? next_[i + 1].until : when, next_[i + 1].what))
        ++i;
    }
    marks_ = 0;
    if (nodes_[tip].context != context_) [[unlikely]]
      tip = current_ = enter(context_);
    ++nodes_[tip].references;
    return tip;
  }
  /// Its event is handled soon.
  void prepare(std::uint32_t tip) const { __builtin_prefetch(&nodes_[tip]); }
  /// An event is about to be handled that was posted behind `tip`. `explain` says what time went to that nobody marked.
  template <typename Explain>
  void begin(std::uint32_t tip, std::int64_t now, Place target, const Explain& explain) {
    current_ = tip;
    context_ = nodes_[tip].context;
    marks_ = 0;
    Node& known = nodes_[tip];
    if (known.until < now) {
      const std::uint32_t its = what(explain(), target);
      // In the same place if nothing else follows from what is known.
      if (known.references != 1 || known.last_ps != 0 || !extend(known, now, its)) {
        const std::uint32_t rest = add(tip, now, its);
        --nodes_[tip].references;  // the event's, which is to the rest now
        ++nodes_[rest].references;
        current_ = rest;
      }
    }
    current_ = condense(current_);
  }
  /// It has been handled. One that was for nothing does not end the path.
  void end(bool disregarded) {
    if (disregarded) {
      release(current_);
      current_ = last_;
      return;
    }
    if (last_ != current_) {
      release(last_);
      last_ = current_;
    } else {
      --nodes_[last_].references;  // as that of the event
    }
  }

  // For what a run leaves:

  /// The path from the start to the last event.
  [[nodiscard]] std::vector<Step> path() const;
  /// Pieces that are remembered.
  [[nodiscard]] std::size_t live() const { return live_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kMarks = 4;
  static constexpr std::size_t kReleases = 64;
  static constexpr int kTogether = 4;            ///< pieces of a kernel that are looked back at
  static constexpr std::uint32_t kOfKernel = 1;  ///< of a context's number, the bit that says so
  static constexpr int kPlaceBits = 24;
  /// Links are numbered from here on.
  static constexpr Place kFirstLink = 1U << (kPlaceBits - 1);

  struct Mark {
    std::int64_t until;
    std::uint32_t what;
  };
  /// One piece of the tree, or two that follow each other: few events have more of them.
  struct Node {
    std::int64_t until;
    std::uint32_t parent;      ///< or the next free one
    std::uint32_t references;  ///< by nodes that follow, and by events
    std::uint32_t context;
    std::uint32_t what;     ///< kind and place
    std::uint32_t last;     ///< likewise of the second piece
    std::uint32_t last_ps;  ///< of which it takes so much; 0: there is none
  };

  static std::uint32_t what(CauseKind kind, Place place) {
    return static_cast<std::uint32_t>(kind) << kPlaceBits | place;
  }
  [[nodiscard]] static Step step_of(std::int64_t until, std::uint32_t what, std::uint32_t context) {
    return {until, static_cast<CauseKind>(what >> kPlaceBits), what & ((1U << kPlaceBits) - 1), context};
  }
  /// Of a node with one piece: the second one, up to `until`, unless it is too long for that.
  static bool extend(Node& node, std::int64_t until, std::uint32_t what) {
    const std::int64_t ps = until - node.until;
    if (ps <= 0 || ps > UINT32_MAX) return ps <= 0;
    node.until = until;
    node.last = what;
    node.last_ps = static_cast<std::uint32_t>(ps);
    return true;
  }
  /// Of a chain whose last nodes only the event being handled has, and which are of one kernel: those of the same kinds
  /// become one, so that a kernel is few nodes, whatever the number of its slices. The end of the chain.
  std::uint32_t condense(std::uint32_t tip) {
    while (nodes_[tip].references == 1 && (nodes_[tip].context & kOfKernel) != 0) {
      const Node last = nodes_[tip];
      const auto is_same = [&last](const Node& node) {
        return node.what == last.what && node.last == last.last && (node.last_ps == 0) == (last.last_ps == 0);
      };
      std::uint32_t same = last.parent;
      int left = kTogether;
      while (left > 0 && nodes_[same].references == 1 && !is_same(nodes_[same])) {
        const Node& node = nodes_[same];
        const bool goes_on = node.context == last.context && (node.what ^ last.what) << (32 - kPlaceBits) == 0;
        left = goes_on ? left - 1 : 0;
        same = node.parent;
      }
      if (left == 0 || nodes_[same].references != 1 || nodes_[same].context != last.context) return tip;
      if (last.last_ps > UINT32_MAX - nodes_[same].last_ps) return tip;
      const std::int64_t more = last.until - nodes_[last.parent].until;
      for (std::uint32_t at = last.parent;; at = nodes_[at].parent) {
        nodes_[at].until += more;
        if (at == same) break;
      }
      nodes_[same].last_ps += last.last_ps;
      give_back(tip);
      tip = last.parent;
    }
    return tip;
  }
  /// A node of one piece that follows `parent`, to which nothing refers yet.
  std::uint32_t add(std::uint32_t parent, std::int64_t until, std::uint32_t what) {
    std::uint32_t index = free_;
    if (index != kNone) [[likely]] {
      free_ = nodes_[index].parent;
      if (free_ != kNone) __builtin_prefetch(&nodes_[free_]);  // given back long ago, it is the next one
    } else {
      index = nodes_.append();
    }
    ++nodes_[parent].references;
    nodes_[index] = {until, parent, 0, context_, what, 0, 0};
    ++live_;
    return index;
  }
  /// From here on, the event being handled is about something else than what led to it: a piece that takes no time.
  std::uint32_t enter(std::uint32_t context);
  void release(std::uint32_t index) {
    while (--nodes_[index].references == 0) {
      const std::uint32_t parent = nodes_[index].parent;
      give_back(index);
      // The one before it is done some releases later, since it will be in the cache by then.
      __builtin_prefetch(&nodes_[parent]);
      index = std::exchange(releases_[next_release_++ % kReleases], parent);
      if (index == kNone) return;
    }
  }
  void give_back(std::uint32_t index) {
    nodes_[index].parent = free_;
    free_ = index;
    --live_;
  }

  GrowingPool<Node> nodes_;
  std::uint32_t free_ = kNone;
  std::uint32_t current_ = 0;
  std::uint32_t last_ = 0;
  std::uint32_t context_ = 0;
  std::size_t marks_ = 0;
  std::array<Mark, kMarks> next_{};
  Why holder_;
  std::array<std::uint32_t, kReleases> releases_;  ///< still to be done
  std::uint32_t next_release_ = 0;
  std::size_t live_ = 0;
  CauseTables tables_;
  std::vector<std::string> targets_;
  std::vector<std::string> links_;
  std::vector<Context> contexts_;
  std::array<std::unordered_map<std::string, std::uint32_t>, 2> numbers_;  ///< of threads' and of kernels'
};

}  // namespace weft
