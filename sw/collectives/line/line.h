// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/line/passage.h"
#include "sw/dimensions/plan.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/stocked_pair.h"

namespace weft::collectives {

/// One rank's place in a line: the members of a group that one dimension joins. It has a queue pair to each of those
/// that it has spoken to, and a firmware thread of its own, which runs while there is something to do.
///
/// Phases of chunks wait in a queue, by priority and then in the order in which they came. So many at a time are begun;
/// what a peer has begun already is joined beyond that number, or members that began different chunks would wait for
/// each other for ever.
///
/// Messages are RDMA writes with immediate. Before the first one a peer gives permission, an empty send whose immediate
/// says which phase it is for and where its staging memory is; it has posted the receives then.
///
/// The dimensions of a rank share its copy engines: each has as many, and large reductions are divided among them.
class LineMember {
 public:
  struct Options {
    int active = 1;
    int dimension = 0;
    int dimensions = 1;
    std::string about;  ///< what the critical path says that its threads are for
  };

  /// Joins `ranks`, in the order of the line.
  static std::vector<std::unique_ptr<LineMember>> join(const std::vector<firmware::Rank*>& ranks,
                                                       const Options& options, int core, const std::string& name);

  LineMember(firmware::Rank& rank, int position, int members, const Options& options, int core, std::string name);

  /// Which phase goes first: that of the highest priority, then the smallest.
  struct Precedence {
    std::int64_t priority = 0;
    std::int64_t bytes = 0;
    [[nodiscard]] bool before(const Precedence& other) const {
      return priority != other.priority ? priority > other.priority : bytes < other.bytes;
    }
  };
  /// From a running thread of the rank: queues a phase, which `phase` gives when it begins, since it takes memory for
  /// each member of the line. `done` is called on the line's thread.
  void enqueue(std::function<Phase()> phase, Passage::Name name, Precedence precedence, std::function<void()> done);

  [[nodiscard]] int position() const { return position_; }
  [[nodiscard]] int members() const { return members_; }

 private:
  friend class Passage;
  friend class Strand;

  struct Waiting {
    std::function<Phase()> phase;
    Passage::Name name;
    Precedence precedence;
    std::function<void()> done;
  };
  struct Active {
    std::unique_ptr<Passage> passage;
    std::function<void()> done;
  };
  struct Permission {
    Passage::Name name;
    int peer;
    int strand;
    std::uint32_t slot;
  };
  struct Slot {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool taken = false;
  };

  firmware::Task run();
  void start_waiting();
  void start(std::size_t index);
  void take(const nic::Completion& entry);
  Active* take_message(const nic::Completion& entry);  ///< null: it is for a phase to come
  void finish(std::size_t index);
  Active* find(Passage::Name name);
  /// Made with its first use, at both ends.
  firmware::StockedPair& connection(int peer);

  // For passages:
  void listen(int peer) { connection(peer); }
  void reserve(std::uint32_t slot, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t staging(int at, std::uint32_t slot) const {
    return line_->at(static_cast<std::size_t>(at))->slots_[slot].address;
  }
  void expect(int peer, int messages, Passage::Name name, int strand, std::uint32_t slot);
  void write(int peer, const Pieces& from, const Pieces& to, Passage::Name name, int strand, std::uint32_t slot);
  /// Copy engines that so many bytes are divided among.
  [[nodiscard]] std::uint64_t engines_for(std::uint64_t bytes) const;
  /// By the passage's copy engine number `part`.
  void reduce(ElementType type, std::uint64_t source, std::uint64_t other, std::uint64_t target, std::uint64_t bytes,
              std::uint32_t part, std::uint32_t slot, int strand);
  void copy(std::uint64_t source, std::uint64_t target, std::uint64_t bytes, std::uint32_t part, std::uint32_t slot,
            int strand);
  [[nodiscard]] std::uint32_t engine(std::uint32_t slot, std::uint32_t part) const;

  firmware::Rank& rank_;
  int position_;
  int members_;
  Options options_;
  int core_;
  std::string name_;
  std::shared_ptr<const std::vector<LineMember*>> line_;
  firmware::CompletionQueue* completions_ = nullptr;
  std::vector<std::unique_ptr<firmware::StockedPair>> connections_;  ///< by member; null where nothing has been said
  std::vector<Waiting> waiting_;
  std::vector<Active> active_;
  std::vector<Permission> early_;
  std::vector<Slot> slots_;
  bool running_ = false;
  bool awake_ = false;  ///< its thread is looking at what there is
};

}  // namespace weft::collectives
