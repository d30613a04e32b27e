// SPDX-License-Identifier: Apache-2.0
// What the switches of a hierarchical pool do for groups of accelerators.
#include <algorithm>

#include "hw/memory/remote/remote_memory.h"
#include "hw/memory/remote/remote_stages.h"

namespace weft::memory {

std::uint32_t RemoteMemory::create_group(const std::vector<std::uint32_t>& accelerators) {
  if (!config_.hierarchy.in_switch) return RemoteTarget::create_group(accelerators);
  Group group;
  group.members = accelerators;
  std::sort(group.members.begin(), group.members.end());
  group.place_of.assign(ports_.size(), -1);
  for (std::uint32_t place = 0; place < group.members.size(); ++place) {
    const std::uint32_t member = group.members[place];
    group.place_of[member] = place;
    if (group.nodes.empty() || group.nodes.back().number != node_of(member)) {
      group.nodes.push_back({node_of(member), place, place});
    }
    group.nodes.back().end = place + 1;
    group.node_of.push_back(static_cast<std::uint32_t>(group.nodes.size() - 1));
  }
  for (auto& next : group.next) next.assign(group.members.size(), 0);
  groups_.push_back(std::move(group));
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

tlm::tlm_response_status RemoteMemory::check(const InSwitch& asked, const tlm::tlm_generic_payload& payload,
                                             std::size_t port) const {
  if (asked.group >= groups_.size() || groups_[asked.group].place_of[port] < 0) return tlm::TLM_GENERIC_ERROR_RESPONSE;
  if (payload.get_byte_enable_ptr() != nullptr) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  const auto chunk = static_cast<std::uint64_t>(config_.chunk.count());
  const std::uint64_t bytes = payload.get_data_length();
  const bool whole = payload.is_read() || bytes % size_of(asked.type) == 0;
  if (bytes == 0 || payload.get_address() % chunk + bytes > chunk || !whole) return tlm::TLM_BURST_ERROR_RESPONSE;
  return tlm::TLM_OK_RESPONSE;
}

std::uint32_t RemoteMemory::open(const FlowName& name, const tlm::tlm_generic_payload& payload, ElementType type) {
  const auto [found, fresh] = open_.try_emplace(name, 0);
  if (!fresh) return found->second;
  found->second = flows_.take();
  const auto [index, direction, number] = name;
  const Group& group = groups_[index];
  Flow& flow = flows_[found->second];
  flow.group = index;
  flow.direction = direction;
  flow.number = number;
  flow.address = payload.get_address();
  flow.bytes = payload.get_data_length();
  flow.type = type;
  flow.missing = static_cast<std::uint32_t>(group.members.size());
  flow.nodes_left = static_cast<std::uint32_t>(group.nodes.size());
  flow.requests.assign(group.members.size(), kNone);
  flow.left.clear();
  for (const Group::Node& node : group.nodes) flow.left.push_back(node.end - node.begin);
  return found->second;
}

void RemoteMemory::join(Time now, std::uint32_t request, const InSwitch& asked) {
  const tlm::tlm_generic_payload& payload = *requests_[request].payload;
  const std::uint32_t port = requests_[request].port;
  const Direction direction = payload.is_read() ? kLoad : kStore;
  Group& group = groups_[asked.group];
  const auto place = static_cast<std::size_t>(group.place_of[port]);
  const FlowName name{asked.group, direction, group.next[direction][place]};
  const std::uint32_t index = open(name, payload, asked.type);
  Flow& flow = flows_[index];
  if (flow.address != payload.get_address() || flow.bytes != payload.get_data_length() ||
      (direction == kStore && flow.type != asked.type)) {
    return finish(request, tlm::TLM_GENERIC_ERROR_RESPONSE);
  }
  ++group.next[direction][place];
  flow.requests[place] = request;
  --flow.missing;
  if (direction == kStore) {
    const Time in_node = book(in_ports_[kStore][port], now, flow.bytes, port_time_) + config_.hierarchy.in_node_latency;
    dispatcher_.post(in_node, *this, stage::kReducingInNode,
                     static_cast<std::uint64_t>(group.node_of[place]) << 32 | index);
  }
  if (flow.missing != 0) return;
  open_.erase(name);
  if (direction == kStore) return;
  ++totals_.gathers;
  const Time read = book(memories_[memory_of(port, flow.address)], now, flow.bytes, memory_time_) + config_.latency;
  dispatcher_.post(read, *this, stage::kGatheredOutside, index);
}

void RemoteMemory::gather_to_nodes(Time now, std::uint32_t index) {
  const Flow& flow = flows_[index];
  const Group& group = groups_[flow.group];
  const std::uint32_t memory = memory_of(group.members.front(), flow.address);
  for (std::uint32_t place = 0; place < group.nodes.size(); ++place) {
    Resource& link = link_to(kLoad, memory, group.nodes[place].number);
    const Time in_node = book(link, now, flow.bytes, link_time_) + config_.hierarchy.out_node_latency;
    dispatcher_.post(in_node, *this, stage::kGatheredInNode, static_cast<std::uint64_t>(place) << 32 | index);
  }
}

void RemoteMemory::gather_to_ports(Time now, std::uint32_t index, std::uint32_t place) {
  Flow& flow = flows_[index];
  const Group::Node& node = groups_[flow.group].nodes[place];
  for (std::uint32_t member = node.begin; member < node.end; ++member) {
    const std::uint32_t request = flow.requests[member];
    const std::uint32_t port = requests_[request].port;
    move_bytes(*requests_[request].payload, port);
    const Time there = book(in_ports_[kLoad][port], now, flow.bytes, port_time_) + config_.hierarchy.in_node_latency;
    dispatcher_.post(there, *this, stage::kMemberDone, request);
  }
  if (--flow.nodes_left == 0) flows_.free(index);
}

void RemoteMemory::reduce_in_node(Time now, std::uint32_t index, std::uint32_t place) {
  Flow& flow = flows_[index];
  if (--flow.left[place] != 0) return;
  const Group& group = groups_[flow.group];
  Resource& link = link_to(kStore, memory_of(group.members.front(), flow.address), group.nodes[place].number);
  const Time outside = book(link, now, flow.bytes, link_time_) + config_.hierarchy.out_node_latency;
  dispatcher_.post(outside, *this, stage::kReducingOutside, index);
}

void RemoteMemory::reduce_outside(Time now, std::uint32_t index) {
  Flow& flow = flows_[index];
  if (--flow.nodes_left != 0) return;
  ++totals_.reductions;
  Resource& memory = memories_[memory_of(groups_[flow.group].members.front(), flow.address)];
  dispatcher_.post(book(memory, now, flow.bytes, memory_time_) + config_.latency, *this, stage::kReduced, index);
}

void RemoteMemory::reduce_done(std::uint32_t index) {
  if (data_) add_up(flows_[index]);
  const std::vector<std::uint32_t> requests = flows_[index].requests;
  flows_.free(index);
  for (const std::uint32_t request : requests) finish(request, tlm::TLM_OK_RESPONSE);
}

/// As the switches do: the members of each node, then the nodes.
void RemoteMemory::add_up(const Flow& flow) {
  const auto bytes = static_cast<std::uint64_t>(flow.bytes);
  const auto operand = [&](std::uint32_t member) {
    return reinterpret_cast<const std::byte*>(requests_[flow.requests[member]].payload->get_data_ptr());
  };
  std::vector<std::byte> sum;
  for (const Group::Node& node : groups_[flow.group].nodes) {
    if (operand(node.begin) == nullptr) return;
    std::vector<std::byte> part(operand(node.begin), operand(node.begin) + bytes);
    for (std::uint32_t member = node.begin + 1; member < node.end; ++member) {
      if (operand(member) == nullptr) return;
      add(flow.type, part.data(), operand(member), part.data(), bytes);
    }
    if (sum.empty()) {
      sum = std::move(part);
    } else {
      add(flow.type, sum.data(), part.data(), sum.data(), bytes);
    }
  }
  stores_[0].write(flow.address, sum.data(), bytes);
}

std::vector<std::string> RemoteMemory::left_over() const {
  std::vector<std::string> lines;
  for (const auto& [name, index] : open_) {
    const Flow& flow = flows_[index];
    const Group& group = groups_[flow.group];
    std::string line = std::string(this->name()) + ": " + (flow.direction == kLoad ? "load" : "store") + " " +
                       std::to_string(flow.number) + " of group " + std::to_string(flow.group) +
                       " waits for accelerators";
    constexpr std::size_t kShown = 8;
    std::size_t count = 0;
    for (std::size_t place = 0; place < group.members.size(); ++place) {
      if (flow.requests[place] != kNone || count++ >= kShown) continue;
      line += " " + std::to_string(group.members[place]);
    }
    if (count > kShown) line += " and " + std::to_string(count - kShown) + " more";
    lines.push_back(line);
  }
  return lines;
}

}  // namespace weft::memory
