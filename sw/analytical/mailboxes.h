// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sw/analytical/agenda.h"

namespace weft::analytical {

class Network;

/// Sends and receives of all ends, which meet as ASTRA-sim's do: by what they are for, who sends, who receives, and how
/// many bytes, in order. A send is done when its message has arrived; a receive when it has, or at once, as the last
/// thing of the current time, if it had come before.
///
/// With `rendezvous` who receives asks the sender for it with a message of 8 KiB, and the send begins when that has
/// come.
class Mailboxes final : Actor {
 public:
  struct Message {
    std::uint64_t purpose = 0;  ///< below kRequest
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::int64_t bytes = 0;
    bool operator==(const Message&) const = default;
  };
  static constexpr std::uint64_t kRequest = 1ULL << 63;  ///< in a purpose: the request for such a message

  Mailboxes(Agenda& agenda, Network& network, bool rendezvous);

  /// `done` may be nothing.
  void send(Time now, const Message& message, Entry done);
  void receive(Time now, const Message& message, Entry done);
  /// The network has delivered what was sent as `flight`.
  void arrived(Time now, std::uint32_t flight);
  [[nodiscard]] const Message& message(std::uint32_t flight) const { return flights_[flight].message; }

  /// Whether there was a message without bytes, at which ASTRA-sim stops with an error.
  [[nodiscard]] bool had_empty() const { return had_empty_; }
  /// Calls `visit` for what has come and nobody has received, and for receives that wait, with what the first of them
  /// is for.
  void each_left(const std::function<void(const Message& message, Entry waits)>& visit) const;

  void act(Time now, std::uint64_t what) override;
  /// Of a message that will arrive soon: fetches it, and then where it goes.
  void prepare_arrival(std::uint32_t flight) const { __builtin_prefetch(&flights_[flight]); }
  void prepare_box(std::uint32_t flight) const {
    const std::uint32_t to = flights_[flight].message.to;
    if (to < tables_.size()) __builtin_prefetch(&tables_[to]);
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // What becomes of a message when its request has come.
  static constexpr std::uint64_t kKinds = 2;
  static constexpr std::uint64_t kSend = 0;
  static constexpr std::uint64_t kReceive = 1;

  /// A message under way.
  struct Flight {
    Message message;
    Entry sent;
  };
  /// Who waits for a message, in a circle.
  struct Waiting {
    Entry done;
    std::uint32_t next = kNone;
  };
  /// Of equal messages to an end: either some have come, or somebody waits for them.
  struct alignas(32) Box {
    std::uint64_t purpose = 0;
    std::int64_t bytes = 0;
    Entry done;  ///< who waits first
    std::uint32_t from = 0;
    /// Where nobody waits how many have come; else the last of more who wait, after which comes the first of them, or
    /// kNone.
    std::uint32_t count_or_last = 0;
    [[nodiscard]] bool empty() const { return count_or_last == 0 && done.nothing(); }
    [[nodiscard]] bool is_of(const Message& message) const {
      return purpose == message.purpose && from == message.from && bytes == message.bytes;
    }
  };
  /// An end's boxes: one, which is all that most ends need at a time, and others by hash, then the next that is free.
  struct alignas(64) Table {
    Box one;
    std::vector<Box> others;
    std::size_t used = 0;  ///< of the others
  };

  void transmit(Time now, const Message& message, Entry sent);
  void await(Time now, const Message& message, Entry done);
  [[nodiscard]] static std::uint64_t hash(std::uint64_t purpose, std::uint32_t from, std::int64_t bytes);
  Box& box_of(const Message& message);
  static void drop(Table& table, Box& box);
  static void grow(Table& table);

  Agenda& agenda_;
  Network& network_;
  bool rendezvous_;
  std::uint32_t actor_;
  Pool<Flight> flights_;
  Pool<Flight> held_;  ///< sends and receives that wait for the request of their message
  Pool<Waiting> waiting_;
  std::vector<Table> tables_;  ///< by receiver, since what an end does is done together
  bool had_empty_ = false;
};

}  // namespace weft::analytical
