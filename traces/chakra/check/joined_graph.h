// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/chakra/check/parts.h"

/// Part of check(). Only sources of this folder and of traces/chakra/repair include it.
namespace weft::chakra {

/// The graphs of all files as one: what the ranks say to each other joins them.
///
/// Of a file it holds what communicates, and of the other nodes those at which several ways from there meet: some 16
/// bytes each and 4 for each dependency. A vertex is a number; those of a file follow each other, in an order in which
/// the file's dependencies allow them.
class JoinedGraph {
 public:
  using Vertex = std::uint32_t;
  using Unit = std::uint32_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  enum class Kind : std::uint8_t { kCollective, kFromRoot, kToRoot, kMessage };

  explicit JoinedGraph(std::size_t files) : first_of_(files, kNone) {}

  /// A rank's file, after its graph's check(). Gives the vertices of the communicating nodes at `places`, counted
  /// from the file's first one, in their order; kNone for those that wait for each other within the file.
  std::vector<Vertex> add(std::size_t file, const GraphCheck& graph, const std::vector<std::uint32_t>& places);
  [[nodiscard]] Vertex vertex(std::size_t file, std::uint64_t local) const {
    return first_of_[file] + static_cast<Vertex>(local);
  }

  /// Vertices of different files that are one collective: none ends before all have begun. Of a message the first is
  /// the send, and the second, the receive, does not end before that has begun. `like` is the first unit of those that
  /// could be taken for each other, kNone for a new kind; units that are alike are joined with the same files, one
  /// after the other.
  /// `root` is the place of one of the members.
  /// `needs`, where members wait for some others alone, are by their places.
  Unit join(Kind kind, std::span<const Vertex> members, Unit like, std::uint32_t root = 0,
            const Needs* needs = nullptr);
  /// Takes back all that was joined.
  void part();

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] std::size_t units() const { return units_.size(); }
  [[nodiscard]] std::size_t file_of(Vertex vertex) const;
  [[nodiscard]] std::uint64_t id_of(Vertex vertex) const { return ids_[vertex]; }
  [[nodiscard]] Unit unit_of(Vertex vertex) const { return unit_of_[vertex]; }
  [[nodiscard]] Kind kind_of(Unit unit) const { return units_[unit].kind; }
  [[nodiscard]] bool has_root(Unit unit) const {
    return kind_of(unit) == Kind::kFromRoot || kind_of(unit) == Kind::kToRoot;
  }
  /// Null where a member waits for all.
  [[nodiscard]] const Needs* needs(Unit unit) const { return units_[unit].needs; }
  [[nodiscard]] bool has_needs() const { return has_needs_; }
  [[nodiscard]] Vertex root(Unit unit) const { return members(unit)[units_[unit].root]; }
  [[nodiscard]] Unit like(Unit unit) const { return units_[unit].like; }
  /// The next of those that are alike; kNone behind the last one.
  [[nodiscard]] Unit next_alike(Unit unit) const { return units_[unit].next; }
  [[nodiscard]] std::span<const Vertex> members(Unit unit) const {
    const std::size_t end = unit + 1 < units_.size() ? units_[unit + 1].begin : members_.size();
    return std::span(members_).subspan(units_[unit].begin, end - units_[unit].begin);
  }
  /// What the vertex waits for in its own file.
  [[nodiscard]] std::span<const Vertex> before(Vertex vertex) const {
    const std::size_t begin = vertex == 0 ? 0 : ends_[vertex - 1];
    return std::span(before_).subspan(begin, ends_[vertex] - begin);
  }

 private:
  struct Joined {
    std::size_t begin;  ///< of its members
    Unit like;
    Unit next = kNone;
    std::uint32_t root;  ///< among its members
    Kind kind;
    const Needs* needs;
  };
  struct File {
    Vertex first;
    std::size_t file;
  };

  std::vector<Vertex> first_of_;  ///< by file
  std::vector<File> files_;       ///< in the order of their vertices
  std::vector<std::uint64_t> ids_;
  std::vector<std::size_t> ends_;  ///< of what each waits for
  std::vector<Vertex> before_;
  std::vector<Unit> unit_of_;
  std::vector<Joined> units_;
  std::vector<Unit> last_alike_;  ///< by the first of them
  std::vector<Vertex> members_;
  bool has_needs_ = false;
};

/// The graph worked off where nothing takes time: what cannot end then, ends at no time.
class JoinedRun {
 public:
  using Vertex = JoinedGraph::Vertex;
  using Unit = JoinedGraph::Unit;

  /// When a collective with a root ends on a rank.
  enum class Rooted : std::uint8_t {
    kJoined,   ///< when all have begun it
    kReached,  ///< when those have begun it without whom no order of its messages could end it: who has what the rank
               ///< gets, and somebody who takes what it gives
    kApart     ///< at once
  };

  struct Rules {
    Rooted rooted = Rooted::kJoined;
    /// Of units that are alike, the first that a rank begins is the first that the others begin, as in a run that goes
    /// by type and size; else they are as they were joined.
    bool as_begun = false;
    /// A rank has one collective or send under way, of those that are ready the one with the lowest id.
    bool one_at_a_time = false;
    /// Of a collective with needs a rank waits for those alone.
    bool by_messages = false;
    /// Of other units than these nobody waits for the others.
    Unit first = 0;
    Unit end = JoinedGraph::kNone;
  };

  JoinedRun(const JoinedGraph& graph, Rules rules);

  [[nodiscard]] bool ends() const { return order_.size() == graph_.size(); }
  /// Vertices in the order in which they have ended.
  [[nodiscard]] const std::vector<Vertex>& order() const { return order_; }
  /// Which unit a vertex was part of.
  [[nodiscard]] Unit unit_of(Vertex vertex) const { return rules_.as_begun ? taken_[vertex] : graph_.unit_of(vertex); }

  using Step = JoinedStep;
  /// Steps of which each awaits what the next one waits to begin, and the last one the first.
  using Circle = std::vector<Step>;
  /// Of a run by the joined units, without as_begun and one_at_a_time: all circles that follow from what each vertex
  /// waits for first.
  [[nodiscard]] std::vector<Circle> circles() const;
  /// Goes on as if what the circle's ranks wait for had begun.
  void open(const Circle& circle);
  /// Of a run in which not all ends: a vertex that waits for its turn, else any that was not begun.
  [[nodiscard]] Vertex held_up() const;

 private:
  enum class State : std::uint8_t { kWaiting, kBegun, kEnded };

  void begin(Vertex vertex);
  void arrive(Unit unit, Vertex vertex);
  void reach(Unit unit, Vertex vertex);
  /// The same by its needs.
  void meet(Unit unit, Vertex vertex);
  [[nodiscard]] std::uint32_t place_of(Vertex vertex) const;
  [[nodiscard]] bool goes_by_needs(Unit unit) const { return rules_.by_messages && graph_.needs(unit) != nullptr; }
  void go_on();
  void end(Vertex vertex);
  void make_ready(Vertex vertex);
  [[nodiscard]] bool takes_turns(Vertex vertex) const;
  Unit take(Vertex vertex);
  [[nodiscard]] Vertex cause(Vertex vertex) const;

  const JoinedGraph& graph_;
  Rules rules_;
  std::vector<std::uint32_t> waits_for_;  ///< so many of its file
  std::vector<State> states_;
  std::vector<std::size_t> ends_;  ///< of what waits for each
  std::vector<Vertex> behind_;
  std::vector<std::uint32_t> arrived_;         ///< by unit
  std::vector<std::vector<Vertex>> arrivals_;  ///< by unit, where they are taken as begun or reached
  std::vector<bool> roots_begun_;              ///< by unit, where they are reached
  struct Met {
    std::vector<Vertex> vertices;        ///< by place, kNone where it has not begun
    std::vector<std::uint32_t> missing;  ///< by place, of its needs
  };
  std::unordered_map<Unit, Met> met_;
  std::map<const Needs*, Needs> needed_by_;
  std::vector<Unit> taken_;
  std::unordered_map<std::uint64_t, Unit> next_;  ///< by file and the first that is alike
  struct Turns {
    bool busy = false;
    std::vector<std::pair<std::uint64_t, Vertex>> waiting;  ///< a heap, the lowest id first
  };
  std::vector<Turns> turns_;  ///< by file
  std::vector<Vertex> ready_;
  std::size_t next_ready_ = 0;
  std::vector<Vertex> order_;
};

}  // namespace weft::chakra
