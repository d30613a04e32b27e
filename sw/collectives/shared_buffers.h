// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sw/firmware/rank.h"

namespace weft::collectives {

/// Memory that the members of a group use together for something that each of them begins and ends in its own time: at
/// the same address everywhere, and used again when all have ended it.
class SharedBuffers {
 public:
  SharedBuffers(std::vector<firmware::Rank*> ranks, std::string what)
      : ranks_(std::move(ranks)), what_(std::move(what)) {}

  /// A member begins number `number`, for which all ask the same size; its address. Throws std::length_error when a
  /// memory is too small.
  std::uint64_t enter(std::int64_t number, std::uint64_t bytes) {
    if (const auto found = used_by_.find(number); found != used_by_.end()) return buffers_[found->second].address;
    auto free = std::find_if(buffers_.begin(), buffers_.end(),
                             [bytes](const Buffer& buffer) { return buffer.users == 0 && buffer.bytes >= bytes; });
    if (free == buffers_.end()) {
      const std::uint64_t address = firmware::allocate_together(ranks_, what_, bytes);
      free = buffers_.insert(buffers_.end(), {address, bytes, 0});
    }
    used_by_[number] = static_cast<std::size_t>(free - buffers_.begin());
    free->users = ranks_.size();
    return free->address;
  }
  /// A member has ended it.
  void leave(std::int64_t number) {
    const auto found = used_by_.find(number);
    if (--buffers_[found->second].users == 0) used_by_.erase(found);
  }

 private:
  struct Buffer {
    std::uint64_t address;
    std::uint64_t bytes;
    std::size_t users;
  };
  std::vector<firmware::Rank*> ranks_;
  std::string what_;
  std::vector<Buffer> buffers_;
  std::map<std::int64_t, std::size_t> used_by_;
};

}  // namespace weft::collectives
