// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>
#include <fmt/os.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "hw/core/element.h"

namespace weft::test {

/// A beat of every child of a reduction_lane: a line of lane_tb.sv's stimulus.
struct LaneLine {
  ElementType kind = ElementType::kFp32;
  std::uint32_t children = 0;      ///< mask
  std::uint32_t adds = 0;          ///< mask
  std::vector<std::uint8_t> gaps;  ///< of each child; none if empty
  std::uint16_t stall = 0;
  bool last = false;
  std::uint32_t id = 0;
  std::vector<std::vector<std::uint32_t>> data;  ///< by child; words
};

/// Writes the stimulus and what the model, weft::add, makes of it.
class LaneStimulus {
 public:
  LaneStimulus(const std::string& stimulus, const std::string& expected)
      : stimulus_(fmt::output_file(stimulus)), expected_(fmt::output_file(expected)) {}

  void write(const LaneLine& line) {
    std::string gaps = "0";
    for (auto gap = line.gaps.rbegin(); gap != line.gaps.rend(); ++gap) gaps += fmt::format("{:02x}", *gap);
    std::string data;
    for (auto words = line.data.rbegin(); words != line.data.rend(); ++words) data += hex(*words);
    stimulus_.print("{:x} {:x} {:x} {} {:x} {:x} {:x} {}\n", static_cast<int>(line.kind), line.children, line.adds,
                    gaps, line.stall, static_cast<int>(line.last), line.id, data);

    std::vector<std::uint32_t> sum(line.data[0].size());
    bool adds = false;
    for (std::size_t child = 0; child < line.data.size(); ++child) {
      if ((line.children & line.adds & 1U << child) == 0) continue;
      const std::vector<std::uint32_t>& operand = line.data[child];
      if (adds) {
        add(line.kind, reinterpret_cast<const std::byte*>(sum.data()),
            reinterpret_cast<const std::byte*>(operand.data()), reinterpret_cast<std::byte*>(sum.data()),
            sum.size() * 4);
      } else {
        sum = operand;
      }
      adds = true;
    }
    expected_.print("{:x} {:x} {:x} {}\n", static_cast<int>(line.last), static_cast<int>(adds), line.id, hex(sum));
  }

 private:
  static std::string hex(const std::vector<std::uint32_t>& words) {
    std::string digits;
    for (auto word = words.rbegin(); word != words.rend(); ++word) digits += fmt::format("{:08x}", *word);
    return digits;
  }

  fmt::ostream stimulus_;
  fmt::ostream expected_;
};

}  // namespace weft::test
