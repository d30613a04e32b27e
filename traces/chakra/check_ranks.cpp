// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <tuple>

#include "traces/chakra/check_parts.h"

namespace weft::chakra {
namespace {

std::string describe(CollectiveType type, std::int64_t size) {
  return name_of(type) + " of " + std::to_string(size) + " bytes";
}

std::string describe(const std::string& group) {
  return group.empty() ? "of all ranks" : "of group " + group;
}

std::string ordinal(std::uint64_t number) {
  return "collective " + std::to_string(number + 1);
}

}  // namespace

RankMatcher::RankMatcher(const TraceFiles& files, FindingList& findings) : files_(files), findings_(findings) {
  if (!files.is_prefix) return;
  for (std::size_t i = 0; i < files.files.size(); ++i) file_of_.emplace(*files.files[i].rank, i);
  for (const std::uint32_t rank : files.missing) {
    findings.add(files.files.back(), {}, "rank " + std::to_string(rank) + " has no file",
                 "files of all ranks from 0 to " + std::to_string(*files.files.back().rank));
  }
}

std::optional<std::uint32_t> RankMatcher::peer(std::size_t file, const Node& node, std::int64_t rank,
                                               const char* what) {
  if (!files_.is_prefix) return std::nullopt;
  const std::uint32_t highest = *files_.files.back().rank;
  if (rank > static_cast<std::int64_t>(highest)) {
    findings_.add(files_.files[file], node.id, std::string("attribute ") + what + " is " + std::to_string(rank),
                  "a rank from 0 to " + std::to_string(highest));
    return std::nullopt;
  }
  const auto peer = static_cast<std::uint32_t>(rank);
  // A rank without a file was reported once; what it would have said cannot be known.
  if (!file_of_.contains(peer)) return std::nullopt;
  return peer;
}

void RankMatcher::add_send(std::size_t file, const Node& node, std::int64_t destination) {
  const std::optional<std::uint32_t> to = peer(file, node, destination, "comm_dst");
  if (to) sends_.push_back({*files_.files[file].rank, *to, node.comm_tag(), *node.comm_size(), node.id});
}

void RankMatcher::add_receive(std::size_t file, const Node& node, std::int64_t source) {
  const std::optional<std::uint32_t> from = peer(file, node, source, "comm_src");
  if (from) receives_.push_back({*from, *files_.files[file].rank, node.comm_tag(), *node.comm_size(), node.id});
}

void RankMatcher::add_collective(std::size_t file, const Node& node, CollectiveType type, std::int64_t size) {
  if (!files_.is_prefix) return;
  if (const auto dimensions = node.involved_dim()) {
    if (std::find(dimensions->begin(), dimensions->end(), false) != dimensions->end()) return;
  }
  const std::string name = node.pg_name();
  const auto [found, is_new] = groups_.try_emplace(name);
  Group& group = found->second;
  if (is_new) group.reference_file = file;
  if (group.reference_file == file) {
    group.reference.push_back({type, size, node.id});
    return;
  }
  const std::uint64_t position = group.position++;
  if (group.differs || position >= group.reference.size()) return;
  const Collective& other = group.reference[position];
  if (other.type == type && other.size == size) return;
  group.differs = true;
  findings_.add(files_.files[file], node.id, ordinal(position) + " " + describe(name) + " is " + describe(type, size),
                describe(other.type, other.size) + ", as in rank " +
                    std::to_string(*files_.files[group.reference_file].rank) + ", node " + std::to_string(other.id));
}

void RankMatcher::end_file(std::size_t file) {
  for (auto& [name, group] : groups_) {
    const std::uint64_t issued = group.position;
    const bool belongs = issued > 0 || name.empty();
    if (group.reference_file != file && belongs && !group.differs && issued != group.reference.size()) {
      findings_.add(files_.files[file], {},
                    "the rank issues " + std::to_string(issued) + " collectives " + describe(name),
                    std::to_string(group.reference.size()) + ", as rank " +
                        std::to_string(*files_.files[group.reference_file].rank) + " does");
    }
    group.position = 0;
    group.differs = false;
  }
}

void RankMatcher::finish() {
  // A rank that was read before the first one that uses the group of all: it has issued nothing.
  if (const auto all = groups_.find(""); all != groups_.end()) {
    for (std::size_t file = 0; file < all->second.reference_file; ++file) {
      findings_.add(files_.files[file], {}, "the rank issues 0 collectives of all ranks",
                    std::to_string(all->second.reference.size()) + ", as rank " +
                        std::to_string(*files_.files[all->second.reference_file].rank) + " does");
    }
  }
  const auto channel = [](const Message& message) {
    return std::tie(message.source, message.destination, message.tag);
  };
  const auto order = [](const Message& a, const Message& b) {
    return std::tie(a.source, a.destination, a.tag, a.size, a.id) <
           std::tie(b.source, b.destination, b.tag, b.size, b.id);
  };
  std::sort(sends_.begin(), sends_.end(), order);
  std::sort(receives_.begin(), receives_.end(), order);
  auto send = sends_.cbegin();
  auto receive = receives_.cbegin();
  while (send != sends_.cend() || receive != receives_.cend()) {
    const bool by_send = receive == receives_.cend() || (send != sends_.cend() && channel(*send) <= channel(*receive));
    const Message& first = by_send ? *send : *receive;
    const auto is_other = [&](const Message& message) { return channel(message) != channel(first); };
    const auto send_end = std::find_if(send, sends_.cend(), is_other);
    const auto receive_end = std::find_if(receive, receives_.cend(), is_other);
    match(send, send_end, receive, receive_end);
    send = send_end;
    receive = receive_end;
  }
}

/// Which send meets which receive is up to the order of execution, so equal sizes are taken to meet; what is left over
/// with a different size is told in pairs.
void RankMatcher::match(Channel send, Channel send_end, Channel receive, Channel receive_end) {
  std::vector<Message> lone_sends;
  std::vector<Message> lone_receives;
  while (send != send_end || receive != receive_end) {
    if (receive == receive_end || (send != send_end && send->size < receive->size)) {
      lone_sends.push_back(*send++);
    } else if (send == send_end || receive->size < send->size) {
      lone_receives.push_back(*receive++);
    } else {
      ++send;
      ++receive;
    }
  }
  const auto with_tag = [](const Message& message) {
    return "tag " + std::to_string(message.tag) + " and " + std::to_string(message.size) + " bytes";
  };
  for (std::size_t i = 0; i < std::max(lone_sends.size(), lone_receives.size()); ++i) {
    if (i < lone_sends.size() && i < lone_receives.size()) {
      const Message& sent = lone_sends[i];
      const Message& received = lone_receives[i];
      findings_.add(file_of(sent.source), sent.id,
                    "sends " + std::to_string(sent.size) + " bytes to rank " + std::to_string(sent.destination) +
                        " with tag " + std::to_string(sent.tag),
                    "the " + std::to_string(received.size) + " bytes that node " + std::to_string(received.id) +
                        " there receives");
    } else if (i < lone_sends.size()) {
      const Message& sent = lone_sends[i];
      findings_.add(file_of(sent.source), sent.id,
                    "sends to rank " + std::to_string(sent.destination) + " what it does not receive",
                    "a COMM_RECV_NODE there with source " + std::to_string(sent.source) + ", " + with_tag(sent));
    } else {
      const Message& received = lone_receives[i];
      findings_.add(file_of(received.destination), received.id,
                    "receives from rank " + std::to_string(received.source) + " what it does not send",
                    "a COMM_SEND_NODE there with destination " + std::to_string(received.destination) + ", " +
                        with_tag(received));
    }
  }
}

}  // namespace weft::chakra
