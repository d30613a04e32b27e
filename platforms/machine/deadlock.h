// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace weft::platforms {

/// Nothing can happen any more and something is unfinished: names who waits for what. The text is about a screen long
/// however large the machine is: the causes, at most ten lines of what is unfinished, from each kind in turn, and how
/// many there are of each kind.
class DeadlockError : public std::runtime_error {
 public:
  /// `causes` are what is no consequence of anything else here, such as links that failed and retries that ran out.
  DeadlockError(const std::vector<std::string>& causes, const std::vector<std::string>& lines);

  /// The text with what a job says of itself between the causes and what is unfinished.
  [[nodiscard]] std::string text(const std::vector<std::string>& job) const;

 private:
  std::string causes_;
  std::string unfinished_;
};

}  // namespace weft::platforms
