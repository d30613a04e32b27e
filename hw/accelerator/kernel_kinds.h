// SPDX-License-Identifier: Apache-2.0
#pragma once

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
    if (found != numbers_.end()) return found->second;
    if (all_.size() == kMost) return kMost;
    numbers_.emplace(key, static_cast<std::uint32_t>(all_.size()));
    all_.push_back(kernel);
    return static_cast<std::uint32_t>(all_.size() - 1);
  }
  /// A kernel of each, by number.
  [[nodiscard]] const std::vector<Command>& all() const { return all_; }

 private:
  using Key =
      std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Command> all_;
};

}  // namespace weft::accelerator
