// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hw/core/quantity.h"

namespace weft {

/// What a part of a run's time went to.
enum class CauseKind : std::uint8_t {
  kOther,
  kKernel,         ///< an accelerator computes
  kCap,            ///< it does so longer, since a cap of power or clock lowers its clock
  kLostCores,      ///< or since collectives have cores of it
  kLaunch,         ///< a command waits to begin, or its end to be told
  kCopy,           ///< an accelerator's copy, or a sum into its memory
  kMemory,         ///< HBM or DRAM
  kRemoteMemory,   ///< memory beyond the accelerators' own, and the way there
  kHostLink,       ///< PCI Express or what stands in its place
  kNic,            ///< work within a network interface
  kInjection,      ///< a network interface waits for its turn to send
  kSerialisation,  ///< bytes pass a link
  kQueue,          ///< a packet waits for a link that others use
  kCredit,         ///< a packet waits for room in the buffer behind a link, or for the end of a pause
  kPipeline,       ///< a packet passes a switch
  kReduction,      ///< a switch adds
  kPropagation,    ///< a packet is in flight
  kRecovery,       ///< a timer runs until something is sent again
  kFirmware,       ///< a thread runs, or waits for its core
  kSoftware        ///< a thread lets time pass: what its program says that something takes
};
inline constexpr std::size_t kCauseKinds = static_cast<std::size_t>(CauseKind::kSoftware) + 1;
/// "serialisation".
[[nodiscard]] const char* name_of(CauseKind kind);

/// A place that marks name: an event target, or a link. Of targets it is their number in the dispatcher's order.
using CausePlace = std::uint32_t;

/// Where time goes: what somebody is about (Causes::Context), to what, and at which place (Causes::Place).
struct Why {
  std::uint32_t context = 0;
  CauseKind kind = CauseKind::kOther;
  CausePlace place = 0;

  friend auto operator<=>(const Why&, const Why&) = default;
};
struct WhyHash {
  std::size_t operator()(const Why& why) const {
    const std::uint64_t all = std::uint64_t{why.context} << 32 | std::uint32_t{static_cast<std::uint8_t>(why.kind)}
                                                                     << 24;
    return (all ^ why.place) * 0x9e3779b97f4a7c15ULL >> 16;
  }
};
using CauseSums = std::unordered_map<Why, Time, WhyHash>;

/// What ranks wait for, beside the critical path.
struct CauseTables {
  /// All calls of one collective with so many bytes by a group.
  struct Collective {
    int members = 0;
    std::int64_t calls = 0;  ///< by all members together
    Time spent;              ///< by members, from their entry to their end
    Time late;               ///< of that, before the last member's entry
    CauseSums transfer;      ///< of the rest
    CauseSums lateness;      ///< what the last member was at since the first one's entry, a time for each call of all
    std::map<int, std::pair<std::int64_t, Time>> last;  ///< by rank, how often it came last, and that time
  };
  struct Key {
    std::string group;
    std::string operation;
    std::uint64_t bytes = 0;

    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::map<std::uint32_t, CauseSums> waits;  ///< of streams of an accelerator's commands, by its place
  std::map<Key, Collective> collectives;

  /// Forgets what was before: whoever is in a collective goes on filling its entry.
  void begin_again() {
    waits.clear();
    for (auto& [key, all] : collectives) {
      const int members = all.members;
      all = {};
      all.members = members;
    }
  }
};

}  // namespace weft
