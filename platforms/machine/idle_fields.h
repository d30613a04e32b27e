// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/machine/machine.h"
#include "sw/collectives/followed.h"

namespace weft::platforms {

/// Fields of a machine that change nothing as it is configured.
struct IdleFields {
  std::string path;                 ///< one field, or an object with all that is in it: "nic.dcqcn"
  std::vector<std::string> except;  ///< of such an object: what counts all the same
  std::string why;                  ///< "nic.congestion is none"
  bool together = false;            ///< its fields are told of as one, by its path
  /// Of such an object: whether a field of it, by its path within, changes nothing. Null: none does.
  std::function<bool(std::string_view)> decides_nothing;
};

/// What interfaces of one kind have done, and the networks that join them.
struct InterfaceUse {
  bool sends = true;
  bool refuses = true;         ///< somebody found no receive posted
  bool fetches = true;         ///< work requests from memory
  bool ahead = true;           ///< a packet came ahead of its turn
  bool notified = true;        ///< of congestion
  bool groups = true;          ///< the network had some: multicast, or reductions
  bool sums = true;            ///< its switches added something up, or were to
  Time until = kNever;         ///< the run's end, after which no fault begins
  Bytes read_ahead = Bytes();  ///< what they read ahead; 0: not known
  /// Whether the platform gives a value at a path itself, beside what stands there by default; null: not known.
  std::function<bool(const std::string& path)> gives;
};

/// What a command asks of the machine, and what a run then used of it.
struct MachineUse {
  bool by_algorithm = true;  ///< its collectives run by `collectives.algorithm` alone
  bool energy = true;        ///< what is drawn is counted
  bool kernels = true;       ///< products and the like ran
  bool copies = true;        ///< copy engines did something
  bool moves = true;         ///< memory beyond the accelerators' was read or written
  bool accesses = true;      ///< firmware accessed shared memory
  bool offloaded = true;     ///< so did that of NICs' own cores
  InterfaceUse nic;
  InterfaceUse port;
  std::uint64_t followed = collectives::kAllFollowed;  ///< by collectives, of all ranks together
  std::uint32_t traffic = UINT32_MAX;                  ///< that there was, bits by compression::Traffic
  std::uint32_t compressed = UINT32_MAX;               ///< some of which travelled compressed
  /// By which algorithms these ran; nothing: not known.
  std::optional<std::vector<std::string_view>> algorithms;
  /// Equal numbers for equal times and energies of all kernels that ran, on an array of such a configuration; null: not
  /// known.
  std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on;
};

/// What a machine has used by now. A command adds what it asks for.
[[nodiscard]] MachineUse use_of(Machine& machine);

/// Which of a machine's fields change nothing, because others switch off what they describe, or because they are not
/// used. `use` must outlive what is returned.
std::vector<IdleFields> idle_fields(const MachineConfig& config, const MachineUse& use);

/// Of `set`, paths of fields, those that change nothing, sorted, each with the reason.
std::vector<std::pair<std::string, std::string>> idle_among(const std::vector<std::string>& set,
                                                            const std::vector<IdleFields>& idle);

}  // namespace weft::platforms
