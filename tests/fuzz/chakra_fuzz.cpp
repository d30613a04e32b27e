// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Chakra trace, alone and as that of the first of two ranks: they are read, executed, checked, repaired
// and converted, or refused by a FormatError. What is written is read back equal, and what is repaired has nothing to
// be found.
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/twin.h"
#include "traces/chakra/check.h"
#include "traces/chakra/convert.h"
#include "traces/chakra/kernels.h"
#include "traces/chakra/repair.h"
#include "traces/chakra/statistics.h"
#include "traces/chakra/window.h"
#include "traces/chakra/writer.h"

namespace {

namespace fs = std::filesystem;
using namespace weft::chakra;  // NOLINT(google-build-using-namespace)
using weft::fuzz::accepted;
using weft::fuzz::contents;
using weft::fuzz::expect;
using weft::fuzz::expect_accepted;

void execute(const fs::path& file) {
  TraceWindow window(file, 4);
  while (const Node* node = window.next()) window.complete(node->id);
  expect(window.done());
}

/// All that a run asks of a node.
void read_attributes(const Node& node) {
  try {
    static_cast<void>(node.comm_type());
    static_cast<void>(node.comm_root());
    static_cast<void>(node.involved_dim());
    static_cast<void>(node.pg_name());
    static_cast<void>(node.duration_nanos());
    static_cast<void>(kernels_of(node));
  } catch (const AttributeError&) {
    // As a run refuses it.
  }
}

void copy(const fs::path& file, const fs::path& own, const fs::path& other) {
  TraceReader reader(file);
  TraceWriter writer(own, reader.metadata());
  TraceWriter others(other, reader.metadata());
  std::size_t count = 0;
  for (Node node; reader.next(node);) {
    read_attributes(node);
    writer.write(node);
    if (++count % 3 != 0) others.write(weft::fuzz::twin(node));
  }
  writer.close();
  others.close();
}

/// Protobuf to JSON of both kinds and back.
void convert(const fs::path& trace, const fs::path& folder) {
  const fs::path json = folder / "w.json";
  const fs::path back = folder / "back.et.gz";
  const fs::path again = folder / "again.json";
  convert_trace(trace, json, TraceFormat::kJson);
  convert_trace(json, back, TraceFormat::kProtobuf);
  convert_trace(back, again, TraceFormat::kJson);
  expect(contents(json) == contents(again));
  const fs::path messages = folder / "messages.json";
  // Fields that the schema does not have have no place in these.
  if (!accepted([&] { convert_trace(trace, messages, TraceFormat::kJsonizer); })) return;
  convert_trace(messages, again, TraceFormat::kJson);
  expect(contents(json) == contents(again));
}

void repair_ranks(const fs::path& prefix, const fs::path& mended, const CheckOptions& options) {
  static_cast<void>(accepted([&] { check(find_trace(prefix), options); }));
  const auto remove = [&] {
    for (std::uint64_t rank = 0; rank < 3; ++rank) fs::remove(rank_file(mended, rank));
  };
  remove();
  if (accepted([&] { repair(find_trace(prefix), mended, options); })) {
    expect(check(find_trace(mended), options).found == 0);
  }
  remove();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fs::path folder = weft::fuzz::folder();
  const fs::path file = weft::fuzz::file_of(data, size, "w.0.et");
  const fs::path own = folder / "two.0.et";
  const bool is_readable = accepted([&] { copy(file, own, folder / "two.1.et"); });
  accepted([&] { execute(file); });
  // What is found by a check must not depend on how the file was encoded. The name tells the rank.
  std::uint64_t found = 0;
  const bool is_checked = accepted([&] { found = check(find_trace(file)).found; });
  expect(is_checked == is_readable);
  accepted([&] { statistics(find_trace(file)); });
  if (!is_readable) return 0;
  expect(check(find_trace(own)).found == found);
  const fs::path mended = folder / "mended.0.et";
  expect_accepted([&] { repair(find_trace(file), mended, {}); });
  expect(check(find_trace(mended)).found == 0);
  expect_accepted([&] { execute(mended); });
  convert(own, folder);
  repair_ranks(folder / "two", folder / "out", {});
  // Of three, whose groups a file gives.
  CheckOptions options;
  options.ranks = 3;
  options.groups = {{"1", {0, 1}}, {"2", {2, 1, 0}}};
  repair_ranks(folder / "two", folder / "out", options);
  return 0;
}
