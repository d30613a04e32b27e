// SPDX-License-Identifier: Apache-2.0
// Schedules that a user provides beside Weft's own: what steps say by the interface alone is done to the memory of
// every rank. The one of docs/example, and others that Weft does not have. And a way of making gradients sparse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "platforms/machine/machine.h"
#include "sw/compression/pairs.h"
#include "sw/schedules/kfac/contents.h"
#include "sw/schedules/kfac/kfac.h"
#include "sw/schedules/kfac/kfac_check.h"
#include "sw/schedules/kfac/kfac_training.h"
#include "sw/schedules/kfac/step_builder.h"
#include "tests/support/kernel.h"

void provide_my_local_sgd();  // docs/example/schedule

namespace weft::schedules {
namespace {

using models::LayerKind;
using platforms::Machine;
using platforms::MachineConfig;

constexpr int kRanks = 4;

/// Neighbours: 0 and 1, 2 and 3, ...
Subgroups pairs(int ranks) {
  Subgroups groups;
  for (int r = 0; r < ranks; ++r) {
    if (r % 2 == 0) groups.emplace_back();
    groups.back().push_back(r);
  }
  return groups;
}

/// Each pair of ranks has one copy of the optimiser's state: a layer's is one member's, who updates its weights from
/// the mean gradient of all ranks and broadcasts them within the pair. AdaGrad (Duchi, Hazan and Singer, JMLR 2011).
class DividedAdagrad final : public Trainer {
 public:
  using Trainer::Trainer;

  [[nodiscard]] std::vector<Subgroups> subgroups(int ranks) const override { return {pairs(ranks)}; }
  [[nodiscard]] std::vector<OwnBuffer> buffers(const models::Network& network, int /*ranks*/) const override {
    OwnBuffer squares{"sums of squares", {}, {}};
    for (const models::Layer& layer : network.layers) {
      squares.owners.push_back(static_cast<int>(squares.elements.size()) % 2);
      squares.elements.push_back(models::parameters(layer));
    }
    return {squares};
  }

  void step(StepBuilder& step, const KfacUpdates& /*updates*/) const override {
    for (std::size_t l = 0; l < step.layers(); ++l) step.forward(l);
    for (std::size_t l = step.layers(); l-- > 0;) step.backward(l);
    step.send_gradients();
    step.await_gradients();
    for (std::size_t l = 0; l < step.layers(); ++l) {
      const int owner = static_cast<int>(l) % 2;
      Doers owners;
      for (int r = owner; r < step.ranks(); r += 2) owners.ranks.push_back(r);
      const std::int64_t elements = models::parameters(step.network().layers[l]);
      const KfacLayout& layout = step.layout();
      const float rate = static_cast<float>(config().training.rate);
      const auto ranks = static_cast<float>(step.ranks());
      step.compute({.layer = l,
                    .kernels = kfac::update_kernels(step.network().layers[l]),
                    .doers = owners,
                    .contents = [=, &layout](firmware::Rank& rank, int /*index*/) {
                      const Floats gradient = load_from(rank, layout.gradients[l], elements);
                      Floats squares = load_from(rank, layout.own[0][l], elements);
                      Floats weights = load_from(rank, layout.weights[l], elements);
                      for (std::size_t i = 0; i < weights.size(); ++i) {
                        const float mean = gradient[i] / ranks;
                        squares[i] += mean * mean;
                        if (squares[i] > 0) weights[i] -= rate * mean / std::sqrt(squares[i]);
                      }
                      store_to(rank, layout.own[0][l], squares);
                      store_to(rank, layout.weights[l], weights);
                    }});
      step.send({.traffic = KfacTraffic::kInverses,
                 .collective = KfacCollective::kBroadcast,
                 .name = "weights of " + step.network().layers[l].name,
                 .root = owner,
                 .within = 0,
                 .address = layout.weights[l],
                 .bytes = bytes_of_elements(elements)});
    }
    step.await(KfacTraffic::kInverses);
  }
};

/// Gradients are summed by an AllToAll of their parts, a sum at each part's rank, and an Allgather.
class Exchange final : public Trainer {
 public:
  using Trainer::Trainer;

  [[nodiscard]] std::vector<OwnBuffer> buffers(const models::Network& network, int /*ranks*/) const override {
    OwnBuffer parts{"parts of gradients", {}, {}};
    for (const models::Layer& layer : network.layers) parts.elements.push_back(models::parameters(layer));
    return {parts};
  }

  void step(StepBuilder& step, const KfacUpdates& /*updates*/) const override {
    for (std::size_t l = 0; l < step.layers(); ++l) step.forward(l);
    for (std::size_t l = step.layers(); l-- > 0;) step.backward(l);
    const KfacLayout& layout = step.layout();
    const auto message = [&](std::size_t l, KfacCollective collective, const char* what) {
      return KfacMessage{.traffic = KfacTraffic::kGradients,
                         .collective = collective,
                         .name = what,
                         .address = layout.gradients[l],
                         .output = layout.own[0][l],
                         .bytes = bytes_of_elements(models::parameters(step.network().layers[l]))};
    };
    for (std::size_t l = 0; l < step.layers(); ++l) {
      step.send(message(l, KfacCollective::kAllToAll, "parts"));
      step.await(KfacTraffic::kGradients);
      const std::int64_t elements = models::parameters(step.network().layers[l]);
      const std::int64_t part = elements / step.ranks();
      step.compute({.layer = l,
                    .kernels = kfac::update_kernels(step.network().layers[l]),
                    .contents = [=, &layout](firmware::Rank& rank, int index) {
                      const Floats parts = load_from(rank, layout.own[0][l], elements);
                      Floats sum(static_cast<std::size_t>(part));
                      for (std::size_t i = 0; i < parts.size(); ++i) sum[i % sum.size()] += parts[i];
                      store_to(rank, layout.gradients[l] + bytes_of_elements(part * index), sum);
                    }});
      step.send(message(l, KfacCollective::kAllgather, "sums"));
    }
    step.await(KfacTraffic::kGradients);
    for (std::size_t l = 0; l < step.layers(); ++l) step.update(l, KfacGradient::kMean);
  }
};

/// Sends every other element of a message, whatever they are.
class EveryOther final : public compression::PairsCodec {
 public:
  explicit EveryOther(const compression::Site& site)
      : PairsCodec(compression::target_of(site.message, site.config), false) {}

  [[nodiscard]] std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) override {
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t i = 0; i < values.size() && chosen.size() < most; i += 2) chosen.push_back(i);
    return chosen;
  }
};

template <typename T>
std::function<std::unique_ptr<Trainer>(const KfacConfig&)> maker() {
  return [](const KfacConfig& config) { return std::make_unique<T>(config); };
}

class OwnSchedule : public testing::Test {
 protected:
  OwnSchedule() {
    static const bool once = [] {
      provide_my_local_sgd();
      provide({.name = "divided-adagrad", .doc = "AdaGrad, divided over pairs", .make = maker<DividedAdagrad>()});
      provide({.name = "exchange", .doc = "sums by AllToAlls", .make = maker<Exchange>()});
      compression::provide(
          {.name = "every-other",
           .doc = "every other element",
           .plan = [](const compression::Message& message,
                      const compression::CompressionConfig& how) { return compression::pairs_plan(message, how, {}); },
           .make = [](const compression::Site& site) { return std::make_unique<EveryOther>(site); }});
      return true;
    }();
    static_cast<void>(once);
  }

  static models::Network network() {
    return {"two", 2, {{"in", LayerKind::kLinear, 8, 12}, {"out", LayerKind::kLinear, 12, 4}}};
  }
  static MachineConfig machine_config() {
    MachineConfig machine;
    machine.accelerators = kRanks;
    machine.per_node = 2;
    machine.data = true;
    return machine;
  }
  static KfacConfig workload(const ScheduleName& schedule, int steps) {
    KfacConfig config;
    config.algorithm = schedule;
    config.steps = steps;
    config.training.rate = 0.01;
    return config;
  }

  /// What is left in memory by training from the same beginning.
  struct Trained {
    std::vector<std::vector<Floats>> weights;  ///< by rank and layer
    std::vector<std::vector<Floats>> own;      ///< of the first buffer of the schedule's own
    KfacLayout::Addresses places;              ///< of that
    std::vector<double> losses;
    std::int64_t different = 0;
    KfacResult result;
  };
  static Trained train(KfacConfig config) {
    test::fresh_kernel();
    config.training.on = true;
    const MachineConfig how = machine_config();
    Machine machine(how);
    Kfac kfac(machine.ranks(), network(), config, how.collectives, how.accelerator.array.compute);
    KfacTraining training(kfac, machine.ranks());
    training.draw(7);
    kfac.set_arithmetic(training.arithmetic());
    kfac.start();
    machine.run();
    Trained trained;
    for (int r = 0; r < kRanks; ++r) {
      trained.weights.emplace_back();
      trained.own.emplace_back();
      for (std::size_t l = 0; l < network().layers.size(); ++l) {
        trained.weights.back().push_back(training.weights(r, l));
        if (kfac.layout().own.empty()) continue;
        trained.own.back().push_back(
            load_from(machine.rank(r), kfac.layout().own[0][l], models::parameters(network().layers[l])));
      }
    }
    if (!kfac.layout().own.empty()) trained.places = kfac.layout().own[0];
    trained.losses = training.losses();
    trained.different = training.different_weights();
    trained.result = kfac.result();
    return trained;
  }
};

double largest_difference(const Floats& a, const Floats& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

/// The first step of AdaGrad is a step of `rate` against the sign of each gradient, which plain SGD tells.
TEST_F(OwnSchedule, OwnersUpdateWeightsAndBroadcastThemWithinTheirGroup) {
  KfacConfig plain = workload("sgd", 1);
  plain.training.rate = 1e-30;
  const Trained start = train(plain);
  plain.training.rate = 1;
  const Trained sgd = train(plain);
  const Trained owners = train(workload("divided-adagrad", 1));
  EXPECT_EQ(owners.different, 0);
  // The second layer's lie where the first layer's do, on other ranks.
  EXPECT_EQ(owners.places[0], owners.places[1]);
  for (int r = 0; r < kRanks; ++r) {
    const auto rank = static_cast<std::size_t>(r);
    for (std::size_t l = 0; l < 2; ++l) {
      const Floats& squares = owners.own[rank][l];
      for (std::size_t i = 0; i < squares.size(); ++i) {
        const float gradient = start.weights[rank][l][i] - sgd.weights[rank][l][i];
        if (rank % 2 == l) {
          // The difference of two weights below 1 is rounded by 2^-24 at most, twice.
          ASSERT_NEAR(squares[i], gradient * gradient, 0x1p-21 * std::abs(gradient) + 0x1p-44)
              << "element " << i << " of layer " << l << " on rank " << r;
        }
        const float moved = start.weights[rank][l][i] - owners.weights[rank][l][i];
        // What is too small for the difference of two weights has no sign here.
        if (std::abs(gradient) < 1e-5F) continue;
        ASSERT_NEAR(moved, std::copysign(0.01F, gradient), 1e-6) << "element " << i << " of layer " << l;
      }
    }
  }
  const Trained longer = train(workload("divided-adagrad", 12));
  EXPECT_EQ(longer.different, 0);
  EXPECT_LT(longer.losses.back(), longer.losses.front());
  EXPECT_EQ(longer.result.inverse_messages, 2U);
}

TEST_F(OwnSchedule, SumsByAllToAllsAreThoseOfAnAllReduce) {
  KfacConfig config = workload("exchange", 3);
  config.all_reduces = "dimensions";
  const Trained exchanged = train(config);
  const Trained reduced = train(workload("sgd", 3));
  EXPECT_EQ(exchanged.different, 0);
  for (std::size_t l = 0; l < 2; ++l) {
    EXPECT_LT(largest_difference(exchanged.weights[0][l], reduced.weights[0][l]), 1e-6);
  }
  config.all_reduces = "ring";
  try {
    train(config);
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()),
              "workload.all_reduces: expected nccl, deepep or dimensions for an AllToAll, got ring");
  }
}

TEST_F(OwnSchedule, GroupsDifferUntilAllAverage) {
  KfacConfig config = workload("my-local-sgd", 3);
  class Setter : public FieldVisitor {
   protected:
    void scalar(std::string_view name, std::string_view, const Scalar& member, Range) override {
      if (name == "group") std::get<IntegerRef>(member).store(2);
    }
    void nested(std::string_view, std::string_view, std::string_view, const Fields&) override {}
    void list(std::string_view, std::string_view, const ListRef&) override {}
  };
  for (Section& section : config.own) {
    Setter setter;
    if (section.name == "my-local-sgd") section.config.fields(setter);
  }
  const Trained apart = train(config);
  for (std::size_t l = 0; l < 2; ++l) {
    EXPECT_EQ(apart.weights[0][l], apart.weights[1][l]);
    EXPECT_EQ(apart.weights[2][l], apart.weights[3][l]);
    EXPECT_NE(apart.weights[0][l], apart.weights[2][l]);
  }
  config.steps = 4;
  EXPECT_EQ(train(config).different, 0);
  // Groups of all ranks are one, whose mean changes nothing.
  const Trained one = train(workload("my-local-sgd", 3));
  const Trained sgd = train(workload("sgd", 3));
  EXPECT_EQ(one.different, 0);
  for (std::size_t l = 0; l < 2; ++l) EXPECT_LT(largest_difference(one.weights[0][l], sgd.weights[0][l]), 1e-6);
}

/// What is not sent stays behind: every other weight learns nothing.
TEST_F(OwnSchedule, GradientsAreCompressedByOnesOwnMethod) {
  KfacConfig config = workload("sgd", 1);
  const Trained dense = train(config);
  config.training.rate = 1e-30;
  const Trained start = train(config);
  config = workload("sgd", 1);
  config.compression.method = "every-other";
  config.compression.ratio = 0.5;
  const Trained sparse = train(config);
  EXPECT_EQ(sparse.different, 0);
  EXPECT_EQ(sparse.result.sent_share, 1) << "half the elements, with their indices";
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t i = 0; i < start.weights[0][l].size(); ++i) {
      const Floats& expected = (i % 2 == 0 ? dense : start).weights[0][l];
      EXPECT_NEAR(sparse.weights[0][l][i], expected[i], i % 2 == 0 ? 1e-6 : 0) << "element " << i << " of layer " << l;
    }
  }
  EXPECT_NE(dense.weights[0][1], start.weights[0][1]);
}

/// Numbers that tell rank, tensor and step, in place of training: each group's sum is what its ranks alone have.
TEST_F(OwnSchedule, WhatIsSentWithinGroupsIsCompared) {
  for (const char* schedule : {"my-local-sgd", "sgd"}) {
    test::fresh_kernel();
    const MachineConfig how = machine_config();
    Machine machine(how);
    Kfac kfac(machine.ranks(), network(), workload(schedule, 8), how.collectives, how.accelerator.array.compute);
    KfacCheck check(kfac, machine.ranks());
    kfac.set_arithmetic(check.arithmetic());
    kfac.start();
    machine.run();
    EXPECT_EQ(check.wrong(), 0) << schedule;
    EXPECT_GT(check.compared(), 0) << schedule;
  }
}

TEST_F(OwnSchedule, HasANameOfItsOwn) {
  EXPECT_THROW(provide_my_local_sgd(), std::invalid_argument);
  EXPECT_THROW(provide({.name = "spd", .doc = "", .make = maker<Exchange>()}), std::invalid_argument);
  EXPECT_THROW(
      provide({.name = "training", .doc = "", .config = compression::CompressionConfig(), .make = maker<Exchange>()}),
      std::invalid_argument)
      << "a field of workload";
  KfacConfig config;
  config.algorithm = "my-locl-sgd";
  try {
    static_cast<void>(trainer_of(config));
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "workload.algorithm: expected one of sgd, dear, dasgd, coda, codasca, d, mpd, spd, dp, kaisa, my-local-sgd, "
        "divided-adagrad, "
        "exchange, got \"my-locl-sgd\"; did you mean \"my-local-sgd\"?");
  }
}

}  // namespace
}  // namespace weft::schedules
