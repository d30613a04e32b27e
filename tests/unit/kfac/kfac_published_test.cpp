// SPDX-License-Identifier: Apache-2.0
// Plans of second-order training with published and fitted cost models, against what SPD-KFAC's authors publish (arXiv
// 2107.06533 and the figure scripts of github.com/shyhuai/kfac_pytorch). Prints what it compares.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platforms/machine/find_accelerator.h"
#include "sw/kfac/layer_kernels.h"
#include "sw/kfac/packing.h"
#include "sw/kfac/placement.h"

namespace weft::kfac {
namespace {

using models::find_network;
using models::Network;

// FACTS.md's refits of inversion on RTX 2080 Ti to the published sums of all inversions (Non-Dist), and the published
// model, which exceeds these sums.
double cubic(double n) {
  return 1.578e-6 * n + 3.185e-13 * n * n * n;
}
double quadratic(double n) {
  return 6.28e-5 + 1.711e-9 * n * n;
}
double exponential(double n) {
  return 3.64e-3 * std::exp(4.77e-4 * n);
}
// The authors' collectives of 64 GPUs, in s and s for each element.
constexpr LinearCost kPaperBroadcast = {1.59e-2, 7.85e-10};
constexpr LinearCost kCodeBroadcast = {255e-6, 7.36e-10};
constexpr LinearCost kSequentialBroadcast = {1.02e-3, 4.1e-10};  // derived from the published sums of MPD-KFAC
constexpr LinearCost kPaperAllReduce = {1.22e-2, 1.45e-9};
constexpr LinearCost kLaterAllReduce = {9.29e-4, 1.4335e-9};
constexpr LinearCost kTableAllReduce = {8.06e-4, 4 * 5.888e-10};  // of the table by numbers of GPUs

class KfacPublished : public ::testing::Test {
 protected:
  [[nodiscard]] double time(const LayerKernel& kernel) const {
    const accelerator::KernelWork work = kernel_work(part_.array.compute, kernel);
    return static_cast<double>(estimate(work, part_.hbm.sustained()).count()) * 1e-12;
  }
  /// Inverse times as a schedule measures them: of the sides that a network has.
  [[nodiscard]] MatrixCost measured_inverse(const Network& network) const {
    std::vector<Sample> samples;
    const std::vector<std::int64_t> sides = factor_sides(network);
    for (const std::int64_t side : std::set<std::int64_t>(sides.begin(), sides.end())) {
      double seconds = 0;
      for (const LayerKernel& kernel : inverse_kernels(side)) seconds += time(kernel);
      samples.push_back({static_cast<double>(side), seconds});
    }
    return MatrixCost(samples);
  }

  platforms::AcceleratorPart part_ = *platforms::find_accelerator("rtx-2080-ti");
};

// 16 and 46 tensors are not printed in the paper: FACTS.md derives them from the published times, as those of a side of
// 1,536 and more. Which of the published models lead the rule there was found by trying all: of these rows only the
// table's all-reduce with a refit of inversion, by 1.6 % (1,152 columns, quadratic) to 4 %. No broadcast does. So this
// pins what each model gives; it does not show that the authors' run used that one.
TEST_F(KfacPublished, NumberOfCommunicatedTensors) {
  struct Row {
    const char* sending;
    LinearCost cost;
    const char* inverting;  ///< nullptr: Weft's kernels
    Cost inverse;
    std::size_t resnet50, resnet152;
  };
  const Row rows[] = {{"paper's broadcast", kPaperBroadcast, "exponential", exponential, 3, 3},
                      {"paper's broadcast", kPaperBroadcast, "cubic", cubic, 3, 3},
                      {"code's broadcast", kCodeBroadcast, "exponential", exponential, 108, 312},
                      {"code's broadcast", kCodeBroadcast, "cubic", cubic, 83, 275},
                      {"sequential broadcast", kSequentialBroadcast, "cubic", cubic, 35, 129},
                      {"paper's all-reduce", kPaperAllReduce, "cubic", cubic, 3, 3},
                      {"later all-reduce", kLaterAllReduce, "cubic", cubic, 35, 129},
                      {"later all-reduce", kLaterAllReduce, "quadratic", quadratic, 35, 129},
                      {"table's all-reduce", kTableAllReduce, "cubic", cubic, 16, 46},
                      {"table's all-reduce", kTableAllReduce, "quadratic", quadratic, 16, 46},
                      {"table's all-reduce", kTableAllReduce, nullptr, nullptr, 10, 40}};
  for (const char* name : {"resnet50", "resnet152", "densenet201", "inceptionv4"}) {
    const Network network = find_network(name);
    const std::vector<std::int64_t> sides = factor_sides(network);
    for (const Row& row : rows) {
      const Cost inverse = row.inverting != nullptr ? row.inverse : Cost(measured_inverse(network));
      const Cost sending = cost_by_side(Packing::kIndices, row.cost);
      const Placement placement = place_balanced(sides, 64, inverse, sending);
      std::printf("%-12s %-20s %-12s %3zu of %3zu sent, inverting takes %.4f s\n", name, row.sending,
                  row.inverting != nullptr ? row.inverting : "Weft", placement.communicated(), sides.size(),
                  cost_of(placement, sides, inverse, sending).compute());
      if (network.name == "resnet50") {
        EXPECT_EQ(placement.communicated(), row.resnet50);
      } else if (network.name == "resnet152") {
        EXPECT_EQ(placement.communicated(), row.resnet152);
      }
    }
    if (network.name != "resnet50") continue;
    for (const std::int64_t side : {1024, 1152, 2048, 2304}) {
      std::printf("  side %lld: sending %.3f ms, inverting %.3f ms cubic, %.3f ms quadratic, %.3f ms Weft\n",
                  static_cast<long long>(side), 1e3 * kTableAllReduce(static_cast<double>(models::triangle(side))),
                  1e3 * cubic(static_cast<double>(side)), 1e3 * quadratic(static_cast<double>(side)),
                  1e3 * measured_inverse(network)(static_cast<double>(side)));
    }
  }
}

// Non-Dist, Seq-Dist and LBP of the published ablation: seconds of inverting.
TEST_F(KfacPublished, InversePlacement) {
  struct Row {
    const char* name;
    double everywhere, in_turn, balanced;
  };
  for (const Row& row : {Row{"resnet50", 0.2742, 0.0512, 0.1049}, Row{"resnet152", 0.6759, 0.0539, 0.2814}}) {
    const Network network = find_network(row.name);
    const std::vector<std::int64_t> sides = factor_sides(network);
    const std::size_t layers = sides.size() / 2;
    const Cost sending = cost_by_side(Packing::kIndices, kTableAllReduce);
    const auto relative = [&](const char* what, const Placement& placement, double published) {
      const double seconds = cost_of(placement, sides, cubic, sending).compute();
      std::printf("%-10s %-10s published %.4f s, planned %.4f s, %+.1f %%\n", row.name, what, published, seconds,
                  100 * (seconds / published - 1));
      return std::abs(seconds / published - 1);
    };
    EXPECT_LT(relative("everywhere", place_everywhere(sides.size(), 64), row.everywhere), 0.015);
    EXPECT_LT(relative("balanced", place_balanced(sides, 64, cubic, sending), row.balanced), 0.06);
    EXPECT_LT(relative("in turn", place_mpd(layers, 64), row.in_turn), 0.25);
  }
}

// Exposed seconds of the factors' all-reduces, with Weft's kernels for computing; in brackets the published ones. What
// there is to hide behind is too short (factors 6 and 15 %, forward and backward 16 and 31 %): the published times
// have a framework's host beside the kernels. Held are the order that follows from the rules and, of three models of
// the all-reduce, the one that comes near for ResNet-152. ResNet-50 is not met by any.
TEST_F(KfacPublished, FactorPipelining) {
  struct Row {
    const char* name;
    double naive, layer_wise, threshold, optimal, factor_compute;
  };
  const Row rows[] = {{"resnet50", 0.1699, 0.2059, 0.1286, 0.0981, 0.2115},
                      {"resnet152", 0.4358, 0.5231, 0.3444, 0.2760, 0.1927}};
  const std::pair<const char*, LinearCost> networks[] = {
      {"paper's", kPaperAllReduce}, {"later", kLaterAllReduce}, {"table's", kTableAllReduce}};
  const KernelTime timer = [this](const LayerKernel& kernel) { return time(kernel); };
  for (const Row& row : rows) {
    const Network network = find_network(row.name);
    const std::vector<Ready> a = ready_factors_a(network, timer);
    std::vector<Ready> g = ready_factors_g(network, timer);
    for (const LayerKernel& kernel : forward_kernels(network.layers.back(), network.batch)) {
      g[0].compute += time(kernel);
    }
    std::vector<Ready> all = a;
    all.insert(all.end(), g.begin(), g.end());
    double factors = 0;
    for (const models::Layer& layer : network.layers) {
      for (const LayerKernel& kernel : factor_a_kernels(layer, network.batch)) factors += time(kernel);
      for (const LayerKernel& kernel : factor_g_kernels(layer, network.batch)) factors += time(kernel);
    }
    std::printf("%s: factors %.4f s, published %.4f s\n", row.name, factors, row.factor_compute);
    for (const auto& [name, cost] : networks) {
      const auto both = [&](Groups forward, const Groups& backward) {
        forward.insert(forward.end(), backward.begin(), backward.end());
        return forward;
      };
      constexpr std::int64_t kLimit = 16 << 20;  // 64 MiB
      const Groups within = both(fuse_within(a, kLimit), fuse_within(g, kLimit));
      const Groups dynamic = both(fuse_dynamic(a, cost), fuse_dynamic(g, cost));
      const double computed = run_pipeline(all, fuse_all(all.size()), cost).computed;
      const double naive = run_pipeline(all, fuse_within(all, kLimit), cost, computed).exposed();
      const double layer_wise = run_pipeline(all, fuse_none(all.size()), cost).exposed();
      const double threshold = run_pipeline(all, within, cost).exposed();
      const double rule = run_pipeline(all, dynamic, cost).exposed();
      const double best = run_pipeline(all, fuse_optimal(all, cost), cost).exposed();
      std::printf(
          "  %-10s naive %.4f (%.4f) layer-wise %.4f (%.4f) threshold %.4f (%.4f) rule %.4f in %zu (%.4f) "
          "optimal %.4f\n",
          name, naive, row.naive, layer_wise, row.layer_wise, threshold, row.threshold, rule, dynamic.size(),
          row.optimal, best);
      EXPECT_LE(best, rule);
      EXPECT_LE(rule, layer_wise);
      EXPECT_LE(rule, naive);
      if (network.name != "resnet152" || cost.alpha != kTableAllReduce.alpha) continue;
      EXPECT_TRUE(rule < threshold && threshold < naive && naive < layer_wise);
      EXPECT_NEAR(naive / row.naive, 1, 0.1);
      EXPECT_NEAR(layer_wise / row.layer_wise, 1, 0.1);
      // 20 % below: computing hides more of messages that wait until they are full than it did for the authors. It was
      // 15 % before a factor's scalings and averages were kernels of their own, which brought its computing from 33 %
      // to 15 % below what was published.
      EXPECT_NEAR(threshold / row.threshold, 0.8, 0.02);
      // The same for the rule, by half as much: 11 % since the additions of residual blocks are kernels, which
      // computing lacked (9 % before).
      EXPECT_NEAR(rule / row.optimal, 0.9, 0.02);
    }
  }
}

}  // namespace
}  // namespace weft::kfac
