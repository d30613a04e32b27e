// SPDX-License-Identifier: Apache-2.0
// Messages and groups of ranks.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "traces/chakra/check/joined_graph.h"
#include "traces/chakra/check/parts.h"
#include "traces/files/format_error.h"

namespace weft::chakra {
namespace {

/// As many as a machine can have.
constexpr std::uint32_t kMostRanks = 1 << 24;

std::uint32_t ranks_of(const TraceFiles& files, const CheckOptions& options) {
  if (options.ranks) return *options.ranks;
  if (!files.is_prefix) return 0;
  const RankFile& highest = files.files.back();
  if (*highest.rank >= kMostRanks) {
    throw traces::FormatError(highest.file.string(), 0,
                              "is the trace of rank " + std::to_string(*highest.rank) + ": expected at most " +
                                  std::to_string(kMostRanks) + " ranks");
  }
  return *highest.rank + 1;
}

}  // namespace

RankMatcher::RankMatcher(const TraceFiles& files, const CheckOptions& options, FindingList& findings)
    : files_(files),
      findings_(findings),
      ranks_(ranks_of(files, options)),
      shared_(options.shared),
      wants_order_(options.order),
      implementations_(options.implementations),
      one_dimension_(options.one_dimension),
      machine_(options.machine),
      table_(ranks_, options.groups),
      issued_(files.files.size()),
      involved_(options.dimensions, ranks_),
      joined_(std::make_unique<JoinedGraph>(files.files.size())) {
  if (!files.is_prefix) return;
  for (std::size_t i = 0; i < files.files.size(); ++i) file_of_.emplace(*files.files[i].rank, i);
  const std::string expected =
      "files of all ranks from 0 to " + std::to_string(ranks_ - 1) +
      (ranks_ <= kMostRepaired ? ", as weft trace repair --ranks " + std::to_string(ranks_) + " writes" : "");
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (file_of_.contains(rank)) continue;
    findings.add(Problem::kMissingRank, files.files.back(), std::nullopt,
                 "rank " + std::to_string(rank) + " has no file", expected);
  }
  for (const RankFile& file : files.files) {
    if (*file.rank < ranks_) continue;
    findings.add(Problem::kExtraRank, file, std::nullopt, "is of rank " + std::to_string(*file.rank),
                 "ranks from 0 to " + std::to_string(ranks_ - 1));
  }
}

RankMatcher::~RankMatcher() = default;

std::vector<std::uint32_t> places_of(const GroupMembers& group) {
  std::vector<std::uint32_t> places;
  for (const std::uint32_t rank : group.ranks) {
    const auto place = std::lower_bound(group.sorted->begin(), group.sorted->end(), rank);
    places.push_back(static_cast<std::uint32_t>(place - group.sorted->begin()));
  }
  return places;
}

void RankMatcher::implement(const GroupMembers& group) {
  takes_turns_ = false;
  implements_for_ = &group;
  if (!group.key.empty()) place_of_peer_ = places_of(group);
}

void RankMatcher::add_message(std::size_t file, const Node& node, std::uint32_t place, std::int64_t peer) {
  const bool is_send = node.type == NodeType::kSend;
  const char* const what = is_send ? "comm_dst" : "comm_src";
  const auto refuse = [&](const std::string& expected) {
    findings_.add(Problem::kPeer, files_.files[file], node.id,
                  std::string("attribute ") + what + " is " + std::to_string(peer), expected);
  };
  if (shared_) {
    findings_.add(Problem::kSharedMessage, files_.files[file], node,
                  name_of(node.type) + " is in a file that is the trace of all ranks", "a file for each rank");
    return;
  }
  const std::optional<std::uint32_t> own = rank_of(file);
  const bool is_numbered = !place_of_peer_.empty();
  if (own && !is_numbered && peer == static_cast<std::int64_t>(*own)) return refuse("another rank than the file's own");
  if (!files_.is_prefix) return;
  if (peer >= static_cast<std::int64_t>(ranks_)) return refuse("a rank from 0 to " + std::to_string(ranks_ - 1));
  auto other = static_cast<std::uint32_t>(peer);
  if (is_numbered) other = place_of_peer_[other];
  if (own && is_numbered && other == *own) {
    return refuse("another place in the group's list than that of rank " +
                  std::to_string((*implements_for_->sorted)[*own]) + ", which reads this file");
  }
  // A rank without a file was reported once; what it would have said cannot be known.
  if (!file_of_.contains(other)) return;
  if (is_send) {
    sends_.push_back({node.id, *own, other, node.comm_tag(), *node.comm_size(), place});
  } else {
    receives_.push_back({node.id, other, *own, node.comm_tag(), *node.comm_size(), place});
  }
}

void RankMatcher::compare(CheckReport& report) {
  if (!involved_.has_groups()) remark_unknown_dimensions();
  for (const auto& [key, group] : groups_) compare(group, report);
  for (const Channel& channel : channels()) this->report(channel);
  compare_orders(report);
}

/// Equal sizes meet in their order; what is left over is taken in pairs, the smallest first.
std::vector<RankMatcher::Channel> RankMatcher::channels() {
  const auto name = [](const Message& message) { return std::tie(message.source, message.destination, message.tag); };
  const auto order = [&](const Message& a, const Message& b) {
    return std::tuple(name(a), a.size) < std::tuple(name(b), b.size);
  };
  for (std::vector<Message>* all : {&sends_, &receives_}) {
    std::stable_sort(all->begin(), all->end(), [&](const Message& a, const Message& b) {
      return std::tuple(name(a), a.size, a.place) < std::tuple(name(b), b.size, b.place);
    });
  }
  std::vector<Channel> channels;
  const Message* last = nullptr;
  const auto channel_of = [&](const Message& message) -> Channel& {
    if (last == nullptr || name(*last) != name(message)) channels.emplace_back();
    last = &message;
    return channels.back();
  };
  auto send = sends_.cbegin();
  auto receive = receives_.cbegin();
  const Message* met = nullptr;
  while (send != sends_.cend() || receive != receives_.cend()) {
    const bool is_send = receive == receives_.cend() || (send != sends_.cend() && order(*send, *receive));
    const bool is_receive = send == sends_.cend() || (receive != receives_.cend() && order(*receive, *send));
    if (is_send) {
      channel_of(*send).sends.push_back(&*send);
    } else if (is_receive) {
      channel_of(*receive).receives.push_back(&*receive);
    } else {
      if (join(*send, *receive, met != nullptr && !order(*met, *send))) met = &*send;
    }
    if (!is_receive) ++send;
    if (!is_send) ++receive;
  }
  return channels;
}

void RankMatcher::report(const Channel& channel) {
  const auto with_tag = [](const Message& message) {
    return "tag " + std::to_string(message.tag) + " and " + std::to_string(message.size) + " bytes";
  };
  for (std::size_t i = 0; i < std::max(channel.sends.size(), channel.receives.size()); ++i) {
    if (i >= channel.sends.size()) {
      const Message& received = *channel.receives[i];
      findings_.add(Problem::kLoneMessage, file_of(received.destination), received.id,
                    "receives from rank " + std::to_string(received.source) + " what it does not send",
                    "a COMM_SEND_NODE there with destination " + std::to_string(received.destination) + ", " +
                        with_tag(received));
      continue;
    }
    const Message& sent = *channel.sends[i];
    const std::string to = std::to_string(sent.destination);
    if (i >= channel.receives.size()) {
      findings_.add(Problem::kLoneMessage, file_of(sent.source), sent.id,
                    "sends to rank " + to + " what it does not receive",
                    "a COMM_RECV_NODE there with source " + std::to_string(sent.source) + ", " + with_tag(sent));
      continue;
    }
    const Message& received = *channel.receives[i];
    findings_.add(
        Problem::kMessageSize, file_of(sent.source), sent.id,
        "sends " + std::to_string(sent.size) + " bytes to rank " + to + " with tag " + std::to_string(sent.tag),
        "the " + std::to_string(received.size) + " bytes that node " + std::to_string(received.id) + " there receives");
  }
}

}  // namespace weft::chakra
