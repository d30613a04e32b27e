// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/core/quantity.h"

namespace weft::schedules {

/// The time of an epoch of so many batches, of which the first ones were simulated: those that were not take what the
/// others took in a steady stretch. Samplers begin batches at `begins`, `at_once` of them side by side, and batches end
/// at `ends`, both in order.
///
/// The stretch lies behind the first end and before the last batch is begun: queues are not emptied in it. It has two
/// halves, each of two or more whole rounds of the samplers, since batches that samplers bound end in bursts. The
/// halves take the same time within 0.5 %, from whichever batch of a round they begin. No more batches are begun in it
/// than end, within 5 %: queues are not filled either. Of the stretches that there are, the longest counts. None if
/// there is none, and some batches were not simulated.
[[nodiscard]] std::optional<Time> epoch_time(const std::vector<Time>& begins, const std::vector<Time>& ends,
                                             std::size_t at_once, std::int64_t batches);

}  // namespace weft::schedules
