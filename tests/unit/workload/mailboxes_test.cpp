// SPDX-License-Identifier: Apache-2.0
// Equal messages to an end: receives that wait, and messages that have come before them.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sw/analytical/network.h"
#include "tests/support/kernel.h"

namespace weft::analytical {
namespace {

/// Sends and receives at given times, of a message of 1,000 bytes from end 0 to end 1, over a link that carries one at
/// a time: 100 ns and the latency of 100.
struct MailboxesBench final : sc_core::sc_module, Actor {
  enum class Do : std::uint8_t { kSend, kReceive };
  using Step = std::pair<std::int64_t, Do>;  // ns

  explicit MailboxesBench(std::vector<Step> what)
      : sc_module(sc_core::sc_module_name("bench")),
        dispatcher("dispatcher"),
        network(dispatcher, {{Block::kFullyConnected, 2, 10, 100}}, Congestion::kAware, "network"),
        actor(network.agenda().add(*this)),
        steps(std::move(what)) {}
  void start_of_simulation() override {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      network.agenda().post(Time(steps[i].first * 1000), Entry(actor, i));
    }
  }
  void act(Time now, std::uint64_t what) override {
    if (what >= steps.size()) return done.push_back({what - steps.size(), now.count() / 1000});
    const Mailboxes::Message message{7, 0, 1, 1000};
    if (steps[what].second == Do::kSend) return network.mailboxes().send(now, message, {});
    network.mailboxes().receive(now, message, Entry(actor, steps.size() + what));
  }

  Dispatcher dispatcher;
  Network network;
  std::uint32_t actor;
  std::vector<Step> steps;
  std::vector<std::pair<std::uint64_t, std::int64_t>> done;  ///< receives by their step, and when in ns
};

using Do = MailboxesBench::Do;
using Done = std::vector<std::pair<std::uint64_t, std::int64_t>>;

TEST(AnalyticalMailboxes, ServesReceivesThatWaitInTheirOrder) {
  test::fresh_kernel();
  MailboxesBench bench({{1, Do::kReceive},
                        {2, Do::kReceive},
                        {3, Do::kReceive},
                        {4, Do::kReceive},
                        {10, Do::kSend},
                        {10, Do::kSend},
                        {10, Do::kSend},
                        {350, Do::kReceive},  // when two have come and two wait
                        {350, Do::kSend},
                        {350, Do::kSend}});
  bench.dispatcher.run_to_end();
  EXPECT_EQ(bench.done, (Done{{0, 210}, {1, 310}, {2, 410}, {3, 550}, {7, 650}}));
}

TEST(AnalyticalMailboxes, KeepsMessagesThatNobodyWaitsFor) {
  test::fresh_kernel();
  MailboxesBench bench({{10, Do::kSend},
                        {10, Do::kSend},
                        {10, Do::kSend},
                        {320, Do::kReceive},  // when two have come
                        {321, Do::kReceive},
                        {322, Do::kReceive},  // waits
                        {323, Do::kReceive},
                        {500, Do::kSend}});
  bench.dispatcher.run_to_end();
  EXPECT_EQ(bench.done, (Done{{3, 320}, {4, 321}, {5, 410}, {6, 700}}));
  int left = 0;
  bench.network.mailboxes().each_left([&](const Mailboxes::Message&, Entry) { ++left; });
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace weft::analytical
