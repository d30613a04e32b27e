// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platforms/jobs/collective_summary.h"
#include "platforms/machine/platform.h"
#include "platforms/study/study_file.h"

namespace weft::study {

/// What is to be simulated at a point: all that a worker is told.
struct Task {
  std::string platform;       ///< a file
  Assignments overrides;      ///< in order
  nlohmann::json collective;  ///< null: the platform's workload
  RunOptions options;
  Limits limits;
  std::string by;  ///< names the overrides in messages, as a file would be
};

[[nodiscard]] nlohmann::json to_json(const Task& task);
[[nodiscard]] Task task_of(const nlohmann::json& json);

/// `collective` of a study.
struct CollectiveFields {
  platforms::CollectiveOp op = platforms::CollectiveOp::kAllReduce;
  std::string bytes = "1MiB";
  std::string algorithm;
  ElementType type = ElementType::kFp32;
  bool warm_up = true;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("op", op, "The collective");
    visit("bytes", bytes, "Sizes of the whole buffer: 1MiB,8MiB or 1KiB:1GiB:x2");
    visit("algorithm", algorithm, "Instead of the platform's");
    visit("type", type, "Element type");
    visit("warm_up", warm_up, "Run the first size once before it is measured");
  }
};

/// A task as it was read, before anything is built: it may be done in a process that this one forks.
class ReadTask {
 public:
  /// Throws InputError and UsageError for what is wrong in it.
  explicit ReadTask(const Task& task);

  [[nodiscard]] platforms::Platform& platform() { return *platform_; }
  [[nodiscard]] const std::optional<platforms::CollectiveRequest>& collective() const { return collective_; }
  /// Every value of the machine, of its workload as it stands in the platform, and of the collective, by path.
  [[nodiscard]] const nlohmann::json& values() const { return values_; }
  /// What names the point: equal for equal values and the same version of Weft, however they were given.
  [[nodiscard]] std::string key() const;
  /// Finds what is wrong in it that only a run looks for: keys that nobody knows, and a workload that cannot be read.
  /// Throws what a run throws, and is the last thing that is done with it.
  void check();
  /// Measures now what every point of these memories would measure (memory::StreamModel).
  void warm_up();

 private:
  RunOptions options_;
  std::unique_ptr<platforms::Platform> platform_;
  std::optional<platforms::CollectiveRequest> collective_;
  nlohmann::json values_;
};

/// The name of a point that cannot be read.
[[nodiscard]] std::string key_of_unreadable(const Task& task);

/// What a point comes to. Times that were measured are not in it, so that it is equal for equal points.
struct Outcome {
  nlohmann::ordered_json result;         ///< summary.json, or what weft collective --json prints
  nlohmann::ordered_json configuration;  ///< config.json
  std::string digest;
};

/// Builds the machine and runs it: once in a process. Throws what a run throws, with text for people.
[[nodiscard]] Outcome simulate(ReadTask& task);

}  // namespace weft::study
