// SPDX-License-Identifier: Apache-2.0
// Links and switches that go down and come back under random traffic, on random networks: routes go round them, what is
// lost is repeated, and who is cut off for good is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/random_messages.h"

namespace weft {
namespace {

using namespace weft::literals;
using fabric::FlowControl;
using nic::Verb;
using nic::test_bench::Bench;
using nic::test_bench::BenchConfig;
using test::describe;
using test::Draw;
using test::seeds;

constexpr Time kAfterAll = 1000_ms;

std::string random_place(Draw& draw, const fabric::Topology& topology) {
  const auto& sw = topology.switches[static_cast<std::size_t>(draw(0, static_cast<int>(topology.switches.size()) - 1))];
  if (draw.chance(0.2)) return sw.name;
  const auto& port = sw.ports[static_cast<std::size_t>(draw(0, static_cast<int>(sw.ports.size()) - 1))];
  if (port.is_end) return "end" + std::to_string(port.index);
  return sw.name + draw.of<const char*>({"-", ">"}) + topology.switches[port.index].name;
}

/// Any network, with routes that change when something is down.
std::shared_ptr<const fabric::Plan> draw_plan(Draw& draw) {
  const auto whole = test::random_plan(draw, {FlowControl::kCredits, FlowControl::kPfc, FlowControl::kLossy});
  const fabric::Topology& topology = whole->topology();
  fabric::FabricConfig config = whole->config();
  if (topology.grid || topology.dragonfly) config.routing = fabric::Routing::kUpDown;
  // With less room so many packets are lost in turn that a queue pair may fail without any outage.
  const Bytes room = config.link.buffer * 8;
  if (config.link.flow_control == FlowControl::kLossy) {
    config.link.buffer = room;
    for (fabric::EdgeConfig& edge : config.edges) edge.link.buffer = room;
    for (fabric::DimensionConfig& dimension : config.dimensions) dimension.link.buffer = room;
  }
  config.reroute_after = Time(draw(1, 20) * 1'000'000);
  for (int i = draw(1, 4); i > 0; --i) {
    fabric::Fault fault;
    fault.link = random_place(draw, topology);
    fault.down = true;
    fault.from = Time(draw(0, 40) * 1'000'000);
    if (draw.chance(0.7)) fault.until = fault.from + Time(draw(1, 60) * 1'000'000);
    config.faults.push_back(fault);
  }
  return std::make_shared<fabric::Plan>(config, static_cast<int>(topology.ends.size()), "fabric", draw.bits());
}

/// False if anything is wrong.
bool survives(std::uint64_t seed, int& cut) {
  test::fresh_kernel();
  Draw draw(seed, "outages");
  const auto plan = draw_plan(draw);
  BenchConfig config;
  config.ends = static_cast<int>(plan->topology().ends.size());
  config.network = plan->config();
  config.stall.seed = seed;
  config.nic.recovery = true;
  config.nic.ack_timeout = Time(draw(20, 60) * 1'000'000);
  config.nic.retry_limit = 100;
  config.nic.reorder = draw.of<Bytes>({0_B, 1_MiB});
  Bench bench(config);
  const std::vector<test::Message> messages = test::draw_messages(draw, bench,
                                                                  {.least_pairs = 2,
                                                                   .pairs = 8,
                                                                   .messages = 6,
                                                                   .bytes = 30'000,
                                                                   .gap_us = 30,
                                                                   .verbs = {Verb::kWrite, Verb::kRead}});
  bench.dispatcher.run_until(kAfterAll);
  EXPECT_EQ(bench.dispatcher.pending(), 0u) << "something goes on for ever";

  const std::vector<std::uint32_t> cut_off = bench.network.plan().cut_off(kAfterAll);
  const auto is_cut_off = [&](std::uint32_t end) { return std::binary_search(cut_off.begin(), cut_off.end(), end); };
  std::int64_t writes = 0;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const test::Message& message = messages[m];
    const bool arrived = test::has_arrived(bench, message, m);
    writes += arrived && message.verb == Verb::kWrite ? 1 : 0;
    int done = 0;
    for (const auto& entry : bench.completions(message.from)) {
      if (entry.entry.id != m) continue;
      ++done;
      EXPECT_TRUE(arrived || entry.entry.status != nic::Status::kSuccess) << "message " << m;
      if (entry.entry.status != nic::Status::kSuccess) {
        EXPECT_TRUE(is_cut_off(message.from) || is_cut_off(message.to)) << "message " << m;
      }
    }
    // What waits in an interface behind packets that its link never takes has no timer yet, but is told at the end.
    const bool told = is_cut_off(message.from) && !bench.nics[message.from]->left_over().empty();
    EXPECT_EQ(done, told && done == 0 ? 0 : 1)
        << "message " << m << " from end" << message.from << " to end" << message.to;
  }
  std::int64_t received = 0;
  for (const auto& nic : bench.nics) received += nic->counters().messages_received;
  EXPECT_EQ(received, writes);

  if (cut_off.empty()) {
    EXPECT_EQ(bench.network.left_over(), std::vector<std::string>());
    for (const auto& nic : bench.nics) EXPECT_EQ(nic->left_over(), std::vector<std::string>());
    EXPECT_EQ(bench.packets.outstanding(), 0);
  } else {
    ++cut;
    const std::size_t count = bench.network.plan().cut_off(bench.dispatcher.now()).size();
    std::string text;
    for (const std::string& line : bench.network.outages()) text += line + "\n";
    EXPECT_NE(text.find("no path leads to " + std::to_string(count) + " of "), std::string::npos) << text;
  }
  if (testing::Test::HasFailure()) {
    ADD_FAILURE() << "seed " << seed << ": " << describe(bench.network.plan());
    for (const auto& fault : config.network.faults) {
      std::string until = to_text(fault.until);
      ADD_FAILURE() << fault.link << " from " << to_text(fault.from) << " until " << until;
    }
    return false;
  }
  return true;
}

// Of the first 5,000 seeds one fails: 3750 deadlocks while old and new routes mix, as outage.h says that networks can
// (with reroute_after = 0 it passes), and its queue pairs end in error.
TEST(RandomOutages, AreGoneRoundOrReported) {
  constexpr std::uint64_t kSeeds = 1000;
  int cut = 0;
  for (const std::uint64_t seed : seeds(kSeeds)) {
    if (!survives(seed, cut)) return;
  }
  // Some of both.
  const auto count = static_cast<int>(seeds(kSeeds).size());
  if (count < 10) return;
  EXPECT_GT(cut, count / 10);
  EXPECT_LT(cut, 9 * count / 10);
}

}  // namespace
}  // namespace weft
