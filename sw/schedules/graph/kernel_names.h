// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace weft::schedules {

/// What nodes' kernels are called in pictures and by `weft why`: without what tells apart those of one kind. Numbers
/// go, and words that are nothing but for them: "block3 attention forward mb2" is "block attention forward",
/// "COMP_NODE_7" "COMP_NODE".
class KernelNames {
 public:
  /// Null for a node without a name. It is kept as long as this.
  [[nodiscard]] const char* of(std::string_view node);

 private:
  std::set<std::string, std::less<>> kept_;
};

}  // namespace weft::schedules
