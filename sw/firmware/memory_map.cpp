// SPDX-License-Identifier: Apache-2.0
#include "sw/firmware/memory_map.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace weft::firmware {

std::string MemoryMap::needs_text(std::uint64_t bytes) const {
  constexpr std::array kUnits = {std::pair("GiB", 1ULL << 30), std::pair("MiB", 1ULL << 20),
                                 std::pair("KiB", 1ULL << 10)};
  std::pair<const char*, unsigned long long> unit("B", 1);
  for (const auto& each : kUnits) {
    if (unit.second == 1 && bytes >= each.second) unit = each;
  }
  const auto in_unit = [&unit](std::uint64_t of) { return static_cast<double>(of) / static_cast<double>(unit.second); };
  return fmt::format(" needs {:.5g} {}, and {:.5g} of {:.5g} {} are free", in_unit(bytes), unit.first,
                     in_unit(capacity_ - used_), in_unit(capacity_), unit.first);
}

}  // namespace weft::firmware
