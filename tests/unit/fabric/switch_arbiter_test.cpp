// SPDX-License-Identifier: Apache-2.0
// A switch whose outputs are arbitrated behind pins: by the model's rule at the edges of a clock, and by rules of a
// test.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/random.h"
#include "hw/fabric/switch/clocked_arbiter.h"
#include "hw/fabric/switch/output_arbiter.h"
#include "tests/support/benches/star.h"
#include "tests/support/reports.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

Switch::Config with(const std::string& arbiter, Frequency clock = 1000_MHz) {
  Switch::Config config;
  config.arbiter.implementation = arbiter;
  config.arbiter.clock = clock;
  return config;
}

std::vector<LinkConfig> links(std::size_t count, const LinkConfig& each = link()) {
  return std::vector<LinkConfig>(count, each);
}

/// Grants what `choose` says, a queue or -1.
class Chooser final : public ArbiterPins {
 public:
  using Choose = std::function<int(const ArbiterInputs&)>;
  Chooser(ArbiterShape shape, Choose choose) : shape_(shape), choose_(std::move(choose)) {}
  void drive(const ArbiterInputs& inputs) override { in_ = inputs; }
  void sample(ArbiterOutputs& outputs) const override {
    const int queue = in_.waiting.empty() ? -1 : choose_(in_);
    const auto inputs = static_cast<int>(shape_.inputs);
    outputs.valid = queue >= 0;
    if (queue < 0) return;
    outputs.lane = static_cast<std::uint32_t>(queue / inputs);
    outputs.input = static_cast<std::uint32_t>(queue % inputs);
  }

 private:
  ArbiterShape shape_;
  Choose choose_;
  ArbiterInputs in_;
};

/// Under `name` from now on, for `inputs` of two lanes.
void provide(const std::string& name, std::size_t inputs, const Chooser::Choose& choose) {
  const ArbiterShape shape = {inputs, 2};
  provide_arbiter(name,
                  {shape, [=](auto& /*clk*/, auto& /*reset*/) { return std::make_unique<Chooser>(shape, choose); }});
}

int first_with_credit(const ArbiterInputs& inputs) {
  for (std::size_t queue = 0; queue < 32 * inputs.credit.size(); ++queue) {
    if (has(inputs.credit, queue)) return static_cast<int>(queue);
  }
  return -1;
}

/// Requests are on the pins at the first edge, and granted at the next.
TEST(SwitchArbiter, AnIdleOutputWaitsForTheSecondEdge) {
  for (const Time late : {0_ps, 1_ps, 400_ps, 999_ps}) {
    test::fresh_kernel();
    Star star(links(2), with("clocked"));
    star.script.at(1_us + late, [&] { star.end(0).send(0, 1, 1000); });
    sc_core::sc_start();
    ASSERT_EQ(star.end(1).arrivals.size(), 1U);
    const Time asked = late == Time() ? 1010_ns : 1011_ns;
    EXPECT_EQ(star.end(1).arrivals[0].head, asked + 1_ns + 220_ns + 10_ns);
    star.expect_nothing_left();
  }
}

TEST(SwitchArbiter, TakesItsTimeFromTheClockAndNotFromTheStage) {
  Switch::Config config = with("clocked", 250_MHz);
  config.arbitration = {70_ns, 90_ns};
  Star star(links(3), config);
  star.script.at(1_us, [&] {
    for (int i = 0; i < 10; ++i) {
      for (const std::uint32_t input : {0U, 1U}) star.end(input).send(input, 2, 1000);
    }
  });
  sc_core::sc_start();
  ASSERT_EQ(star.end(2).arrivals.size(), 20U);
  // The first one came at 1010, was on the pins at 1012, and left at 1016.
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(star.end(2).arrivals[static_cast<std::size_t>(i)].tail, 1016_ns + 230_ns + (i + 1) * 20_ns);
  }
}

TEST(SwitchArbiter, NeverIdlesAnOutputUnderLoad) {
  for (const std::uint32_t bytes : {200U, 1000U, 4162U}) {
    test::fresh_kernel();
    Star star(links(3), with("clocked"));
    constexpr int kPackets = 500;
    star.script.at(1_us, [&] {
      for (int i = 0; i < kPackets; ++i) {
        for (const std::uint32_t input : {0U, 1U}) star.end(input).send(input, 2, bytes);
      }
    });
    sc_core::sc_start();
    const auto& arrivals = star.end(2).arrivals;
    ASSERT_EQ(arrivals.size(), 2U * kPackets);
    for (std::size_t i = 1; i < arrivals.size(); ++i) {
      ASSERT_EQ(arrivals[i].tail - arrivals[i - 1].tail, std::int64_t{bytes} * 20_ps) << i << " of " << bytes;
      ASSERT_NE(arrivals[i].source, arrivals[i - 1].source);
    }
    star.expect_nothing_left();
  }
}

/// All that is there when the first packet has left, of 8 inputs and two lanes, leaves in the model's order.
TEST(SwitchArbiter, HasTheModelsOrder) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    std::vector<std::array<std::uint32_t, 3>> orders[2];
    for (const bool pins : {false, true}) {
      test::fresh_kernel();
      Random random(seed, "arbiter");
      Star star(links(9), with(pins ? "clocked" : "model"));
      star.script.at(1_us, [&] { star.end(0).send(0, 8, 200'000); });
      star.script.at(1100_ns, [&] {
        for (std::uint32_t input = 1; input < 8; ++input) {
          for (std::uint64_t i = random.next() % 20; i != 0; --i) {
            star.end(input).send(input, 8, 64 + static_cast<std::uint32_t>(random.next() % 1000), random.next() % 2);
          }
        }
      });
      sc_core::sc_start();
      star.expect_nothing_left();
      for (const End::Arrival& a : star.end(8).arrivals) orders[pins ? 1 : 0].push_back({a.lane, a.source, a.number});
    }
    EXPECT_GT(orders[0].size(), 20U);
    EXPECT_EQ(orders[0], orders[1]);
  }
}

/// The receiver has room for one packet of a lane, and gives it back late: the other lane goes on.
TEST(SwitchArbiter, ALaneWithoutCreditIsPassedOver) {
  LinkConfig two = link();
  two.lanes = 2;
  two.buffer = 1000_B;
  Star star(links(3, two), with("clocked"));
  star.end(2).hold = true;
  star.script.at(1_us, [&] {
    for (int i = 0; i < 2; ++i) star.end(0).send(0, 2, 1000, 0);
    star.end(1).send(1, 2, 1000, 1);
  });
  star.script.at(10_us, [&] {
    EXPECT_EQ(star.end(2).arrivals.size(), 2U);
    star.end(2).release();
    star.end(2).release();
  });
  star.script.at(20_us, [&] {
    ASSERT_EQ(star.end(2).arrivals.size(), 3U);
    EXPECT_EQ(star.end(2).arrivals[2].lane, 0);
    // The credit takes 10 ns, and then two edges.
    EXPECT_GE(star.end(2).arrivals[2].head, 10_us + 10_ns + 1_ns + 220_ns + 10_ns);
    EXPECT_LE(star.end(2).arrivals[2].head, 10_us + 10_ns + 2_ns + 220_ns + 10_ns);
    star.end(2).release();
  });
  sc_core::sc_start();
  star.expect_nothing_left();
}

TEST(SwitchArbiter, AnyRuleCanChoose) {
  provide("lowest", 5, first_with_credit);
  Star star(links(5), with("lowest"));
  star.script.at(1_us, [&] { star.end(3).send(3, 4, 20'000); });
  star.script.at(1100_ns, [&] {
    for (int i = 0; i < 5; ++i) {
      for (const std::uint32_t input : {2U, 1U, 0U}) star.end(input).send(input, 4, 1000);
    }
  });
  sc_core::sc_start();
  std::vector<std::uint32_t> sources;
  for (const End::Arrival& a : star.end(4).arrivals) sources.push_back(a.source);
  EXPECT_EQ(sources, (std::vector<std::uint32_t>{3, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2}));
  star.expect_nothing_left();
}

/// A block that waits for company is asked again when there is some, and its clock stands still meanwhile.
TEST(SwitchArbiter, ABlockThatGrantsNothingIsLeftAloneUntilSomethingChanges) {
  int looked = 0;
  provide("for-two", 4, [&looked](const ArbiterInputs& inputs) {
    ++looked;
    return has(inputs.credit, 0) && has(inputs.credit, 1) ? 0 : has(inputs.credit, 1) && looked > 500 ? 1 : -1;
  });
  Star star(links(4), with("for-two"));
  star.script.at(1_us, [&] { star.end(0).send(0, 3, 1000); });
  star.script.at(9_us, [&] {
    EXPECT_EQ(star.sw->waiting(), 1);
    EXPECT_LT(looked, 200);
  });
  star.script.at(10_us, [&] { star.end(1).send(1, 3, 1000); });
  sc_core::sc_start();
  ASSERT_EQ(star.end(3).arrivals.size(), 1U);
  EXPECT_EQ(star.end(3).arrivals[0].source, 0U);
  EXPECT_EQ(star.end(3).arrivals[0].head, 10'010_ns + 1_ns + 220_ns + 10_ns);
  EXPECT_EQ(star.sw->waiting(), 1);
}

TEST(SwitchArbiter, AGrantWithoutAPacketEndsTheSimulation) {
  provide("wrong", 4, [](const ArbiterInputs& inputs) { return first_with_credit(inputs) < 0 ? -1 : 5; });
  Star star(links(4), with("wrong"));
  star.script.at(1_us, [&] { star.end(0).send(0, 3, 1000); });
  const test::ExpectReports reports;
  EXPECT_THROW(sc_core::sc_start(), sc_core::sc_report);
  EXPECT_EQ(
      reports.messages(),
      std::vector<std::string>{"weft.rtl: switch.arbiter3: at 1011ns it granted input 1 of lane 1, where no packet "
                               "waited with credit"});
}

}  // namespace
}  // namespace weft::fabric
