// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/join_parts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace weft::vcd {
namespace {

struct VectorName {
  std::uint32_t scope;
  std::string_view base;
  bool operator==(const VectorName&) const = default;
};

struct HashOfVectorName {
  std::size_t operator()(const VectorName& name) const {
    return std::hash<std::string_view>()(name.base) + 0x9e3779b97f4a7c15 * name.scope;
  }
};

using Members = std::vector<std::uint32_t>;  ///< indices of signals

class Joiner {
 public:
  Joiner(Header& header, const std::vector<Piece>& pieces) : header_(header), pieces_(pieces) {}

  void join() {
    for (const Members& members : candidates()) divide(members);
    if (!joined_.empty()) replace();
  }

 private:
  /// Of each name that several variables of a scope have, all of them.
  [[nodiscard]] std::vector<Members> candidates() const {
    std::unordered_map<VectorName, std::uint32_t, HashOfVectorName> first;
    std::unordered_map<std::uint32_t, Members> several;  // by the first of them
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
      const VectorName name{pieces_[i].scope, std::string_view(header_.signals[i].name).substr(0, pieces_[i].base)};
      const auto [known, is_new] = first.try_emplace(name, i);
      if (is_new) continue;
      Members& members = several[known->second];
      if (members.empty()) members.push_back(known->second);
      members.push_back(i);
    }
    std::vector<Members> all;
    for (auto& [of, members] : several) {
      const bool has_whole =
          std::any_of(members.begin(), members.end(), [&](std::uint32_t i) { return !pieces_[i].bits; });
      if (!has_whole) all.push_back(std::move(members));
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  /// A bit that comes once more, with other values, begins another vector of the name.
  void divide(const Members& members) {
    std::vector<Members> groups;
    std::map<int, std::uint32_t> low;  // of the last group
    for (const std::uint32_t i : members) {
      const BitRange& bits = *pieces_[i].bits;
      const std::optional<std::uint32_t> other = overlapping(low, bits);
      if (other && header_.signals[*other].net == header_.signals[i].net && *pieces_[*other].bits == bits) {
        repeated_.push_back(i);
        continue;
      }
      if (other && (bits.width() > 1 || pieces_[*other].bits->width() > 1)) return;  // a vector and bits of it
      if (other || groups.empty()) {
        groups.emplace_back();
        low.clear();
      }
      groups.back().push_back(i);
      low.emplace(bits.low(), i);
    }
    for (const Members& group : groups) join_runs(group);
  }

  [[nodiscard]] std::optional<std::uint32_t> overlapping(const std::map<int, std::uint32_t>& low,
                                                         const BitRange& bits) const {
    auto next = low.upper_bound(bits.high());
    if (next == low.begin()) return std::nullopt;
    --next;
    if (pieces_[next->second].bits->high() < bits.low()) return std::nullopt;
    return next->second;
  }

  void join_runs(Members group) {
    if (group.size() < 2) return;
    const std::optional<bool> rises = direction(group);
    if (!rises) return;
    const auto bits = [&](std::uint32_t i) -> const BitRange& { return *pieces_[i].bits; };
    std::sort(group.begin(), group.end(), [&](auto a, auto b) { return bits(a).high() > bits(b).high(); });
    for (auto from = group.begin(); from != group.end();) {
      auto to = from + 1;
      while (to != group.end() && bits(*to).high() == bits(*(to - 1)).low() - 1) ++to;
      Members run(from, to);
      if (*rises) std::reverse(run.begin(), run.end());
      make(run);
      from = to;
    }
  }

  /// Whether the leftmost bit has the smallest number: as the parts say, or the order of bits. None if parts differ.
  [[nodiscard]] std::optional<bool> direction(const Members& group) const {
    std::optional<bool> said;
    bool rises = true;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const BitRange& bits = *pieces_[group[i]].bits;
      if (i > 0) rises = rises && pieces_[group[i - 1]].bits->high() < bits.low();
      if (bits.width() == 1) continue;
      if (said && *said == bits.falls()) return std::nullopt;
      said = !bits.falls();
    }
    return said.value_or(rises);
  }

  /// Of parts from left to right.
  void make(const Members& run) {
    const Signal& left = header_.signals[run.front()];
    Signal signal;
    signal.name = left.name.substr(0, pieces_[run.front()].base);
    signal.range = BitRange{pieces_[run.front()].bits->left, pieces_[run.back()].bits->right}.text();
    signal.type = left.type;
    signal.net = left.net;
    signal.fault = left.fault;
    std::int64_t width = 0;
    for (const std::uint32_t i : run) {
      const Signal& part = header_.signals[i];
      width += part.width;
      if (part.fault != SignalFault::kNone) signal.fault = part.fault;
      if (run.size() > 1) signal.parts.push_back({part.net, part.width});
    }
    constexpr std::int64_t kWidest = 1 << 26;
    if (width > kWidest) signal.fault = SignalFault::kWidth;
    signal.width = static_cast<int>(std::min(width, kWidest));
    joined_.push_back({*std::min_element(run.begin(), run.end()), std::move(signal)});
    for (const std::uint32_t i : run) vector_of_[i] = joined_.size() - 1;
  }

  /// The vectors come to the place of their first part.
  void replace() {
    constexpr auto kGone = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> moved(header_.signals.size(), kGone);
    std::vector<std::uint32_t> place(joined_.size());
    std::vector<Signal> signals;
    std::sort(repeated_.begin(), repeated_.end());
    for (std::uint32_t i = 0; i < moved.size(); ++i) {
      const auto vector = vector_of_.find(i);
      if (vector == vector_of_.end()) {
        if (std::binary_search(repeated_.begin(), repeated_.end(), i)) continue;
        moved[i] = static_cast<std::uint32_t>(signals.size());
        signals.push_back(std::move(header_.signals[i]));
      } else if (joined_[vector->second].first == i) {
        place[vector->second] = static_cast<std::uint32_t>(signals.size());
        signals.push_back(joined_[vector->second].signal);
      }
    }
    for (Net& net : header_.all_nets) {
      const auto vector = vector_of_.find(net.signal);
      if (vector != vector_of_.end()) {
        net.part = pieces_[net.signal].bits->text();
        net.signal = place[vector->second];
      } else {
        net.signal = moved[net.signal];
      }
    }
    header_.signals = std::move(signals);
  }

  struct Joined {
    std::uint32_t first;  ///< of its parts in the order of the file
    Signal signal;
  };

  Header& header_;
  const std::vector<Piece>& pieces_;
  std::vector<Joined> joined_;
  std::unordered_map<std::uint32_t, std::size_t> vector_of_;  ///< by the part
  Members repeated_;
};

}  // namespace

void join_parts(Header& header, const std::vector<Piece>& pieces) {
  Joiner(header, pieces).join();
}

}  // namespace weft::vcd
