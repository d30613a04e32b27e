// SPDX-License-Identifier: Apache-2.0
// The memory of an accelerator through its base-protocol sockets.
#include "hw/memory/hbm.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/memory/backing_store.h"
#include "tests/support/benches/byte_enables.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

namespace weft::memory {
namespace {

using namespace weft::literals;
using test::pattern_bytes;

Hbm::Config one_byte_per_ps() {
  Hbm::Config config;
  config.capacity = 1_GiB;
  config.rate = 1000_GBps;
  config.efficiency = 1.0;
  config.latency = 500_ns;
  return config;
}

class HbmBench {
 public:
  explicit HbmBench(std::size_t masters = 2, const Hbm::Config& config = one_byte_per_ps(), bool data = true)
      : HbmBench(numbered(masters), config, data) {}
  HbmBench(const std::vector<std::string>& names, const Hbm::Config& config, bool data = true)
      : dispatcher("dispatcher"), script("script", dispatcher) {
    const std::size_t masters = names.size();
    hbm = std::make_unique<Hbm>("hbm", config, dispatcher, names, data, Stall::Config());
    for (std::size_t i = 0; i < masters; ++i) {
      initiators.push_back(std::make_unique<test::Initiator>(("initiator" + std::to_string(i)).c_str()));
      initiators[i]->socket.bind(hbm->socket(i));
    }
  }
  void run(std::function<void()> action) {
    script.at(1_us, std::move(action));
    sc_core::sc_start();
  }
  test::Initiator& master(std::size_t i) { return *initiators[i]; }
  Dispatcher dispatcher;
  test::Script script;
  std::unique_ptr<Hbm> hbm;
  std::vector<std::unique_ptr<test::Initiator>> initiators;

 private:
  static std::vector<std::string> numbered(std::size_t masters) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < masters; ++i) names.push_back("m" + std::to_string(i));
    return names;
  }
};

TEST(BackingStore, KeepsBytesAcrossPagesAndReadsZeroElsewhere) {
  BackingStore store;
  const auto bytes = pattern_bytes(3 * BackingStore::kPage, 1);
  const std::uint64_t address = (1ULL << 45) + BackingStore::kPage - 7;
  store.write(address, bytes.data(), bytes.size());
  EXPECT_EQ(store.pages(), 4u);
  std::vector<std::byte> back(bytes.size() + 20, std::byte{0xff});
  store.read(address - 10, back.data(), back.size());
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(back[i], std::byte{0});
    EXPECT_EQ(back[back.size() - 1 - i], std::byte{0});
  }
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), back.begin() + 10));
  EXPECT_EQ(store.pages(), 4u);  // reading touches nothing
}

TEST(Hbm, TakesItsLatencyAndItsRate) {
  HbmBench bench;
  std::vector<std::byte> buffer(4096);
  bench.run([&] {
    EXPECT_EQ(bench.master(0).read(0, buffer.data(), 4096), 4096_ps + 500_ns);
    // A backlog: after what is ahead of it.
    EXPECT_EQ(bench.master(0).write(0, buffer.data(), 1000), 4096_ps + 1000_ps + 500_ns);
    // In the future: the memory is idle by then.
    EXPECT_EQ(bench.master(0).read(0, buffer.data(), 100, 1_us), 1_us + 100_ps + 500_ns);
  });
  EXPECT_EQ(bench.hbm->counters(0).reads, 2);
  EXPECT_EQ(bench.hbm->counters(0).writes, 1);
  EXPECT_EQ(bench.hbm->counters(0).read_bytes, 4196);
  EXPECT_EQ(bench.hbm->counters(0).written_bytes, 1000);
  EXPECT_EQ(bench.hbm->counters(0).busy, 5196_ps);
  EXPECT_EQ(bench.hbm->counters(1).reads, 0);
}

TEST(Hbm, SustainsTheShareOfItsRateThatEfficiencySays) {
  Hbm::Config config = one_byte_per_ps();
  config.efficiency = 0.5;
  HbmBench bench(1, config);
  bench.run([&] { EXPECT_EQ(bench.master(0).read(0, nullptr, 1 << 20), Time(2 << 20) + 500_ns); });
}

/// A master that asks for the next block when it has the last one, as DMA engines do.
struct Stream {
  HbmBench& bench;
  std::size_t master;
  std::uint32_t block;
  int blocks;
  Time end;
  void next() {
    const Time done = bench.dispatcher.now() + bench.master(master).read(0, nullptr, block);
    if (--blocks == 0) {
      end = done;
      return;
    }
    bench.script.at(done, [this] { next(); });
  }
};

TEST(Hbm, SharesItsRateEquallyAmongBusyMasters) {
  Hbm::Config config = one_byte_per_ps();
  config.latency = Time();
  for (const std::size_t masters : {2U, 3U, 4U}) {
    test::fresh_kernel();
    HbmBench bench(masters, config);
    std::vector<std::unique_ptr<Stream>> streams;
    constexpr int kBlocks = 1000;
    constexpr std::uint32_t kBlock = 10'000;
    for (std::size_t m = 0; m < masters; ++m) {
      streams.push_back(std::make_unique<Stream>(Stream{bench, m, kBlock, kBlocks, Time()}));
    }
    bench.run([&] {
      for (auto& stream : streams) stream->next();
    });
    const double whole = static_cast<double>(masters) * kBlocks * kBlock;
    for (const auto& stream : streams) {
      const auto took = static_cast<double>((stream->end - 1_us).count());
      EXPECT_NEAR(took / whole, 1.0, 0.01) << "master " << stream->master << " of " << masters;
    }
  }
}

TEST(Hbm, NeverGivesMoreThanItsRate) {
  // One that streams large blocks and one that streams small ones: together they cannot beat the memory.
  Hbm::Config config = one_byte_per_ps();
  config.latency = Time();
  HbmBench bench(2, config);
  Stream large{bench, 0, 1 << 20, 40, Time()};
  Stream small{bench, 1, 4096, 10'240, Time()};
  bench.run([&] {
    large.next();
    small.next();
  });
  const Time end = std::max(large.end, small.end) - 1_us;
  EXPECT_GE(end, Time(80 << 20));
  EXPECT_LE(static_cast<double>(end.count()), 1.02 * (80 << 20));
}

TEST(Hbm, AShortRequestDoesNotWaitBehindALongOneOfAnotherMaster) {
  HbmBench bench;
  bench.run([&] {
    bench.master(0).read(0, nullptr, 100 << 20);  // 105 us
    EXPECT_LT(bench.master(1).read(0, nullptr, 64), 1_us);
  });
}

TEST(Hbm, RefusesWhatLiesBeyondItsCapacity) {
  HbmBench bench;
  std::vector<std::byte> buffer(64);
  bench.run([&] {
    test::Initiator& master = bench.master(0);
    const std::uint64_t end = 1ULL << 30;
    EXPECT_EQ(master.write(end - 64, buffer.data(), 64), 64_ps + 500_ns);
    EXPECT_EQ(master.status(), tlm::TLM_OK_RESPONSE);
    for (const std::uint64_t address : {end - 63, end, end + 1, UINT64_MAX - 10}) {
      EXPECT_EQ(master.read(address, buffer.data(), 64), Time());
      EXPECT_EQ(master.status(), tlm::TLM_ADDRESS_ERROR_RESPONSE) << address;
      EXPECT_EQ(master.debug(tlm::TLM_READ_COMMAND, address, buffer.data(), 64), 0u);
    }
  });
}

TEST(Hbm, MovesBytesByEveryTransport) {
  HbmBench bench;
  const auto bytes = pattern_bytes(100'000, 5);
  bench.run([&] {
    std::vector<std::byte> back(bytes.size());
    bench.master(0).write(777, bytes.data(), 100'000);
    bench.master(1).read(777, back.data(), 100'000);
    EXPECT_TRUE(back == bytes);

    test::Initiator& master = bench.master(0);
    EXPECT_EQ(master.debug(tlm::TLM_READ_COMMAND, 777, back.data(), 50), 50u);
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + 50, bytes.begin()));
    EXPECT_EQ(master.debug(tlm::TLM_WRITE_COMMAND, 1 << 20, back.data(), 50), 50u);

    std::vector<std::byte> third(50);
    master.prepare(tlm::TLM_READ_COMMAND, 1 << 20, third.data(), 50);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    EXPECT_EQ(master.socket->nb_transport_fw(master.payload, phase, delay), tlm::TLM_COMPLETED);
    EXPECT_EQ(master.status(), tlm::TLM_OK_RESPONSE);
    EXPECT_GE(from_delay(delay), 500_ns);
    EXPECT_TRUE(std::equal(third.begin(), third.end(), bytes.begin()));
  });
}

TEST(Hbm, LeavesBytesAloneThatAreNotEnabled) {
  HbmBench bench;
  bench.run([&] {
    test::expect_byte_enables(bench.master(0), BackingStore::kPage - 33);
    std::vector<std::byte> data(64);
    test::transport_enabled(bench.master(1), tlm::TLM_WRITE_COMMAND, 0, data, {TLM_BYTE_DISABLED}, 32);
  });
  // What is refused costs and counts nothing.
  EXPECT_EQ(bench.hbm->counters(1).writes, 0);
  EXPECT_EQ(bench.hbm->counters(1).busy, Time());
}

TEST(Hbm, GrantsNoDirectAccessBeyondItsCapacity) {
  Hbm::Config config = one_byte_per_ps();
  config.capacity = 100_KiB;
  HbmBench bench(1, config);
  bench.run([&] {
    test::Initiator& master = bench.master(0);
    master.prepare(tlm::TLM_READ_COMMAND, 70'000, nullptr, 1);
    tlm::tlm_dmi dmi;
    ASSERT_TRUE(master.socket->get_direct_mem_ptr(master.payload, dmi));
    EXPECT_EQ(dmi.get_start_address(), BackingStore::kPage);
    EXPECT_EQ(dmi.get_end_address(), 102'399U);
  });
}

TEST(Hbm, GrantsDirectAccessToAPage) {
  HbmBench bench;
  const auto bytes = pattern_bytes(100, 5);
  bench.run([&] {
    test::Initiator& master = bench.master(0);
    master.write(200'000, bytes.data(), 100);
    EXPECT_TRUE(master.payload.is_dmi_allowed());
    tlm::tlm_dmi dmi;
    ASSERT_TRUE(master.socket->get_direct_mem_ptr(master.payload, dmi));
    EXPECT_TRUE(dmi.is_read_write_allowed());
    EXPECT_LE(dmi.get_start_address(), 200'000u);
    EXPECT_GE(dmi.get_end_address(), 200'099u);
    EXPECT_EQ(from_delay(dmi.get_read_latency()), 500_ns);
    unsigned char* at = dmi.get_dmi_ptr() + (200'000 - dmi.get_start_address());
    EXPECT_EQ(std::memcmp(at, bytes.data(), 100), 0);
    at[3] = 99;
    std::byte back{};
    bench.master(1).read(200'003, &back, 1);
    EXPECT_EQ(back, std::byte{99});
    master.prepare(tlm::TLM_READ_COMMAND, 1ULL << 30, nullptr, 1);
    EXPECT_FALSE(master.socket->get_direct_mem_ptr(master.payload, dmi));
  });
}

TEST(Hbm, TouchesNoMemoryWithoutData) {
  HbmBench bench(1, one_byte_per_ps(), false);
  std::vector<std::byte> buffer(4096, std::byte{1});
  bench.run([&] {
    test::Initiator& master = bench.master(0);
    EXPECT_EQ(master.write(0, nullptr, 4096), 4096_ps + 500_ns);
    EXPECT_EQ(master.status(), tlm::TLM_OK_RESPONSE);
    EXPECT_FALSE(master.payload.is_dmi_allowed());
    master.write(0, buffer.data(), 4096);
    EXPECT_EQ(master.debug(tlm::TLM_WRITE_COMMAND, 0, buffer.data(), 4096), 0u);
    tlm::tlm_dmi dmi;
    EXPECT_FALSE(master.socket->get_direct_mem_ptr(master.payload, dmi));
  });
  EXPECT_EQ(bench.hbm->store().pages(), 0u);
}

TEST(Hbm, CountsWhatOthersThatCameLaterHoldARequestUp) {
  HbmBench bench;
  bench.script.at(1_us + 1500_ps, [&] {
    EXPECT_EQ(bench.hbm->traffic(0).waited, 0_ps);
    EXPECT_EQ(bench.hbm->traffic(1).waited, 600_ps + 300_ps);
    // Its master ends at 1900 ps, 900 ps later for the others: what is left of that is waited for.
    EXPECT_EQ(bench.master(0).read(0, nullptr, 100), 400_ps + 100_ps + 500_ns);
    EXPECT_EQ(bench.hbm->traffic(0).waited, 400_ps);
  });
  bench.script.at(2_us, [&] {
    bench.master(0).read(0, nullptr, 1000);
    bench.master(1).read(0, nullptr, 100);
  });
  bench.script.at(3_us, [&] {
    // It was put off, but that is over.
    EXPECT_EQ(bench.master(0).read(0, nullptr, 100), 100_ps + 500_ns);
    EXPECT_EQ(bench.hbm->traffic(0).waited, 400_ps);
  });
  bench.run([&] {
    bench.master(0).read(0, nullptr, 1000);
    bench.master(1).read(0, nullptr, 600);
    bench.master(1).read(0, nullptr, 300);  // 1200 to 1800 ps: the other has 400 ps left then, and takes half of 600
  });
}

TEST(Hbm, MastersShareAnInterconnectThatIsSlowerThanIt) {
  Hbm::Config config = one_byte_per_ps();
  config.interconnect_rate = 250_GBps;
  EXPECT_EQ(config.sustained(), 250_GBps);
  HbmBench bench(2, config, false);
  bench.run([&] {
    EXPECT_EQ(bench.master(0).read(0, nullptr, 1000), 4000_ps + 500_ns);
    // Half each from here on, and the counters say who waited for whom.
    EXPECT_EQ(bench.master(1).read(0, nullptr, 1000), 8000_ps + 500_ns);
  });
  EXPECT_EQ(bench.hbm->traffic(0).waited, 0_ps);
  EXPECT_EQ(bench.hbm->traffic(1).waited, 4000_ps);
  config.interconnect_rate = 2000_GBps;
  EXPECT_EQ(config.sustained(), 1000_GBps);
}

TEST(Hbm, CoresShareTheirRateAndLeaveTheRestToOthers) {
  Hbm::Config config = one_byte_per_ps();
  config.core_rate = 250_GBps;
  HbmBench bench({"compute", "copy", "nic"}, config, false);
  bench.run([&] {
    EXPECT_EQ(bench.master(0).read(0, nullptr, 1000), 4000_ps + 500_ns);
    // Half of the cores' rate each from here on.
    EXPECT_EQ(bench.master(1).read(0, nullptr, 1000), 8000_ps + 500_ns);
    // The memory moves 2,000 bytes more for others; what the cores' rate holds back does not count.
    EXPECT_EQ(bench.master(2).read(0, nullptr, 1000), 3000_ps + 500_ns);
  });
}

}  // namespace
}  // namespace weft::memory
