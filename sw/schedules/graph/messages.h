// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "hw/nic/work.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/compressed/sends.h"
#include "sw/collectives/watch.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/stocked_pair.h"

namespace weft::schedules {

/// Which messages match: those of one sender and one receiver with the same tag and size, in their order, as in
/// ASTRA-sim.
struct MessageName {
  std::uint64_t instance = 0;  ///< of a collective's own implementation; 0 for the traces themselves
  int from = 0;
  int to = 0;
  std::int64_t tag = 0;
  std::uint64_t bytes = 0;

  bool operator<(const MessageName& other) const {
    return std::tie(instance, from, to, tag, bytes) <
           std::tie(other.instance, other.from, other.to, other.tag, other.bytes);
  }
};

/// Short numbers for the names that two ranks use at the time, which an immediate has room for; agreed on when
/// connections are made, outside of simulated time.
class MessageTags {
 public:
  static constexpr std::uint32_t kMost = 1 << 14;

  /// The number of a name, from when it is first used until both sides have let go of it.
  std::uint32_t acquire(const MessageName& name);
  /// Whether it was the last one.
  bool release(const MessageName& name);
  [[nodiscard]] const MessageName& name(int from, int to, std::uint32_t number) const;

 private:
  struct Number {
    MessageName name;
    int users = 0;
  };
  std::map<MessageName, std::uint32_t> numbers_;
  std::map<std::pair<int, int>, std::vector<Number>> of_pair_;
};

/// One rank's sends and receives, matched by name. A receiver that has a buffer says so to the sender, with an empty
/// message that has the name's number and that of the buffer; then the sender writes into it, with an immediate that
/// names it again: a message crosses the network once. A sender that has no such permission asks for it, and gets it
/// whether the receive has been begun or not: a message that comes before its receive waits in the receiver's memory.
///
/// Completions go to the queue of the rank's thread, which hands them to take(). With data on, a message carries a
/// pattern that the receiver compares.
///
/// Where its traffic is compressed, a message is compressed when it has its permission, and decompressed when it has
/// come, by kernels on the last streams of both accelerators.
class Messages {
 public:
  /// A send or receive is over: the token that it was begun with.
  using Token = std::uint64_t;

  Messages(firmware::Rank& rank, firmware::CompletionQueue& events, MessageTags& tags, collectives::SendScopes& scopes);

  /// What messages go to and come from, and who is told of those of the traces themselves (may be null); before the
  /// first one.
  void join(const std::vector<Messages*>* all, collectives::MessageWatch* watch) {
    all_ = all;
    watch_ = watch;
  }

  /// From the rank's thread. Throw std::length_error for more messages at a time than can be told apart or than memory
  /// has room for.
  void send(const MessageName& name, Token token, collectives::Carries carries = {});
  void receive(const MessageName& name, Token token);

  /// Whether a completion is for messages, and not for the rank's thread itself.
  [[nodiscard]] static bool is_mine(const nic::Completion& entry) {
    return (entry.id & (kReceived | kWritten | kPacked | kUnpacked)) != 0;
  }
  /// Takes it; the token of what is over by it, if anything is.
  std::optional<Token> take(const nic::Completion& entry);

  /// Elements that were not what the sender put there.
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t count() const { return received_; }

 private:
  static constexpr std::uint64_t kReceived = 1ULL << 63;  ///< ids of completions: and the peer
  static constexpr std::uint64_t kWritten = 1ULL << 62;   ///< and the slot
  static constexpr std::uint64_t kPacked = 1ULL << 59;    ///< the same, when it has been compressed
  static constexpr std::uint64_t kUnpacked = 1ULL << 58;  ///< and decompressed

  /// A buffer and the message that is in it.
  struct Slot {
    std::uint64_t address = 0;
    std::uint64_t room = 0;
    bool taken = false;
    bool wanted = false;  ///< its receive has been begun
    bool arrived = false;
    MessageName name;
    std::uint64_t turn = 0;  ///< how many messages of the name came before
    Token token = 0;
    std::shared_ptr<collectives::CompressedSends> by;  ///< null: as it is
    std::uint64_t packed = 0;                          ///< where it lies compressed
    std::uint64_t packed_room = 0;
    std::uint32_t there = 0;  ///< of a message to be sent, the receiver's slot
    Time sent;                ///< when its send has been begun
    Time since;               ///< and its receive
  };
  struct Waiting {
    Token token = 0;
    std::shared_ptr<collectives::CompressedSends> by;
    Time since;  ///< when its send has been begun
  };
  /// Of a name that this rank sends with: what waits for permission, or permissions that wait for a send.
  struct Outgoing {
    std::deque<Waiting> waiting;
    std::deque<std::uint32_t> permitted;  ///< slots of the receiver
    std::uint64_t turn = 0;               ///< messages written

    [[nodiscard]] std::uint64_t asked() const { return turn + waiting.size(); }
  };
  /// Of a name that this rank receives with.
  struct Incoming {
    std::uint64_t permitted = 0;
    std::deque<std::uint32_t> unasked;  ///< slots that the sender has been given before their receives
  };

  firmware::StockedPair& connection(int peer);
  std::uint32_t take_slot(const MessageName& name);
  void write(const MessageName& name, Outgoing& outgoing);
  void write(std::uint32_t slot);
  /// Makes room for what travels in place of a slot's message.
  void make_packed(Slot& slot);
  /// Runs kernels, and completes with `id`.
  void run(const compression::Kernels& kernels, std::uint64_t id);
  /// A message is here.
  std::optional<Token> arrive(Slot& slot);
  std::uint32_t permit(const MessageName& name);
  void take_request(const MessageName& name);
  /// Lets go of a name; when nobody uses it, both sides forget it.
  void release(const MessageName& name);
  /// A message is here that has been waited for.
  Token finish_receive(Slot& slot);
  /// Lets go of a slot of which all is done.
  Token finish(Slot& slot);
  void fill(const Slot& slot);
  void compare(const Slot& slot);

  firmware::Rank& rank_;
  firmware::CompletionQueue& events_;
  MessageTags& tags_;
  collectives::SendScopes& scopes_;
  const std::vector<Messages*>* all_ = nullptr;
  collectives::MessageWatch* watch_ = nullptr;  ///< null where no critical path is kept
  std::map<int, firmware::StockedPair> connections_;
  std::vector<Slot> slots_;
  std::map<MessageName, Outgoing> outgoing_;
  std::map<MessageName, Incoming> incoming_;
  std::int64_t wrong_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace weft::schedules
