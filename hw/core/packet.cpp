// SPDX-License-Identifier: Apache-2.0
#include "hw/core/packet.h"

#include <bit>

namespace weft {
namespace {

constexpr std::size_t kSlab = 1024;
constexpr std::size_t kHeader = 16;  // holds the size class in front of a payload, and keeps its alignment

int size_class(std::uint32_t bytes) {
  return std::bit_width(bytes < 64 ? 63U : bytes - 1);
}

}  // namespace

void PacketPool::grow() {
  slabs_.push_back(std::make_unique<Packet[]>(kSlab));
  Packet* slab = slabs_.back().get();
  // Handed out in address order, which is what the first packets of a run want.
  for (std::size_t i = kSlab; i-- > 0;) free_.push_back(&slab[i]);
}

void PacketPool::attach_payload(Packet& packet, std::uint32_t bytes) {
  const int cls = size_class(bytes);
  auto& list = free_buffers_[static_cast<std::size_t>(cls)];
  if (list.empty()) {
    buffers_.push_back(std::make_unique<std::byte[]>((std::size_t{1} << cls) + kHeader));
    buffers_.back()[0] = static_cast<std::byte>(cls);
    list.push_back(buffers_.back().get() + kHeader);
  }
  packet.payload = list.back();
  list.pop_back();
  ++payloads_outstanding_;
}

void PacketPool::detach_payload(Packet& packet) {
  const auto cls = static_cast<std::size_t>(*(packet.payload - kHeader));
  free_buffers_[cls].push_back(packet.payload);
  packet.payload = nullptr;
  --payloads_outstanding_;
}

}  // namespace weft
