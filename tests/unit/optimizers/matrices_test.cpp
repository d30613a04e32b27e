// SPDX-License-Identifier: Apache-2.0
// Muon, Shampoo, SOAP and K-FAC: who updates what, what is exchanged for it, and what is kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sw/optimizers/blocks.h"
#include "sw/optimizers/elementwise.h"
#include "sw/optimizers/layer_wise.h"
#include "sw/optimizers/muon.h"

namespace weft::optimizers {
namespace {

using dimensions::Operation;

struct Setting {
  std::string field;
  std::string value;
};

/// Sets fields of an optimizer's section by their names.
class Setter final : public FieldVisitor {
 public:
  explicit Setter(Setting setting) : setting_(std::move(setting)) {}

 protected:
  void scalar(std::string_view name, std::string_view, const Scalar& scalar, Range) override {
    if (name != setting_.field) return;
    if (const auto* integer = std::get_if<IntegerRef>(&scalar)) integer->store(std::stoll(setting_.value));
    if (auto* const* flag = std::get_if<bool*>(&scalar)) **flag = setting_.value == "true";
    if (const auto* choice = std::get_if<EnumRef>(&scalar)) {
      const auto found = std::find(choice->names.begin(), choice->names.end(), setting_.value);
      choice->store(static_cast<std::size_t>(found - choice->names.begin()));
    }
  }
  void nested(std::string_view, std::string_view, std::string_view, const Fields&) override {}
  void list(std::string_view, std::string_view, const ListRef&) override {}

 private:
  Setting setting_;
};

std::shared_ptr<const Optimizer> named(const char* name, const std::vector<Setting>& settings = {}) {
  Choice choice;
  choice.name = name;
  for (Section& section : choice.own) {
    if (section.name != name) continue;
    for (const Setting& setting : settings) {
      Setter setter(setting);
      FieldVisitor& visitor = setter;
      section.config.fields(visitor);
    }
  }
  return optimizer_of(choice);
}

/// 10 matrices of 64 by 96, an embedding and norms, of `ranks` ranks.
Problem problem_of(Sharing sharing, std::int64_t ranks, std::int64_t place = 0) {
  Holding holding{
      "", {{"w", 64, 96, 10, true}, {"embedding", 1000, 64, 1}, {"norm", 64, 1, 20}}, sharing, ranks, place};
  const bool is_whole = sharing == Sharing::kWhole;
  holding.share = is_whole ? holding.elements() : share_of(holding.elements(), ranks);
  return {{holding}, models::Fusion::kFused, 2};
}
constexpr std::int64_t kMatrix = 64 * 96;
constexpr std::int64_t kOthers = 64'000 + 20 * 64;

std::int64_t operations_of(const std::vector<Task>& tasks) {
  std::int64_t sum = 0;
  for (const Task& task : tasks) {
    for (const Piece& piece : task.pieces) {
      for (const models::Kernel& kernel : piece.kernels) sum += flops(kernel);
    }
  }
  return sum;
}

std::vector<Exchange> exchanges_of(const std::vector<Task>& tasks) {
  std::vector<Exchange> all;
  for (const Ordered& each : in_order(tasks)) {
    if (each.piece->exchange) all.push_back(*each.piece->exchange);
  }
  return all;
}

std::int64_t newton_schulz_operations(std::int64_t rows, std::int64_t cols) {
  std::int64_t sum = 0;
  for (const models::Gemm& product : newton_schulz_products(rows, cols, 5)) sum += flops(product);
  return sum;
}

std::string refused(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Blocks, OfAShardAreSharedOutAmongItsCopies) {
  Problem problem = problem_of(Sharing::kShards, 4);
  Holding& holding = problem.holdings.front();
  const std::int64_t all = own_blocks(holding, 32).front().elements();
  EXPECT_EQ(all, 10 * 16 * 96) << "16 rows of each matrix, in blocks of 32 columns";
  EXPECT_TRUE(exchanges_of(named("soap", {{"block", "32"}})->update(problem, 0)).empty());
  holding.copies = 3;
  std::int64_t sum = 0;
  std::int64_t state = 0;
  for (holding.copy = 0; holding.copy < 3; ++holding.copy) {
    sum += own_blocks(holding, 32).front().elements();
    for (const auto& [what, bytes] : named("soap", {{"block", "32"}})->kept(problem).state) {
      if (what == "two moments of matrices in 32 bits") state += bytes;
    }
  }
  EXPECT_EQ(sum, all);
  EXPECT_EQ(state, 8 * all);
  holding.copy = 1;
  const std::vector<Exchange> exchanges = exchanges_of(named("soap", {{"block", "32"}})->update(problem, 0));
  ASSERT_EQ(exchanges.size(), 1U);
  EXPECT_EQ(exchanges[0].what, Operation::kAllgather);
  EXPECT_TRUE(exchanges[0].is_of_copies);
  EXPECT_EQ(exchanges[0].bytes, 4 * all) << "in 32 bits";
  // Muon puts matrices together from shards, in each copy.
  for (const Exchange& exchange : exchanges_of(named("muon")->update(problem, 0))) EXPECT_FALSE(exchange.is_of_copies);
}

// ---- K-FAC: 10 matrices of 64 by 96 in blocks of 64, so that A is 64 and 32 wide and G 64.

constexpr std::int64_t kFactors = 64 * 64 + 32 * 32 + 64 * 64;

std::shared_ptr<const Optimizer> kfac(const std::vector<Setting>& more = {}) {
  std::vector<Setting> settings = {{"block", "64"}, {"factor_interval", "2"}, {"inverse_interval", "6"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return named("kfac", settings);
}

TEST(KfacOptimizer, GivesOwnersFactorsAndGradientsAndAllTheirRows) {
  const Problem problem = problem_of(Sharing::kShards, 4);
  const auto of_step = [&](std::int64_t step, const std::vector<Setting>& more = {}) {
    std::vector<std::pair<Operation, std::int64_t>> all;
    for (const Task& task : kfac(more)->update(problem, step)) {
      for (const Piece& piece : task.pieces) {
        if (piece.exchange) all.emplace_back(piece.exchange->what, piece.exchange->bytes);
      }
    }
    return all;
  };
  // Batches of 4, 4 and 2 matrices of 16 rows a rank; factors are not padded.
  const auto gradient = std::pair(Operation::kAllToAll, std::int64_t{4} * 16 * 96 * 4);
  const auto factors = [](std::int64_t matrices, std::int64_t bytes) {
    return std::pair(Operation::kReduceScatter, matrices * kFactors * bytes);
  };
  EXPECT_EQ(of_step(0), (std::vector{factors(4, 4), gradient, gradient, factors(4, 4), gradient, gradient,
                                     factors(2, 4), gradient, gradient}));
  EXPECT_EQ(of_step(2, {{"factor_dtype", "bf16"}}),
            (std::vector{factors(4, 2), gradient, gradient, factors(4, 2), gradient, gradient, factors(2, 2), gradient,
                         gradient}));
  EXPECT_EQ(of_step(1), std::vector(6, gradient));
}

TEST(KfacOptimizer, AddsUpFactorsOverCopiesAndGathersWhereGradientsAreWhole) {
  Problem problem = problem_of(Sharing::kShards, 4);
  problem.holdings.front().copies = 2;
  const std::vector<Exchange> copied = exchanges_of(kfac()->update(problem, 0));
  const auto sums = std::count_if(copied.begin(), copied.end(), [](const Exchange& exchange) {
    return exchange.what == Operation::kAllReduce && exchange.is_of_copies && exchange.bytes == 4 * kFactors;
  });
  EXPECT_EQ(sums, 3);
  const std::vector<Exchange> whole = exchanges_of(kfac()->update(problem_of(Sharing::kWhole, 4), 1));
  ASSERT_EQ(whole.size(), 3U);
  EXPECT_EQ(whole[0].what, Operation::kAllgather);
  EXPECT_EQ(whole[0].bytes, 4 * kMatrix * 4);
  EXPECT_TRUE(exchanges_of(kfac()->update(problem_of(Sharing::kWhole, 1), 0)).empty());
}

TEST(KfacOptimizer, IsSoManyOperations) {
  const Problem problem = problem_of(Sharing::kWhole, 1);
  const Observed block{{{"w", 64, 96, 1, true}, {"norm", 64, 1, 2}}, 1000, 0};
  const auto operations = [&](const Observed& what, std::int64_t step, const std::vector<Setting>& more = {}) {
    std::int64_t sum = 0;
    for (const models::Kernel& kernel : kfac(more)->observe(problem, what, step)) sum += flops(kernel);
    return sum;
  };
  const auto observed = [&](std::int64_t step, const std::vector<Setting>& more = {}) {
    return operations(block, step, more);
  };
  // 2 tokens for each element of a factor.
  EXPECT_EQ(observed(0), 2 * 1000 * kFactors);
  EXPECT_EQ(observed(4, {{"symmetric", "true"}}), 1000 * kFactors);
  EXPECT_EQ(observed(3), 0);
  // Experts are several of a shape, and have the tokens that came to each.
  EXPECT_EQ(operations({{{"w", 64, 96, 7, true}}, 50, 0}, 0), 7 * 2 * 50 * kFactors);
  constexpr std::int64_t kProducts = 2 * (64 * 64 * 96 + 64 * (64 * 64 + 32 * 32));
  constexpr std::int64_t kCubes = 64 * 64 * 64 * 2 + 32 * 32 * 32;
  EXPECT_EQ(operations_of(kfac()->update(problem, 2)), 10 * kProducts);
  const auto near = [](std::int64_t actual, std::int64_t expected) { EXPECT_NEAR(actual, expected, 40) << "thirds"; };
  near(operations_of(kfac()->update(problem, 0)), 10 * (kProducts + kCubes * 7 / 3));
  near(operations_of(kfac({{"inverse", "eigen"}})->update(problem, 6)), 10 * (2 * kProducts + kCubes * 14 / 3));
}

TEST(KfacOptimizer, HasThreeKindsOfSteps) {
  const auto optimizer = kfac();
  EXPECT_EQ(optimizer->period(), 6);
  std::vector<std::int64_t> kinds;
  for (std::int64_t step = 0; step < 6; ++step) kinds.push_back(optimizer->like(step));
  EXPECT_EQ(kinds, (std::vector<std::int64_t>{0, 1, 2, 1, 2, 1}));
  EXPECT_EQ(kfac({{"inverse_interval", "3"}})->like(3), 3) << "inverses of old factors";
}

TEST(KfacOptimizer, KeepsSumsOfAllAndAveragesOfItsOwn) {
  std::map<std::string, std::int64_t> kept;
  for (const auto& [what, bytes] :
       kfac({{"factor_dtype", "bf16"}, {"inverse", "eigen"}})->kept(problem_of(Sharing::kShards, 4)).state) {
    kept[what] = bytes;
  }
  // The busiest has 3 matrices of 10.
  EXPECT_EQ(kept["sums of factors of the rank's own tokens"], 2 * (10 * kFactors + 4));
  EXPECT_EQ(kept["averages of factors that the rank owns in 32 bits"], 4 * 3 * kFactors);
  EXPECT_EQ(kept["inverses of factors that the rank owns in 32 bits"], 4 * 3 * (kFactors + 64 + 96));
  EXPECT_EQ(kept["momentum of matrices in 32 bits"], 4 * 10 * 16 * 96);
}

/// The first batch of a step writes sums, each later one adds to them: two reads and a write of each element.
TEST(KfacOptimizer, AddsUpBatchesOfAStep) {
  Problem problem = problem_of(Sharing::kWhole, 1);
  problem.batches = 3;
  const auto passes = [&](std::int64_t batch) {
    std::int64_t bytes = 0;
    for (const models::Kernel& kernel : kfac()->observe(problem, {{{"w", 64, 96, 2, true}}, 1000, batch}, 0)) {
      if (std::holds_alternative<models::Elementwise>(kernel.shape)) bytes += bytes_moved(kernel);
    }
    return bytes;
  };
  EXPECT_EQ(passes(0), 0);
  EXPECT_EQ(passes(1), 2 * kFactors * (4 + 4 + 4));
  EXPECT_EQ(passes(2), passes(1));
  const Kept kept = kfac()->kept(problem);
  EXPECT_EQ(kept.state.back().second, 4 * kFactors);
  EXPECT_EQ(kept.state_bytes(), kfac()->kept(problem_of(Sharing::kWhole, 1)).state_bytes() + 4 * kFactors);
}

/// A distributed optimizer gives owners whole gradients and gathers parameters itself.
TEST(KfacOptimizer, OwnersOfGivenGradientsHaveAllBetweenThem) {
  std::int64_t operations = 0;
  Kept all;
  std::vector<Exchange> first;
  for (std::int64_t place = 0; place < 4; ++place) {
    const Problem problem = problem_of(Sharing::kGiven, 4, place);
    operations += operations_of(kfac()->update(problem, 2));
    const Kept kept = kfac()->kept(problem);
    all.masters += kept.masters;
    all.state.emplace_back("averages", kept.state[1].second);
    const std::vector<Exchange> exchanges = exchanges_of(kfac()->update(problem, 0));
    ASSERT_EQ(exchanges.size(), 3U);
    std::int64_t bytes = 0;
    for (const Exchange& each : exchanges) {
      EXPECT_EQ(each.what, Operation::kReduceScatter);
      bytes += each.bytes;
    }
    EXPECT_EQ(bytes, 10 * kFactors * 4);
    EXPECT_TRUE(exchanges_of(kfac()->update(problem, 1)).empty());
  }
  EXPECT_EQ(operations, operations_of(kfac()->update(problem_of(Sharing::kWhole, 1), 2)));
  EXPECT_EQ(all.masters, 10 * kMatrix + kOthers);
  EXPECT_EQ(all.state_bytes(), 4 * 10 * kFactors);
}

TEST(Muon, IsSoManyOperations) {
  // 2 m^2 n, 2 m^3 and 2 m^2 n, five times.
  EXPECT_EQ(newton_schulz_operations(64, 96), 5 * (4LL * 64 * 64 * 96 + 2LL * 64 * 64 * 64));
  EXPECT_EQ(newton_schulz_operations(96, 64), newton_schulz_operations(64, 96));
  const Problem alone = problem_of(Sharing::kWhole, 1);
  EXPECT_EQ(operations_of(named("muon")->update(alone, 0)), 10 * newton_schulz_operations(64, 96));
  EXPECT_EQ(operations_of(named("muon", {{"iterations", "10"}})->update(alone, 0)),
            20 * newton_schulz_operations(64, 96));
  // Half of the first two.
  EXPECT_EQ(operations_of(named("muon", {{"symmetric", "true"}})->update(alone, 0)),
            10 * 5 * (3LL * 64 * 64 * 96 + 64 * 64 * 64));
  EXPECT_TRUE(exchanges_of(named("muon")->update(alone, 0)).empty());
}

/// 10 matrices on 4 ranks: batches of 4, 4 and 2, the last of which all compute, too.
TEST(Muon, PutsShardsTogetherByAllToAll) {
  const std::vector<Task> tasks = named("muon")->update(problem_of(Sharing::kShards, 4), 0);
  EXPECT_EQ(operations_of(tasks), 3 * newton_schulz_operations(64, 96));
  const std::vector<Exchange> exchanges = exchanges_of(tasks);
  ASSERT_EQ(exchanges.size(), 6U);
  for (const Exchange& each : exchanges) {
    EXPECT_EQ(each.what, Operation::kAllToAll);
    EXPECT_EQ(each.bytes, 2 * kMatrix);
  }
  // Rows that do not divide are padded.
  EXPECT_EQ(exchanges_of(named("muon")->update(problem_of(Sharing::kShards, 6), 0)).front().bytes, 2 * 6 * 11 * 96);
  const Kept kept = named("muon")->kept(problem_of(Sharing::kShards, 4));
  EXPECT_EQ(kept.state_bytes(), 4 * 10 * kMatrix / 4 + 8 * kOthers / 4);
}

TEST(Muon, GathersResultsOrParametersOfWholeMatrices) {
  const std::vector<Exchange> results =
      exchanges_of(named("muon", {{"form", "dion"}})->update(problem_of(Sharing::kWhole, 4), 0));
  ASSERT_EQ(results.size(), 3U);
  for (const Exchange& each : results) {
    EXPECT_EQ(each.what, Operation::kAllgather);
    EXPECT_EQ(each.bytes, 4 * 2 * kMatrix);
  }
  const std::vector<Exchange> parameters = exchanges_of(named("muon")->update(problem_of(Sharing::kWhole, 4), 0));
  ASSERT_EQ(parameters.size(), 1U);
  EXPECT_EQ(parameters.front().bytes, 2 * (10 * kMatrix + kOthers));
  // A schedule that gives and gathers shares has that collective itself.
  EXPECT_TRUE(exchanges_of(named("muon")->update(problem_of(Sharing::kGiven, 4), 0)).empty());
}

TEST(Muon, OwnersHaveAllTensorsBetweenThem) {
  for (const Sharing sharing : {Sharing::kWhole, Sharing::kGiven}) {
    std::int64_t operations = 0;
    std::int64_t masters = 0;
    for (std::int64_t place = 0; place < 4; ++place) {
      operations += operations_of(named("muon")->update(problem_of(sharing, 4, place), 0));
      masters += named("muon")->kept(problem_of(sharing, 4, place)).masters;
    }
    EXPECT_EQ(operations, 10 * newton_schulz_operations(64, 96));
    EXPECT_EQ(masters, 10 * kMatrix + kOthers);
  }
}

/// Megatron-LM's example: 10 parameters by size on 4 ranks, [[p0, p7, p8], [p1, p6, p9], [p2, p5], [p3, p4]].
TEST(Muon, OwnersAreDealtThereAndBack) {
  std::vector<Tensors> tensors;
  for (std::int64_t i = 10; i-- > 0;) tensors.push_back({"p" + std::to_string(i), i + 1});
  const std::vector<std::vector<std::string>> expected = {
      {"p0", "p7", "p8"}, {"p1", "p6", "p9"}, {"p2", "p5"}, {"p3", "p4"}};
  for (std::int64_t place = 0; place < 4; ++place) {
    std::vector<std::string> names;
    for (const Tensors& each : owned({"", {}, Sharing::kWhole, 4, place}, tensors)) names.push_back(each.name);
    EXPECT_EQ(names, expected[static_cast<std::size_t>(place)]);
  }
  EXPECT_EQ(owned({"", {}, Sharing::kWhole, 4, 1}, {{"w", 8, 8, 10}}).front().count, 3);
}

TEST(Muon, TakesGateAndUpForOneMatrixInMegatronAlone) {
  Problem problem = problem_of(Sharing::kWhole, 1);
  problem.holdings.front().tensors = {{"w1_gate", 128, 64, 3, true}, {"w3_up", 128, 64, 3, true}};
  EXPECT_EQ(operations_of(named("muon")->update(problem, 0)), 3 * newton_schulz_operations(256, 64));
  EXPECT_EQ(operations_of(named("muon", {{"form", "dion"}})->update(problem, 0)),
            6 * newton_schulz_operations(128, 64));
}

TEST(Muon, CutsOfTensorParallelismAreBlocksOrWhole) {
  Problem problem = problem_of(Sharing::kWhole, 1);
  problem.holdings.front().tensors = {{"wq", 32, 96, 5, true, 4, 1}, {"wo", 96, 32, 5, true, 1, 4}};
  const auto updated = [&](const char* mode) { return named("muon", {{"tensor_parallel", mode}})->update(problem, 0); };
  EXPECT_EQ(operations_of(updated("blockwise")), 10 * newton_schulz_operations(32, 96));
  EXPECT_EQ(operations_of(updated("duplicated")),
            5 * (newton_schulz_operations(128, 96) + newton_schulz_operations(96, 128)));
  std::vector<Exchange> exchanges = exchanges_of(updated("duplicated"));
  ASSERT_EQ(exchanges.size(), 10U);
  EXPECT_TRUE(exchanges.front().is_of_cuts);
  EXPECT_EQ(exchanges.front().bytes, 2 * 4 * 32 * 96);
  // A is of the side that is whole, 96 by 96, and an AllReduce of it is in each iteration.
  exchanges = exchanges_of(updated("distributed"));
  ASSERT_EQ(exchanges.size(), 50U);
  EXPECT_EQ(exchanges.front().what, Operation::kAllReduce);
  EXPECT_EQ(exchanges.front().bytes, 2 * 96 * 96);
  EXPECT_EQ(operations_of(updated("distributed")), 10 * 5 * (4LL * 96 * 96 * 32 + 2LL * 96 * 96 * 96));
}

TEST(Muon, RefusesFormsThatCannotBe) {
  EXPECT_EQ(refused([] {
              named("muon", {{"form", "megatron"}})->check(problem_of(Sharing::kShards, 4));
            }),
            "workload.muon.form: expected dion or automatic where ranks have shards of each matrix (FSDP): an owner in "
            "the form megatron is given whole ones");
  EXPECT_EQ(refused([] {
              named("muon", {{"form", "dion"}})->check(problem_of(Sharing::kGiven, 4));
            }),
            "workload.muon.form: expected megatron or automatic with workload.distributed_optimizer, which gives each "
            "rank what it updates");
  EXPECT_EQ(refused([] { named("muon")->check(problem_of(Sharing::kFlat, 4)); }),
            "workload.flat_parameters: expected false with workload.optimizer muon, which puts matrices together from "
            "their rows");
  EXPECT_EQ(refused([] {
              Problem problem = problem_of(Sharing::kShards, 4);
              problem.holdings.front().tensors.front().row_cuts = 2;
              named("muon", {{"tensor_parallel", "duplicated"}})->check(problem);
            }),
            "workload.muon.tensor_parallel: expected blockwise in the form dion");
}

TEST(Blocks, AreCutFromMatricesAndFromShards) {
  const auto shapes = [](const Problem& problem, std::int64_t most) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
    for (const Blocks& each : own_blocks(problem.holdings.front(), most)) counts[{each.rows, each.cols}] = each.count;
    return counts;
  };
  using Counts = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;
  EXPECT_EQ(shapes(problem_of(Sharing::kWhole, 1), 64), (Counts{{{64, 64}, 10}, {{64, 32}, 10}}));
  EXPECT_EQ(shapes(problem_of(Sharing::kShards, 4), 64), (Counts{{{16, 64}, 10}, {{16, 32}, 10}}));
  EXPECT_EQ(shapes(problem_of(Sharing::kWhole, 1), 1024), (Counts{{{64, 96}, 10}}));
}

TEST(Blocks, OwnersHaveAllBetweenThemInEqualParts) {
  std::int64_t elements = 0;
  std::int64_t most = 0;
  for (std::int64_t place = 0; place < 4; ++place) {
    std::int64_t own = 0;
    for (const Blocks& each : own_blocks(problem_of(Sharing::kWhole, 4, place).holdings.front(), 64)) {
      own += each.elements();
    }
    elements += own;
    most = std::max(most, own);
  }
  EXPECT_EQ(elements, 10 * kMatrix);
  EXPECT_LE(most, 10 * kMatrix / 4 + 64 * 64);
}

TEST(Shampoo, RenewsRootsInItsInterval) {
  const auto shampoo = named("shampoo", {{"interval", "5"}, {"iterations", "7"}});
  EXPECT_EQ(shampoo->period(), 5);
  EXPECT_EQ(shampoo->like(0), 0);
  for (const std::int64_t step : {1, 4, 6}) EXPECT_EQ(shampoo->like(step), 1);
  EXPECT_EQ(shampoo->like(10), 0);
  const Problem alone = problem_of(Sharing::kWhole, 1);
  // Both factors, and the update from both sides.
  const std::int64_t plain = 10 * 4LL * (64 * 64 * 96 + 64 * 96 * 96);
  EXPECT_EQ(operations_of(shampoo->update(alone, 1)), plain);
  EXPECT_EQ(operations_of(shampoo->update(alone, 5)), plain + 10 * 7 * 4 * 2LL * (64 * 64 * 64 + 96 * 96 * 96));
  EXPECT_EQ(shampoo->kept(alone).state_bytes(), 10 * 8LL * (64 * 64 + 96 * 96) + 8 * (10 * kMatrix + kOthers));
}

TEST(Soap, TurnsIntoItsBasesAndBack) {
  const auto soap = named("soap", {{"interval", "3"}});
  const Problem alone = problem_of(Sharing::kWhole, 1);
  const std::int64_t plain = 10 * 2LL * 4 * (64 * 64 * 96 + 64 * 96 * 96);
  EXPECT_EQ(operations_of(soap->update(alone, 1)), plain);
  EXPECT_GT(operations_of(soap->update(alone, 3)), plain + 10 * 2LL * (64 * 64 * 64 + 96 * 96 * 96));
  EXPECT_EQ(soap->kept(alone).state_bytes(), 10 * 8LL * (64 * 64 + 96 * 96) + 8 * (10 * kMatrix + kOthers));
}

TEST(BlockOptimizers, GatherUpdatesOfOwnersAndSendNothingOfShards) {
  for (const char* name : {"shampoo", "soap"}) {
    const std::vector<Exchange> exchanges = exchanges_of(named(name)->update(problem_of(Sharing::kWhole, 4), 0));
    ASSERT_EQ(exchanges.size(), 1U) << name;
    EXPECT_EQ(exchanges.front().what, Operation::kAllgather);
    EXPECT_EQ(exchanges.front().bytes, 4 * 10 * kMatrix);
    EXPECT_TRUE(exchanges_of(named(name)->update(problem_of(Sharing::kShards, 4), 0)).empty());
    EXPECT_EQ(refused([&] { named(name)->check(problem_of(Sharing::kFlat, 4)); }),
              std::string("workload.flat_parameters: expected false with workload.optimizer ") + name +
                  ", whose blocks are of rows of matrices");
  }
}

}  // namespace
}  // namespace weft::optimizers
