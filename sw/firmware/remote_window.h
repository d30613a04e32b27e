// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/memory/remote/remote_dma.h"
#include "hw/memory/remote/remote_target.h"
#include "sw/firmware/memory_map.h"
#include "sw/firmware/processor.h"

namespace weft::firmware {

/// Remote memory as one rank's processor sees it: a DMA engine, and a part of the memory that is the rank's own. Where
/// the switches of a pool run collectives, another part is for these. A machine may have none.
class RemoteWindow {
 public:
  RemoteWindow() = default;
  RemoteWindow(Processor& processor, std::size_t device, memory::RemoteTarget& memory, std::uint32_t end)
      : processor_(&processor), device_(device), memory_(&memory), end_(end) {}

  [[nodiscard]] bool exists() const { return memory_ != nullptr; }
  [[nodiscard]] bool in_switch() const { return exists() && memory_->runs_collectives(); }

  std::uint64_t base = 0;    ///< where its own part begins
  MemoryMap own{Bytes()};    ///< of that part
  std::uint64_t shared = 0;  ///< bytes from address 0 on that are for collectives

  /// From remote memory, or to it; `queue` gets `id` when all of it is there.
  void load(std::uint64_t remote, std::uint64_t local, std::uint64_t bytes, const CompletionQueue& queue,
            std::uint64_t id) {
    submit({.remote = remote, .local = local, .bytes = bytes, .id = id, .completion_address = queue.address()});
  }
  void store(std::uint64_t remote, std::uint64_t local, std::uint64_t bytes, const CompletionQueue& queue,
             std::uint64_t id) {
    submit({.stores = true,
            .remote = remote,
            .local = local,
            .bytes = bytes,
            .id = id,
            .completion_address = queue.address()});
  }
  /// What all members of a group do alike, in the same order: the same bytes come to all, or the sum of theirs is
  /// stored.
  void gather(std::uint32_t group, std::uint64_t remote, std::uint64_t local, std::uint64_t bytes,
              const CompletionQueue& queue, std::uint64_t id) {
    submit({.group = group,
            .remote = remote,
            .local = local,
            .bytes = bytes,
            .id = id,
            .completion_address = queue.address(),
            .label = "gather"});
  }
  void reduce(std::uint32_t group, ElementType type, std::uint64_t remote, std::uint64_t local, std::uint64_t bytes,
              const CompletionQueue& queue, std::uint64_t id) {
    submit({.stores = true,
            .type = type,
            .group = group,
            .remote = remote,
            .local = local,
            .bytes = bytes,
            .id = id,
            .completion_address = queue.address(),
            .label = "reduce"});
  }

  // Control path, and debug access, in no time:
  [[nodiscard]] std::uint32_t create_group(const std::vector<std::uint32_t>& ranks) const {
    return memory_->create_group(ranks);
  }
  /// The bytes behind its addresses, with data on.
  [[nodiscard]] memory::BackingStore& bytes() const { return memory_->store(memory_->space_of(end_)); }

 private:
  void submit(const memory::RemoteCommand& command) {
    processor_->write(device_, memory::RemoteDma::kWindow, &command, sizeof command);
  }

  Processor* processor_ = nullptr;
  std::size_t device_ = 0;
  memory::RemoteTarget* memory_ = nullptr;
  std::uint32_t end_ = 0;
};

}  // namespace weft::firmware
