// SPDX-License-Identifier: Apache-2.0
// Cost models, tensor fusion and placement of second-order training, against exhaustive search and bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sw/kfac/cost.h"
#include "sw/kfac/fusion.h"
#include "sw/kfac/packing.h"
#include "sw/kfac/placement.h"
#include "sw/models/network.h"

namespace weft::kfac {
namespace {

template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(KfacCost, RecoversALine) {
  std::vector<Sample> samples;
  for (const double size : {1e3, 2e5, 5e6, 3e7}) samples.push_back({size, 9.29e-4 + 1.4335e-9 * size});
  const LinearCost cost = fit_linear(samples);
  EXPECT_NEAR(cost.alpha, 9.29e-4, 1e-12);
  EXPECT_NEAR(cost.beta, 1.4335e-9, 1e-18);
  EXPECT_DOUBLE_EQ(cost(0), cost.alpha);
}

// The gradient of the squared error is 0 there, and no neighbour is better.
TEST(KfacCost, IsTheLeastSquaresLine) {
  const std::vector<Sample> samples = {{1, 3}, {2, 3.5}, {4, 6}, {4, 5}, {9, 8}};
  const auto squared_error = [&](const LinearCost& cost) {
    double sum = 0;
    for (const Sample& sample : samples) sum += std::pow(cost(sample.size) - sample.seconds, 2);
    return sum;
  };
  const LinearCost cost = fit_linear(samples);
  for (const double step : {-1e-3, 1e-3}) {
    EXPECT_GT(squared_error({cost.alpha + step, cost.beta}), squared_error(cost));
    EXPECT_GT(squared_error({cost.alpha, cost.beta + step}), squared_error(cost));
  }
}

TEST(KfacCost, HasNoNegativeParameter) {
  const LinearCost through_origin = fit_linear(std::vector<Sample>{{1, 0}, {2, 2}, {3, 4}});
  EXPECT_EQ(through_origin.alpha, 0);
  EXPECT_DOUBLE_EQ(through_origin.beta, 16.0 / 14);
  const LinearCost falling = fit_linear(std::vector<Sample>{{1, 3}, {2, 1}});
  EXPECT_EQ(falling.beta, 0);
  EXPECT_EQ(falling.alpha, 2);
}

TEST(KfacCost, RefusesWhatTellsNothing) {
  const auto fit = [](const std::vector<Sample>& samples) {
    return refusal([&] { static_cast<void>(fit_linear(samples)); });
  };
  EXPECT_EQ(fit({}), "expected samples of at least two different sizes");
  EXPECT_EQ(fit({{5, 1}, {5, 2}}), "expected samples of at least two different sizes");
  const std::string not_finite = "expected samples of finite sizes and times that are not negative";
  EXPECT_EQ(fit({{1, std::nan("")}, {2, 1}}), not_finite);
  EXPECT_EQ(fit({{1, -1}, {2, 1}}), not_finite);
  EXPECT_EQ(fit({{std::numeric_limits<double>::infinity(), 1}, {2, 1}}), not_finite);
  const auto matrix = [](const std::vector<Sample>& samples) { return refusal([&] { MatrixCost cost(samples); }); };
  EXPECT_EQ(matrix({}), "expected at least one sample");
  EXPECT_EQ(matrix({{0, 1}}), "expected samples of matrices with a side above 0");
}

TEST(KfacCost, InterpolatesTimesOfMatrices) {
  const MatrixCost cost(std::vector<Sample>{{100, 2}, {64, 1}, {200, 6}, {100, 4}});
  EXPECT_EQ(cost(1), 1);
  EXPECT_EQ(cost(64), 1);
  EXPECT_EQ(cost(82), 2);
  EXPECT_EQ(cost(100), 3);
  EXPECT_EQ(cost(150), 4.5);
  EXPECT_EQ(cost(200), 6);
  EXPECT_EQ(cost(400), 48);
}

TEST(KfacPacking, SendsTheUpperTriangle) {
  EXPECT_EQ(models::triangle(0), 0);
  EXPECT_EQ(models::triangle(1), 1);
  EXPECT_EQ(models::triangle(3), 6);
  EXPECT_EQ(models::triangle(4608), 10'619'136);
}

/// The earliest end of all 2^(n-1) ways to cut n tensors.
double earliest_end(const std::vector<Ready>& tensors, const LinearCost& cost, double network_free) {
  double best = std::numeric_limits<double>::infinity();
  for (std::uint32_t cuts = 0; cuts < (1U << (tensors.size() - 1)); ++cuts) {
    Groups groups = {1};
    for (std::size_t i = 0; i + 1 < tensors.size(); ++i) {
      if ((cuts >> i & 1) != 0) {
        groups.push_back(1);
      } else {
        ++groups.back();
      }
    }
    best = std::min(best, run_pipeline(tensors, groups, cost, network_free).end);
  }
  return best;
}

TEST(KfacFusion, OptimalPlansAreThoseOfExhaustiveSearch) {
  std::mt19937 random(7);
  int dynamic_is_optimal = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<Ready> tensors(1 + random() % 10);
    for (Ready& tensor : tensors) {
      tensor = {static_cast<double>(random() % 100), static_cast<std::int64_t>(random() % 50)};
    }
    const LinearCost cost{static_cast<double>(random() % 80), static_cast<double>(random() % 3)};
    const double taken = trial % 2 == 0 ? 0 : static_cast<double>(random() % 300);
    // Whole numbers: sums are exact.
    EXPECT_EQ(run_pipeline(tensors, fuse_optimal(tensors, cost, taken), cost, taken).end,
              earliest_end(tensors, cost, taken));
    const double best = earliest_end(tensors, cost, 0);
    const double dynamic = run_pipeline(tensors, fuse_dynamic(tensors, cost), cost).end;
    EXPECT_GE(dynamic, best);
    EXPECT_LE(dynamic, run_pipeline(tensors, fuse_none(tensors.size()), cost).end);
    EXPECT_LE(best, run_pipeline(tensors, fuse_all(tensors.size()), cost).end);
    dynamic_is_optimal += dynamic == best ? 1 : 0;
  }
  std::printf("the published rule is optimal in %d of %d small cases\n", dynamic_is_optimal, kTrials);
  EXPECT_GT(dynamic_is_optimal, kTrials / 2);
}

TEST(KfacFusion, FollowsThePublishedRule) {
  // Ready at 10, 11 and 40. The second costs a wait of 1 and saves 5; the third comes after the message has ended.
  const std::vector<Ready> tensors = {{10, 4}, {1, 4}, {29, 4}};
  EXPECT_EQ(fuse_dynamic(tensors, {5, 1}), (Groups{2, 1}));
  // Nothing to save.
  EXPECT_EQ(fuse_dynamic(tensors, {0, 1}), (Groups{1, 1, 1}));
  // The network is busy until 70, so that the second and third wait in any case.
  EXPECT_EQ(fuse_dynamic(std::vector<Ready>{{10, 50}, {9, 4}, {29, 4}}, {5, 1}), (Groups{1, 2}));
}

TEST(KfacFusion, KeepsWithinALimit) {
  const std::vector<Ready> tensors = {{0, 3}, {0, 3}, {0, 9}, {0, 1}, {0, 0}, {0, 3}, {0, 1}};
  EXPECT_EQ(fuse_within(tensors, 6), (Groups{2, 1, 4}));
  EXPECT_EQ(fuse_within(tensors, 4), (Groups{1, 1, 1, 3, 1}));
  EXPECT_EQ(fuse_within(tensors, 100), fuse_all(tensors.size()));
  EXPECT_EQ(fuse_within(tensors, 0), (Groups{1, 1, 1, 1, 1, 1, 1}));
}

TEST(KfacFusion, EdgeCases) {
  const LinearCost cost{2, 1};
  EXPECT_TRUE(fuse_none(0).empty() && fuse_all(0).empty() && fuse_within({}, 5).empty());
  EXPECT_TRUE(fuse_dynamic({}, cost).empty() && fuse_optimal({}, cost).empty());
  EXPECT_EQ(run_pipeline({}, {}, cost, 9).end, 0);
  const std::vector<Ready> one = {{3, 1'000'000'000'000}};
  EXPECT_EQ(fuse_dynamic(one, cost), Groups{1});
  EXPECT_EQ(fuse_optimal(one, cost), Groups{1});
  EXPECT_EQ(run_pipeline(one, {1}, cost).exposed(), 1e12 + 2);
  // A giant among small ones: what follows shares one message behind it.
  const std::vector<Ready> giant = {{1, 1}, {1, 1'000'000}, {9, 1}, {9, 1}, {9, 1}};
  EXPECT_EQ(fuse_optimal(giant, cost), (Groups{2, 3}));
  EXPECT_EQ(fuse_dynamic(giant, cost), (Groups{2, 3}));
  // Without pipelining all are there when the network starts.
  const std::vector<Ready> two = {{1, 1}, {5, 1}};
  EXPECT_EQ(run_pipeline(two, {1, 1}, cost, 6).exposed(), 6);
  EXPECT_EQ(run_pipeline(two, {1, 1}, cost).exposed(), 3);
  const std::string message = "expected groups that hold each tensor once, and none that is empty";
  EXPECT_EQ(refusal([&] { static_cast<void>(run_pipeline(two, {1}, cost)); }), message);
  EXPECT_EQ(refusal([&] { static_cast<void>(run_pipeline(two, {2, 0}, cost)); }), message);
}

double cube(double side) {
  return side * side * side;
}
double free_of_charge(double) {
  return 0;
}

std::vector<double> loads_of(const Placement& placement, const std::vector<std::int64_t>& sides) {
  std::vector<double> loads(static_cast<std::size_t>(placement.ranks), 0);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (placement.owner[i] != kEveryone) {
      loads[static_cast<std::size_t>(placement.owner[i])] += cube(static_cast<double>(sides[i]));
    }
  }
  return loads;
}

// Graham's bound for the longest first, 4/3 - 1/(3p) of the best, the best by exhaustive search.
TEST(KfacPlacement, IsBalanced) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    const int ranks = 2 + static_cast<int>(random() % 2);
    std::vector<std::int64_t> sides(1 + random() % 8);
    for (std::int64_t& side : sides) side = 1 + static_cast<std::int64_t>(random() % 20);
    const Placement placement = place_balanced(sides, ranks, cube, free_of_charge);
    EXPECT_EQ(placement.communicated(), sides.size());
    const std::vector<double> loads = loads_of(placement, sides);
    double best = std::numeric_limits<double>::infinity();
    std::int64_t ways = 1;
    for (std::size_t i = 0; i < sides.size(); ++i) ways *= ranks;
    for (std::int64_t way = 0; way < ways; ++way) {
      std::vector<double> tried(static_cast<std::size_t>(ranks), 0);
      std::int64_t rest = way;
      for (const std::int64_t side : sides) {
        tried[static_cast<std::size_t>(rest % ranks)] += cube(static_cast<double>(side));
        rest /= ranks;
      }
      best = std::min(best, *std::max_element(tried.begin(), tried.end()));
    }
    EXPECT_LE(*std::max_element(loads.begin(), loads.end()), (4.0 / 3 - 1.0 / (3 * ranks)) * best * (1 + 1e-12));
    EXPECT_EQ(cost_of(placement, sides, cube, free_of_charge).compute(), *std::max_element(loads.begin(), loads.end()));
  }
}

TEST(KfacPlacement, RepeatsWhatIsInvertedSoonerThanSent) {
  const std::vector<std::int64_t> sides = {10, 2, 30, 4, 30, 30};
  const Cost broadcast = cost_by_side(Packing::kIndices, LinearCost{500, 1});  // 10: 1,000 < 555 is false; 4: 64 < 510
  const Placement placement = place_balanced(sides, 3, cube, broadcast);
  EXPECT_EQ(placement.owner, (std::vector<int>{0, kEveryone, 0, kEveryone, 1, 2}));
  EXPECT_EQ(placement.communicated(), 4U);
  const PlacementCost cost = cost_of(placement, sides, cube, broadcast);
  EXPECT_EQ(cost.repeated, 8 + 64);
  EXPECT_EQ(cost.slowest, 27'000 + 1'000);
  EXPECT_EQ(cost.communication, 4 * 500 + 55 + 3 * 465);
  EXPECT_EQ(place_balanced(sides, 3, cube, broadcast, Load::kSide).owner, placement.owner);
  // By their sides 4 + 3 + 3 are as much as 10, by their squares or times not.
  const std::vector<std::int64_t> mixed = {10, 4, 4, 3, 3};
  EXPECT_EQ(place_balanced(mixed, 2, cube, free_of_charge, Load::kSide).owner, (std::vector<int>{0, 1, 1, 1, 0}));
  EXPECT_EQ(place_balanced(mixed, 2, cube, free_of_charge, Load::kSquare).owner, (std::vector<int>{0, 1, 1, 1, 1}));
}

TEST(KfacPlacement, GoesInTurn) {
  EXPECT_EQ(place_in_turn(3, 4, true).owner, (std::vector<int>{0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(place_in_turn(3, 2, false).owner, (std::vector<int>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(place_mpd(3, 4).owner, place_in_turn(3, 4, true).owner);
  EXPECT_EQ(place_mpd(3, 2).owner, place_in_turn(3, 2, true).owner);
  EXPECT_EQ(place_dp(3, 4).owner, (std::vector<int>{0, 0, 1, 1, 2, 2}));
}

// Every rank plans for itself: ties must fall alike, and nothing may depend on what was planned before.
TEST(KfacPlacement, IsTheSameOnEveryRank) {
  const std::vector<std::int64_t> equal(9, 100);
  EXPECT_EQ(place_balanced(equal, 4, cube, free_of_charge).owner, (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3, 0}));
  const std::vector<Ready> tensors(9, Ready{1, 10});
  const LinearCost cost{3, 1};
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(place_balanced(equal, 3, cube, cost).owner, place_balanced(equal, 3, cube, cost).owner);
    EXPECT_EQ(fuse_dynamic(tensors, cost), fuse_dynamic(tensors, cost));
    EXPECT_EQ(fuse_optimal(tensors, cost), fuse_optimal(tensors, cost));
  }
}

TEST(KfacPlacement, EdgeCases) {
  const std::vector<std::int64_t> sides = {9, 9, 3, 3};
  const std::vector<int> everyone(4, kEveryone);
  EXPECT_EQ(place_everywhere(4, 64).owner, everyone);
  EXPECT_EQ(place_balanced(sides, 1, cube, free_of_charge).owner, everyone);
  EXPECT_EQ(place_mpd(2, 1).owner, everyone);
  EXPECT_EQ(place_dp(2, 1).owner, everyone);
  // More ranks than tensors: one each. As long as broadcasts are dearer than inverting, none.
  EXPECT_EQ(place_balanced(sides, 64, cube, free_of_charge).owner, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(place_balanced(sides, 64, cube, [](double) { return 1e9; }).owner, everyone);
  EXPECT_EQ(place_balanced({}, 8, cube, free_of_charge).communicated(), 0U);
  EXPECT_EQ(cost_of(place_dp(0, 8), {}, cube, free_of_charge).compute(), 0);
  EXPECT_EQ(refusal([] { static_cast<void>(place_mpd(2, 0)); }), "expected at least 1 rank, got 0");
  EXPECT_EQ(refusal([] { static_cast<void>(place_everywhere(2, -3)); }), "expected at least 1 rank, got -3");
  EXPECT_EQ(refusal([&] { static_cast<void>(cost_of(place_dp(1, 2), sides, cube, free_of_charge)); }),
            "expected a side for each of 2 tensors, got 4");
}

}  // namespace
}  // namespace weft::kfac
