// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sw/workloads/parallelism.h"
#include "traces/chakra/groups.h"

namespace weft::workloads {

/// Which ranks form the communicators of a workload, and their names in traces: numbers from 1, those of a kind in the
/// order of their lowest ranks.
class Groups {
 public:
  /// Ranks that hold the same parameters have gradients to reduce. With fsdp they share them out among the shard axes.
  struct Holders {
    AxisSet shards;
    AxisSet replicas;
  };

  Groups(const Parallelism& parallel, bool tied, bool has_experts);

  [[nodiscard]] const Holders& dense() const { return dense_; }
  [[nodiscard]] const Holders& experts() const { return experts_; }
  /// Whether the last stage has a copy of the embedding.
  [[nodiscard]] bool has_tied_stages() const { return tied_first_ != 0; }

  /// The name of a rank's group among `axes`, one of those above or tp or ep alone; "" if it is alone.
  [[nodiscard]] std::string name(std::int64_t rank, AxisSet axes) const;
  /// That of the first and the last pipeline stage.
  [[nodiscard]] std::string tied_name(std::int64_t rank) const;
  [[nodiscard]] std::vector<chakra::RankGroup> all() const;

 private:
  struct Kind {
    AxisSet axes;
    std::int64_t first = 0;  ///< name
  };
  [[nodiscard]] std::int64_t tied_number(std::int64_t rank) const;

  Parallelism parallel_;
  Holders dense_;
  Holders experts_;
  std::vector<Kind> kinds_;
  std::int64_t tied_first_ = 0;  ///< name; 0 without
};

}  // namespace weft::workloads
