// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platforms/study/dealer.h"

namespace weft::study {

/// Looks for the best points of a study whose `search` says what is good, in place of simulating all. What it evaluates
/// goes to the dealer, generation by generation, and so to the database: the same search, which is the same for equal
/// seeds, goes on from there when it is started once more. Each step of `fidelity` is a search, or takes the best of
/// the step before it. Returns what was dealt. Throws UsageError where Weft was built without an optimiser.
[[nodiscard]] Dealt search(const Study& study, Database& database, Dealer& dealer);

/// Throws UsageError where Weft was built without the optimiser that the study's search needs, and InputError where no
/// point seems to meet the constraints.
void check_search(const Study& study);

}  // namespace weft::study
