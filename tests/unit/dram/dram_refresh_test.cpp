// SPDX-License-Identifier: Apache-2.0
// Refreshes leave time for requests, or the device is refused: a request that waits for ever would end no run.
#include <gtest/gtest.h>

#include <string>

#include "hw/core/random.h"
#include "hw/memory/dram/memory_system.h"
#include "hw/memory/hbm_config.h"
#include "tests/support/benches/dram.h"

namespace weft::dram {
namespace {

using namespace weft::literals;

std::string refusal(const MemoryConfig& config) {
  try {
    config.check();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

/// How many of the requests are served within so many commands and refreshes due.
int served(const MemoryConfig& config, int requests, int steps) {
  MemorySystem memory(config);
  Random random(1, "requests");
  int offered = 0;
  int done = 0;
  for (Clock now = 0; steps > 0 && done < requests; --steps) {
    while (offered < requests) {
      Request request;
      request.location = memory.locate(random.next() % memory.map().capacity());
      request.write = offered % 3 == 0;
      const Accept accept = memory.push(request, now);
      if (accept == Accept::kFull || accept == Accept::kBehindRead) break;
      ++offered;
      if (accept == Accept::kForwarded) ++done;
    }
    now = memory.next();
    if (memory.step().any) ++done;
  }
  return done;
}

/// Devices whose refreshes leave hardly any time, of which some are refused: the others serve everything.
TEST(DramRefresh, LeavesTimeForRequestsWhereItIsNotRefused) {
  Random random(3, "refreshes");
  const auto draw = [&random](int least, int most) { return test::draw(random, least, most); };
  int accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    MemoryConfig config;
    Geometry& g = config.device.geometry;
    g.pseudo_channels = 1 << draw(0, 2);
    g.stack_ids = 1 << draw(0, 1);
    g.bank_groups = 1 << draw(0, 2);
    g.banks = 1 << draw(0, 2);
    Timing& t = config.device.timing;
    t.rc = draw(0, 60);
    t.ras = draw(0, 40);
    t.rp = draw(0, 20);
    t.rfc = draw(0, 200);
    t.rfcpb = draw(1, 200);
    t.rrefd = draw(0, 8);
    t.refi = draw(1, 400);
    t.activate_slots = draw(1, 3);
    t.precharge_slots = draw(1, 3);
    config.device.temperature = draw(0, 3) == 0 ? 90 : 60;
    config.controller.page = static_cast<PagePolicy>(draw(0, 2));
    config.controller.refresh = static_cast<RefreshPolicy>(draw(0, 2));
    config.controller.refresh_postpone = draw(0, 8);
    config.controller.refresh_stagger = draw(0, 1) == 0;
    if (refusal(config) != "none") continue;
    ++accepted;
    constexpr int kRequests = 200;
    ASSERT_EQ(served(config, kRequests, 400'000), kRequests)
        << "draw " << i << ", refresh " << name_of(config.controller.refresh) << ", refi " << t.refi << ", rfc "
        << t.rfc << ", rfcpb " << t.rfcpb << ", rrefd " << t.rrefd << ", rc " << t.rc << ", banks " << g.all_banks()
        << ", pseudo channels " << g.pseudo_channels << ", slots " << t.activate_slots << " and " << t.precharge_slots;
  }
  EXPECT_GT(accepted, 200);
  EXPECT_LT(accepted, 1400);
}

TEST(DramRefresh, IsRefusedWithItsFieldAndItsReason) {
  MemoryConfig config = test::memory_of("hbm3");
  Timing& t = config.device.timing;
  config.controller.refresh = RefreshPolicy::kPerBank;
  ASSERT_EQ(refusal(config), "none");
  const Timing good = t;
  t.rfcpb = t.refi;
  EXPECT_EQ(refusal(config),
            "device.timing.rfcpb: at most refi - rc, which is 6168, so that rows of a bank can be opened between two "
            "of its refreshes");
  // No rfcpb would do.
  t = good;
  t.refi = t.rc;
  EXPECT_EQ(refusal(config), "device.timing.refi: more than rc, which is " + std::to_string(t.rc) +
                                 ", so that rows of a bank can be opened between two of its refreshes");
  t = good;
  t.rfcpb = t.refi;
  config.controller.refresh = RefreshPolicy::kAllBank;  // which has no such refresh
  EXPECT_EQ(refusal(config), "none");
  t = good;
  t.rfc = t.refi;
  EXPECT_EQ(refusal(config),
            "device.timing.refi: at least rfc + rc, which is 6312, so that rows can be opened between two refreshes");
  config.controller.refresh = RefreshPolicy::kOff;
  EXPECT_EQ(refusal(config), "none");
  config.controller.refresh = RefreshPolicy::kPerBank;
  t = good;
  t.rrefd = t.refi / config.device.geometry.all_banks();
  EXPECT_EQ(
      refusal(config),
      "device.timing.rrefd: at most 191 with controller.refresh per-bank, whose 32 banks are refreshed one after the "
      "other within refi, so that rows can be opened between two refreshes");
  t = good;
  t.rfcpb = t.rc = t.rrefd = 1;
  t.refi = 191;
  EXPECT_EQ(
      refusal(config),
      "device.timing.refi: at least 192 with controller.refresh per-bank, whose 32 banks are refreshed one after the "
      "other within refi, so that rows can be opened between two refreshes");
  t.refi = 192;
  EXPECT_EQ(refusal(config), "none");
  config.device.temperature = 90;
  EXPECT_EQ(refusal(config),
            "device.temperature: one at which refreshes leave time for anything else: they come every 96 clocks");
}

TEST(DramRefresh, AClockThatIsTooSlowIsNamedAsSuch) {
  memory::HbmConfig config;
  config.stacks.count = 1;
  config.stacks.device = test::memory_of("hbm3").device;
  const auto refused = [&config](Time clock) -> std::string {
    config.stacks.clock = clock;
    try {
      config.check("hbm");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refused(Time(10'000)), "none");
  const std::string slow = refused(Time(44'000));
  EXPECT_TRUE(
      slow.starts_with("hbm.stacks.clock: a faster one: at 44ns a refi of the device would be needed that is "
                       "at least 192 with controller.refresh per-bank"))
      << slow;
  EXPECT_TRUE(refused(Time(100'000)).starts_with("hbm.stacks.clock: a faster one"));
  // What the clock does not change is the device's.
  config.stacks.device.timing.rfcpb = config.stacks.device.timing.refi;
  EXPECT_TRUE(refused(Time(764)).starts_with("hbm.stacks.device.timing.rfcpb: at most refi - rc, which is 6168"));
}

}  // namespace
}  // namespace weft::dram
