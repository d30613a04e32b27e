// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/memory/dram/device.h"

namespace weft::dram {

enum class CommandKind : std::uint8_t {
  kActivate,
  kPrecharge,
  kPrechargeAll,
  kRead,
  kWrite,
  kRefresh,
  kRefreshBank,
  kRefreshDue,  ///< only inside the controller: a refresh becomes due
};

/// A command as the device sees it. Bank, row and column are 0 where the command has none.
struct Command {
  Clock at = 0;
  CommandKind kind = CommandKind::kRead;
  bool auto_precharge = false;  ///< of a read or write
  std::uint8_t pseudo_channel = 0;
  std::uint8_t bank = 0;  ///< as in Location
  std::uint16_t channel = 0;
  std::uint16_t column = 0;
  std::uint32_t row = 0;
};

/// Is told of each command, in the order of time within a channel.
class CommandObserver {
 public:
  virtual void on_command(const Command& command) = 0;

 protected:
  ~CommandObserver() = default;
};

}  // namespace weft::dram
