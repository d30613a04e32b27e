// SPDX-License-Identifier: Apache-2.0
// Generated traces have what ASTRA-sim reads, in the types that it reads, and nothing that it does not simulate.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/support/workload.h"

namespace weft::workloads {
namespace {

using chakra::Attribute;
using chakra::CollectiveType;
using chakra::Node;
using chakra::NodeType;
using chakra::ValueKind;
using test::workload_config;

constexpr std::int64_t kMostTag = 499'999'999;  ///< beyond it tags are those of collectives
constexpr std::uint64_t kMostGroup = 2147;      ///< whose millionfold is a 32-bit number

void expect_kind(const Node& node, const char* name, ValueKind kind) {
  const Attribute* found = node.find(name);
  ASSERT_NE(found, nullptr) << node.name << " has no " << name;
  EXPECT_EQ(found->kind, kind) << node.name << ": " << name;
}

void expect_collective(const Node& node, const std::map<std::string, std::set<std::uint64_t>>& groups,
                       std::uint64_t rank) {
  static const std::set<CollectiveType> simulated = {CollectiveType::kAllReduce, CollectiveType::kAllGather,
                                                     CollectiveType::kReduceScatter, CollectiveType::kAllToAll};
  expect_kind(node, "comm_type", ValueKind::kInt64);
  expect_kind(node, "comm_size", ValueKind::kInt64);
  EXPECT_TRUE(simulated.contains(*node.comm_type())) << node.name;
  EXPECT_GT(*node.comm_size(), 0) << node.name;
  const std::string group = node.pg_name();
  if (group.empty()) return;  // everybody
  ASSERT_TRUE(groups.contains(group)) << node.name << " of " << group;
  EXPECT_TRUE(groups.at(group).contains(rank)) << node.name << " of " << group;
}

void expect_message(const Node& node, std::int64_t rank, std::int64_t ranks) {
  for (const char* name : {"comm_src", "comm_dst", "comm_tag"}) expect_kind(node, name, ValueKind::kInt32);
  expect_kind(node, "comm_size", ValueKind::kInt64);
  const bool sends = node.type == NodeType::kSend;
  EXPECT_EQ(*(sends ? node.comm_src() : node.comm_dst()), rank) << node.name;
  const std::int64_t peer = *(sends ? node.comm_dst() : node.comm_src());
  EXPECT_TRUE(peer >= 0 && peer < ranks && peer != rank) << node.name << " " << peer;
  EXPECT_TRUE(node.comm_tag() >= 0 && node.comm_tag() <= kMostTag) << node.name << " " << node.comm_tag();
  EXPECT_GT(*node.comm_size(), 0) << node.name;
}

void expect_readable(const WorkloadConfig& config) {
  const TransformerWorkload workload(config);
  std::map<std::string, std::set<std::uint64_t>> groups;
  for (const chakra::RankGroup& group : workload.groups()) {
    ASSERT_EQ(group.name.find_first_not_of("0123456789"), std::string::npos) << group.name;
    const std::uint64_t number = std::stoul(group.name);
    ASSERT_TRUE(number >= 1 && number <= kMostGroup) << group.name;
    groups[group.name] = {group.ranks.begin(), group.ranks.end()};
    EXPECT_EQ(groups[group.name].size(), group.ranks.size()) << group.name;
  }
  for (std::int64_t rank = 0; rank < workload.ranks(); ++rank) {
    std::set<std::uint64_t> ids;
    for (const Node& node : test::nodes_of(workload, rank)) {
      EXPECT_TRUE(ids.insert(node.id).second) << node.name;
      for (const auto* dependencies : {&node.data_dependencies, &node.control_dependencies}) {
        for (const std::uint64_t other : *dependencies) EXPECT_TRUE(ids.contains(other)) << node.name;
      }
      expect_kind(node, "is_cpu_op", ValueKind::kBool);
      EXPECT_FALSE(node.is_cpu_op()) << node.name;
      switch (node.type) {
        case NodeType::kCompute:
          expect_kind(node, "num_ops", ValueKind::kInt64);
          expect_kind(node, "tensor_size", ValueKind::kUint64);
          EXPECT_GT(*node.num_ops(), 0) << node.name;
          EXPECT_GT(*node.tensor_size(), 0) << node.name << ": with the roofline ASTRA-sim stops at such a node";
          break;
        case NodeType::kCollective:
          expect_collective(node, groups, static_cast<std::uint64_t>(rank));
          break;
        case NodeType::kSend:
        case NodeType::kReceive:
          expect_message(node, rank, workload.ranks());
          break;
        default:
          ADD_FAILURE() << node.name << " is a " << chakra::name_of(node.type);
      }
    }
  }
}

TEST(WorkloadForAstraSim, HasTypesAndValuesThatItReads) {
  WorkloadConfig pipeline = workload_config("tp=2,dp=2,pp=2", 4);
  pipeline.model.tied = true;
  WorkloadConfig experts = workload_config("tp=2,cp=2,ep=2,fsdp=2,dp=2", 2);
  experts.sequence_parallel = true;
  test::set_experts(experts, 4, 2);
  experts.copies = true;
  WorkloadConfig asynchronous = workload_config("tp=2,fsdp=2");
  asynchronous.sequence_parallel = true;
  asynchronous.async_tensor_parallel = true;
  asynchronous.steps = 2;
  WorkloadConfig rings = workload_config("cp=3,pp=2", 2);
  rings.recompute = models::Recompute::kFull;
  for (const WorkloadConfig* config : {&pipeline, &experts, &asynchronous, &rings}) expect_readable(*config);
}

}  // namespace
}  // namespace weft::workloads
