// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/platform_options.h"

#include <cstdint>
#include <limits>

namespace weft::platforms {

void add_platform_options(const Arguments& app, PlatformOptions& options) {
  app.add_option("platform", options.platform, "A platform in JSON, or the name of one of the catalogue")
      .required()
      .type_name("PLATFORM");
  app.add_option("--set", options.overrides, "path=value: overrides a value of the platform; can be repeated")
      .one_at_a_time()
      .type_name("PATH=VALUE");
  app.add_option("--patch", options.patches,
                 "A JSON file with values that replace those of the platform; can be repeated")
      .one_at_a_time()
      .type_name("FILE");
  // The largest number stands for all that are beyond it.
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max() - 1;
  app.add_option("--seed", options.seed, "Seed of everything random").check(Within(-kMost, kMost));
  app.add_flag("--data", options.data, "Move and check real bytes");
}

}  // namespace weft::platforms
