// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace of memory requests: each lies in the memory and not before the one ahead of it, or the file is
// refused.
#include "tests/fuzz/fuzz.h"
#include "traces/memory_trace.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = fuzz::file_of(data, size, "requests");
  fuzz::accepted([&] {
    constexpr std::uint64_t kCapacity = 1U << 30;
    traces::MemoryTrace trace(file, kCapacity);
    std::int64_t time = 0;
    for (traces::MemoryTrace::Entry entry; trace.next(entry);) {
      fuzz::expect(entry.address < kCapacity);
      if (!entry.timed) continue;
      fuzz::expect(entry.time_ps >= time);
      time = entry.time_ps;
    }
  });
  return 0;
}
