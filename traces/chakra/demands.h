// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "traces/chakra/ranks.h"

namespace weft::chakra {

/// What nodes of a trace ask for that a machine may be without.
struct TraceDemands {
  std::set<std::string> groups;  ///< by name
  bool reduces = false;          ///< a collective adds up operands, or is one that the schema does not have
  bool computes = false;         ///< a compute node that is not the CPU's
  bool moves_memory = false;     ///< a load or store of remote memory
};

/// Reads each file once and holds nothing of it. What is wrong with a node is for check() to say; a file that cannot be
/// read is a traces::FormatError.
TraceDemands demands(const TraceFiles& files);

}  // namespace weft::chakra
