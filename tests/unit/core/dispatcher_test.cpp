// SPDX-License-Identifier: Apache-2.0
// Order and time of the shared event queue, alone and against a sorted reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/benches/dispatcher_bench.h"

namespace weft {
namespace {

using namespace weft::literals;
using namespace test_dispatcher;

TEST(Order, AtOnePicosecondIsByNameThenTagThenPosting) {
  const std::vector<Seen> expected = {{1000, "a", 0, 5}, {1000, "a", 0, 6}, {1000, "a", 7, 1}, {1000, "b", 2, 0},
                                      {1000, "b", 2, 9}, {1000, "c", 1, 3}, {1001, "a", 0, 0}};
  for (const auto& names : {std::vector<std::string>{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}}) {
    test::fresh_kernel();
    Bench bench(names);
    const auto target = [&](const std::string& name) -> Recorder& {
      return *bench.targets[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
    };
    bench.script.at(1_ps, [&] {
      bench.dispatcher.post(1001_ps, target("a"), 0, 0);
      bench.dispatcher.post(1000_ps, target("c"), 1, 3);
      bench.dispatcher.post(1000_ps, target("b"), 2, 0);
      bench.dispatcher.post(1000_ps, target("a"), 7, 1);
      bench.dispatcher.post(1000_ps, target("a"), 0, 5);
      bench.dispatcher.post(1000_ps, target("b"), 2, 9);
      bench.dispatcher.post(1000_ps, target("a"), 0, 6);
    });
    sc_core::sc_start();
    EXPECT_EQ(bench.log, expected);
  }
}

TEST(Order, OfWhatAHandlerPostsForTheSamePicosecondIsTheSame) {
  Bench bench({"a", "b", "c"});
  bench.targets[1]->reaction = [&](Time now, std::uint32_t tag, std::uint64_t /*data*/) {
    if (tag != 1) return;
    bench.dispatcher.post(now, *bench.targets[2], 0, 1);
    bench.dispatcher.post(now, *bench.targets[1], 0, 2);  // a lower tag than the one that runs
    bench.dispatcher.post(now, *bench.targets[0], 9, 3);  // a lower target
    bench.dispatcher.post(now, *bench.targets[1], 1 << 20, 4);
  };
  bench.script.at(1_ps, [&] {
    bench.dispatcher.post(5_ns, *bench.targets[2], 0, 0);
    bench.dispatcher.post(5_ns, *bench.targets[1], 1, 0);
    bench.dispatcher.post(5_ns, *bench.targets[1], 2, 0);
  });
  sc_core::sc_start();
  const std::vector<Seen> expected = {{5000, "b", 1, 0},       {5000, "a", 9, 3}, {5000, "b", 0, 2}, {5000, "b", 2, 0},
                                      {5000, "b", 1 << 20, 4}, {5000, "c", 0, 0}, {5000, "c", 0, 1}};
  EXPECT_EQ(bench.log, expected);
}

TEST(Order, TheLastEventOfATargetAtOnePicosecondIsKnown) {
  Bench bench({"a", "b"});
  std::vector<std::pair<std::uint32_t, bool>> last;  // by tag
  for (const auto& target : bench.targets) {
    target->reaction = [&](Time now, std::uint32_t tag, std::uint64_t /*data*/) {
      if (tag == 6) bench.dispatcher.post(now, *target, 7);
      last.emplace_back(tag, bench.dispatcher.is_last_of(*target));
    };
  }
  bench.script.at(1_ps, [&] {
    for (const std::uint32_t tag : {0U, 1U}) bench.dispatcher.post(5_ns, *bench.targets[0], tag);
    bench.dispatcher.post(5001_ps, *bench.targets[0], 2);
    bench.dispatcher.post(5001_ps, *bench.targets[1], 3);
    bench.dispatcher.post(7_us, *bench.targets[0], 4);
    bench.dispatcher.post(90_us, *bench.targets[0], 6);
  });
  sc_core::sc_start();
  const std::vector<std::pair<std::uint32_t, bool>> expected = {{0, false}, {1, true},  {2, true}, {3, true},
                                                                {4, true},  {6, false}, {7, true}};
  EXPECT_EQ(last, expected);
}

TEST(Times, AreExactOnBothSidesOfEveryBoundary) {
  std::vector<std::int64_t> times;
  for (const std::int64_t edge :
       {std::int64_t{0}, kSlot, 2 * kSlot, 64 * kSlot, 4096 * kSlot, kWindow - kSlot, kWindow, kWindow + kSlot,
        2 * kWindow, 3 * kWindow, 128 * kWindow, 129 * kWindow, 129 * kWindow + kWindow / 2, 130 * kWindow,
        1000 * kWindow, std::int64_t{1'000'000'000'000}, std::int64_t{3'600'000'000'000'000}}) {
    for (const std::int64_t offset : {-1, 0, 1}) {
      if (edge + offset > 0) times.push_back(edge + offset);
    }
  }
  // From several positions of the wheel, in an order unlike that of the times.
  for (const std::int64_t start : {std::int64_t{1}, kSlot - 1, 63 * kSlot, kWindow - 1, 5 * kWindow + 12'345}) {
    test::fresh_kernel();
    Bench bench({"a"});
    bench.script.at(Time(start), [&] {
      for (std::size_t i = 0; i < times.size(); ++i) {
        const std::size_t scattered = i * 17 % times.size();
        bench.dispatcher.post(Time(start + times[scattered]), *bench.targets[0], 0, scattered);
      }
    });
    sc_core::sc_start();
    std::vector<std::int64_t> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(bench.log.size(), times.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      EXPECT_EQ(bench.log[i].time, start + sorted[i]) << "from " << start;
      EXPECT_EQ(times[bench.log[i].data], sorted[i]);
    }
    EXPECT_EQ(bench.dispatcher.pending(), 0u);
  }
}

TEST(Times, PostingOrderSurvivesTheWayFromTheHeapOverTheListsToTheWheel) {
  // With nothing between, so that all that is empty is passed over at once, and with an event in each block.
  for (const bool alone : {true, false}) {
    test::fresh_kernel();
    Bench bench({"a", "b"});
    const Time far(kWindow * 1000 + 5);
    // Some for the heap, for a list, for the wheel, and for the very slot.
    std::uint64_t posted = 0;
    for (const Time before : {far - 1_ps, Time(kWindow * 100), Time(kWindow * 2), Time(kWindow / 2), 3_ps}) {
      bench.script.at(far - before, [&] {
        for (int i = 0; i < 40; ++i) bench.dispatcher.post(far, *bench.targets[0], 0, posted++);
      });
    }
    for (std::int64_t at = kWindow / 2; !alone && at < far.count(); at += kWindow / 2) {
      bench.script.at(Time(at), [&, at] { bench.dispatcher.post(Time(at + kWindow / 2), *bench.targets[1], 0); });
    }
    sc_core::sc_start();
    std::erase_if(bench.log, [](const Seen& seen) { return seen.target != "a"; });
    ASSERT_EQ(bench.log.size(), 200u);
    for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(bench.log[i].data, i);
  }
}

/// The same stream over an ordered set.
std::vector<Seen> reference(const Stream& stream, std::uint64_t roots) {
  using Key = std::tuple<std::int64_t, std::string, std::uint32_t, std::uint64_t>;  // the last: posting order
  std::set<std::pair<Key, std::uint64_t>> pending;
  std::uint64_t posted = 0;
  const auto post = [&](std::int64_t now, const Stream::Child& child) {
    pending.insert({{now + child.delay, kFive[child.target], child.tag, posted}, posted});
    ++posted;
  };
  for (std::uint64_t i = 0; i < roots; ++i) post(1, stream.child(UINT64_MAX, i));
  std::vector<Seen> log;
  while (!pending.empty()) {
    const auto [key, number] = *pending.begin();
    pending.erase(pending.begin());
    log.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), number});
    for (std::size_t i = 0; i < stream.children(number) && posted < stream.limit; ++i) {
      post(std::get<0>(key), stream.child(number, i));
    }
  }
  return log;
}

class Streams : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Streams, RunAsASortedListWould) {
  const Stream stream{GetParam(), 60'000};
  constexpr std::uint64_t kRoots = 500;
  Bench bench(kFive);
  std::uint64_t posted = 0;
  const auto post = [&](std::int64_t now, const Stream::Child& child) {
    bench.dispatcher.post(Time(now + child.delay), *bench.targets[child.target], child.tag, posted++);
  };
  for (auto& target : bench.targets) {
    target->reaction = [&](Time now, std::uint32_t /*tag*/, std::uint64_t number) {
      for (std::size_t i = 0; i < stream.children(number) && posted < stream.limit; ++i) {
        post(now.count(), stream.child(number, i));
      }
    };
  }
  bench.script.at(1_ps, [&] {
    for (std::uint64_t i = 0; i < kRoots; ++i) post(1, stream.child(UINT64_MAX, i));
  });
  sc_core::sc_start();
  const std::vector<Seen> expected = reference(stream, kRoots);
  ASSERT_EQ(bench.log.size(), expected.size());
  EXPECT_GT(expected.size(), kRoots);
  const auto differ = std::mismatch(bench.log.begin(), bench.log.end(), expected.begin());
  if (differ.first != bench.log.end()) {
    FAIL() << "event " << differ.first - bench.log.begin() << " is " << *differ.first << ", expected "
           << *differ.second;
  }
  EXPECT_EQ(bench.dispatcher.pending(), 0u);
  EXPECT_EQ(bench.dispatcher.handled(), expected.size() + 1);  // and the script's
}

INSTANTIATE_TEST_SUITE_P(Seeds, Streams, testing::Range<std::uint64_t>(0, 12));

TEST(Digest, TellsRunsApartByTimeTargetAndTagOnly) {
  const auto run = [](std::int64_t time, const char* name, std::uint32_t tag, std::uint64_t data) {
    test::fresh_kernel();
    Bench bench({"a", "b"});
    Recorder& target = *bench.targets[name == std::string("a") ? 0 : 1];
    bench.script.at(1_ps, [&] {
      bench.dispatcher.post(50_ps, *bench.targets[0], 0, 0);
      bench.dispatcher.post(Time(time), target, tag, data);
    });
    sc_core::sc_start();
    return bench.dispatcher.digest();
  };
  const std::uint64_t digest = run(100, "a", 1, 2);
  EXPECT_EQ(run(100, "a", 1, 2), digest);
  EXPECT_EQ(run(100, "a", 1, 3), digest);
  EXPECT_NE(run(101, "a", 1, 2), digest);
  EXPECT_NE(run(100, "b", 1, 2), digest);
  EXPECT_NE(run(100, "a", 2, 2), digest);
}

TEST(Progress, IsToldOnceInAboutThatManyEvents) {
  Bench bench({"a"});
  int told = 0;
  bench.dispatcher.on_progress(100, [&] {
    ++told;
    EXPECT_EQ(bench.dispatcher.handled() % 128, 0u);
  });
  std::uint64_t left = 1000;
  bench.targets[0]->reaction = [&](Time now, std::uint32_t, std::uint64_t) {
    if (--left != 0) bench.dispatcher.post(now + 1_ns, *bench.targets[0], 0);
  };
  bench.script.at(1_ps, [&] { bench.dispatcher.post(1_ns, *bench.targets[0], 0); });
  sc_core::sc_start();
  EXPECT_EQ(told, 7);
}

TEST(Progress, AHookMayPutAnotherInItsPlace) {
  Bench bench({"a"});
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> then;
  bench.dispatcher.on_progress(1, [&, large = std::vector<int>(100, 7)] {
    bench.dispatcher.on_progress(4, [&] { then.push_back(bench.dispatcher.handled()); });
    first.push_back(bench.dispatcher.handled());
    EXPECT_EQ(large.at(99), 7) << "it is still there";
  });
  bench.script.at(1_ps, [&] {
    for (int i = 0; i < 12; ++i) bench.dispatcher.post(Time(1000 + i), *bench.targets[0], 0);
  });
  sc_core::sc_start();
  EXPECT_EQ(first, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(then, (std::vector<std::uint64_t>{4, 8, 12}));
}

}  // namespace
}  // namespace weft
