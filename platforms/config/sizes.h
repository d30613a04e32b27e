// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::platforms {

/// Reads "1MiB,8MiB", "1KiB:1GiB:x2" (from, to, factor; the factor is 2 if left out) or lists of both. The first size
/// must be a multiple of `granule`, and with it all of its range are. Throws UsageError that names `option`.
std::vector<std::uint64_t> parse_sizes(const std::string& text, const std::string& option, std::uint64_t granule);

/// Reads whole positive numbers with commas between, between `least` and `most` of them. Throws UsageError.
std::vector<std::int64_t> parse_numbers(const std::string& text, const std::string& option, std::size_t least,
                                        std::size_t most);

}  // namespace weft::platforms
