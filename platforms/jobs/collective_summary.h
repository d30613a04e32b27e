// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/idle_settings.h"
#include "platforms/machine/platform.h"
#include "platforms/results/link_summary.h"
#include "platforms/results/stopwatch.h"
#include "platforms/results/why/why_summary.h"

namespace weft::platforms {

/// What `weft collective` is asked for, beside the platform.
struct CollectiveRequest {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::string algorithm;  ///< instead of the platform's; empty: the platform's
  ElementType type = ElementType::kFp32;
  std::vector<std::uint64_t> sizes;  ///< of the whole buffer
  bool warms_up = true;
  std::string compression = {};  ///< instead of the platform's; empty: the platform's
};

/// Algorithms that a request can name: those of `collectives.algorithm` and, of a Broadcast, trees.
[[nodiscard]] std::vector<std::string> collective_algorithms();

/// What `collectives.compression.method` can be.
[[nodiscard]] std::vector<std::string> compressor_names();

/// Fields of the platform that the request's algorithm stands for. What it says of a Broadcast is for it alone.
/// `option` is what names it in messages ("--algorithm"). Throws UsageError for a tree of another operation.
[[nodiscard]] std::vector<OptionValue> options_of(const CollectiveRequest& request, const std::string& option);

/// The part that was busy for nearly all of a row's time: its rate is then the row's. Null where what is waited for is
/// latency, or another accelerator.
[[nodiscard]] const Passed* binding(const CollectiveResult& result);

/// The collectives of a request on a platform's machine, from the platform as it was read, with options_of(), to the
/// JSON that `weft collective` gives. It prints and writes nothing.
class CollectiveRows {
 public:
  /// Passes over the workload, and has the document report what nobody has read. Throws InputError.
  CollectiveRows(Platform& platform, CollectiveRequest request);

  Machine& build();
  /// Draws calls of the first `ranks` ranks. Before run().
  void record(Probe& probe, int ranks) { drawn_ = {&probe, ranks}; }
  /// `ended` is called with each row as it ends, that of the warm-up with `measured` false. Throws what a run throws;
  /// after that, too, there is a summary().
  void run(const std::function<void(const CollectiveResult& result, bool measured)>& ended = {});

  [[nodiscard]] Machine& machine() { return *machine_; }
  [[nodiscard]] const std::vector<CollectiveResult>& results() const { return results_; }
  /// What ran otherwise than the configuration asked for; empty if nothing did.
  [[nodiscard]] const std::string& remark() const { return remark_; }
  [[nodiscard]] bool has_wrong() const;
  /// As MachineUse has it, of what compresses messages; null where nothing does.
  [[nodiscard]] std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const;

  /// `timeline` is null. A `partial` one, which is told of by something other than null, has the rows that are done.
  [[nodiscard]] nlohmann::ordered_json summary(const nlohmann::ordered_json& partial = nullptr);

  // After summary():
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// Settings without effect.
  [[nodiscard]] const IdleSettings& idle() const { return *idle_; }
  /// The rows without the warm-up.
  [[nodiscard]] Time length() const { return ends_.empty() ? Time() : ends_.back() - from_; }
  [[nodiscard]] const LinkBaseline* since() const { return since_.get(); }
  /// Of the last row.
  [[nodiscard]] Time end() const { return ends_.empty() ? machine_->end() : ends_.back(); }
  /// Where there is a row.
  [[nodiscard]] WhySpan why() const { return {from_, ends_.back(), ends_, since_.get(), used_, hosts_}; }

 private:
  Platform& platform_;
  CollectiveRequest request_;
  Stopwatch watch_;
  Machine* machine_ = nullptr;
  Drawn drawn_;
  std::vector<CollectiveResult> results_;
  std::string remark_;
  Time from_;
  std::vector<Time> ends_;
  std::shared_ptr<const LinkBaseline> since_;
  std::vector<AcceleratorUse> used_;  ///< by accelerators, by then
  HostTimes hosts_;                   ///< likewise
  std::vector<std::string> warnings_;
  std::optional<IdleSettings> idle_;
};

}  // namespace weft::platforms
