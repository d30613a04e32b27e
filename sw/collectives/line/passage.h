// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "hw/core/element.h"
#include "sw/collectives/pieces.h"
#include "sw/collectives/rooted.h"
#include "sw/dimensions/plan.h"
#include "sw/firmware/task.h"

namespace weft::collectives {

class LineMember;
class Passage;

/// One chunk's way through one dimension: what a member of a line does for it. Each member has a block of the chunk for
/// each of them; where that lies is `block`, the same on every member, and `output` where blocks of an AllToAll go.
/// Of a Broadcast and a Reduce, block 0 is all.
struct Phase {
  dimensions::Operation operation = dimensions::Operation::kAllReduce;
  dimensions::Algorithm algorithm = dimensions::Algorithm::kRing;
  ElementType type = ElementType::kFp32;
  std::vector<Pieces> block;
  std::vector<Pieces> output;
  std::optional<Rooted> rooted;  ///< in place of `operation` and `algorithm`
  RootedAlgorithm rooted_algorithm = RootedAlgorithm::kBinomial;
  int radix = kLibraryRadix;  ///< of a k-nomial tree
  int root = 0;               ///< in the line
};

/// One sequence of messages of a phase, as an algorithm's firmware sees it: most have one, two directions of a ring or
/// two trees are two. Members know the same strand by the same number.
///
/// Nobody writes to a member's memory before it has said by expect() that it has begun the phase, and an algorithm asks
/// for that permission itself.
class Strand {
 public:
  Strand(Passage& passage, int number) : passage_(&passage), number_(number) {}

  [[nodiscard]] const Phase& phase() const;
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int position() const;
  [[nodiscard]] int members() const;
  /// The member `steps` ahead in the line, which is a ring; behind if negative.
  [[nodiscard]] int ahead(int steps) const;
  [[nodiscard]] const Pieces& block(int index) const { return phase().block[static_cast<std::size_t>(index)]; }
  /// Blocks `first` to `last`, without it.
  [[nodiscard]] Pieces blocks(int first, int last) const;

  /// The largest block, rounded up: staging memory is dealt out in these.
  [[nodiscard]] std::uint64_t unit() const;
  /// `bytes` at `offset` of this phase's staging memory at member `at`; of a peer, once it has given permission.
  [[nodiscard]] Pieces staging(int at, std::uint64_t offset, std::uint64_t bytes) const;

  /// Lets `peer` send so many messages more, and says so to it.
  void expect(int peer, int messages);
  /// Writes what lies in `from` here to `to` at `peer`, as one message.
  void write(int peer, const Pieces& from, const Pieces& to);
  /// target = source + other, or a copy, by copy engines. Those of equal size are done in the order of the calls, each
  /// part of them by the same engine.
  void reduce(const Pieces& source, const Pieces& other, const Pieces& target);
  void copy(const Pieces& source, const Pieces& target);

  /// What a strand awaits; the line's thread resumes it then.
  struct Until {
    Passage& passage;
    std::function<bool()> condition;
    bool await_ready() const { return condition(); }
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const {}
  };
  /// `peer` has called expect() for the `times`th time.
  [[nodiscard]] Until permission(int peer, int times = 1);
  /// So many messages have come from `peer`.
  [[nodiscard]] Until message(int peer, int count = 1);
  /// All that the strand has reduced and copied is done.
  [[nodiscard]] Until computed();
  /// Peers have acknowledged all writes of the phase.
  [[nodiscard]] Until acknowledged();

 private:
  Passage* passage_;
  int number_;
};

/// A phase under way at one member.
class Passage {
 public:
  static constexpr int kStrands = 2;
  static constexpr std::size_t kSteps = 16;  ///< phases of a chunk, at most

  /// What identifies it among all members.
  struct Name {
    std::uint32_t stream;  ///< the chunk
    std::uint32_t step;    ///< the phase's number in the chunk's plan
    bool operator==(const Name&) const = default;
  };

  Passage(LineMember& line, Phase phase, Name name, std::uint32_t slot);

  void start();
  /// Resumes the strands that can go on.
  void proceed();
  [[nodiscard]] bool finished() const;
  [[nodiscard]] Name name() const { return name_; }
  [[nodiscard]] std::uint32_t slot() const { return slot_; }

  // What has happened, told by the line.
  void permitted(int peer, int strand, std::uint32_t slot) {
    ++at(peer, strand).permissions;
    at(peer, strand).slot = slot;
  }
  void came(int peer, int strand) { ++at(peer, strand).messages; }
  void computed(int strand) { --computing_[static_cast<std::size_t>(strand)]; }
  void written() { ++written_; }

 private:
  friend class Strand;

  struct Peer {
    std::uint32_t slot = 0;  ///< of its staging memory
    int permissions = 0;
    int messages = 0;
  };
  struct Waiter {
    const Strand::Until* until;
    std::coroutine_handle<> handle;
  };
  [[nodiscard]] Peer& at(int peer, int strand) {
    return peers_[static_cast<std::size_t>(peer) * kStrands + static_cast<std::size_t>(strand)];
  }

  LineMember& line_;
  Phase phase_;
  Name name_;
  std::uint32_t slot_;
  std::uint64_t unit_;
  std::vector<Peer> peers_;
  std::array<std::uint64_t, kStrands> computing_{};  ///< by strand: with the engines
  std::uint64_t to_write_ = 0;
  std::uint64_t written_ = 0;
  std::vector<firmware::Task> strands_;
  std::vector<Waiter> waiting_;
};

}  // namespace weft::collectives
