// SPDX-License-Identifier: Apache-2.0
// The tests' own footing: kernels are fresh, and SystemC's reports are seen.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <systemc>

#include "tests/support/reports.h"

namespace {

SC_MODULE(Ticker) {
  int ticks = 0;
  SC_CTOR(Ticker) {
    SC_THREAD(run);
  }
  void run() {
    for (;;) {
      wait(1, sc_core::SC_NS);
      ++ticks;
    }
  }
};

void expect_fresh_kernel() {
  EXPECT_EQ(sc_core::sc_get_status(), sc_core::SC_ELABORATION);
  EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::SC_ZERO_TIME);
  Ticker ticker("ticker");
  EXPECT_STREQ(ticker.name(), "ticker");
  sc_core::sc_start(3500, sc_core::SC_PS);
  EXPECT_EQ(ticker.ticks, 3);
}

TEST(Support, FirstTestHasAFreshKernel) {
  expect_fresh_kernel();
}
TEST(Support, SecondTestHasAFreshKernel) {
  expect_fresh_kernel();
}

TEST(Support, WarningFails) {
  EXPECT_NONFATAL_FAILURE(SC_REPORT_WARNING("probe", "a word"), "SystemC reports probe: a word");
}

TEST(Support, ExpectedReportsAreCollected) {
  weft::test::ExpectReports reports;
  SC_REPORT_WARNING("probe", "a word");
  EXPECT_THROW(SC_REPORT_ERROR("probe", "worse"), sc_core::sc_report);
  EXPECT_EQ(reports.messages(), (std::vector<std::string>{"probe: a word", "probe: worse"}));
}

}  // namespace
