// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/blocks.h"
#include "sw/collectives/slot_lane.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// One member's place in a tree, and an AllReduce through it: sums go up, each member adding its children's to its own,
/// and the root's come down. The buffer travels in chunks, each as soon as it has come.
///
/// Chunks pass slots (slot_lane.h). Who has sent one up has taken its own operand out of the buffer: where ranks are
/// not `staged` sums come down straight into the buffer, which needs no slot. Towards other nodes requests take the
/// rank's `relay` longer, those with flags its `word_relay` or `line_relay`.
class TreeMember {
 public:
  static constexpr std::size_t kMostChildren = 3;

  struct Options {
    std::uint64_t chunk = 512 << 10;  ///< the largest; of a slot, too
    int slots = 16;        ///< of a connection's direction, of which at most SlotLane::kMostUnderWay are used
    int first_engine = 0;  ///< copy engines before it have other work
  };
  /// Numbers of members.
  struct Place {
    int parent = -1;  ///< none: the root
    std::vector<int> children;
  };
  /// What all members know of an AllReduce.
  struct Message {
    std::uint64_t buffer;
    Extent part;
    std::uint64_t chunk;  ///< in units of the type; with flags it fits a slot and SlotLane::kLongestFlagged
    ElementType type;
    Flags flags;
    [[nodiscard]] bool has_flags() const { return flags != Flags::kNone; }
  };

  /// Joins `ranks` as `places` say, which make one tree; `engine` is the copy engine that adds for it.
  static std::vector<std::unique_ptr<TreeMember>> join(const std::vector<firmware::Rank*>& ranks,
                                                       const std::vector<Place>& places, const Options& options,
                                                       int engine, const std::string& name);

  TreeMember(firmware::Rank& rank, const Place& place, const Options& options, int engine, const std::string& name);

  /// Its two halves, which run side by side on threads of their own; `summed` counts the chunks that a root has.
  firmware::Task up(Message message, firmware::Counter& summed);
  firmware::Task down(Message message, firmware::Counter& summed);

 private:
  /// A half's connections and completions.
  struct Half {
    firmware::CompletionQueue* completions = nullptr;
    SlotLane parent;
    std::array<SlotLane, kMostChildren> children;
    std::uint64_t begun = 0;  ///< with the copy engine
    std::uint64_t moved = 0;
  };

  template <typename Condition>
  firmware::Task until(Half& half, Condition condition);
  void take(Half& half, const nic::Completion& entry);
  /// Gives slots back that sums came down in, once nothing is read from them any more.
  void return_slots();
  [[nodiscard]] std::uint64_t slot(const SlotLane& lane) const {
    return slot_at(lane.slots, lane.chunks, window_, options_.chunk);
  }
  [[nodiscard]] std::uint64_t outgoing(const SlotLane& lane) const {
    return slot_at(outgoing_, lane.chunks, window_, SlotLane::kLongestFlagged);
  }
  /// Whether `condition` holds for all children of the half that goes down.
  template <typename Condition>
  [[nodiscard]] bool all_below(Condition condition) const {
    return std::all_of(down_.children.begin(), down_.children.begin() + static_cast<std::ptrdiff_t>(children_),
                       condition);
  }
  void begin(Half& half, const Message& message, std::uint64_t source, std::uint64_t other, std::uint64_t target,
             std::uint64_t bytes);
  void prepare(Half& half, const Message& message) const;

  firmware::Rank& rank_;
  Options options_;
  int engine_;
  std::uint64_t window_;
  bool root_;
  std::size_t children_;
  /// Where what has flags lies on its way out: of sums that go up, or of a root's that come down.
  std::uint64_t outgoing_ = 0;
  Half up_;
  Half down_;
  std::uint64_t returned_ = 0;         ///< slots that sums came down in
  std::uint64_t sent_from_slots_ = 0;  ///< so many chunks in all: up to this one they were sent on from there
};

}  // namespace weft::collectives
