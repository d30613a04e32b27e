// SPDX-License-Identifier: Apache-2.0
// Any bytes as a text workload: it becomes traces with their groups in which a check finds nothing, or is refused.
#include <algorithm>

#include "tests/fuzz/fuzz.h"
#include "traces/chakra/check.h"
#include "traces/chakra/statistics.h"
#include "traces/chakra/text/workload.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

namespace {

void convert(const chakra::TextWorkload& workload, std::uint64_t ranks) {
  const std::filesystem::path prefix = fuzz::folder() / ("w" + std::to_string(ranks));
  chakra::TextConversion conversion;
  conversion.ranks = ranks;
  conversion.passes = 2;
  if (!fuzz::accepted([&] { chakra::convert_text_workload(workload, prefix, conversion); })) return;
  static_cast<void>(chakra::remarks_of(workload, conversion));
  chakra::CheckOptions options;
  for (const chakra::RankGroup& group : chakra::groups_of(workload, ranks)) {
    std::copy(group.ranks.begin(), group.ranks.end(), std::back_inserter(options.groups[group.name]));
  }
  fuzz::expect_accepted([&] {
    const chakra::TraceFiles files = chakra::find_trace(prefix);
    fuzz::expect(files.files.size() == ranks);
    fuzz::expect(chakra::check(files, options).found == 0);
    fuzz::expect(chakra::statistics(files).longest_path >= 0);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = fuzz::file_of(data, size, "w.txt");
  fuzz::accepted([&] {
    chakra::TextWorkload workload = chakra::read_text_workload(file);
    for (const std::uint64_t ranks : {4, 6}) convert(workload, ranks);
    using Dialect = chakra::TextWorkload::Dialect;
    workload.dialect = workload.dialect == Dialect::kSimAi ? Dialect::kAstraSim : Dialect::kSimAi;
    convert(workload, 4);
  });
  return 0;
}
