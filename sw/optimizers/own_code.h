// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "sw/optimizers/optimizer.h"

namespace weft::optimizers {

/// The optimizer, with what it answers checked: a user's mistake becomes an OwnFailure with the optimizer's name.
[[nodiscard]] std::shared_ptr<const Optimizer> checked(std::string name, std::unique_ptr<Optimizer> optimizer);

}  // namespace weft::optimizers
