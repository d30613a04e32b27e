// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/remote/cxl_pool.h"

namespace weft::memory {
namespace {

constexpr const char* kPath = "remote_memory.cxl";

std::string numbered(const char* name, std::size_t number) {
  return name + std::to_string(number);
}

/// A link lets at least one request through, so that a longer one would break its limit.
void check_granule(const CxlLink::Config& link, Bytes granule, const std::string& path) {
  if (granule <= link.outstanding) return;
  throw ConfigError("remote_memory.chunk", "expected at most " + path + ".outstanding, which is " +
                                               to_text(link.outstanding) + ", got " + to_text(granule) +
                                               "; a part brings its own: set " + path + ".outstanding after it");
}

void check(const CxlPool::Config& config, int accelerators, Bytes granule) {
  const std::string path = kPath;
  if (accelerators % config.sharers != 0) {
    throw ConfigError(path + ".sharers", "expected a divisor of accelerators, which is " +
                                             std::to_string(accelerators) + ", got " + std::to_string(config.sharers));
  }
  if (granule.count() % 64 != 0) {
    throw ConfigError("remote_memory.chunk", "expected a multiple of the 64 bytes of a line, got " + to_text(granule));
  }
  check_granule(config.link, granule, path + ".link");
  if (config.path == CxlPath::kFar) return check_granule(config.device_link, granule, path + ".device_link");
  if (config.devices != 1) {
    throw ConfigError(path + ".devices", "expected 1, since remote_memory.cxl.path is near, got " +
                                             std::to_string(config.devices) + "; several stand behind a switch (far)");
  }
}

}  // namespace

CxlPool::CxlPool(sc_core::sc_module_name name, const Config& config, int accelerators, Bytes granule,
                 Dispatcher& dispatcher, bool data, const Stall::Config& stall)
    : RemoteTarget(name), config_(config) {
  check(config, accelerators, granule);
  stores_.resize(static_cast<std::size_t>(accelerators / config.sharers));
  for (std::size_t a = 0; a < static_cast<std::size_t>(accelerators); ++a) {
    links_.push_back(std::make_unique<CxlLink>(numbered("link", a).c_str(), config.link, dispatcher));
  }
  for (std::size_t p = 0; p < stores_.size(); ++p) {
    if (config.path == CxlPath::kNear) {
      build_near(p, granule, dispatcher, data, stall);
    } else {
      build_far(p, granule, dispatcher, data, stall);
    }
  }
}

CxlPool::~CxlPool() = default;

void CxlPool::build_near(std::size_t pool, Bytes granule, Dispatcher& dispatcher, bool data,
                         const Stall::Config& stall) {
  const auto sharers = static_cast<std::size_t>(config_.sharers);
  devices_.push_back(std::make_unique<MemoryExpander>(
      numbered("device", pool).c_str(), config_.device, sharers,
      MemoryExpander::Interleaving{static_cast<std::uint64_t>(granule.count()), 1, 0}, dispatcher,
      data ? &stores_[pool] : nullptr, stall, std::string(kPath) + ".device"));
  for (std::size_t s = 0; s < sharers; ++s) links_[pool * sharers + s]->down.bind(devices_.back()->head(s));
}

void CxlPool::build_far(std::size_t pool, Bytes granule, Dispatcher& dispatcher, bool data,
                        const Stall::Config& stall) {
  const auto sharers = static_cast<std::size_t>(config_.sharers);
  const auto ways = static_cast<std::size_t>(config_.devices);
  switches_.push_back(std::make_unique<CxlSwitch>(numbered("switch", pool).c_str(), config_.switch_config, sharers,
                                                  ways, granule, dispatcher));
  for (std::size_t s = 0; s < sharers; ++s) links_[pool * sharers + s]->down.bind(switches_.back()->up(s));
  for (std::size_t d = 0; d < ways; ++d) {
    const std::size_t number = pool * ways + d;
    device_links_.push_back(
        std::make_unique<CxlLink>(numbered("device_link", number).c_str(), config_.device_link, dispatcher));
    devices_.push_back(std::make_unique<MemoryExpander>(
        numbered("device", number).c_str(), config_.device, 1,
        MemoryExpander::Interleaving{static_cast<std::uint64_t>(granule.count()), ways, d}, dispatcher,
        data ? &stores_[pool] : nullptr, stall, std::string(kPath) + ".device"));
    switches_.back()->down(d).bind(device_links_.back()->up);
    device_links_.back()->down.bind(devices_.back()->head(0));
  }
}

std::vector<std::string> CxlPool::left_over() const {
  std::vector<std::string> lines;
  for (const auto& link : links_) {
    for (std::string& line : link->left_over()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace weft::memory
