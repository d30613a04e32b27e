// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/blocks.h"
#include "sw/collectives/pat/pat_plan.h"
#include "sw/collectives/slot_lane.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// One member's connections for PAT in one direction, and the collective that goes that way (pat_plan.h): down the
/// trees an Allgather, up a ReduceScatter. It has a connection to and one from the member 2^k away, for each k.
///
/// All that comes passes slots of these connections, since NCCL registers no buffers for PAT (ncclRegisterCollBuffers()
/// of its src/register/coll_reg.cc), and what several blocks go in is packed in a slot of the sender's. A connection
/// has NCCL's 8 slots (NCCL_STEPS) or as many as rings have, if these are fewer; one is given back when all is out of
/// it that came. What leaves from a slot may still be under way when its sender has ended the collective. Requests take
/// the rank's `relay` longer. A member goes through its plan step by step:
///
/// - Of an Allgather, blocks are copied to where they belong as they come. They are sent on from there, those of one
///   message each copied to it.
/// - Of a ReduceScatter, a sum is formed in the slot in which it will leave, and `input` stays as it is. What has
///   nothing to be added goes straight from there if it is alone in its message.
///
/// NCCL's kernel has one operation for each block that comes and goes on, with one read and up to two writes; here an
/// Allgather's are two copies where a message has several blocks. From version 2.25 on it works at several blocks of a
/// message at a time; here each channel's copy engine does one after the other.
class PatMember {
 public:
  struct Options {
    std::uint64_t chunk = 512 << 10;  ///< bytes of a slot
    int slots = 8;                    ///< of a connection, of which at most kMostSlots are used
    int queue_pairs = 1;              ///< of a connection between nodes
  };
  static constexpr int kMostSlots = 8;
  [[nodiscard]] static int slots_of(const Options& options);

  enum class Direction : std::uint8_t { kDown, kUp };
  /// Joins `ranks`, each member with those 2^k ahead and behind; `engine` is the copy engine that copies and adds.
  static std::vector<std::unique_ptr<PatMember>> join(const std::vector<firmware::Rank*>& ranks, Direction direction,
                                                      const Options& options, int engine, const std::string& name);

  PatMember(firmware::Rank& rank, int dimensions, const Options& options, int engine, const std::string& name);

  /// What all members know of a collective. Blocks of more than `chunk` bytes go in as many rounds as they have chunks.
  struct Work {
    const PatPlan* plan = nullptr;
    std::uint64_t chunk = 0;
    std::uint64_t rounds = 0;
    std::vector<Extent> blocks;  ///< by place
  };
  /// Distributes each member's own block, at `buffer` + its extent, to all.
  firmware::Task allgather(std::uint64_t buffer, Work work);
  /// Sums each block over all members into `output` of its owner, which may be its place in `input`.
  firmware::Task reduce_scatter(std::uint64_t input, std::uint64_t output, Work work, ElementType type);

 private:
  struct Dimension {
    SlotLane out;
    SlotLane in;
    std::uint64_t outgoing = 0;   ///< slots that go out from here
    std::uint64_t out_begin = 0;  ///< messages before this collective
    std::uint64_t in_begin = 0;
    std::uint64_t borrowed = 0;          ///< messages up to the last one that went straight from the caller's memory
    std::uint64_t emptied = 0;           ///< messages that came and are where they belong
    std::vector<std::uint64_t> written;  ///< by outgoing slot: when so many commands have ended, it is
  };
  /// A ReduceScatter's round.
  struct Sum {
    std::uint64_t input;
    std::uint64_t output;
    const Work& work;
    ElementType type;
    std::uint64_t round = 0;
    std::vector<std::uint64_t> offsets;  ///< in their messages, by place
    std::vector<bool> has_addends;       ///< by place: of those below
  };
  struct Emptying {
    Dimension* dimension;
    std::uint64_t moved;  ///< when so many commands have ended
  };

  template <typename Condition>
  firmware::Task until(Condition condition);
  void take(const nic::Completion& entry);
  void give_back();
  /// Copies or adds, if there is anything.
  void move(std::uint64_t source, std::uint64_t other, std::uint64_t target, std::uint64_t bytes, ElementType type);
  void begin();
  /// Copies what has come of an Allgather to its places.
  void unpack(Dimension& dimension);
  /// Of a round of an Allgather: sends a message when its blocks have come.
  firmware::Task pass_on(const PatPlan::Step& step, const std::vector<int>& message, std::uint64_t round);
  /// Of a round of a ReduceScatter: sends and takes a step's messages.
  firmware::Task send_sums(Sum& sum, const PatPlan::Step& step);
  firmware::Task add(Sum& sum, const PatPlan::Step& step);
  [[nodiscard]] Dimension& at(int dimension) { return dimensions_[static_cast<std::size_t>(dimension)]; }
  [[nodiscard]] std::uint64_t slot(std::uint64_t first, std::uint64_t number) const {
    return slot_at(first, number, window_, options_.chunk);
  }
  /// When all is done here, and nothing is read any more from the caller's memory.
  [[nodiscard]] bool is_quiet() const;

  firmware::Rank& rank_;
  Options options_;
  int engine_;
  std::uint64_t window_;
  firmware::CompletionQueue* completions_ = nullptr;
  std::vector<Dimension> dimensions_;
  std::uint64_t begun_ = 0;  ///< with the copy engine
  std::uint64_t moved_ = 0;
  std::deque<Emptying> emptying_;
  const Work* gathers_ = nullptr;  ///< what comes is unpacked
  std::uint64_t gathered_ = 0;     ///< buffer
};

}  // namespace weft::collectives
