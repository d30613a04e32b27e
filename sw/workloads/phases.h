// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::workloads {

/// The phases that a compute node of a generated training step is in, by its name, the outermost first: "step 1",
/// "forward, microbatch 0" and "layer 3". Empty for other nodes.
std::vector<std::string> phases_of(std::string_view node);

/// The number from 0 of the step that a node of several generated steps says in its name.
std::optional<int> step_of(std::string_view node);

/// Whether a rank's training step ends with this node.
bool ends_step(std::string_view node);

}  // namespace weft::workloads
