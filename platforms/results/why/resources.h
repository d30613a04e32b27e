// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hw/accelerator/kernel.h"

namespace weft::platforms {

struct MachineConfig;

/// What an architect can buy more of: the kinds of a critical path's pieces that it sets, and the fields that say how
/// much of it there is. One without kinds sets a part of another one's (WhatIf), and has no line of its own in a path.
struct Resource {
  struct Setting {
    std::string_view field;
    bool is_rate;                 ///< more of it is faster; else less
    std::string_view kind = {};   ///< of pieces that it sets; empty: all of the resource
    std::string_view place = {};  ///< before its number, of these; empty: all
    bool is_apart = false;        ///< a change of the whole resource leaves it as it is, and tables have it elsewhere
  };

  enum class Is {
    kAlone,    ///< nothing that follows for it alone
    kStage,    ///< bytes pass it on their way between ends, at the same time as other stages
    kLatency,  ///< of interfaces, beside what their bytes take: it may be hidden while bytes pass
  };

  std::string_view name;     ///< "hbm"
  std::string_view words;    ///< "waiting for HBM": what people call time that goes to it
  std::string_view network;  ///< of pieces of this network alone: "fabric", "scale_up"; empty: of any; "*": of either
  std::vector<std::string_view> kinds;
  std::vector<Setting> settings;
  Is is = Is::kAlone;
  int shown = 1;                            ///< how many of the settings tables name
  std::vector<std::string_view> also = {};  ///< fields that tables name too where they are set
};

/// As the kind of a setting: pieces of `cap` that the cap of the clock sets (Caps).
inline constexpr std::string_view kClockCap = "clock cap";

/// Copies of several channels wait for each other where it has too few of them.
inline constexpr std::string_view kCopyEngines = "accelerator.copy_engines";

/// In the order in which tables have them.
[[nodiscard]] const std::vector<Resource>& resources();
/// By its name. Throws std::out_of_range.
[[nodiscard]] const Resource& resource_called(std::string_view name);
/// Of a kind of why.json and the network of its place. Each has one: that of the network, else of either, else of any.
[[nodiscard]] const Resource& resource_of(std::string_view kind, std::string_view network);
/// The same of a piece. Time that programs set is of the resource whose fields alone set it (firmware::ProgramFields):
/// launches are the host's, whatever launches.
[[nodiscard]] const Resource& resource_of(const nlohmann::ordered_json& piece);

/// A text of a piece; empty if it has none. Not a copy.
[[nodiscard]] std::string_view word_of(const nlohmann::ordered_json& piece, const char* key);
/// A member of why.json, as results of earlier versions may lack it: an empty object then. Not a copy.
[[nodiscard]] const nlohmann::ordered_json& member_of(const nlohmann::ordered_json& why, std::string_view key);
/// For why.json's `kernels_ignore`: fields of computing that no kernel of a run follows, such as rates of types that it
/// does not have; of entries of `others` theirs. `kernels_on` as MachineUse has it.
[[nodiscard]] nlohmann::ordered_json ignored_by_kernels(
    const MachineConfig& machine, const std::function<std::uint64_t(const accelerator::ComputeConfig&)>& kernels_on);

}  // namespace weft::platforms
