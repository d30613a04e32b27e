// SPDX-License-Identifier: Apache-2.0
// The registry, the order of tasks, and optimizers that go through parameters element by element.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sw/optimizers/elementwise.h"

namespace weft::optimizers {
namespace {

using models::Elementwise;
using models::Fusion;

/// Of 8 ranks that share 1000 elements.
Problem thousand(Sharing sharing, Fusion fusion = Fusion::kFused) {
  Holding holding{"", {{"w", 20, 30, 1, true}, {"norm", 400, 1, 1}}, sharing, 8, 0, 0};
  holding.share = sharing == Sharing::kWhole ? holding.elements() : share_of(holding.elements(), 8);
  return {{holding}, fusion, 2};
}

std::shared_ptr<const Optimizer> elementwise(const char* name) {
  Choice choice;
  choice.name = name;
  return optimizer_of(choice);
}

Elementwise last_kernel(const std::vector<Task>& tasks) {
  return std::get<Elementwise>(tasks.back().pieces.back().kernels.back().shape);
}

TEST(Optimizers, AreEntriesOfARegistry) {
  EXPECT_EQ(Choice().name.text(), "adamw");
  Choice choice;
  choice.name = "adam";
  EXPECT_THROW(static_cast<void>(optimizer_of(choice)), ConfigError);
  EXPECT_THROW(provide({.name = "mine", .doc = "", .make = nullptr}), std::invalid_argument);
}

struct LionConfig {
  int passes = 3;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("passes", passes, "Times that it goes through the parameters", Range{1, 10});
  }
};

class Lion final : public Optimizer {
 public:
  explicit Lion(LionConfig config) : config_(config) {}
  [[nodiscard]] std::vector<Task> update(const Problem& problem, std::int64_t /*step*/) const override {
    const std::int64_t bytes = config_.passes * problem.share();
    return {Task{{{"lion", {{"lion", Elementwise{bytes, bytes, 1}}}, {}}}}};
  }
  [[nodiscard]] Kept kept(const Problem& problem) const override { return {problem.share(), {}}; }

 private:
  LionConfig config_;
};

TEST(Optimizers, CanBeAUsersOwn) {
  provide({.name = "my-lion",
           .doc = "a sign",
           .config = LionConfig(),
           .config_doc = "workload.optimizer my-lion",
           .make = [](const AnyConfig& config) { return std::make_unique<Lion>(config.as<LionConfig>()); }});
  EXPECT_EQ(last_kernel(elementwise("my-lion")->update(thousand(Sharing::kWhole), 0)).bytes_read, 3000);
  Choice choice;
  EXPECT_NE(std::find_if(choice.own.begin(), choice.own.end(),
                         [](const Section& section) { return section.key == "my_lion"; }),
            choice.own.end());
}

TEST(Optimizers, AdamGoesThroughTheRanksShare) {
  const std::vector<Task> fused = elementwise("adamw")->update(thousand(Sharing::kWhole), 0);
  EXPECT_EQ(last_kernel(fused).bytes_read, 16'000);
  EXPECT_EQ(last_kernel(fused).bytes_written, 12'000);
  const Elementwise eager = last_kernel(elementwise("adamw")->update(thousand(Sharing::kWhole, Fusion::kEager), 0));
  EXPECT_EQ(eager.bytes_read + eager.bytes_written, 80'000);
  EXPECT_EQ(eager.launches, 8);
  // What is compiled block by block has the optimizer of PyTorch.
  EXPECT_EQ(last_kernel(elementwise("adamw")->update(thousand(Sharing::kWhole, Fusion::kCompiledBlocks), 0)).launches,
            8);
  for (const Sharing sharing : {Sharing::kShards, Sharing::kFlat, Sharing::kGiven}) {
    EXPECT_EQ(last_kernel(elementwise("adamw")->update(thousand(sharing), 0)).bytes_read, 2000);
    EXPECT_EQ(elementwise("adamw")->kept(thousand(sharing)).state_bytes(), 8 * 125);
  }
}

TEST(Optimizers, NoneKeepsTheMomentsAndUpdatesNothing) {
  EXPECT_TRUE(elementwise("none")->update(thousand(Sharing::kWhole), 0).empty());
  EXPECT_EQ(elementwise("none")->kept(thousand(Sharing::kWhole)).state_bytes(), 8000);
}

TEST(Optimizers, TasksOverlap) {
  const auto piece = [](const char* name, bool exchanges) {
    return Piece{name, {}, exchanges ? std::optional<Exchange>(Exchange{}) : std::nullopt};
  };
  const std::vector<Task> tasks(3, Task{{piece("a", true), piece("b", true), piece("c", false)}});
  std::string order;
  for (const Ordered& each : in_order(tasks)) {
    order += each.piece->name + std::to_string(each.task) + ":" + std::to_string(each.exchanged) + " ";
  }
  // Collectives are a0, a1, b0, a2, b1, b2.
  EXPECT_EQ(order, "a0:0 a1:0 b0:1 a2:0 b1:2 c0:3 b2:4 c1:5 c2:6 ");
}

}  // namespace
}  // namespace weft::optimizers
