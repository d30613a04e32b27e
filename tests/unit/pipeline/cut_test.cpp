// SPDX-License-Identifier: Apache-2.0
// Which accelerators have a pipeline's stages, and where its model is cut.
#include "sw/schedules/pipeline/cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "sw/schedules/pipeline/units.h"

namespace weft::schedules {
namespace {

constexpr Rate kFast = Rate(10'000'000'000);
constexpr Rate kSlow = Rate(100'000'000);
constexpr Rate kSlowest = Rate(8'000'000);

/// Three sites, ranks dealt to them in turn: 0 and 1, and 1 and 2, are joined better than 0 and 2.
StageLink between_sites(int from, int to) {
  const int one = from % 3;
  const int other = to % 3;
  if (one == other) return {kFast, Time(20)};
  return {std::abs(one - other) == 1 ? kSlow : kSlowest, Time(1000)};
}

int crossings(const std::vector<int>& order, Rate rate) {
  int count = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) count += between_sites(order[i], order[i + 1]).rate == rate;
  return count;
}

TEST(StagePlaces, AFenceCrossesSlowLinksAsSeldomAsCanBe) {
  const std::vector<int> order = place_stages(StagePlacement::kFence, 12, 12, 1, between_sites);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 12U);
  EXPECT_EQ(crossings(order, kSlow), 2);
  EXPECT_EQ(crossings(order, kSlowest), 0);
  // In their order each message crosses a slow link.
  const std::vector<int> dealt = place_stages(StagePlacement::kIndex, 12, 12, 1, between_sites);
  EXPECT_EQ(crossings(dealt, kFast), 0);
}

TEST(StagePlaces, RandomOnesFollowTheSeed) {
  const auto drawn = [](std::int64_t seed) {
    return place_stages(StagePlacement::kRandom, 12, 5, seed, between_sites);
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  EXPECT_EQ(drawn(1).size(), 5U);
}

struct Chain {
  std::vector<double> units = {3, 1, 4, 1, 5, 9, 2, 6};
  std::vector<double> speeds = {1, 4, 2};  // of stages
  std::vector<double> messages = {1, 1, 7, 1, 1, 30, 1, 0};

  [[nodiscard]] CutCosts costs() const {
    CutCosts costs{units.size(), static_cast<int>(speeds.size()), {}, {}, {}};
    costs.compute = [this](std::size_t unit, int stage) {
      return units[unit] / speeds[static_cast<std::size_t>(stage)];
    };
    costs.message = [this](std::size_t unit, int) { return messages[unit]; };
    return costs;
  }
  /// The longest of stages and messages.
  [[nodiscard]] double longest(const std::vector<std::size_t>& first) const {
    double most = 0;
    for (std::size_t s = 0; s < first.size(); ++s) {
      const std::size_t end = s + 1 < first.size() ? first[s + 1] : units.size();
      double sum = 0;
      for (std::size_t u = first[s]; u < end; ++u) sum += units[u] / speeds[s];
      most = std::max({most, sum, s + 1 < first.size() ? messages[end - 1] : 0});
    }
    return most;
  }
};

TEST(StageCuts, FitIsTheBestOfAll) {
  const Chain chain;
  double best = 1e9;
  for (std::size_t a = 1; a < 7; ++a) {
    for (std::size_t b = a + 1; b < 8; ++b) best = std::min(best, chain.longest({0, a, b}));
  }
  const std::vector<std::size_t> fit = cut_units(StageCut::kFit, chain.costs());
  EXPECT_DOUBLE_EQ(chain.longest(fit), best);
  EXPECT_GT(chain.longest(cut_units(StageCut::kUnits, chain.costs())), best);
  EXPECT_GT(chain.longest(cut_units(StageCut::kCompute, chain.costs())), best);
  // The fastest has the most to do.
  EXPECT_GT(fit[2] - fit[1], fit[1]);
}

TEST(StageCuts, OfEqualNumbersAndOfEqualTimes) {
  const Chain chain;
  EXPECT_EQ(cut_units(StageCut::kUnits, chain.costs()), (std::vector<std::size_t>{0, 3, 6}));
  // 3 1 4 1 | 5 9 | 2 6, whatever the speeds of the others.
  EXPECT_EQ(cut_units(StageCut::kCompute, chain.costs()), (std::vector<std::size_t>{0, 4, 6}));
}

TEST(StageCuts, MemoriesBoundThem) {
  const Chain chain;
  CutCosts costs = chain.costs();
  costs.fits = [](std::size_t first, std::size_t end, int stage) { return stage != 1 || end - first == 1; };
  const std::vector<std::size_t> fit = cut_units(StageCut::kFit, costs);
  EXPECT_EQ(fit[2] - fit[1], 1U);
  costs.fits = [](std::size_t, std::size_t, int) { return false; };
  EXPECT_THROW(static_cast<void>(cut_units(StageCut::kFit, costs)), ConfigError);
  costs.stages = 9;
  EXPECT_THROW(static_cast<void>(cut_units(StageCut::kUnits, costs)), ConfigError);
}

// The published law: max(1, 3 r R_i / max R).
TEST(StageLinks, AreCompressedByTheTimeTheyTake) {
  EXPECT_DOUBLE_EQ(reduction_of(CompressedLinks::kSlow, 100, 3, 5, 5), 300);
  EXPECT_DOUBLE_EQ(reduction_of(CompressedLinks::kSlow, 100, 3, 0.5, 5), 30);
  EXPECT_DOUBLE_EQ(reduction_of(CompressedLinks::kSlow, 100, 3, 0.005, 5), 1);
  EXPECT_DOUBLE_EQ(reduction_of(CompressedLinks::kAll, 100, 3, 0.005, 5), 300);
}

const PipelineUnit& unit(const PipelineModel& model, const std::string& name) {
  return *std::find_if(model.units.begin(), model.units.end(), [&](const auto& each) { return each.name == name; });
}

PipelineConfig two_samples() {
  PipelineConfig config;
  config.batch = 4;
  config.microbatches = 2;
  config.sequence = 128;
  return config;
}

TEST(PipelineUnits, OfAResidualNetworkCarryWhatSkipsThem) {
  const PipelineModel model = pipeline_model(models::find_network("resnet101"), two_samples());
  // The stem, three convolutions in each of 33 blocks, and the classifier.
  EXPECT_EQ(model.units.size(), 101U);
  std::int64_t parameters = 0;
  for (const PipelineUnit& each : model.units) parameters += each.parameters;
  EXPECT_EQ(parameters, 44'549'160);  // torchvision's
  // Of two samples, images of 56 x 56: 64 channels, and the 64 that came to the block.
  EXPECT_EQ(unit(model, "layer1.0.conv1").crossing, 2 * 56 * 56 * (64 + 64));
  EXPECT_EQ(unit(model, "layer1.1.conv2").crossing, 2 * 56 * 56 * (64 + 256));
  // The sum alone; the convolution of the skip is of the same unit.
  EXPECT_EQ(unit(model, "layer1.0.conv3").crossing, 2 * 56 * 56 * 256);
  EXPECT_EQ(unit(model, "layer1.0.conv3").layers, 4U);
}

TEST(PipelineUnits, OfATransformerAreItsBlocks) {
  const PipelineModel model = pipeline_model(models::named_decoder("gpt2-xl"), two_samples());
  EXPECT_EQ(model.units.size(), 50U);
  for (const PipelineUnit& each : model.units) EXPECT_EQ(each.crossing, 2 * 128 * 1600);
}

TEST(PipelineUnits, RefuseBranchesAndSharesOfSamples) {
  EXPECT_THROW(static_cast<void>(pipeline_model(models::find_network("densenet201"), two_samples())), ConfigError);
  PipelineConfig uneven = two_samples();
  uneven.microbatches = 3;
  EXPECT_THROW(static_cast<void>(pipeline_model(models::find_network("resnet50"), uneven)), ConfigError);
}

}  // namespace
}  // namespace weft::schedules
