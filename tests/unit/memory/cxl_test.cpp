// SPDX-License-Identifier: Apache-2.0
// CXL links, switches, memory expanders and the pools made of them: exact times, rates, contention, contents, errors.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/memory/remote/cxl_pool.h"
#include "tests/support/benches/byte_enables.h"
#include "tests/support/benches/remote_bench.h"
#include "tests/support/benches/tlm_checker.h"
#include "tests/support/kernel.h"

namespace weft::memory {
namespace {

using namespace weft::literals;
using test_remote::kRead;
using test_remote::kWrite;
using test_remote::Requester;

constexpr Bytes kGranule = 4_KiB;

/// Pools with a checked initiator at each of their sockets.
class CxlBench {
 public:
  explicit CxlBench(const CxlPool::Config& config, int accelerators, bool data = false, Time stall = Time())
      : dispatcher("dispatcher"),
        script("script", dispatcher),
        pool("pool", config, accelerators, kGranule, dispatcher, data, Stall::Config{stall, 1}) {
    for (int i = 0; i < accelerators; ++i) {
      ends.push_back(std::make_unique<Requester>(("end" + std::to_string(i)).c_str(), dispatcher, script));
      checkers.push_back(std::make_unique<test::TlmChecker>(("checker" + std::to_string(i)).c_str(), dispatcher));
      ends.back()->socket.bind(checkers.back()->from_initiator);
      checkers.back()->to_target.bind(pool.socket(static_cast<std::size_t>(i)));
    }
  }
  void run(std::function<void()> action) {
    script.at(1_us, std::move(action));
    sc_core::sc_start();
    for (const auto& end : ends) EXPECT_EQ(end->outstanding(), 0);
    for (const auto& checker : checkers) EXPECT_TRUE(checker->violations().empty()) << checker->text();
    EXPECT_TRUE(pool.left_over().empty());
  }
  /// How long one request takes on idle hardware.
  Time alone(tlm::tlm_command command, std::uint32_t bytes) {
    Time took;
    run([&] {
      ends[0]->ask(command, 0, nullptr, bytes, [&](Time now, tlm::tlm_response_status status) {
        EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
        took = now - 1_us;
      });
    });
    return took;
  }
  /// All of `count` granules of an end at once; `ended` gets when the last one was there.
  void flood(int end, tlm::tlm_command command, int count, Time& ended) {
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::uint64_t>(end * count + i) * static_cast<std::uint64_t>(kGranule.count());
      ends[static_cast<std::size_t>(end)]->ask(command, at, nullptr, static_cast<std::uint32_t>(kGranule.count()),
                                               [&ended](Time now, tlm::tlm_response_status status) {
                                                 EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
                                                 ended = std::max(ended, now - 1_us);
                                               });
    }
  }

  Dispatcher dispatcher;
  test::Script script;
  CxlPool pool;
  std::vector<std::unique_ptr<Requester>> ends;
  std::vector<std::unique_ptr<test::TlmChecker>> checkers;
};

/// 68 bytes of flit in 68 ps; other times of distinct sizes. DRAM moves a byte in a picosecond.
CxlPool::Config round_figures(CxlPath path) {
  CxlPool::Config config;
  config.path = path;
  config.sharers = 1;
  config.link.rate = config.device_link.rate = 1000_GBps;
  config.link.latency = 10_ns;
  config.device_link.latency = 20_ns;
  config.switch_config.latency = 300_ns;
  config.device.rate = 1000_GBps;
  config.device.efficiency = 1;
  config.device.controller = 4_us;
  config.device.latency = 50_us;
  return config;
}

TEST(CxlFlits, HoldSlots) {
  using Flit = CxlFlit;
  // A line to read: a header there, a header and four slots of data back.
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k68, CxlLink::kDown, true, 1), 68);
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k68, CxlLink::kUp, true, 1), 2 * 68);
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k68, CxlLink::kDown, false, 1), 2 * 68);
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k68, CxlLink::kUp, false, 1), 68);
  // 64 lines: 64 headers; 256 slots of data and 22 of three headers each; 320; 22.
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k68, CxlLink::kDown, true, 64), 16 * 68);
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k68, CxlLink::kUp, true, 64), 70 * 68);
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k68, CxlLink::kDown, false, 64), 80 * 68);
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k256, CxlLink::kUp, true, 64), 19 * 256);
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k256, CxlLink::kDown, false, 64), 22 * 256);
  EXPECT_EQ(CxlLink::wire_bytes(Flit::k256, CxlLink::kUp, false, 64), 2 * 256);
}

TEST(CxlPool, NearTakesALinkAndAController) {
  CxlBench bench(round_figures(CxlPath::kNear), 1);
  // Request, controller, DRAM, answer of 18 slots of four lines.
  EXPECT_EQ(bench.alone(kRead, 256), 68_ps + 10_ns + 4_us + 256_ps + 50_us + 5 * 68_ps + 10_ns);
  EXPECT_EQ(bench.pool.link(0).counters().wire_bytes[CxlLink::kDown], 68);
  EXPECT_EQ(bench.pool.link(0).counters().wire_bytes[CxlLink::kUp], 5 * 68);
  EXPECT_EQ(bench.pool.devices()[0]->counters().read_bytes, 256);
}

TEST(CxlPool, FarTakesASwitchAndAnotherLinkBothWays) {
  CxlBench bench(round_figures(CxlPath::kFar), 1);
  // 20 slots there, 2 of headers back, on both links.
  const Time there = 2 * (5 * 68_ps) + 10_ns + 300_ns + 20_ns;
  const Time back = 2 * 68_ps + 20_ns + 300_ns + 10_ns;
  EXPECT_EQ(bench.alone(kWrite, 256), there + 4_us + 256_ps + 50_us + back);
}

/// Cards measure 2 to 5 times the latency of local DRAM (arXiv 2405.14209), which is 90 to 110 ns on servers.
TEST(CxlPool, DefaultsLieInThePublishedRange) {
  for (const CxlPath path : {CxlPath::kNear, CxlPath::kFar}) {
    CxlPool::Config config;
    config.path = path;
    config.sharers = 1;
    {
      CxlBench bench(config, 1);
      const Time read = bench.alone(kRead, 64);
      EXPECT_GE(read, 2 * 90_ns);
      EXPECT_LE(read, 5 * 90_ns);
      RecordProperty(path == CxlPath::kNear ? "near_ps" : "far_ps", std::to_string(read.count()));
    }
    test::fresh_kernel();
  }
}

TEST(CxlPool, BlockingTransportTakesAsLongWhenIdle) {
  for (const CxlPath path : {CxlPath::kNear, CxlPath::kFar}) {
    Time apart;
    {
      CxlBench bench(round_figures(path), 1);
      apart = bench.alone(kRead, 256);
    }
    test::fresh_kernel();
    {
      Dispatcher dispatcher("dispatcher");
      test::Script script("script", dispatcher);
      CxlPool pool("pool", round_figures(path), 1, kGranule, dispatcher, true, {});
      test::Initiator initiator("initiator");
      initiator.socket.bind(pool.socket(0));
      std::vector<std::byte> written = test::pattern_bytes(256, 1);
      std::vector<std::byte> read(256);
      script.at(1_us, [&] {
        EXPECT_EQ(initiator.debug(kWrite, 512, written.data(), 256), 256U);
        EXPECT_EQ(initiator.read(512, read.data(), 256), apart);
      });
      sc_core::sc_start();
      EXPECT_EQ(read, written);
    }
    test::fresh_kernel();
  }
}

TEST(CxlPool, LeavesBytesAloneThatAreNotEnabled) {
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  CxlPool pool("pool", round_figures(CxlPath::kFar), 1, kGranule, dispatcher, true, {});
  test::Initiator initiator("initiator");
  initiator.socket.bind(pool.socket(0));
  script.at(1_us, [&] { test::expect_byte_enables(initiator, 4096 + 7); });
  sc_core::sc_start();
}

TEST(CxlPool, LeavesThemAloneWithPhasesToo) {
  CxlBench bench(round_figures(CxlPath::kNear), 1, true);
  auto bytes = test::pattern_bytes(64, 1);
  std::vector<std::byte> read(64, std::byte{9});
  bench.run([&] {
    bench.ends[0]->enables = {TLM_BYTE_DISABLED, TLM_BYTE_ENABLED};
    bench.ends[0]->ask(kWrite, 3, bytes.data(), 64, [&](Time /*now*/, tlm::tlm_response_status status) {
      EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
      bench.ends[0]->enables.clear();
      bench.ends[0]->ask(kRead, 3, read.data(), 64, {});
    });
  });
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(read[i], i % 2 == 1 ? bytes[i] : std::byte{0}) << i;
}

/// A link, a switch, another link and a device, wired by hand with a checker in each gap.
TEST(CxlModules, KeepTheRulesBetweenEachOther) {
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  CxlPool::Config config;
  BackingStore contents;
  CxlLink link("link", config.link, dispatcher);
  CxlSwitch sw("switch", config.switch_config, 1, 1, kGranule, dispatcher);
  CxlLink device_link("device_link", config.device_link, dispatcher);
  MemoryExpander device("device", config.device, 1, {}, dispatcher, &contents, Stall::Config{300_ns, 7}, "device");
  Requester end("end", dispatcher, script);
  std::vector<std::unique_ptr<test::TlmChecker>> checkers;
  const auto join = [&](auto& initiator, auto& target) {
    const std::string name = "checker" + std::to_string(checkers.size());
    checkers.push_back(std::make_unique<test::TlmChecker>(name.c_str(), dispatcher));
    initiator.bind(checkers.back()->from_initiator);
    checkers.back()->to_target.bind(target);
  };
  join(end.socket, link.up);
  join(link.down, sw.up(0));
  join(sw.down(0), device_link.up);
  join(device_link.down, device.head(0));
  end.hesitates = 50_ns;
  std::vector<std::byte> wrote = test::pattern_bytes(200 * 512, 3);
  std::vector<std::byte> read(wrote.size());
  script.at(1_us, [&] {
    for (std::size_t i = 0; i < 200; ++i) end.ask(kWrite, i * 512, &wrote[i * 512], 512, {});
  });
  script.at(1000_us, [&] {
    for (std::size_t i = 0; i < 200; ++i) end.ask(kRead, i * 512, &read[i * 512], 512, {});
  });
  sc_core::sc_start();
  EXPECT_EQ(read, wrote);
  for (const auto& checker : checkers) {
    EXPECT_TRUE(checker->violations().empty()) << checker->name() << ": " << checker->text();
    EXPECT_EQ(checker->finished(), 400);
    EXPECT_EQ(checker->unfinished(), 0U);
  }
}

// ---- Rates

/// Of reads in GB/s, of one end alone.
double read_rate(const CxlPool::Config& config) {
  constexpr int kCount = 2000;
  Time ended;
  {
    CxlBench bench(config, 1);
    bench.run([&] { bench.flood(0, kRead, kCount, ended); });
  }
  test::fresh_kernel();
  return static_cast<double>(kCount) * 4096 / static_cast<double>(ended.count()) * 1000;
}

TEST(CxlPool, ALinkCarriesWhatItsFlitsLeave) {
  CxlPool::Config config;
  config.sharers = 1;
  config.device.rate = 1000_GBps;
  // 64 lines in 70 flits of 68 bytes, of 63.0 GB/s; and in 19 of 256 bytes, of 128 GB/s.
  EXPECT_NEAR(read_rate(config), 63.015 * 4096 / (70 * 68), 0.3);
  config.link.flit = CxlFlit::k256;
  config.link.rate = 128_GBps;
  config.link.outstanding = 256_KiB;
  EXPECT_NEAR(read_rate(config), 128.0 * 4096 / (19 * 256), 0.6);
}

TEST(CxlPool, OutstandingRequestsLimitTheRate) {
  CxlPool::Config config = round_figures(CxlPath::kNear);
  config.link.outstanding = 4 * kGranule;
  // Four granules in each round trip of 54 us, whatever the link could carry.
  const double round_trip_ns = 54'020 + 1.088 + 4.096 + 4.76;
  EXPECT_NEAR(read_rate(config), 4 * 4096 / round_trip_ns, 4 * 4096 / round_trip_ns * 0.002);
  CxlBench bench(config, 1);
  Time ended;
  bench.run([&] { bench.flood(0, kRead, 10, ended); });
  EXPECT_EQ(bench.pool.link(0).counters().waited, 6);
}

TEST(CxlPool, HostsShareADevice) {
  CxlPool::Config config;
  config.sharers = 4;
  std::vector<Time> ended(4);
  for (const CxlPath path : {CxlPath::kNear, CxlPath::kFar}) {
    config.path = path;
    std::fill(ended.begin(), ended.end(), Time());
    {
      CxlBench bench(config, 4);
      bench.run([&] {
        for (int e = 0; e < 4; ++e) bench.flood(e, kRead, 400, ended[static_cast<std::size_t>(e)]);
      });
    }
    test::fresh_kernel();
    // Near, the DRAM of 65.28 GB/s holds all four up; far, the device's link.
    const double bound = path == CxlPath::kNear ? 76.8 * 0.85 : 63.015 * 4096 / (70 * 68);
    for (const Time time : ended) {
      EXPECT_NEAR(400 * 4096.0 * 4 / static_cast<double>(time.count()) * 1000, bound, bound * 0.02);
    }
  }
}

TEST(CxlPool, DevicesBehindASwitchAddUp) {
  CxlPool::Config config;
  config.sharers = 4;
  config.path = CxlPath::kFar;
  config.devices = 4;
  std::vector<Time> ended(4);
  CxlBench bench(config, 4);
  bench.run([&] {
    for (int e = 0; e < 4; ++e) bench.flood(e, kRead, 400, ended[static_cast<std::size_t>(e)]);
  });
  for (const auto& device : bench.pool.devices()) EXPECT_EQ(device->counters().read_bytes, 400 * 4096);
  for (const Time time : ended) EXPECT_GT(400 * 4096.0 / static_cast<double>(time.count()) * 1000, 45);
}

// ---- Contents and errors

TEST(CxlPool, KeepsWhatIsWrittenUnderRandomStalls) {
  CxlPool::Config config;
  config.sharers = 2;
  config.path = CxlPath::kFar;
  config.devices = 3;
  CxlBench bench(config, 4, true, 500_ns);
  for (const auto& end : bench.ends) end->hesitates = 20_ns;
  // Two hosts of a pool write halves of one region, which they read together; the other pool has other bytes there.
  constexpr std::uint64_t kPieces = 60;
  const auto bytes = static_cast<std::uint32_t>(kGranule.count());
  std::vector<std::vector<std::byte>> wrote(2);
  for (std::size_t pool = 0; pool < 2; ++pool) wrote[pool] = test::pattern_bytes(kPieces * bytes, pool + 1);
  std::vector<std::byte> read(4 * kPieces * bytes);
  int left = 4 * kPieces / 2;
  const auto read_all = [&] {
    for (std::size_t e = 0; e < 4; ++e) {
      for (std::uint64_t p = 0; p < kPieces; ++p) {
        bench.ends[e]->ask(kRead, p * bytes, &read[(e * kPieces + p) * bytes], bytes, {});
      }
    }
  };
  bench.run([&] {
    for (std::size_t e = 0; e < 4; ++e) {
      for (std::uint64_t p = e % 2; p < kPieces; p += 2) {
        bench.ends[e]->ask(kWrite, p * bytes, &wrote[e / 2][p * bytes], bytes, [&](Time now, auto /*status*/) {
          if (--left == 0) bench.script.at(now, read_all);
        });
      }
    }
  });
  for (std::size_t e = 0; e < 4; ++e) {
    const auto begin = read.begin() + static_cast<std::ptrdiff_t>(e * kPieces * bytes);
    EXPECT_TRUE(std::equal(wrote[e / 2].begin(), wrote[e / 2].end(), begin)) << "end " << e;
  }
}

TEST(CxlPool, RefusesAddressesBeyondItsDevices) {
  CxlPool::Config config;
  config.sharers = 1;
  config.path = CxlPath::kFar;
  config.devices = 2;
  config.device.capacity = 8_KiB;
  CxlBench bench(config, 1);
  std::vector<tlm::tlm_response_status> statuses;
  const auto note = [&](Time /*now*/, tlm::tlm_response_status status) { statuses.push_back(status); };
  bench.run([&] {
    bench.ends[0]->ask(kRead, 12 << 10, nullptr, 4096, note);  // the last granule
    bench.script.at(100_us, [&] { bench.ends[0]->ask(kRead, 16 << 10, nullptr, 64, note); });
    bench.script.at(200_us, [&] { bench.ends[0]->ask(kRead, 4000, nullptr, 128, note); });  // in two devices
  });
  EXPECT_EQ(statuses,
            (std::vector{tlm::TLM_OK_RESPONSE, tlm::TLM_ADDRESS_ERROR_RESPONSE, tlm::TLM_ADDRESS_ERROR_RESPONSE}));
}

TEST(CxlPool, NamesWhatIsWrong) {
  const auto refused = [](const CxlPool::Config& config, Bytes granule) -> std::string {
    try {
      Dispatcher dispatcher("dispatcher");
      const CxlPool pool("pool", config, 8, granule, dispatcher, false, {});
      return "accepted";
    } catch (const ConfigError& error) {
      test::fresh_kernel();
      return error.what();
    }
  };
  CxlPool::Config config;
  config.sharers = 3;
  EXPECT_EQ(refused(config, 4_KiB), "remote_memory.cxl.sharers: expected a divisor of accelerators, which is 8, got 3");
  config.sharers = 4;
  config.devices = 2;
  EXPECT_EQ(refused(config, 4_KiB),
            "remote_memory.cxl.devices: expected 1, since remote_memory.cxl.path is near, got 2; several stand behind "
            "a switch (far)");
  config.devices = 1;
  EXPECT_EQ(
      refused(config, 1_MiB),
      "remote_memory.chunk: expected at most remote_memory.cxl.link.outstanding, which is 64KiB, got 1MiB; a part "
      "brings its own: set remote_memory.cxl.link.outstanding after it");
  EXPECT_EQ(refused(config, Bytes(100)),
            "remote_memory.chunk: expected a multiple of the 64 bytes of a line, got 100B");
  config.device.efficiency = 0;
  EXPECT_EQ(refused(config, 4_KiB),
            "remote_memory.cxl.device.efficiency: expected a number, more than 0 and at most 1, got 0");
}

}  // namespace
}  // namespace weft::memory
