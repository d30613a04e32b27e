// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/memory_model.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "hw/core/config/provide_beside.h"
#include "hw/memory/bank_hbm.h"
#include "hw/memory/hbm.h"

namespace weft::memory {
namespace {

constexpr const char* kMemoryModel = "model of memory";

/// Of peaks: data sheets round.
bool is_peak(Rate rate, double peak) {
  constexpr double kTolerance = 0.01;
  return std::abs(static_cast<double>(rate.count()) - peak) <= kTolerance * peak;
}
std::string peak_text(double peak) {
  return to_text(Rate(std::llround(peak * 1e-9) * 1'000'000'000));
}

/// With stacks described, where they move or hold something else than `rate` and `capacity`, which count: what to set
/// as well. `bank` refuses that.
std::vector<std::string> stream_warnings(const HbmConfig& config, const std::string& path) {
  if (!config.has_stacks()) return {};
  std::vector<std::string> lines;
  const dram::MemoryConfig memory = config.stacks.memory();
  const auto differs = [&](const std::string& field, const std::string& value, const std::string& of_stacks) {
    lines.push_back(path + "." + field + " is " + value + ", and that counts with detail stream, though " + path +
                    ".stacks make " + of_stacks + ": set " + path + "." + field + "=" + of_stacks +
                    " as well if the stacks are meant");
  };
  const double peak = memory.peak_bytes_per_second() * 8;
  if (!is_peak(config.rate, peak)) differs("rate", to_text(config.rate), peak_text(peak));
  if (config.usable() > memory.capacity()) differs("capacity", to_text(config.usable()), to_text(memory.capacity()));
  return lines;
}

MemoryModel stream_memory() {
  MemoryModel model;
  model.name = "stream";
  model.doc = "in closed form";
  model.ignores = {"stacks.outstanding"};
  model.uniform = true;
  model.warnings = stream_warnings;
  model.make = [](const MemorySite& site) {
    return std::make_unique<Hbm>(site.name.c_str(), site.config, site.dispatcher, site.masters, site.data, site.stall,
                                 site.stacks, site.config.interconnect);
  };
  return model;
}

void check_banks(const HbmConfig& config, const std::string& path) {
  if (!config.has_stacks()) {
    throw ConfigError(path + ".detail",
                      "stream, since nothing is said of this memory's banks (" + path + ".stacks.count is 0)");
  }
  const dram::MemoryConfig memory = config.stacks.memory();
  if (config.core_rate > Rate()) {
    throw ConfigError(path + ".core_rate",
                      "expected 0bps with detail bank, in which masters share only interconnect_rate, got " +
                          to_text(config.core_rate));
  }
  if (static_cast<std::uint64_t>(config.usable().count()) > memory.map(path + ".stacks.mapping").capacity()) {
    throw ConfigError(path + ".capacity", "at most what its stacks hold, which is " + to_text(memory.capacity()));
  }
  const double peak = memory.peak_bytes_per_second() * 8;
  if (!is_peak(config.rate, peak)) {
    throw ConfigError(path + ".rate",
                      "what its stacks move at the most, which is " + peak_text(peak) + ", or detail stream");
  }
}

MemoryModel bank_memory() {
  MemoryModel model;
  model.name = "bank";
  model.doc = "each burst with the DRAM's timings";
  model.phases = true;
  model.check = check_banks;
  model.make = [](const MemorySite& site) {
    return std::make_unique<BankHbm>(site.name.c_str(), site.config.banks(), site.dispatcher, site.masters, site.data);
  };
  return model;
}

Registry<MemoryModel>& registry() {
  static Registry<MemoryModel> all(kMemoryModel, {stream_memory, bank_memory});
  return all;
}

}  // namespace

void provide(MemoryModel model) {
  provide_beside<HbmConfig>(registry(), std::move(model), kMemoryModel, "accelerator.hbm");
}

const Registry<MemoryModel>& memory_models() {
  return registry();
}

const Names& registered(const MemoryModel* /*kind*/) {
  return registry();
}

const MemoryModel& model_of(const HbmConfig& config) {
  return registry().at(config.detail.text(), "accelerator.hbm.detail");
}

}  // namespace weft::memory
