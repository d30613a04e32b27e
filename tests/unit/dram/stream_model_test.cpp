// SPDX-License-Identifier: Apache-2.0
// HBM in closed form against banks, from which it is derived: one load on both.
#include "hw/memory/stream_model.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/memory_master.h"
#include "hw/core/random.h"
#include "hw/memory/hbm_config.h"
#include "hw/memory/known_streams.h"
#include "platforms/config/document.h"
#include "tests/support/benches/dram.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

namespace weft::memory {
namespace {

using namespace weft::literals;

/// A memory of `count` stacks of a device of the catalogue, at that device's rate.
HbmConfig stacks_of(const std::string& part, int count) {
  HbmConfig config;
  config.stacks.count = count;
  config.stacks.device = test::memory_of(part).device;
  config.stacks.channels = part == "gddr6" ? 2 : part.rfind("hbm2", 0) == 0 ? 8 : 16;
  const dram::MemoryConfig memory = config.stacks.memory();
  config.rate = Rate(static_cast<std::int64_t>(memory.peak_bytes_per_second() * 8));
  config.capacity = memory.capacity();
  return config;
}

/// A device that keeps `depth` accesses of `make` under way until `bytes` have been moved, and notes when they were.
class LoadMaster final : public sc_core::sc_module, public EventTarget {
 public:
  using Parts = std::vector<MemoryMaster::Part>;
  LoadMaster(sc_core::sc_module_name name, Dispatcher& dispatcher, std::function<Parts()> make, std::int64_t bytes)
      : sc_module(name),
        socket("socket"),
        master(socket, dispatcher, *this, 0),
        dispatcher_(dispatcher),
        make_(std::move(make)),
        left_(bytes) {
    dispatcher.attach(*this, this->name());
    master.bind();
  }
  tlm::tlm_initiator_socket<64> socket;
  MemoryMaster master;
  Time end;

  void begin(int depth) {
    for (int i = 0; i < depth; ++i) ask();
  }
  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override {
    if (tag == 0 && !master.on_event(now, data)) return;
    end = now;
    ask();
  }

 private:
  void ask() {
    if (left_ <= 0) return;
    const Parts parts = make_();
    for (const MemoryMaster::Part& part : parts) left_ -= static_cast<std::int64_t>(part.bytes);
    const Time done = master.access(parts, dispatcher_.now(), 0, MemoryMaster::Order::kMixed);
    if (done != kNever) dispatcher_.post(done, *this, 1);
  }
  void end_of_elaboration() override { master.resolve(); }
  Dispatcher& dispatcher_;
  std::function<Parts()> make_;
  std::int64_t left_;
};

struct Served {
  double rate = 0;    ///< bytes a second
  double energy = 0;  ///< joules of commands a byte
};

/// What a load gets.
Served serve(const HbmConfig& config, const MemoryName& detail, const std::function<LoadMaster::Parts()>& make,
             std::int64_t bytes, int depth) {
  test::fresh_kernel();
  Dispatcher dispatcher("dispatcher");
  test::Script script("script", dispatcher);
  LoadMaster load("load", dispatcher, make, bytes);
  std::unique_ptr<Memory> memory;
  const auto model = config.model();
  if (detail == "bank") {
    memory = std::make_unique<BankHbm>("hbm", config.banks(), dispatcher, std::vector<std::string>{"load"}, false);
    load.master.use_phases();
  } else {
    memory = std::make_unique<Hbm>("hbm", config, dispatcher, std::vector<std::string>{"load"}, false, Stall::Config(),
                                   model.get(), config.interconnect);
  }
  load.socket.bind(memory->socket(0));
  script.at(1_us, [&] { load.begin(depth); });
  sc_core::sc_start();
  return {static_cast<double>(bytes) / (static_cast<double>((load.end - 1_us).count()) * 1e-12),
          memory->command_energy(0).value() / static_cast<double>(bytes)};
}

struct StreamLoad {
  const char* name;
  std::uint64_t bytes;  ///< of an access
  int written;          ///< quarters of them
  bool random;
  std::int64_t total;
};

class StreamAgainstBank : public testing::TestWithParam<const char*> {};

TEST_P(StreamAgainstBank, GivesTheSameRateAndEnergyWithinFivePercent) {
  const HbmConfig config = stacks_of(GetParam(), 1);
  constexpr std::int64_t kLong = 24 << 20;
  constexpr std::int64_t kShort = 16 << 20;
  const std::vector<StreamLoad> loads = {{"long reads", 1 << 20, 0, false, kLong},
                                         {"long writes", 1 << 20, 4, false, kLong},
                                         {"long, a quarter written", 1 << 20, 1, false, kLong},
                                         {"long, half written", 1 << 20, 2, false, kLong},
                                         {"4 KiB at random", 4096, 0, true, kShort},
                                         {"512 B at random", 512, 0, true, kShort},
                                         {"512 B at random, a quarter written", 512, 1, true, kShort},
                                         {"512 B at random, half written", 512, 2, true, kShort},
                                         {"64 B at random", 64, 0, true, kShort / 4},
                                         {"32 B at random", 32, 0, true, kShort / 8}};
  const auto capacity = static_cast<std::uint64_t>(config.capacity.count());
  for (const StreamLoad& each : loads) {
    Random random(1, "load");
    std::uint64_t next = 0;
    const auto make = [&]() -> LoadMaster::Parts {
      if (each.random) {
        const bool write = random.next() % 4 < static_cast<std::uint64_t>(each.written);
        return {{write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                 random.next() % (capacity / each.bytes) * each.bytes, each.bytes, nullptr}};
      }
      // As a kernel: what it reads and what it writes, side by side.
      const std::uint64_t written = each.bytes / 4 * static_cast<std::uint64_t>(each.written);
      next += each.bytes;
      return {{tlm::TLM_READ_COMMAND, next, each.bytes - written, nullptr},
              {tlm::TLM_WRITE_COMMAND, capacity / 2 + next, written, nullptr}};
    };
    const int depth = each.random ? static_cast<int>((4 << 20) / each.bytes) : 4;
    const auto measured = [&](const MemoryName& detail) {
      random = Random(1, "load");
      next = 0;
      return serve(config, detail, make, each.total, std::min(depth, 1 << 14));
    };
    const auto [bank, bank_energy] = measured("bank");
    const auto [stream, stream_energy] = measured("stream");
    EXPECT_NEAR(stream_energy / bank_energy, 1, 0.05) << GetParam() << ", " << each.name;
    EXPECT_NEAR(stream / bank, 1, 0.05) << GetParam() << ", " << each.name << ": " << stream * 1e-9 << " GB/s, "
                                        << bank * 1e-9 << " to the bank";
    const std::string name = GetParam() + std::string(", ") + each.name;
    std::printf("%-45s %7.1f GB/s %7.1f to the bank %+5.1f %%  %5.2f pJ/B %5.2f %+5.1f %%\n", name.c_str(),
                stream * 1e-9, bank * 1e-9, (stream / bank - 1) * 100, stream_energy * 1e12, bank_energy * 1e12,
                (stream_energy / bank_energy - 1) * 100);
  }
}

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__)
// All run the same code: in a slow build one with stacks and the one without.
INSTANTIATE_TEST_SUITE_P(Parts, StreamAgainstBank, testing::Values("hbm3e", "gddr6"));
#else
INSTANTIATE_TEST_SUITE_P(Parts, StreamAgainstBank, testing::Values("hbm2", "hbm2e", "hbm3", "hbm3e", "gddr6"));
#endif

TEST(StreamModel, SharesAreOfThePeakAndOrderedAsBanksHaveThem) {
  const dram::MemoryConfig config = stacks_of("hbm3", 5).stacks.memory();
  const StreamModel model(config);
  for (std::size_t size = 0; size <= StreamModel::kSequence; ++size) {
    for (std::size_t share = 0; share < StreamModel::kShares; ++share) {
      EXPECT_GT(model.sustained(size, share), 0.1);
      EXPECT_LE(model.sustained(size, share), 1.02);
      EXPECT_EQ(model.sustained(size, share), StreamModel(config).sustained(size, share))
          << "depends on what was asked before";
    }
  }
  // Single bursts find no open row; turnarounds cost; reads alone have only refreshes, bank by bank.
  EXPECT_LT(model.sustained(0, 0), 0.6 * model.sustained(StreamModel::kSequence, 0));
  EXPECT_LT(model.sustained(StreamModel::kSequence, 2), model.sustained(StreamModel::kSequence, 0));
  EXPECT_GT(model.sustained(StreamModel::kSequence, 0), 0.95);
}

TEST(StreamModel, IdleLatencyIsARowMissAndAShareOfRefreshes) {
  const dram::MemoryConfig config = stacks_of("hbm3", 5).stacks.memory();
  const dram::Timing& t = config.device.timing;
  const Time read = StreamModel(config).read();
  EXPECT_GE(read, config.controller.latency + t.clock * (t.rcdrd + t.cl + t.bl));
  EXPECT_LE(read, config.controller.latency + t.clock * (t.rp + t.rcdrd + t.cl + t.bl) + 10_ns);
}

TEST(StreamModel, IsMeasuredOnceForEachConfiguration) {
  const HbmConfig five = stacks_of("hbm2", 5);
  HbmConfig hot = five;
  hot.stacks.device.temperature = 90;
  EXPECT_EQ(five.model(), HbmConfig(five).model());
  EXPECT_NE(five.model(), hot.model());
  EXPECT_EQ(HbmConfig().model(), nullptr);
}

TEST(StreamModel, TakesWhatWasMeasuredBefore) {
  dram::MemoryConfig config = stacks_of("gddr6", 1).stacks.memory();
  config.controller.ecc.mode = dram::EccMode::kInline;
  config.device.temperature = 91;
  const auto expect = [&config](const KnownStreams& known) {
    const StreamModel model(config);
    EXPECT_EQ(model.read().count(), known.read_ps);
    EXPECT_EQ(model.partial_writes(), known.partial_writes);
    for (std::size_t size = 0; size < KnownStreams::kSizes; ++size) {
      for (std::size_t share = 0; share < StreamModel::kShares; ++share) {
        EXPECT_EQ(model.sustained(size, share), known.sustained[size][share]);
      }
      EXPECT_EQ(model.byte_energy(size, false), known.byte_energy[size][0]);
      EXPECT_EQ(model.byte_energy(size, true), known.byte_energy[size][1]);
    }
  };
  const KnownStreams measured = measure_streams(config);
  expect(measured);
  // It is not measured again, or these would not come back.
  const std::string text = configuration_text(config);
  KnownStreams other = measured;
  other.configuration = text;
  other.read_ps = 1;
  other.partial_writes = 0.001;
  for (std::size_t size = 0; size < KnownStreams::kSizes; ++size) {
    const auto number = static_cast<double>(size);
    other.sustained[size] = {0.1 + number, 0.2 + number, 0.3 + number, 0.4 + number, 0.5 + number};
    other.byte_energy[size] = {0.6 + number, 0.7 + number};
  }
  provide_streams({&other, 1});
  expect(other);
  config.device.temperature = 92;
  expect(measure_streams(config));
  EXPECT_NE(StreamModel(config).read().count(), 1);
  provide_streams({});
}

TEST(StreamModel, SaysWhatAByteTakesInCommands) {
  HbmConfig config = stacks_of("hbm3", 1);
  const auto energy = [&](std::size_t size, bool write, const dram::CommandEnergy& commands) {
    config.stacks.device.energy = commands;
    return StreamModel(config.stacks.memory()).byte_energy(size, write) * 1e12;
  };
  dram::CommandEnergy none = {Energy(), Energy(), Energy(), Energy(), Energy(), Energy(), Power()};
  dram::CommandEnergy commands = none;
  commands.read = 64_pJ;
  commands.write = 96_pJ;
  EXPECT_NEAR(energy(StreamModel::kSequence, false, commands), 2, 0.01);  // bursts of 32 bytes
  EXPECT_NEAR(energy(StreamModel::kSequence, true, commands), 3, 0.03);   // those that are queued have been asked for
  config.stacks.controller.ecc.mode = dram::EccMode::kInline;
  EXPECT_NEAR(energy(StreamModel::kSequence, false, commands), 2 * 16.0 / 15, 0.03);
  config.stacks.controller.ecc.mode = dram::EccMode::kOff;
  commands = none;
  commands.io_per_bit = 1_pJ;
  EXPECT_NEAR(energy(2, false, commands), 8, 0.05);
  commands = none;
  commands.activate = 32_pJ;
  EXPECT_NEAR(energy(0, false, commands), 1, 0.1);  // nearly every random burst is another row
  EXPECT_LT(energy(StreamModel::kSequence, false, commands), 0.1);
  commands = none;
  commands.refresh = commands.refresh_bank = 1'000'000_pJ;
  commands.background = Power(1'000'000);
  EXPECT_EQ(energy(StreamModel::kSequence, false, commands), 0);  // which are the accelerator's
}

/// Inline check bits cost a sixteenth of a stream and half of random bursts; parts of bursts more still.
TEST(StreamModel, HasWhatEccCosts) {
  HbmConfig config = stacks_of("gddr6", 1);
  const StreamModel off(config.stacks.memory());
  EXPECT_EQ(off.partial_writes(), 0);
  config.stacks.controller.ecc.mode = dram::EccMode::kSideband;
  const StreamModel sideband(config.stacks.memory());
  EXPECT_EQ(sideband.sustained(StreamModel::kSequence, 1), off.sustained(StreamModel::kSequence, 1));
  EXPECT_LT(sideband.partial_writes(), 0.8 * sideband.sustained(0, StreamModel::kShares - 1));
  config.stacks.controller.ecc.mode = dram::EccMode::kInline;
  const StreamModel checked(config.stacks.memory());
  const double share = checked.sustained(StreamModel::kSequence, 0) / off.sustained(StreamModel::kSequence, 0);
  EXPECT_NEAR(share, 15.0 / 16, 0.02);
  EXPECT_LT(checked.sustained(0, 0), off.sustained(0, 0));
}

TEST(HbmConfig, StacksAtAnotherClockKeepTheirNanoseconds) {
  const dram::Device base = test::memory_of("hbm3").device;
  HbmStacks stacks;
  stacks.device = base;
  stacks.clock = 764_ps;
  const dram::Timing t = stacks.memory().device.timing;
  EXPECT_EQ(t.clock, 764_ps);
  EXPECT_EQ(t.bl, base.timing.bl);
  EXPECT_EQ(t.ccdl, base.timing.ccdl);
  EXPECT_EQ(t.rc, 59);      // 45.0 ns
  EXPECT_EQ(t.rfc, 459);    // 350 ns
  EXPECT_EQ(t.refi, 5104);  // 3.9 us: no more than that
  stacks.clock = base.timing.clock;
  EXPECT_EQ(stacks.memory().device.timing.rc, base.timing.rc);
}

TEST(HbmConfig, InlineEccLeavesAPartOfTheCapacity) {
  HbmConfig config = stacks_of("hbm3", 5);
  config.capacity = 80_GiB;
  EXPECT_EQ(config.usable(), 80_GiB);
  config.stacks.controller.ecc.mode = dram::EccMode::kInline;
  for (const MemoryName detail : {"stream", "bank"}) {
    config.detail = detail;
    config.check("accelerator.hbm");
    EXPECT_EQ(config.usable(), 75_GiB);
    EXPECT_EQ(config.banks().capacity, 75_GiB);
  }
  config.capacity = 60_GiB;
  EXPECT_EQ(config.usable(), 60_GiB);
}

TEST(HbmConfig, SaysWhatIsWrong) {
  const auto fails = [](const HbmConfig& config, const std::string& path, const std::string& part) {
    try {
      config.check("accelerator.hbm");
      ADD_FAILURE() << path;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.path(), path);
      EXPECT_NE(error.expected().find(part), std::string::npos) << error.expected();
    }
  };
  HbmConfig config;
  config.check("accelerator.hbm");
  config.detail = "bank";
  fails(config, "accelerator.hbm.detail", "stream, since nothing is said of this memory's banks");
  config = stacks_of("hbm3", 5);
  config.detail = "bank";
  config.check("accelerator.hbm");
  config.core_rate = 1000_GBps;
  fails(config, "accelerator.hbm.core_rate",
        "expected 0bps with detail bank, in which masters share only interconnect_rate, got 8Tbps");
  config.core_rate = Rate();
  config.capacity = 81_GiB;
  fails(config, "accelerator.hbm.capacity", "at most what its stacks hold, which is 80GiB");
  config.capacity = 80_GiB;
  config.rate = 4000_GBps;
  fails(config, "accelerator.hbm.rate", "what its stacks move at the most, which is 32768Gbps");
  // With stream the same is told: rate and capacity count.
  config.detail = "stream";
  config.check("accelerator.hbm");
  EXPECT_EQ(config.warnings("accelerator.hbm"),
            std::vector<std::string>{"accelerator.hbm.rate is 32Tbps, and that counts with detail stream, though "
                                     "accelerator.hbm.stacks make 32768Gbps: set accelerator.hbm.rate=32768Gbps as "
                                     "well if the stacks are meant"});
  config.capacity = 81_GiB;
  EXPECT_EQ(config.warnings("accelerator.hbm").size(), 2U);
  config = stacks_of("hbm3", 5);
  EXPECT_TRUE(config.warnings("accelerator.hbm").empty());
  config.stacks.interleave = Bytes(300);
  fails(config, "accelerator.hbm.stacks.interleave", "a power of two");
  config = stacks_of("hbm3", 5);
  config.stacks.controller.ecc.mode = dram::EccMode::kInline;
  config.stacks.controller.ecc.covers = 7;
  config.stacks.mapping = "offset,row";
  fails(config, "accelerator.hbm.stacks.mapping", "bits of channel");
  config = stacks_of("hbm3", 5);
  config.stacks.hash = "column";
  fails(config, "accelerator.hbm.stacks.hash", "off, row, or a list of channel");
  config = stacks_of("ddr4", 1);
  fails(config, "accelerator.hbm.stacks.controller.refresh",
        "all-bank or off, since the device has no per-bank refresh");
  config = stacks_of("hbm3", 5);
  config.stacks.mapping = "offset,row";
  fails(config, "accelerator.hbm.stacks.mapping", "bits of channel");
  config = stacks_of("hbm3", 5);
  config.stacks.device.timing.ccds = 1;
  fails(config, "accelerator.hbm.stacks.device.timing.ccds", "at least bl");
}

}  // namespace
}  // namespace weft::memory
