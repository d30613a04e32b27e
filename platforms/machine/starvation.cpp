// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/starvation.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "platforms/machine/round_trip.h"
#include "sw/collectives/followed.h"
#include "sw/collectives/nccl/nccl_collectives.h"

namespace weft::platforms {
namespace {

constexpr double kEnough = 0.95;

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %%", share * 100);
  return text.data();
}

}  // namespace

std::vector<std::string> describe_starved_reads(const nic::NicConfig& config, const fabric::Plan& plan, Time memory,
                                                const std::string& interface) {
  const Bytes segment = plan.config().segment;
  const Bytes ahead = std::max(2 * segment, (config.read_ahead + segment - Bytes(1)) / segment * segment);
  double share = 1;
  Bytes needed;
  Rate rate;
  for (std::uint32_t e = 0; e < plan.topology().ends.size(); ++e) {
    const Rate link = plan.end_link(e).rate;
    const Bytes fitting = config.fitting_read_ahead(link, memory, plan.config().mtu);
    if (fitting <= needed) continue;
    needed = fitting;
    rate = link;
    // What is requested when a segment leaves must be here when the last of what is on its way has left.
    const Time away = config.read_latency + memory;
    const Rate payload = std::min(plan.end_config(e).payload_rate(), config.dma_rate);
    if (away > Time()) {
      share = std::min(share,
                       static_cast<double>(transfer_time(ahead, payload).count()) / static_cast<double>(away.count()));
    }
  }
  if (share >= kEnough) return {};
  const Bytes unit(1 << 10);
  return {interface + ".read_ahead: payload of " + to_text(ahead) + " on its way from memory fills about " +
          percent(share) + " of a link of " + to_text(rate) + "; it takes about " +
          to_text((needed + unit - Bytes(1)) / unit * unit) + ", and 0B sets it so"};
}

RingModel ring_model(const MachineConfig& config, const fabric::Plan& network, const fabric::Plan* node) {
  constexpr int kMostMembers = 16;
  constexpr int kMostRings = 4;
  const collectives::Communicator::Config& rings = config.collectives;
  const int per_node = config.per_node;
  int members = config.accelerators;
  if (members > kMostMembers) members = per_node <= kMostMembers ? kMostMembers / per_node * per_node : kMostMembers;
  const int channels = rings.channels != 0 ? rings.channels : per_node > 1 ? 8 : 4;
  // Rings take turns with the interfaces of a node, and all pass every port within it.
  const bool leaves = config.accelerators > per_node || node == nullptr;
  const int of_interface = !leaves ? channels : (channels + per_node - 1) / per_node;

  RingModel model;
  model.rings = std::min(of_interface, kMostRings);
  const firmware::Processor::Config& cores = config.firmware;
  model.wake = cycle_time(cores.wake_cycles, cores.clock);
  model.post = cycle_time(cores.poll_cycles + cores.post_cycles, cores.clock);
  const accelerator::Accelerator::Config& array = config.accelerator.array;
  model.engine = array.copy_overhead + transfer_time(rings.chunk, array.copy_rate);
  const Time memory = config.accelerator.hbm.read_time();
  for (int m = 0; m < members; ++m) {
    const int next = (m + 1) % config.accelerators;
    const bool inside = node != nullptr && m / per_node == next / per_node;
    const fabric::Plan& plan = inside ? *node : network;
    const nic::NicConfig& nic = inside ? config.scale_up.port : config.nic;
    // Within a node positions count; between nodes the interfaces of both ends.
    const Way way(plan, static_cast<std::uint32_t>(inside ? m % per_node : m),
                  static_cast<std::uint32_t>(inside ? next % per_node : next));
    const auto segment = static_cast<std::uint32_t>(plan.config().segment.count());
    const Bytes wire(scaled(rings.chunk.count(), plan.config().wire_bytes(segment), segment));
    RingLane lane;
    lane.notice = nic.message_cost + nic.packet_cost + (inside ? Time() : array.relay);
    lane.request = lane.notice + nic.read_latency + memory;
    lane.length = std::max(transfer_time(wire, way.rate), transfer_time(rings.chunk, nic.dma_rate)) *
                  (inside ? channels : of_interface) / model.rings;
    const Bytes turn = std::max(nic.turn, Bytes(plan.config().wire_bytes(segment)));
    lane.turn = std::min(lane.length, transfer_time(turn, way.rate));
    lane.way = way.time;
    lane.visible = nic.packet_cost + nic.write_latency;
    model.lanes.push_back(lane);
  }
  return model;
}

namespace {

/// Of so many slots, of which long blocks fill `slice` with a message; many small ones count as fewer large ones.
double share_of(RingModel model, const collectives::CommunicatorConfig& rings, int slots,
                double (RingModel::*share)(int) const) {
  constexpr int kReplayed = 64;
  const int slice = rings.most_slice(slots);
  const int joined = std::max(slice, (slots + kReplayed - 1) / kReplayed);
  for (RingLane& lane : model.lanes) lane.length = lane.length * joined;
  model.engine = model.engine * joined;
  return (model.*share)(slots / joined);
}

constexpr int kMostSlots = 1024;

/// The fewest slots, an even number, that let at least such a share through, which the most do.
int sufficient_slots(const RingModel& model, const collectives::CommunicatorConfig& rings, double enough,
                     double (RingModel::*share)(int) const) {
  const int slots = rings.slots;
  int most = slots;
  while (most < kMostSlots && share_of(model, rings, most, share) < enough) most = std::min(2 * most, kMostSlots);
  int least = most / 2;
  while (most - least > 2) {
    const int middle = (least + most) / 4 * 2;
    if (middle == least || middle == most) break;
    (share_of(model, rings, middle, share) < enough ? least : most) = middle;
  }
  return most;
}

}  // namespace

std::vector<std::string> describe_starved_rings(const MachineConfig& config, const fabric::Plan& network,
                                                const fabric::Plan* node, RingUse use) {
  using collectives::Protocol;
  const collectives::Communicator::Config& rings = config.collectives;
  const bool has_rings =
      rings.algorithm == collectives::kRingAlgorithm || rings.algorithm == collectives::NcclConfig::kAlgorithm;
  const bool plain = rings.protocol == Protocol::kSimple || rings.protocol == Protocol::kAutomatic;
  if (!has_rings || !plain || !rings.order.empty() || config.accelerators < 2) return {};
  const RingModel model = ring_model(config, network, node);
  Time length;
  Time away;
  for (const RingLane& lane : model.lanes) {
    length = std::max(length, lane.length * model.rings);
    away = std::max(away, 2 * (lane.request + lane.way + lane.visible) + model.engine);
  }
  // Slots that last several times as long as one is away need no replay.
  if (rings.slots / 2 * length >= 3 * away) return {};

  const bool leaves = config.accelerators > config.per_node || node == nullptr;
  std::vector<std::string> lines;
  const auto tell = [&](const char* what, double (RingModel::*share)(int) const) {
    const double had = share_of(model, rings, rings.slots, share);
    if (had >= kEnough) return;
    // Other things keep links idle, too: the first chunks' way round, or the time that chunks are with their engine.
    const double best = share_of(model, rings, kMostSlots, share);
    if (had >= kEnough * best) return;
    constexpr double kGood = 0.85;
    const int enough = best < kGood ? 0 : sufficient_slots(model, rings, kEnough * best, share);
    lines.push_back((leaves ? network.path() : node->path()) + ": collectives.slots of " + std::to_string(rings.slots) +
                    " and collectives.chunk of " + to_text(rings.chunk) + " let a large " + what +
                    " by rings fill at most about " + percent(had) + " of the links, since slots come back late; " +
                    (enough != 0 ? "it takes about collectives.slots=" + std::to_string(enough)
                                 : "a larger collectives.chunk fills more of them"));
  };
  if (use.sums) tell("ReduceScatter", &RingModel::reduce_scatter);
  if (use.gathers && config.accelerator.array.shared_cores) tell("Allgather or Broadcast", &RingModel::staged_flow);
  return lines;
}

std::vector<std::string> describe_idle_pairs(const MachineConfig& config, std::uint64_t followed) {
  const fabric::FabricConfig& node = config.scale_up.fabric;
  const bool joins_pairs = node.topology == fabric::Shape::kDimensions && node.dimensions.size() == 1 &&
                           node.dimensions.front().block.starts_with("FullyConnected");
  if (!joins_pairs || config.per_node < 3 || !collectives::has_followed(followed, collectives::Followed::kRings))
    return {};
  const std::string links = std::to_string(config.per_node - 1);
  return {"scale_up.fabric: an accelerator has " + links +
          " links, one to each other of its node, and rings use 1 of " + links +
          ", since all pass the node in one order; collectives.algorithm=dimensions with direct first in " +
          "collectives.dimensions.all_reduce, all_gather and reduce_scatter uses all"};
}

std::vector<std::string> describe_unsprayed(const nic::NicConfig& nic, const fabric::Plan& network,
                                            const std::string& interface) {
  const fabric::Routing routing = network.config().routing;
  const bool keeps_paths = routing == fabric::Routing::kAuto || routing == fabric::Routing::kDmodk;
  const bool sprays = nic.transport == nic::Transport::kUet && nic.uet.paths > 1;
  if (!sprays || !keeps_paths || network.config().topology != fabric::Shape::kFatTree) return {};
  const bool has_choice = std::any_of(
      network.topology().switches.begin(), network.topology().switches.end(), [](const fabric::Topology::Node& node) {
        const auto up =
            std::count_if(node.ports.begin(), node.ports.end(), [](const auto& port) { return !port.is_end; });
        return node.level == 0 && up > 1;
      });
  if (!has_choice) return {};
  return {interface + ".transport is uet, whose packets are to take one of " + std::to_string(nic.uet.paths) +
          " paths each, and " + network.path() + ".routing is " + std::string(name_of(routing)) +
          ", with which all of a queue pair take the same path; " + network.path() + ".routing=ecmp spreads them"};
}

std::vector<std::string> describe_idle_trimming(const fabric::Plan& network) {
  const Bytes trim = network.config().switch_config.buffer.trim;
  if (trim == Bytes() || !has_lossy_links(network)) return {};
  Bytes most;
  for (const auto& node : network.topology().switches) {
    Bytes held = network.config().switch_config.buffer.shared;
    for (const auto& port : node.ports) held = held + network.topology().link_of(port).buffer;
    most = std::max(most, held);
  }
  if (trim <= most) return {};
  const std::string path = network.path();
  return {path + ".switch.buffer.trim of " + to_text(trim) + " is more than a switch holds, which is " + to_text(most) +
          " with " + path + ".switch.buffer.shared and the " + path +
          ".link.buffer of each port: no queue is that long, and packets are cut only where they find no room"};
}

std::vector<std::string> describe_late_marks(const nic::NicConfig& nic, const fabric::Plan& network) {
  const fabric::Switch::Config& config = network.config().switch_config;
  const Bytes trim = config.buffer.trim;
  const bool listens = nic.congestion == "nscc" || nic.congestion == "nscc-rccc";
  if (!listens || trim == Bytes() || config.marking.max <= trim) return {};
  const std::string path = network.path() + ".switch.";
  return {path + "marking.max of " + to_text(config.marking.max) + " is more than " + path + "buffer.trim of " +
          to_text(trim) + ": packets are cut before all are marked, and flows by " + nic.congestion.text() +
          " that meet share a link unevenly; expected at most " + to_text(trim) + " for marking.max"};
}

}  // namespace weft::platforms
