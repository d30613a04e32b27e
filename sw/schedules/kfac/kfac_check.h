// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sw/schedules/kfac/kfac.h"

namespace weft::schedules {

/// Whether a run with data on sends what it should: in place of what kernels compute it writes numbers that tell rank,
/// tensor and step, and when a stage reads what has come, it compares that with the sum over ranks, or with what the
/// owner has written. Sums of gradients, factors and averaged weights, broadcast inverses and preconditioned gradients
/// are compared, exactly, as the sums are of small whole numbers. What stages of a schedule's own do is not done.
///
///     KfacCheck check(kfac, machine.ranks());
///     kfac.set_arithmetic(check.arithmetic());
class KfacCheck {
 public:
  /// Throws ConfigError for compressed gradients, whose sums lack what stays behind.
  KfacCheck(const Kfac& kfac, std::vector<firmware::Rank*> ranks);

  [[nodiscard]] Kfac::Arithmetic arithmetic();
  /// Elements, on all ranks.
  [[nodiscard]] std::int64_t compared() const { return compared_; }
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }

 private:
  enum class Kind : std::uint8_t { kGradient, kFactor, kInverse, kAverage };

  void run(const firmware::Rank& rank, int member, const KfacStage& stage);
  void update(const firmware::Rank& rank, int member, const KfacStage& stage);
  /// Tells what `item` is, and how often it has been written: with this time, and up to now.
  std::uint64_t next(int member, Kind kind, std::size_t item);
  std::uint64_t latest(int member, Kind kind, std::size_t item);
  void fill(const firmware::Rank& rank, std::uint64_t address, std::int64_t elements, std::uint64_t seed, int writer,
            ElementType type = ElementType::kFp32);
  /// Over all that travel together with the rank.
  void expect_sum(const firmware::Rank& rank, std::uint64_t address, std::int64_t elements, std::uint64_t seed,
                  std::span<const int> members, ElementType type = ElementType::kFp32);
  void expect_owners(const firmware::Rank& rank, std::uint64_t address, std::int64_t elements, std::uint64_t seed);
  [[nodiscard]] std::int64_t parameters(std::size_t layer) const;

  const Kfac& kfac_;
  std::vector<firmware::Rank*> ranks_;
  std::vector<std::map<std::pair<Kind, std::size_t>, std::uint64_t>> times_;  ///< by rank: written so often
  std::int64_t compared_ = 0;
  std::int64_t wrong_ = 0;
};

}  // namespace weft::schedules
