// SPDX-License-Identifier: Apache-2.0
// Partitioned edge learning: which blocks and bands are chosen, and that rounds take as long. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "sw/schedules/edge/edge_allocation.h"
#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using schedules::allocate_edge;
using schedules::edge_time;
using schedules::EdgeAllocation;
using schedules::EdgeShare;
using schedules::EdgeWorker;

constexpr std::int64_t kParameters = 10'000'000;
constexpr double kBand = 2e6;

double slowest(const std::vector<EdgeWorker>& workers, const std::vector<EdgeShare>& shares) {
  double most = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) most = std::max(most, edge_time(workers[i], shares[i]));
  return most;
}

std::vector<EdgeWorker> workers() {
  return {{0.5, 20e-6}, {2, 5e-6}, {4, 40e-6}, {3, 10e-6}, {1, 1e-6}};
}

TEST(EdgeAllocation, UsesAllAndEndsAtOnce) {
  for (const EdgeAllocation how :
       {EdgeAllocation::kEqual, EdgeAllocation::kParameters, EdgeAllocation::kBandwidth, EdgeAllocation::kJoint}) {
    const std::vector<EdgeShare> shares = allocate_edge(how, kParameters, kBand, workers());
    std::int64_t parameters = 0;
    double band = 0;
    for (const EdgeShare& share : shares) {
      parameters += share.parameters;
      band += share.bandwidth_hz;
    }
    EXPECT_EQ(parameters, kParameters);
    EXPECT_NEAR(band, kBand, 1e-6 * kBand);
    if (how == EdgeAllocation::kEqual) continue;
    const double time = slowest(workers(), shares);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i].parameters == 0) continue;
      EXPECT_NEAR(edge_time(workers()[i], shares[i]), time, 1e-4 * time) << i;
    }
  }
}

/// Bands drawn at random, with the best blocks for each, are never faster, and some come near.
TEST(EdgeAllocation, NothingDrawnIsFasterThanJoint) {
  const double joint = slowest(workers(), allocate_edge(EdgeAllocation::kJoint, kParameters, kBand, workers()));
  std::mt19937_64 random(1);
  std::exponential_distribution<double> part(1);
  double best = 1e30;
  for (int i = 0; i < 200'000; ++i) {
    std::vector<double> bands;
    double sum = 0;
    for (std::size_t k = 0; k < workers().size(); ++k) sum += bands.emplace_back(part(random));
    double speed = 0;
    for (std::size_t k = 0; k < bands.size(); ++k) {
      speed += 1 / (64 / workers()[k].bits_per_hz / (kBand * bands[k] / sum) + workers()[k].compute_s);
    }
    best = std::min(best, static_cast<double>(kParameters) / speed);
  }
  EXPECT_GE(best, joint * (1 - 1e-6));
  EXPECT_LE(best, joint * 1.02);
}

TEST(EdgeAllocation, EachChoiceHelps) {
  const auto time = [](EdgeAllocation how) {
    return slowest(workers(), allocate_edge(how, kParameters, kBand, workers()));
  };
  EXPECT_LT(time(EdgeAllocation::kJoint), time(EdgeAllocation::kParameters));
  EXPECT_LT(time(EdgeAllocation::kJoint), time(EdgeAllocation::kBandwidth));
  EXPECT_LT(time(EdgeAllocation::kParameters), time(EdgeAllocation::kEqual));
  EXPECT_LT(time(EdgeAllocation::kBandwidth), time(EdgeAllocation::kEqual));
}

/// Blocks are whole: no way that chooses more is slower than one that chooses less, and no worker has all that is left.
TEST(EdgeAllocation, FewParametersAreSharedOut) {
  for (std::int64_t parameters = 1; parameters < 60; ++parameters) {
    const auto time = [&](EdgeAllocation how) {
      const std::vector<EdgeShare> shares = allocate_edge(how, parameters, kBand, workers());
      std::int64_t sum = 0;
      for (const EdgeShare& share : shares) sum += share.parameters;
      EXPECT_EQ(sum, parameters);
      return slowest(workers(), shares);
    };
    const double equal = time(EdgeAllocation::kEqual);
    EXPECT_LE(time(EdgeAllocation::kParameters), equal) << parameters;
    EXPECT_LE(time(EdgeAllocation::kBandwidth), equal) << parameters;
    EXPECT_LE(time(EdgeAllocation::kJoint), time(EdgeAllocation::kParameters)) << parameters;
    EXPECT_LE(time(EdgeAllocation::kJoint), time(EdgeAllocation::kBandwidth)) << parameters;
    for (const EdgeShare& share : allocate_edge(EdgeAllocation::kEqual, parameters, kBand, workers())) {
      EXPECT_LE(share.parameters, (parameters + 4) / 5) << parameters;
    }
  }
}

/// Without computing what a Hz carries counts alone.
TEST(EdgeAllocation, TheBestChannelHasAllWhereNothingIsComputed) {
  const std::vector<EdgeWorker> idle = {{1, 0}, {3, 0}, {2, 0}};
  const std::vector<EdgeShare> shares = allocate_edge(EdgeAllocation::kJoint, 1000, kBand, idle);
  EXPECT_EQ(shares[1].parameters, 1000);
  EXPECT_EQ(shares[0].parameters, 0);
}

class EdgeLearningCli : public test::CliTest {
 protected:
  json ran(const std::string& options) {
    return run_json("edge-12-workers --set workload.parameters=20000 --set workload.rounds=4 " + options);
  }
};

TEST_F(EdgeLearningCli, BlocksArriveAndRoundsTakeWhatWasPlanned) {
  for (const char* how : {"joint", "parameters", "bandwidth", "equal"}) {
    const json result = ran(std::string("--data --set workload.allocation=") + how);
    EXPECT_EQ(result["wrong"], 0) << how;
    EXPECT_EQ(result["round_ends_us"].size(), 4U);
    const double planned = result["planned_us"].get<double>();
    EXPECT_GT(result["round_us"].get<double>(), planned);
    EXPECT_LT(result["round_us"].get<double>(), 1.01 * planned + 50) << how;
  }
  EXPECT_EQ(ran("--data --set workload.compute=0us")["wrong"], 0);
  EXPECT_EQ(ran("--data --set workload.parameters=5")["wrong"], 0);
  EXPECT_EQ(ran("--set workload.allocation=equal")["saved_percent"], 0);
  EXPECT_NE(
      weft("run edge-12-workers --data --set workload.parameters=5").out.find("\nwrong elements                   0\n"),
      std::string::npos);
}

// Rounds of equal parts over nearly silent channels together take longer than a Time holds; one that is run must not.
TEST_F(EdgeLearningCli, RoundsOfEqualPartsMayTakeYears) {
  const std::string silent = "--set workload.mean_snr=-20 --set workload.shadowing=20 --set workload.rounds=10 ";
  const json result = run_json("edge-12-workers " + silent);
  EXPECT_GT(10 * result["equal_us"].get<double>(), 9.3e12) << "their sum";
  EXPECT_GT(result["saved_percent"].get<double>(), 99.9);
  const std::string table = weft("run edge-12-workers " + silent).out;
  EXPECT_EQ(table.find(" ps\n"), std::string::npos) << table;
  EXPECT_NE(table.find("\nless than equal parts      100.0 %\n"), std::string::npos) << table;
  const test::Ran equal = weft("run edge-12-workers --set workload.allocation=equal " + silent);
  EXPECT_EQ(equal.code, 2) << equal.out;
  EXPECT_NE(equal.err.find("times reach 106 days"), std::string::npos) << equal.err;
}

// Where all workers are alike nothing is gained, and nothing is lost.
TEST_F(EdgeLearningCli, NothingIsNoLessThanNothing) {
  const std::string table =
      weft("run edge-12-workers --set workload.shadowing=0 --set workload.compute_spread=1 --set workload.rounds=2")
          .out;
  EXPECT_NE(table.find("\nless than equal parts        0.0 %\n"), std::string::npos) << table;
}

TEST_F(EdgeLearningCli, RefusesWhatItCannotDo) {
  test::Ran refused = weft("run edge-12-workers --set accelerators=1");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("accelerators: expected a server and at least one worker"), std::string::npos);
}

}  // namespace
}  // namespace weft
