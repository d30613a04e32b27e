// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/cause/causes.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// Fills CauseTables::collectives: how long members of a group spend in its collectives, how much of that before the
/// last of them has come, and what for. Members may be in several at a time, which they begin in the same order.
class Watch {
 public:
  Watch(const std::vector<firmware::Rank*>& ranks, std::string group, Causes& causes);
  /// Of a group with this name, which stands behind that of the job that its ranks are of. Null where no critical path
  /// is kept.
  static std::unique_ptr<Watch> of(const std::vector<firmware::Rank*>& ranks, const std::string& group);

  /// One member's call of a collective, which ends when it says so, and never where the run ends before.
  class Call {
   public:
    /// Without a watch it does nothing.
    Call(Watch* watch, int member, std::string_view operation, std::uint64_t bytes) : watch_(watch), member_(member) {
      if (watch_ != nullptr) [[unlikely]]
        number_ = watch_->enter(member_, operation, bytes, entered_);
    }
    void end() const {
      if (watch_ != nullptr) [[unlikely]]
        watch_->leave(member_, number_, entered_);
    }

   private:
    Watch* watch_;
    int member_;
    std::size_t number_ = 0;  ///< of the group's collectives
    Time entered_;
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
  struct Member {
    std::size_t next = 0;  ///< the number of its next collective
    int inside = 0;        ///< so many at a time
  };

  /// Tells the number of the collective.
  std::size_t enter(int member, std::string_view operation, std::uint64_t bytes, Time& entered);
  void leave(int member, std::size_t number, Time entered);
  [[nodiscard]] Time now() const;

  const std::vector<firmware::Rank*> ranks_;
  std::string group_;
  Causes& causes_;
  std::deque<UnderWay> under_way_;
  std::size_t over_ = 0;  ///< collectives that all members have left, from the first one on
  std::vector<Member> members_;
};

/// The same of messages that one rank sends another: how long receivers wait for them, how much of that before they are
/// sent, and what for. A kind of message is an entry of its group, with one member, and the groups are no chains.
class MessageWatch {
 public:
  MessageWatch(std::vector<firmware::Rank*> ranks, std::string group, Causes& causes);
  /// As Watch::of().
  static std::unique_ptr<MessageWatch> of(const std::vector<firmware::Rank*>& ranks, const std::string& group);

  /// In the event in which the receiver goes on: with `bytes` that rank `sender` of the group has sent at `sent`, and
  /// for which it has waited from `since` on. That is now if it had other things to do.
  void received(int sender, std::string_view what, std::uint64_t bytes, Time sent, Time since);

 private:
  const std::vector<firmware::Rank*> ranks_;
  std::string group_;
  Causes& causes_;
};

}  // namespace weft::collectives
