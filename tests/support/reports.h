// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace weft::test {

/// While one lives, SystemC warnings and errors are collected here instead of failing the test. Errors are still
/// thrown, and so are fatal ones.
///
///     ExpectReports reports;
///     EXPECT_THROW(bind_twice(), sc_core::sc_report);
///     EXPECT_EQ(reports.messages().size(), 1u);
class ExpectReports {
 public:
  ExpectReports();
  ~ExpectReports();
  ExpectReports(const ExpectReports&) = delete;
  ExpectReports& operator=(const ExpectReports&) = delete;

  /// The text of each so far, "TYPE: MESSAGE".
  [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }

 private:
  friend struct ReportHandler;
  std::vector<std::string> messages_;
};

}  // namespace weft::test
