// SPDX-License-Identifier: Apache-2.0
// What the sockets of memories show in waveforms.
#include "hw/memory/memory_waves.h"

#include <gtest/gtest.h>

#include <vector>

#include "hw/memory/bank_hbm.h"
#include "hw/memory/hbm.h"
#include "platforms/machine/waves/wave_file.h"
#include "tests/support/benches/dram.h"
#include "tests/support/benches/nb_master.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/vcd.h"
#include "traces/vcd/block_trace.h"

namespace weft::memory {
namespace {

using namespace weft::literals;

class MemoryWavesTest : public test::VcdTest {
 protected:
  [[nodiscard]] vcd::BlockTrace read(const std::string& file, const std::string& socket) const {
    const vcd::StreamNames requests{.valid = socket + ".req_valid",
                                    .ready = socket + ".req_ready",
                                    .data = socket + ".req_address",
                                    .last = socket + ".req_last",
                                    .id = socket + ".req_id",
                                    .adds = socket + ".req_command",
                                    .kind = socket + ".req_bytes"};
    const vcd::StreamNames answers{.valid = socket + ".resp_valid",
                                   .ready = socket + ".resp_ready",
                                   .data = {},
                                   .last = socket + ".resp_last",
                                   .id = socket + ".resp_id",
                                   .adds = socket + ".resp_error",
                                   .kind = {}};
    return vcd::read_block(file, {socket + ".clk", "", false}, {requests}, &answers, true);
  }
  static std::uint64_t number(const std::string& bits) { return std::stoull(bits, nullptr, 2); }
};

TEST_F(MemoryWavesTest, ShowRequestsAndAnswersOfTheSocketsThatAreWanted) {
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  Hbm::Config config;
  config.capacity = 1_GiB;
  config.rate = 1000_GBps;  // a byte a picosecond
  config.efficiency = 1.0;
  config.latency = 500_ns;
  Hbm hbm("hbm", config, dispatcher, {"compute", "nic"}, false, Stall::Config());
  test::Initiator compute("compute");
  test::Initiator nic("nic");
  compute.socket.bind(hbm.socket(0));
  nic.socket.bind(hbm.socket(1));
  const std::string file = folder_ / "hbm.vcd";
  platforms::WaveFile waves(file, {"hbm.from_nic"}, dispatcher, /*free_clocks=*/true);
  hbm.record(waves);
  EXPECT_EQ(waves.unused(), std::nullopt);
  script.at(1_us, [&] {
    nic.read(4096, nullptr, 4096);
    nic.write(1 << 20, nullptr, 1000);
    compute.read(0, nullptr, 64);
  });
  sc_core::sc_start();
  waves.close(2_us);

  const vcd::Reader reader(file);
  EXPECT_EQ(test::find_signal(reader.header(), "hbm.from_compute.clk"), nullptr);
  const vcd::BlockTrace trace = read(file, "hbm.from_nic");
  ASSERT_EQ(trace.inputs[0].size(), 2U);
  ASSERT_EQ(trace.output.size(), 2U);
  // At edges 0.5 ns apart. Each beat is handed over at the one after that at which it is there.
  const vcd::Beat& read = trace.inputs[0][0];
  EXPECT_EQ(read.time, 1'000'500U);
  EXPECT_EQ(number(read.id), 0U);
  EXPECT_EQ(read.adds, false);
  EXPECT_EQ(number(read.data), 4096U);
  EXPECT_EQ(number(read.kind), 4096U);
  EXPECT_TRUE(read.last);
  EXPECT_EQ(trace.output[0].time, 1'505'000U);  // 4096 ps and 500 ns after it was asked for
  EXPECT_EQ(number(trace.output[0].id), 0U);
  // The memory takes the write when the read's bytes are through: until then it is not ready.
  const vcd::Beat& write = trace.inputs[0][1];
  EXPECT_EQ(write.offered, read.taken + 1);
  EXPECT_EQ(write.time, 1'005'000U);
  EXPECT_EQ(write.adds, true);
  EXPECT_EQ(number(write.data), 1U << 20);
  EXPECT_EQ(trace.output[1].time, 1'506'000U);
  EXPECT_EQ(number(trace.output[1].id), 1U);
  EXPECT_FALSE(trace.output[1].adds);
}

/// A memory that learns as time goes on what it can take: the four phases of its socket.
TEST_F(MemoryWavesTest, ShowWhatWaitsForBanks) {
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  BankHbm::Config config;
  static_cast<dram::MemoryConfig&>(config) = test::memory_of("hbm2");
  config.outstanding = 4;
  const auto burst = static_cast<std::uint32_t>(config.device.geometry.burst.count());
  BankHbm hbm("hbm", config, dispatcher, {"nic"}, false);
  test::NbMaster nic("nic", dispatcher);
  nic.socket.bind(hbm.socket(0));
  const std::string file = folder_ / "banks.vcd";
  platforms::WaveFile waves(file, {"hbm"}, dispatcher, /*free_clocks=*/true);
  hbm.record(waves);
  script.at(1_us, [&] {
    nic.send(tlm::TLM_READ_COMMAND, 0, nullptr, 4 * burst);
    nic.send(tlm::TLM_WRITE_COMMAND, 1 << 20, nullptr, burst);
  });
  sc_core::sc_start();
  waves.close(3_us);

  const vcd::BlockTrace trace = read(file, "hbm.from_nic");
  ASSERT_EQ(trace.inputs[0].size(), 2U);
  ASSERT_EQ(trace.output.size(), 2U);
  ASSERT_EQ(nic.answers.size(), 2U);
  const vcd::Beat& read = trace.inputs[0][0];
  EXPECT_EQ(read.time, 1'000'500U);
  EXPECT_EQ(read.adds, false);
  EXPECT_EQ(number(read.kind), 4 * burst);
  // The bursts of the read have all places until its first data are back.
  const vcd::Beat& write = trace.inputs[0][1];
  EXPECT_EQ(write.offered, read.taken + 1);
  EXPECT_GT(write.taken, write.offered);
  EXPECT_GT(Time(static_cast<std::int64_t>(write.time)), 1_us + 2 * config.latency);
  EXPECT_EQ(write.adds, true);
  EXPECT_EQ(number(write.data), 1U << 20);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(number(trace.output[i].id), nic.answers[i].id);
    // From the edge at or after it until the next.
    const std::int64_t at = nic.answers[i].at.count();
    EXPECT_EQ(trace.output[i].time, static_cast<std::uint64_t>((at + 499) / 500 * 500 + 500));
    EXPECT_FALSE(trace.output[i].adds);
  }
}

}  // namespace
}  // namespace weft::memory
