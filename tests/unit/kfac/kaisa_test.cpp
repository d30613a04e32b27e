// SPDX-License-Identifier: Apache-2.0
// KAISA, eigenvectors in the place of inverses, and factors in bf16, as lists of what is computed and sent and on
// single matrices.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "sw/kfac/arithmetic.h"
#include "sw/schedules/kfac/kfac_plan.h"
#include "sw/schedules/kfac/methods/kaisa.h"

namespace weft::schedules {
namespace {

using models::LayerKind;

/// Sides of factors 28 and 8, 289 and 10, 8 and 4, and 5 and 2.
models::Network four_layers() {
  return {"four",
          2,
          {{"a", LayerKind::kConv, 3, 8, 3, 3, 1, 1, 1, 6, 6, true},
           {"b", LayerKind::kLinear, 288, 10, 1, 1, 1, 0, 0, 1, 1, true},
           {"c", LayerKind::kLinear, 8, 4, 1, 1, 1, 0, 0, 1, 1, false},
           {"d", LayerKind::kLinear, 4, 2, 1, 1, 1, 0, 0, 1, 1, true}}};
}

struct KaisaPlan {
  std::vector<firmware::Rank> ranks;
  KfacConfig config;
  std::unique_ptr<KfacLayout> layout;
  std::unique_ptr<KfacPlan> plan;
  KfacStep step;

  KaisaPlan(KfacConfig how, double fraction, int count)
      : ranks(static_cast<std::size_t>(count)), config(std::move(how)) {
    config.algorithm = "kaisa";
    config.own.of<KaisaConfig>().gradient_worker_fraction = fraction;
    std::vector<firmware::Rank*> all;
    for (firmware::Rank& rank : ranks) {
      rank.memory = firmware::MemoryMap(Bytes(1 << 26));
      all.push_back(&rank);
    }
    layout = std::make_unique<KfacLayout>(all, four_layers(), config);
    plan = std::make_unique<KfacPlan>(four_layers(), config, accelerator::ComputeConfig(), count, *layout);
    step = plan->step(plan->unmeasured(), {true, true});
  }

  /// Bytes that leave all roots of Broadcasts and are taken by another rank: of inverses, and of gradients.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> taken() const {
    std::uint64_t inverses = 0;
    std::uint64_t gradients = 0;
    for (const KfacMessage& message : step.messages) {
      if (message.traffic != KfacTraffic::kInverses) continue;
      std::uint64_t takers = 0;
      if (message.within == kAllRanks) {
        takers = ranks.size() - 1;
      } else {
        for (const std::vector<int>& group : plan->subgroups()[static_cast<std::size_t>(message.within)]) {
          takers += group.size() - 1;
        }
      }
      (message.name.starts_with("inverse") ? inverses : gradients) += takers * message.bytes;
    }
    return {inverses, gradients};
  }
  [[nodiscard]] const KfacStage& stage(KfacWork work, int item) const {
    return *std::find_if(step.stages.begin(), step.stages.end(),
                         [&](const KfacStage& each) { return each.work == work && each.item == item; });
  }
};

constexpr std::uint64_t kInverses = 4 * (28 * 28 + 8 * 8 + 289 * 289 + 10 * 10 + 8 * 8 + 4 * 4 + 5 * 5 + 2 * 2);
constexpr std::uint64_t kGradients = 4 * (28 * 8 + 289 * 10 + 8 * 4 + 5 * 2);

// By hand, of 4 ranks: an inverse is taken by all workers of its layer but its owner, f p - 1; a preconditioned
// gradient by all ranks that are no workers, p - f p.
TEST(Kaisa, SendsInversesToWorkersAndGradientsToAllOthers) {
  EXPECT_EQ(KaisaPlan({}, 0.25, 4).taken(), std::pair(std::uint64_t{0}, 3 * kGradients));
  EXPECT_EQ(KaisaPlan({}, 0.5, 4).taken(), std::pair(kInverses, 2 * kGradients));
  EXPECT_EQ(KaisaPlan({}, 1, 4).taken(), std::pair(3 * kInverses, std::uint64_t{0}));
  EXPECT_EQ(KaisaPlan({}, 1.0 / 3, 6).taken(), std::pair(kInverses, 4 * kGradients));
  EXPECT_EQ(KaisaPlan({}, 0.01, 4).taken(), KaisaPlan({}, 0.25, 4).taken()) << "one worker is the least";
  EXPECT_EQ(KaisaPlan({}, 0.5, 1).taken(), std::pair(std::uint64_t{0}, std::uint64_t{0}));
}

// Of the example in kfac/assignment.py: 8 ranks and 2 workers are columns 0 4, 1 5, 2 6, 3 7. The largest layer goes to
// the first column, each next one to the column with the least to do.
TEST(Kaisa, RanksAreAGridOfWorkersAndOfThoseTheySendTo) {
  const KaisaPlan eight({}, 0.25, 8);
  ASSERT_EQ(eight.plan->subgroups().size(), 5U);
  EXPECT_EQ(eight.plan->subgroups()[2], (Subgroups{{2, 6}}));
  EXPECT_EQ(eight.plan->subgroups()[4], (Subgroups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(eight.plan->unmeasured().placement.owner, (std::vector<int>{1, 1, 0, 0, 2, 2, 3, 3}));
  // Two columns of two ranks: b alone fills the first, so that a, c and d share the second.
  const KaisaPlan four({}, 0.5, 4);
  EXPECT_EQ(four.plan->unmeasured().placement.owner, (std::vector<int>{1, 1, 0, 0, 3, 3, 3, 3}));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(four.stage(KfacWork::kInvert, 4).doers.has(rank), rank == 3);
    EXPECT_EQ(four.stage(KfacWork::kUnpackInverse, 4).doers.has(rank), rank % 2 == 1);
    EXPECT_EQ(four.stage(KfacWork::kPrecondition, 2).doers.has(rank), rank % 2 == 1);
  }
  for (const KfacMessage& message : four.step.messages) {
    if (message.name.starts_with("inverse of c.A")) {
      EXPECT_EQ(message.root, 1) << "of ranks 1 and 3";
    }
    if (message.name.starts_with("preconditioned gradient of c")) {
      EXPECT_EQ(message.root, 1) << "of 0, 1 and of 2, 3";
    }
  }
}

// Inverses of a column lie where those of another do: the largest column's, b's with half of the ranks.
TEST(Kaisa, OnlyWorkersHaveInverses) {
  const auto used = [](double fraction) { return KaisaPlan({}, fraction, 4).ranks.front().memory.used(); };
  const auto aligned = [](std::uint64_t bytes) { return (bytes + 255) / 256 * 256; };
  EXPECT_EQ(used(1) - used(0.5), aligned(kInverses) - aligned(4 * (289 * 289 + 10 * 10)));
  EXPECT_EQ(used(0.5), used(0.25));
  const KaisaPlan four({}, 0.5, 4);
  EXPECT_EQ(four.layout->inverses[0], four.layout->inverses[2]) << "a's and b's, of two columns";
  EXPECT_EQ(four.layout->inverses[4], four.layout->inverses[1] + 4 * 8 * 8) << "c's behind a's";
}

TEST(Kaisa, RefusesFractionsWithoutAGrid) {
  const auto refusal = [](double fraction, int ranks) -> std::string {
    try {
      const KaisaPlan plan({}, fraction, ranks);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(refusal(0.5, 3),
            "workload.kaisa.gradient_worker_fraction: expected one by which a layer has a number of gradient workers "
            "that divides the 3 ranks, got 0.5");
  EXPECT_EQ(refusal(0.75, 4),
            "workload.kaisa.gradient_worker_fraction: expected one by which a layer has a number of gradient workers "
            "that divides the 4 ranks, got 0.75");
  KfacConfig config;
  config.algorithm = "kaisa";
  config.own.of<KaisaConfig>().gradient_worker_fraction = 0;
  EXPECT_THROW((void)checked(config), ConfigError);
  config.own.of<KaisaConfig>().gradient_worker_fraction = 1;
  config.placement = InversePlacement::kBalanced;
  EXPECT_THROW((void)checked(config), ConfigError);
}

// ---- Eigenvectors

TEST(KfacEigen, EigenvaluesLieBehindVectorsAndBothAreSent) {
  KfacConfig config;
  config.inverse = kfac::Inversion::kEigen;
  config.packing = kfac::Packing::kFused;
  const KaisaPlan plan(config, 1, 4);
  EXPECT_EQ(plan.taken().first, 3 * (kInverses + 4 * (28 + 8 + 289 + 10 + 8 + 4 + 5 + 2)));
  EXPECT_EQ(plan.layout->sent_inverses, plan.layout->inverses) << "no triangle is all of them";
  EXPECT_EQ(plan.layout->inverses[1], plan.layout->inverses[0] + 4 * (28 * 28 + 28));
  EXPECT_TRUE(plan.stage(KfacWork::kPackInverse, 0).kernels.empty());
  EXPECT_EQ(std::string(plan.stage(KfacWork::kInvert, 0).kernels[0].label), "eigen a.A");
  double products = 0;
  for (const PlannedKernel& kernel : plan.stage(KfacWork::kPrecondition, 1).kernels) {
    if (std::string(kernel.label).starts_with("precondition.g") ||
        std::string(kernel.label).starts_with("precondition.a"))
      products += kernel.work.flops;
  }
  EXPECT_EQ(products, 2.0 * 2 * (10.0 * 10 * 289 + 10.0 * 289 * 289)) << "into the bases and back";
}

/// Symmetric, of rank `rank`.
Eigen::MatrixXd semidefinite(std::int64_t side, std::int64_t rank) {
  const Eigen::MatrixXd half = Eigen::MatrixXd::Random(side, rank);
  return half * half.transpose() / static_cast<double>(rank);
}

// The reference is the whole damped Kronecker product, solved at once. Eigenvectors of either precision p: errors of
// about 10 n u (condition) of the solution, and the condition is (|G| |A| + damping) / damping.
template <typename Real>
void expect_solved(double bound) {
  std::srand(1);
  const models::Layer layer{"l", LayerKind::kLinear, 6, 5, 1, 1, 1, 0, 0, 1, 1, true};
  constexpr std::int64_t kA = 7;
  constexpr std::int64_t kG = 5;
  constexpr double kDamping = 0.03;
  for (const std::int64_t rank : {3, 20}) {
    const Eigen::MatrixXd a = semidefinite(kA, rank);
    const Eigen::MatrixXd g = semidefinite(kG, rank);
    const Eigen::MatrixXd gradient = Eigen::MatrixXd::Random(kG, kA);
    Eigen::MatrixXd whole = kDamping * Eigen::MatrixXd::Identity(kA * kG, kA * kG);
    for (std::int64_t i = 0; i < kA * kG; ++i) {
      for (std::int64_t j = 0; j < kA * kG; ++j) whole(i, j) += g(i / kA, j / kA) * a(i % kA, j % kA);
    }
    const auto by_rows = [](const Eigen::MatrixXd& matrix) {
      std::vector<Real> values;
      for (std::int64_t row = 0; row < matrix.rows(); ++row) {
        for (std::int64_t col = 0; col < matrix.cols(); ++col) values.push_back(static_cast<Real>(matrix(row, col)));
      }
      return values;
    };
    const auto decomposed = [&](const Eigen::MatrixXd& matrix) {
      const std::vector<Real> factor = by_rows(matrix);
      std::vector<Real> all(factor.size() + static_cast<std::size_t>(matrix.rows()));
      kfac::decompose(matrix.rows(), std::span<const Real>(factor), std::span(all));
      return all;
    };
    std::vector<Real> values = by_rows(gradient);
    const std::vector<Real> of_a = decomposed(a);
    const std::vector<Real> of_g = decomposed(g);
    for (std::size_t i = kA * kA; i < of_a.size(); ++i) EXPECT_GE(of_a[i], 0) << "also where the rank is not full";
    kfac::precondition_by_eigen(layer, std::span<const Real>(of_a), std::span<const Real>(of_g),
                                static_cast<Real>(kDamping), std::span(values));
    Eigen::VectorXd flat(kA * kG);
    for (std::int64_t i = 0; i < kA * kG; ++i) flat(i) = gradient(i / kA, i % kA);
    const Eigen::VectorXd expected = whole.ldlt().solve(flat);
    double difference = 0;
    for (std::int64_t i = 0; i < kA * kG; ++i) {
      difference =
          std::max(difference, std::abs(static_cast<double>(values[static_cast<std::size_t>(i)]) - expected(i)));
    }
    EXPECT_LT(difference, bound * expected.norm()) << rank;
  }
}

TEST(KfacEigen, SolvesTheDampedKroneckerProduct) {
  expect_solved<double>(1e-12);
  expect_solved<float>(1e-3);
  std::vector<float> bad(4, std::nanf(""));
  std::vector<float> out(6);
  EXPECT_THROW(kfac::decompose(2, std::span<const float>(bad), std::span(out)), std::domain_error);
}

TEST(KfacEigen, IsDampedAsAWholeAndRefusesOtherDamping) {
  KfacConfig config;
  config.algorithm = "dp";
  EXPECT_TRUE(config.factored_damping());
  config.inverse = kfac::Inversion::kEigen;
  EXPECT_FALSE(config.factored_damping());
  config.training.damping_form = DampingForm::kFactored;
  EXPECT_THROW((void)checked(config), ConfigError);
  config.training.damping_form = DampingForm::kPlain;
  config.training.damping_stays = true;
  EXPECT_THROW((void)checked(config), ConfigError);
}

// ---- bf16

TEST(KfacHalves, FactorsInBf16AreHalfAsManyBytes) {
  for (const kfac::Packing packing : {kfac::Packing::kSquares, kfac::Packing::kFused, kfac::Packing::kIndices}) {
    KfacConfig config;
    config.packing = packing;
    const auto sent = [&](FactorType type) {
      config.factor_type = type;
      const KaisaPlan plan(config, 1, 4);
      std::uint64_t bytes = 0;
      for (const KfacMessage& message : plan.step.messages) {
        if (message.traffic != KfacTraffic::kFactors) continue;
        bytes += message.bytes;
        EXPECT_EQ(message.type, type == FactorType::kBf16 ? ElementType::kBf16 : ElementType::kFp32);
      }
      if (type == FactorType::kBf16) {
        EXPECT_NE(plan.layout->sent_factors[0], plan.layout->factors[0]);
      }
      return bytes;
    };
    EXPECT_EQ(sent(FactorType::kFp32), 2 * sent(FactorType::kBf16));
  }
}

TEST(KfacHalves, AFactorsProductRunsInBf16AndItsAverageIn32Bits) {
  const models::Layer layer{"l", LayerKind::kLinear, 1024, 1024, 1, 1, 1, 0, 0, 1, 1, false};
  kfac::Types half;
  half.factors = accelerator::DataType::kBf16;
  const accelerator::ComputeConfig h100;
  const auto time_of = [&](const std::vector<kfac::LayerKernel>& kernels, std::string_view name) {
    Time sum;
    for (const kfac::LayerKernel& kernel : kernels) {
      if (kernel.name == name) sum += accelerator::estimate(kfac::kernel_work(h100, kernel), h100.planned_memory);
    }
    return sum;
  };
  const auto whole = kfac::factor_a_kernels(layer, 4096);
  const auto halves = kfac::factor_a_kernels(layer, 4096, half);
  EXPECT_EQ(halves.front().name, "factor_a.cast");
  EXPECT_LT(3 * time_of(halves, "factor_a.product"), time_of(whole, "factor_a.product"));
  EXPECT_LT(time_of(halves, "factor_a.scale"), time_of(whole, "factor_a.scale"));
  EXPECT_EQ(time_of(halves, "factor_a.average"), time_of(whole, "factor_a.average"));
  const auto preconditions = kfac::precondition_kernels(layer, half);
  EXPECT_EQ(std::get<accelerator::Gemm>(preconditions[0].shape).type, accelerator::DataType::kTf32);
  // An activation in 16 bits needs no cast.
  half.network = accelerator::DataType::kBf16;
  EXPECT_EQ(kfac::factor_a_kernels(layer, 4096, half).front().name, "factor_a.scale");
}

}  // namespace
}  // namespace weft::schedules
