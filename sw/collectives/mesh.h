// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sw/firmware/rank.h"
#include "sw/firmware/stocked_pair.h"
#include "sw/firmware/task.h"

namespace weft::collectives {

/// Connections of every member of a group with every other, and with itself, for algorithms that write straight to
/// where bytes belong: a buffer has the same address on all members. A member writes to another when it was invited,
/// since nobody may write to a buffer before its owner has entered the collective.
///
///     Mesh::Member& here = mesh[member];
///     here.invite(peer);                       // peer may write one message to this member
///     co_await here.invited(peer);             // and this one to the peer
///     here.write(peer, buffer + offset, bytes);
///     co_await here.received(1);               // what the peer has written is here
///     co_await here.acknowledged();            // what was written may be changed: the end of a collective
///
/// It is the host's work: requests go to the interface that reaches the peer, and no kernel of an accelerator takes
/// part. A connection is made when it is first used.
class Mesh {
 public:
  /// One member's ends, for one of its threads at a time.
  class Member {
   public:
    Member(Mesh& mesh, firmware::Rank& rank, int number, const std::string& name);

    [[nodiscard]] firmware::Rank& rank() const { return rank_; }
    /// Lets a peer write one more message to this member: 32 of them at a time at the most.
    void invite(int peer);
    /// Until the peer has, for one message.
    firmware::Task invited(int peer);
    /// Writes what lies at `address` to the same address at the peer, or to `to`, as one message.
    void write(int peer, std::uint64_t address, std::uint64_t bytes) { write(peer, address, address, bytes); }
    void write(int peer, std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
    /// Until so many messages more have come, from anybody.
    firmware::Task received(int messages);
    /// Until at most so many of its own are not acknowledged.
    firmware::Task acknowledged(int but = 0);

    /// For who has messages to several under way and goes on as each ends: what has happened, with which peer.
    enum class What : std::uint8_t { kInvited, kReceived, kAcknowledged };
    struct News {
      What what = What::kInvited;
      int peer = 0;
    };
    /// Until something has. It counts as received() and acknowledged() do; for an invitation, accept() does.
    firmware::Task next(News& news);
    /// Whether the peer has invited a message that has not been written yet; then this is for the caller to write.
    [[nodiscard]] bool accept(int peer);

   private:
    friend class Mesh;
    firmware::StockedPair& pair(int peer);
    firmware::Task take_one(News& news);

    Mesh& mesh_;
    firmware::Rank& rank_;
    int number_;
    firmware::CompletionQueue& completions_;
    std::vector<std::unique_ptr<firmware::StockedPair>> pairs_;  ///< by peer; null where there was nothing to say yet
    std::vector<int> invitations_;                               ///< by peer, that were not used yet
    int received_ = 0;                                           ///< and not awaited yet
    int under_way_ = 0;
    int& unawaited_;  ///< that others have written, come or not (Rank::unawaited)
  };

  /// `name` is the group's, for the report of a deadlock.
  Mesh(const std::vector<firmware::Rank*>& ranks, const std::string& name);

  /// After a run: messages that these ranks were sent and never received, a line for each mesh.
  [[nodiscard]] static std::vector<std::string> left_over(const std::vector<firmware::Rank>& ranks);

  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  Member& operator[](int member) { return *members_[static_cast<std::size_t>(member)]; }

 private:
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace weft::collectives
