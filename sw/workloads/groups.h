// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sw/workloads/config.h"
#include "sw/workloads/parallelism.h"
#include "traces/chakra/groups.h"

namespace weft::workloads {

/// Which ranks form the communicators of a workload, and their names in traces: numbers from 1, those of a kind in the
/// order of their lowest ranks.
class Groups {
 public:
  static constexpr Members kTensor{AxisSet(Axis::kTensor)};
  static constexpr Members kExpert{AxisSet(Axis::kExpert), true};
  static constexpr Members kExpertTensor{AxisSet(Axis::kTensor), true};

  /// Ranks that hold the same parameters have gradients to reduce. With fsdp they share them out among the shard axes.
  struct Holders {
    Members shards;
    Members replicas;
  };

  explicit Groups(const WorkloadConfig& config);

  [[nodiscard]] const Holders& dense() const { return dense_; }
  [[nodiscard]] const Holders& experts() const { return experts_; }
  /// Whether the last stage has a copy of the embedding.
  [[nodiscard]] bool has_tied_stages() const { return tied_first_ != 0; }

  /// The name of a rank's group, one of those above or of tp, ep or etp alone; "" if it is alone.
  [[nodiscard]] std::string name(std::int64_t rank, Members members) const;
  /// That of the first and the last pipeline stage.
  [[nodiscard]] std::string tied_name(std::int64_t rank) const;
  /// With DualPipe, that of a rank and the one that has the same parts of the model.
  [[nodiscard]] std::string mirrored_name(std::int64_t rank) const;
  [[nodiscard]] std::vector<chakra::RankGroup> all() const;

 private:
  struct Kind {
    std::vector<Parallelism::Span> spans;
    std::int64_t first = 0;  ///< name
  };
  [[nodiscard]] std::int64_t tied_number(std::int64_t rank) const;
  [[nodiscard]] std::int64_t mirrored_number(std::int64_t rank) const;

  Parallelism parallel_;
  Holders dense_;
  Holders experts_;
  std::vector<Kind> kinds_;
  std::int64_t tied_first_ = 0;      ///< name; 0 without
  std::int64_t mirrored_first_ = 0;  ///< likewise
};

}  // namespace weft::workloads
