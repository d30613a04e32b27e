// SPDX-License-Identifier: Apache-2.0
// Small networks trained by every schedule on simulated ranks, with real contents: the same weights as one process
// computes, bit for bit in the same order of summation, and near to double precision.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <limits>

#include "sw/schedules/kfac/methods/kaisa.h"
#include "tests/support/kfac_training.h"
#include "tests/support/reports.h"

namespace weft {
namespace {

using models::LayerKind;
using models::Network;
using platforms::Machine;
using platforms::MachineConfig;
using schedules::DampingForm;
using schedules::FactorFusion;
using schedules::InversePlacement;
using schedules::Kfac;
using schedules::KfacConfig;
using schedules::KfacSwitch;
using schedules::KfacTraining;
using schedules::KfacTrainingConfig;
using schedules::ScheduleName;
using test::reference_of;
using test::ReferenceConfig;
using test::ReferenceTraining;
using test::small_convolutions;
using test::small_mlp;
using test::train;
using test::Trained;
using test::training_machine;
using test::TrainingData;

struct TrainingCase {
  const char* name;
  ScheduleName algorithm;
  bool convolutions;
  int ranks;
  int per_node;
  FactorFusion fusion = FactorFusion::kAlgorithm;
  InversePlacement placement = InversePlacement::kAlgorithm;
  KfacSwitch pipelining = KfacSwitch::kAlgorithm;
  int factor_interval = 1;
  int inverse_interval = 1;
  bool overlap = false;
  double kl_clip = 0;
  Time negotiation{};  ///< with any, messages are so dear that factors are merged
  kfac::Packing packing = kfac::Packing::kSquares;
  DampingForm damping = DampingForm::kAlgorithm;
  bool damping_stays = false;
  double workers = 1;  ///< gradient workers of kaisa, as a share of the ranks
  kfac::Inversion inverse = kfac::Inversion::kCholesky;
};

std::ostream& operator<<(std::ostream& out, const TrainingCase& tested) {
  return out << tested.name;
}

class KfacTrainingRuns : public testing::TestWithParam<TrainingCase> {};

TEST_P(KfacTrainingRuns, LeaveTheWeightsOfOneProcessBitForBit) {
  const TrainingCase& c = GetParam();
  const Network network = c.convolutions ? small_convolutions() : small_mlp();
  const TrainingData data(network, c.ranks);
  KfacConfig config;
  config.algorithm = c.algorithm;
  config.fusion = c.fusion;
  config.placement = c.placement;
  config.pipelining = c.pipelining;
  config.factor_interval = c.factor_interval;
  config.inverse_interval = c.inverse_interval;
  config.overlap_inverses = c.overlap;
  config.metrics = c.overlap ? 2 : 0;
  config.kl_clip = c.kl_clip;
  config.negotiation = c.negotiation;
  config.packing = c.packing;
  config.own.of<schedules::KaisaConfig>().gradient_worker_fraction = c.workers;
  config.inverse = c.inverse;
  config.fusion_threshold = Bytes(800);  // several messages
  config.steps = 5;
  KfacTrainingConfig how;
  how.rate = 0.02;
  how.damping_form = c.damping;
  how.damping_stays = c.damping_stays;
  const Trained trained = train(training_machine(c.ranks, c.per_node), network, config, how, data);

  if (c.negotiation > Time()) {
    EXPECT_LT(trained.factor_messages.size(), 2 * network.layers.size());
  }

  ReferenceConfig reference_config = reference_of(config, how);
  reference_config.owners = trained.owners;
  ReferenceTraining<float> reference(network, data, reference_config);
  std::vector<double> losses;
  int clipped = 0;
  for (int step = 0; step < config.steps; ++step) {
    if (c.ranks > 1) {
      reference.step(trained.gradient_messages, trained.factor_messages);
    } else {
      reference.step();
    }
    losses.push_back(reference.loss());
    if (reference.scale() < 1) ++clipped;
  }
  EXPECT_EQ(clipped > 0, c.kl_clip > 0);
  for (int r = 0; r < c.ranks; ++r) {
    EXPECT_EQ(trained.weights[static_cast<std::size_t>(r)], reference.weights()) << "rank " << r;
  }
  ASSERT_EQ(trained.losses.size(), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(trained.losses[i], losses[i], 1e-12 * losses[i]);
  EXPECT_LT(trained.losses.back(), trained.losses.front());
  EXPECT_NE(reference.weights().front(), data.weights.front());
}

constexpr auto kNone = FactorFusion::kNone;
constexpr auto kByAlgorithm = FactorFusion::kAlgorithm;
constexpr auto kPlaced = InversePlacement::kAlgorithm;
constexpr auto kSwitched = KfacSwitch::kAlgorithm;
constexpr double kClip = 1e-5;
constexpr Time kNegotiation(100'000'000);

TrainingCase kaisa(const char* name, bool convolutions, int ranks, double workers,
                   kfac::Inversion inverse = kfac::Inversion::kCholesky) {
  TrainingCase result{name, "kaisa", convolutions, ranks, 1};
  result.workers = workers;
  result.inverse = inverse;
  result.packing = convolutions ? kfac::Packing::kFused : kfac::Packing::kSquares;
  result.overlap = workers == 0.5;
  result.kl_clip = workers == 0.5 ? kClip : 0;
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    All, KfacTrainingRuns,
    testing::Values(
        TrainingCase{"sgd", "sgd", false, 4, 1}, TrainingCase{"sgd_conv", "sgd", true, 3, 1},
        TrainingCase{"dear", "dear", false, 4, 1}, TrainingCase{"dear_conv", "dear", true, 8, 2},
        TrainingCase{"dear_two", "dear", false, 2, 1}, TrainingCase{"dear_alone", "dear", true, 1, 1},
        TrainingCase{"d", "d", false, 4, 2}, TrainingCase{"d_conv", "d", true, 2, 1},
        TrainingCase{"mpd", "mpd", false, 8, 4}, TrainingCase{"mpd_conv", "mpd", true, 3, 1},
        TrainingCase{"spd", "spd", false, 4, 1}, TrainingCase{"spd_conv", "spd", true, 8, 2},
        TrainingCase{"spd_in_turn", "spd", true, 5, 1, FactorFusion::kOptimal, InversePlacement::kInTurn},
        TrainingCase{"spd_alone", "spd", true, 1, 1}, TrainingCase{"sgd_alone", "sgd", false, 1, 1},
        TrainingCase{"d_pipelined", "d", true, 4, 1, kNone, kPlaced, KfacSwitch::kOn},
        TrainingCase{"mpd_overlapped", "mpd", false, 4, 1, FactorFusion::kAll, kPlaced, KfacSwitch::kOn, 1, 1, true},
        TrainingCase{"spd_intervals", "spd", false, 4, 1, kByAlgorithm, InversePlacement::kInTurn, kSwitched, 2, 4},
        TrainingCase{"spd_merged", "spd", false, 6, 1, FactorFusion::kDynamic, kPlaced, kSwitched, 1, 1, false, 0,
                     kNegotiation},
        TrainingCase{"spd_merged_conv", "spd", true, 7, 1, FactorFusion::kOptimal, kPlaced, kSwitched, 1, 1, true,
                     kClip, kNegotiation},
        TrainingCase{"dp", "dp", false, 4, 1}, TrainingCase{"dp_conv", "dp", true, 2, 1},
        TrainingCase{"dp_alone", "dp", false, 1, 1},
        TrainingCase{"d_clipped", "d", false, 4, 2, kByAlgorithm, kPlaced, kSwitched, 1, 1, false, kClip},
        TrainingCase{"spd_clipped", "spd", true, 3, 1, kByAlgorithm, kPlaced, kSwitched, 1, 1, false, kClip},
        TrainingCase{"dp_clipped", "dp", true, 4, 1, kByAlgorithm, kPlaced, kSwitched, 1, 1, false, kClip},
        TrainingCase{"mpd_clipped_alone", "mpd", false, 1, 1, kByAlgorithm, kPlaced, kSwitched, 1, 2, false, kClip},
        TrainingCase{"dp_intervals", "dp", true, 8, 4, kByAlgorithm, kPlaced, kSwitched, 1, 2, true},
        TrainingCase{"mpd_indices", "mpd", true, 3, 1, kByAlgorithm, kPlaced, kSwitched, 1, 1, false, 0, Time(),
                     kfac::Packing::kIndices, DampingForm::kPlain, true},
        TrainingCase{"spd_fused_merged", "spd", false, 6, 1, FactorFusion::kDynamic, kPlaced, kSwitched, 1, 1, false, 0,
                     kNegotiation, kfac::Packing::kFused},
        TrainingCase{"mpd_factored", "mpd", true, 4, 1, kByAlgorithm, kPlaced, kSwitched, 1, 1, false, 0, Time(),
                     kfac::Packing::kSquares, DampingForm::kFactored, true},
        TrainingCase{"d_factored_intervals", "d", false, 4, 1, kByAlgorithm, kPlaced, kSwitched, 2, 1, false, 0, Time(),
                     kfac::Packing::kFused, DampingForm::kFactored, true},
        TrainingCase{"dp_plain", "dp", false, 4, 1, kByAlgorithm, kPlaced, kSwitched, 2, 1, false, 0, Time(),
                     kfac::Packing::kSquares, DampingForm::kPlain, true},
        kaisa("kaisa_of_one", false, 4, 0.25), kaisa("kaisa_of_half", true, 4, 0.5), kaisa("kaisa_of_all", false, 4, 1),
        kaisa("kaisa_of_two_of_eight", false, 8, 0.25), kaisa("kaisa_of_a_third", true, 6, 1.0 / 3),
        kaisa("kaisa_alone", false, 1, 1), kaisa("kaisa_eigen", false, 4, 0.5, kfac::Inversion::kEigen),
        kaisa("kaisa_eigen_conv", true, 6, 0.5, kfac::Inversion::kEigen),
        kaisa("kaisa_eigen_of_one", true, 4, 0.25, kfac::Inversion::kEigen),
        TrainingCase{"dp_eigen", "dp", false, 3, 1, kByAlgorithm, kPlaced, kSwitched, 1, 2, false, 0, Time(),
                     kfac::Packing::kSquares, DampingForm::kAlgorithm, false, 1, kfac::Inversion::kEigen},
        TrainingCase{"mpd_eigen", "mpd", true, 3, 1, kByAlgorithm, kPlaced, kSwitched, 1, 1, true, kClip, Time(),
                     kfac::Packing::kFused, DampingForm::kAlgorithm, false, 1, kfac::Inversion::kEigen},
        TrainingCase{"spd_eigen", "spd", false, 4, 1, kByAlgorithm, kPlaced, kSwitched, 1, 1, false, 0, Time(),
                     kfac::Packing::kSquares, DampingForm::kAlgorithm, false, 1, kfac::Inversion::kEigen}),
    [](const auto& tested) { return std::string(tested.param.name); });

// A step against one process in double precision that sees all samples as one batch, which no rank does.
//
// Bound: a weight differs after the first step by rate x |dP|, P being the preconditioned gradient. With unit roundoff
// u = 2^-24, sums of n terms by |dS| <= n u sum|s| (Higham 2002, 3.5), n <= 250 here with all passes, and an inverse by
// c n u kappa(A) |A^-1| (Higham, 14.3), c taken as 10: |dP| <= 10 n u (kappa(A) + kappa(G) + 1) |A^-1| |grad| |G^-1|.
struct StepCase {
  const char* name;
  int ranks;
  int per_node;
  schedules::KfacCollectives all_reduces = "platform";
  schedules::KfacCollectives broadcasts = "platform";
};

std::ostream& operator<<(std::ostream& out, const StepCase& tested) {
  return out << tested.name;
}

class KfacTrainingBound : public testing::TestWithParam<StepCase> {};

TEST_P(KfacTrainingBound, AStepIsThatOfDoublePrecision) {
  const StepCase& c = GetParam();
  MachineConfig machine = training_machine(c.ranks, c.per_node);
  machine.fabric.switch_config.reduction.trees = 16;
  machine.scale_up.fabric.switch_config.reduction.trees = 16;
  for (const bool convolutions : {false, true}) {
    const Network network = convolutions ? small_convolutions() : small_mlp();
    const TrainingData data(network, c.ranks);
    KfacConfig config;
    config.all_reduces = c.all_reduces;
    config.broadcasts = c.broadcasts;
    config.placement = InversePlacement::kInTurn;  // every inverse is broadcast
    KfacTrainingConfig how;
    how.damping = 0.003;
    how.rate = 1;
    how.momentum = 0;
    const Trained trained = train(machine, network, config, how, data);
    for (const auto& weights : trained.weights) EXPECT_EQ(weights, trained.weights.front());

    Network whole = network;
    whole.batch *= c.ranks;
    TrainingData together = data;
    together.inputs.assign(1, {});
    together.targets.assign(1, {});
    for (int r = 0; r < c.ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      together.inputs[0].insert(together.inputs[0].end(), data.inputs[i].begin(), data.inputs[i].end());
      together.targets[0].insert(together.targets[0].end(), data.targets[i].begin(), data.targets[i].end());
    }
    ReferenceTraining<double> kfac_reference(whole, together, reference_of(config, how));
    kfac_reference.step();
    ReferenceConfig plain = reference_of(config, how);
    plain.second_order = false;
    ReferenceTraining<double> sgd_reference(whole, together, plain);
    sgd_reference.step();
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      const auto smallest_and_largest = [&](std::size_t f) {
        const std::int64_t side = kfac::factor_sides(network)[f];
        const Eigen::MatrixXd factor =
            Eigen::Map<const Eigen::MatrixXd>(kfac_reference.factors()[f].data(), side, side);
        const Eigen::VectorXd values = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(factor).eigenvalues();
        return std::pair(values.minCoeff() + how.damping, values.maxCoeff() + how.damping);
      };
      const auto [a_low, a_high] = smallest_and_largest(2 * l);
      const auto [g_low, g_high] = smallest_and_largest(2 * l + 1);
      double gradient = 0;
      double difference = 0;
      double moved = 0;
      for (std::size_t i = 0; i < data.weights[l].size(); ++i) {
        gradient += std::pow(sgd_reference.weights()[l][i] - static_cast<double>(data.weights[l][i]), 2);
        difference += std::pow(static_cast<double>(trained.weights[0][l][i]) - kfac_reference.weights()[l][i], 2);
        moved += std::pow(kfac_reference.weights()[l][i] - static_cast<double>(data.weights[l][i]), 2);
      }
      const double bound =
          10 * 250 * 0x1p-24 * (a_high / a_low + g_high / g_low + 1) * std::sqrt(gradient) / (a_low * g_low);
      EXPECT_LT(std::sqrt(difference), bound) << network.layers[l].name;
      EXPECT_LT(std::sqrt(difference), 1e-4 * std::sqrt(moved)) << network.layers[l].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(By, KfacTrainingBound,
                         testing::Values(StepCase{"ring", 4, 1}, StepCase{"ring_of_seven", 7, 1},
                                         StepCase{"nccl", 8, 4, "nccl", "nccl"},
                                         StepCase{"hierarchical", 8, 4, "hierarchical", "ring"},
                                         StepCase{"in_network", 8, 1, "in-network", "in-network"},
                                         StepCase{"in_network_of_nodes", 8, 2, "in-network", "in-network"},
                                         StepCase{"multicast", 6, 1, "ring", "multicast"}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Factors that are sent in bf16: each rank's are rounded once, and a ring of p ranks rounds p - 1 partial sums, each to
// within u = 2^-9 of what it is (Higham 2002, 2.2). Factors are semidefinite, so that neither the sum of any element's
// absolute values over ranks nor a partial sum is above the largest diagonal element of the sum. A sum is then off by
// p u times this at most, and a mean by u times this, terms of u^2 apart.
TEST(KfacTrainingHalves, MeansOfFactorsAreRoundedByNoMoreThanTheirSums) {
  for (const kfac::Packing packing : {kfac::Packing::kSquares, kfac::Packing::kFused}) {
    constexpr int kRanks = 4;
    const Network network = small_mlp();
    const TrainingData data(network, kRanks);
    KfacConfig config;
    config.algorithm = "mpd";
    config.packing = packing;
    config.steps = 1;
    const auto factors_of = [&](schedules::FactorType type) {
      config.factor_type = type;
      std::vector<std::vector<test::Reals<float>>> by_rank;
      (void)train(training_machine(kRanks, 1), network, config, KfacTrainingConfig(), data,
                  [&](const Kfac& kfac, const auto& ranks) {
                    for (const firmware::Rank* rank : ranks) {
                      auto& own = by_rank.emplace_back();
                      for (std::size_t f = 0; f < kfac.plan().sides().size(); ++f) {
                        const std::int64_t side = kfac.plan().sides()[f];
                        own.push_back(firmware::load_from(*rank, kfac.layout().factors[f], side * side));
                      }
                    }
                  });
      return by_rank;
    };
    const auto whole = factors_of(schedules::FactorType::kFp32);
    const auto halves = factors_of(schedules::FactorType::kBf16);
    EXPECT_EQ(halves[0], halves[1]) << "all ranks have the same sums";
    bool differs = false;
    for (std::size_t f = 0; f < whole[0].size(); ++f) {
      float largest = 0;
      for (const float value : whole[0][f]) largest = std::max(largest, kRanks * std::abs(value));
      for (std::size_t i = 0; i < whole[0][f].size(); ++i) {
        EXPECT_LE(std::abs(halves[0][f][i] - whole[0][f][i]), 1.01F * 0x1p-9F * largest) << f << " " << i;
        differs = differs || halves[0][f][i] != whole[0][f][i];
      }
    }
    EXPECT_TRUE(differs);
  }
}

// Both with the best of the same rates, sought in one process.
TEST(KfacTrainingLoss, FallsFasterPerStepThanThatOfTheBestSgd) {
  for (const bool convolutions : {false, true}) {
    const Network network = convolutions ? small_convolutions() : small_mlp();
    constexpr int kRanks = 4;
    const TrainingData data(network, kRanks);
    KfacConfig config;
    config.steps = 30;
    KfacTrainingConfig how;
    how.damping = 0.003;
    const auto best_of = [&](bool second_order) {
      std::pair<double, double> best(std::numeric_limits<double>::infinity(), 0);
      for (double rate = 1e-3; rate < 2; rate *= 1.5) {
        ReferenceConfig tried = reference_of(config, how);
        tried.second_order = second_order;
        tried.rate = rate;
        ReferenceTraining<double> reference(network, data, tried);
        for (int step = 0; step < config.steps; ++step) reference.step();
        if (std::isfinite(reference.loss())) best = std::min(best, {reference.loss(), rate});
      }
      return best;
    };
    how.rate = best_of(true).second;
    const std::vector<double> losses = train(training_machine(kRanks, 1), network, config, how, data).losses;
    const double sgd = best_of(false).first;
    std::printf("%s: loss from %.4f to %.4f in %d steps, with SGD %.4f\n", network.name.c_str(), losses.front(),
                losses.back(), config.steps, sgd);
    EXPECT_LT(losses.back(), sgd) << network.name;
  }
}

// ---- What cannot be trained

TEST(KfacTrainingErrors, AnInputThatIsAlwaysZeroNeedsDamping) {
  const Network network = small_mlp();
  TrainingData data(network, 2);
  for (auto& input : data.inputs) {
    for (std::size_t i = 0; i < input.size(); i += 6) input[i] = 0;
  }
  KfacConfig config;
  KfacTrainingConfig how;
  how.decay = 0;  // nothing of the identity is left
  EXPECT_NO_THROW(train(training_machine(2, 1), network, config, how, data));
  how.damping = 0;
  const test::ExpectReports reports;  // SystemC's own of what comes out of run()
  try {
    train(training_machine(2, 1), network, config, how, data);
    FAIL() << "was accepted";
  } catch (const std::domain_error& error) {
    EXPECT_NE(std::string(error.what()).find("factor in.A of rank "), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("positive definite"), std::string::npos) << error.what();
  }
}

TEST(KfacTrainingErrors, AnInputThatIsNotFiniteShowsInTheFirstLoss) {
  const Network network = small_mlp();
  TrainingData data(network, 2);
  data.inputs[1][3] = std::numeric_limits<float>::infinity();
  const test::ExpectReports reports;
  try {
    train(training_machine(2, 1), network, KfacConfig(), KfacTrainingConfig(), data);
    FAIL() << "was accepted";
  } catch (const std::domain_error& error) {
    EXPECT_EQ(std::string(error.what()).find("loss before step 1: expected a finite number, got "), 0U) << error.what();
  }
}

TEST(KfacTrainingErrors, ALossThatGrowsBeyondItsBoundEndsTheRunAtThatStep) {
  const Network network = small_mlp();
  const TrainingData data(network, 2);
  KfacConfig config;
  config.algorithm = "sgd";
  config.steps = 50;
  KfacTrainingConfig how;
  how.rate = 5;
  how.most_growth = 3;
  ReferenceTraining<float> reference(network, data, reference_of(config, how));
  reference.step();
  const double first = reference.loss();
  int step = 1;
  while (reference.loss() <= 3 * first) {
    reference.step();
    ASSERT_LT(++step, config.steps);
  }
  const test::ExpectReports reports;
  try {
    train(training_machine(2, 1), network, config, how, data);
    FAIL() << "was accepted";
  } catch (const std::domain_error& error) {
    EXPECT_EQ(std::string(error.what()).find("loss before step " + std::to_string(step) + ": expected at most "), 0U)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("which is workload.training.most_growth, 3, times the "),
              std::string::npos)
        << error.what();
  }
}

TEST(KfacTrainingErrors, DampingThatRanksWouldFactorDifferentlyIsRefused) {
  const Network network = small_mlp();
  const TrainingData data(network, 2);
  KfacConfig config;
  config.factor_interval = 2;
  KfacTrainingConfig how;
  how.damping_form = DampingForm::kFactored;
  how.damping_stays = true;
  try {
    train(training_machine(2, 1), network, config, how, data);
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "workload.training.damping_stays");
  }
}

TEST(KfacTrainingErrors, NetworksWithoutArithmeticAreRefused) {
  const auto message = [](const Network& network) {
    test::fresh_kernel();
    const MachineConfig config = training_machine(2, 1);
    Machine machine(config);
    const Kfac kfac(machine.ranks(), network, KfacConfig(), config.collectives, config.accelerator.array.compute);
    try {
      const KfacTraining training(kfac, machine.ranks());
    } catch (const ConfigError& error) {
      return error.path() + ": " + error.expected();
    }
    return std::string("was accepted");
  };
  Network network = small_mlp();
  network.layers.insert(network.layers.begin() + 1, {"norm", LayerKind::kNorm, 12, 12, 1, 1, 1, 0, 0, 1, 1, true});
  EXPECT_EQ(message(network),
            "workload.network: norm: expected a convolution or a linear layer where workload.training is on");
  network = small_mlp();
  network.layers.erase(network.layers.begin() + 1);
  EXPECT_EQ(message(network), "workload.network: out: expected the 12 values that in gives");
  network = small_mlp();
  network.layers[1].before.push_back({models::MoveKind::kConcat, 12, 12});
  EXPECT_EQ(message(network),
            "workload.network: middle: expected no pool, concat or branches before it where workload.training is on");
}

}  // namespace
}  // namespace weft
