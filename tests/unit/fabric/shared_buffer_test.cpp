// SPDX-License-Identifier: Apache-2.0
// Looking into a shared buffer only when it asks for it lets senders go on at the same times as looking at every leave.
#include "hw/fabric/switch/shared_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace weft::fabric {
namespace {

constexpr std::size_t kInputs = 6;
constexpr std::int64_t kPrivate = 8 << 10;

/// A buffer, and the times at which somebody will look into it.
class Watched {
 public:
  Watched(const SharedBuffer::Config& config, bool every_leave)
      : buffer_(config, std::vector<std::int64_t>(kInputs, kPrivate), true, 1), every_leave_(every_leave) {}

  void collect_until(Time now) {
    while (!looks_.empty() && *looks_.begin() <= now) {
      collect(*looks_.begin());
      looks_.erase(looks_.begin());
    }
  }
  SharedBuffer::Verdict admit(Time now, std::size_t input, std::int64_t bytes) {
    collect(now);
    const SharedBuffer::Verdict verdict = buffer_.admit(input, 0, bytes);
    if (verdict == SharedBuffer::Verdict::kTakenPause)
      buffer_.look_again(input, 0, now, [this](Time at) { looks_.insert(at); });
    return verdict;
  }
  void leave(Time now, std::size_t input, std::int64_t bytes, Time at) {
    if (every_leave_) looks_.insert(at);
    buffer_.leave(input, 0, bytes, at, [&](Time look) {
      EXPECT_GE(look, now);
      looks_.insert(look);
      ++asked;
    });
  }

  int asked = 0;
  std::vector<std::tuple<Time, std::size_t>> resumed;

 private:
  void collect(Time now) {
    buffer_.collect(now, [&](std::size_t input, std::size_t /*lane*/) { resumed.emplace_back(now, input); });
  }

  SharedBuffer buffer_;
  bool every_leave_;
  std::multiset<Time> looks_;
};

struct Held {
  std::size_t input;
  std::int64_t bytes;
};

TEST(SharedBuffer, AsksForALookAtEveryLeaveThatLetsASenderGoOn) {
  std::size_t resumed = 0;
  int asked = 0;
  int leaves = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](std::uint32_t below) { return random() % below; };
    SharedBuffer::Config config;
    config.shared = Bytes(static_cast<std::int64_t>(16 + draw(64)) << 10);
    config.alpha = std::vector<double>{0.05, 0.125, 0.5, 1, 8}[draw(5)];
    config.resume = Bytes(draw(3) * 4096);
    Watched when_asked(config, false);
    Watched always(config, true);
    std::vector<Held> held;
    Time now;
    for (int step = 0; step < 3'000; ++step) {
      now += Time(draw(60'000));
      when_asked.collect_until(now);
      always.collect_until(now);
      // Outputs differ in how far ahead they book, so that leaves are not booked in their order.
      for (std::uint32_t i = draw(held.size() > 40 ? 4 : 2); i > 0 && !held.empty(); --i) {
        const std::size_t which = draw(static_cast<std::uint32_t>(held.size()));
        const Time at = now + Time(draw(5) * 100'000);
        when_asked.leave(now, held[which].input, held[which].bytes, at);
        always.leave(now, held[which].input, held[which].bytes, at);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        ++leaves;
      }
      const Held next{draw(kInputs), 64 + static_cast<std::int64_t>(draw(4'096))};
      const SharedBuffer::Verdict verdict = when_asked.admit(now, next.input, next.bytes);
      ASSERT_EQ(verdict, always.admit(now, next.input, next.bytes));
      if (verdict != SharedBuffer::Verdict::kDropped) held.push_back(next);
    }
    when_asked.collect_until(now + Time(1'000'000));
    always.collect_until(now + Time(1'000'000));
    ASSERT_EQ(when_asked.resumed, always.resumed) << "seed " << seed;
    resumed += always.resumed.size();
    asked += when_asked.asked;
  }
  EXPECT_GT(resumed, 1'000U);
  EXPECT_LT(asked, leaves / 2);
}

}  // namespace
}  // namespace weft::fabric
