// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hw/core/quantity.h"

namespace weft {

/// What a part of a run's time went to.
enum class CauseKind : std::uint8_t {
  kOther,
  kKernel,         ///< an accelerator computes
  kLaunch,         ///< a command waits to begin, or its end to be told
  kCopy,           ///< an accelerator's copy, or a sum into its memory
  kMemory,         ///< HBM or DRAM
  kRemoteMemory,   ///< memory beyond the accelerators' own, and the way there
  kHostLink,       ///< PCI Express or what stands in its place
  kNic,            ///< work within a network interface
  kInjection,      ///< a network interface waits for its turn to send
  kSerialisation,  ///< bytes pass a link
  kQueue,          ///< a packet waits for a link that others use
  kCredit,         ///< a packet waits for room in the buffer behind a link, or for the end of a pause
  kPipeline,       ///< a packet passes a switch
  kReduction,      ///< a switch adds
  kPropagation,    ///< a packet is in flight
  kRecovery,       ///< a timer runs until something is sent again
  kFirmware        ///< a thread runs, or waits for its core
};
inline constexpr std::size_t kCauseKinds = static_cast<std::size_t>(CauseKind::kFirmware) + 1;
/// "serialisation".
[[nodiscard]] const char* name_of(CauseKind kind);

/// The critical path of a run, kept while it runs: which event ended each wait.
///
/// What happens in an event follows from it, so that each event that it posts has it as parent: whoever waits for
/// several things goes on in the event of the one that came last. From the last event back to the start there is one
/// chain without gaps, and its pieces add up to the run, to the picosecond.
///
/// Events are nodes of a tree. A node that no event under way descends from is given back at once. What only one branch
/// descends from is folded from time to time into steps of the path, so that memory follows what is under way, and the
/// path itself.
///
/// A model may say what the time to the next event that it posts goes to (`mark`). What is not marked is what its
/// target says of the event (EventTarget::cause).
class Causes {
 public:
  /// A place that marks name: an event target, or a link. Of targets it is their number in the dispatcher's order.
  using Place = std::uint32_t;

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
  /// It is no target.
  [[nodiscard]] static bool is_other_place(Place place) { return place >= kFirstPlace; }
  /// A number for what somebody is about: a kernel, or what a firmware thread is for.
  [[nodiscard]] std::uint32_t context(const std::string& name, bool is_kernel = false);
  struct Context {
    std::string name;  ///< empty: none
    bool is_kernel = false;
  };
  [[nodiscard]] const Context& context_of(std::uint32_t context) const { return contexts_[context]; }

  // For models, while an event is being handled:

  /// The time up to `until` of the next event that is posted goes to this; marks follow each other.
  void mark(CauseKind kind, Time until, Place place) {
    if (marks_ < kMarks) next_[marks_++] = {until.count(), kind, place};
  }
  void forget_marks() { marks_ = 0; }
  /// What follows is about this.
  void set_context(std::uint32_t context) { context_ = context; }

  // For the dispatcher:

  using Explain = std::function<CauseKind(std::uint32_t target, std::uint32_t tag)>;
  /// `targets` are the names of the event targets in their order; `explain` says what time went to that nobody marked.
  void begin_run(std::vector<std::string> targets, Explain explain);

  /// Remembers an event; what to put in its place into the queue.
  std::uint64_t posted(std::int64_t when, std::uint32_t target, std::uint32_t tag, std::uint64_t data) {
    if (live_ >= limit_) [[unlikely]]
      compact();
    const std::uint32_t index = take_node();
    Node& node = nodes_[index];
    node.when = when;
    node.data = data;
    node.target = target;
    node.tag = tag;
    node.parent = current_;
    node.references = 1;
    node.context = context_;
    node.history = kNone;
    node.marks = {};
    const std::int64_t from = nodes_[current_].when;
    std::int64_t at = from;
    for (std::size_t i = 0; i < marks_; ++i) {
      const Mark& mark = next_[i];
      const std::int64_t until = mark.until < when ? mark.until : when;
      if (until <= at) continue;
      node.marks[i] = {static_cast<std::uint32_t>(until - at < UINT32_MAX ? until - at : UINT32_MAX),
                       static_cast<std::uint32_t>(mark.kind) << kPlaceBits | mark.place};
      at += node.marks[i].length;
    }
    marks_ = 0;
    ++nodes_[current_].references;
    return index;
  }
  [[nodiscard]] std::uint64_t data_of(std::uint64_t event) const { return nodes_[event].data; }
  [[nodiscard]] const void* address_of(std::uint64_t event) const { return &nodes_[event]; }
  /// An event is about to be handled; what it was posted with.
  std::uint64_t begin(std::uint64_t event) {
    current_ = static_cast<std::uint32_t>(event);
    context_ = nodes_[current_].context;
    marks_ = 0;
    return nodes_[current_].data;
  }
  /// It has been handled. One that was for nothing does not end the path.
  void end(bool disregarded) {
    nodes_[current_].references += kHandled;
    if (disregarded) {
      release(current_);
      current_ = last_;
      return;
    }
    if (last_ != current_) release(last_);
    last_ = current_;
  }

  // For what a run leaves:

  /// The path from the start to the last event.
  [[nodiscard]] std::vector<Step> path() const;
  /// Events that are remembered.
  [[nodiscard]] std::size_t live() const { return live_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kMarks = 3;
  static constexpr int kPlaceBits = 24;
  /// Places that are not targets are numbered from here on.
  static constexpr Place kFirstPlace = 1U << (kPlaceBits - 1);
  /// Of a node's references, the bit that says that it has been handled.
  static constexpr std::uint32_t kHandled = 1U << 31;

  struct Mark {
    std::int64_t until;
    CauseKind kind;
    Place place;
  };
  struct Short {
    std::uint32_t length = 0;  ///< ps
    std::uint32_t what = 0;    ///< kind and place
  };
  struct alignas(64) Node {
    std::int64_t when = 0;
    std::uint64_t data = 0;
    std::uint32_t target = 0;
    std::uint32_t tag = 0;
    std::uint32_t parent = kNone;  ///< or the next free one
    std::uint32_t references = 0;  ///< of children; one more while it is under way or the last
    std::uint32_t context = 0;
    std::uint32_t history = kNone;  ///< steps before it, since its parent
    std::array<Short, kMarks> marks{};
  };

  std::uint32_t take_node() {
    if (free_ == kNone) [[unlikely]]
      grow();
    const std::uint32_t index = free_;
    free_ = nodes_[index].parent;
    ++live_;
    return index;
  }
  void release(std::uint32_t index) {
    while ((--nodes_[index].references & ~kHandled) == 0) index = give_back(index);
  }
  /// Its parent.
  std::uint32_t give_back(std::uint32_t index) {
    Node& node = nodes_[index];
    const std::uint32_t parent = node.parent;
    if (node.history != kNone) [[unlikely]]
      drop_history(node.history);
    node.references = 0;
    node.parent = free_;
    free_ = index;
    --live_;
    return parent;
  }
  void grow();
  void drop_history(std::uint32_t history);
  void compact();
  void fold(std::uint32_t bottom, const std::vector<std::uint32_t>& only_child);
  void explain(const Node& node, std::int64_t from, std::vector<Step>& steps) const;

  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
  std::uint32_t current_ = 0;
  std::uint32_t last_ = 0;
  std::uint32_t context_ = 0;
  std::size_t marks_ = 0;
  std::array<Mark, kMarks> next_{};
  std::size_t live_ = 0;
  std::size_t limit_ = 1 << 16;
  std::vector<std::vector<Step>> histories_;
  std::vector<std::uint32_t> free_histories_;
  std::vector<std::string> targets_;
  std::vector<std::string> places_;
  std::vector<Context> contexts_;
  std::array<std::unordered_map<std::string, std::uint32_t>, 2> numbers_;  ///< of threads' and of kernels'
  Explain explain_;
};

}  // namespace weft
