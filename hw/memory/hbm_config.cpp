// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/hbm_config.h"

#include <algorithm>
#include <cmath>

namespace weft::memory {
namespace {

/// Of peaks: data sheets round.
bool is_peak(Rate rate, double peak) {
  constexpr double kTolerance = 0.01;
  return std::abs(static_cast<double>(rate.count()) - peak) <= kTolerance * peak;
}
std::string peak_text(double peak) {
  return to_text(Rate(std::llround(peak * 1e-9) * 1'000'000'000));
}

/// The clocks of a device are within the limits of its fields, whatever clock they were rounded to.
class WithinLimits {
 public:
  WithinLimits(std::string path, Time device) : path_(std::move(path)), device_(device) {}

  template <typename T>
  void operator()(std::string_view name, const T& member, std::string_view /*doc*/ = {}, Range range = {}) const {
    if constexpr (std::is_same_v<T, int>) {
      if (member <= range.max) return;
      throw ConfigError(path_, "a slower one, or a shorter device.timing.clock than " + to_text(device_) + ": " +
                                   std::string(name) + " of the device would be " + std::to_string(member) +
                                   " clocks, and at most " + std::to_string(range.max) + " are modelled");
    }
  }

 private:
  std::string path_;
  Time device_;
};

}  // namespace

void HbmConfig::check(const std::string& path) const {
  if (!has_stacks()) {
    if (detail == HbmDetail::kStream) return;
    throw ConfigError(path + ".detail",
                      "stream, since nothing is said of this memory's banks (" + path + ".stacks.count is 0)");
  }
  if (constexpr Time kLeastClock(100); stacks.clock > Time() && stacks.clock < kLeastClock) {
    throw ConfigError(path + ".stacks.clock", "0ps or at least " + to_text(kLeastClock));
  }
  dram::MemoryConfig memory = stacks.memory();
  memory.device.timing.fields(WithinLimits(path + ".stacks.clock", stacks.device.timing.clock));
  try {
    memory.check(path + ".stacks");
  } catch (const ConfigError& error) {
    check_clock(path + ".stacks", error);
    const std::string stage = path + ".stacks.stack_interleave";
    throw ConfigError(error.path() == stage ? path + ".stacks.interleave" : error.path(), error.expected());
  }
  const dram::AddressMap map = memory.map(path + ".stacks.mapping");
  if (detail == HbmDetail::kStream) return;
  if (core_rate > Rate()) {
    throw ConfigError(
        path + ".core_rate",
        "expected 0bps with detail bank, in which masters share only interconnect_rate, got " + to_text(core_rate));
  }
  if (static_cast<std::uint64_t>(usable().count()) > map.capacity()) {
    throw ConfigError(path + ".capacity", "at most what its stacks hold, which is " + to_text(memory.capacity()));
  }
  const double peak = memory.peak_bytes_per_second() * 8;
  if (!is_peak(rate, peak)) {
    throw ConfigError(path + ".rate",
                      "what its stacks move at the most, which is " + peak_text(peak) + ", or detail stream");
  }
}

void HbmConfig::check_clock(const std::string& stacks_path, const ConfigError& error) const {
  const std::string timing = stacks_path + ".device.timing.";
  if (stacks.clock == Time() || !error.path().starts_with(timing)) return;
  HbmStacks as_written = stacks;
  as_written.clock = Time();
  as_written.memory().check(stacks_path);
  throw ConfigError(stacks_path + ".clock", "a faster one: at " + to_text(stacks.clock) + " a " +
                                                error.path().substr(timing.size()) +
                                                " of the device would be needed that is " + error.expected());
}

std::vector<std::string> HbmConfig::warnings(const std::string& path) const {
  if (!has_stacks() || detail != HbmDetail::kStream) return {};
  std::vector<std::string> lines;
  const dram::MemoryConfig memory = stacks.memory();
  const auto differs = [&](const std::string& field, const std::string& value, const std::string& of_stacks) {
    lines.push_back(path + "." + field + " is " + value + ", and that counts with detail stream, though " + path +
                    ".stacks make " + of_stacks + ": set " + path + "." + field + "=" + of_stacks +
                    " as well if the stacks are meant");
  };
  const double peak = memory.peak_bytes_per_second() * 8;
  if (!is_peak(rate, peak)) differs("rate", to_text(rate), peak_text(peak));
  if (usable() > memory.capacity()) differs("capacity", to_text(usable()), to_text(memory.capacity()));
  return lines;
}

Bytes HbmConfig::usable() const {
  if (!has_stacks() || stacks.controller.inline_covers() == 0) return capacity;
  return std::min(capacity, stacks.memory().capacity());
}

std::shared_ptr<const StreamModel> HbmConfig::model() const {
  return has_stacks() ? stream_model(stacks.memory()) : nullptr;
}

Rate HbmConfig::sustained() const {
  if (!has_stacks()) return of_cores(Hbm::Config::sustained());
  const double share = model()->sustained(StreamModel::kSequence, 1);
  return of_cores(through_interconnect(std::llround(static_cast<double>(rate.count()) * share)));
}

Rate HbmConfig::sustained(Bytes read, Bytes written) const {
  if (!has_stacks() || read + written == Bytes(0)) return sustained();
  constexpr double kQuarters = StreamModel::kShares - 1;
  const double share = kQuarters * static_cast<double>(written.count()) / static_cast<double>((read + written).count());
  const auto below = static_cast<std::size_t>(share);
  const auto byte_time = [this](std::size_t quarter) {
    return 1 / model()->sustained(StreamModel::kSequence, quarter);
  };
  double time = byte_time(below);
  if (share > static_cast<double>(below)) time += (byte_time(below + 1) - time) * (share - static_cast<double>(below));
  return of_cores(through_interconnect(std::llround(static_cast<double>(rate.count()) / time)));
}

BankHbm::Config HbmConfig::banks() const {
  BankHbm::Config config;
  static_cast<dram::MemoryConfig&>(config) = stacks.memory();
  config.latency = interconnect / 2;
  config.interconnect_rate = interconnect_rate;
  config.capacity = usable();
  config.outstanding = stacks.outstanding;
  if (config.outstanding > 0) return config;
  const dram::Geometry& geometry = config.device.geometry;
  const double away = static_cast<double>((interconnect + model()->read()).count()) * 1e-12;
  const double bursts = config.peak_bytes_per_second() * away / static_cast<double>(geometry.burst.count());
  config.outstanding = static_cast<int>(std::min(bursts, 1e6)) +
                       config.controller.write_queue * config.channels() * geometry.pseudo_channels;
  return config;
}

}  // namespace weft::memory
