// SPDX-License-Identifier: Apache-2.0
// Congestion control by name, with one of a user's own that keeps what it hears.
#include "hw/nic/congestion/congestion_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;

struct OwnConfig {
  Rate rate;  ///< 0: none
  Bytes window = Bytes(INT64_MAX);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("rate", rate, "At which packets go");
    visit("window", window, "That may be under way");
  }
};

/// What all controls of a test have heard.
struct Heard {
  std::int64_t sent = 0;
  std::int64_t acknowledged = 0;
  std::int64_t most_under_way = 0;
  int acknowledgements = 0;
  int marks = 0;
  int losses = 0;
  Time shortest = kNever;
};
Heard& heard() {
  static Heard all;
  return all;
}

class OwnControl final : public CongestionControl {
 public:
  explicit OwnControl(const CongestionSite& site) : config_(site.config<OwnConfig>()) {}

  void sent(Time /*now*/, std::int64_t wire_bytes) override {
    heard().sent += wire_bytes;
    heard().most_under_way = std::max(heard().most_under_way, heard().sent - heard().acknowledged);
  }
  void congested(Time /*now*/) override { ++heard().marks; }
  void acknowledged(Time /*now*/, const Acknowledged& packets) override {
    heard().acknowledged += packets.wire_bytes;
    ++heard().acknowledgements;
    heard().shortest = std::min(heard().shortest, packets.round_trip);
  }
  void lost(Time /*now*/) override { ++heard().losses; }
  std::optional<Rate> rate(Time /*now*/) override {
    return config_.rate == Rate() ? std::nullopt : std::optional(config_.rate);
  }
  std::int64_t window(Time /*now*/) override { return config_.window.count(); }

 private:
  const OwnConfig& config_;
};

void provide_once() {
  if (congestion_schemes().find("own-control") != nullptr) return;
  provide({.name = "own-control",
           .doc = "for tests",
           .config = OwnConfig(),
           .acknowledges = true,
           .notifies = [](const AnyConfig&) { return 1_us; },
           .make = [](const CongestionSite& site) { return std::make_unique<OwnControl>(site); }});
}

BenchConfig own(const OwnConfig& control) {
  provide_once();
  heard() = {};
  BenchConfig config;
  config.nic.congestion = "own-control";
  config.nic.sections.of<OwnConfig>() = control;
  config.network.link.rate = 40_Gbps;
  config.network.link.buffer = 1_MiB;
  return config;
}

/// A write of a megabyte: when it completes.
Time write_of(const BenchConfig& config) {
  constexpr std::uint64_t kBytes = 1 << 20;
  test::fresh_kernel();
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  const std::vector<std::byte> sent = pattern_bytes(kBytes, 1);
  bench.store(0, 0, sent);
  bench.ring_at(Time(), 0, write(pair.a, 0, 4096, kBytes));
  bench.run();
  EXPECT_EQ(bench.load(1, 4096, kBytes), sent);
  return bench.completions(0).at(0).at;
}

TEST(CongestionControl, OfAUserSetsTheRate) {
  OwnConfig control;
  const Time free = write_of(own(control));
  control.rate = 10_Gbps;
  const Time paced = write_of(own(control));
  const Time least = transfer_time(Bytes(heard().sent), 10_Gbps);
  EXPECT_GT(paced, least - 10_us);
  EXPECT_LT(paced, least + 20_us);
  EXPECT_GT(paced, 3 * free);
}

/// Each packet is acknowledged, and what is under way is never more than the window.
TEST(CongestionControl, OfAUserSetsTheWindow) {
  OwnConfig control;
  const BenchConfig config = own(control);
  const Time free = write_of(config);
  const std::int64_t packets = (1 << 20) / config.network.segment.count();
  EXPECT_GT(packets, 4);
  EXPECT_EQ(heard().acknowledgements, packets);
  EXPECT_EQ(heard().acknowledged, heard().sent);
  const Time round_trip = heard().shortest;
  EXPECT_GT(round_trip, transfer_time(config.network.segment, 40_Gbps));
  EXPECT_LT(round_trip, free);
  control.window = 2 * Bytes(heard().sent / packets);
  const Time held = write_of(own(control));
  EXPECT_LE(heard().most_under_way, control.window.count());
  EXPECT_EQ(heard().acknowledged, heard().sent);
  EXPECT_GT(held, free);
  // One packet always may go.
  control.window = Bytes(1);
  const Time one = write_of(own(control));
  EXPECT_EQ(heard().most_under_way, heard().sent / packets);
  EXPECT_GT(one, round_trip * packets);
}

TEST(CongestionControl, OfAUserHearsOfMarksAndLosses) {
  OwnConfig control;
  control.window = 64_KiB;
  BenchConfig config = own(control);
  config.wire = test::LossyWire::Config{};
  config.wire->rate = 10_Gbps;
  config.wire->mark_above = 1_KiB;
  write_of(config);
  EXPECT_GT(heard().marks, 0);
  EXPECT_EQ(heard().losses, 0);
  config = own(control);
  config.nic.recovery = true;
  config.nic.ack_timeout = 100_us;
  config.wire = test::LossyWire::Config{};
  config.wire->loss = 0.05;
  write_of(config);
  EXPECT_GT(heard().losses, 0);
  EXPECT_LE(heard().acknowledged, heard().sent);
}

TEST(CongestionControl, IsRefusedByAnUnknownNameAndByOneThatIsTaken) {
  provide_once();
  NicConfig config;
  config.congestion = "own-contrl";
  try {
    static_cast<void>(config.scheme());
    ADD_FAILURE() << "it has been found";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "nic.congestion: expected one of none, dcqcn, dctcp, swift, hpcc, nscc, rccc, nscc-rccc, own-control, "
                 "got \"own-contrl\"; did "
                 "you mean \"own-control\"?");
  }
  const CongestionScheme again = *congestion_schemes().find("dcqcn");
  try {
    provide(again);
    ADD_FAILURE() << "it has been taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "congestion control: expected a name that no other has, got \"dcqcn\"");
  }
}

}  // namespace
}  // namespace weft::nic
