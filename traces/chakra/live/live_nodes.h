// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "traces/chakra/live/record_pool.h"

namespace weft::chakra {

/// The nodes of a trace that are known and not completed, by id, and who waits for them: some fifty bytes a node beside
/// its record. A node is a slot, which others take when it is removed.
class LiveNodes {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = UINT32_MAX;

  enum class State : std::uint8_t {
    kExpected,  ///< somebody depends on it, and it has not been read
    kWaiting,
    kReady,
    kOut,
  };
  struct Entry {
    std::uint64_t id = 0;
    RecordPool::Record record = 0;
    std::uint32_t waits_for : 30 = 0;  ///< dependencies that have not completed, each as often as it is named
    std::uint32_t state_bits : 2 = 0;
    std::uint32_t first_dependent = kNone;

    [[nodiscard]] State state() const { return static_cast<State>(state_bits); }
    void set(State state) { state_bits = static_cast<std::uint8_t>(state) & 3U; }
  };

  LiveNodes() : index_(kFewest, kNone) {}

  [[nodiscard]] Entry& operator[](Slot slot) { return entries_[slot]; }
  [[nodiscard]] const Entry& operator[](Slot slot) const { return entries_[slot]; }

  /// kNone if there is none of the id.
  [[nodiscard]] Slot find(std::uint64_t id) const;
  /// There is none of the id yet.
  Slot add(std::uint64_t id);
  void remove(Slot slot);

  void add_dependent(Slot slot, Slot dependent);
  /// Calls `use` with each of those that were added, and forgets them.
  template <typename Use>
  void take_dependents(Slot slot, const Use& use) {
    std::uint32_t at = std::exchange(entries_[slot].first_dependent, kNone);
    while (at != kNone) {
      const Slot dependent = edges_[at].dependent;
      const std::uint32_t next = edges_[at].next;
      edges_[at].next = std::exchange(free_edge_, at);
      at = next;
      use(dependent);
    }
  }
  template <typename Use>
  void for_each_dependent(Slot slot, const Use& use) const {
    for (std::uint32_t at = entries_[slot].first_dependent; at != kNone; at = edges_[at].next)
      use(edges_[at].dependent);
  }
  template <typename Use>
  void for_each(const Use& use) const {
    for (const Slot slot : index_) {
      if (slot != kNone) use(slot);
    }
  }

 private:
  static constexpr std::size_t kFewest = 16;

  struct Edge {
    Slot dependent;
    std::uint32_t next;
  };

  [[nodiscard]] std::size_t place_of(std::uint64_t id) const;
  void grow();

  std::vector<Entry> entries_;
  std::vector<Edge> edges_;
  std::vector<Slot> index_;  ///< by a hash of the id, the next free place; as many as a power of two
  Slot free_ = kNone;        ///< slots, chained by first_dependent
  std::uint32_t free_edge_ = kNone;
  std::size_t size_ = 0;
};

}  // namespace weft::chakra
