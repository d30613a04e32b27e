// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/accelerator/compute_config.h"
#include "hw/core/quantity.h"

/// How long a kernel keeps the core array of an accelerator busy and what it moves to and from HBM. Plain arithmetic on
/// shapes: no SystemC, no state. The accelerator module overlaps the two with the rest of its traffic.
///
/// Floating point is used inside and rounded once, in a fixed order of IEEE operations: the same result on every
/// machine.
namespace weft::accelerator {

/// A kernel that takes more than simulated time holds, or moves more bytes than can be counted: rates are far too low,
/// or the workload is far too large.
class KernelOverflow : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

/// What a kernel's time can go to.
enum class Cost : std::uint8_t {
  kLaunch,        ///< start and end of the kernels
  kMemory,        ///< HBM
  kTensor,        ///< tensor cores at their sustained rate, on what the shape asks for
  kVector,        ///< vector units, as before
  kEdges,         ///< what tiles compute beyond the shape
  kQuantisation,  ///< SMs without a tile in the last wave
  kOperands,      ///< waiting for operands from L2
  kTiles,         ///< filling and draining tiles, and writing their results
  kReduction,     ///< adding up the parts of k, or of attention's keys
  kSoftmax,       ///< of attention, where tensor cores wait for it
  kPanels,        ///< columns of a factorisation, one after the other
  kPowerCap,      ///< the clock that the power cap takes, and its pauses
  kCache,         ///< the rate of the last-level cache, in kernels that stream
  kClockCap,      ///< the clock that the clock cap takes
  kInterconnect,  ///< HBM behind an interconnect that is slower
};
EnumNames<Cost> enum_names(Cost);
constexpr std::size_t kCosts = 15;

/// What a kernel needs from an accelerator. Of several kernels in a row (a split product) it is the sum.
struct KernelWork {
  Time launch{};     ///< before and after the work, overlapped with nothing
  Time compute{};    ///< how long the core array is busy when HBM is infinitely fast
  Bytes read{};      ///< from HBM
  Bytes written{};   ///< to HBM
  Bytes cached{};    ///< that SMs ask of the last-level cache, both ways; a multicast counts for every receiver
  Time cache{};      ///< what that takes at l2_rate; of products and attention `compute` has it, by operand_rate
  double flops = 0;  ///< useful operations, for utilisation: recomputed, padded and masked ones do not count
  /// `compute` and `cache` at a clock.
  struct Span {
    Time compute{};
    Time cache{};
    bool operator==(const Span&) const = default;
  };
  Span uncapped{};         ///< without any cap
  Span under_clock_cap{};  ///< and with the clock cap alone
  /// What `uncapped.compute` goes to, by Cost; adds up to it.
  std::array<Time, kCosts> parts{};
  double array_energy = 0;   ///< joules of the operations
  double memory_energy = 0;  ///< joules of HBM's bytes
  double moving_energy = 0;  ///< and of their way to the array and back
  double clock = 1;          ///< share of the clock that the caps leave
  Time paused{};             ///< of `compute`, in which the array waits for the power cap at its lowest clock
  std::int64_t blocks = 0;   ///< of a persistent kernel, see Command
  std::int64_t tiles = 0;    ///< of one that goes wave by wave, see Command

  bool operator==(const KernelWork&) const = default;
};

/// 16-bit operations of which nothing else is known, on tensor cores at their sustained rate.
[[nodiscard]] KernelWork tensor_work(const ComputeConfig& config, double operations, Bytes read);

/// Lets the core array work `more` longer for `cost`, at the full clock; if it follows the clock, the caps stretch it.
void lengthen(KernelWork& work, Cost cost, Time more, bool follows_clock);

/// Of what SMs ask of the last-level cache, the share that it need not ask of HBM; 0 if they ask nothing.
[[nodiscard]] double hit_rate(const KernelWork& work);

/// The share of hits in the last-level cache when `working_set` bytes are used again and again in one order: lines lie
/// in sets of 16 at random, and the one used longest ago goes, so that a set hits if no more than 16 lines are in it.
/// No parameter is fitted; sets of 16 are recalled. Checked against what was measured on H200, A100 and H100
/// (te42kyfo/gpu-benches, kernel_cache_test.cpp): H200 within 20 %; the other two lose their hits at 0.8 of l2_size.
[[nodiscard]] double cache_hit_rate(const ComputeConfig& config, Bytes working_set);

/// The same work when all of its operands, those it writes too, were used just before: it moves what the cache has
/// lost since. Between the kernels of a run nobody says which operands they share, so there all are taken as cold.
[[nodiscard]] KernelWork with_warm_operands(const ComputeConfig& config, KernelWork work);

/// Time on an otherwise idle accelerator whose kernels see `memory` from HBM (about 92 % of its peak): the launch, then
/// the longest of computing, moving and the last-level cache. The measurements ask for no exposed share of the shorter
/// ones.
[[nodiscard]] Time estimate(const KernelWork& work, Rate memory);

/// The parts of estimate() that are not 0, largest first; they add up to it. What is hidden behind HBM, or HBM's time
/// if that is hidden, is not among them. A cap's part is what it adds to the time of the kernel without it.
[[nodiscard]] std::vector<std::pair<Cost, Time>> breakdown(const KernelWork& work, Rate memory);

/// Joules beside what the part draws idle.
[[nodiscard]] double drawn(const KernelWork& work);

/// Joules over estimate(), with what the part draws idle.
[[nodiscard]] double energy(const PowerConfig& power, const KernelWork& work, Rate memory);

}  // namespace weft::accelerator
