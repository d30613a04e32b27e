// SPDX-License-Identifier: Apache-2.0
// The shared event queue beside SystemC threads: how far it runs ahead, where it stops, and what comes out of errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/annotation.h"
#include "tests/support/benches/dispatcher_bench.h"
#include "tests/support/reports.h"

namespace weft {
namespace {

using namespace weft::literals;
using namespace test_dispatcher;

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

TEST(RunUntil, LeavesRoomForWhatIsPostedThenBeforeWhatIsLeft) {
  for (const std::int64_t far : {kWindow + kWindow / 4, 20 * kWindow + kWindow / 4, 999 * kWindow + kWindow / 4}) {
    test::fresh_kernel();
    Bench bench({"a"});
    bench.script.at(1_ps, [&] { bench.dispatcher.post(Time(far), *bench.targets[0], 0); });
    // The limit lies shortly before, so that what is looked for next would be there.
    bench.dispatcher.run_until(Time(far - kWindow / 8));
    EXPECT_TRUE(bench.log.empty());
    const std::int64_t now = bench.dispatcher.now().count();
    const std::vector<std::int64_t> expected = {now + 3, now + kSlot, far - kSlot, far};
    for (const std::int64_t t : {expected[2], expected[0], expected[1]}) {
      bench.dispatcher.post(Time(t), *bench.targets[0], 0);
    }
    bench.dispatcher.run_to_end();
    EXPECT_EQ(times_of(bench.log), expected);
  }
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
