// SPDX-License-Identifier: Apache-2.0
// K-FAC steps on whole machines: what the parts of a step are, what is decided from measurements.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "platforms/machine/find_accelerator.h"
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
using schedules::KfacPart;
using schedules::KfacResult;
using schedules::KfacSwitch;
using schedules::ScheduleName;
using test::fresh_kernel;
using test::kfac_machine;
using test::kfac_part;
using test::kfac_workload;
using test::KfacOutcome;
using test::run_kfac;
using test::to_seconds;

TEST(KfacSchedule, PartsOfAStepAddUpForEveryAlgorithm) {
  for (const auto& [name, algorithm] : enum_names(ScheduleName())) {
    KfacConfig config = kfac_workload(algorithm);
    config.steps = 2;
    config.launch = 5_us;
    const KfacResult result = run_kfac(kfac_machine(4, 2), config).result;
    ASSERT_EQ(result.steps.size(), 2U);
    Time sum;
    for (const Time part : result.parts) {
      EXPECT_GE(part, Time()) << name;
      sum += part;
    }
    // A mean over ranks of which each is rounded down; the ranks end almost together.
    EXPECT_NEAR(to_seconds(sum), to_seconds(result.measured), 1e-11) << name;
    EXPECT_NEAR(to_seconds(result.measured) / to_seconds(result.step_time), 1, 0.01) << name;
    EXPECT_EQ(result.gradient_messages, config.schedule().own_weights ? 0U : 2U);
    EXPECT_EQ(result.delayed_messages, schedules::trainer_of(config)->lag() > 0 ? 2U : 0U);
    const bool second_order = config.second_order();
    EXPECT_EQ(kfac_part(result, KfacPart::kFactorComp) > Time(), second_order) << name;
    EXPECT_EQ(kfac_part(result, KfacPart::kInverseComp) > Time(), second_order) << name;
    EXPECT_EQ(result.profiled, algorithm == "spd") << name;
  }
}

// Where inverting takes long and the network is fast, as on the published machine.
TEST(KfacSchedule, WhereNothingIsSentNobodyWaitsForTheSlowestToInvert) {
  MachineConfig machine = kfac_machine(4);
  machine.accelerator.array.speed_spread = 0.05;
  const KfacResult spread = run_kfac(machine, kfac_workload("d")).result;
  EXPECT_EQ(kfac_part(spread, KfacPart::kInverseComm), Time());
  EXPECT_NE(kfac_part(spread, KfacPart::kInverseComp),
            kfac_part(run_kfac(kfac_machine(4), kfac_workload("d")).result, KfacPart::kInverseComp));
}

TEST(KfacSchedule, EachIdeaSavesTime) {
  MachineConfig machine = kfac_machine(8);
  machine.accelerator = *platforms::find_accelerator("rtx-2080-ti");
  machine.fabric.link.rate = Rate(100'000'000'000);
  const auto seconds = [&](ScheduleName algorithm) {
    return run_kfac(machine, kfac_workload(algorithm)).result.measured;
  };
  const Time d = seconds("d");
  const Time spd = seconds("spd");
  KfacConfig config = kfac_workload("spd");
  config.placement = InversePlacement::kEverywhere;
  const Time pipelined = run_kfac(machine, config).result.measured;
  config = kfac_workload("spd");
  config.pipelining = KfacSwitch::kOff;
  const Time balanced = run_kfac(machine, config).result.measured;
  EXPECT_LT(pipelined, d);
  EXPECT_LT(balanced, d);
  EXPECT_LT(spd, pipelined);
  EXPECT_LT(spd, balanced);
  EXPECT_LT(seconds("sgd"), spd);
}

TEST(KfacSchedule, DpSendsNoFactorsAndOneTensorForEachLayer) {
  const KfacResult result = run_kfac(kfac_machine(4), kfac_workload("dp")).result;
  EXPECT_EQ(result.factor_messages, 0U);
  EXPECT_EQ(result.inverse_messages, 54U);
  EXPECT_EQ(kfac_part(result, KfacPart::kFactorComm), Time());
}

/// Columns have half of the ranks of each node, so that the order of a node's ranks is not theirs.
TEST(KfacSchedule, AnOrderOfNodesIsNotOneOfGroupsThatHavePartsOfThem) {
  MachineConfig machine = kfac_machine(8, 4);
  machine.collectives.algorithm = "ring";
  machine.collectives.order = {0, 2, 3, 1};
  KfacConfig config = kfac_workload("kaisa");
  config.own.of<schedules::KaisaConfig>().gradient_worker_fraction = 0.5;
  const KfacResult result = run_kfac(machine, config).result;
  EXPECT_EQ(result.inverse_messages, 108U + 54U);
}

TEST(KfacSchedule, IntervalsLeaveStepsWithoutFactorsAndInverses) {
  KfacConfig config = kfac_workload("mpd");
  config.steps = 4;
  config.factor_interval = 2;
  config.inverse_interval = 4;
  const KfacResult result = run_kfac(kfac_machine(2), config).result;
  EXPECT_GT(result.steps[0], result.steps[2]);  // factors and inverses, factors
  EXPECT_GT(result.steps[2], result.steps[1]);  // nothing
  EXPECT_NEAR(to_seconds(result.steps[1]), to_seconds(result.steps[3]), 1e-3 * to_seconds(result.steps[1]));
  // The table is that of a whole period.
  EXPECT_EQ(result.shown.count, 4);
  EXPECT_EQ(result.step_time, (result.steps[0] + result.steps[1] + result.steps[2] + result.steps[3]) / 4);
  EXPECT_NEAR(to_seconds(result.measured), to_seconds(result.step_time), 0.01 * to_seconds(result.step_time));
  EXPECT_LT(kfac_part(result, KfacPart::kInverseComp), result.steps[0] / 4);
}

TEST(KfacSchedule, TheTableIsOfTheLastWholePeriods) {
  KfacConfig config = kfac_workload("mpd");
  const auto shown = [&](int steps) {
    config.steps = steps;
    const schedules::StepSpan span = schedules::steps_shown(config);
    return std::pair(span.first, span.count);
  };
  EXPECT_EQ(shown(1), std::pair(0, 1));
  EXPECT_EQ(shown(5), std::pair(0, 5));
  config.factor_interval = 4;
  config.inverse_interval = 6;
  EXPECT_EQ(shown(11), std::pair(0, 11)) << "no whole period of 12";
  EXPECT_EQ(shown(12), std::pair(0, 12));
  EXPECT_EQ(shown(31), std::pair(7, 24));
  config = kfac_workload("dear");
  EXPECT_EQ(shown(2), std::pair(1, 1)) << "the first has nothing to wait for";
  EXPECT_EQ(shown(5), std::pair(1, 4));
  config = kfac_workload("dasgd");
  config.delay = 2;
  config.averaging_interval = 3;
  EXPECT_EQ(shown(5), std::pair(2, 3));
  EXPECT_EQ(shown(10), std::pair(4, 6));
}

TEST(KfacSchedule, AStepLastsUntilTheSlowestRankEndsIt) {
  MachineConfig machine = kfac_machine(4);
  machine.accelerator.array.speed_spread = 0.05;
  KfacConfig config = kfac_workload("d");
  const KfacResult result = run_kfac(machine, config).result;
  EXPECT_EQ(result.step_time, result.steps[0]);
  EXPECT_LT(result.measured, result.step_time) << "the mean over ranks";
  config = kfac_workload("dasgd");
  config.steps = 3;
  const KfacResult many = run_kfac(machine, config).result;
  EXPECT_GE(many.step_time, std::min(many.steps[1], many.steps[2]));
}

TEST(KfacSchedule, DecidesFromWhatItMeasuresOfTheMachine) {
  MachineConfig machine = kfac_machine(4);
  const KfacOutcome usual = run_kfac(machine, kfac_workload("spd"));
  // A message of n elements crosses a link of 25 Gb/s in 2 (4 - 1) / 4 x 4 n bytes; headers and startup come to it.
  const double wire = 2 * 0.75 * 4 / (25e9 / 8);
  EXPECT_GT(usual.result.profile.all_reduce.beta, wire);
  EXPECT_LT(usual.result.profile.all_reduce.beta, 1.25 * wire);
  EXPECT_GT(usual.result.profile.all_reduce.alpha, 0);

  machine.collectives.entry = 1000_us;
  const KfacOutcome dear = run_kfac(machine, kfac_workload("spd"));
  EXPECT_NEAR(dear.result.profile.all_reduce.alpha - usual.result.profile.all_reduce.alpha, 1e-3, 2e-5);
  EXPECT_LT(dear.result.factor_messages, usual.result.factor_messages);
  EXPECT_LT(dear.result.inverse_messages, usual.result.inverse_messages);
  EXPECT_EQ(std::accumulate(dear.decisions.factors.begin(), dear.decisions.factors.end(), std::size_t{0}), 108U);
}

TEST(KfacSchedule, NegotiationIsPaidForEachTensor) {
  KfacConfig config = kfac_workload("mpd");
  config.wait_free = false;
  const KfacResult none = run_kfac(kfac_machine(4), config).result;
  config.negotiation = 100_us;
  const KfacResult some = run_kfac(kfac_machine(4), config).result;
  const auto more = [&](KfacPart part) { return to_seconds(kfac_part(some, part) - kfac_part(none, part)); };
  EXPECT_NEAR(more(KfacPart::kGradientComm), 161 * 1e-4, 2e-4);  // 54 weights, a bias, 53 norms of two
  EXPECT_NEAR(more(KfacPart::kFactorComm), 108 * 1e-4, 2e-4);
  EXPECT_NEAR(more(KfacPart::kInverseComm), 108 * 1e-4, 2e-4);
  EXPECT_NEAR(more(KfacPart::kInverseComp), 0, 2e-4);
}

TEST(KfacSchedule, APlacementCountsPackingAsWell) {
  MachineConfig machine = kfac_machine(4);
  KfacConfig config = kfac_workload("spd");
  config.packing = kfac::Packing::kIndices;
  const KfacOutcome fast = run_kfac(machine, config);
  machine.accelerator.array.compute.vector_fp64 = Compute(30'000'000'000);
  const KfacOutcome slow = run_kfac(machine, config);
  EXPECT_LT(slow.result.inverse_messages, fast.result.inverse_messages);
}

TEST(KfacSchedule, PackingIsAPartOfItsOwn) {
  KfacConfig config = kfac_workload("mpd");
  const auto packed = [&](kfac::Packing packing) {
    config.packing = packing;
    return run_kfac(kfac_machine(4), config).result;
  };
  const KfacResult indices = packed(kfac::Packing::kIndices);
  const KfacResult fused = packed(kfac::Packing::kFused);
  const KfacResult squares = packed(kfac::Packing::kSquares);
  const auto both = [](const KfacResult& result) {
    return kfac_part(result, KfacPart::kFactorPacking) + kfac_part(result, KfacPart::kInversePacking);
  };
  EXPECT_GT(both(indices), both(fused) * 3);
  EXPECT_LT(kfac_part(squares, KfacPart::kInversePacking), kfac_part(fused, KfacPart::kInversePacking));
  // Twice as much is on the wire, which nothing hides here.
  for (const KfacPart part : {KfacPart::kFactorComm, KfacPart::kInverseComm}) {
    const double ratio = to_seconds(kfac_part(squares, part)) / to_seconds(kfac_part(fused, part));
    EXPECT_GT(ratio, 1.7);
    EXPECT_LT(ratio, 2.1);
  }
  for (const KfacResult* other : {&fused, &squares}) {
    for (const KfacPart part : {KfacPart::kFactorComp, KfacPart::kPrecondition}) {
      EXPECT_NEAR(to_seconds(kfac_part(*other, part)) / to_seconds(kfac_part(indices, part)), 1, 0.02);
    }
  }
  config.algorithm = "dp";
  EXPECT_EQ(both(packed(kfac::Packing::kIndices)), Time()) << "nothing of factors is sent";
}

TEST(KfacSchedule, OneRankSendsNothing) {
  for (const auto& [name, algorithm] : enum_names(ScheduleName())) {
    KfacConfig config = kfac_workload(algorithm);
    config.steps = 2;
    if (config.schedule().may_be_sparse) config.compression.method = "top-k";
    const KfacResult result = run_kfac(kfac_machine(1), config).result;
    EXPECT_EQ(result.gradient_messages + result.factor_messages + result.inverse_messages + result.delayed_messages, 0U)
        << name;
    for (const KfacPart part :
         {KfacPart::kCompression, KfacPart::kGradientComm, KfacPart::kFactorComm, KfacPart::kInverseComm}) {
      EXPECT_EQ(kfac_part(result, part), Time()) << name;
    }
    EXPECT_FALSE(result.profiled) << name << ": nothing is to be decided";
    EXPECT_GT(kfac_part(result, KfacPart::kForwardBackward), Time()) << name;
  }
}

TEST(KfacSchedule, RanksBeyondTheTensorsInvertNothingOfTheirOwn) {
  const models::Network network{
      "two", 4, {{"a", models::LayerKind::kLinear, 64, 32}, {"b", models::LayerKind::kLinear, 32, 8}}};
  for (const ScheduleName algorithm : {"mpd", "spd", "dp"}) {
    fresh_kernel();
    const MachineConfig config = kfac_machine(9);
    Machine machine(config);
    Kfac kfac(machine.ranks(), network, kfac_workload(algorithm), config.collectives, config.accelerator.array.compute);
    kfac.start();
    machine.run();
    for (const int owner : kfac.decisions().placement.owner) EXPECT_LT(owner, 4);
    EXPECT_EQ(kfac.result().steps.size(), 1U);
  }
}

TEST(KfacSchedule, ANetworkWithoutFactorsIsTrainedByItsGradients) {
  const models::Network network{"norm", 4, {{"n", models::LayerKind::kNorm, 64, 64, 1, 1, 1, 0, 0, 8, 8, true}}};
  for (const auto& [name, algorithm] : enum_names(ScheduleName())) {
    fresh_kernel();
    const MachineConfig config = kfac_machine(3);
    Machine machine(config);
    Kfac kfac(machine.ranks(), network, kfac_workload(algorithm), config.collectives, config.accelerator.array.compute);
    kfac.start();
    machine.run();
    EXPECT_EQ(kfac.result().factors, 0U) << name;
    EXPECT_GT(kfac.result().step_time, Time()) << name;
  }
}

TEST(KfacSchedule, StepsAreAsManyAsTheAlgorithmNeedsUnlessTold) {
  const auto steps = [](KfacConfig config) { return run_kfac(kfac_machine(2), config).result.steps.size(); };
  KfacConfig config = kfac_workload("d");
  EXPECT_EQ(steps(config), 1U);
  config.inverse_interval = 3;
  EXPECT_EQ(steps(config), 3U);
  EXPECT_EQ(steps(kfac_workload("dear")), 2U);
  config = kfac_workload("dasgd");
  config.delay = 2;
  config.averaging_interval = 3;
  EXPECT_EQ(steps(config), 5U);
}

TEST(KfacSchedule, TensorCoresTakeTheProductsThatAreTold) {
  const auto parts = [](schedules::NetworkType type, schedules::FactorType factors) {
    KfacConfig config = kfac_workload("d");
    config.batch = 32;
    config.type = type;
    config.factor_type = factors;
    return run_kfac(kfac_machine(2), config).result;
  };
  using schedules::FactorType;
  using schedules::NetworkType;
  const KfacResult plain = parts(NetworkType::kFp32, FactorType::kFp32);
  const KfacResult tf32 = parts(NetworkType::kTf32, FactorType::kFp32);
  const KfacResult both = parts(NetworkType::kTf32, FactorType::kTf32);
  const KfacResult bf16 = parts(NetworkType::kBf16, FactorType::kFp32);
  const auto part = [](const KfacResult& result, KfacPart which) { return kfac_part(result, which); };
  EXPECT_LT(part(tf32, KfacPart::kForwardBackward), part(plain, KfacPart::kForwardBackward));
  EXPECT_LT(part(bf16, KfacPart::kForwardBackward), part(tf32, KfacPart::kForwardBackward));
  EXPECT_EQ(part(tf32, KfacPart::kFactorComp), part(plain, KfacPart::kFactorComp));
  EXPECT_LT(part(both, KfacPart::kFactorComp), part(plain, KfacPart::kFactorComp));
  EXPECT_LT(part(both, KfacPart::kPrecondition), part(plain, KfacPart::kPrecondition));
  EXPECT_LT(part(bf16, KfacPart::kFactorComp), part(plain, KfacPart::kFactorComp)) << "it reads half the bytes";
  EXPECT_EQ(part(both, KfacPart::kInverseComp), part(plain, KfacPart::kInverseComp));
  EXPECT_EQ(2 * bf16.activation_bytes, plain.activation_bytes);
}

TEST(KfacSchedule, EachMessageTellsWhenItWasOnItsWayAndWhatItExposed) {
  KfacConfig config = kfac_workload("mpd");
  config.steps = 2;
  config.wait_free = false;
  const KfacResult result = run_kfac(kfac_machine(4), config).result;
  ASSERT_EQ(result.messages.size(), result.gradient_messages + result.factor_messages + result.inverse_messages);
  Time exposed;
  for (const schedules::KfacMessageTimes& times : result.messages) {
    EXPECT_GE(times.from, Time());
    EXPECT_GT(times.to, times.from);
    EXPECT_LE(times.to, result.steps[1]);
    EXPECT_LE(times.exposed, times.to - times.from);
    exposed += times.exposed;
  }
  const Time gradients = kfac_part(result, KfacPart::kGradientComm);
  EXPECT_GE(exposed, gradients) << "nothing hides them";
  EXPECT_EQ(result.inverting.size(), 4U);
  EXPECT_GT(*std::max_element(result.inverting.begin(), result.inverting.end()), Time());
}

TEST(KfacSchedule, MetricsBehindFactorsOfInputsExposeMore) {
  KfacConfig config = kfac_workload("spd");
  config.fusion = FactorFusion::kThreshold;
  const KfacResult hidden = run_kfac(kfac_machine(4), config).result;
  config.metrics = 2;
  const KfacResult waits = run_kfac(kfac_machine(4), config).result;
  EXPECT_GT(kfac_part(waits, KfacPart::kFactorComm), kfac_part(hidden, KfacPart::kFactorComm));
}

TEST(KfacSchedule, EachMetricWaitsForTheLibrarysCycle) {
  for (const int ranks : {1, 4}) {
    KfacConfig config = kfac_workload("sgd");
    config.activations.method = schedules::ActivationCompression::kJpegAct;
    const KfacResult none = run_kfac(kfac_machine(ranks), config).result;
    config.metrics = 2;
    config.cycle = 4_ms;
    const KfacResult some = run_kfac(kfac_machine(ranks), config).result;
    const auto more = [&](KfacPart part) { return to_seconds(kfac_part(some, part) - kfac_part(none, part)); };
    EXPECT_NEAR(more(KfacPart::kForwardBackward), 6e-3, 1e-4) << "half a cycle and a whole one";
    EXPECT_LE(more(KfacPart::kGradientComm), 1e-4);
    EXPECT_NEAR(more(KfacPart::kCompression), 0, 1e-4) << "though the backward pass begins with it";
  }
}

TEST(KfacSchedule, EachAlgorithmAveragesMetrics) {
  const Names& all = names_for<schedules::Schedule>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    KfacConfig config = kfac_workload(ScheduleName(all.name(i)));
    const KfacResult none = run_kfac(kfac_machine(4), config).result;
    config.metrics = 2;
    config.cycle = 400_ms;  // more than what hides behind it
    const KfacResult some = run_kfac(kfac_machine(4), config).result;
    const Time more = std::accumulate(some.steps.begin(), some.steps.end(), Time()) -
                      std::accumulate(none.steps.begin(), none.steps.end(), Time());
    EXPECT_GT(to_seconds(more), 0.5 * static_cast<double>(some.steps.size())) << all.name(i);
  }
}

// ---- What sends gradients otherwise

KfacResult four_steps(KfacConfig config) {
  config.steps = 4;
  config.fusion_threshold = 25_MiB;
  return run_kfac(kfac_machine(8), config).result;
}

TEST(KfacSchedule, DearHidesGatheringBehindTheNextForwardPass) {
  const KfacResult sgd = four_steps(kfac_workload("sgd"));
  const KfacResult dear = four_steps(kfac_workload("dear"));
  EXPECT_LT(dear.measured, sgd.measured);
  // It sends as many bytes: what it saves is at most the forward pass.
  const Time forward_at_most = kfac_part(sgd, KfacPart::kForwardBackward);
  EXPECT_GT(dear.measured + forward_at_most, sgd.measured);
  // In the steady state every step takes as long; the last one's gathering has nothing to hide behind.
  EXPECT_NEAR(to_seconds(dear.steps[2]), to_seconds(dear.steps[3]), 0.01 * to_seconds(dear.steps[3]));
  EXPECT_GT(dear.rest, Time());
  EXPECT_EQ(dear.gradient_messages, dear.delayed_messages);
}

TEST(KfacSchedule, DasgdHidesAveragingBehindAsManyStepsAsItIsDelayed) {
  KfacConfig config = kfac_workload("dasgd");
  std::vector<Time> exposed;
  for (const int delay : {0, 1, 3}) {
    config.delay = delay;
    exposed.push_back(kfac_part(four_steps(config), KfacPart::kGradientComm));
  }
  EXPECT_GT(exposed[0], exposed[1]);
  EXPECT_GE(exposed[1], exposed[2]);
  // A fourth of the averagings: the last step is the only one that begins and merges one.
  config.delay = 0;
  config.averaging_interval = 4;
  const KfacResult rare = four_steps(config);
  EXPECT_LT(rare.steps[1], rare.steps[3]);
}

TEST(KfacSchedule, SparseGradientsTakeTheTimeOfWhatIsSentAndOfChoosingIt) {
  KfacConfig config = kfac_workload("sgd");
  const KfacResult dense = four_steps(config);
  config.compression.ratio = 0.001;
  config.compression.method = "top-k";
  const KfacResult exact = four_steps(config);
  config.compression.method = "exponential";
  const KfacResult often = four_steps(config);
  config.compression.stages = 1;
  const KfacResult once = four_steps(config);
  EXPECT_LT(exact.measured, dense.measured);
  EXPECT_NEAR(exact.sent_share, 2 * 0.001, 1e-6) << "with its index";
  config.compression.method = "random-k";
  EXPECT_NEAR(four_steps(config).sent_share, 0.001, 1e-6);
  config.compression.method = "qsgd";
  EXPECT_NEAR(four_steps(config).sent_share, 0.25, 1e-3) << "8 of 32 bits";
  EXPECT_EQ(kfac_part(dense, KfacPart::kCompression), Time());
  // Estimating once needs fewer passes than selecting; in 5 stages it needs more launches.
  EXPECT_LT(kfac_part(once, KfacPart::kCompression), kfac_part(exact, KfacPart::kCompression));
  EXPECT_LT(kfac_part(once, KfacPart::kCompression), kfac_part(often, KfacPart::kCompression));
  // An Allgather grows with the ranks: of 8, half the elements with their indices are 2 (1 / 2) 8 / (2 x 7 / 8) times
  // the bytes of an AllReduce.
  config.compression.ratio = 0.5;
  EXPECT_GT(four_steps(config).measured, dense.measured);
}

TEST(KfacSchedule, ClippingMakesTheHostWaitForEachLayer) {
  KfacConfig config = kfac_workload("d");
  config.launch = 10_us;
  const KfacResult free = run_kfac(kfac_machine(2), config).result;
  config.kl_clip = 0.001;
  const KfacResult clipped = run_kfac(kfac_machine(2), config).result;
  const Time longer = kfac_part(clipped, KfacPart::kPrecondition) - kfac_part(free, KfacPart::kPrecondition);
  // Four passes over each of 54 layers' weights and over the last one's biases, which the host launches one by one,
  // then two, with which, and with the update, it has no lead.
  EXPECT_GT(longer, 10_us * (6 * 55));
  EXPECT_LT(longer, 10_us * (9 * 55));
  for (const KfacPart part : {KfacPart::kFactorComp, KfacPart::kInverseComp}) {
    EXPECT_EQ(kfac_part(clipped, part), kfac_part(free, part));
  }
}

TEST(KfacSchedule, CollectivesTakeCoresFromWhatRunsBesideThemWhereTheyAreKernels) {
  const auto computing = [](bool kernels, ScheduleName algorithm) {
    MachineConfig machine = kfac_machine(4);
    machine.accelerator.array.shared_cores = kernels;
    machine.accelerator.array.copy_engines = 66;  // half of them
    KfacConfig config = kfac_workload(algorithm);
    config.wait_free = false;
    const KfacResult result = run_kfac(machine, config).result;
    return to_seconds(kfac_part(result, KfacPart::kForwardBackward) + kfac_part(result, KfacPart::kFactorComp));
  };
  EXPECT_GT(computing(true, "spd"), 1.1 * computing(false, "spd"));
  // Here nothing is sent while these compute.
  EXPECT_NEAR(computing(true, "d"), computing(false, "d"), 1e-6);
}

TEST(KfacSchedule, CollectivesOfOneKindCanHaveAnotherAlgorithm) {
  MachineConfig machine = kfac_machine(8);
  machine.fabric.switch_config.reduction.trees = 8;
  KfacConfig config = kfac_workload("spd");
  config.placement = InversePlacement::kInTurn;
  const KfacResult rings = run_kfac(machine, config).result;
  config.all_reduces = "in-network";
  const KfacResult summed = run_kfac(machine, config).result;
  EXPECT_LT(summed.profile.all_reduce.beta, 0.7 * rings.profile.all_reduce.beta);
  EXPECT_NEAR(summed.profile.broadcast.beta, rings.profile.broadcast.beta, 0.01 * rings.profile.broadcast.beta);
}

TEST(KfacSchedule, TheSameRunHasTheSameDigest) {
  const KfacConfig config = kfac_workload("spd");
  EXPECT_EQ(run_kfac(kfac_machine(4, 2), config).digest, run_kfac(kfac_machine(4, 2), config).digest);
}

}  // namespace
}  // namespace weft
