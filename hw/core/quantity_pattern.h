// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "hw/core/power.h"
#include "hw/core/quantity.h"

namespace weft {

/// A regular expression (ECMA-262) of the texts that are read for a quantity of this kind, whatever its value is: from
/// the table of its units. Of these texts only numbers that are too large or too fine for 64 bits are refused.
std::string text_pattern(Time time);
std::string text_pattern(Bytes size);
std::string text_pattern(Rate rate);
std::string text_pattern(Frequency frequency);
std::string text_pattern(Compute compute);
std::string text_pattern(Energy energy);
std::string text_pattern(Power power);

}  // namespace weft
