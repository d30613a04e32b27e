// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "hw/core/cause/causes.h"
#include "hw/core/probe.h"

namespace weft::platforms {

/// Draws the critical path of a run as a row: what it is about, a kernel or what firmware is for, and within that which
/// kind of time goes by where.
void draw_path(Probe& probe, const Causes& names, const std::vector<Causes::Step>& path);

}  // namespace weft::platforms
