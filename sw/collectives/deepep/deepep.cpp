// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/deepep/deepep.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sw/collectives/deepep/combine.h"
#include "sw/collectives/deepep/dispatch.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::StockedPair;
using firmware::Task;

namespace {

constexpr std::uint32_t kInvited = 0;
constexpr std::uint32_t kWritten = 1;
/// Completions of receives have the peer's number, all others this and more.
constexpr std::uint64_t kTokens = std::uint64_t{1} << 32;

}  // namespace

DeepEp::DeepEp(const GroupSite& site, Nodes nodes)
    : ranks_(site.ranks), nodes_(std::move(nodes)), config_(site.own.as<DeepEpConfig>()), name_(site.name) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    auto member = std::make_unique<Member>();
    member->rank = ranks_[i];
    member->number = static_cast<int>(i);
    std::tie(member->node, member->local) = nodes_.place(member->number);
    member->events = &ranks_[i]->processor->create_completion_queue("tokens of " + name_ + ", queue");
    member->pairs.resize(ranks_.size());
    member->invitations.resize(ranks_.size());
    members_.push_back(std::move(member));
  }
}

DeepEp::~DeepEp() = default;

StockedPair& DeepEp::pair(Member& from, int peer) {
  const auto make = [](Member& one, const Member& other) {
    const auto id = static_cast<std::size_t>(other.number);
    one.pairs[id] = std::make_unique<StockedPair>(one.rank->towards(*other.rank), *one.events, id);
  };
  const auto& own = from.pairs[static_cast<std::size_t>(peer)];
  if (own == nullptr) {
    Member& other = at(peer);
    make(from, other);
    make(other, from);
    StockedPair::join(*own, *other.pairs[static_cast<std::size_t>(from.number)]);
  }
  return *own;
}

void DeepEp::invite(Member& from, int peer) {
  pair(from, peer).pair().send_immediate(kInvited);
}

bool DeepEp::take_invitation(Member& of, int peer) {
  int& invitations = of.invitations[static_cast<std::size_t>(peer)];
  if (invitations == 0) return false;
  --invitations;
  return true;
}

void DeepEp::write(Member& from, int peer, std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                   std::uint64_t token) {
  pair(from, peer).pair().write(local, remote, bytes, /*notify=*/true, kWritten, /*signaled=*/true, kTokens + token);
}

std::uint32_t DeepEp::engine(Member& of) const {
  const int engines = std::min(config_.sms, of.rank->copy_engines);
  of.next_engine = (of.next_engine + 1) % engines;
  return static_cast<std::uint32_t>(of.next_engine);
}

void DeepEp::copy(const Member& of, std::uint32_t engine, std::uint64_t from, std::uint64_t to, std::uint64_t bytes,
                  std::uint64_t token) {
  of.rank->accelerator.copy(engine, from, to, bytes, *of.events, kTokens + token);
}

void DeepEp::reduce(const Member& of, std::uint32_t engine, ElementType type, std::uint64_t one, std::uint64_t other,
                    std::uint64_t to, std::uint64_t bytes, std::uint64_t token) {
  of.rank->accelerator.reduce(engine, type, one, other, to, bytes, *of.events, kTokens + token);
}

Task DeepEp::next(Member& of, Event& event) {
  const nic::Completion entry = co_await of.events->next();
  if (entry.id >= kTokens) {
    event = {Event::What::kDone, 0, entry.id - kTokens};
    co_return;
  }
  event = {entry.immediate == kInvited ? Event::What::kInvitation : Event::What::kData, static_cast<int>(entry.id), 0};
  if (event.what != Event::What::kInvitation) co_return;
  of.pairs[entry.id]->used();
  ++of.invitations[entry.id];
}

void DeepEp::make_staging() {
  if (std::exchange(has_staging_, true)) return;
  const auto slots = static_cast<std::uint64_t>(config_.slots) * static_cast<std::uint64_t>(size());
  staging_ = firmware::allocate_together(ranks_, "staging of tokens in " + name_, slots * chunk());
}

Task DeepEp::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) {
  const std::uint64_t block = bytes / static_cast<std::uint64_t>(size());
  Tokens tokens;
  tokens.members.assign(ranks_.size(), block);
  tokens.nodes.assign(static_cast<std::size_t>(nodes_.count()), block * static_cast<std::uint64_t>(nodes_.per_node()));
  return dispatch(member, input, output, std::move(tokens));
}

Task DeepEp::dispatch(int member, std::uint64_t input, std::uint64_t output, Tokens tokens) {
  make_staging();
  Member& here = at(member);
  Dispatch dispatch(*this, here, input, output, std::move(tokens));
  Event event;
  while (!dispatch.is_over()) {
    co_await next(here, event);
    dispatch.take(event);
  }
}

Task DeepEp::combine(int member, std::uint64_t input, std::uint64_t output, Tokens tokens, ElementType type) {
  make_staging();
  Member& here = at(member);
  Combine combine(*this, here, input, output, std::move(tokens), type);
  Event event;
  while (!combine.is_over()) {
    co_await next(here, event);
    combine.take(event);
  }
}

Algorithm deepep_algorithm() {
  return {.name = std::string(DeepEpConfig::kAlgorithm),
          .doc =
              "tokens to experts and back, across the network once for each node, and AllToAlls in the same way; all "
              "else as nccl",
          .operations = {dimensions::Operation::kAllToAll},
          .rooted = {},
          .config = DeepEpConfig(),
          .config_doc = "Dispatch and combine of DeepEP",
          .in_place = [](const CommunicatorConfig& /*config*/) -> std::string_view { return "nccl"; },
          .lacking = "has AllToAlls alone",
          .make = [](GroupSite& site) -> std::unique_ptr<Group> {
            Nodes nodes(site.ranks);
            int next = 0;
            bool in_order = nodes.even();
            for (const std::vector<int>& row : nodes.rows()) {
              for (const int member : row) in_order = in_order && member == next++;
            }
            if (in_order) return std::make_unique<DeepEp>(site, std::move(nodes));
            site.remark = site.name + " has not as many neighbouring members in each node";
            return nullptr;
          }};
}

}  // namespace weft::collectives
