// SPDX-License-Identifier: Apache-2.0
// Prints the source of catalogue_streams: what memory::StreamModel measures of each memory of the catalogue. The build
// runs it whenever the memory model or the catalogue has changed, and links what it prints to the command.
#include <cstdio>
#include <set>
#include <string>
#include <systemc>

#include "hw/memory/hbm_config.h"
#include "hw/memory/known_streams.h"
#include "platforms/config/catalogue.h"
#include "platforms/config/document.h"

namespace weft::platforms {
namespace {

void print(const std::string& key, const memory::KnownStreams& known) {
  std::printf("    {\"%s\", %lld, %a,\n", key.c_str(), static_cast<long long>(known.read_ps), known.partial_writes);
  const auto print_rows = [](const auto& rows) {
    std::printf("     {{");
    for (const auto& row : rows) {
      std::printf("{");
      for (const double value : row) std::printf("%a, ", value);
      std::printf("},\n       ");
    }
    std::printf("}}");
  };
  print_rows(known.sustained);
  std::printf(",\n");
  print_rows(known.byte_energy);
  std::printf("},\n");
}

void print_all() {
  std::printf(
      "// Written by platforms/streams/write_streams.cpp.\n"
      "#include \"platforms/streams/catalogue_streams.h\"\n\n"
      "namespace weft::platforms {\n\n"
      "std::span<const memory::KnownStreams> catalogue_streams() {\n"
      "  static constexpr memory::KnownStreams kAll[] = {\n");
  std::set<std::string> printed;
  for (const std::string& name : Catalogue().names(memory::HbmConfig::kPartKind)) {
    Document document = Document::from_text("{\"hbm\": \"" + name + "\"}", "the catalogue");
    memory::HbmConfig hbm;
    document.root().read_part("hbm", hbm);
    if (!hbm.has_stacks()) continue;
    const dram::MemoryConfig config = hbm.stacks.memory();
    const std::string key = memory::configuration_text(config);
    if (printed.insert(key).second) print(key, memory::measure_streams(config));
  }
  std::printf(
      "  };\n"
      "  return kAll;\n"
      "}\n\n"
      "}  // namespace weft::platforms\n");
}

}  // namespace
}  // namespace weft::platforms

int sc_main(int /*argc*/, char** /*argv*/) {
  weft::platforms::print_all();
  return 0;
}
