// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "platforms/config/document.h"
#include "platforms/machine/idle_fields.h"
#include "platforms/machine/machine.h"

namespace weft::platforms {

/// What a user has set, in an own platform, in a patch or by --set, that changes nothing in this machine; see
/// idle_fields(). What platforms and parts of the catalogue say is not looked at.
class IdleSettings {
 public:
  /// `more` are fields beside the machine's: of a workload.
  IdleSettings(const Document& document, const MachineConfig& config, const MachineUse& use,
               std::vector<IdleFields> more = {});

  /// A line that names the first few fields, each with the reason; empty if there are none.
  [[nodiscard]] std::string text() const;
  /// All: [{"field": ..., "because": ...}].
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace weft::platforms
