// SPDX-License-Identifier: Apache-2.0
// Order and time of the shared event queue, alone, against a sorted reference, and beside SystemC threads.
#include "hw/core/dispatcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/core/annotation.h"
#include "tests/support/kernel.h"
#include "tests/support/reports.h"
#include "tests/support/sockets.h"

namespace weft {
namespace {

using namespace weft::literals;

constexpr std::int64_t kSlot = 1024;            // ps
constexpr std::int64_t kWindow = 8192 * kSlot;  // what the wheel reaches

struct Seen {
  std::int64_t time;
  std::string target;
  std::uint32_t tag;
  std::uint64_t data;
  auto operator<=>(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.time << " ps " << seen.target << '/' << seen.tag << '/' << seen.data;
}

class Recorder final : public EventTarget {
 public:
  Recorder(Dispatcher& dispatcher, std::string name, std::vector<Seen>& log) : name_(std::move(name)), log_(log) {
    dispatcher.attach(*this, name_);
  }
  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override {
    log_.push_back({now.count(), name_, tag, data});
    if (reaction) reaction(now, tag, data);
  }
  std::function<void(Time, std::uint32_t, std::uint64_t)> reaction;

 private:
  std::string name_;
  std::vector<Seen>& log_;
};

/// A dispatcher with recorders that are attached in the order of `names`, and a place to post from.
class Bench {
 public:
  explicit Bench(const std::vector<std::string>& names) : dispatcher("dispatcher"), script("script", dispatcher) {
    for (const std::string& name : names) targets.push_back(std::make_unique<Recorder>(dispatcher, name, log));
  }
  std::vector<Seen> log;
  Dispatcher dispatcher;
  test::Script script;
  std::vector<std::unique_ptr<Recorder>> targets;
};

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

TEST(Times, AreExactOnBothSidesOfEveryBoundary) {
  std::vector<std::int64_t> times;
  for (const std::int64_t edge : {std::int64_t{0}, kSlot, 2 * kSlot, 64 * kSlot, 4096 * kSlot, kWindow - kSlot, kWindow,
                                  kWindow + kSlot, 2 * kWindow, 3 * kWindow, 1000 * kWindow,
                                  std::int64_t{1'000'000'000'000}, std::int64_t{3'600'000'000'000'000}}) {
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

TEST(Times, PostingOrderSurvivesTheWayFromTheHeapToTheWheel) {
  Bench bench({"a"});
  const Time far(kWindow * 3 + 5);
  // 40 from the heap, then 40 more when the wheel reaches that far, some of those when it is in the very slot.
  bench.script.at(1_ps, [&] {
    for (std::uint64_t i = 0; i < 40; ++i) bench.dispatcher.post(far, *bench.targets[0], 0, i);
  });
  bench.script.at(far - Time(kWindow / 2), [&] {
    for (std::uint64_t i = 40; i < 80; ++i) bench.dispatcher.post(far, *bench.targets[0], 0, i);
  });
  bench.script.at(far - 3_ps, [&] {
    for (std::uint64_t i = 80; i < 120; ++i) bench.dispatcher.post(far, *bench.targets[0], 0, i);
  });
  sc_core::sc_start();
  ASSERT_EQ(bench.log.size(), 120u);
  for (std::uint64_t i = 0; i < 120; ++i) EXPECT_EQ(bench.log[i].data, i);
}

/// A stream of events of which each posts others, as a pure function of an event's number.
struct Stream {
  std::uint64_t seed;
  std::uint64_t limit;

  struct Child {
    std::int64_t delay;
    std::size_t target;
    std::uint32_t tag;
  };
  static std::uint64_t mix(std::uint64_t z) {
    z = (z + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    return (z ^ (z >> 31)) * 0x94d049bb133111ebULL >> 7;
  }
  [[nodiscard]] std::size_t children(std::uint64_t event) const { return mix(seed ^ event) % 3; }
  [[nodiscard]] Child child(std::uint64_t event, std::size_t i) const {
    const std::uint64_t r = mix(mix(seed + event) + i);
    static constexpr std::int64_t kRanges[] = {1, 3, 256, 1000, 100'000, kWindow, 3 * kWindow, 1'000'000'000'000};
    const std::int64_t range = kRanges[r % 8];
    return {static_cast<std::int64_t>(mix(r) % static_cast<std::uint64_t>(range)), r / 8 % 5,
            static_cast<std::uint32_t>(r / 64 % 3)};
  }
};

const std::vector<std::string> kFive = {"e", "d", "c", "b", "a"};

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

// --- Beside the SystemC kernel ---

/// A SystemC thread that wakes at given times and does things.
class Waker final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Waker);
  explicit Waker(sc_core::sc_module_name name) : sc_module(name) { SC_THREAD(run); }
  std::vector<std::pair<Time, std::function<void()>>> steps;  ///< by time

 private:
  void run() {
    for (const auto& [when, action] : steps) {
      const Time now(static_cast<std::int64_t>(sc_core::sc_time_stamp().value()));
      if (when > now) wait(to_delay(when - now));
      action();
    }
  }
};

std::vector<std::int64_t> times_of(const std::vector<Seen>& log) {
  std::vector<std::int64_t> times;
  times.reserve(log.size());
  for (const Seen& seen : log) times.push_back(seen.time);
  return times;
}

TEST(RunAhead, StopsBeforeAThreadAndGoesOnAfterIt) {
  Bench bench({"a"});
  Waker waker("waker");
  bench.script.at(1_ps, [&] {
    for (std::int64_t t = 100; t <= 1000; t += 100) bench.dispatcher.post(Time(t), *bench.targets[0], 0);
  });
  waker.steps.emplace_back(450_ps, [&] {
    EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{100, 200, 300, 400}));
    EXPECT_EQ(bench.dispatcher.now(), 450_ps);
  });
  waker.steps.emplace_back(999_ps, [&] { EXPECT_EQ(bench.log.size(), 9u); });
  waker.steps.emplace_back(1001_ps, [&] { EXPECT_EQ(bench.log.size(), 10u); });
  sc_core::sc_start();
  EXPECT_EQ(bench.log.size(), 10u);
}

TEST(RunAhead, AThreadPostsBeforeWhatIsPending) {
  Bench bench({"a"});
  Waker poster("poster");
  Waker watcher("watcher");
  bench.script.at(1_ps, [&] { bench.dispatcher.post(1000_ps, *bench.targets[0], 0, 1); });
  poster.steps.emplace_back(500_ps, [&] {
    bench.dispatcher.post(600_ps, *bench.targets[0], 0, 2);
    bench.dispatcher.post(550_ps, *bench.targets[0], 0, 3);
  });
  // Whoever looks at 700 ps has to see what happened at 600 ps.
  watcher.steps.emplace_back(575_ps, [&] { EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{550})); });
  watcher.steps.emplace_back(700_ps, [&] { EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{550, 600})); });
  sc_core::sc_start();
  EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{550, 600, 1000}));
  EXPECT_EQ(bench.dispatcher.pending(), 0u);
}

TEST(RunAhead, AThreadPostsForItsOwnPicosecond) {
  Bench bench({"a"});
  Waker waker("waker");
  waker.steps.emplace_back(500_ps, [&] { bench.dispatcher.post(500_ps, *bench.targets[0], 0, 1); });
  waker.steps.emplace_back(501_ps, [&] { EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{500})); });
  sc_core::sc_start();
  EXPECT_EQ(bench.log.size(), 1u);
}

TEST(RunAhead, IsExactForRandomThreads) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    test::fresh_kernel();
    Bench bench(kFive);
    std::vector<std::unique_ptr<Waker>> wakers;
    std::uint64_t posted = 0;
    std::vector<std::int64_t> due;  // of all that was posted
    const auto post = [&](Time now, std::uint64_t r) {
      static constexpr std::int64_t kRanges[] = {300, 20'000, 1'000'000, 2 * kWindow};
      const Time when =
          now + Time(static_cast<std::int64_t>(Stream::mix(r) % static_cast<std::uint64_t>(kRanges[r % 4])));
      due.push_back(when.count());
      bench.dispatcher.post(when, *bench.targets[r / 4 % 5], 0, posted++);
    };
    for (auto& target : bench.targets) {
      target->reaction = [&](Time now, std::uint32_t, std::uint64_t number) {
        if (posted < 4000 && number % 3 != 0) post(now, Stream::mix(seed * 1000 + number));
      };
    }
    for (std::uint64_t w = 0; w < 3; ++w) {
      wakers.push_back(std::make_unique<Waker>(("waker" + std::to_string(w)).c_str()));
      Time at;
      for (std::uint64_t i = 0; i < 60; ++i) {
        const std::uint64_t r = Stream::mix(seed * 77 + w * 1000 + i);
        at += Time(1 + static_cast<std::int64_t>(r % 700'000));
        wakers.back()->steps.emplace_back(at, [&, at, r] {
          const auto before = std::count_if(due.begin(), due.end(), [at](std::int64_t t) { return t < at.count(); });
          const auto upto = std::count_if(due.begin(), due.end(), [at](std::int64_t t) { return t <= at.count(); });
          EXPECT_GE(static_cast<std::int64_t>(bench.log.size()), before) << "at " << to_text(at) << ", seed " << seed;
          EXPECT_LE(static_cast<std::int64_t>(bench.log.size()), upto) << "at " << to_text(at) << ", seed " << seed;
          EXPECT_EQ(bench.dispatcher.now(), at);
          post(at, r);
          post(at, r + 1);
        });
      }
    }
    sc_core::sc_start();
    EXPECT_EQ(bench.log.size(), due.size()) << "seed " << seed;
    EXPECT_TRUE(std::is_sorted(bench.log.begin(), bench.log.end(),
                               [](const Seen& a, const Seen& b) { return a.time < b.time; }))
        << "seed " << seed;
    if (HasFailure()) return;
  }
}

/// Counts what has been handled when its event comes.
class Listener final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Listener);
  Listener(sc_core::sc_module_name name, const std::vector<Seen>& log) : sc_module(name), log_(log) {
    SC_METHOD(run);
    sensitive << event;
    dont_initialize();
  }
  sc_core::sc_event event;
  std::vector<std::pair<std::int64_t, std::size_t>> woken;

 private:
  void run() { woken.emplace_back(static_cast<std::int64_t>(sc_core::sc_time_stamp().value()), log_.size()); }
  const std::vector<Seen>& log_;
};

TEST(Notify, LowersTheHorizon) {
  Bench bench({"a"});
  Listener listener("listener", bench.log);
  bench.targets[0]->reaction = [&](Time now, std::uint32_t, std::uint64_t) {
    if (now == 200_ps) bench.dispatcher.notify(listener.event, 450_ps);
    if (now == 500_ps) bench.dispatcher.notify(listener.event, 500_ps);
    if (now == 700_ps) bench.dispatcher.notify(listener.event, 800_ps);
  };
  bench.script.at(1_ps, [&] {
    for (std::int64_t t = 100; t <= 1000; t += 100) bench.dispatcher.post(Time(t), *bench.targets[0], 0);
  });
  sc_core::sc_start();
  ASSERT_EQ(listener.woken.size(), 3u);
  EXPECT_EQ(listener.woken[0], (std::pair<std::int64_t, std::size_t>{450, 4}));
  EXPECT_EQ(listener.woken[1], (std::pair<std::int64_t, std::size_t>{500, 5}));
  // At one time with an event, either may come first.
  EXPECT_EQ(listener.woken[2].first, 800);
  EXPECT_GE(listener.woken[2].second, 7u);
  EXPECT_LE(listener.woken[2].second, 8u);
  EXPECT_EQ(bench.log.size(), 10u);
}

// --- Stopping ---

TEST(RunUntil, HandlesWhatIsDueAndNothingLater) {
  Bench bench({"a"});
  bench.script.at(1_ps, [&] {
    for (const std::int64_t t : {999, 1000, 1001, 5000, 100'000'000})
      bench.dispatcher.post(Time(t), *bench.targets[0], 0);
  });
  bench.dispatcher.run_until(999_ps);
  EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{999}));
  bench.dispatcher.run_until(1000_ps);
  EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{999, 1000}));
  bench.dispatcher.run_until(4999_ps);
  EXPECT_EQ(bench.log.size(), 3u);
  EXPECT_EQ(bench.dispatcher.pending(), 2u);
  bench.dispatcher.run_until(5000_ps);
  EXPECT_EQ(bench.log.size(), 4u);
  bench.dispatcher.run_until(1_ms);
  EXPECT_EQ(bench.log.size(), 5u);
  EXPECT_EQ(bench.dispatcher.pending(), 0u);
}

TEST(RunUntil, HandlesWhatIsDueAtTheLimitBesideAThread) {
  Bench bench({"a"});
  Waker waker("waker");
  waker.steps.emplace_back(500_ps, [] {});
  waker.steps.emplace_back(5000_ps, [] {});
  bench.script.at(1_ps, [&] {
    for (const std::int64_t t : {400, 1000, 1001}) bench.dispatcher.post(Time(t), *bench.targets[0], 0);
  });
  bench.dispatcher.run_until(1000_ps);
  EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{400, 1000}));
  bench.dispatcher.run_until(2000_ps);
  EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{400, 1000, 1001}));
}

TEST(RunUntil, LeavesTheRestToARunToTheEnd) {
  Bench bench({"a"});
  bench.script.at(1_ps, [&] {
    for (const std::int64_t t : {400, 1000, 1001}) bench.dispatcher.post(Time(t), *bench.targets[0], 0);
  });
  bench.dispatcher.run_until(500_ps);
  EXPECT_EQ(bench.log.size(), 1u);
  sc_core::sc_start();
  EXPECT_EQ(times_of(bench.log), (std::vector<std::int64_t>{400, 1000, 1001}));
}

/// The kernel takes the contents of the report that it catches; whoever runs the simulation still gets the message.
TEST(Failure, OfAnEventComesOutWithItsMessage) {
  for (const bool until : {false, true}) {
    test::fresh_kernel();
    Bench bench({"a"});
    bench.targets[0]->reaction = [](Time, std::uint32_t, std::uint64_t) { SC_REPORT_FATAL("a", "it broke"); };
    bench.script.at(1_ps, [&] { bench.dispatcher.post(5_ns, *bench.targets[0], 0); });
    const test::ExpectReports reports;
    try {
      if (until) {
        bench.dispatcher.run_until(1_us);
      } else {
        bench.dispatcher.run_to_end();
      }
      FAIL() << "nothing was thrown";
    } catch (const sc_core::sc_report& report) {
      EXPECT_STREQ(report.get_msg_type(), "a");
      EXPECT_STREQ(report.get_msg(), "it broke");
    }
  }
}

TEST(Failure, KeepsItsType) {
  Bench bench({"a"});
  bench.targets[0]->reaction = [](Time, std::uint32_t, std::uint64_t) { throw std::out_of_range("too far"); };
  bench.script.at(1_ps, [&] { bench.dispatcher.post(5_ns, *bench.targets[0], 0); });
  const test::ExpectReports reports;
  EXPECT_THROW(bench.dispatcher.run_to_end(), std::out_of_range);
}

/// Within the present slot and in one before it; while the dispatcher runs and while it does not.
TEST(Past, IsAnErrorThatNamesTheTimes) {
  for (const std::int64_t before : std::vector<std::int64_t>{1, kSlot, 3 * kWindow}) {
    test::fresh_kernel();
    Bench bench({"a"});
    const Time now(4 * kWindow + 500);
    bench.targets[0]->reaction = [&](Time at, std::uint32_t, std::uint64_t) {
      bench.dispatcher.post(at - Time(before), *bench.targets[0], 1);
    };
    bench.script.at(1_ps, [&] { bench.dispatcher.post(now, *bench.targets[0], 0); });
    const test::ExpectReports reports;
    EXPECT_THROW(bench.dispatcher.run_to_end(), sc_core::sc_report);
    ASSERT_FALSE(reports.messages().empty());
    const std::string& message = reports.messages()[0];
    EXPECT_NE(message.find(to_text(now - Time(before)) + ", which is before " + to_text(now)), std::string::npos)
        << message;
  }
}

/// A sum that has wrapped, which a user's numbers can do: into negative times, or from the end of time to its
/// beginning.
TEST(Past, BeyondTheEndIsAnOverflow) {
  for (const Time now : {Time(4 * kWindow), Time(INT64_MAX / 4 * 3)}) {
    test::fresh_kernel();
    Bench bench({"a"});
    bench.targets[0]->reaction = [&](Time at, std::uint32_t, std::uint64_t) {
      const auto wrapped = static_cast<std::int64_t>(static_cast<std::uint64_t>(at.count()) + INT64_MAX);
      bench.dispatcher.post(Time(wrapped), *bench.targets[0], 1);
    };
    bench.script.at(1_ps, [&] { bench.dispatcher.post(now, *bench.targets[0], 0); });
    const test::ExpectReports reports;
    EXPECT_THROW(bench.dispatcher.run_to_end(), QuantityOverflow);
  }
}

}  // namespace
}  // namespace weft
