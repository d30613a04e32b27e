// SPDX-License-Identifier: Apache-2.0
// What a timeline shows of nodes.
#include <algorithm>
#include <string>

#include "sw/schedules/graph/graph.h"

namespace weft::schedules {

using chakra::CollectiveType;
using chakra::Node;
using chakra::NodeType;

namespace {

/// As NCCL's kernels call it, which make the rest of sends and receives.
std::string_view operation_name(CollectiveType type) {
  switch (type) {
    case CollectiveType::kAllReduce:
    case CollectiveType::kBarrier:
      return "AllReduce";
    case CollectiveType::kReduce:
      return "Reduce";
    case CollectiveType::kAllGather:
      return "AllGather";
    case CollectiveType::kBroadcast:
      return "Broadcast";
    case CollectiveType::kReduceScatter:
    case CollectiveType::kReduceScatterBlock:
      return "ReduceScatter";
    case CollectiveType::kGather:
    case CollectiveType::kScatter:
    case CollectiveType::kAllToAll:
      break;
  }
  return "SendRecv";
}

}  // namespace

void GraphEngine::record(Probe& probe, int ranks) {
  probe_ = &probe;
  if (steady_) steady_->record(probe);
  for (int r = 0; r < std::min(ranks, static_cast<int>(ends_.size())); ++r) {
    End& end = *ends_[static_cast<std::size_t>(r)];
    end.probe = &probe;
    const std::string process = "accelerator " + std::to_string(end.rank->place);
    end.tracks = {probe.add_track(process, "CPU nodes"), probe.add_track(process, "compute nodes"),
                  probe.add_track(process, "communication nodes")};
    if (phases_of_) end.phases.emplace(probe, process);
    if (end.rank->remote.exists()) end.tracks[kMemory] = probe.add_track(process, "memory nodes");
  }
}

void GraphEngine::draw(End& end, const Work& work) {
  const Node& node = *work.node;
  const Resource resource = resource_of(node);
  ProbeSlice slice{.what = node.name, .from = work.began, .to = end.rank->processor->now()};
  if (node.type == NodeType::kSend || node.type == NodeType::kReceive) {
    const bool sends = node.type == NodeType::kSend;
    const MessageName name = message_of(end, *work.graph, node);
    slice.kind = sends ? SliceKind::kSend : SliceKind::kReceive;
    slice.bytes = static_cast<std::int64_t>(name.bytes);
    slice.peer = sends ? name.to : name.from;
    // Those of one name end in their order on both sides.
    const std::string pair = std::to_string(name.from) + " " + std::to_string(name.to) + " " +
                             std::to_string(name.bytes) + " " + std::to_string(name.instance);
    const std::uint64_t arrow = arrow_id(pair, static_cast<std::uint64_t>(name.tag), end.drawn[name]++);
    (sends ? slice.leads : slice.follows) = arrow;
  } else if (node.type == NodeType::kCollective && node.comm_type()) {
    slice.kind = SliceKind::kCollective;
    slice.operation = operation_name(*node.comm_type());
    slice.bytes = node.comm_size().value_or(-1);
    slice.ranks = group_of(end, *work.graph, node).group->size();
  } else if (resource == kMemory) {
    slice.bytes = node.tensor_size().value_or(-1);
  } else if (resource == kCpu) {
    slice.kind = SliceKind::kHost;
  } else if (kernels_of(*work.graph, node).empty()) {
    slice.kind = SliceKind::kKernel;  // the accelerator has no name for it
  }
  end.probe->slice(end.tracks[resource], slice);
  if (resource != kCompute || !end.phases) return;
  if (const std::vector<std::string> phases = phases_of_(node.name); !phases.empty())
    end.phases->went(phases, slice.to);
}

}  // namespace weft::schedules
