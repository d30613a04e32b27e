// SPDX-License-Identifier: Apache-2.0
// A device's way to memory, with memories that answer in every way that the base protocol allows.
#include "hw/core/memory_master.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/memory/bank_hbm.h"
#include "hw/memory/hbm.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/benches/tlm_checker.h"
#include "tests/support/kernel.h"
#include "tests/support/reports.h"

namespace weft {
namespace {

using namespace weft::literals;
using test::pattern_bytes;
using Part = MemoryMaster::Part;

/// A device that only asks.
class Device final : public sc_core::sc_module, public EventTarget {
 public:
  Device(sc_core::sc_module_name name, Dispatcher& dispatcher)
      : sc_module(name), socket("socket"), master(socket, dispatcher, *this, 7) {
    dispatcher.attach(*this, this->name());
    master.bind();
  }
  tlm::tlm_initiator_socket<64> socket;
  MemoryMaster master;
  std::vector<std::pair<std::uint64_t, Time>> told;  ///< tokens, in the order of the events

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override {
    EXPECT_EQ(tag, 7U);
    if (const auto token = master.on_event(now, data)) told.emplace_back(*token, now);
  }

 private:
  void end_of_elaboration() override { master.resolve(); }
};

/// A memory that takes the ways of the base protocol in turn, `way` alone if it is given. Each answer takes 10 ns.
class EveryWay final : public sc_core::sc_module, public tlm::tlm_fw_transport_if<>, public EventTarget {
 public:
  enum Way : std::uint32_t { kCompleted, kEndRequestAtOnce, kEndRequestLater, kResponseAlone, kResponseAtOnce, kWays };
  EveryWay(sc_core::sc_module_name name, Dispatcher& dispatcher, std::optional<Way> only)
      : sc_module(name), socket("socket"), dispatcher_(dispatcher), only_(only) {
    socket.bind(*this);
    dispatcher.attach(*this, this->name());
  }
  struct Seen {
    Time at;
    bool write;
    std::uint64_t address;
    unsigned int bytes;
  };
  tlm::tlm_target_socket<64> socket;
  std::vector<Seen> seen;

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    EXPECT_EQ(phase, tlm::BEGIN_REQ);
    const Time at = dispatcher_.now() + from_delay(delay);
    seen.push_back({at, payload.is_write(), payload.get_address(), payload.get_data_length()});
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    const Way way = only_ ? *only_ : static_cast<Way>(seen.size() % kWays);
    const auto later = [&](std::uint32_t kind, Time after) {
      dispatcher_.post(at + after, *this, kind, reinterpret_cast<std::uintptr_t>(&payload));
    };
    delay = to_delay(at + 10_ns - dispatcher_.now());
    switch (way) {
      case kCompleted:
        return tlm::TLM_COMPLETED;
      case kEndRequestAtOnce:
        payload.acquire();
        phase = tlm::END_REQ;
        delay = to_delay(at + 3_ns - dispatcher_.now());  // in the future
        later(1, 10_ns);
        return tlm::TLM_UPDATED;
      case kResponseAtOnce:
        phase = tlm::BEGIN_RESP;
        return tlm::TLM_UPDATED;
      default:
        payload.acquire();
        if (way == kEndRequestLater) later(0, 4_ns);
        later(1, 10_ns);
        return tlm::TLM_ACCEPTED;
    }
  }
  void on_event(Time /*now*/, std::uint32_t kind, std::uint64_t data) override {
    auto& payload = *reinterpret_cast<tlm::tlm_generic_payload*>(data);
    tlm::tlm_phase phase = kind == 0 ? tlm::END_REQ : tlm::BEGIN_RESP;
    sc_core::sc_time delay;
    socket->nb_transport_bw(payload, phase, delay);
    if (kind == 1) payload.release();
  }
  void b_transport(tlm::tlm_generic_payload& /*payload*/, sc_core::sc_time& /*delay*/) override {
    ADD_FAILURE() << "b_transport";
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_dmi& /*dmi*/) override { return false; }
  unsigned int transport_dbg(tlm::tlm_generic_payload& /*payload*/) override { return 0; }

 private:
  Dispatcher& dispatcher_;
  std::optional<Way> only_;
};

struct WayBench {
  explicit WayBench(std::optional<EveryWay::Way> only = std::nullopt)
      : dispatcher("dispatcher"),
        script("script", dispatcher),
        device("device", dispatcher),
        checker("checker", dispatcher),
        memory("memory", dispatcher, only) {
    device.socket.bind(checker.from_initiator);
    checker.to_target.bind(memory.socket);
    device.master.use_phases();
  }
  void run(std::function<void()> action) {
    script.at(1_us, std::move(action));
    sc_core::sc_start();
    EXPECT_TRUE(checker.violations().empty()) << checker.text();
    EXPECT_EQ(checker.unfinished(), 0U);
    EXPECT_EQ(device.master.under_way(), 0);
  }
  Dispatcher dispatcher;
  test::Script script;
  Device device;
  test::TlmChecker checker;
  EveryWay memory;
};

Part reading(std::uint64_t address, std::uint64_t bytes) {
  return {tlm::TLM_READ_COMMAND, address, bytes, nullptr};
}
Part writing(std::uint64_t address, std::uint64_t bytes) {
  return {tlm::TLM_WRITE_COMMAND, address, bytes, nullptr};
}

TEST(MemoryMaster, BlockingSaysAtOnceWhatTheMemorySays) {
  memory::Hbm::Config config;
  config.rate = 1000_GBps;
  config.efficiency = 1.0;
  config.latency = 500_ns;
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  Device device("device", dispatcher);
  memory::Hbm hbm("hbm", config, dispatcher, {"device"}, false, {});
  device.socket.bind(hbm.socket(0));
  script.at(1_us, [&] {
    const std::vector<Part> parts = {reading(0, 3000), writing(8192, 1000)};
    EXPECT_EQ(device.master.access(parts, 2_us, 1), 2_us + 4_ns + 500_ns);
    EXPECT_EQ(device.master.access({}, 3_us, 2), 3_us);
  });
  sc_core::sc_start();
  EXPECT_TRUE(device.told.empty());
  EXPECT_EQ(dispatcher.handled(), 1U);
}

TEST(MemoryMaster, TakesEveryAnswerOfTheBaseProtocol) {
  constexpr int kAll = EveryWay::kWays;
  for (int way = 0; way <= kAll; ++way) {
    test::fresh_kernel();
    WayBench bench(way == kAll ? std::nullopt : std::make_optional(static_cast<EveryWay::Way>(way)));
    bench.run([&] {
      for (std::uint64_t i = 0; i < 20; ++i) {
        const std::vector<Part> parts = {reading(i << 16, 10'000), writing(i << 20, 5'000)};
        EXPECT_EQ(bench.device.master.access(parts, 1_us, i), kNever);
      }
    });
    ASSERT_EQ(bench.device.told.size(), 20U) << way;
    for (std::uint64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(bench.device.told[i].first, i) << way;
      EXPECT_GE(bench.device.told[i].second, 1_us + 10_ns) << way;
    }
    EXPECT_EQ(bench.memory.seen.size(), 20U * 5) << way;
  }
}

TEST(MemoryMaster, CutsAtPiecesAndMixesPartsByTheirLengths) {
  WayBench bench(EveryWay::kCompleted);
  bench.run([&] {
    const std::vector<Part> parts = {reading(100, 4 * 4096), writing(1 << 20, 2 * 4096)};
    bench.device.master.access(parts, 1_us, 0, MemoryMaster::Order::kMixed);
  });
  std::vector<std::pair<bool, std::uint64_t>> order;
  for (const EveryWay::Seen& seen : bench.memory.seen) order.emplace_back(seen.write, seen.address);
  const std::vector<std::pair<bool, std::uint64_t>> expected = {
      {false, 100}, {true, 1 << 20}, {false, 4096}, {false, 8192}, {true, 0x101000}, {false, 12288}, {false, 16384}};
  EXPECT_EQ(order, expected);
  EXPECT_EQ(bench.memory.seen[0].bytes, 3996U);
  EXPECT_EQ(bench.memory.seen.back().bytes, 100U);
  EXPECT_EQ(bench.device.told[0].second, 1_us + 10_ns);
}

TEST(MemoryMaster, WhatBeginsLaterDoesNotHoldUpWhatBeginsNow) {
  WayBench bench(EveryWay::kEndRequestLater);
  bench.run([&] {
    bench.device.master.access(std::vector<Part>{reading(0, 64)}, 2_us, 1);
    bench.device.master.access(std::vector<Part>{reading(4096, 64)}, 1_us, 2);
  });
  const std::vector<std::pair<std::uint64_t, Time>> expected = {{2, 1_us + 10_ns}, {1, 2_us + 10_ns}};
  EXPECT_EQ(bench.device.told, expected);
}

TEST(MemoryMaster, MovesBytesThroughBanks) {
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  Device device("device", dispatcher);
  test::TlmChecker checker("checker", dispatcher);
  memory::BankHbm::Config config;
  config.outstanding = 64;  // requests are held, so that END_REQ comes later
  memory::BankHbm hbm("hbm", config, dispatcher, {"device"}, true);
  device.socket.bind(checker.from_initiator);
  checker.to_target.bind(hbm.socket(0));
  device.master.use_phases();
  auto bytes = pattern_bytes(50'000, 1);
  std::vector<std::byte> back(bytes.size());
  script.at(1_us, [&] {
    device.master.access(std::vector<Part>{{tlm::TLM_WRITE_COMMAND, 777, bytes.size(), bytes.data()}}, 1_us, 1);
    device.master.access(std::vector<Part>{{tlm::TLM_READ_COMMAND, 777, back.size(), back.data()}}, 1_us, 2);
  });
  sc_core::sc_start();
  EXPECT_TRUE(checker.violations().empty()) << checker.text();
  ASSERT_EQ(device.told.size(), 2U);
  EXPECT_EQ(back, bytes);
  EXPECT_GT(hbm.counters(0).held, Time());
}

TEST(MemoryMaster, SaysWhatMemoryRefuses) {
  for (const bool phases : {false, true}) {
    test::fresh_kernel();
    const test::ExpectReports expect;
    Dispatcher dispatcher("dispatcher");
    test::Script script("script", dispatcher);
    Device device("device", dispatcher);
    memory::Hbm hbm("hbm", {}, dispatcher, {"device"}, false, {});
    device.socket.bind(hbm.socket(0));
    if (phases) device.master.use_phases();
    script.at(1_us, [&] { device.master.access(std::vector<Part>{reading(1ULL << 50, 64)}, 1_us, 1); });
    std::string text;
    try {
      sc_core::sc_start();
      ADD_FAILURE();
    } catch (const sc_core::sc_report& report) {
      text = std::string(report.get_msg_type()) + ": " + report.get_msg();
    }
    EXPECT_NE(text.find("memory refused 64 bytes at 1125899906842624: TLM_ADDRESS_ERROR_RESPONSE"), std::string::npos)
        << text;
    EXPECT_NE(text.find("device"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace weft
