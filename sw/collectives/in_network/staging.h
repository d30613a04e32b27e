// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// Buffers that an AllReduce by reduce-multicast passes through when its kernels may not reach into the caller's
/// memory, as NCCL's for NVLink SHARP: some cores copy in, some let the switch sum and multicast, some copy out, each a
/// step behind the other. A step is a chunk for each channel and member. The chunk is halved for a buffer of less than
/// 64 steps, again for one of less than 8 and again below 2 (NCCL's choice of chunk for NVLS).
struct Staging {
  int channels = 0;
  Bytes chunk = Bytes(128 << 10);
  int slots = 8;
  int copy_engines = 6;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("channels", channels,
          "Staging channels, of a chunk each; 0: no staging, data go directly from and to the caller's buffer",
          Range{0, 1024});
    visit("chunk", chunk, "The largest chunk", Range{256, 1 << 30});
    visit("slots", slots, "Steps that the buffers hold", Range{1, 64});
    visit("copy_engines", copy_engines, "Copy engines that copy in, and as many that copy out", Range{1, 128});
  }

  /// What the buffers of a member take where `heads` members sum.
  [[nodiscard]] std::uint64_t bytes(int heads) const {
    return static_cast<std::uint64_t>(chunk.count()) * static_cast<std::uint64_t>(channels) *
           static_cast<std::uint64_t>(slots) * static_cast<std::uint64_t>(heads);
  }
};

enum class Way : std::uint8_t { kIn, kOut };

/// Copies `bytes` bytes by the engines of `staging` that copy in or out, each its part; `done` is theirs alone.
firmware::Task copy_staged(firmware::Rank& rank, const Staging& staging, Way way, std::uint64_t source,
                           std::uint64_t destination, std::uint64_t bytes, firmware::CompletionQueue& done);

}  // namespace weft::collectives
