// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platforms/commands/command.h"

/// What weft import reads, one command each.
namespace weft::platforms {

Command import_astra_sim(const Arguments& parent);
/// From descriptions of hardware: a machine without a workload.
Command import_lstopo(const Arguments& parent);
Command import_infragraph(const Arguments& parent);

}  // namespace weft::platforms
