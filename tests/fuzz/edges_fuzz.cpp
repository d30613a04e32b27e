// SPDX-License-Identifier: Apache-2.0
// Any bytes as the table of a graph's edges: a network is planned, or they are refused.
#include "hw/fabric/fabric_config.h"
#include "hw/fabric/plan.h"
#include "platforms/config/document.h"
#include "tests/fuzz/fuzz.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = fuzz::file_of(data, size, "edges.csv");
  fuzz::accepted([&] {
    platforms::Document document = platforms::Document::from_text(
        R"({"fabric": {"topology": "graph", "edges": "edges.csv"}})", fuzz::folder() / "platform.json");
    fabric::FabricConfig config;
    document.root().read("fabric", config);
    document.check_unused();
    constexpr int kEnds = 4;
    const fabric::Plan plan(config, kEnds, "fabric");
    fuzz::expect(plan.routes().size() > 0);
  });
  return 0;
}
