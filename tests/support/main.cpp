// SPDX-License-Identifier: Apache-2.0
// The entry of every test executable. libsystemc brings main() and calls sc_main().
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <systemc>
#include <vector>

#include "tests/support/reports.h"

namespace weft::test {

namespace {
ExpectReports* expecting = nullptr;
}

/// Makes warnings and errors of SystemC failures of the test that is running, unless it expects them.
struct ReportHandler {
  static void handle(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
    if (report.get_severity() < sc_core::SC_WARNING) {
      sc_core::sc_report_handler::default_handler(report, actions);
      return;
    }
    const std::string text = std::string(report.get_msg_type()) + ": " + report.get_msg();
    if (expecting != nullptr) {
      expecting->messages_.push_back(text);
      // Only what steers the run is left: throwing, stopping, aborting.
      sc_core::sc_report_handler::default_handler(report, actions & ~(sc_core::SC_DISPLAY | sc_core::SC_LOG));
      return;
    }
    ADD_FAILURE_AT(report.get_file_name(), report.get_line_number()) << "SystemC reports " << text;
    sc_core::sc_report_handler::default_handler(report, actions);
  }
};

ExpectReports::ExpectReports() {
  expecting = this;
  sc_core::sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);  // as weft does
}
ExpectReports::~ExpectReports() {
  expecting = nullptr;
  sc_core::sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_DEFAULT_FATAL_ACTIONS);
}

namespace {

/// Gives each test a kernel at time zero without modules, so that a whole executable can run in one process. Kernels of
/// finished tests are kept: a static of a test may still point into one.
class FreshKernel : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo&) override {
    kernels_.push_back(std::make_unique<sc_core::sc_simcontext>());
    sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = kernels_.back().get();
  }

 private:
  std::vector<std::unique_ptr<sc_core::sc_simcontext>> kernels_;
};

}  // namespace
}  // namespace weft::test

int sc_main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new weft::test::FreshKernel);
  sc_core::sc_report_handler::set_handler(weft::test::ReportHandler::handle);
  // Files and command lines of tests say everything; a user's environment must not.
  unsetenv("WEFT_PATH");
  return RUN_ALL_TESTS();
}
