// SPDX-License-Identifier: Apache-2.0
// The critical path, alone: against one that is kept whole.
#include "hw/core/cause/causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace weft {
namespace {

using namespace weft::literals;

void expect_path(const std::vector<Causes::Step>& path, const std::vector<Causes::Step>& expected) {
  ASSERT_EQ(path.size(), expected.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    EXPECT_EQ(path[i].until, expected[i].until) << i;
    EXPECT_EQ(path[i].kind, expected[i].kind) << i;
    EXPECT_EQ(path[i].place, expected[i].place) << i;
    EXPECT_EQ(path[i].context, expected[i].context) << i;
  }
}

Why why_of(const Causes::Step& step) {
  return {step.context, step.kind, step.place};
}

/// What a path's times from `since` on went to.
CauseSums sums_of(const std::vector<Causes::Step>& path, std::int64_t since) {
  CauseSums sums;
  std::int64_t until = 0;
  for (const Causes::Step& step : path) {
    EXPECT_GT(step.until, until);
    if (step.until > since) sums[why_of(step)] += Time(step.until - std::max(until, since));
    until = step.until;
  }
  return sums;
}

TEST(Causes, GoBackFromTheLastEventByWhatPostedIt) {
  Causes causes;
  causes.begin_run({"a", "b"});
  const Causes::Place link = causes.place("a - b", 40_ps);
  const std::uint32_t gather = causes.context("gather");
  causes.set_context(gather);
  const auto kind = [](CauseKind its) { return [its] { return its; }; };
  const CauseBehind kernel = causes.posted(100);
  const CauseBehind idle = causes.posted(300);
  causes.begin(kernel, 100, 0, kind(CauseKind::kKernel));
  causes.mark(CauseKind::kQueue, 150_ps, link);
  causes.mark(CauseKind::kPropagation, 260_ps, link);
  causes.mark(CauseKind::kCopy, 200_ps, link);  // is over by then
  const CauseBehind packet = causes.posted(400);
  causes.end(false);
  causes.begin(idle, 300, 1, kind(CauseKind::kFirmware));
  const CauseBehind timer = causes.posted(900);
  causes.end(false);
  causes.begin(packet, 400, 1, kind(CauseKind::kSerialisation));
  CauseSums back;
  causes.add_since(120_ps, back);
  EXPECT_EQ(back, (CauseSums{{{gather, CauseKind::kSerialisation, 1}, 140_ps},
                             {{gather, CauseKind::kPropagation, link}, 110_ps},
                             {{gather, CauseKind::kQueue, link}, 30_ps}}));
  causes.end(false);
  causes.begin(timer, 900, 1, kind(CauseKind::kRecovery));
  causes.end(true);
  expect_path(causes.path(kNever), {{100, CauseKind::kKernel, 0, gather},
                                    {150, CauseKind::kQueue, link, gather},
                                    {260, CauseKind::kPropagation, link, gather},
                                    {400, CauseKind::kSerialisation, 1, gather}});
  EXPECT_EQ(causes.place_name(link), "a - b");
  EXPECT_EQ(causes.place_name(1), "b");
}

TEST(Causes, LeadToTheLastProgramsEndAlsoWhereTimersRunOn) {
  Causes causes;
  causes.begin_run({"core", "nic"});
  const auto kind = [](CauseKind its) { return [its] { return its; }; };
  CauseBehind entry = causes.posted(100);
  CauseBehind timer = causes.posted(900);
  causes.begin(entry, 100, 0, kind(CauseKind::kFirmware));
  causes.end_program(130_ps);  // as the thread counts its own cycles
  causes.end(false);
  causes.collect([&timer](const auto& visit) { visit(timer); });
  causes.begin(timer, 900, 1, kind(CauseKind::kRecovery));
  causes.end(false);
  expect_path(causes.path(130_ps), {{100, CauseKind::kFirmware, 0, 0}});
  expect_path(causes.path(900_ps), {{900, CauseKind::kRecovery, 1, 0}});
  expect_path(causes.path(500_ps), {{500, CauseKind::kRecovery, 1, 0}});
}

TEST(Causes, PacketsAreInFlightAndThenComeByteByByte) {
  Causes causes;
  causes.begin_run({"a", "b"});
  const Causes::Place link = causes.place("a - b", 40_ps);
  const auto other = [] { return CauseKind::kOther; };
  causes.mark_crossing(100_ps, link);
  EXPECT_TRUE(causes.is_marked(100_ps));
  EXPECT_FALSE(causes.is_marked(101_ps));
  const CauseBehind head = causes.posted(30);  // it is told while bytes are in flight
  causes.begin(head, 30, 1, other);
  causes.mark_crossing(130_ps, link);
  const CauseBehind tail = causes.posted(130);
  causes.end(false);
  causes.begin(tail, 130, 1, other);
  CauseSums back;
  causes.add_since(60_ps, back);
  EXPECT_EQ(back,
            (CauseSums{{{0, CauseKind::kSerialisation, link}, 60_ps}, {{0, CauseKind::kPropagation, link}, 10_ps}}));
  causes.end(false);
  expect_path(causes.path(kNever), {{70, CauseKind::kPropagation, link, 0}, {130, CauseKind::kSerialisation, link, 0}});
}

TEST(Causes, TellKernelsOfOneNameApartByTheirBytes) {
  Causes causes;
  const std::uint32_t product = causes.kernel_context("layer", MemoryShare(30_ns, 100_ns));
  const std::uint32_t sum = causes.kernel_context("layer", MemoryShare(400_ns, 100_ns));
  EXPECT_NE(product, sum);
  EXPECT_EQ(causes.kernel_context("layer", MemoryShare(30'100_ps, 100_ns)), product);  // within a step
  EXPECT_NE(causes.kernel_context("layer"), product);
  EXPECT_EQ(causes.context_of(product).name, "layer");
  EXPECT_NEAR(causes.context_of(product).share.value(), 0.3, 0.3 * 0.015);
  EXPECT_NEAR(causes.context_of(sum).share.value(), 4, 4 * 0.015);
  EXPECT_EQ(MemoryShare().value(), 0);
  EXPECT_EQ(MemoryShare(Time(), 1_ns).value(), 0);
  EXPECT_EQ(MemoryShare(1_ns, Time()).value(), 64);
  EXPECT_EQ(MemoryShare(1'000_ms, 1_ps).value(), 64);
}

TEST(Causes, KeepAFewPiecesOfAKernelOfManySlices) {
  Causes causes;
  causes.begin_run({"accelerator"});
  const std::uint32_t product = causes.kernel_context("product");
  const std::uint32_t sum = causes.kernel_context("sum");
  CauseBehind event = causes.posted(0);
  CauseBehind other = causes.posted(10);
  for (std::int64_t slice = 0; slice < 1000; ++slice) {
    causes.begin(event, 100 * slice, 0, [] { return CauseKind::kMemory; });
    causes.set_context(product);
    causes.mark(CauseKind::kKernel, Time(100 * slice + 50), 0);
    causes.mark(CauseKind::kCap, Time(100 * slice + 80), 0);
    event = causes.posted(100 * slice + 100);
    causes.end(false);
    causes.begin(other, 100 * slice + 10, 0, [] { return CauseKind::kOther; });
    causes.set_context(sum);
    other = causes.posted(100 * slice + 110);
    causes.end(false);
  }
  causes.begin(event, 100'000, 0, [] { return CauseKind::kMemory; });
  causes.end(false);
  causes.collect([&other](const auto& visit) { visit(other); });
  EXPECT_LT(causes.live(), 10U);
  expect_path(causes.path(kNever), {{50'000, CauseKind::kKernel, 0, product},
                                    {80'000, CauseKind::kCap, 0, product},
                                    {100'000, CauseKind::kMemory, 0, product}});
}

/// Of some hundred thousand events, whose threads part and end, so that the tree's branches end often.
TEST(Causes, AreThoseOfATreeThatIsKeptWhole) {
  struct Event {
    std::int64_t when;
    std::size_t number;
    CauseBehind behind;
    bool operator>(const Event& other) const { return std::tie(when, number) > std::tie(other.when, other.number); }
  };
  struct Known {
    std::int64_t when;
    std::size_t parent;
    Causes::Step mark;
    Causes::Step rest;
  };
  constexpr std::size_t kNone = SIZE_MAX;
  constexpr std::size_t kEvents = 400'000;
  constexpr std::array kNames = {"gather", "scatter", "product", "sum"};
  Causes causes;
  causes.begin_run({"a", "b", "c"});
  std::mt19937 random(5);
  std::vector<Known> known;
  std::vector<Event> queue;  // a heap
  const auto post = [&](std::int64_t now, std::size_t parent) {
    const std::int64_t when = now + random() % 1000;
    const auto target = static_cast<std::uint32_t>(random() % 3);
    const auto kind = static_cast<CauseKind>(random() % kCauseKinds);
    const char* const name = kNames[random() % kNames.size()];
    const std::uint32_t context = random() % 2 == 0 ? causes.kernel_context(name) : causes.context(name);
    const std::int64_t until = now + static_cast<std::int64_t>(random() % 1200);
    causes.set_context(context);
    causes.mark(CauseKind::kCopy, Time(until), target);
    queue.push_back({when, known.size(), causes.posted(when)});
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
    known.push_back(
        {when, parent, {std::min(until, when), CauseKind::kCopy, target, context}, {when, kind, target, context}});
  };
  for (int i = 0; i < 100; ++i) post(0, kNone);
  std::size_t last = kNone;
  std::size_t most = 0;
  int collections = 0;
  int waits = 0;
  while (!queue.empty()) {
    if (causes.is_full()) {
      causes.collect([&queue](const auto& visit) {
        for (Event& waiting : queue) visit(waiting.behind);
      });
      ++collections;
    }
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const Event event = queue.back();
    queue.pop_back();
    const Causes::Step& rest = known[event.number].rest;
    causes.begin(event.behind, event.when, rest.place, [&rest] { return rest.kind; });
    const bool is_for_nothing = random() % 10 == 0;
    if (known.size() < kEvents && !is_for_nothing) {
      const std::size_t children = queue.size() < 50 ? 2 : random() % 3;
      for (std::size_t i = 0; i < children; ++i) post(event.when, event.number);
    }
    // What a wait that ends here went to is what the path to here has of that time, whoever has asked before.
    const std::int64_t since = std::max<std::int64_t>(0, event.when - (1 << random() % 16));
    const bool ends_wait = !is_for_nothing && random() % 50 == 0;
    CauseSums back;
    if (ends_wait) causes.add_since(Time(since), back);
    causes.end(is_for_nothing);
    if (ends_wait) {
      EXPECT_EQ(back, sums_of(causes.path(kNever), since));
      ++waits;
    }
    if (!is_for_nothing) last = event.number;
    most = std::max(most, causes.live());
  }
  std::vector<std::size_t> chain;
  for (std::size_t at = last; at != kNone; at = known[at].parent) chain.push_back(at);
  CauseSums expected;
  std::int64_t at = 0;
  for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
    for (const Causes::Step& step : {known[*link].mark, known[*link].rest}) {
      if (step.until <= at) continue;
      expected[why_of(step)] += Time(step.until - at);
      at = step.until;
    }
  }
  // Pieces of a kernel may be gathered by kind: their order among each other is not kept.
  const std::vector<Causes::Step> path = causes.path(kNever);
  EXPECT_EQ(path.back().until, at);
  EXPECT_EQ(sums_of(path, 0), expected);
  EXPECT_GT(waits, 1000);
  EXPECT_GT(chain.size(), 1000U);
  EXPECT_GT(collections, 4);
  // What is remembered of events that are past is a path, not a tree.
  EXPECT_LT(most, 100'000U);
}

}  // namespace
}  // namespace weft
