// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hw/accelerator/accelerator.h"
#include "hw/memory/hbm.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

/// An accelerator with a memory, whose command window and completion queue the test holds, and commands for it.
namespace weft::accelerator::test_bench {

using namespace weft::literals;
class Bench {
 public:
  explicit Bench(Accelerator::Config config = {})
      : dispatcher("dispatcher"),
        script("script", dispatcher),
        hbm("hbm", memory_config(), dispatcher, {"compute", "copy", "other"}, true, {}),
        accelerator("accelerator", config, dispatcher, true, {}),
        window("window"),
        other("other"),
        done("done", dispatcher) {
    accelerator.compute.bind(hbm.socket(0));
    accelerator.copy.bind(hbm.socket(1));
    other.socket.bind(hbm.socket(2));
    window.socket.bind(accelerator.registers);
    accelerator.completion.bind(done.socket);
  }
  /// One byte takes a picosecond, and nothing else.
  static memory::Hbm::Config memory_config() {
    memory::Hbm::Config config;
    config.rate = 1000_GBps;
    config.efficiency = 1.0;
    config.latency = Time();
    return config;
  }
  void submit(const Command& command, Time delay = Time()) {
    window.write(kCommandWindow, &command, sizeof command, delay);
    ASSERT_EQ(window.status(), tlm::TLM_OK_RESPONSE);
  }
  void at(Time when, const Command& command) {
    script.at(when, [this, command] { submit(command); });
  }
  void run() {
    sc_core::sc_start();
    EXPECT_EQ(accelerator.left_over(), std::vector<std::string>());
  }
  /// When `id` was notified; kNever if it was not.
  [[nodiscard]] Time notified(std::uint64_t id) const {
    for (const auto& entry : done.written) {
      if (entry.entry.id == id) return entry.at;
    }
    return kNever;
  }

  Dispatcher dispatcher;
  test::Script script;
  memory::Hbm hbm;
  Accelerator accelerator;
  test::Initiator window;
  test::Initiator other;
  test::Sink<Done> done;
};

inline Command kernel(std::uint32_t stream, Time launch, Time compute, std::uint64_t read = 0,
                      std::uint64_t written = 0) {
  Command command;
  command.operation = Operation::kKernel;
  command.stream = stream;
  command.launch_ps = launch.count();
  command.compute_ps = compute.count();
  command.read = read;
  command.written = written;
  return command;
}
inline Command notify(std::uint32_t stream, std::uint64_t id) {
  Command command;
  command.operation = Operation::kNotify;
  command.stream = stream;
  command.id = id;
  command.completion_address = 5;
  return command;
}
inline Command semaphore(Operation operation, std::uint32_t stream, std::uint32_t index, std::uint64_t value) {
  Command command;
  command.operation = operation;
  command.stream = stream;
  command.semaphore = index;
  command.value = value;
  return command;
}
inline Command wait(std::uint32_t stream, std::uint32_t index, std::uint64_t value) {
  return semaphore(Operation::kWait, stream, index, value);
}
inline Command signal(std::uint32_t stream, std::uint32_t index, std::uint64_t value) {
  return semaphore(Operation::kSignal, stream, index, value);
}

inline Command copy(Operation operation, std::uint32_t engine, std::uint64_t source, std::uint64_t other,
                    std::uint64_t destination, std::uint64_t bytes, ElementType type = ElementType::kFp32,
                    std::uint64_t id = 0) {
  Command command;
  command.operation = operation;
  command.stream = Command::kImmediate;
  command.engine = engine;
  command.source = source;
  command.other = other;
  command.destination = destination;
  command.bytes = bytes;
  command.type = type;
  command.id = id;
  return command;
}

inline Command on_cores(std::uint32_t cores, Command command) {
  command.cores = cores;
  return command;
}

}  // namespace weft::accelerator::test_bench
