// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/nic/reliability/psn.h"

/// Selective repeat (as IRN does: Mittal et al., SIGCOMM 2018). A NAK names what is missing, so that only this is
/// repeated; it waits `reorder_wait`, for what is overtaken is not lost. While packets are missing and newer ones come,
/// the receiver asks again, at most once in `reorder_wait`. A NAK names the newest packet that came before the wait,
/// and the sender repeats what has not left since that one did: only at the tail of what is sent do lost repeats and
/// NAKs take a timeout. A requester asks again for the answer to a read when one to a request that left later has come.
namespace weft::nic {

/// What is missing before the furthest packet that has come ahead of its turn, in the order of the numbers.
class Gaps {
 public:
  struct Gap {
    std::uint32_t psn;
    std::uint32_t end;  ///< follows its last one
  };

  explicit Gaps(std::uint32_t psn) : end_(psn) {}

  [[nodiscard]] std::size_t size() const { return gaps_.size(); }
  [[nodiscard]] const Gap& operator[](std::size_t i) const { return gaps_[i]; }
  /// Follows the furthest that has come.
  [[nodiscard]] std::uint32_t end() const { return end_; }

  /// All before `psn` has come.
  void begin_at(std::uint32_t psn);
  /// `psn` has come; true when nothing after it had.
  bool fill(std::uint32_t psn);

 private:
  std::vector<Gap> gaps_;
  std::uint32_t end_;
};

/// Packets that a peer has asked for again, in the order of asking. Those that have left again are remembered until
/// they are acknowledged: the peer has missed a repeat when it has something that left after it, which is how losses
/// are told from repeats on their way (as by RACK, RFC 8985, with numbers in place of times).
class Repeats {
 public:
  /// Whether none is to leave.
  [[nodiscard]] bool empty() const { return begun_ == ranges_.size(); }
  [[nodiscard]] std::uint32_t front() const { return ranges_[begun_].next; }

  /// The peer misses all from `psn` to before `end`. Where it says which packet was the newest that it had then, what
  /// has left again since that one left is not repeated once more.
  void ask(std::uint32_t psn, std::uint32_t end, std::optional<std::uint32_t> newest);
  /// The front leaves again, and the next packet that has never left will be `end`.
  void take(std::uint32_t end);
  /// The front need not leave again.
  void skip();
  /// All up to `acknowledged` has come.
  void forget(std::uint32_t acknowledged);
  void clear();

 private:
  struct Range {
    std::uint32_t psn;
    std::uint32_t end;
    std::uint32_t next;   ///< to leave
    std::uint32_t newer;  ///< those from here on left after it
  };
  std::vector<Range> ranges_;
  std::size_t begun_ = 0;  ///< those before have left
};

}  // namespace weft::nic
