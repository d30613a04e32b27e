// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/analytical/platform.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace weft::platforms {

AnalyticalPlatform::AnalyticalPlatform(const PlatformOptions& options)
    : document(find_platform(options.platform), options.overrides, Catalogue(), options.patches) {
  if (options.data) throw UsageError("--data: expected nothing, since an analytical network moves no bytes");
  if (options.seed) throw UsageError("--seed: expected nothing, since in an analytical network nothing is random");
  const Node root = document.root();
  name = read_name(document, root);
  description = root.get<std::string>("description", "");
  static_cast<void>(root.child("network").raw());
  root.read("analytical", config);
}

std::unique_ptr<analytical::Network> AnalyticalPlatform::make_network(Dispatcher& dispatcher) const {
  return checked([&] {
    return std::make_unique<analytical::Network>(dispatcher, config.network(), config.congestion, "analytical",
                                                 config.rendezvous, config.segment);
  });
}

bool is_analytical(const PlatformOptions& options) {
  Document document(find_platform(options.platform), options.overrides, Catalogue(), options.patches);
  const Node root = document.root();
  return root.has("network") && root.child("network").raw() == "analytical";
}

}  // namespace weft::platforms
