// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/p2p_schedule.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>

#include "sw/collectives/nccl/nccl_choice.h"

namespace weft::collectives {

namespace {

int next_power_of_two(int count) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
}

/// Of a member's links in its node two for each: NVLink's have 25 GB/s up to Hopper and 50 GB/s from Blackwell on.
int of_links(Rate within) {
  const std::int64_t link = (is_blackwell(within) ? 50LL : 25LL) * 8'000'000'000;
  return 2 * static_cast<int>(std::clamp<std::int64_t>(within.count() / link, 1, 64));
}

/// Over the network: two, and one where there are more members than two for a channel.
int of_network(int members, int channels) {
  return 2 * members > 4 * channels ? 1 : 2;
}

}  // namespace

P2pSchedule::P2pSchedule(const Nodes& nodes, Rate within, int cores) : one_node_(nodes.count() == 1) {
  group_ = one_node_ ? nodes.per_node() : kTogether;
  bool has_neighbours = false;
  for (const std::vector<int>& row : nodes.rows()) {
    group_ = std::gcd(group_, static_cast<int>(row.size()));
    has_neighbours |= row.size() > 1;
    order_.insert(order_.end(), row.begin(), row.end());
  }
  const int members = rounds();
  place_.resize(order_.size());
  for (int i = 0; i < members; ++i) place_[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])] = i;

  const int groups = members / group_;
  const int of_two = next_power_of_two(groups);
  turn_of_.resize(static_cast<std::size_t>(groups));
  for (int step = 0, distance = 0; step < of_two; ++step, distance = (distance + step) % of_two) {
    if (distance >= groups) continue;
    turn_of_[static_cast<std::size_t>(distance)] = static_cast<int>(distances_.size());
    distances_.push_back(distance);
  }

  channels_ = next_power_of_two(cores);
  int most = channels_;
  if (has_neighbours) most = std::min(most, of_links(within));
  if (!one_node_) most = std::min(most, of_network(members, channels_));
  per_peer_ = std::min(next_power_of_two(most), channels_);
  least_ = per_peer_;
  while (least_ > 1 && least_ * members > channels_) least_ /= 2;
}

int P2pSchedule::at(int member, int round, int sign) const {
  const auto beside = [sign](int from, int distance, int count) { return (from + sign * distance + count) % count; };
  const int groups = rounds() / group_;
  const int place = place_[static_cast<std::size_t>(member)];
  const int group = beside(place / group_, distances_[static_cast<std::size_t>(round / group_)], groups);
  return order_[static_cast<std::size_t>(group * group_ + beside(place % group_, round % group_, group_))];
}

int P2pSchedule::round_to(int member, int peer) const {
  const int groups = rounds() / group_;
  const int here = place_[static_cast<std::size_t>(member)];
  const int there = place_[static_cast<std::size_t>(peer)];
  const int distance = (there / group_ - here / group_ + groups) % groups;
  return turn_of_[static_cast<std::size_t>(distance)] * group_ + (there % group_ - here % group_ + group_) % group_;
}

int P2pSchedule::channels_of(std::uint64_t bytes) const {
  constexpr std::uint64_t kLeast = 64 << 10;
  const std::uint64_t most = one_node_ ? 16 << 20 : 128 << 10;
  const auto divided = [bytes](std::uint64_t by) { return (bytes + by - 1) / by; };
  int count = static_cast<int>(std::clamp<std::uint64_t>(divided(kLeast), 1, static_cast<std::uint64_t>(least_)));
  while (count <= per_peer_ / 2 && divided(static_cast<std::uint64_t>(count)) > most) count *= 2;
  return count;
}

int P2pSchedule::first_channel(int round) const {
  // Over nodes a batch's, not a round's. A run of rounds to a group has one batch, since groups are of eight at most.
  auto base = static_cast<unsigned>(one_node_ ? round : round / group_);
  int channel = 0;
  for (int bit = 1; bit < channels_; bit *= 2, base /= 2) channel = 2 * channel + static_cast<int>(base % 2);
  return channel;
}

}  // namespace weft::collectives
