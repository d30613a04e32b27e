// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/machine_checks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "hw/core/number_text.h"
#include "hw/fabric/switch/switch_model.h"
#include "hw/memory/memory_model.h"
#include "hw/nic/nic_model.h"
#include "platforms/machine/round_trip.h"
#include "sw/collectives/in_network/in_network.h"
#include "sw/collectives/multicast/multicast.h"

namespace weft::platforms {
namespace {

constexpr Rate kLeastMemoryRate = Rate(1'000'000);

/// With adaptive routing, and by detours, packets of a queue pair overtake each other where there is a choice.
bool may_overtake(const fabric::Plan& plan) {
  const fabric::Topology& topology = plan.topology();
  for (const fabric::Routes& routes : plan.routes()) {
    if (routes.detours()) return topology.switches.size() > 1;
    if (!routes.adaptive()) continue;
    Packet packet;
    for (std::uint32_t end = 0; end < topology.ends.size(); ++end) {
      packet.destination = end;
      if (routes.choices(packet).count > 1) return true;
    }
  }
  return false;
}

/// What comes ahead of its turn is dropped, and nobody would send it again.
void check_order(const fabric::Plan& plan, const nic::NicConfig& nic, const std::string& interface) {
  const std::string& network = plan.path();
  if (nic.recovers() || !may_overtake(plan)) return;
  throw ConfigError(interface + ".recovery",
                    "expected true, since " + network + ".routing is " + std::string(name_of(plan.config().routing)) +
                        ": packets of a queue pair overtake each other, and what comes ahead "
                        "of its turn would be dropped and not sent again; " +
                        interface + ".reorder=" + to_text(fitting_reorder(nic, plan)) + " beside it keeps them");
}

/// While old and new routes mix, packets of a queue pair overtake each other, and some find no way left.
void check_reroutings(const fabric::Plan& plan, const nic::NicConfig& nic, const std::string& interface) {
  const std::vector<fabric::Rerouting>& all = plan.reroutings();
  const auto first = std::find_if(all.begin(), all.end(), [](const auto& each) { return each.at > Time(); });
  if (nic.recovers() || first == all.end()) return;
  throw ConfigError(interface + ".recovery", "expected true, since " + plan.path() +
                                                 ".reroute_after changes routes at " + to_text(first->at) +
                                                 ": packets on their way then can overtake each other or find no path "
                                                 "left, and would be dropped and not sent again");
}

/// A thread that polls keeps its hardware thread, and what waits for a place in a queue needs one to be posted.
void check_polling(const MachineConfig& config) {
  const std::pair<const char*, const nic::NicConfig*> interfaces[] = {{"nic", &config.nic},
                                                                      {"scale_up.port", &config.scale_up.port}};
  const bool on_dpa = config.dpa.cores > 0 && collectives::is_offloaded(config.collectives);
  for (const auto& [name, nic] : interfaces) {
    const bool sends = nic->send_queue_depth > 0;
    if (!sends && nic->receive_queue_depth == 0) continue;
    const std::string field = std::string(name) + (sends ? ".send_queue_depth" : ".receive_queue_depth");
    const bool polls = config.firmware.wait == firmware::Wait::kPoll;
    if (!polls && !(on_dpa && config.dpa.wait == firmware::Wait::kPoll)) continue;
    throw ConfigError(polls ? "firmware.wait" : "dpa.wait",
                      "expected event, since " + field + " is " +
                          std::to_string(sends ? nic->send_queue_depth : nic->receive_queue_depth) +
                          ": a thread that polls leaves its core to no other, which would post what waits for a place "
                          "in the queue; or a " +
                          field + " of 0");
  }
}

/// Shares of a rate leave something of it. Speeds that spread far are no normal distribution.
void check_shares(const AcceleratorPart& part, const std::string& path) {
  if (const auto cores = part.array.compute.sms; part.array.shared_cores && part.array.copy_engines > cores) {
    throw ConfigError(path + ".copy_engines", "expected at most " + path + ".compute.sms, which is " +
                                                  std::to_string(cores) + ", since collectives run on these (" + path +
                                                  ".shared_cores), got " + std::to_string(part.array.copy_engines));
  }
  accelerator::check(part.array.compute, path + ".compute");
  if (const Rate left = part.hbm.memory::Hbm::Config::sustained(); left < kLeastMemoryRate) {
    throw ConfigError(path + ".hbm.efficiency", "expected a share that leaves at least " + to_text(kLeastMemoryRate) +
                                                    " of " + path + ".hbm.rate and " + "its interconnect_rate, got " +
                                                    to_text(left));
  }
  if (const double spread = part.array.speed_spread; !(spread >= 0 && spread <= 0.1)) {
    throw ConfigError(path + ".speed_spread", "expected a share from 0 to 0.1, got " + to_text(spread));
  }
  part.hbm.check(path + ".hbm");
  if (!memory::model_of(part.hbm).sustained) return;
  if (const Rate left = part.hbm.sustained(); left < kLeastMemoryRate) {
    throw ConfigError(path + ".hbm.detail", "expected a memory that sustains at least " + to_text(kLeastMemoryRate) +
                                                ", got " + to_text(left) + " of " + part.hbm.detail.text());
  }
}

/// Thresholds in their order, and no shares of lanes that there are not.
void check_marking(const fabric::Plan& plan) {
  const fabric::Switch::Config& config = plan.config().switch_config;
  if (config.marking.min > Bytes() && config.marking.max < config.marking.min) {
    throw ConfigError(plan.path() + ".switch.marking.max", "expected at least switch.marking.min, which is " +
                                                               to_text(config.marking.min) + ", got " +
                                                               to_text(config.marking.max));
  }
  const auto lanes = static_cast<std::size_t>(plan.config().link.lanes);
  if (config.weights.size() > lanes) {
    throw ConfigError(plan.path() + ".switch.weights", "expected at most one for each of the " + std::to_string(lanes) +
                                                           " lanes (link.lanes), got " +
                                                           std::to_string(config.weights.size()));
  }
}

/// Headers need a lane that no payload has, and a transport that asks for the rest.
void check_trimming(const fabric::Plan& plan, const nic::NicConfig& nic, const std::string& interface) {
  const fabric::FabricConfig& config = plan.config();
  const Bytes trim = config.switch_config.buffer.trim;
  if (trim == Bytes()) return;
  if (nic.transport != nic::Transport::kUet && has_lossy_links(plan)) {
    throw ConfigError(plan.path() + ".switch.buffer.trim",
                      "expected 0B, since " + interface + ".transport is " + std::string(name_of(nic.transport)) +
                          ", which asks for no packet that was cut to its header, got " + to_text(trim) + ": set " +
                          interface + ".transport=uet for that, or 0B and " + interface +
                          ".recovery=true, which sends again what was dropped");
  }
  const int least = plan.topology().lanes_needed + 1;
  if (config.link.lanes >= least) return;
  throw ConfigError(plan.path() + ".link.lanes", "expected at least " + std::to_string(least) + ", since " +
                                                     plan.path() +
                                                     ".switch.buffer.trim cuts packets to headers, which have a lane "
                                                     "for themselves, got " +
                                                     std::to_string(config.link.lanes));
}

/// What a scheme of congestion control follows must come from switches.
void check_feedback(const fabric::Plan& plan, const nic::NicConfig& nic, const std::string& interface) {
  const nic::CongestionScheme& scheme = nic.scheme();
  const fabric::Switch::Config& config = plan.config().switch_config;
  const fabric::SwitchModel& model = fabric::model_of(config);
  if (scheme.needs_load && !model.measures_load) {
    throw ConfigError(interface + ".congestion", "expected one that needs no load of links, since " + plan.path() +
                                                     ".switch.implementation is " + model.name +
                                                     ", which does not write it into packets, got " + scheme.name);
  }
  if (scheme.grants && nic.transport != nic::Transport::kUet) {
    throw ConfigError(interface + ".transport", "expected uet, since " + interface + ".congestion is " + scheme.name +
                                                    ", which gives credits of receivers, got " +
                                                    std::string(name_of(nic.transport)));
  }
  if (!scheme.needs_marks || !model.follows_marking() || config.marking.min > Bytes()) return;
  // Alizadeh et al., SIGCOMM 2010, equation 13: more than a seventh of what the link carries in a round trip; and what
  // a few transactions need that come at once.
  constexpr std::int64_t kPart = 7;
  constexpr std::int64_t kTogether = 8;
  constexpr std::int64_t kUnit = 1 << 10;
  const Time part = RoundTrip(plan).idle / kPart;
  const std::int64_t carried = scaled(plan.end_link(0).rate.count(), part.count(), 8'000'000'000'000);
  const std::int64_t bytes = std::max(carried, kTogether * plan.config().segment.count());
  const std::string threshold = to_text(Bytes((bytes + kUnit - 1) / kUnit * kUnit));
  throw ConfigError(plan.path() + ".switch.marking.min",
                    "expected more than 0B, since " + interface + ".congestion is " + scheme.name +
                        ", which follows packets that switches mark; such as min and max of " + threshold);
}

/// What faults damage must be repeated by somebody.
void check_recovery(const fabric::Plan& plan, const nic::NicConfig& nic, const std::string& interface) {
  const std::string& network = plan.path();
  const int fault = plan.first_loss();
  if (fault < 0 || nic.recovers()) return;
  throw ConfigError(interface + ".recovery", "expected true, since " + network + ".faults." + std::to_string(fault) +
                                                 " damages packets and " + network +
                                                 ".link.replay is false, so that nothing would send them again");
}

/// A segment must cross the host link in a time that a packet can hold.
void check_host_link(const nic::NicConfig& nic, const fabric::FabricConfig& network, const std::string& interface) {
  const Time time = nic::HostLink::passage(nic.host_link(), network.segment);
  if (time <= kLongestPassage) return;
  const bool engine = time == transfer_time(network.segment, nic.dma_rate);
  throw ConfigError(interface + (engine ? ".dma_rate" : ".pcie.generation"),
                    "expected more, or a smaller segment: " + to_text(network.segment) + " take " + to_text(time) +
                        (engine ? " at " + to_text(nic.dma_rate) : " over this link") + ", and a packet can hold " +
                        to_text(kLongestPassage) + " at the most");
}

constexpr std::int64_t kElement = size_of(ElementType::kFp32);  // the longest
constexpr std::int64_t kHalvings = 8;  // a short buffer's chunk by the switches is halved up to three times

/// What sums are cut by must not cut an element.
void check_whole_elements(Bytes size, std::int64_t unit, const std::string& path) {
  if (size.count() % unit == 0) return;
  throw ConfigError(path, "expected a multiple of " + std::to_string(unit) +
                              " bytes, so that no element is cut in two, got " + to_text(size));
}

/// What PCI Express has no other values of: widths of a link (PCI Express Base Specification 5.0, section 4.2.4), and
/// fields of Device Control and Link Control that hold the exponent of a power of two (section 7.5.3).
void check_pcie(const nic::PcieConfig& pcie, const std::string& path) {
  constexpr auto& kWidths = nic::PcieConfig::kWidths;
  if (std::find(kWidths.begin(), kWidths.end(), pcie.lanes) == kWidths.end()) {
    throw ConfigError(path + ".lanes", "expected one of 1, 2, 4, 8, 12, 16 and 32, got " + std::to_string(pcie.lanes));
  }
  const std::pair<const char*, Bytes> sizes[] = {{".max_payload", pcie.max_payload},
                                                 {".max_read_request", pcie.max_read_request},
                                                 {".read_completion_boundary", pcie.read_completion_boundary}};
  for (const auto& [field, size] : sizes) {
    if (std::has_single_bit(static_cast<std::uint64_t>(size.count()))) continue;
    throw ConfigError(
        path + field,
        "expected a power of two, such as " +
            to_text(Bytes(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size.count()))))) +
            ", got " + to_text(size));
  }
}

void check_others(const MachineConfig& config) {
  for (std::size_t i = 0; i < config.others.size(); ++i) {
    const OtherAccelerators& other = config.others[i];
    const std::string path = "others." + std::to_string(i);
    check_shares(other.accelerator, path + ".accelerator");
    if (other.count <= config.accelerators - other.first) continue;
    throw ConfigError(path + ".first", "expected accelerators of the machine, which has " +
                                           std::to_string(config.accelerators) + ", got " +
                                           std::to_string(other.first) + " to " +
                                           std::to_string(std::int64_t{other.first} + other.count - 1));
  }
}

/// Only networks within nodes are of one node.
void check_fault_nodes(const MachineConfig& config) {
  const int nodes = config.accelerators / config.per_node;
  const auto check = [](const std::vector<fabric::Fault>& faults, const std::string& path, int least_too_many,
                        const std::string& expected) {
    for (std::size_t f = 0; f < faults.size(); ++f) {
      if (faults[f].node < least_too_many) continue;
      throw ConfigError(path + ".faults." + std::to_string(f) + ".node",
                        expected + ", got " + std::to_string(faults[f].node));
    }
  };
  check(config.fabric.faults, "fabric", 0, "expected -1, since this network joins all nodes");
  check(config.scale_up.fabric.faults, "scale_up.fabric", nodes,
        "expected a node from 0 to " + std::to_string(nodes - 1) + ", or -1 for all");
}

}  // namespace

void check_machine(const MachineConfig& config) {
  if (config.accelerators % config.per_node != 0) {
    throw ConfigError("accelerators", "expected a multiple of per_node, which is " + std::to_string(config.per_node) +
                                          ", got " + std::to_string(config.accelerators));
  }
  if (config.firmware.cores < 1) throw ConfigError("firmware.cores", "expected at least 1, got 0");
  check_shares(config.accelerator, "accelerator");
  check_others(config);
  check_fault_nodes(config);
  check_polling(config);
  config.remote_memory.check("remote_memory");
  if (const int half = config.collectives.slots / 2; config.collectives.slice > half) {
    throw ConfigError("collectives.slice", "expected at most half of collectives.slots, " + std::to_string(half) +
                                               ", got " + std::to_string(config.collectives.slice));
  }
  check_whole_elements(config.collectives.chunk, kElement, "collectives.chunk");
  check_whole_elements(config.collectives.of<collectives::InNetworkMember::Config>().chunk, kElement * kHalvings,
                       "collectives.in_network.chunk");
}

void check_interface(const fabric::Plan& plan, const nic::NicConfig& nic, const std::string& interface) {
  check_recovery(plan, nic, interface);
  check_order(plan, nic, interface);
  check_reroutings(plan, nic, interface);
  check_host_link(nic, plan.config(), interface);
  check_ack_timeout(nic, plan, interface);
  check_marking(plan);
  check_trimming(plan, nic, interface);
  check_feedback(plan, nic, interface);
  check_pcie(nic.pcie, interface + ".pcie");
  check_whole_elements(plan.config().segment, kElement, plan.path() + ".segment");
  const nic::NicModel& model = nic::nic_models().at(nic.implementation.text(), interface + ".implementation");
  if (model.check) model.check(nic, interface);
  for (const Section& section : nic.sections) {
    const nic::CongestionScheme& scheme = nic::congestion_schemes().at(section.name, interface + ".congestion");
    if (scheme.check) scheme.check(section.config, interface + "." + section.key);
  }
}

void check_starved(const Processors& processors, const std::string& path) {
  for (const auto& processor : processors) {
    const std::size_t threads = processor->starved();
    if (threads == 0) continue;
    throw ConfigError(path + ".wait", "expected event, or " + path + ".threads=" + std::to_string(threads) +
                                          ", which is one for each, or more " + path +
                                          ".cores: with poll all hardware threads of a core of " + processor->name() +
                                          " poll without end, and the threads there that would end it get none");
  }
}

void check_completion_queues(const Processors& processors, const std::string& path) {
  const auto fullest = std::max_element(processors.begin(), processors.end(), [](const auto& one, const auto& other) {
    return one->fullest().entries < other->fullest().entries;
  });
  if (fullest == processors.end() || (*fullest)->fullest().entries == 0) return;
  const firmware::Processor::Fullest& full = (*fullest)->fullest();
  throw ConfigError(path + ".completion_queue_depth", "expected at least " + std::to_string(full.entries) + ", got " +
                                                          std::to_string((*fullest)->config().completion_queue_depth) +
                                                          ": so many completions waited in a queue of " +
                                                          (*fullest)->name() + " (" + full.what +
                                                          "), which would have stood in error");
}

}  // namespace weft::platforms
