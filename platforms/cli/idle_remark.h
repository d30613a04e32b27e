// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/config/document.h"
#include "platforms/machine/idle_fields.h"
#include "platforms/machine/machine.h"

namespace weft::platforms {

/// Whether an interface has sent anything, up to now.
[[nodiscard]] bool has_used_network(Machine& machine);

/// What a user has set, in an own platform, in a patch or by --set, that changes nothing in this machine; see
/// idle_fields(). What platforms and parts of the catalogue say is not looked at.
class IdleSettings {
 public:
  IdleSettings(const Document& document, const MachineConfig& config, const MachineUse& use);

  /// A line that names the first few fields, each with the reason; empty if there are none.
  [[nodiscard]] std::string text() const;
  /// All: [{"field": ..., "because": ...}].
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace weft::platforms
