// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/end_timeline.h"

#include <string>

namespace weft::analytical {

using chakra::NodeType;

EndTimeline::EndTimeline(Probe& probe, std::uint32_t ends, bool remote_memory)
    : probe_(probe), tracks_(ends), begun_(ends) {
  for (std::uint32_t e = 0; e < ends; ++e) {
    const std::string process = "end " + std::to_string(e);
    std::array<int, kRows>& rows = tracks_[e];
    rows[kCompute] = probe.add_track(process, "compute nodes");
    rows[kCollectives] = probe.add_track(process, "collectives");
    rows[kMessages] = probe.add_track(process, "messages");
    if (remote_memory) rows[kMemory] = probe.add_track(process, "memory nodes");
    rows[kCpu] = probe.add_track(process, "CPU nodes");
  }
}

EndTimeline::Row EndTimeline::row_of(const chakra::Node& node) {
  switch (node.type) {
    case NodeType::kCollective:
      return kCollectives;
    case NodeType::kSend:
    case NodeType::kReceive:
      return kMessages;
    case NodeType::kMemoryLoad:
    case NodeType::kMemoryStore:
      return kMemory;
    default:
      return node.is_cpu_op() ? kCpu : kCompute;
  }
}

SliceKind EndTimeline::kind_of(const chakra::Node& node) {
  switch (row_of(node)) {
    case kCollectives:
      return SliceKind::kCollective;
    case kMessages:
      return node.type == NodeType::kSend ? SliceKind::kSend : SliceKind::kReceive;
    case kMemory:
      return node.type == NodeType::kMemoryStore ? SliceKind::kStore : SliceKind::kLoad;
    case kCpu:
      return SliceKind::kHost;
    case kCompute:
    case kRows:
      break;
  }
  return SliceKind::kKernel;
}

void EndTimeline::end(Time now, std::uint32_t end, const chakra::Node& node) {
  const auto begun = begun_[end].find(&node);
  const std::string name = node.name.empty() ? node.label() : node.name;
  probe_.slice(tracks_[end][row_of(node)], {.what = name, .from = begun->second, .to = now, .kind = kind_of(node)});
  begun_[end].erase(begun);
}

}  // namespace weft::analytical
