// SPDX-License-Identifier: Apache-2.0
// HBM to the bank behind sockets: bytes, bandwidth, sharing, protocol.
#include "hw/memory/bank_hbm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/random.h"
#include "tests/support/benches/bank_bench.h"
#include "tests/support/benches/dram_checker.h"
#include "tests/support/benches/nb_master.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/benches/tlm_checker.h"
#include "tests/support/kernel.h"
#include "tests/support/reports.h"

namespace weft::memory {
namespace {

using namespace weft::literals;
using test::BankBench;
using test::banks_of;
using test::BankStream;
using test::NbMaster;
using test::pattern_bytes;

/// Runs a function in an SC_THREAD from the start.
class BankThread final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(BankThread);
  BankThread(sc_core::sc_module_name name, std::function<void()> action) : sc_module(name), action_(std::move(action)) {
    SC_THREAD(run);
  }

 private:
  void run() { action_(); }
  std::function<void()> action_;
};

TEST(BankHbm, AnIdleMemoryTakesWhatTheTimingsSay) {
  BankHbm::Config config = banks_of("hbm2");
  BankBench bench(config);
  NbMaster& m = *bench.master[0];
  bench.run([&] { m.send(tlm::TLM_READ_COMMAND, 0, nullptr, 32); });
  const dram::Timing& t = config.device.timing;
  ASSERT_EQ(m.answers.size(), 1u);
  EXPECT_EQ(m.answers[0].at - m.answers[0].asked,
            2 * config.latency + config.controller.latency + t.clock * (t.rcdrd + t.cl + t.bl));
  EXPECT_EQ(bench.hbm->counters(0).mean_read_latency(), m.answers[0].at - m.answers[0].asked);
  EXPECT_EQ(bench.hbm->counters(0).waited, Time());
  EXPECT_EQ(bench.hbm->counters(0).held, Time());
  EXPECT_EQ(bench.hbm->dram_counters().activates, 1);
  const Energy commands = config.device.energy.activate + config.device.energy.read;
  EXPECT_GT(bench.hbm->energy().total() * 1e-12, joules(commands));
}

TEST(BankHbm, WritesArePosted) {
  const BankHbm::Config config = banks_of("hbm2");
  BankBench bench(config);
  NbMaster& m = *bench.master[0];
  bench.run([&] { m.send(tlm::TLM_WRITE_COMMAND, 0, nullptr, 100); });
  EXPECT_EQ(m.answers[0].at - m.answers[0].asked, 2 * config.latency + config.controller.latency);
  EXPECT_EQ(bench.hbm->counters(0).bursts, 4);
  EXPECT_EQ(bench.hbm->counters(0).written_bytes, 100);
  EXPECT_EQ(bench.hbm->dram_counters().writes, 4);  // they are written all the same
}

TEST(BankHbm, MovesBytesByEveryTransport) {
  for (const int channels : {1, 4}) {
    test::fresh_kernel();
    BankBench bench(banks_of("hbm3", channels), 2);
    const auto bytes = pattern_bytes(100'001, 7);
    std::vector<std::byte> back(bytes.size());
    std::vector<std::byte> copied = bytes;
    NbMaster& m = *bench.master[0];
    constexpr std::uint64_t kAt = 777'777;  // neither a burst's nor a page's begin; many rows and channels
    m.on_answer = [&](const NbMaster::Answer& answer) {
      EXPECT_EQ(answer.status, tlm::TLM_OK_RESPONSE);
      if (answer.id == 0) bench.master[1]->send(tlm::TLM_READ_COMMAND, kAt, back.data(), 100'001);
    };
    bench.run([&] { m.send(tlm::TLM_WRITE_COMMAND, kAt, copied.data(), 100'001); });
    EXPECT_TRUE(back == bytes);

    tlm::tlm_generic_payload look;
    look.set_command(tlm::TLM_READ_COMMAND);
    look.set_address(kAt + 5);
    look.set_data_ptr(reinterpret_cast<unsigned char*>(back.data()));
    look.set_data_length(300);
    EXPECT_EQ(m.socket->transport_dbg(look), 300u);
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + 300, bytes.begin() + 5));
    tlm::tlm_dmi dmi;
    ASSERT_TRUE(m.socket->get_direct_mem_ptr(look, dmi));
    EXPECT_EQ(std::memcmp(dmi.get_dmi_ptr() + (kAt - dmi.get_start_address()), bytes.data(), 100), 0);
    EXPECT_GT(dmi.get_read_latency(), dmi.get_write_latency());
    look.set_address(static_cast<std::uint64_t>(bench.hbm->capacity().count()));
    EXPECT_EQ(m.socket->transport_dbg(look), 0u);
    EXPECT_FALSE(m.socket->get_direct_mem_ptr(look, dmi));
  }
}

TEST(BankHbm, LeavesBytesThatAreNotEnabledAlone) {
  BankBench bench(banks_of("hbm2"));
  std::vector<std::byte> ones(100, std::byte{1});
  std::vector<std::byte> twos(100, std::byte{2});
  std::vector<std::byte> back(100, std::byte{9});
  std::vector<unsigned char> enables = {0xff, 0, 0xff};  // repeats
  std::vector<unsigned char> some = {0xff, 0xff, 0xff, 0};
  NbMaster& m = *bench.master[0];
  bench.run([&] {
    // One behind the other: the memory keeps the order of one master.
    m.send(tlm::TLM_WRITE_COMMAND, 3, ones.data(), 100);
    m.send(tlm::TLM_WRITE_COMMAND, 3, twos.data(), 100, &enables);
    m.send(tlm::TLM_READ_COMMAND, 3, back.data(), 100, &some);
  });
  ASSERT_EQ(m.answers.size(), 3u);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(back[i], i % 4 == 3 ? std::byte{9} : i % 3 == 1 ? std::byte{1} : std::byte{2}) << i;
  }
}

TEST(BankHbm, RefusesWhatItCannotDo) {
  BankBench bench(banks_of("hbm2"));
  NbMaster& m = *bench.master[0];
  const auto end = static_cast<std::uint64_t>(bench.hbm->capacity().count());
  std::vector<unsigned char> none;
  none.reserve(1);
  bench.run([&] {
    m.send(tlm::TLM_READ_COMMAND, end - 31, nullptr, 32);
    m.send(tlm::TLM_READ_COMMAND, UINT64_MAX - 3, nullptr, 32);
    m.send(tlm::TLM_WRITE_COMMAND, 0, nullptr, 0);
    m.send(tlm::TLM_WRITE_COMMAND, 0, nullptr, 4, &none);
    m.send(tlm::TLM_IGNORE_COMMAND, 0, nullptr, 4);
    m.send(tlm::TLM_READ_COMMAND, end - 32, nullptr, 32);
  });
  const std::vector<tlm::tlm_response_status> expected = {tlm::TLM_ADDRESS_ERROR_RESPONSE,
                                                          tlm::TLM_ADDRESS_ERROR_RESPONSE,
                                                          tlm::TLM_BURST_ERROR_RESPONSE,
                                                          tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE,
                                                          tlm::TLM_OK_RESPONSE,
                                                          tlm::TLM_OK_RESPONSE};
  ASSERT_EQ(m.answers.size(), expected.size());
  for (const NbMaster::Answer& answer : m.answers) EXPECT_EQ(answer.status, expected[answer.id]) << answer.id;
  EXPECT_EQ(bench.hbm->counters(0).errors, 4);
  EXPECT_EQ(bench.hbm->counters(0).reads, 1);
}

TEST(BankHbm, BlockingTransportWaits) {
  const BankHbm::Config config = banks_of("hbm2");
  Dispatcher dispatcher("dispatcher");
  test::DramChecker commands(config.device);
  BankHbm hbm("hbm", config, dispatcher, {"a"}, true, &commands);
  test::TlmChecker rules("rules", dispatcher);
  test::Initiator master("master");
  master.socket.bind(rules.from_initiator);
  rules.to_target.bind(hbm.socket(0));
  const auto bytes = pattern_bytes(5000, 3);
  std::vector<std::byte> back(5000);
  bool ended = false;
  BankThread thread("thread", [&] {
    EXPECT_EQ(master.write(123, bytes.data(), 1000, 20_ns), Time());  // finds room in the queues
    EXPECT_EQ(Time(static_cast<std::int64_t>(sc_core::sc_time_stamp().value())),
              20_ns + 2 * config.latency + config.controller.latency);
    EXPECT_EQ(master.status(), tlm::TLM_OK_RESPONSE);
    master.payload.set_dmi_allowed(false);
    master.write(1123, bytes.data() + 1000, 4000);
    master.payload.set_dmi_allowed(false);
    const auto before = sc_core::sc_time_stamp().value();
    EXPECT_EQ(master.read(123, back.data(), 5000), Time());
    EXPECT_GT(sc_core::sc_time_stamp().value() - before, 157'000u);  // 157 bursts at 32 GB/s
    EXPECT_TRUE(back == bytes);
    master.payload.set_dmi_allowed(false);
    master.prepare(tlm::TLM_READ_COMMAND, 0, back.data(), 64);
    master.payload.set_streaming_width(32);
    sc_core::sc_time delay;
    master.socket->b_transport(master.payload, delay);
    EXPECT_EQ(master.status(), tlm::TLM_BURST_ERROR_RESPONSE);
    ended = true;
  });
  sc_core::sc_start();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(rules.violations().empty()) << rules.text();
  EXPECT_TRUE(commands.violations().empty()) << commands.text();
}

TEST(BankHbm, ServesSeveralThreadsOfOneSocket) {
  Dispatcher dispatcher("dispatcher");
  BankHbm::Config config = banks_of("hbm3");
  config.outstanding = 16;
  BankHbm hbm("hbm", config, dispatcher, {"a"}, true);
  test::Initiator master("master");
  master.socket.bind(hbm.socket(0));
  std::vector<std::unique_ptr<BankThread>> threads;
  int ended = 0;
  for (std::uint64_t i = 0; i < 4; ++i) {
    threads.push_back(std::make_unique<BankThread>(("thread" + std::to_string(i)).c_str(), [&, i] {
      auto bytes = pattern_bytes(900, i);
      std::vector<std::byte> back(900);
      tlm::tlm_generic_payload payload;
      payload.set_address(i * 1001);
      payload.set_data_length(900);
      payload.set_streaming_width(900);
      for (const bool write : {true, false}) {
        payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        payload.set_data_ptr(reinterpret_cast<unsigned char*>(write ? bytes.data() : back.data()));
        sc_core::sc_time delay;
        master.socket->b_transport(payload, delay);
        EXPECT_TRUE(payload.is_response_ok());
      }
      EXPECT_TRUE(back == bytes);
      ++ended;
    }));
  }
  sc_core::sc_start();
  EXPECT_EQ(ended, 4);
  EXPECT_EQ(hbm.counters(0).reads, 4);
}

TEST(BankHbm, BlockingTransportOutsideOfAThreadIsAnError) {
  BankBench bench(banks_of("hbm2"));
  test::ExpectReports reports;
  sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_DISPLAY);
  tlm::tlm_generic_payload payload;
  bench.run([&] {
    sc_core::sc_time delay;
    bench.master[0]->socket->b_transport(payload, delay);
  });
  sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_DEFAULT_ERROR_ACTIONS);
  EXPECT_EQ(payload.get_response_status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
  ASSERT_EQ(reports.messages().size(), 1u);
  EXPECT_NE(reports.messages()[0].find("SC_THREAD"), std::string::npos);
}

TEST(BankHbm, StreamsAtItsPeakButForRefresh) {
  for (const char* part : {"hbm2", "hbm2e", "hbm3", "hbm4"}) {
    test::fresh_kernel();
    const BankHbm::Config config = banks_of(part, 2);
    BankBench bench(config, 1, false);
    BankStream stream(bench, 0, tlm::TLM_READ_COMMAND, 0, 4096, 2000);
    bench.run([&] { stream.start(16); });
    const double rate = 2000 * 4096 / (static_cast<double>((stream.end - 1_us).count()) * 1e-12);
    const dram::Timing& t = config.device.timing;
    const double peak = config.device.peak_bytes_per_second() * (1 - static_cast<double>(t.rfc) / t.refi);
    EXPECT_GT(rate, 0.9 * peak) << part;
    EXPECT_LT(rate, 1.02 * peak) << part;
  }
}

TEST(BankHbm, LittleOutstandingIsBoundByLatency) {
  BankHbm::Config config = banks_of("hbm2");
  config.outstanding = 8;
  BankBench bench(config, 1, false);
  BankStream stream(bench, 0, tlm::TLM_READ_COMMAND, 0, 4096, 50);
  bench.run([&] { stream.start(4); });
  // 8 bursts in about 130 ns there and back.
  const double rate = 50 * 4096 / (static_cast<double>((stream.end - 1_us).count()) * 1e-12);
  EXPECT_GT(rate, 8 * 32 / 150e-9);
  EXPECT_LT(rate, 8 * 32 / 115e-9);
  EXPECT_GT(bench.hbm->counters(0).held, 10_us);
}

TEST(BankHbm, MastersWithABacklogShareEvenly) {
  const BankHbm::Config config = banks_of("hbm2");
  std::vector<Time> waited;
  for (const std::size_t masters : {1U, 2U, 3U}) {
    test::fresh_kernel();
    BankBench bench(config, masters, false);
    std::vector<std::unique_ptr<BankStream>> streams;
    for (std::size_t i = 0; i < masters; ++i) {
      streams.push_back(
          std::make_unique<BankStream>(bench, i, tlm::TLM_READ_COMMAND, i << 24, i == 0 ? 4096 : 512, 1 << 20));
    }
    bench.run([&] {
      for (auto& stream : streams) stream->start(stream->bytes == 4096 ? 8 : 64);
      bench.script.at(101_us, [&] {
        for (auto& stream : streams) stream->left = 0;
      });
    });
    std::int64_t most = 0;
    std::int64_t least = INT64_MAX;
    for (std::size_t i = 0; i < masters; ++i) {
      most = std::max(most, bench.hbm->counters(i).read_bytes);
      least = std::min(least, bench.hbm->counters(i).read_bytes);
    }
    EXPECT_LT(static_cast<double>(most), 1.03 * static_cast<double>(least)) << masters;
    waited.push_back(bench.hbm->counters(0).waited / bench.hbm->counters(0).bursts);
  }
  EXPECT_GT(waited[1], waited[0] + 50_ns);
  EXPECT_GT(waited[2], waited[1] + 50_ns);
}

/// What the debug transport and direct access say of a master's bytes, after the run.
void expect_memory(BankBench& bench, std::size_t master, std::uint64_t at, const std::vector<std::byte>& bytes) {
  NbMaster& m = *bench.master[master];
  std::vector<std::byte> back(bytes.size());
  tlm::tlm_generic_payload look;
  look.set_command(tlm::TLM_READ_COMMAND);
  look.set_address(at);
  look.set_data_ptr(reinterpret_cast<unsigned char*>(back.data()));
  look.set_data_length(static_cast<unsigned int>(back.size()));
  EXPECT_EQ(m.socket->transport_dbg(look), back.size());
  EXPECT_TRUE(back == bytes) << master;
  for (std::uint64_t done = 0; done < bytes.size();) {
    look.set_address(at + done);
    tlm::tlm_dmi dmi;
    ASSERT_TRUE(m.socket->get_direct_mem_ptr(look, dmi));
    const auto there = std::min<std::uint64_t>(bytes.size() - done, dmi.get_end_address() + 1 - (at + done));
    EXPECT_EQ(std::memcmp(dmi.get_dmi_ptr() + (at + done - dmi.get_start_address()), &bytes[done], there), 0) << master;
    done += there;
  }
}

/// Random transactions of three masters, each in its own third, a quarter of them with byte enables. Returns the
/// digest.
std::uint64_t random_mix(const BankHbm::Config& config, std::uint64_t seed, NbMaster::End end) {
  test::fresh_kernel();
  BankBench bench(config, 3);
  const std::uint64_t third = static_cast<std::uint64_t>(bench.hbm->capacity().count()) / 3;
  struct Sent {
    tlm::tlm_command command;
    std::vector<std::byte> buffer;
    std::vector<std::byte> expected;
    std::vector<unsigned char> enables;
    int answered = 0;
  };
  std::vector<std::deque<Sent>> sent(3);
  std::vector<std::vector<std::byte>> model(3, std::vector<std::byte>(1 << 16));
  Random random(seed, "mix");
  for (std::size_t i = 0; i < 3; ++i) {
    NbMaster& m = *bench.master[i];
    m.end = end;
    m.end_delay = end == NbMaster::End::kCompleted ? Time() : 3_ns;
    m.request_delay = i == 1 ? 700_ps : Time();
    m.on_answer = [&, i](const NbMaster::Answer& answer) {
      Sent& each = sent[i][answer.id];
      ++each.answered;
      EXPECT_EQ(answer.status, tlm::TLM_OK_RESPONSE);
      if (each.command == tlm::TLM_READ_COMMAND) {
        EXPECT_TRUE(each.buffer == each.expected) << i << ' ' << answer.id;
      }
    };
    Time at = 1_us;
    for (int n = 0; n < 250; ++n) {
      const auto size = static_cast<std::uint32_t>(1 + random.next() % (n % 10 == 0 ? 5000 : 200));
      const std::uint64_t offset = random.next() % (model[i].size() - size);
      const bool write = random.share() < 0.5;
      sent[i].push_back({write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, {}, {}, {}});
      Sent& each = sent[i].back();
      const auto from = model[i].begin() + static_cast<std::ptrdiff_t>(offset);
      if (random.next() % 4 == 0) each.enables.resize(1 + random.next() % 40);
      for (unsigned char& enable : each.enables) enable = random.next() % 2 == 0 ? 0xff : 0;
      const auto enabled = [&each](std::uint32_t b) {
        return each.enables.empty() || each.enables[b % each.enables.size()] != 0;
      };
      each.buffer = write ? pattern_bytes(size, random.next()) : std::vector<std::byte>(size);
      each.expected = each.buffer;
      for (std::uint32_t b = 0; b < size; ++b) {
        if (enabled(b)) (write ? from[b] : each.expected[b]) = write ? each.buffer[b] : from[b];
      }
      bench.script.at(at, [&m, &each, size, place = i * third + offset] {
        m.send(each.command, place, each.buffer.data(), size, each.enables.empty() ? nullptr : &each.enables);
      });
      if (random.next() % 16 == 0) at += Time(static_cast<std::int64_t>(random.next() % 2'000'000));
    }
  }
  sc_core::sc_start();
  for (std::size_t i = 0; i < 3; ++i) {
    for (const Sent& transaction : sent[i]) EXPECT_EQ(transaction.answered, 1);
    expect_memory(bench, i, i * third, model[i]);
  }
  return bench.dispatcher.digest();
}

TEST(BankHbm, AnswersEachOfARandomMixOnceAndRightly) {
  BankHbm::Config config = banks_of("hbm3", 2);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    config.outstanding = seed % 2 == 0 ? 1024 : 20;
    config.controller.read_queue = seed % 3 == 0 ? 128 : 4;
    config.controller.write_queue = seed % 3 == 0 ? 32 : 5;
    config.controller.page = static_cast<dram::PagePolicy>(seed % 3);
    config.latency = seed == 4 ? Time() : 20_ns;
    const auto end = static_cast<NbMaster::End>(seed % 3);
    const std::uint64_t digest = random_mix(config, seed, end);
    EXPECT_EQ(random_mix(config, seed, end), digest);
  }
}

TEST(BankHbm, TouchesNoMemoryWithoutData) {
  BankBench bench(banks_of("hbm2"), 1, false);
  std::vector<std::byte> buffer(4096, std::byte{1});
  bench.run([&] { bench.master[0]->send(tlm::TLM_WRITE_COMMAND, 0, buffer.data(), 4096); });
  EXPECT_EQ(bench.hbm->store().pages(), 0u);
  tlm::tlm_generic_payload payload;
  tlm::tlm_dmi dmi;
  EXPECT_FALSE(bench.master[0]->socket->get_direct_mem_ptr(payload, dmi));
}

TEST(BankHbm, MastersShareTheInterconnect) {
  for (const Rate rate : {4_GBps, Rate(0)}) {
    test::fresh_kernel();
    BankHbm::Config config = banks_of("hbm2");
    config.interconnect_rate = rate;
    BankBench bench(config, 2, false);
    constexpr int kEach = 100;
    bench.run([&] {
      for (int i = 0; i < kEach; ++i) {
        for (std::size_t m = 0; m < 2; ++m) {
          bench.master[m]->send(tlm::TLM_READ_COMMAND, static_cast<std::uint64_t>(i) * 4096, nullptr, 4096);
        }
      }
    });
    Time last;
    for (std::size_t m = 0; m < 2; ++m) {
      ASSERT_EQ(bench.master[m]->answers.size(), static_cast<std::size_t>(kEach));
      last = std::max(last, bench.master[m]->answers.back().at);
    }
    const double seconds = static_cast<double>((last - 1_us).count()) * 1e-12;
    const double bytes = 2.0 * kEach * 4096;
    if (rate > Rate(0)) {
      EXPECT_NEAR(bytes / seconds, 4e9, 0.02e9);
      EXPECT_GT(bench.hbm->counters(0).crossing, Time());
      EXPECT_GT(bench.hbm->counters(1).crossing, Time());
    } else {
      EXPECT_GT(bytes / seconds, 20e9);
      EXPECT_EQ(bench.hbm->counters(0).crossing + bench.hbm->counters(1).crossing, Time());
    }
  }
}

/// Byte enables and lengths that leave some of a burst as it is.
TEST(BankHbm, WithEccAPartOfABurstIsReadFirst) {
  for (const dram::EccMode mode : {dram::EccMode::kOff, dram::EccMode::kSideband, dram::EccMode::kInline}) {
    test::fresh_kernel();
    BankHbm::Config config = banks_of("gddr6");
    config.controller.ecc.mode = mode;
    BankBench bench(config);
    NbMaster& m = *bench.master[0];
    const auto bytes = pattern_bytes(100, 1);
    auto copy = bytes;
    bench.run([&] { m.send(tlm::TLM_WRITE_COMMAND, 16, copy.data(), 100); });  // 16, 32, 32 and 20 bytes
    EXPECT_EQ(bench.hbm->dram_counters().modified, mode == dram::EccMode::kOff ? 0 : 2);
    std::vector<std::byte> back(100);
    bench.hbm->store().read(16, back.data(), back.size());
    EXPECT_EQ(back, bytes);
    EXPECT_EQ(bench.hbm->capacity(), mode == dram::EccMode::kInline ? 480_MiB : 512_MiB);
  }
}

}  // namespace
}  // namespace weft::memory
