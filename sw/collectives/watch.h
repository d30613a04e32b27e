// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/cause/causes.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// Fills CauseTables::collectives: how long members of a group spend in its collectives, how much of that before the
/// last of them has come, and what for.
class Watch {
 public:
  Watch(const std::vector<firmware::Rank*>& ranks, std::string group, Causes& causes);

  /// One member's call of a collective, which ends when it says so, and never where the run ends before.
  class Call {
   public:
    /// Without a watch it does nothing.
    Call(Watch* watch, int member, std::string_view operation, std::uint64_t bytes) : watch_(watch), member_(member) {
      if (watch_ != nullptr) [[unlikely]]
        watch_->enter(member_, operation, bytes);
    }
    void end() const {
      if (watch_ != nullptr) [[unlikely]]
        watch_->leave(member_);
    }

   private:
    Watch* watch_;
    int member_;
  };

 private:
  /// A collective that some members are in.
  struct UnderWay {
    CauseTables::Collective* totals = nullptr;
    std::size_t entered = 0;
    std::size_t left = 0;
    Time first;  ///< entry of a member
    Time last;
  };

  void enter(int member, std::string_view operation, std::uint64_t bytes);
  void leave(int member);
  [[nodiscard]] Time now() const;

  const std::vector<firmware::Rank*>& ranks_;
  std::string group_;
  Causes& causes_;
  std::deque<UnderWay> under_way_;
  std::size_t over_ = 0;           ///< collectives that all members have left
  std::vector<std::size_t> next_;  ///< by member, the number of its next one
  std::vector<Time> entered_;      ///< by member
};

}  // namespace weft::collectives
