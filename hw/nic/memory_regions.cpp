// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/memory_regions.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace weft::nic {

std::uint32_t MemoryRegions::add(std::uint64_t base, std::uint64_t bytes) {
  if (live_ == kKeys - 1) throw std::length_error("all " + std::to_string(live_) + " memory keys are in use");
  while (next_ < regions_.size() && (regions_[next_].reserved || regions_[next_].until == kNever)) {
    next_ = next_ % (kKeys - 1) + 1;
  }
  const std::uint32_t key = next_;
  if (key == regions_.size()) regions_.emplace_back();
  regions_[key] = {base, bytes, kNever};
  next_ = next_ % (kKeys - 1) + 1;
  ++live_;
  return key;
}

std::uint32_t MemoryRegions::reserve(const std::vector<MemoryRegions*>& interfaces, std::uint32_t count) {
  std::size_t first = 1;
  for (const MemoryRegions* each : interfaces) first = std::max(first, each->regions_.size());
  if (first + count > kKeys) {
    throw std::length_error(std::to_string(first - 1) + " memory keys are in use, which leaves less than " +
                            std::to_string(count));
  }
  for (MemoryRegions* each : interfaces) {
    each->regions_.resize(first);
    each->regions_.resize(first + count, {0, 0, Time(), true});
    each->live_ += count;
  }
  return static_cast<std::uint32_t>(first);
}

void MemoryRegions::open(std::uint32_t key, std::uint64_t base, std::uint64_t bytes) {
  regions_[key] = {base, bytes, kNever, true};
}

void MemoryRegions::remove(std::uint32_t key, Time at) {
  if (key == 0 || key >= regions_.size() || regions_[key].until != kNever) return;
  regions_[key].until = at;
  if (!regions_[key].reserved) --live_;
}

bool MemoryRegions::covers(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, Time now) const {
  if (key == 0) return true;
  if (key >= regions_.size()) return false;
  const Region& region = regions_[key];
  return now < region.until && address >= region.base && bytes <= region.bytes &&
         address - region.base <= region.bytes - bytes;
}

}  // namespace weft::nic
