// SPDX-License-Identifier: Apache-2.0
// Any bytes as each of ASTRA-sim's files beside good ones: a system comes of them, or they are refused. The first byte
// says which file it is.
#include <nlohmann/json.hpp>

#include "platforms/import/astra_machine.h"
#include "platforms/import/astra_sim.h"
#include "tests/fuzz/fuzz.h"

using namespace weft;                    // NOLINT(google-build-using-namespace)
using namespace weft::platforms::astra;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::string_view kNetwork =
    "topology: [ Ring, Switch ]\nnpus_count: [ 2, 4 ]\nbandwidth: [ 50.0, 25.0 ]\nlatency: [ 500.0, 1.0 ]\n";
constexpr std::string_view kSystem = R"({"scheduling-policy": "LIFO", "preferred-dataset-splits": 4,
  "local-mem-bw": 50, "all-reduce-implementation": ["ring", "halvingDoubling"]})";

std::filesystem::path good(std::string_view text, const char* name) {
  return fuzz::file_of(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), name);
}

void make(const std::filesystem::path& network, const std::filesystem::path& file) {
  System system = read_system(network, file);
  static_cast<void>(machine_of(system, false).dump());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return -1;
  const std::filesystem::path file = fuzz::file_of(data + 1, size - 1, "input");
  fuzz::accepted([&] {
    constexpr std::uint32_t kEnds = 8;
    analytical::EndConfig end;
    switch (data[0] % 4) {
      case 0:
        return make(file, good(kSystem, "system.json"));
      case 1:
        return make(good(kNetwork, "network.yml"), file);
      case 2:
        return read_memory(file, end);
      default:
        for (const auto& [name, ranks] : read_groups(file, kEnds))
          fuzz::expect(!ranks.empty() && ranks.size() <= kEnds);
    }
  });
  return 0;
}
