// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "platforms/machine/platform.h"
#include "sw/analytical/config.h"

namespace weft::platforms {

/// A platform with "network": "analytical" as it was read. Who uses it reads or passes over its workload and then asks
/// the document for keys that nobody has read.
struct AnalyticalPlatform {
  /// Throws InputError, and UsageError for options that only a machine has.
  explicit AnalyticalPlatform(const PlatformOptions& options);

  [[nodiscard]] std::unique_ptr<analytical::Network> make_network(Dispatcher& dispatcher) const;

  /// checked_against() the file.
  template <typename Action>
  auto checked(Action&& action) const -> decltype(action()) {
    return checked_against(document, std::forward<Action>(action));
  }

  Document document;
  std::string name;
  std::string description;
  analytical::AnalyticalConfig config;
};

/// Whether the platform is such a one.
bool is_analytical(const PlatformOptions& options);

}  // namespace weft::platforms
