// SPDX-License-Identifier: Apache-2.0
// Any bytes as a platform and as a patch of one: they are read, recorded and written, or refused.
#include <nlohmann/json.hpp>

#include "hw/fabric/fabric_config.h"
#include "platforms/config/document.h"
#include "sw/analytical/config.h"
#include "tests/fuzz/fuzz.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

namespace {

void read(platforms::Document& document) {
  fabric::FabricConfig fabric;
  analytical::AnalyticalConfig arithmetic;
  document.root().read("fabric", fabric);
  document.root().read("analytical", arithmetic);
  document.check_unused();
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
    platforms::Document document = platforms::Document::from_text(
        R"({"fabric": {"link": {"rate": "400Gbps"}, "edges": []}})", "patched", {}, platforms::Catalogue(), patches);
    read(document);
  });
  return 0;
}
