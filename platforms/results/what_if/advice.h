// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::platforms {

/// What would make a run shorter, by WhatIf: `before_ps`; `resources`, the most first, each with its `name`, its
/// `words`, the change to twice as much (`what_if`, "hbm=x2"), what the run takes with a tenth more of it and with
/// twice as much (`little_ps`, `twice_ps`) and whether that is `loose`. A network's links and interfaces have a row
/// together where both save more than each alone: "link + nic". And `repaired_ps`, where faults have taken some of
/// their rate from links: what it takes without, and `faults`, by their names.
///
/// `values` are config.json's; resources that the platform has none of are left out. Null: they are not known.
[[nodiscard]] nlohmann::ordered_json advice(const nlohmann::ordered_json& why, const nlohmann::ordered_json& values);

/// The same for people, so many resources at most; empty if nothing would.
[[nodiscard]] std::string advice_text(const nlohmann::ordered_json& advice, std::size_t most = SIZE_MAX);

}  // namespace weft::platforms
