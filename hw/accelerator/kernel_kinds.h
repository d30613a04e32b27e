// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
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
    const auto found = numbers_.find(key);
    if (found != numbers_.end()) {
      add_label(labels_[found->second], kernel.label);
      return found->second;
    }
    if (all_.size() == kMost) return kMost;
    numbers_.emplace(key, static_cast<std::uint32_t>(all_.size()));
    all_.push_back(kernel);
    labels_.push_back({kernel.label});
    return static_cast<std::uint32_t>(all_.size() - 1);
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
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Command> all_;
  std::vector<std::vector<const char*>> labels_;
};

}  // namespace weft::accelerator
