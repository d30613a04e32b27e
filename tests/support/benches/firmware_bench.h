// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sw/firmware/processor.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

namespace weft::test {

/// A processor with a register file as its only device, and a device that writes to its mailbox.
struct FirmwareBench {
  explicit FirmwareBench(const firmware::Processor::Config& config)
      : dispatcher("dispatcher"),
        script("script", dispatcher),
        processor("processor", config, dispatcher, 1, {}),
        registers("registers", dispatcher),
        device("device") {
    processor.device(0).bind(registers.socket);
    device.socket.bind(processor.mailbox(0));
  }
  void complete(const firmware::CompletionQueue& queue, std::uint64_t id = 0, Time delay = Time()) {
    nic::Completion entry;
    entry.id = id;
    device.write(queue.address(), &entry, sizeof entry, delay);
    EXPECT_EQ(device.status(), tlm::TLM_OK_RESPONSE);
  }

  Dispatcher dispatcher;
  Script script;
  firmware::Processor processor;
  Sink<std::uint64_t> registers;
  Initiator device;
};

}  // namespace weft::test
