// SPDX-License-Identifier: Apache-2.0
// Delayed averaging and sparse gradients with real contents: the same weights as a single process computes, bit for
// bit.
#include <gtest/gtest.h>

#include "tests/support/kfac_training.h"

namespace weft {
namespace {

using compression::CompressorName;
using schedules::KfacConfig;
using schedules::KfacTrainingConfig;
using schedules::ScheduleName;

KfacTrainingConfig slow_training() {
  KfacTrainingConfig how;
  how.rate = 0.02;
  return how;
}

// ---- DeAR

TEST(DearTraining, LeavesTheWeightsOfSynchronousSgdBitForBit) {
  for (const int ranks : {2, 3, 8}) {
    const models::Network network = test::small_convolutions();
    const test::TrainingData data(network, ranks);
    KfacConfig config;
    config.fusion_threshold = Bytes(800);
    config.steps = 4;
    config.algorithm = "sgd";
    const test::Trained sgd = test::train(test::training_machine(ranks, 1), network, config, slow_training(), data);
    config.algorithm = "dear";
    const test::Trained dear = test::train(test::training_machine(ranks, 1), network, config, slow_training(), data);
    EXPECT_EQ(sgd.weights, dear.weights) << ranks;
    EXPECT_EQ(sgd.losses, dear.losses) << ranks;
    EXPECT_EQ(dear.gradient_messages.size(), 2U);
    EXPECT_EQ(dear.result.delayed_messages, 2U);
    EXPECT_GT(dear.result.rest, Time());
  }
}

// ---- DaSGD

struct AveragingCase {
  const char* name;
  int ranks;
  int delay;
  int interval;
  bool convolutions;
};

std::ostream& operator<<(std::ostream& out, const AveragingCase& tested) {
  return out << tested.name;
}

class DelayedAveraging : public testing::TestWithParam<AveragingCase> {};

TEST_P(DelayedAveraging, LeavesEachRankTheWeightsOfItsModelCopyBitForBit) {
  const AveragingCase& c = GetParam();
  const models::Network network = c.convolutions ? test::small_convolutions() : test::small_mlp();
  const test::TrainingData data(network, c.ranks);
  KfacConfig config;
  config.algorithm = "dasgd";
  config.delay = c.delay;
  config.averaging_interval = c.interval;
  config.fusion_threshold = Bytes(800);
  config.steps = 9;
  const KfacTrainingConfig how = slow_training();
  const test::Trained trained = test::train(test::training_machine(c.ranks, 1), network, config, how, data);
  EXPECT_GT(trained.average_messages.size(), 1U);

  test::ReferenceAveraging reference(network, data, test::reference_of(config, how), c.delay, c.interval);
  for (int step = 0; step < config.steps; ++step) {
    reference.step(trained.average_messages);
    EXPECT_NEAR(trained.losses[static_cast<std::size_t>(step)], reference.loss(), 1e-12 * reference.loss());
  }
  for (int r = 0; r < c.ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    EXPECT_EQ(trained.weights[i], reference.copy(i).weights()) << "rank " << r;
  }
  EXPECT_LT(trained.losses.back(), trained.losses.front());
}

INSTANTIATE_TEST_SUITE_P(All, DelayedAveraging,
                         testing::Values(AveragingCase{"synchronous", 4, 0, 1, false},
                                         AveragingCase{"one_step", 4, 1, 1, false},
                                         AveragingCase{"two_ranks", 2, 2, 1, true},
                                         AveragingCase{"three_steps", 8, 3, 1, false},
                                         AveragingCase{"local_steps", 3, 1, 3, true},
                                         AveragingCase{"longer_than_the_interval", 4, 5, 2, false}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Momentum is linear in the gradients, so the mean of weights trained apart for one step is what the mean gradient
// gives. Bound: a few roundings of each of the steps.
TEST(DelayedAveragingLimits, WithoutDelayIsSynchronousSgd) {
  const models::Network network = test::small_mlp();
  const test::TrainingData data(network, 4);
  KfacConfig config;
  config.algorithm = "dasgd";
  config.delay = 0;
  config.steps = 5;
  const KfacTrainingConfig how = slow_training();
  const test::Trained averaged = test::train(test::training_machine(4, 1), network, config, how, data);
  config.algorithm = "sgd";
  config.delay = 1;
  const test::Trained sgd = test::train(test::training_machine(4, 1), network, config, how, data);
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    EXPECT_EQ(averaged.weights[0][l], averaged.weights[3][l]);
    for (std::size_t i = 0; i < sgd.weights[0][l].size(); ++i) {
      EXPECT_NEAR(averaged.weights[0][l][i], sgd.weights[0][l][i], 64 * 0x1p-24) << l << " " << i;
    }
  }
}

// ---- Sparse gradients

struct SparseCase {
  const char* name;
  CompressorName method;
  double ratio;
  int ranks;
  ScheduleName algorithm = "sgd";
  int stages = 0;
};

std::ostream& operator<<(std::ostream& out, const SparseCase& tested) {
  return out << tested.name;
}

class SparseTraining : public testing::TestWithParam<SparseCase> {};

TEST_P(SparseTraining, LeavesTheWeightsOfOneProcessBitForBit) {
  const SparseCase& c = GetParam();
  const models::Network network = test::small_mlp();
  const test::TrainingData data(network, c.ranks);
  KfacConfig config;
  config.algorithm = c.algorithm;
  config.compression = {.method = c.method, .ratio = c.ratio, .stages = c.stages};
  config.fusion_threshold = Bytes(800);
  config.steps = 12;
  const KfacTrainingConfig how = slow_training();
  const test::Trained trained = test::train(test::training_machine(c.ranks, 1), network, config, how, data);

  test::ReferenceConfig reference_config = test::reference_of(config, how);
  reference_config.owners = trained.owners;
  test::ReferenceTraining<float> reference(network, data, reference_config);
  for (int step = 0; step < config.steps; ++step) {
    reference.step(trained.gradient_messages, trained.factor_messages);
    EXPECT_NEAR(trained.losses[static_cast<std::size_t>(step)], reference.loss(), 1e-12 * reference.loss());
  }
  for (const auto& own : trained.weights) EXPECT_EQ(own, reference.weights());
  EXPECT_LT(trained.losses.back(), trained.losses.front());
  EXPECT_EQ(trained.gradient_messages.size(), 2U);
  // A pair has 8 bytes.
  EXPECT_DOUBLE_EQ(trained.result.sent_share, 2 * reference.density());
  std::printf("%s: %.4f of the gradients sent, %.4f asked for, loss from %.4f to %.4f\n", c.name,
              trained.result.sent_share / 2, c.ratio, trained.losses.front(), trained.losses.back());
}

INSTANTIATE_TEST_SUITE_P(All, SparseTraining,
                         testing::Values(SparseCase{"top_k", "top-k", 0.1, 4}, SparseCase{"top_k_all", "top-k", 1, 2},
                                         SparseCase{"top_k_of_kfac", "top-k", 0.2, 3, "spd"},
                                         SparseCase{"exponential", "exponential", 0.1, 4},
                                         SparseCase{"exponential_two_stages", "exponential", 0.1, 8, "sgd", 2},
                                         SparseCase{"gamma", "gamma", 0.1, 2},
                                         SparseCase{"pareto_of_kfac", "pareto", 0.2, 4, "mpd"}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(SparseTrainingLimits, OfAllElementsIsTheDenseSum) {
  const models::Network network = test::small_mlp();
  const test::TrainingData data(network, 2);
  KfacConfig config;
  config.algorithm = "sgd";
  config.steps = 3;
  const test::Trained dense = test::train(test::training_machine(2, 1), network, config, slow_training(), data);
  config.compression = {.method = "top-k", .ratio = 1};
  // Two addends have one sum, whatever their order.
  EXPECT_EQ(test::train(test::training_machine(2, 1), network, config, slow_training(), data).weights, dense.weights);
}

}  // namespace
}  // namespace weft
