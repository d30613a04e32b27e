// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::traces {

/// Finds names like one that was asked for: names with levels joined by dots, of which few are kept while all pass by.
class NearestNames {
 public:
  explicit NearestNames(std::string_view wanted, std::size_t most = 3);

  void look_at(std::string_view name);
  /// The nearest first: names with the same last part in another scope, those a few letters away and those with
  /// letters left out (clk of clock), whatever indices follow, as in "tb.data[3]"; then those that begin so.
  [[nodiscard]] const std::vector<std::string>& found() const { return found_; }
  /// "; did you mean "tb.clk" or "tb.dut.clk"?", or nothing.
  [[nodiscard]] std::string question() const;

 private:
  std::string wanted_;  ///< in small letters
  std::string plain_;   ///< without indices and backslashes
  std::string leaf_;
  std::size_t most_;
  std::vector<std::string> found_;
  std::vector<std::size_t> distances_;
};

/// The text with a * for each number: "network.leaf3.out12" is "network.leaf*.out*".
std::string without_numbers(std::string_view text);

/// Letters to insert, remove or replace; `limit` + 1 where it is more than that.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

}  // namespace weft::traces
