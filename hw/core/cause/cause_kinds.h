// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

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
  kHostLink,       ///< bytes pass PCI Express or what stands in its place, and the DMA of a network interface
  kReadLatency,    ///< a network interface waits for a read of its host, beside its bytes
  kWriteLatency,   ///< or until its host sees what it has written
  kNic,            ///< work within a network interface
  kGroup,          ///< its engine to groups passes bytes
  kInjection,      ///< a network interface waits for its turn to send
  kSerialisation,  ///< bytes pass a link
  kQueue,          ///< a packet waits for a link that others use
  kCredit,         ///< a packet waits for room in the buffer behind a link, or for the end of a pause
  kPipeline,       ///< a packet passes a switch
  kReduction,      ///< a switch adds
  kPropagation,    ///< a packet is in flight
  kRecovery,       ///< a timer runs until something is sent again
  kFirmware,       ///< a thread runs, or waits for its core
  kSoftware,       ///< a thread lets time pass: what its program says that something takes
  kHost            ///< a host launches kernels, one after the other
};
inline constexpr std::size_t kCauseKinds = static_cast<std::size_t>(CauseKind::kHost) + 1;
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

}  // namespace weft
