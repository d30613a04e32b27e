// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Chakra trace: they are read, written again, executed, checked, repaired and printed, or refused by a
// FormatError.
#include "tests/fuzz/fuzz.h"
#include "traces/chakra/check.h"
#include "traces/chakra/convert.h"
#include "traces/chakra/repair.h"
#include "traces/chakra/statistics.h"
#include "traces/chakra/window.h"
#include "traces/chakra/writer.h"

namespace {

namespace fs = std::filesystem;
using namespace weft::chakra;  // NOLINT(google-build-using-namespace)
using weft::fuzz::accepted;
using weft::fuzz::expect;

void execute(const fs::path& file) {
  TraceWindow window(file, 4);
  while (const Node* node = window.next()) window.complete(node->id);
  expect(window.done());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fs::path folder = weft::fuzz::folder();
  const fs::path file = weft::fuzz::file_of(data, size, "w.0.et");

  const bool is_readable = accepted([&] {
    TraceReader reader(file);
    TraceWriter writer(folder / "copy.0.et", reader.metadata());
    for (Node node; reader.next(node);) writer.write(node);
    writer.close();
  });
  accepted([&] { execute(file); });
  // What is found by a check, or none, must not depend on how the file was encoded. The name tells the rank.
  std::uint64_t found = 0;
  const bool is_checked = accepted([&] { found = check(find_trace(file)).found; });
  expect(is_checked == is_readable);
  accepted([&] { statistics(find_trace(file).files); });
  if (!is_readable) return 0;
  expect(check(find_trace(folder / "copy.0.et")).found == found);
  // What is repaired has nothing to be found.
  const fs::path mended = folder / "mended.0.et";
  expect(accepted([&] { repair(find_trace(file), mended, {}); }));
  expect(check(find_trace(mended)).found == 0);
  expect(accepted([&] { execute(mended); }));
  expect(accepted([&] {
    convert_trace(file, folder / "w.json", TraceFormat::kJson);
    convert_trace(folder / "w.json", folder / "back.et", TraceFormat::kProtobuf);
  }));
  return 0;
}
