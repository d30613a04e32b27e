// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/memory_regions.h"

#include <stdexcept>

namespace weft::nic {

std::uint32_t MemoryRegions::add(std::uint64_t base, std::uint64_t bytes) {
  if (live_ == kKeys - 1) throw std::length_error("all " + std::to_string(live_) + " memory keys are in use");
  while (next_ < regions_.size() && regions_[next_].until == kNever) next_ = next_ % (kKeys - 1) + 1;
  const std::uint32_t key = next_;
  if (key == regions_.size()) regions_.emplace_back();
  regions_[key] = {base, bytes, kNever};
  next_ = next_ % (kKeys - 1) + 1;
  ++live_;
  return key;
}

void MemoryRegions::remove(std::uint32_t key, Time at) {
  if (key == 0 || key >= regions_.size() || regions_[key].until != kNever) return;
  regions_[key].until = at;
  --live_;
}

bool MemoryRegions::covers(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, Time now) const {
  if (key == 0) return true;
  if (key >= regions_.size()) return false;
  const Region& region = regions_[key];
  return now < region.until && address >= region.base && bytes <= region.bytes &&
         address - region.base <= region.bytes - bytes;
}

}  // namespace weft::nic
