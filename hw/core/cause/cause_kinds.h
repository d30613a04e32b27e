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

/// What an event that is posted follows from (Causes::posted), in one register.
class CauseBehind {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// No event.
  CauseBehind() : CauseBehind(kNone, 0, 0) {}
  /// Of less than 2^31 contexts. The piece ends before the event if `wait` is negative.
  CauseBehind(std::uint32_t piece, std::uint32_t context, std::int64_t wait)
      : bits_(piece | std::uint64_t{context} << 32 | (static_cast<std::uint64_t>(wait) & kWaits)) {}

  /// The last one of its chain that is known.
  [[nodiscard]] std::uint32_t piece() const { return static_cast<std::uint32_t>(bits_); }
  void set_piece(std::uint32_t piece) { bits_ = bits_ >> 32 << 32 | piece; }
  /// What it is about.
  [[nodiscard]] std::uint32_t context() const { return static_cast<std::uint32_t>((bits_ & ~kWaits) >> 32); }
  [[nodiscard]] bool waits() const { return (bits_ & kWaits) != 0; }

 private:
  static constexpr std::uint64_t kWaits = std::uint64_t{1} << 63;

  std::uint64_t bits_;
};

}  // namespace weft
