// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hw/fabric/fabric_config.h"
#include "hw/nic/nic_config.h"

/// Hosts with nothing but a network interface and a memory, sending RDMA writes to each other: measures the network.
namespace weft::platforms {

/// `kPermutation`: every host sends to one other, and no two to the same. `kIncast`: all to host 0. `kAllToAll`: every
/// host to every other one, a packet each in turn.
enum class Pattern : std::uint8_t { kPermutation, kIncast, kAllToAll };

struct Traffic {
  Pattern pattern = Pattern::kPermutation;
  std::uint32_t hosts = 128;
  int messages = 1;  ///< of each flow
  std::uint64_t message_bytes = 1 << 20;
  nic::NicConfig interface = {};
};

/// Runs it and gives a row of the table of `weft bench`.
nlohmann::ordered_json traffic_load(const std::string& what, const Traffic& traffic,
                                    const fabric::FabricConfig& config);

}  // namespace weft::platforms
