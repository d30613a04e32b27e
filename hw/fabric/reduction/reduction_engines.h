// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/packet.h"
#include "hw/fabric/reduction/reduction_engine.h"

/// Implementations of the ReductionEngine by the names that `reduction.implementation` gives them. There is always
/// `model`; RTL is provided by whoever links it, before the platform is built (hw/rtl/reduction_lane.h).
namespace weft::fabric {

/// Where an engine is built in. What it refers to outlives the engine.
struct ReductionSite {
  const ReductionEngine::Config& config;
  std::size_t ports;  ///< of the switch
  Dispatcher& dispatcher;
  PacketPool& packets;
  /// For an engine whose `take` does not know the sum at once: hands it to the switch when its last byte is there.
  /// Its first byte was there at `head`, and the switch counts its own latency from then on. From a process of the
  /// kernel or an event of the dispatcher.
  std::function<void(Packet& sum, Time head)> pass_on;
  /// For an operand that was not consumed at once: its input buffer is free at `gone`, now or later.
  struct Held {
    std::uint16_t port = 0;
    std::uint8_t lane = 0;
    std::uint32_t wire_bytes = 0;
  };
  std::function<void(const Held& held, Time gone)> release;
};

using ReductionMaker = std::function<std::unique_ptr<ReductionEngine>(const ReductionSite&)>;

/// `make` is called in the constructor of each switch that has this implementation: modules that it creates are parts
/// of the switch. Throws std::invalid_argument for a name that is there already.
void provide_reduction_engine(const std::string& name, ReductionMaker make);

/// Throws ConfigError, with `path`, for a name that nobody has provided.
void check_reduction_engine(const std::string& name, const std::string& path);

/// `site.config.implementation` says which; it has been checked.
std::unique_ptr<ReductionEngine> make_reduction_engine(const ReductionSite& site);

}  // namespace weft::fabric
