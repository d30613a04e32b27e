// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "platforms/results/energy.h"

/// What a run cost in energy, as it is printed and written.
namespace weft::platforms {

/// For summary.json: totals, mean power, and `by_kind_j`, whose parts add up to `total_j`; what idles is a kind of its
/// own.
nlohmann::ordered_json energy_summary(const EnergyAccount& account);

/// "1.234 kJ"
std::string joules_text(double joules);

/// A short table for people. `of` is what of the run it is of, "in 2 steps"; empty: all that other tables are of.
std::string energy_text(const EnergyAccount& account, const std::string& of = "");

}  // namespace weft::platforms
