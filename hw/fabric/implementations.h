// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/quantity.h"

namespace weft::fabric {

/// Throws ConfigError, with `path`, for a name that is not among `known`.
void check_implementation(const std::vector<std::string>& known, const std::string& name, const std::string& path);

/// Ends the simulation: a block of this name does what it must not.
[[noreturn]] void fail_block(const std::string& name, Time now, const std::string& what);

/// Whether a switch has what is chosen for `switches`, of which none stands for all.
bool is_chosen(const std::vector<std::string>& switches, const std::string& name);

/// What may take a model's place, by the names that a platform gives it as `implementation`. RTL is provided by whoever
/// links it, before the platform is built.
template <typename Block>
class Implementations {
 public:
  /// `always`: the names of what is no block, the model first.
  explicit Implementations(std::vector<std::string> always) : always_(std::move(always)) {}

  /// A name that is there already gets another block.
  void provide(const std::string& name, Block block) { blocks_[name] = std::move(block); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all = always_;
    for (const auto& [name, block] : blocks_) all.push_back(name);
    return all;
  }
  void check(const std::string& name, const std::string& path) const { check_implementation(names(), name, path); }
  /// Null for those that are always there.
  [[nodiscard]] const Block* find(const std::string& name) const {
    const auto found = blocks_.find(name);
    return found == blocks_.end() ? nullptr : &found->second;
  }

 private:
  std::vector<std::string> always_;
  std::map<std::string, Block> blocks_;
};

}  // namespace weft::fabric
