// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/busy_parts.h"

#include <algorithm>
#include <cstddef>

#include "hw/nic/host_link.h"

namespace weft::platforms {

PassedPart described(Passed part) {
  constexpr std::array<PassedPart, kPassedParts> kParts = {{{"link", "link"},
                                                            {"dma_read", "DMA reading"},
                                                            {"dma_write", "DMA writing"},
                                                            {"memory", "memory"},
                                                            {"nic_cores", "NIC cores"}}};
  return kParts[static_cast<std::size_t>(part)];
}

std::vector<BusyTimes> busy_times(Machine& machine) {
  std::vector<BusyTimes> all(static_cast<std::size_t>(machine.size()));
  for (int r = 0; r < machine.size(); ++r) {
    BusyTimes& busy = all[static_cast<std::size_t>(r)];
    const auto at = [&busy](Passed part) -> Time& { return busy[static_cast<std::size_t>(part)]; };
    const nic::HostLink::Config dma = machine.nic(r).config().host_link();
    memory::Memory& memory = machine.memory(r);
    for (std::size_t m = 0; m < memory.masters(); ++m) {
      const memory::Memory::Traffic traffic = memory.traffic(m);
      at(Passed::kMemory) += traffic.busy;
      if (memory.master_name(m) != "nic") continue;
      at(Passed::kDmaRead) = nic::HostLink::passage(dma, Bytes(traffic.read_bytes));
      at(Passed::kDmaWrite) = nic::HostLink::passage(dma, Bytes(traffic.written_bytes));
    }
    at(Passed::kLink) = machine.nic(r).transmitter().busy();
    const firmware::Processor* cores = machine.rank(r).offload.processor;
    for (int c = 0; cores != nullptr && c < cores->config().cores; ++c) {
      at(Passed::kNicCores) = std::max(at(Passed::kNicCores), cores->busy(static_cast<std::size_t>(c)));
    }
  }
  return all;
}

std::array<double, kPassedParts> busy_shares(const std::vector<BusyTimes>& from, const std::vector<BusyTimes>& until,
                                             Time time) {
  std::array<double, kPassedParts> shares{};
  if (time <= Time()) return shares;
  for (std::size_t r = 0; r < until.size(); ++r) {
    for (std::size_t p = 0; p < kPassedParts; ++p) {
      const Time busy = until[r][p] - from[r][p];
      shares[p] = std::max(shares[p], static_cast<double>(busy.count()) / static_cast<double>(time.count()));
    }
  }
  return shares;
}

}  // namespace weft::platforms
