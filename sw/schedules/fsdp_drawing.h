// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "hw/core/probe.h"
#include "sw/firmware/rank.h"
#include "sw/schedules/fsdp_plan.h"
#include "sw/schedules/phase_row.h"

namespace weft::schedules {

/// Draws one rank of Fsdp: its collectives, a row for each of its communicators, and which phase it is in: a step, in
/// it the forward pass, the head, the backward pass and the optimizer, and in a pass the layers. A phase ends when the
/// rank's host hears that its kernels have.
class FsdpDrawing {
 public:
  enum Row : std::uint8_t { kGathers, kScatters, kCopies, kExchanges, kRows };
  struct Collective {
    std::string_view operation;  ///< AllGather
    const std::string& what;
    Time asked;
    Time began;
    std::uint64_t bytes;
    int ranks;
    std::uint32_t semaphore = 0;
    std::uint64_t done = 0;  ///< what kernels wait for the semaphore to reach; 0: they do not
  };

  FsdpDrawing(Probe& probe, const firmware::Rank& rank, const FsdpPlan& plan);
  void add_row(Row row, const std::string& name) { rows_[row] = probe_.add_track(process_, name); }

  /// One that ends now.
  void collective(Row row, const Collective& ended);
  /// A stage of a step has ended; the one behind the plan's last is the optimizer's.
  void ended(int step, int stage);

  [[nodiscard]] const std::string& process() const { return process_; }

 private:
  Probe& probe_;
  const firmware::Rank& rank_;
  const FsdpPlan& plan_;
  std::string process_;
  std::array<int, kRows> rows_{};
  PhaseRow phases_;
  int head_;  ///< its stage
};

}  // namespace weft::schedules
