// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace weft::vcd {

/// A block of hardware as a queue in front of a pipeline: it joins one beat of each input to one of its output. One
/// call of `step` is a rising edge of its clock. A beat is handed over at an edge at which it is offered and taken;
/// edges are numbered from 0.
///
/// What it leaves out: blocks that reorder, that give more or fewer beats than they take, and whose pace depends on the
/// data.
class BlockModel {
 public:
  /// What happens inside while the output has a beat that nobody takes.
  enum class Stall : std::uint8_t {
    kRigid,    ///< nothing moves, gaps between beats included
    kElastic,  ///< beats close up, until `depth` of them are inside
  };
  struct Config {
    std::size_t inputs = 1;
    std::uint64_t latency = 1;   ///< edges from the one that joins beats to the first that has the result at the output
    std::uint64_t interval = 1;  ///< edges from one joining to the next at the least
    std::uint64_t pause = 0;     ///< so many more after the last beat of a transaction
    std::uint64_t queue = 0;     ///< beats that an input takes before the others have theirs; 0: it waits for all
    bool registered = false;     ///< a place that a beat leaves in the queue is free from the next edge on
    bool falls_through =
        true;  ///< an empty queue passes a beat on at the edge that takes it, else from the next one on
    Stall stall = Stall::kRigid;
    std::uint64_t depth = 0;  ///< elastic: joined beats inside at the most

    [[nodiscard]] std::string text() const;
    /// Edges from the one that takes the last beat of a set to the first that has the result at the output.
    [[nodiscard]] std::uint64_t from_input() const { return latency + (passes() ? 0 : 1); }
    [[nodiscard]] bool passes() const { return falls_through || queue == 0; }
    bool operator==(const Config&) const = default;
  };
  /// What an input offers at an edge.
  enum class Offer : std::uint8_t { kNothing, kBeat, kLastBeat };

  explicit BlockModel(const Config& config);

  /// Of beats from here on: those of another type may come at another pace.
  void set_interval(std::uint64_t interval) { config_.interval = interval; }
  /// Whether the output has a beat at the coming edge.
  [[nodiscard]] bool valid() const;
  /// An edge; `ready`: the output's beat is taken, if there is one. Afterwards `taken` says of which inputs.
  void step(const std::vector<Offer>& offers, bool ready);
  [[nodiscard]] bool taken(std::size_t input) const { return taken_[input]; }

 private:
  struct Waiting {
    Offer offer;
    std::uint64_t from;  ///< the edge at which it can join
  };

  Config config_;
  std::uint64_t edge_ = 0;
  std::uint64_t moved_ = 0;  ///< edges at which a rigid pipeline moved
  std::uint64_t next_join_ = 0;
  std::deque<std::uint64_t> inside_;          ///< of each beat, when it is due: an edge, or a move
  std::vector<std::deque<Waiting>> waiting_;  ///< by input, beats in its queue
  std::vector<bool> taken_;
};

}  // namespace weft::vcd
