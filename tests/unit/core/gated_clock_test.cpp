// SPDX-License-Identifier: Apache-2.0
#include "hw/core/gated_clock.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

namespace weft {
namespace {

using namespace weft::literals;

/// Its edges, and how often it is needed again when it falls.
class ClockBench final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(ClockBench);
  ClockBench(sc_core::sc_module_name name, Dispatcher& dispatcher, Frequency frequency)
      : sc_module(name), clock(dispatcher, frequency), dispatcher_(dispatcher) {
    SC_METHOD(toggle);
    sensitive << clock.event();
    SC_METHOD(rise);
    sensitive << clock.signal().posedge_event();
    dont_initialize();
  }

  GatedClock clock;
  int more = 0;
  std::vector<Time> rises;  ///< of the pin
  std::vector<Time> falls;

 private:
  void toggle() {
    if (clock.toggle()) return;
    if (dispatcher_.now() > Time()) falls.push_back(dispatcher_.now());
    if (more == 0) return;
    --more;
    clock.wake(dispatcher_.now());
  }
  void rise() { rises.push_back(dispatcher_.now()); }

  Dispatcher& dispatcher_;
};

TEST(GatedClock, RisesAtWholeCyclesAndOnlyWhenItIsWoken) {
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  ClockBench bench("bench", dispatcher, 500_MHz);
  script.at(100_ns, [&] { bench.clock.wake(101_ns); });  // at 102
  script.at(200_ns, [&] {
    bench.more = 2;
    bench.clock.wake(200_ns);
  });
  script.at(300_ns, [&] {
    bench.clock.wake(500_ns);
    bench.clock.wake(400_ns);  // the earlier one counts
  });
  script.at(301_ns, [&] { bench.clock.wake(600_ns); });
  sc_core::sc_start();
  EXPECT_EQ(bench.rises, (std::vector<Time>{102_ns, 200_ns, 202_ns, 204_ns, 400_ns}));
  EXPECT_EQ(bench.falls, (std::vector<Time>{103_ns, 201_ns, 203_ns, 205_ns, 401_ns}));
}

/// A cycle of 1,428.57 ps: the edges are those of a clock that never stood still.
TEST(GatedClock, KeepsStepWithAClockWithoutEnd) {
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  ClockBench bench("bench", dispatcher, 700_MHz);
  for (const Time at : {5_ns, 6500_ps, 40_us}) {
    script.at(at, [&bench, at] { bench.clock.wake(at); });
  }
  sc_core::sc_start();
  EXPECT_EQ(bench.rises, (std::vector<Time>{5714_ps, 7143_ps, 40_us}));
}

}  // namespace
}  // namespace weft
