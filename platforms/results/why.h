// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/machine/machine.h"

/// Why a run takes as long as it does: its critical path (Causes), added up. Needs MachineConfig::why.
namespace weft::platforms {

/// What why.json has: `from_ps`, `until_ps`, and `pieces`, worst first. Each has what it is `of` and `about` (a kernel,
/// or what a firmware thread is for), a `kind` (CauseKind), a `place` (a module or, with `on_link`, a link) and `ps`.
/// They add up to
/// `until_ps` - `from_ps`: a thread that runs on behind the last event, up to `until`, is a piece as well.
[[nodiscard]] nlohmann::ordered_json why_summary(const Machine& machine, Time from, Time until);

/// For people, of that: what comes first, in words, and a tree of one screen.
[[nodiscard]] std::string why_text(const nlohmann::ordered_json& why);

}  // namespace weft::platforms
