// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Events of a remote memory, in the order in which they run at one picosecond: its requests, what arrives at a stage,
/// what groups do, ends.
namespace weft::memory::stage {

constexpr std::uint32_t kBegin = 0;
// The way of a plain load, which a store goes backwards.
constexpr std::uint32_t kMemory = 1;
constexpr std::uint32_t kLink = 2;
constexpr std::uint32_t kPort = 3;
constexpr std::uint32_t kThere = 4;
constexpr std::uint32_t kGatheredOutside = 5;
constexpr std::uint32_t kGatheredInNode = 6;
constexpr std::uint32_t kReducingInNode = 7;
constexpr std::uint32_t kReducingOutside = 8;
constexpr std::uint32_t kReduced = 9;
constexpr std::uint32_t kMemberDone = 10;
constexpr std::uint32_t kResponded = 11;

}  // namespace weft::memory::stage
