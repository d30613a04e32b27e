// SPDX-License-Identifier: Apache-2.0
// Any bytes as the table of a graph's edges, for machines of two sizes: a network is planned and measured that reaches
// all ends, or they are refused.
#include "hw/fabric/credit_loop.h"
#include "hw/fabric/fabric_config.h"
#include "hw/fabric/topology/measures.h"
#include "hw/fabric/topology/plan.h"
#include "platforms/config/document.h"
#include "tests/fuzz/fuzz.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(fuzz::file_of(data, size, "edges.csv"));
  for (const int ends : {2, 4}) {
    fuzz::accepted([&] {
      platforms::Document document = platforms::Document::from_text(
          R"({"fabric": {"topology": "graph", "edges": "edges.csv"}})", fuzz::folder() / "platform.json");
      fabric::FabricConfig config;
      document.root().read("fabric", config);
      document.check_unused();
      const fabric::Plan plan(config, ends, "fabric");
      fuzz::expect(!plan.routes().empty());
      fuzz::expect(fabric::measure(plan.topology()).ends == static_cast<std::size_t>(ends));
      for (const fabric::StarvedLinks& links : fabric::find_starved(plan.topology(), plan.config())) {
        fuzz::expect(links.share > 0 && links.share < 1);
      }
    });
  }
  return 0;
}
