// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <boost/container_hash/hash.hpp>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "hw/accelerator/command.h"

namespace weft::accelerator {

/// The kinds of kernels that an accelerator has run, by what they ask of it: what each took can be held against what
/// its kind takes alone.
class KernelKinds {
 public:
  static constexpr std::uint32_t kMost = 1 << 12;

  /// The number of a kernel's kind, in the order in which they came; kMost where it would be beyond.
  std::uint32_t number(const Command& kernel) {
    const Key key = {kernel.launch_ps, kernel.compute_ps, kernel.read, kernel.written,
                     kernel.cores,     kernel.blocks,     kernel.tiles};
    // Steps repeat: what comes in a stream is mostly what came there the last time.
    Stream& stream = streams_[kernel.stream % streams_.size()];
    std::uint32_t& latest = stream.latest;
    std::uint32_t& next = latest == kMost ? stream.first : known_[latest].next;
    if (next != kMost && known_[next].key == key && known_[next].label == kernel.label) return latest = next;
    const auto [found, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(all_.size()));
    if (is_new && all_.size() == kMost) {
      numbers_.erase(found);
      return kMost;
    }
    next = latest = found->second;
    if (is_new) {
      all_.push_back(kernel);
      labels_.emplace_back();
      known_.push_back({key, kMost, nullptr});
    }
    add_label(labels_[latest], kernel.label);
    known_[latest].label = kernel.label;
    return latest;
  }
  /// A kernel of each, by number.
  [[nodiscard]] const std::vector<Command>& all() const { return all_; }
  /// What those of a kind are called, the first kMostLabels of them; a label is null where the sender gave none.
  [[nodiscard]] const std::vector<const char*>& labels(std::uint32_t number) const { return labels_[number]; }

 private:
  static constexpr std::size_t kMostLabels = 8;

  static void add_label(std::vector<const char*>& labels, const char* label) {
    if (labels.size() < kMostLabels && std::find(labels.begin(), labels.end(), label) == labels.end()) {
      labels.push_back(label);
    }
  }

  using Key =
      std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Stream {
    std::uint32_t first = kMost;
    std::uint32_t latest = kMost;
  };
  /// What a look at a kind needs, in a cache line.
  struct alignas(64) Known {
    Key key;
    std::uint32_t next = kMost;  ///< the kind that came after it the last time
    const char* label = nullptr;
  };

  std::unordered_map<Key, std::uint32_t, boost::hash<Key>> numbers_;
  std::vector<Known> known_;  ///< by number
  std::array<Stream, 4> streams_;
  std::vector<Command> all_;
  std::vector<std::vector<const char*>> labels_;
};

}  // namespace weft::accelerator
