// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/mesh.h"

#include <map>

namespace weft::collectives {

using firmware::Rank;
using firmware::StockedPair;
using firmware::Task;

namespace {

/// What a message says.
constexpr std::uint32_t kInvitation = 0;
constexpr std::uint32_t kData = 1;

}  // namespace

Mesh::Mesh(const std::vector<Rank*>& ranks, const std::string& name) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    members_.push_back(std::make_unique<Member>(*this, *ranks[i], static_cast<int>(i), name));
  }
  for (const auto& member : members_) {
    member->pairs_.resize(members_.size());
    member->invitations_.resize(members_.size());
  }
}

Mesh::Member::Member(Mesh& mesh, Rank& rank, int number, const std::string& name)
    : mesh_(mesh),
      rank_(rank),
      number_(number),
      completions_(rank.processor->create_completion_queue("a message or its acknowledgement in " + name + ", queue")),
      unawaited_(rank.unawaited[name]) {}

std::vector<std::string> Mesh::left_over(const std::vector<Rank>& ranks) {
  struct Sum {
    int members = 0;
    int without = 0;
    int messages = 0;
  };
  std::map<std::string, Sum> meshes;
  for (const Rank& rank : ranks) {
    for (const auto& [name, messages] : rank.unawaited) {
      Sum& sum = meshes[name];
      ++sum.members;
      sum.without += messages > 0 ? 1 : 0;
      sum.messages += messages;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [name, sum] : meshes) {
    if (sum.messages == 0) continue;
    lines.push_back(name + ": " + std::to_string(sum.without) + " of " + std::to_string(sum.members) +
                    " members never received " + std::to_string(sum.messages) +
                    " messages that others wrote to them (Mesh::Member::received)");
  }
  return lines;
}

StockedPair& Mesh::Member::pair(int peer) {
  const auto make = [](Member& from, const Member& to) {
    const auto id = static_cast<std::size_t>(to.number_);
    from.pairs_[id] = std::make_unique<StockedPair>(from.rank_.towards(to.rank_), from.completions_, id);
  };
  const auto& own = pairs_[static_cast<std::size_t>(peer)];
  if (own == nullptr) {
    Member& other = mesh_[peer];
    make(*this, other);
    if (&other != this) make(other, *this);
    StockedPair::join(*own, *other.pairs_[static_cast<std::size_t>(number_)]);
  }
  return *own;
}

void Mesh::Member::invite(int peer) {
  pair(peer).pair().send_immediate(kInvitation);
}

Task Mesh::Member::invited(int peer) {
  News news;
  while (!accept(peer)) co_await take_one(news);
}

bool Mesh::Member::accept(int peer) {
  int& invitations = invitations_[static_cast<std::size_t>(peer)];
  if (invitations == 0) return false;
  --invitations;
  return true;
}

Task Mesh::Member::next(News& news) {
  co_await take_one(news);
  if (news.what != What::kReceived) co_return;
  --received_;
  --unawaited_;
}

void Mesh::Member::write(int peer, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  ++under_way_;
  ++mesh_[peer].unawaited_;
  firmware::QueuePair& queue = pair(peer).pair();
  const auto id = static_cast<std::uint64_t>(peer);
  if (bytes == 0) {
    queue.send_immediate(kData, /*signaled=*/true, id);
  } else {
    queue.write(from, to, bytes, /*notify=*/true, kData, /*signaled=*/true, id);
  }
}

Task Mesh::Member::received(int messages) {
  News news;
  while (received_ < messages) co_await take_one(news);
  received_ -= messages;
  unawaited_ -= messages;
}

Task Mesh::Member::acknowledged(int but) {
  News news;
  while (under_way_ > but) co_await take_one(news);
}

Task Mesh::Member::take_one(News& news) {
  const nic::Completion entry = co_await completions_.next();
  news.peer = static_cast<int>(entry.id);
  if (entry.verb != nic::Verb::kReceive) {
    news.what = What::kAcknowledged;
    --under_way_;
    co_return;
  }
  pairs_[entry.id]->used();
  if (entry.immediate == kInvitation) {
    news.what = What::kInvited;
    ++invitations_[entry.id];
  } else {
    news.what = What::kReceived;
    ++received_;
  }
}

}  // namespace weft::collectives
