// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/demands.h"

#include "traces/chakra/node.h"
#include "traces/chakra/reader.h"

namespace weft::chakra {
namespace {

bool reduces(const Node& node) {
  switch (node.comm_type().value_or(CollectiveType::kAllReduce)) {
    case CollectiveType::kAllGather:
    case CollectiveType::kAllToAll:
    case CollectiveType::kBroadcast:
    case CollectiveType::kGather:
    case CollectiveType::kScatter:
      return false;
    default:
      return true;
  }
}

void add(const Node& node, TraceDemands& demands) {
  if (node.find("pg_name") != nullptr) demands.groups.insert(node.pg_name());
  switch (node.type) {
    case NodeType::kCollective:
      demands.reduces = demands.reduces || reduces(node);
      break;
    case NodeType::kCompute:
      demands.computes = demands.computes || !node.is_cpu_op();
      break;
    case NodeType::kMemoryLoad:
    case NodeType::kMemoryStore:
      demands.moves_memory = true;
      break;
    default:
      break;
  }
}

}  // namespace

TraceDemands demands(const TraceFiles& files) {
  TraceDemands demands;
  for (const RankFile& file : files.files) {
    TraceReader reader(file.file);
    for (Node node; reader.next(node);) {
      try {
        add(node, demands);
      } catch (const AttributeError&) {
        demands.reduces = demands.reduces || node.type == NodeType::kCollective;
      }
    }
  }
  return demands;
}

}  // namespace weft::chakra
