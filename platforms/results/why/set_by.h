// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "platforms/results/why/resources.h"

/// What sets the time of a critical path, by the fields of the configuration that it has.
namespace weft::platforms {

/// A field that sets pieces of a resource.
struct SetBy {
  std::string field;    ///< of the place: "fabric.edges.2.link.rate"
  std::string usually;  ///< of the places that have none of their own: "fabric.link.rate"
  bool is_rate = true;
  std::int64_t ps = 0;  ///< of pieces
};
/// Of why.json's pieces and links and config.json's `values`, those of a resource that come first for a piece, those
/// that set most of it first.
[[nodiscard]] std::vector<SetBy> set_by(const nlohmann::ordered_json& why, const nlohmann::ordered_json& values,
                                        const Resource& resource);
/// What sets a piece of such a resource first; an empty field: nothing.
[[nodiscard]] SetBy set_by(const nlohmann::ordered_json& why, const nlohmann::ordered_json& values,
                           const Resource& resource, const nlohmann::ordered_json& piece);
/// The same for people: "nic.dma_rate 388Gbps, nic.pcie.lanes 16".
[[nodiscard]] std::string settings_text(const nlohmann::ordered_json& why, const nlohmann::ordered_json& values,
                                        const Resource& resource);

}  // namespace weft::platforms
