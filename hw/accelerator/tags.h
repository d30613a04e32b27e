// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::accelerator {

/// Event tags of an Accelerator, in the order in which they run at one picosecond.
enum Tag : std::uint32_t { kArrive, kCopied, kSlice, kComputeMemory, kCopyMemory, kEngineFree, kContents };

}  // namespace weft::accelerator
