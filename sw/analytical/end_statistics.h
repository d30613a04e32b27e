// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/core/quantity.h"

namespace weft::analytical {

/// What a node keeps busy, as ASTRA-sim's statistics tell nodes apart (their names in quotes).
enum class Activity : std::uint8_t {
  kCpu,            ///< "CPU": compute nodes of the CPU
  kCompute,        ///< "GPU": other compute nodes
  kCommunication,  ///< "Comm": collectives, sends and receives, from their issue on
  kRemoteMemory,   ///< "Remote mem": loads and stores
};
inline constexpr std::size_t kActivities = 4;

/// Of the roofline, means over the time of compute nodes. As in ASTRA-sim that time is a nanosecond longer than its
/// nodes, so that it is never zero.
struct RooflineMeans {
  double compute_bound = 0;        ///< share of that time in nodes that reach the peak
  double compute_utilisation = 0;  ///< of the peak
  double memory_utilisation = 0;   ///< of the local memory's rate
  double operation_intensity = 0;  ///< operations for each byte
};

/// What an end's time went into. A time is that in which at least one such node was under way.
struct EndReport {
  Time finished;
  std::array<Time, kActivities> busy;   ///< by Activity
  Time overlapped;                      ///< computing and communicating
  Time idle;                            ///< nothing was under way
  std::int64_t communicated_bytes = 0;  ///< comm_size of collectives and sends
  std::optional<RooflineMeans> roofline;

  [[nodiscard]] Time of(Activity activity) const { return busy[static_cast<std::size_t>(activity)]; }
  /// What ASTRA-sim calls exposed communication: all in which the end did not compute, and so waiting, remote memory
  /// and its CPU too.
  [[nodiscard]] Time exposed_communication() const { return finished - of(Activity::kCompute); }
};

/// Keeps account of what ends do while they do it, in a few counters for each end.
///
/// ASTRA-sim takes the overlap as computing plus communicating less the whole, which is this one where an end always
/// does one of both.
class EndStatistics {
 public:
  explicit EndStatistics(std::uint32_t ends) : ends_(ends) {}

  /// Calls come in the order of their times.
  void begin(Time now, std::uint32_t end, Activity activity);
  void end(Time now, std::uint32_t end, Activity activity);
  void add_bytes(std::uint32_t end, std::int64_t bytes) { ends_[end].communicated_bytes += bytes; }

  /// What a compute node reached. `rate` is in operations a second; what has no bytes has no intensity.
  struct Roofline {
    double operations = 0;
    double bytes = 0;
    double rate = 0;
    double peak = 0;
    double memory_rate = 0;  ///< bytes a second
  };
  /// Of a compute node of the CPU or the accelerator; without a roofline it took the time that its trace gives.
  void add_compute(std::uint32_t end, Time length, const std::optional<Roofline>& roofline);

  [[nodiscard]] EndReport report(std::uint32_t end, Time finished, bool roofline) const;

 private:
  static constexpr std::size_t kCombinations = 1U << kActivities;
  struct End {
    Time since;
    std::uint32_t busy = 0;  ///< a bit for each activity
    std::array<std::uint32_t, kActivities> under_way{};
    std::array<Time, kCombinations> spent;  ///< by what was busy
    std::int64_t communicated_bytes = 0;
    double computed_ns = 1;
    RooflineMeans sums;
  };
  static void account(Time now, End& end);

  std::vector<End> ends_;
};

}  // namespace weft::analytical
