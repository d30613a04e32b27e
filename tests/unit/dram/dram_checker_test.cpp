// SPDX-License-Identifier: Apache-2.0
// The checker of DRAM timing: for each rule a stream that is legal, and the same with its last command a clock earlier.
#include "tests/support/benches/dram_checker.h"

#include <gtest/gtest.h>

#include <ostream>

namespace weft::dram {
namespace {

using enum CommandKind;

constexpr std::uint8_t kBank = 0;
constexpr std::uint8_t kSameGroup = 1;
constexpr std::uint8_t kOtherGroup = 4;
constexpr std::uint8_t kOtherStack = 16;

/// A device on which no two rules ask for the same.
Device device() {
  Device device;
  device.geometry.stack_ids = 2;
  Timing& t = device.timing;
  t.ccds = 3;
  t.ccdl = 5;
  t.ccdr = 7;
  t.rrds = 6;
  t.rrdl = 9;
  t.faw = 40;
  t.rcdwr = 11;
  t.rtw = 20;
  return device;
}

Command command(CommandKind kind, Clock at, std::uint8_t bank = kBank) {
  return {.at = at, .kind = kind, .bank = bank};
}
Command closing(CommandKind kind, Clock at) {
  return {.at = at, .kind = kind, .auto_precharge = true, .bank = kBank};
}
Command elsewhere(CommandKind kind, Clock at) {
  return {.at = at, .kind = kind, .pseudo_channel = 1, .bank = kBank};
}

struct Rule {
  const char* name;
  std::vector<Command> stream;  ///< the last one comes at the earliest time
};

std::ostream& operator<<(std::ostream& out, const Rule& rule) {
  return out << rule.name;
}

std::vector<Rule> rules() {
  const Timing t = device().timing;
  // From 1000 on, so that what was opened before is long ago.
  const Command open = command(kActivate, 0);
  const Command open_group = command(kActivate, 100, kSameGroup);
  const Command open_other = command(kActivate, 200, kOtherGroup);
  const Command open_stack = command(kActivate, 300, kOtherStack);
  const int write = t.cwl + t.bl;
  return {
      {"tRC", {open, command(kPrecharge, t.ras), command(kActivate, t.rc)}},
      {"tRC", {open, command(kPrecharge, t.ras), command(kRefresh, t.rc)}},
      {"tRRDS", {open, command(kActivate, t.rrds, kOtherGroup)}},
      {"tRRDS", {open, command(kRefreshBank, t.rrds, kOtherGroup)}},
      {"tRRDL", {open, command(kActivate, t.rrdl, kSameGroup)}},
      {"tFAW",
       {open, command(kActivate, 9, 4), command(kActivate, 18, 8), command(kActivate, 27, 12),
        command(kActivate, t.faw, 16)}},
      {"tRCDRD", {open, command(kRead, t.rcdrd)}},
      {"tRCDWR", {open, command(kWrite, t.rcdwr)}},
      {"tRAS", {open, command(kPrecharge, t.ras)}},
      {"tRAS", {open, command(kPrechargeAll, t.ras)}},
      {"tRP", {open, command(kPrecharge, 500), command(kActivate, 500 + t.rp)}},
      {"tRP", {open, command(kPrechargeAll, 500), command(kRefresh, 500 + t.rp)}},
      {"tRP", {open, command(kPrecharge, 500), command(kRefreshBank, 500 + t.rp)}},
      {"tRP", {open, closing(kRead, 500), command(kActivate, 500 + t.rtp + t.rp)}},
      {"tRP", {open, closing(kWrite, 500), command(kActivate, 500 + write + t.wr + t.rp)}},
      {"tCCDS", {open, open_other, command(kRead, 1000), command(kRead, 1000 + t.ccds, kOtherGroup)}},
      {"tCCDS", {open, open_other, command(kWrite, 1000), command(kWrite, 1000 + t.ccds, kOtherGroup)}},
      {"tCCDL", {open, open_group, command(kRead, 1000), command(kRead, 1000 + t.ccdl, kSameGroup)}},
      {"tCCDL", {open, command(kWrite, 1000), command(kWrite, 1000 + t.ccdl)}},
      {"tCCDR", {open, open_stack, command(kRead, 1000), command(kRead, 1000 + t.ccdr, kOtherStack)}},
      {"tRTW", {open, command(kRead, 1000), command(kWrite, 1000 + t.rtw)}},
      {"tWTRS", {open, open_other, command(kWrite, 1000), command(kRead, 1000 + write + t.wtrs, kOtherGroup)}},
      {"tWTRL", {open, open_group, command(kWrite, 1000), command(kRead, 1000 + write + t.wtrl, kSameGroup)}},
      {"tRTP", {open, command(kRead, 1000), command(kPrecharge, 1000 + t.rtp)}},
      {"tWR", {open, command(kWrite, 1000), command(kPrecharge, 1000 + write + t.wr)}},
      {"tRFC", {command(kRefresh, 0), command(kActivate, t.rfc)}},
      {"tRFC", {command(kRefresh, 0), command(kRefresh, t.rfc)}},
      {"tRFCpb", {command(kRefreshBank, 0), command(kActivate, t.rfcpb)}},
      {"tRREFD", {command(kRefreshBank, 0), command(kActivate, t.rrefd, kOtherGroup)}},
      {"tRREFD", {command(kRefreshBank, 0), command(kRefreshBank, t.rrefd, kOtherGroup)}},
      {"row bus", {open, elsewhere(kActivate, t.activate_slots)}},
      {"row bus", {open, elsewhere(kActivate, 10), command(kPrecharge, 100), elsewhere(kPrecharge, 101)}},
      {"column bus", {open, elsewhere(kActivate, 10), command(kRead, 100), elsewhere(kRead, 101)}},
  };
}

class DramRule : public testing::TestWithParam<Rule> {};

TEST_P(DramRule, IsKnownToTheClock) {
  const Rule& rule = GetParam();
  for (const bool early : {false, true}) {
    test::DramChecker checker(device());
    for (const Command& each : rule.stream) {
      Command sent = each;
      if (early && &each == &rule.stream.back()) --sent.at;
      checker.on_command(sent);
    }
    if (!early) {
      EXPECT_TRUE(checker.violations().empty()) << checker.text();
      continue;
    }
    ASSERT_FALSE(checker.violations().empty());
    EXPECT_EQ(checker.violations().front().rule, rule.name);
    EXPECT_EQ(checker.violations().front().earliest, rule.stream.back().at);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DramRule, testing::ValuesIn(rules()));

/// What is wrong at any time.
TEST(DramChecker, KnowsWhatIsOpen) {
  const Command open = command(kActivate, 0);
  Command other_row = command(kRead, 100);
  other_row.row = 1;
  const std::vector<Rule> cases = {
      {"activate of an open bank", {open, command(kActivate, 1000)}},
      {"column command to a closed bank", {command(kRead, 100)}},
      {"column command to a closed bank", {open, command(kPrecharge, 100), command(kWrite, 200)}},
      {"column command to a closed bank", {open, closing(kRead, 100), command(kRead, 200)}},
      {"column command to another row", {open, other_row}},
      {"refresh with an open bank", {open, command(kRefresh, 1000)}},
      {"refresh with an open bank", {open, command(kRefreshBank, 1000)}},
      {"order of time", {command(kRefreshBank, 1000, 1), elsewhere(kRefreshBank, 900)}},
  };
  for (const Rule& each : cases) {
    test::DramChecker checker(device());
    for (const Command& sent : each.stream) checker.on_command(sent);
    ASSERT_FALSE(checker.violations().empty()) << each.name;
    EXPECT_EQ(checker.violations().front().rule, each.name);
  }
}

/// A row that closes by itself still stays open for tRAS.
TEST(DramChecker, KnowsWhenARowClosesByItself) {
  Device quick = device();
  quick.timing.rc = 1;
  const Clock earliest = quick.timing.ras + quick.timing.rp;
  for (const Clock at : {earliest - 1, earliest}) {
    test::DramChecker checker(quick);
    checker.on_command(command(kActivate, 0));
    checker.on_command(closing(kRead, quick.timing.rcdrd));
    checker.on_command(command(kActivate, at));
    EXPECT_EQ(checker.violations().empty(), at == earliest);
  }
}

TEST(DramChecker, KnowsTheDataBus) {
  Device tight = device();
  tight.timing.rtw = 1;
  test::DramChecker checker(tight);
  checker.on_command(command(kActivate, 0));
  checker.on_command(command(kRead, 100));
  const Clock free = 100 + tight.timing.cl + tight.timing.bl - tight.timing.cwl;
  checker.on_command(command(kWrite, free - 1));
  ASSERT_EQ(checker.violations().size(), 1U);
  EXPECT_EQ(checker.violations().front().rule, "data bus");
}

TEST(DramChecker, MissesRefreshes) {
  for (const bool late : {false, true}) {
    test::DramChecker checker(device());
    for (Clock i = 1; i < 10; ++i) {
      if (late && i == 5) continue;
      checker.on_command(command(kRefresh, i * device().timing.refi));
    }
    checker.check_refresh(10LL * device().timing.refi, false);
    EXPECT_EQ(checker.violations().empty(), !late);
  }
}

}  // namespace
}  // namespace weft::dram
