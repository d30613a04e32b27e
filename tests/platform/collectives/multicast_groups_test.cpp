// SPDX-License-Identifier: Apache-2.0
// Several multicast groups of the same ranks at once.
#include <gtest/gtest.h>

#include <cstdint>

#include "platforms/machine/machine.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/multicast/multicast.h"
#include "sw/collectives/reference.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::Communicator;

/// Members have registered different memory before, and begin the collectives of two groups in different orders: one
/// key opens what is multicast to all of a group. In twenty tasks each key has its turn again.
TEST(MulticastGroups, HaveMemoryKeysOfTheirOwn) {
  test::fresh_kernel();
  MachineConfig config;
  config.accelerators = 3;
  config.per_node = 1;
  config.data = true;
  config.collectives.algorithm = "multicast";
  config.collectives.of<collectives::MulticastConfig>().transport = collectives::MulticastTransport::kConnection;
  Machine machine(config);
  machine.nic(1).regions().add(0, 64);
  Communicator one(machine.ranks(), machine.config().collectives, "one");
  Communicator other(machine.ranks(), machine.config().collectives, "other");
  const collectives::Reference contents{dimensions::Operation::kAllgather, 3, 10'000, ElementType::kInt32, 5};
  std::uint64_t buffers[2];
  for (std::uint64_t& buffer : buffers) {
    buffer = firmware::allocate_together(machine.ranks(), "a buffer", contents.bytes);
    for (int r = 0; r < 3; ++r) contents.fill(machine.memory(r).store(), buffer, r);
  }
  const auto work = [&](Communicator& communicator, int r, std::uint64_t buffer, Time after) -> firmware::Task {
    co_await machine.rank(r).processor->delay(after);
    for (int i = 0; i < 20; ++i) co_await communicator.allgather(r, buffer, contents.bytes, 4);
  };
  for (int r = 0; r < 3; ++r) {
    firmware::Processor& processor = *machine.rank(r).processor;
    processor.spawn("one", 0, work(one, r, buffers[0], r == 0 ? 1_us : 0_us));
    processor.spawn("other", 1, work(other, r, buffers[1], r == 0 ? 0_us : 1_us));
  }
  machine.run();
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(machine.nic(r).counters().access_errors, 0);
    for (const std::uint64_t buffer : buffers) EXPECT_EQ(contents.wrong(machine.memory(r).store(), buffer, r), 0);
  }
}

}  // namespace
}  // namespace weft::platforms
