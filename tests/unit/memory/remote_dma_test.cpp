// SPDX-License-Identifier: Apache-2.0
// The DMA engine between an accelerator's memory and remote memory, whose window and completions the test holds.
#include "hw/memory/remote/remote_dma.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hw/memory/hbm.h"
#include "hw/memory/remote/remote_memory.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/reports.h"

namespace weft::memory {
namespace {

using namespace weft::literals;
using test::pattern_bytes;

/// One byte takes a picosecond everywhere; remote memory has a latency of 100 ns and chunks of 1000 bytes.
class DmaBench {
 public:
  explicit DmaBench(int outstanding = 4)
      : dispatcher("dispatcher"),
        script("script", dispatcher),
        hbm("hbm", hbm_config(), dispatcher, {"remote"}, true, {}),
        remote("remote_memory", remote_config(), 1, 1, dispatcher, true, {}),
        dma("dma", RemoteDma::Config{outstanding, 1_us}, Bytes(1000), dispatcher, true, {}),
        window("window"),
        done("done", dispatcher) {
    dma.local.bind(hbm.socket(0));
    dma.remote.bind(remote.socket(0));
    dma.completion.bind(done.socket);
    window.socket.bind(dma.registers);
  }
  static Hbm::Config hbm_config() {
    Hbm::Config config;
    config.rate = 1000_GBps;
    config.efficiency = 1.0;
    config.latency = Time();
    return config;
  }
  static RemoteMemory::Config remote_config() {
    RemoteMemory::Config config;
    config.kind = RemoteKind::kPool;
    config.capacity = 1_GiB;
    config.rate = 1000_GBps;
    config.latency = 100_ns;
    config.chunk = Bytes(1000);
    return config;
  }
  void at(Time when, bool stores, std::uint64_t remote_address, std::uint64_t local_address, std::uint64_t bytes,
          std::uint64_t id) {
    RemoteCommand command;
    command.stores = stores;
    command.remote = remote_address;
    command.local = local_address;
    command.bytes = bytes;
    command.id = id;
    command.completion_address = 9;
    script.at(when, [this, command] {
      window.write(RemoteDma::kWindow, &command, sizeof command);
      EXPECT_EQ(window.status(), tlm::TLM_OK_RESPONSE);
    });
  }
  [[nodiscard]] Time ended(std::uint64_t id) const {
    for (const auto& entry : done.written) {
      if (entry.entry.id == id) return entry.at;
    }
    return kNever;
  }

  Dispatcher dispatcher;
  test::Script script;
  Hbm hbm;
  RemoteMemory remote;
  RemoteDma dma;
  test::Initiator window;
  test::Sink<RemoteDone> done;
};

TEST(RemoteDma, HasAWindowOfChunksUnderWay) {
  DmaBench bench(4);
  bench.at(1_us, false, 0, 0, 40'000, 1);
  sc_core::sc_start();
  // A chunk needs 1 ns at the remote memory, 100 ns of latency, 1 ns into HBM; the first of four that are asked for
  // together frees its place when it is in HBM, the others follow 1 ns apart: ten rounds of 102 ns, and three chunks.
  EXPECT_EQ(bench.ended(1), 2_us + 10 * 102_ns + 3_ns);
  EXPECT_EQ(bench.done.written[0].address, 9u);
  EXPECT_EQ(bench.dma.counters().loads, 1);
  EXPECT_EQ(bench.dma.counters().loaded_bytes, 40'000);
  EXPECT_EQ(bench.dma.counters().busy, 1_us + 10 * 102_ns + 3_ns);
  EXPECT_TRUE(bench.dma.left_over().empty());
}

TEST(RemoteDma, IsAsFastAsTheMemoryWithAWindowThatHidesItsLatency) {
  DmaBench bench(200);
  bench.at(1_us, false, 0, 0, 1'000'000, 1);
  bench.at(3_us, true, 2'000'000, 0, 1'000'000, 2);
  sc_core::sc_start();
  // The load alone until the store comes; then both share the one memory.
  EXPECT_GE(bench.ended(2), 2_us + 2'000_ns);
  EXPECT_LE(bench.ended(2), 4_us + 2'000_ns + 110_ns);
  EXPECT_EQ(bench.remote.memory(0).bytes, 2'000'000);
}

TEST(RemoteDma, CutsAtChunksAndMovesBytes) {
  DmaBench bench;
  const auto bytes = pattern_bytes(5000, 3);
  bench.hbm.store().write(77, bytes.data(), bytes.size());
  bench.at(1_us, true, 1'500, 77, 5000, 1);
  bench.at(1_ms, false, 1'600, 100'000, 4000, 2);
  bench.at(2_ms, false, 0, 0, 0, 3);  // of nothing
  sc_core::sc_start();
  std::vector<std::byte> back(4000);
  bench.hbm.store().read(100'000, back.data(), back.size());
  EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin() + 100));
  EXPECT_EQ(bench.remote.totals().stores, 6);  // 500, four whole ones, 500
  EXPECT_EQ(bench.remote.totals().loads, 5);
  EXPECT_EQ(bench.ended(3), 2_ms + 1_us);
}

TEST(RemoteDma, SaysThatTheRemoteMemoryEnds) {
  DmaBench bench;
  bench.at(1_us, false, (1 << 30) - 1000, 0, 2000, 1);
  const test::ExpectReports expect;
  try {
    sc_core::sc_start();
    FAIL();
  } catch (const sc_core::sc_report& report) {
    const std::string text = report.get_msg();
    EXPECT_NE(text.find("remote memory refused to load"), std::string::npos) << text;
    EXPECT_NE(text.find("it ends before (remote_memory.capacity)"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace weft::memory
