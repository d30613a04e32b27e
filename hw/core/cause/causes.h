// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hw/core/cause/cause_tables.h"
#include "hw/core/cause/growing_pool.h"
#include "hw/core/cause/memory_share.h"
#include "hw/core/quantity.h"

namespace weft {

/// The critical path of a run, kept while it runs: which event ended each wait.
///
/// What happens in an event follows from it, so that each event that it posts has it as parent: whoever waits for
/// several things goes on in the event of the one that came last. From the last event back to the start there is one
/// chain without gaps, and its pieces add up to the run, to the picosecond.
///
/// The chains of all events under way are a tree of pieces, which grows at its leaves: a piece has a higher number than
/// the one before it. What no event under way follows from is left where it is until there are too many (`collect`);
/// what is left then moves together. Most are for nothing soon, so that only young pieces are looked at, those that
/// have been looked at once when they have become many, and all others seldom. Those at the beginning from which all
/// others follow are a trunk, which is not looked at again. Memory follows what is under way, and the path itself.
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

  /// A link of this name, which bytes pass in `flight`. Before the run.
  [[nodiscard]] Place place(std::string name, Time flight);
  [[nodiscard]] const std::string& place_name(Place place) const;
  /// Whether it is a link: no target.
  [[nodiscard]] static bool is_link(Place place) { return place >= kFirstLink; }
  /// A number for what somebody is about: what a firmware thread is for, or a kernel, whose name stays where it is.
  [[nodiscard]] std::uint32_t context(const std::string& name);
  /// Kernels of one name whose bytes weigh otherwise have numbers of their own.
  [[nodiscard]] std::uint32_t kernel_context(const char* name, MemoryShare share = {}) {
    KernelName& latest =
        kernels_[(reinterpret_cast<std::uintptr_t>(name) / 16 + static_cast<std::uint32_t>(share.step())) %
                 kernels_.size()];
    if (latest.name != name || latest.share.step() != share.step()) [[unlikely]]
      latest = {name, share, kernel_context_of(name, share)};
    return latest.context;
  }
  struct Context {
    std::string name;  ///< empty: none
    bool is_kernel = false;
    MemoryShare share{};  ///< of a kernel
  };
  [[nodiscard]] const Context& context_of(std::uint32_t context) const { return contexts_[context >> 1]; }

  // For models, while an event is being handled:

  /// The time up to `until` of the next event that is posted goes to this; marks follow each other.
  void mark(CauseKind kind, Time until, Place place) {
    if (!is_marked(until)) put_mark(until.count(), what(kind, place));
  }
  /// A packet passes the link: it is in flight, and then comes byte by byte until then.
  void mark_crossing(Time until, Place link) { mark(kCrossing, until, link); }
  /// A link sends so many bytes on their way between ends of its network.
  void carry(Place link, std::uint32_t from, std::uint32_t to, std::uint32_t bytes) {
    tables_.carried.add(link - kFirstLink, from, to, bytes);
  }
  /// What has passed a link, in no order.
  [[nodiscard]] std::vector<Carried::Flow> carried(Place link) const {
    return tables_.carried.flows(link - kFirstLink);
  }
  /// Whether the time up to `until` is past or has been marked.
  [[nodiscard]] bool is_marked(Time until) const { return until.count() <= tip_until_; }
  void forget_marks() {
    tip_ = current_;
    tip_until_ = now_;
  }
  /// What follows is about this.
  void set_context(std::uint32_t context) { context_ = context; }
  /// Somebody gives back room that such work has taken: what whoever waits for room waits for.
  void set_holder(CauseKind kind, Place place) { holder_ = {0, kind, place}; }
  /// Kind kOther: nobody said so.
  [[nodiscard]] Why take_holder() { return std::exchange(holder_, {}); }
  /// A program ends in this event, and at this time as it counts it, which may be later. A run may go on: a timer that
  /// finds a lost acknowledgement, say, is after the end of what the run is for.
  void end_program(Time at) {
    if (at < program_end_) return;
    put_own();
    program_end_ = at;
    program_ = current_;
  }
  /// The pieces that lead to the event being handled, from `since` on, are added to `sums`.
  void add_since(Time since, CauseSums& sums);
  [[nodiscard]] CauseTables& tables() { return tables_; }
  [[nodiscard]] const CauseTables& tables() const { return tables_; }

  // For the dispatcher:

  /// The names of the event targets in their order.
  void begin_run(std::vector<std::string> targets) { targets_ = std::move(targets); }
  /// There are so many pieces that it is time to collect, before the next event begins.
  [[nodiscard]] bool is_full() const { return nodes_.size() >= most_; }
  /// Forgets what no event under way follows from. `each_event` calls what it is given with what each of them is
  /// behind, by reference: the piece's number may change.
  template <typename EachEvent>
  void collect(const EachEvent& each_event) {
    const std::uint32_t from = begin_collection();
    each_event([this, from](const CauseBehind& behind) { keep(behind.piece(), from); });
    keep(last_, from);
    if (program_ != 0) keep(program_, from);
    finish_keeping(from);
    move_together(from);
    each_event([this, from](CauseBehind& behind) { behind.set_piece(moved(behind.piece(), from)); });
  }

  /// An event is posted for `when`. No piece is looked at that was made in another event: memory would not have it.
  CauseBehind posted(std::int64_t when) {
    put_own();
    const std::int64_t until = std::exchange(tip_until_, now_);
    const std::uint32_t tip = std::exchange(tip_, current_);
    if (tip != current_) return behind_marks(tip, when);
    return {tip, context_, until - when};
  }
  /// An event is about to be handled. `explain` says what time went to that nobody marked.
  template <typename Explain>
  void begin(CauseBehind behind, std::int64_t now, Place target, const Explain& explain) {
    current_ = tip_ = behind.piece();
    now_ = tip_until_ = now;
    context_ = behind.context();
    own_.waits = behind.waits();
    if (own_.waits) own_ = {what(explain(), target), context_, true};
  }
  /// It has been handled. One that was for nothing does not end the path.
  void end(bool disregarded) {
    if (disregarded) {
      current_ = last_;
      own_ = last_own_;
      now_ = last_now_;
    } else {
      last_ = current_;
      last_own_ = own_;
      last_now_ = now_;
    }
    forget_marks();
  }

  // For what a run leaves:

  /// The path from the start to `until`: to the program that ended then, or else to the last event.
  [[nodiscard]] std::vector<Step> path(Time until) const;
  /// Pieces that are remembered.
  [[nodiscard]] std::size_t live() const { return nodes_.size(); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kWalks = 16;   ///< chains that are gone back at a time, while memory answers for others
  static constexpr std::uint32_t kWord = 64;  ///< bits
  static constexpr int kSoon = 16;            ///< pieces later a place is written to that is fetched by now
  static constexpr std::uint32_t kOfKernel = 1;  ///< of a context's number, the bit that says so
  static constexpr int kPlaceBits = 24;
  static constexpr int kContextBits = 30;
  static constexpr std::uint32_t kContexts = (1U << kContextBits) - 1;
  /// Propagation, and then serialisation on the same link: the most frequent pair is one piece.
  static constexpr auto kCrossing = static_cast<CauseKind>(kCauseKinds);
  /// Links are numbered from here on.
  static constexpr Place kFirstLink = 1U << (kPlaceBits - 1);

  /// A piece of the tree. A run has a million of them, so that they lie without gaps.
  struct [[gnu::packed]] Node {
    std::int64_t until;
    std::uint32_t parent;
    std::uint32_t what;   ///< kind and place
    std::uint32_t about;  ///< context, and in the first two bits references

    [[nodiscard]] std::uint32_t context() const { return about & kContexts; }
    /// By nodes that follow, and by events; counted when they are collected, as 2 if there are more.
    [[nodiscard]] std::uint32_t references() const { return about >> kContextBits; }
    void refer() { about += references() < 2 ? 1U << kContextBits : 0U; }
    void set_references(std::uint32_t count) { about = context() | count << kContextBits; }
  };
  static_assert(sizeof(Node) == 20);

  /// What the time before an event went to that nobody marked. From many events nothing follows: a piece of the tree is
  /// made of it once something does.
  struct Own {
    std::uint32_t what = 0;
    std::uint32_t context = 0;
    bool waits = false;  ///< it is in no piece yet
  };

  struct KernelName {
    const char* name;
    MemoryShare share;
    std::uint32_t context;
  };
  std::uint32_t kernel_context_of(const std::string& name, MemoryShare share);
  static std::uint32_t what(CauseKind kind, Place place) {
    return static_cast<std::uint32_t>(kind) << kPlaceBits | place;
  }
  static bool is_crossing(std::uint32_t what) { return static_cast<CauseKind>(what >> kPlaceBits) == kCrossing; }
  /// A piece by itself.
  struct Past {
    std::int64_t until;
    std::uint32_t index;
    std::uint32_t what;
    std::uint32_t context;
  };
  [[nodiscard]] Past past(std::uint32_t index) const {
    const Node& node = nodes_[index];
    return {node.until, index, node.what, node.context()};
  }
  /// Calls `visit` with the begin, not before `from`, of each step of a piece, which begins at `begin`, backwards.
  template <typename Visit>
  void each_step(std::int64_t from, std::int64_t begin, const Past& piece, const Visit& visit) const;
  /// Lets the trail lead to the event being handled from a piece that ends at `from` or before.
  void follow_back(std::int64_t from);
  /// A piece that follows `parent`.
  std::uint32_t add(std::uint32_t parent, std::int64_t until, std::uint32_t what, std::uint32_t context) {
    const std::uint32_t index = nodes_.append();
    nodes_[index] = {until, parent, what, context};
    __builtin_prefetch(&nodes_[index] + kSoon, 1);
    return index;
  }
  /// In one place for all: code that is in each caller's would not be in a cache.
  void put_mark(std::int64_t until, std::uint32_t what);
  /// Something follows from the event being handled: its own piece is put into the tree.
  void put_own() {
    if (!own_.waits) return;
    tip_ = current_ = add(current_, now_, own_.what, own_.context);
    own_.waits = false;
  }
  /// Of an event that is posted after marks, the last of which is `tip`.
  CauseBehind behind_marks(std::uint32_t tip, std::int64_t when) {
    for (; nodes_[tip].until > when; tip = nodes_[tip].parent) {  // marks may go on beyond the event
      if (nodes_[nodes_[tip].parent].until >= when) continue;
      nodes_[tip].until = when;
      break;
    }
    if (nodes_[tip].about != context_) [[unlikely]] {  // all of them are about what the context is now
      for (std::uint32_t at = tip; at != current_; at = nodes_[at].parent) nodes_[at].about = context_;
    }
    return {tip, context_, nodes_[tip].until - when};
  }
  /// The first piece that is looked at.
  std::uint32_t begin_collection();
  /// A piece is needed, and all before it. Nobody looks at those that are not, which are most. What is before it may
  /// be marked later, and is so by `finish_keeping` at the latest.
  void keep(std::uint32_t tip, std::uint32_t from);
  void finish_keeping(std::uint32_t from);
  /// Marks one, and answers with the one before it, or with kNone if that is marked or stays anyway.
  std::uint32_t keep_one(std::uint32_t at, std::uint32_t from);
  void move_together(std::uint32_t from);
  /// Where a piece is now that was at `index`, where those before `from` have stayed.
  [[nodiscard]] std::uint32_t moved(std::uint32_t index, std::uint32_t from) const {
    return index < from ? index : moved_[index - from];
  }
  /// Where the first piece is now that was at `since` or later and is needed, of which `left` are there in all.
  [[nodiscard]] std::uint32_t moved_first(std::uint32_t since, std::uint32_t from, std::uint32_t left) const;
  [[nodiscard]] std::uint32_t alike_before(std::uint32_t parent, const Node& node, std::uint32_t from) const;

  GrowingPool<Node> nodes_;
  std::array<std::uint32_t, kWalks> walks_;  ///< where chains are marked from next; kNone: a place for one
  std::size_t walk_ = 0;
  std::vector<std::uint64_t> kept_;   ///< a bit for each piece that is looked at: it is needed
  GrowingPool<std::uint32_t> moved_;  ///< of those that are looked at, where they are
  std::uint32_t trunk_ = 1;           ///< so many at the beginning have one that follows them each
  std::uint32_t middle_ = 1;          ///< so many have been looked at twice
  std::uint32_t old_ = 1;             ///< so many have been looked at, and have old counts of references
  std::uint32_t most_middle_ = 0;     ///< from so many old ones on those in the middle are looked at too
  std::uint32_t most_old_ = 0;        ///< from so many before the middle on all behind the trunk are looked at
  std::uint32_t most_ = 0;
  /// Pieces from one on to one that somebody's wait ended with: until they are collected others' waits have most of
  /// them in common, and memory has those of a chain where they are wanted next.
  std::vector<Past> trail_;
  std::vector<Past> further_;  ///< that go to it
  /// The latest piece in the tree of the event being handled, and the time of that, up to which `own_` goes.
  std::uint32_t current_ = 0;
  std::int64_t now_ = 0;
  Own own_;
  std::uint32_t last_ = 0;  ///< the same of the last event that was not disregarded
  std::int64_t last_now_ = 0;
  Own last_own_;
  std::uint32_t program_ = 0;  ///< where the last program so far ended
  Time program_end_;
  std::uint32_t context_ = 0;
  std::uint32_t tip_ = 0;  ///< the latest mark, or the current piece
  std::int64_t tip_until_ = 0;
  Why holder_;
  CauseTables tables_;
  std::vector<std::string> targets_;
  std::vector<std::string> links_;
  std::vector<std::int64_t> flights_;  ///< of links
  std::vector<Context> contexts_;
  std::unordered_map<std::string, std::uint32_t> threads_;  ///< numbers of their contexts
  std::map<std::pair<std::string, int>, std::uint32_t> named_kernels_;
  std::array<KernelName, 256> kernels_{};  ///< of those that share a place the one that was looked up last
};

}  // namespace weft
