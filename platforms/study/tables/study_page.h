// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platforms/study/database.h"
#include "platforms/study/tables/about.h"

namespace weft::study {

/// A page of the points of a study: their Pareto front, parallel coordinates, a heat map, what matters, and all of them
/// in a table. It needs nothing but a browser. It shows one step of successive halving at a time. `database` is what it
/// calls the file they came from, and `missing` what the study does not have yet.
[[nodiscard]] std::string study_page(const std::string& name, const std::string& database, const std::vector<Row>& rows,
                                     const About& about, const std::string& missing = "");

}  // namespace weft::study
