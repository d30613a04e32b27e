// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "traces/nccl_tests/nccl_tests.h"

/// Collectives beside what nccl-tests has measured of them.
namespace weft::platforms {

/// What of a file is compared; where nothing is given, all that it has.
struct MeasuredChoice {
  std::optional<CollectiveOp> op;
  std::optional<ElementType> type;
  std::vector<std::uint64_t> sizes;
};

/// Measurements of one collective, a time for each size. A size that was measured several times has the mean.
class Measured {
 public:
  /// Throws FormatError, and UsageError that names the option which would help where the file leaves open what it
  /// measured, or has nothing of what is chosen.
  Measured(std::string file, const MeasuredChoice& choice);

  [[nodiscard]] CollectiveOp op() const { return op_; }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::vector<std::uint64_t> sizes() const;

  /// Throws UsageError if the file says that it measured another number of ranks.
  void check_ranks(int accelerators, int per_node, const std::string& platform) const;
  /// A line for each row whose own values disagree and each test that did not end well, with the file and its line.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// For summary.json: `file`, `ranks`, `mean_error`, `mean_absolute_error`, `left_out_of_mean`, sizes that are not in
  /// the mean as their measurement is wrong or contradicts itself, and `rows`, a row for each result. With the
  /// critical path, why_summary() and config.json's `values`, a row has the `limit`: what most of its path goes to.
  [[nodiscard]] nlohmann::ordered_json beside(const std::vector<CollectiveResult>& results,
                                              const nlohmann::ordered_json& why,
                                              const nlohmann::ordered_json& values) const;

 private:
  struct Size {
    std::uint64_t bytes = 0;
    std::vector<double> time_us;
    std::vector<double> busbw;
    std::vector<double> in_place_us;
    std::int64_t wrong = 0;
    bool disagrees = false;  ///< within a row of it
  };

  void choose(const std::vector<traces::NcclRow>& rows, const MeasuredChoice& choice);
  void add(const traces::NcclRow& row);

  std::string file_;
  CollectiveOp op_{};
  ElementType type_{};
  int ranks_ = 0;
  std::vector<Size> sizes_;
  std::vector<std::string> warnings_;
};

/// The table of beside(), for people.
[[nodiscard]] std::string measured_text(const nlohmann::ordered_json& beside);

}  // namespace weft::platforms
