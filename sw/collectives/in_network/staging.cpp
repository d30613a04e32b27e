// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/in_network/staging.h"

#include "sw/collectives/blocks.h"

namespace weft::collectives {

firmware::Task copy_staged(firmware::Rank& rank, const Staging& staging, Way way, std::uint64_t source,
                           std::uint64_t destination, std::uint64_t bytes, firmware::CompletionQueue& done) {
  const auto engines = static_cast<std::uint64_t>(staging.copy_engines);
  const std::uint64_t first = way == Way::kIn ? 0 : engines;
  std::uint64_t copies = 0;
  for (std::uint64_t i = 0; i < engines; ++i) {
    const Extent part = split({0, bytes}, engines, i, 1);
    if (part.bytes == 0) continue;
    const std::uint64_t engine = (first + i) % static_cast<std::uint64_t>(rank.copy_engines);
    rank.accelerator.copy(static_cast<std::uint32_t>(engine), source + part.offset, destination + part.offset,
                          part.bytes, done, 0);
    ++copies;
  }
  for (; copies > 0; --copies) co_await done.next();
}

}  // namespace weft::collectives
