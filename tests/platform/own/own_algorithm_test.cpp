// SPDX-License-Identifier: Apache-2.0
// Collective algorithms that a user provides, beside Weft's own: the example's direct Allgather, and others of which
// each lacks something else. And a kind of workload.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/model_list.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/algorithm.h"
#include "sw/collectives/mesh.h"
#include "sw/collectives/ring/ring_algorithm.h"
#include "tests/support/kernel.h"

void provide_my_allgather();  // docs/example/collective

namespace weft::platforms {
namespace {

using namespace literals;
using collectives::GroupSite;
using collectives::Mesh;
using firmware::Task;

struct StepsConfig {
  int steps = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("steps", steps, "Steps to run");
  }
};

/// Part i goes to member i.
class DirectAllToAll final : public collectives::Group {
 public:
  explicit DirectAllToAll(const GroupSite& site) : mesh_(site.ranks, site.name) {}

  [[nodiscard]] int size() const override { return mesh_.size(); }
  Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) override {
    Mesh::Member& here = mesh_[member];
    const std::uint64_t part = bytes / static_cast<std::uint64_t>(size());
    const auto at = [part](int i) { return part * static_cast<std::uint64_t>(i); };
    for (int peer = 0; peer < size(); ++peer) here.invite(peer);
    for (int peer = 0; peer < size(); ++peer) {
      co_await here.invited(peer);
      here.write(peer, input + at(peer), output + at(member), part);
    }
    co_await here.received(size());
    co_await here.acknowledged();
  }

 private:
  Mesh mesh_;
};

void provide_all() {
  static const bool once = [] {
    provide_my_allgather();
    collectives::provide({.name = "my-all-to-all",
                          .doc = "each to each",
                          .operations = {dimensions::Operation::kAllToAll},
                          .rooted = {},
                          .lacking = "exchanges alone",
                          .make = [](GroupSite& site) { return std::make_unique<DirectAllToAll>(site); }});
    collectives::provide(
        {.name = "my-rings", .doc = "rings without a Broadcast", .rooted = {}, .make = [](GroupSite& site) {
           return make_rings(site, nullptr);
         }});
    collectives::provide({.name = "my-pairs",
                          .doc = "for two",
                          .lacking = "is for two",
                          .make = [](GroupSite& site) -> std::unique_ptr<collectives::Group> {
                            if (site.ranks.size() != 2) return nullptr;
                            return make_rings(site, nullptr);
                          }});
    collectives::provide(
        {.name = "my-chain",
         .doc = "nothing, and another in its place",
         .operations = {},
         .rooted = {},
         .in_place = [](const collectives::CommunicatorConfig&) { return std::string_view("my-rings"); },
         .lacking = "does nothing",
         .make = [](GroupSite&) -> std::unique_ptr<collectives::Group> { return nullptr; }});
    return true;
  }();
  static_cast<void>(once);
}

class OwnAlgorithm : public testing::Test {
 protected:
  OwnAlgorithm() { provide_all(); }

  static MachineConfig machine_of(int ranks, int per_node, const char* algorithm) {
    MachineConfig config;
    config.accelerators = ranks;
    config.per_node = per_node;
    config.collectives.algorithm = algorithm;
    config.data = true;
    return config;
  }

  struct Ended {
    std::vector<CollectiveResult> results;
    std::string remark;
    std::set<std::string_view> ran;
    std::int64_t sent = 0;
  };
  static Ended run(const MachineConfig& config, CollectiveOp op, const std::vector<std::uint64_t>& sizes) {
    test::fresh_kernel();
    Machine machine(config);
    Ended ended;
    ended.results = run_collective(machine, op, sizes, ElementType::kFp32, &ended.remark);
    for (int r = 0; r < machine.size(); ++r) {
      ended.ran.insert(machine.rank(r).algorithms.begin(), machine.rank(r).algorithms.end());
      ended.sent += machine.nic(r).counters().bytes_sent;
      if (machine.scale_up_port(r) != nullptr) ended.sent += machine.scale_up_port(r)->counters().bytes_sent;
    }
    for (const CollectiveResult& result : ended.results) EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
    return ended;
  }
  static std::string refusal(const MachineConfig& config, CollectiveOp op) {
    try {
      run(config, op, {4096});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "ran";
  }
};

const std::vector<std::uint64_t> kSizes = {3, 0, 1, 1000, 65537, (1 << 20) + 5};

TEST_F(OwnAlgorithm, PutsEveryByteInPlaceAndMovesNoneTwice) {
  for (const auto& [ranks, per_node] : {std::pair{1, 1}, {2, 1}, {2, 2}, {3, 1}, {5, 1}, {8, 4}, {12, 3}, {40, 8}}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(per_node) + " in a node");
    const Ended ended = run(machine_of(ranks, per_node, "my-allgather"), CollectiveOp::kAllgather, kSizes);
    ASSERT_EQ(ended.results.size(), kSizes.size());
    std::int64_t bytes = static_cast<std::int64_t>(kSizes.front());  // of the warm-up
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      bytes += static_cast<std::int64_t>(kSizes[i]);
      EXPECT_EQ(ended.results[i].algorithms, std::vector<std::string_view>{"my-allgather"});
      EXPECT_GE(ended.results[i].time, ranks > 1 ? 1_ps : 0_ps);
    }
    EXPECT_EQ(ended.sent, (ranks - 1) * bytes);
    EXPECT_EQ(ended.remark, "");
    EXPECT_EQ(ended.ran, std::set<std::string_view>{"my-allgather"});
  }
}

/// Every member has to wait for its turn with a window of one; what stalls changes no byte.
TEST_F(OwnAlgorithm, FollowsItsOwnFields) {
  const auto ended = [](int window, Time stall) {
    MachineConfig config = machine_of(8, 1, "my-allgather");
    config.stall = stall;
    std::vector<std::string> keys;
    for (Section& section : config.collectives.sections) {
      keys.push_back(section.key);
      if (section.name != "my-allgather") continue;
      class Setter : public FieldVisitor {
       public:
        explicit Setter(int value) : value_(value) {}

       protected:
        void scalar(std::string_view, std::string_view, const Scalar& member, Range) override {
          std::get<IntegerRef>(member).store(value_);
        }
        void nested(std::string_view, std::string_view, std::string_view, const Fields&) override {}
        void list(std::string_view, std::string_view, const ListRef&) override {}

       private:
        int value_;
      };
      Setter setter(window);
      section.config.fields(setter);
    }
    EXPECT_EQ(keys,
              (std::vector<std::string>{"nccl", "in_network", "multicast", "deepep", "dimensions", "my_allgather"}));
    return run(config, CollectiveOp::kAllgather, {4096}).results.front().time;
  };
  EXPECT_GT(ended(1, Time()), ended(7, Time()));
  EXPECT_GT(ended(7, Time(2'000'000)), ended(7, Time()));
}

TEST_F(OwnAlgorithm, RingsDoWhatItHasNot) {
  const MachineConfig config = machine_of(8, 4, "my-allgather");
  const MachineConfig rings = machine_of(8, 4, "ring");
  for (const auto& [op, name] : {std::pair{CollectiveOp::kAllReduce, "all_reduce"},
                                 {CollectiveOp::kReduceScatter, "reduce_scatter"},
                                 {CollectiveOp::kBroadcast, "broadcast"}}) {
    const Ended ended = run(config, op, kSizes);
    EXPECT_EQ(ended.remark, std::string(name) + " by ring: my-allgather has no such collective");
    EXPECT_EQ(ended.ran, std::set<std::string_view>{"ring"});
    EXPECT_EQ(ended.results.back().algorithms, std::vector<std::string_view>{"ring"});
    EXPECT_EQ(ended.results.back().time, run(rings, op, kSizes).results.back().time) << name;
  }
  EXPECT_EQ(run(config, CollectiveOp::kBarrier, {4}).remark, "");
  const Ended both = run(config, CollectiveOp::kAllgatherReduceScatter, {65536});
  EXPECT_EQ(both.results.front().algorithms, (std::vector<std::string_view>{"my-allgather", "ring"}));
  EXPECT_EQ(both.remark, "reduce_scatter by ring: my-allgather has no such collective");
}

TEST_F(OwnAlgorithm, RefusesWhatNobodyDoesForIt) {
  const MachineConfig config = machine_of(4, 1, "my-allgather");
  EXPECT_EQ(
      refusal(config, CollectiveOp::kAllToAll),
      "collectives.algorithm: expected nccl, deepep, dimensions or my-all-to-all for an AllToAll, got my-allgather");
  EXPECT_EQ(refusal(config, CollectiveOp::kGather),
            "collectives.algorithm: expected dimensions for gather, got my-allgather");
  // One that has all three of a training step has no rings beside it.
  EXPECT_EQ(
      refusal(machine_of(4, 1, "my-rings"), CollectiveOp::kBroadcast),
      "collectives.algorithm: expected ring, tree, nccl, in-network, multicast, deepep, dimensions, my-allgather, "
      "my-all-to-all or my-pairs for broadcast, or a tree in collectives.broadcast.algorithm, got my-rings");
}

TEST_F(OwnAlgorithm, MayHaveAnAllToAllAlone) {
  for (const auto& [ranks, per_node] : {std::pair{1, 1}, {3, 1}, {8, 4}}) {
    const MachineConfig config = machine_of(ranks, per_node, "my-all-to-all");
    EXPECT_EQ(run(config, CollectiveOp::kAllToAll, {4096, 65536}).remark, "");
    if (ranks == 1) continue;
    EXPECT_EQ(run(config, CollectiveOp::kAllgather, {4096}).remark,
              "all_gather by ring: my-all-to-all exchanges alone");
  }
}

TEST_F(OwnAlgorithm, MayBeForSomeGroupsAlone) {
  const Ended two = run(machine_of(2, 1, "my-pairs"), CollectiveOp::kAllReduce, {4096});
  EXPECT_EQ(two.remark, "");
  EXPECT_EQ(two.ran, std::set<std::string_view>{"my-pairs"});
  const Ended three = run(machine_of(3, 1, "my-pairs"), CollectiveOp::kAllReduce, {4096});
  EXPECT_EQ(three.remark, "all_reduce by ring: my-pairs is for two");
  EXPECT_EQ(three.ran, std::set<std::string_view>{"ring"});
}

TEST_F(OwnAlgorithm, MayNameAnotherForItsPlace) {
  const MachineConfig config = machine_of(4, 1, "my-chain");
  const Ended ended = run(config, CollectiveOp::kAllReduce, {4096});
  EXPECT_EQ(ended.remark, "all_reduce by my-rings: my-chain does nothing");
  EXPECT_EQ(ended.ran, std::set<std::string_view>{"my-rings"});
  // Which has no Broadcast either.
  EXPECT_NE(refusal(config, CollectiveOp::kBroadcast).find("for broadcast, or a tree"), std::string::npos);
}

TEST_F(OwnAlgorithm, HasANameOfItsOwn) {
  EXPECT_EQ(refusal(machine_of(4, 1, "my-algather"), CollectiveOp::kAllgather),
            "collectives.algorithm: expected one of ring, tree, nccl, hierarchical, in-network, multicast, deepep, "
            "dimensions, "
            "my-allgather, my-all-to-all, my-rings, my-pairs, my-chain, got \"my-algather\"; did you mean "
            "\"my-allgather\"?");
  EXPECT_THROW(provide_my_allgather(), std::invalid_argument);
  EXPECT_THROW(collectives::provide({.name = "ring", .doc = "", .make = {}}), std::invalid_argument);
}

/// What an algorithm says that it has and its group has not is the programmer's mistake.
TEST(OwnGroup, SaysWhichFunctionItLacks) {
  class Nothing final : public collectives::Group {
   public:
    [[nodiscard]] int size() const override { return 2; }
  };
  Nothing group;
  const auto message = [](const auto& call) {
    try {
      static_cast<void>(call());
    } catch (const std::logic_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string start = "a collective algorithm has an operation, and its Group has no ";
  EXPECT_EQ(message([&] { return group.allgather(0, 0, nullptr, 4); }), start + "allgather()");
  EXPECT_EQ(message([&] { return group.reduce_scatter(0, 0, 0, nullptr, ElementType::kFp32); }),
            start + "reduce_scatter()");
  EXPECT_EQ(message([&] { return group.all_to_all(0, 0, 0, 8); }), start + "all_to_all()");
  EXPECT_EQ(message([&] { return group.broadcast(0, 0, 0, 8); }), start + "broadcast()");
  EXPECT_EQ(message([&] { return group.rooted(0, collectives::Rooted::kGather, 0, 0, 8, ElementType::kFp32); }),
            start + "rooted()");
}

/// `weft models` says which kinds take a model, a user's own among them.
TEST(OwnKind, IsListedBesideTheModelsThatItTakes) {
  JobKind kind = job_kind("my-layers", "Layers alone.", StepsConfig(),
                          [](Platform& /*platform*/, const StepsConfig& /*config*/) { return std::unique_ptr<Job>(); });
  kind.takes_model = [](const models::AnyModel& model) { return std::holds_alternative<models::Network>(model); };
  provide(std::move(kind));
  EXPECT_EQ(read_model("resnet50", "resnet50").kinds(), (std::vector<std::string>{"kfac", "pipeline", "my-layers"}));
  EXPECT_EQ(read_model("t5-3b", "t5-3b").kinds(), std::vector<std::string>{"fsdp"});
}

}  // namespace
}  // namespace weft::platforms
