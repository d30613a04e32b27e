// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/core/element.h"
#include "hw/nic/work.h"
#include "sw/collectives/shared_buffers.h"
#include "sw/firmware/rank.h"

namespace weft::schedules {

/// Memory that is used again when what was in it is over.
class RecycledMemory {
 public:
  /// Address of `bytes` bytes of `map`, which throws std::length_error where they do not fit.
  std::uint64_t take(firmware::MemoryMap& map, const std::string& what, std::uint64_t bytes);
  void give_back(std::uint64_t address);

 private:
  struct Part {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool taken = false;
  };
  std::vector<Part> parts_;
};

/// A group of ranks whose gathers and reductions the switches of a remote memory run. All members begin the same ones
/// in the same order; each counts its own.
class RemoteGroup {
 public:
  /// `shared` is the map of the part that is for collectives, of all groups.
  RemoteGroup(std::vector<firmware::Rank*> ranks, firmware::MemoryMap& shared, const std::string& name);

 private:
  friend class RemoteTransfers;
  struct Call {
    std::uint64_t remote = 0;
    std::uint64_t bytes = 0;
    std::size_t users = 0;
  };
  /// The same for all members: addresses are agreed on outside of simulated time.
  Call& enter(std::int64_t number, std::uint64_t bytes);
  void leave(std::int64_t number);

  std::vector<firmware::Rank*> ranks_;
  std::string name_;
  firmware::MemoryMap& shared_;
  std::uint32_t group_;
  RecycledMemory memory_;
  collectives::SharedBuffers buffers_;
  std::map<std::int64_t, Call> calls_;
};

/// One rank's loads from remote memory and stores to it, with buffers at both ends. Plain ones lie in the rank's own
/// part of the remote memory. Completions go to the queue of the rank's thread, which hands them to take(). With data
/// on, they carry patterns, which are compared where they arrive.
class RemoteTransfers {
 public:
  using Token = std::uint64_t;

  RemoteTransfers(firmware::Rank& rank, firmware::CompletionQueue& events) : rank_(rank), events_(events) {}

  /// From the rank's thread. Throws std::length_error.
  void begin(bool stores, std::uint64_t bytes, Token token);
  /// A gather, or with `stores` a reduction; `member` is the rank's place in the group, `number` counts its calls.
  void begin(RemoteGroup& group, int member, std::int64_t number, bool stores, std::uint64_t bytes, ElementType type,
             Token token);

  [[nodiscard]] static bool is_mine(const nic::Completion& entry) { return entry.id >> 61 == 1; }
  Token take(const nic::Completion& entry);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Elements that were not what had been put there.
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }

 private:
  static constexpr std::uint64_t kMine = 1ULL << 61;  ///< in ids of completions

  struct Transfer {
    bool stores = false;
    std::uint64_t remote = 0;
    std::uint64_t local = 0;
    std::uint64_t bytes = 0;
    RemoteGroup* group = nullptr;
    int member = 0;
    std::int64_t number = 0;
    ElementType type = ElementType::kFp32;
    Token token = 0;
  };

  std::uint64_t keep(const Transfer& transfer);
  void fill(const Transfer& transfer) const;
  void compare(const Transfer& transfer);

  firmware::Rank& rank_;
  firmware::CompletionQueue& events_;
  RecycledMemory local_;
  RecycledMemory remote_;
  std::vector<Transfer> transfers_;  ///< slots are used again
  std::vector<std::uint64_t> free_;
  std::uint64_t count_ = 0;
  std::int64_t wrong_ = 0;
};

}  // namespace weft::schedules
