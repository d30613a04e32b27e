// SPDX-License-Identifier: Apache-2.0
// CoDA and CODASCA with real contents: weights, a, b, alpha and control variates are what the algorithms give, and what
// travels is what the papers say.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "sw/schedules/kfac/contents.h"
#include "sw/schedules/kfac/methods/coda.h"
#include "tests/support/kfac_training.h"

namespace weft {
namespace {

using schedules::KfacConfig;
using schedules::KfacTraffic;
using schedules::KfacTrainingConfig;
using Doubles = std::vector<double>;

constexpr int kInterval = 3;
constexpr int kWorkers = 4;
constexpr int kIn = 3;
constexpr int kOut = 2;
constexpr int kBatch = 4;
constexpr double kRate = 0.05;
constexpr double kPositive = 0.25;
constexpr std::size_t kWeights = (kIn + 1) * kOut;

KfacConfig config_of(const std::string& algorithm, int steps) {
  KfacConfig config;
  config.algorithm = algorithm;
  config.steps = steps;
  config.fusion_threshold = Bytes(4);  // tensor by tensor
  config.own.of<schedules::CodaConfig>() = {kInterval, kPositive};
  config.own.of<schedules::CodascaConfig>() = {{kInterval, kPositive}};
  config.training.on = true;
  config.training.rate = kRate;
  config.training.momentum = 0;
  return config;
}

models::Network one_layer() {
  return {"linear", kBatch, {{"only", models::LayerKind::kLinear, kIn, kOut, 1, 1, 1, 0, 0, 1, 1, true}}};
}

/// A rank of the reference, in double precision: weights, then a, b and alpha.
struct Copy {
  Doubles values;
  Doubles variate = Doubles(kWeights + 3);
  Doubles began;

  /// The slopes of the loss of the weights, and of the min-max form of the scalars (alpha's goes up).
  [[nodiscard]] Doubles slopes(const std::vector<float>& inputs, const std::vector<float>& targets) const {
    Doubles slopes(kWeights + 3);
    const double a = values[kWeights];
    const double b = values[kWeights + 1];
    const double alpha = values[kWeights + 2];
    slopes[kWeights + 2] = -2 * kPositive * (1 - kPositive) * alpha;
    for (int sample = 0; sample < kBatch; ++sample) {
      Doubles outputs;
      for (int o = 0; o < kOut; ++o) {
        const auto row = static_cast<std::size_t>(o * (kIn + 1));
        double output = values[row + kIn];
        for (std::size_t i = 0; i < kIn; ++i) output += values[row + i] * inputs[at(sample, kIn) + i];
        outputs.push_back(output);
        const double off = (output - targets[at(sample, kOut) + static_cast<std::size_t>(o)]) / kBatch;
        for (std::size_t i = 0; i < kIn; ++i) slopes[row + i] += off * inputs[at(sample, kIn) + i];
        slopes[row + kIn] += off;
      }
      const double h = outputs.front();
      if (sample < 1) {  // a quarter of four
        slopes[kWeights] -= 2 * (1 - kPositive) * (h - a) / kBatch;
        slopes[kWeights + 2] -= 2 * (1 - kPositive) * h / kBatch;
      } else {
        slopes[kWeights + 1] -= 2 * kPositive * (h - b) / kBatch;
        slopes[kWeights + 2] += 2 * kPositive * h / kBatch;
      }
    }
    return slopes;
  }
  static std::size_t at(int sample, int of) { return static_cast<std::size_t>(sample * of); }
};

struct Outcome {
  std::vector<Doubles> values;    ///< by rank
  std::vector<Doubles> variates;  ///< likewise; none of CoDA
};

Outcome reference(const test::TrainingData& data, bool variates, int steps) {
  std::vector<Copy> copies(kWorkers);
  for (Copy& copy : copies) {
    copy.values.assign(data.weights[0].begin(), data.weights[0].end());
    copy.values.resize(kWeights + 3);
  }
  Doubles mean(kWeights + 3);
  const auto sign = [](std::size_t i) { return i == kWeights + 2 ? -1.0 : 1.0; };
  for (int step = 0; step < steps; ++step) {
    for (std::size_t r = 0; r < kWorkers; ++r) {
      Copy& copy = copies[r];
      if (step % kInterval == 0) copy.began = copy.values;
      const Doubles slopes = copy.slopes(data.inputs[r], data.targets[r]);
      for (std::size_t i = 0; i < slopes.size(); ++i) {
        copy.values[i] -= sign(i) * kRate * (slopes[i] + (variates ? mean[i] - copy.variate[i] : 0));
      }
    }
    if ((step + 1) % kInterval != 0) continue;
    Doubles values(kWeights + 3);
    Doubles next(kWeights + 3);
    for (Copy& copy : copies) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        copy.variate[i] += (copy.began[i] - copy.values[i]) / (sign(i) * kRate * kInterval) - mean[i];
        next[i] += copy.variate[i] / kWorkers;
        values[i] += copy.values[i] / kWorkers;
      }
    }
    mean = next;
    for (Copy& copy : copies) copy.values = values;
  }
  Outcome run;
  for (const Copy& copy : copies) {
    run.values.push_back(copy.values);
    run.variates.push_back(copy.variate);
  }
  return run;
}

Outcome simulated(const test::TrainingData& data, const KfacConfig& config) {
  test::fresh_kernel();
  const platforms::MachineConfig machine_config = test::training_machine(kWorkers, 2);
  platforms::Machine machine(machine_config);
  schedules::Kfac kfac(machine.ranks(), one_layer(), config, machine_config.collectives,
                       machine_config.accelerator.array.compute);
  schedules::KfacTraining training(kfac, machine.ranks());
  training.load(data.weights, data.inputs, data.targets);
  kfac.set_arithmetic(training.arithmetic());
  kfac.start();
  machine.run();
  Outcome run;
  const auto all_of = [&](int rank, const schedules::KfacLayout::Addresses& tensors) {
    Doubles values;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::int64_t elements = tensors.size() > 3 && i == 0 ? std::int64_t{kWeights} : 1;
      for (const float value : schedules::load_from(machine.rank(rank), tensors[i], elements)) values.push_back(value);
    }
    return values;
  };
  for (int r = 0; r < kWorkers; ++r) {
    const std::vector<float> weights = training.weights(r, 0);
    Doubles& values = run.values.emplace_back(weights.begin(), weights.end());
    for (const double scalar : all_of(r, kfac.layout().own[0])) values.push_back(scalar);
    if (kfac.layout().own.size() > 1) run.variates.push_back(all_of(r, kfac.layout().own[2]));
  }
  return run;
}

void expect_near(const Doubles& actual, const Doubles& expected, double bound, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], bound) << what << " " << i;
}

// Bounds: some tens of roundings of numbers near 1, and of variates, which are differences of such over rate and steps.
TEST(Coda, MovesAsTheAlgorithmSays) {
  const test::TrainingData data(one_layer(), kWorkers);
  for (const int steps : {3, 5, 12}) {
    const Outcome run = simulated(data, config_of("coda", steps));
    const Outcome right = reference(data, false, steps);
    for (std::size_t r = 0; r < kWorkers; ++r) expect_near(run.values[r], right.values[r], 3e-6, std::to_string(steps));
  }
}

TEST(Codasca, MovesAsTheAlgorithmSays) {
  const test::TrainingData data(one_layer(), kWorkers);
  for (const int steps : {3, 5, 12}) {
    const Outcome run = simulated(data, config_of("codasca", steps));
    const Outcome right = reference(data, true, steps);
    for (std::size_t r = 0; r < kWorkers; ++r) {
      expect_near(run.values[r], right.values[r], 5e-6, std::to_string(steps));
      expect_near(run.variates[r], right.variates[r], 1e-4, "variates after " + std::to_string(steps));
    }
  }
  // They correct something.
  const Outcome with = reference(data, true, 12);
  EXPECT_GT(std::abs(with.values[0][0] - reference(data, false, 12).values[0][0]), 1e-4);
}

/// Local steps and then the mean are DaSGD's without delay, of any network, to the bit.
TEST(Coda, SharesItsMeansWithDasgd) {
  const models::Network network = test::small_convolutions();
  const test::TrainingData data(network, 3);
  KfacConfig config = config_of("coda", 6);
  const KfacTrainingConfig how = config.training;
  const test::Trained coda = test::train(test::training_machine(3, 1), network, config, how, data);
  config.algorithm = "dasgd";
  config.delay = 0;
  config.averaging_interval = kInterval;
  const test::Trained dasgd = test::train(test::training_machine(3, 1), network, config, how, data);
  EXPECT_EQ(coda.weights, dasgd.weights);
  EXPECT_EQ(coda.weights[0], coda.weights[2]);
}

/// In a round the bytes of the weights travel once, with variates twice, and 12 or 24 for a, b and alpha.
TEST(Coda, SendsWeightsOnceAndVariatesAsOften) {
  const models::Network network = test::small_mlp();
  const test::TrainingData data(network, 2);
  const auto parameters = static_cast<std::uint64_t>(models::totals(network).parameters);
  for (const auto& [algorithm, times, messages] : {std::tuple("coda", 1U, 6U), std::tuple("codasca", 2U, 12U)}) {
    test::fresh_kernel();
    platforms::Machine machine(test::training_machine(2, 1));
    const schedules::Kfac kfac(machine.ranks(), network, config_of(algorithm, kInterval), machine.config().collectives,
                               machine.config().accelerator.array.compute);
    std::uint64_t bytes = 0;
    for (const schedules::KfacMessage& message : kfac.fullest().messages) bytes += message.bytes;
    EXPECT_EQ(bytes, times * (4 * parameters + 12)) << algorithm;
    EXPECT_EQ(kfac.fullest().messages.size(), messages) << algorithm;
  }
}

}  // namespace
}  // namespace weft
