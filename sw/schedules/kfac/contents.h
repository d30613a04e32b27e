// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sw/firmware/contents.h"

/// What stages read and write of a rank's memory, where data is on.
namespace weft::schedules {

using firmware::Floats;
using firmware::load_from;
using firmware::load_into;
using firmware::store_to;

}  // namespace weft::schedules
