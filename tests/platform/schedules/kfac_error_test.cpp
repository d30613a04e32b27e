// SPDX-License-Identifier: Apache-2.0
// K-FAC schedules that are refused, and what they send with data on.
#include <gtest/gtest.h>

#include <algorithm>

#include "sw/schedules/kfac/kfac_check.h"
#include "sw/schedules/kfac/methods/kaisa.h"
#include "tests/support/kfac_schedule.h"

namespace weft {
namespace {

using namespace literals;
using platforms::Machine;
using platforms::MachineConfig;
using schedules::FactorFusion;
using schedules::InversePlacement;
using schedules::Kfac;
using schedules::KfacConfig;
using schedules::KfacSwitch;
using schedules::ScheduleName;
using test::fresh_kernel;
using test::kfac_machine;
using test::kfac_workload;
using test::run_kfac;

TEST(KfacErrors, AnUnknownNetworkIsAnErrorThatListsThem) {
  KfacConfig config;
  config.network = "resnet51";
  try {
    run_kfac(kfac_machine(2), config);
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "workload.network");
    EXPECT_NE(error.expected().find("resnet152"), std::string::npos) << error.expected();
  }
}

TEST(KfacErrors, AFileThatIsNotThereIsNamed) {
  KfacConfig config;
  config.network = "no-such-network.csv";
  try {
    run_kfac(kfac_machine(2), config);
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "workload.network");
    EXPECT_NE(error.expected().find("no-such-network.csv"), std::string::npos) << error.expected();
  }
}

std::string refusal(const KfacConfig& config) {
  try {
    run_kfac(kfac_machine(2), config);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "was accepted";
}

TEST(KfacErrors, ABoundOnTheDivergenceBelowNoneIsRefused) {
  KfacConfig config = kfac_workload("d");
  config.kl_clip = -0.5;
  EXPECT_EQ(refusal(config), "workload.kl_clip: expected a number, at least 0, got -0.5");
}

TEST(KfacErrors, TooFewStepsToWaitForAnEarlierOneAreRefused) {
  KfacConfig config = kfac_workload("dear");
  config.steps = 1;
  EXPECT_EQ(refusal(config),
            "workload.steps: expected at least 2, the first that has what an earlier step of dear sent, got 1");
  config.algorithm = "dasgd";
  config.delay = 5;
  config.steps = 5;
  EXPECT_EQ(refusal(config),
            "workload.steps: expected at least 6, the first that has what an earlier step of dasgd sent, got 5");
  config.delay = 1;
  config.averaging_interval = 5;
  config.steps = 2;
  EXPECT_EQ(refusal(config),
            "workload.steps: expected at least 6, the first that has what an earlier step of dasgd sent, got 2");
}

TEST(KfacErrors, AnIntervalLongerThanARunCanBeIsRefused) {
  KfacConfig config = kfac_workload("dasgd");
  config.delay = 2;
  config.averaging_interval = 1'000'000;
  EXPECT_EQ(refusal(config),
            "workload.averaging_interval: expected at most 9998 with a delay of 2, since no run has more than 10000 "
            "steps, got 1000000");
}

TEST(KfacErrors, WhatCollectivesOfOneKindLackIsToldOfTheFieldThatChoseThem) {
  KfacConfig config = kfac_workload("spd");
  config.broadcasts = "in-network";
  EXPECT_EQ(
      refusal(config),
      "workload.broadcasts: expected switches that reduce for in-network: reduction.trees of the network's switch "
      "is 0");
  config.broadcasts = "platform";
  config.all_reduces = "in-network";
  EXPECT_EQ(refusal(config),
            "workload.all_reduces: expected switches that reduce for in-network: reduction.trees of the network's "
            "switch is 0");
}

TEST(KfacErrors, SwitchesWithoutAnEffectAreRefused) {
  KfacConfig config = kfac_workload("sgd");
  config.fusion = FactorFusion::kAll;
  EXPECT_EQ(refusal(config), "workload.fusion: expected algorithm with sgd, which has no factors, got all");
  config = kfac_workload("dear");
  config.placement = InversePlacement::kInTurn;
  EXPECT_EQ(refusal(config), "workload.placement: expected algorithm with dear, which has no factors, got in-turn");
  config = kfac_workload("sgd");
  config.pipelining = KfacSwitch::kOff;
  EXPECT_EQ(refusal(config), "workload.pipelining: expected algorithm with sgd, which has no factors, got off");
  config = kfac_workload("sgd");
  config.inverse_interval = 3;
  EXPECT_EQ(refusal(config), "workload.inverse_interval: expected 1 with sgd, which has no factors, got 3");
  config = kfac_workload("dp");
  config.fusion = FactorFusion::kNone;
  EXPECT_EQ(refusal(config), "workload.fusion: expected algorithm with dp, which sends no factors, got none");
  config = kfac_workload("dp");
  config.placement = InversePlacement::kBalanced;
  EXPECT_EQ(refusal(config),
            "workload.placement: expected algorithm with dp, whose layers' owners invert, got balanced");
  config = kfac_workload("spd");
  config.averaging_interval = 2;
  EXPECT_EQ(refusal(config),
            "workload.averaging_interval: expected 1 with spd, since only dasgd averages weights, got 2");
  for (const ScheduleName algorithm : {"d", "spd"}) {
    config = kfac_workload(algorithm);
    config.pipelining = KfacSwitch::kOff;
    config.fusion = FactorFusion::kOptimal;
    EXPECT_EQ(refusal(config),
              "workload.fusion: expected none, threshold or all with factors that are sent after the backward pass "
              "(pipelining), got optimal");
  }
}

TEST(KfacErrors, SparseGradientsThatCannotBeSentAreRefused) {
  KfacConfig config = kfac_workload("dear");
  config.steps = 2;
  config.compression.method = "gamma";
  EXPECT_EQ(refusal(config),
            "workload.compression.method: expected none with dear, whose schedule does not say that it sums "
            "gradients by AllReduces (may_be_sparse is false), got gamma");
  config.algorithm = "sgd";
  config.compression.ratio = 1.5;
  EXPECT_EQ(refusal(config), "workload.compression.ratio: expected a number, more than 0 and at most 1, got 1.5");
  config.compression.ratio = 0;
  EXPECT_EQ(refusal(config), "workload.compression.ratio: expected a number, more than 0 and at most 1, got 0");
  config.compression.ratio = 0.01;
  config.compression.method = "lossless";
  EXPECT_EQ(refusal(config),
            "workload.compression.method: expected one whose messages are gathered or summed, since this one works hop "
            "by hop (collectives.compression), got lossless");
}

TEST(KfacErrors, ANetworkWithoutLayersIsRefused) {
  const MachineConfig config = kfac_machine(2);
  Machine machine(config);
  try {
    const Kfac kfac(machine.ranks(), models::Network(), KfacConfig(), config.collectives,
                    config.accelerator.array.compute);
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()), "workload.network: expected a network with at least one layer");
  }
}

TEST(KfacErrors, WhatDoesNotFitTheMemoryIsNamed) {
  MachineConfig machine = kfac_machine(2);
  machine.accelerator.hbm.capacity = 1_GiB;
  KfacConfig config;
  const auto message = [&] {
    try {
      run_kfac(machine, config);
    } catch (const std::length_error& error) {
      return std::string(error.what());
    }
    return std::string("was accepted");
  };
  config.batch = 64;
  EXPECT_EQ(message().find("resnet50 needs "), 0U) << message();
  EXPECT_NE(message().find(" GiB: activations "), std::string::npos) << message();
  EXPECT_NE(message().find("; 1.00 of 1.00 GiB are free"), std::string::npos) << message();
  config.batch = 1;
  machine.accelerator.hbm.capacity = 700_MiB;
  EXPECT_NE(message().find(" GiB: factors 0.5"), std::string::npos) << message();
  // Without factors it fits.
  config.algorithm = "sgd";
  EXPECT_EQ(message(), "was accepted");
}

// Counts of elements that would not fit 64 bits.
TEST(KfacErrors, WhatFitsNoMemoryAtAllIsNamedToo) {
  const models::Network network{
      "wide", 1 << 20, {{"a", models::LayerKind::kLinear, 16384, 16384, 1, 1, 1, 0, 0, 16384, 16384, false}}};
  const MachineConfig config = kfac_machine(2);
  for (const bool compressed : {false, true}) {
    fresh_kernel();
    Machine machine(config);
    KfacConfig how;
    how.algorithm = "sgd";
    if (compressed) how.activations.method = schedules::ActivationCompression::kJpegAct;
    try {
      const Kfac kfac(machine.ranks(), network, how, config.collectives, config.accelerator.array.compute);
      FAIL() << "was accepted";
    } catch (const std::length_error& error) {
      EXPECT_EQ(std::string(error.what()).find("wide needs 1e+09 or more GiB: activations 1e+09 or more, "), 0U)
          << error.what();
    }
  }
}

TEST(KfacErrors, AnAlgorithmOfCollectivesWithoutBroadcastIsRefused) {
  MachineConfig machine = kfac_machine(8, 4);
  KfacConfig config = kfac_workload("spd");
  const auto message = [&] {
    try {
      run_kfac(machine, config);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("was accepted");
  };
  config.broadcasts = "hierarchical";
  EXPECT_EQ(message(),
            "workload.broadcasts: expected one that has a Broadcast here, for inverses, such as ring or nccl, got "
            "hierarchical");
  config.broadcasts = "platform";
  machine.collectives.algorithm = "hierarchical";
  EXPECT_EQ(message(),
            "collectives.algorithm: expected one that has a Broadcast here, for inverses, such as ring or nccl, got "
            "hierarchical; or one only for inverses in workload.broadcasts");
}

// ---- With data on

struct Compared {
  std::int64_t compared;
  std::int64_t wrong;
};

/// `spoils`: an element of the last layer's gradient of rank 1 is another than what was written.
Compared compare(KfacConfig config, int ranks, bool spoils = false) {
  const models::Network network{"three",
                                4,
                                {{"a", models::LayerKind::kLinear, 24, 16, 1, 1, 1, 0, 0, 1, 1, true},
                                 {"n", models::LayerKind::kNorm, 16, 16, 1, 1, 1, 0, 0, 1, 1, true},
                                 {"b", models::LayerKind::kLinear, 16, 8}}};
  fresh_kernel();
  MachineConfig machine_config = kfac_machine(ranks);
  machine_config.data = true;
  Machine machine(machine_config);
  Kfac kfac(machine.ranks(), network, config, machine_config.collectives, machine_config.accelerator.array.compute);
  schedules::KfacCheck check(kfac, machine.ranks());
  kfac.set_arithmetic(
      [&, writes = check.arithmetic()](firmware::Rank& rank, int member, const schedules::KfacStage& stage) {
        writes(rank, member, stage);
        if (!spoils || member != 1 || stage.work != schedules::KfacWork::kBackward || stage.item != 2) return;
        const float other = -1;
        rank.store->write(kfac.layout().gradients[2], reinterpret_cast<const std::byte*>(&other), sizeof other);
      });
  kfac.start();
  machine.run();
  return {check.compared(), check.wrong()};
}

TEST(KfacData, WhatIsSentIsWhatIsReadForEveryAlgorithm) {
  for (const auto& [name, algorithm] : enum_names(ScheduleName())) {
    for (const int ranks : {1, 3, 4}) {
      KfacConfig config = kfac_workload(algorithm);
      // All that is ever sent.
      config.steps = std::max(3, static_cast<int>(schedules::trainer_of(config)->period()));
      if (config.second_order()) config.inverse_interval = 2;
      const Compared result = compare(config, ranks);
      EXPECT_EQ(result.wrong, 0) << name << " on " << ranks;
      EXPECT_GE(result.compared, config.schedule().own_weights && ranks == 1 ? 0 : ranks * (25 * 16 + 2 * 16 + 16 * 8))
          << name;
    }
  }
}

/// Of 4 ranks one, two or all have a layer's inverses: what others have there is not asked for.
TEST(KfacData, WorkersHaveInversesAndAllHaveTheirGradients) {
  for (const double fraction : {0.25, 0.5, 1.0}) {
    for (const kfac::Inversion inverse : {kfac::Inversion::kCholesky, kfac::Inversion::kEigen}) {
      for (const schedules::FactorType type : {schedules::FactorType::kFp32, schedules::FactorType::kBf16}) {
        KfacConfig config = kfac_workload("kaisa");
        config.steps = 3;
        config.inverse_interval = 2;
        config.inverse = inverse;
        config.factor_type = type;
        config.own.of<schedules::KaisaConfig>().gradient_worker_fraction = fraction;
        const Compared result = compare(config, 4);
        EXPECT_EQ(result.wrong, 0) << fraction;
        EXPECT_GT(result.compared, 0);
      }
    }
  }
}

TEST(KfacData, WhatIsSpoiltIsCountedOnEveryRankInEveryStep) {
  KfacConfig config = kfac_workload("mpd");
  config.steps = 2;
  EXPECT_EQ(compare(config, 4, true).wrong, 4 * 2);
  config.compression.method = "top-k";
  try {
    compare(config, 2);
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()),
              "workload.compression.method: expected none with --data, or workload.training.on=true, which it needs to "
              "compress, since a sum of compressed gradients leaves out what stays behind and cannot be compared, got "
              "top-k");
  }
}

}  // namespace
}  // namespace weft
