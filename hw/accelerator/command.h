// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "hw/core/element.h"

/// What firmware writes to an accelerator's command window, and what comes back.
namespace weft::accelerator {

/// Commands of a stream run in order; streams run beside each other. Semaphores count up: a wait is over when its
/// semaphore has reached the value.
enum class Operation : std::uint8_t {
  kKernel,  ///< `launch`, `compute`, `read`, `written`, `cores`, `blocks`, `tiles`, `energy`, `label`
  kCopy,    ///< `bytes` from `source` to `destination` by copy engine `engine`
  kReduce,  ///< `bytes` of source + other to destination, of `type`, by copy engine `engine`; see `operands`
  kSignal,  ///< raises `semaphore` to `value`
  kWait,    ///< until `semaphore` has reached `value`
  kNotify,  ///< writes a Done with `id` to `completion_address`
  /// The kernel of a collective, which firmware runs copy by copy, asks for `cores` of the array to keep, of which a
  /// Done with `id` at `completion_address` tells that it has them, and returns them. It keeps them also while it waits
  /// for others (a maintainer's word in NVIDIA/nccl issue 689).
  kKeepCores,
  kReturnCores,
};

/// How a kernel that polls sees that data has come, where it does not wait for a signal behind it: NCCL's protocols LL,
/// in which each word travels with a flag of its size, and LL128, whose lines of 128 bytes end with a flag of 8.
enum class Flags : std::uint8_t { kNone, kWords, kLines };

/// What `bytes` bytes are with their flags.
constexpr std::uint64_t with_flags(std::uint64_t bytes, Flags flags) {
  if (flags == Flags::kWords) return 2 * bytes;
  return flags == Flags::kLines ? (bytes + 119) / 120 * 128 : bytes;
}
/// And what there is in so many bytes that have flags.
constexpr std::uint64_t without_flags(std::uint64_t bytes, Flags flags) {
  if (flags == Flags::kWords) return bytes / 2;
  return flags == Flags::kLines ? bytes / 128 * 120 : bytes;
}

struct Command {
  /// Not in a stream: done as it is written. For kSignal, kNotify, kKeepCores and kReturnCores, and for kCopy and
  /// kReduce, which go to their engine at once.
  static constexpr std::uint32_t kImmediate = UINT32_MAX;

  Operation operation = Operation::kKernel;
  ElementType type = ElementType::kFp32;
  Flags flags = Flags::kNone;  ///< of kCopy and kReduce
  std::uint32_t stream = 0;
  std::uint32_t engine = 0;
  std::uint32_t semaphore = 0;
  std::uint32_t cores = 0;  ///< SMs that a kernel runs on, 0: all of them; or that are kept
  /// Of a persistent kernel, whose blocks share out its work at the start, one to an SM.
  std::uint32_t blocks = 0;
  /// Of a kernel whose blocks do one tile each, with an SM for themselves, wave by wave. Of neither: many short blocks.
  std::uint32_t tiles = 0;
  std::uint64_t value = 0;
  std::int64_t launch_ps = 0;
  std::int64_t compute_ps = 0;
  std::int64_t capped_ps = 0;  ///< of that, what caps of power and clock add, for the critical path
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::uint64_t cached = 0;  ///< that a kernel asks of the last-level cache, for the counters
  double energy = 0;         ///< joules of its operations, for the counters; its bytes of HBM are the memory's to count
  double flops = 0;          ///< useful operations, for the roofline; 0: not known
  std::uint64_t source = 0;
  std::uint64_t other = 0;
  std::uint64_t destination = 0;
  std::uint64_t bytes = 0;
  /// Of a kReduce by a kernel that has what it adds in registers, since it has loaded or polled that: no memory is read
  /// for so many sources, each `stride` behind the one before. 0: one source, which is read.
  std::uint32_t operands = 0;
  std::uint64_t stride = 0;
  std::uint64_t id = 0;
  std::uint64_t completion_address = 0;  ///< for kNotify, kKeepCores, and when an immediate kCopy or kReduce is done
  const char* label = nullptr;           ///< for pictures; a literal or kept by the caller for the run
};
static_assert(std::is_trivially_copyable_v<Command>);

/// What is written to a completion address.
struct Done {
  std::uint64_t id = 0;
};

/// Offset of the command window.
constexpr std::uint64_t kCommandWindow = 0;

}  // namespace weft::accelerator
