// SPDX-License-Identifier: Apache-2.0
// Any bytes as a waveform: it is read to its end, or refused.
#include <utility>

#include "tests/fuzz/fuzz.h"
#include "traces/vcd/reader.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = fuzz::file_of(data, size, "w.vcd");
  fuzz::accepted([&] {
    vcd::Reader reader(file);
    std::uint64_t time = 0;
    for (vcd::Change change; reader.next(change);) {
      fuzz::expect(change.net < reader.header().nets());
      fuzz::expect(change.time >= time);
      time = change.time;
      const vcd::Signal& signal = reader.header().signal_of(change.net);
      if (change.kind == vcd::SignalKind::kBits) fuzz::expect(std::cmp_less_equal(change.value.size(), signal.width));
    }
  });
  return 0;
}
