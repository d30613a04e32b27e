// SPDX-License-Identifier: Apache-2.0
// Any bytes as a text workload: it becomes traces that can be read, or is refused.
#include "tests/fuzz/fuzz.h"
#include "traces/chakra/statistics.h"
#include "traces/chakra/text/workload.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = fuzz::file_of(data, size, "w.txt");
  bool is_converted = fuzz::accepted([&] {
    chakra::TextConversion conversion;
    conversion.ranks = 4;
    chakra::convert_text_workload(chakra::read_text_workload(file), fuzz::folder() / "w", conversion);
  });
  if (!is_converted) return 0;
  fuzz::expect(fuzz::accepted([&] { chakra::statistics(chakra::find_trace(fuzz::folder() / "w").files); }));
  return 0;
}
