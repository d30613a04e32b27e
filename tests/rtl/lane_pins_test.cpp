// SPDX-License-Identifier: Apache-2.0
// fabric::ModelledLane and hw/rtl/reduction_lane.sv pin for pin, with inputs and an output that stall at random.
#include <gtest/gtest.h>

#include <vector>

#include "Vlane_4x8.h"
#include "hw/core/random.h"
#include "hw/fabric/reduction/modelled_lane.h"
#include "tests/rtl/ports.h"

namespace weft::test {
namespace {

using fabric::LaneInputs;
using fabric::LaneOutputs;

constexpr fabric::LaneShape kShape{4, 8};
constexpr std::size_t kPinWords = kShape.bytes / 4;

void drive(Vlane_4x8& rtl, const LaneInputs& pins) {
  rtl.kind = static_cast<std::uint8_t>(pins.kind);
  rtl.children = static_cast<std::uint8_t>(pins.children);
  rtl.in_valid = static_cast<std::uint8_t>(pins.valid);
  rtl.in_last = static_cast<std::uint8_t>(pins.last);
  rtl.in_adds = static_cast<std::uint8_t>(pins.adds);
  rtl.out_ready = pins.out_ready;
  for (std::size_t i = 0; i < pins.data.size(); ++i) set_word(rtl.in_data, i, pins.data[i]);
  for (std::size_t i = 0; i < pins.id.size(); ++i) set_word(rtl.in_id, i, pins.id[i]);
  rtl.eval();
}

LaneOutputs outputs_of(const Vlane_4x8& rtl) {
  LaneOutputs pins;
  pins.ready = rtl.in_ready;
  pins.valid = rtl.out_valid != 0;
  pins.last = rtl.out_last != 0;
  pins.adds = rtl.out_adds != 0;
  pins.id = rtl.out_id;
  for (std::size_t i = 0; i < kPinWords; ++i) pins.data.push_back(word_of(rtl.out_data, i));
  return pins;
}

/// What `weft vcd calibrate` writes of this lane.
fabric::ReductionEngine::Config calibrated() {
  fabric::ReductionEngine::Config config;
  config.fp32 = config.bf16 = config.int32 = config.fp16 = kShape.bytes;
  config.latency = cycle_time(9, config.clock);
  return config;
}

TEST(LanePins, AreThoseOfTheModelInEveryCycle) {
  Vlane_4x8 rtl;
  rtl.reset = 1;
  clock(rtl);
  rtl.reset = 0;
  fabric::ModelledLane model(calibrated(), kShape);
  Random random(5, "");
  LaneInputs pins;
  pins.data.resize(kShape.children * kPinWords);
  pins.id.resize(kShape.children);
  std::vector<std::uint32_t> numbers(kShape.children);  // of each child's next beat
  LaneOutputs modelled;
  modelled.data.resize(kPinWords);
  std::uint64_t sums = 0;
  std::uint64_t blocked = 0;
  for (int cycle = 0; cycle < 50'000; ++cycle) {
    if (cycle % 500 == 400) pins.valid = 0;  // and no other until it has run empty
    if (cycle % 500 == 0) {
      ASSERT_TRUE(model.empty());
      pins.children = 1 + random.next() % 15;
      pins.kind = static_cast<ElementType>(random.next() % 4);
      std::fill(numbers.begin(), numbers.end(), 0);
    }
    const double busy = cycle % 1000 < 500 ? 1 : 0.7;
    for (std::size_t child = 0; cycle % 500 < 400 && child < kShape.children; ++child) {
      const std::uint64_t bit = 1ULL << child;
      if ((pins.valid & bit) != 0 || (pins.children & bit) == 0 || random.share() >= busy) continue;
      const std::uint32_t number = numbers[child]++;
      pins.valid |= bit;
      pins.last = number % 3 == 2 ? pins.last | bit : pins.last & ~bit;
      pins.adds = (number + child) % 5 != 0 ? pins.adds | bit : pins.adds & ~bit;
      pins.id[child] = number / 3;
      for (std::size_t word = 0; word < kPinWords; ++word) {
        pins.data[child * kPinWords + word] = static_cast<std::uint32_t>(random.next());
      }
    }
    pins.out_ready = cycle % 500 >= 400 || random.share() < 0.6;
    drive(rtl, pins);
    model.drive(pins);
    const LaneOutputs real = outputs_of(rtl);
    model.sample(modelled);
    ASSERT_EQ(modelled.ready, real.ready) << cycle;
    ASSERT_EQ(modelled.valid, real.valid) << cycle;
    if (real.valid) {
      ASSERT_EQ(modelled.last, real.last) << cycle;
      ASSERT_EQ(modelled.adds, real.adds) << cycle;
      ASSERT_EQ(modelled.id, real.id) << cycle;
      ASSERT_EQ(modelled.data, real.data) << cycle;
      ++(pins.out_ready ? sums : blocked);
    }
    clock(rtl);
    model.edge(modelled);
    pins.valid &= ~real.ready;
  }
  EXPECT_GT(sums, 10'000U);
  EXPECT_GT(blocked, 5'000U);
}

}  // namespace
}  // namespace weft::test
