// SPDX-License-Identifier: Apache-2.0
// Any bytes as a platform and as a patch of one: a machine's or an analytical network's configuration comes of them,
// with its networks planned as a run would, or they are refused. What was read can be written and read again.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hw/fabric/credit_loop.h"
#include "hw/fabric/measures.h"
#include "hw/fabric/plan.h"
#include "platforms/config/document.h"
#include "platforms/config/field_visitor.h"
#include "platforms/machine/machine.h"
#include "sw/analytical/config.h"
#include "tests/fuzz/fuzz.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

namespace {

/// Of networks that are planned: larger ones take longer than a fuzzer has.
constexpr int kMostEnds = 64;

void plan(const fabric::FabricConfig& config, int ends, const std::string& path) {
  if (ends > kMostEnds || config.spines > kMostEnds || config.uplinks > kMostEnds || config.pod_uplinks > kMostEnds)
    return;
  const fabric::Plan network(config, ends, path);
  fuzz::expect(network.topology().ends.size() == static_cast<std::size_t>(ends));
  static_cast<void>(fabric::measure(network.topology()));
  static_cast<void>(fabric::find_starved(network.topology(), network.config()));
}

/// What is written of a configuration is read as the same one.
template <typename Config>
void write_and_read(const Config& config) {
  const nlohmann::ordered_json json = platforms::config_to_json(config);
  fuzz::expect_accepted([&] {
    platforms::Document document = platforms::Document::from_text(json.dump(), "written.json");
    Config again;
    document.root().read(again);
    document.check_unused();
    fuzz::expect(platforms::config_to_json(again) == json);
  });
}

void read(platforms::Document& document) {
  const platforms::Node root = document.root();
  for (const char* name : {"name", "description", "network", "workload"}) static_cast<void>(root.child(name).raw());
  if (root.has("analytical")) {
    analytical::AnalyticalConfig arithmetic;
    root.read("analytical", arithmetic);
    document.check_unused();
    static_cast<void>(arithmetic.network());
    static_cast<void>(arithmetic.whole_collectives());
    write_and_read(arithmetic);
  } else {
    platforms::MachineConfig machine;
    root.read(machine);
    document.check_unused();
    write_and_read(machine);
    plan(machine.fabric, machine.accelerators, "fabric");
    if (machine.per_node > 1) plan(machine.scale_up.fabric, machine.per_node, "scale_up.fabric");
  }
  static_cast<void>(document.effective().dump());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = fuzz::file_of(data, size, "platform.json");
  fuzz::accepted([&] {
    platforms::Document document(file);
    read(document);
  });
  fuzz::accepted([&] {
    const std::vector<std::string> patches = {file};
    platforms::Document document = platforms::Document::from_text(R"({"accelerators": 4, "per_node": 1,
          "fabric": {"topology": "graph", "link": {"rate": "400Gbps"}, "edges": ["end0 - a", "end1 - a", "end2 - a",
          "end3 - a"]}})",
                                                                  "patched", {}, platforms::Catalogue(), patches);
    read(document);
  });
  return 0;
}
