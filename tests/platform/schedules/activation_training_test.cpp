// SPDX-License-Identifier: Apache-2.0
// Compressed activations: with real contents the weights that a single process computes which compresses alike, bit
// for bit; a batch that fits only so; what it costs; errors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platforms/machine/find_accelerator.h"
#include "tests/support/kfac_training.h"
#include "tests/support/reports.h"

namespace weft {
namespace {

using namespace literals;
using schedules::ActivationCompression;
using schedules::Kfac;
using schedules::KfacConfig;
using schedules::KfacPart;
using schedules::KfacResult;
using schedules::KfacTrainingConfig;
using schedules::ScheduleName;

struct ActivationCase {
  const char* name;
  ScheduleName algorithm;
  double ratio;
  int ranks;
  bool convolutions = false;
  bool sparse = false;  ///< gradients, too
};

std::ostream& operator<<(std::ostream& out, const ActivationCase& tested) {
  return out << tested.name;
}

KfacConfig small_training(ScheduleName algorithm) {
  KfacConfig config;
  config.algorithm = algorithm;
  config.fusion_threshold = Bytes(800);  // several messages
  config.steps = 4;
  return config;
}

KfacTrainingConfig gentle_rate() {
  KfacTrainingConfig how;
  how.rate = 0.02;
  return how;
}

class ActivationTraining : public testing::TestWithParam<ActivationCase> {};

TEST_P(ActivationTraining, LeavesTheWeightsOfOneProcessBitForBit) {
  const ActivationCase& c = GetParam();
  const models::Network network = c.convolutions ? test::small_convolutions() : test::small_mlp();
  const test::TrainingData data(network, c.ranks);
  KfacConfig config = small_training(c.algorithm);
  config.activations = {ActivationCompression::kJpegAct, c.ratio};
  if (c.sparse) config.compression = {.method = "top-k", .ratio = 0.3};
  const KfacTrainingConfig how = gentle_rate();
  const test::Trained trained = test::train(test::training_machine(c.ranks, 1), network, config, how, data);

  test::ReferenceConfig reference_config = test::reference_of(config, how);
  reference_config.owners = trained.owners;
  test::ReferenceTraining<float> reference(network, data, reference_config);
  for (int step = 0; step < config.steps; ++step) {
    if (c.ranks > 1) {
      reference.step(trained.gradient_messages, trained.factor_messages);
    } else {
      reference.step();
    }
    EXPECT_NEAR(trained.losses[static_cast<std::size_t>(step)], reference.loss(), 1e-12 * reference.loss());
  }
  for (const auto& own : trained.weights) EXPECT_EQ(own, reference.weights());
  EXPECT_LT(trained.losses.back(), trained.losses.front());

  config.activations.method = ActivationCompression::kNone;
  const test::Trained exact = test::train(test::training_machine(c.ranks, 1), network, config, how, data);
  EXPECT_NE(exact.weights, trained.weights);
  std::printf("%s: loss from %.4f to %.4f, with all kept %.4f\n", c.name, trained.losses.front(), trained.losses.back(),
              exact.losses.back());
}

INSTANTIATE_TEST_SUITE_P(All, ActivationTraining,
                         testing::Values(ActivationCase{"sgd", "sgd", 0.5, 4},
                                         ActivationCase{"sgd_conv_of_one_coefficient", "sgd", 0.01, 3, true},
                                         ActivationCase{"dear_conv", "dear", 1, 2, true},
                                         ActivationCase{"d_whose_factors_are_of_restored_inputs", "d", 0.25, 4},
                                         ActivationCase{"mpd_conv", "mpd", 0.5, 3, true},
                                         ActivationCase{"spd_whose_factors_are_of_exact_inputs", "spd", 0.25, 4},
                                         ActivationCase{"spd_conv", "spd", 0.5, 4, true},
                                         ActivationCase{"spd_with_sparse_gradients", "spd", 0.5, 2, false, true},
                                         ActivationCase{"spd_alone", "spd", 0.5, 1},
                                         ActivationCase{"dp", "dp", 0.5, 4}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(ActivationTrainingLimits, OfDelayedAveragingEachRankHasTheWeightsOfItsCopy) {
  const models::Network network = test::small_mlp();
  const test::TrainingData data(network, 3);
  KfacConfig config = small_training("dasgd");
  config.activations.method = ActivationCompression::kJpegAct;
  const KfacTrainingConfig how = gentle_rate();
  const test::Trained trained = test::train(test::training_machine(3, 1), network, config, how, data);
  test::ReferenceAveraging reference(network, data, test::reference_of(config, how), 1, 1);
  for (int step = 0; step < config.steps; ++step) reference.step(trained.average_messages);
  for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(trained.weights[r], reference.copy(r).weights()) << "rank " << r;
}

TEST(ActivationTrainingLimits, AnInputThatIsNotFiniteIsNamed) {
  const models::Network network = test::small_mlp();
  test::TrainingData data(network, 2);
  data.inputs[1][3] = std::numeric_limits<float>::infinity();
  KfacConfig config = small_training("d");
  config.activations.method = ActivationCompression::kJpegAct;
  const test::ExpectReports reports;  // SystemC's own of what comes out of run()
  try {
    test::train(test::training_machine(2, 1), network, config, gentle_rate(), data);
    FAIL() << "was accepted";
  } catch (const std::domain_error& error) {
    EXPECT_EQ(std::string(error.what()).find("loss before step 1: expected a finite number, got "), 0U) << error.what();
  }
}

// ---- Memory and time

platforms::MachineConfig two_accelerators() {
  platforms::MachineConfig machine;
  machine.accelerators = 2;
  machine.per_node = 1;
  machine.accelerator = *platforms::find_accelerator("rtx-2080-ti");
  machine.fabric.segment = 64_KiB;
  machine.fabric.link.buffer = 256_KiB;
  return machine;
}

KfacResult step_of(const platforms::MachineConfig& machine_config, const KfacConfig& config) {
  test::fresh_kernel();
  platforms::Machine machine(machine_config);
  Kfac kfac(machine.ranks(), config, machine_config.collectives, machine_config.accelerator.array.compute);
  kfac.start();
  machine.run();
  return kfac.result();
}

KfacConfig resnet(ScheduleName algorithm, std::int64_t batch) {
  KfacConfig config;
  config.algorithm = algorithm;
  config.batch = batch;
  return config;
}

TEST(CompressedActivations, ABatchThatDidNotFitFits) {
  KfacConfig config = resnet("d", 64);
  config.packing = kfac::Packing::kIndices;
  const platforms::MachineConfig machine = two_accelerators();
  try {
    step_of(machine, config);
    FAIL() << "fitted";
  } catch (const std::length_error& error) {
    EXPECT_NE(std::string(error.what()).find("resnet50 needs 11.11 GiB: activations 5.19, "), std::string::npos)
        << error.what();
  }
  config.activations.method = ActivationCompression::kJpegAct;
  const KfacResult result = step_of(machine, config);
  EXPECT_EQ(result.steps.size(), 1U);
  // Of 64 x 4 bytes a scale, 32 coefficients and 64 signs are left, if all blocks are full.
  const double full = (4 + 32 + 8) / 256.0;
  const double share =
      static_cast<double>(result.allocated_activation_bytes) / static_cast<double>(result.activation_bytes);
  EXPECT_GT(share, full);
  EXPECT_LT(share, 2 * full);  // edges of 14 and 7 columns, and the two buffers
}

TEST(CompressedActivations, CostPassesOverWhatIsKept) {
  // What collectives take from computing, cores and memory, depends on what runs beside them: here there are none.
  platforms::MachineConfig machine = two_accelerators();
  machine.accelerators = machine.per_node = 1;
  for (const ScheduleName algorithm : {"sgd", "d", "spd"}) {
    KfacConfig config = resnet(algorithm, 4);
    const KfacResult all = step_of(machine, config);
    config.activations.method = ActivationCompression::kJpegAct;
    const KfacResult kept = step_of(machine, config);
    const auto part = [](const KfacResult& result, KfacPart which) {
      return static_cast<double>(result.parts[static_cast<std::size_t>(which)].count());
    };
    EXPECT_EQ(part(all, KfacPart::kCompression), 0);
    EXPECT_EQ(all.allocated_activation_bytes, all.activation_bytes);
    // Each input is read once and written once, and by D-KFAC once more to compute factors, at no more than HBM's rate.
    const double bytes = (algorithm == "d" ? 2.5 : 2.0) * static_cast<double>(all.activation_bytes);
    const double peak = static_cast<double>(machine.accelerator.hbm.rate.count()) / 8;
    EXPECT_GT(part(kept, KfacPart::kCompression) * 1e-12, 0.9 * bytes / peak);
    EXPECT_NEAR(part(kept, KfacPart::kForwardBackward) / part(all, KfacPart::kForwardBackward), 1, 1e-3);
    EXPECT_GT(kept.measured, all.measured);
  }
}

TEST(CompressedActivations, SharesThatAreNoneAreRefused) {
  for (const double ratio : {0.0, -0.5, 1.5}) {
    KfacConfig config = resnet("sgd", 1);
    config.activations = {ActivationCompression::kJpegAct, ratio};
    try {
      step_of(two_accelerators(), config);
      FAIL() << "was accepted";
    } catch (const ConfigError& error) {
      EXPECT_EQ(
          std::string(error.what()),
          "workload.activations.ratio: expected a number, more than 0 and at most 1, got " + fmt::format("{}", ratio));
    }
  }
}

}  // namespace
}  // namespace weft
