// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/machine.h"

#include <algorithm>
#include <map>
#include <random>
#include <unordered_set>

#include "hw/core/cause/causes.h"
#include "hw/core/config/own_fields.h"
#include "hw/fabric/credit_loop.h"
#include "hw/memory/memory_model.h"
#include "hw/memory/remote/remote_model.h"
#include "hw/nic/nic_model.h"
#include "platforms/machine/machine_checks.h"
#include "platforms/machine/round_trip.h"
#include "platforms/machine/starvation.h"
#include "sw/collectives/followed.h"
#include "sw/collectives/mesh.h"
#include "sw/collectives/slot_lane.h"

namespace weft::platforms {
namespace {

/// Read ahead by an accelerator's port, whose link is several times as fast as a NIC's.
constexpr Bytes kLeastOfPort = Bytes(512 << 10);

// Masters of an accelerator's memory, and devices of its processor.
enum Master : std::size_t { kCompute, kCopy, kNicDma, kPortDma };
enum Device : std::size_t { kNic, kPort, kAccelerator, kRemoteDma };

/// How a remote memory is shared out: what is for collectives at its beginning, then a part for each who shares it.
struct Shares {
  std::uint64_t shared = 0;
  std::uint64_t each = 0;
};

Shares shares_of(Bytes chunk_size, const memory::RemoteTarget& target, std::uint64_t sharers) {
  const auto chunk = static_cast<std::uint64_t>(chunk_size.count());
  const std::uint64_t chunks = static_cast<std::uint64_t>(target.capacity().count()) / chunk;
  const std::uint64_t shared = target.runs_collectives() ? chunks / 2 : 0;
  std::uint64_t each = (chunks - shared) / sharers;
  if (each > target.ways()) each = (each - 1) / target.ways() * target.ways() + 1;
  if (each == 0) {
    throw ConfigError(target.capacity_path(), "expected a chunk of " + to_text(chunk_size) + " for each of the " +
                                                  std::to_string(sharers) + " accelerators that share it" +
                                                  (shared != 0 ? ", and as much again for collectives" : "") +
                                                  ", got " + to_text(target.capacity()));
  }
  return {shared * chunk, each * chunk};
}

/// Interfaces that gave up in a network in which nothing is lost.
void check_answered(const std::vector<std::unique_ptr<nic::AnyNic>>& interfaces, const fabric::Plan& plan,
                    const std::string& path) {
  if (!plan.config().faults.empty()) return;
  bool gave_up = false;
  for (const auto& nic : interfaces) {
    if (nic->counters().access_errors > 0) return;
    gave_up = gave_up || (nic->counters().timeouts > 0 && !nic->failures().empty());
  }
  if (gave_up) throw ConfigError(path + ".ack_timeout", longer_ack_timeout(interfaces.front()->config(), plan));
}

void append(std::vector<std::string>& all, std::vector<std::string> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Fields of which what carried something used no more than a part.
std::vector<std::string> describe_capped(const collectives::Communicator::Config& config, int members,
                                         std::uint64_t followed) {
  using collectives::Followed;
  std::vector<std::string> lines;
  const auto counts_as = [&lines](const std::string& field, int value, int most, const char* why) {
    if (value <= most) return;
    lines.push_back("collectives." + field + ": " + std::to_string(value) + " counts as " + std::to_string(most) +
                    ", " + why);
  };
  if (has_followed(followed, Followed::kLaneSlots) && !has_followed(followed, Followed::kSlots)) {
    counts_as("slots", config.slots, collectives::SlotLane::kMostUnderWay,
              "the most that connections of trees, and of rings with flags, use");
  }
  if (has_followed(followed, Followed::kMulticast)) {
    counts_as("multicast.trees", config.of<collectives::MulticastConfig>().trees, members, "one for each member");
  }
  return lines;
}

}  // namespace

ScaleUp::ScaleUp() {
  using namespace literals;
  // NVLink 4 of an H100 through NVSwitch 3: 450 GB/s each way as one link, with a 16-byte flit of header for each 128
  // bytes. The port moves data within the accelerator: its own DMA keeps up with the link.
  fabric.topology = fabric::Shape::kSwitch;
  fabric.link.rate = 450_GBps;
  fabric.link.propagation = 20_ns;
  fabric.switch_config.latency = 300_ns;
  fabric.header = 512_B;
  port.message_cost = 20_ns;
  port.packet_cost = 0_ns;
  port.dma_rate = 900_GBps;
  port.read_latency = 50_ns;
  port.write_latency = 50_ns;
  port.posted = true;
}

Machine::Machine(const MachineConfig& config, std::optional<std::uint32_t> shuffle, Wire wire)
    : config_(config), wire_(std::move(wire)) {
  if (!wire_) {
    wire_ = [](Dispatcher& /*dispatcher*/, auto& master, auto& socket) { master.bind(socket); };
  }
  check_machine(config);
  const auto settle = [this](AcceleratorPart& part) {
    memory_models_.push_back(part.hbm.model());
    const accelerator::ComputeConfig compute = part.compute();
    part.hbm.capacity = part.hbm.usable();
    part.array.compute = compute;
  };
  settle(config_.accelerator);
  for (OtherAccelerators& other : config_.others) settle(other.accelerator);
  const auto seed = static_cast<std::uint64_t>(config.seed);
  const auto network = std::make_shared<fabric::Plan>(config.fabric, config.accelerators, "fabric", seed);
  check_interface(*network, config.nic, "nic");
  fit_interface(config_.nic, *network, nic::NicConfig::kLeastReadAhead);
  network_plan_ = network;
  if (has_ports()) plan_nodes(seed);
  dispatcher_ = std::make_unique<Dispatcher>("dispatcher");
  if (config.why) dispatcher_->keep_causes();
  std::vector<Step> all = steps();
  if (shuffle) std::shuffle(all.begin(), all.end(), std::mt19937(*shuffle));
  for (const Step& build : all) build();
  ranks_.resize(memories_.size());
  for (std::size_t i = 0; i < ranks_.size(); ++i) bind_rank(i);
  if (has_ports() && config_.scale_up.port.posted) post_stores(ports_, *node_plans_.front());
}

Machine::~Machine() = default;

/// Nodes in which the same faults happen share a plan.
void Machine::plan_nodes(std::uint64_t seed) {
  const fabric::FabricConfig& all = config_.scale_up.fabric;
  std::map<int, std::shared_ptr<const fabric::Plan>> plans;
  for (int n = 0; n < config_.accelerators / config_.per_node; ++n) {
    const bool has_own =
        std::any_of(all.faults.begin(), all.faults.end(), [n](const fabric::Fault& fault) { return fault.node == n; });
    std::shared_ptr<const fabric::Plan>& shared = plans[has_own ? n : -1];
    if (shared == nullptr) {
      fabric::FabricConfig own = all;
      for (fabric::Fault& fault : own.faults) fault = fault.in_node(n);
      const auto plan = std::make_shared<fabric::Plan>(own, config_.per_node, "scale_up.fabric", seed);
      check_interface(*plan, config_.scale_up.port, "scale_up.port");
      fit_interface(config_.scale_up.port, *plan, kLeastOfPort);
      shared = plan;
    }
    node_plans_.push_back(shared);
  }
}

/// What is read ahead, where nobody has set it, and as its limit: what is held beyond it would stand before what other
/// queue pairs send later. And what congestion control counts on.
void Machine::fit_interface(nic::NicConfig& interface, fabric::Plan& plan, Bytes least) const {
  const Time memory = config_.accelerator.hbm.read_time();
  fit_congestion(interface, plan, memory);
  Bytes fitting = least;
  for (std::uint32_t e = 0; e < plan.topology().ends.size(); ++e) {
    const Rate link = plan.end_link(e).rate;
    fitting = std::max(fitting, interface.fitting_read_ahead(link, memory, plan.config().mtu));
  }
  if (interface.read_ahead == Bytes() || interface.read_ahead > fitting) interface.read_ahead = fitting;
}

std::vector<Machine::Step> Machine::steps() {
  const Stall::Config stall{config_.stall, static_cast<std::uint64_t>(config_.seed)};
  const auto accelerators = static_cast<std::size_t>(config_.accelerators);
  std::vector<Step> steps;
  steps.emplace_back([this, stall] {
    network_ = std::make_unique<fabric::Fabric>("network", network_plan_, *dispatcher_, packets_, stall);
  });
  if (has_ports()) nodes_.resize(accelerators / static_cast<std::size_t>(config_.per_node));
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    steps.emplace_back([this, n, stall] {
      nodes_[n] = std::make_unique<fabric::Fabric>(("node" + std::to_string(n)).c_str(), node_plans_[n], *dispatcher_,
                                                   packets_, stall);
    });
  }
  memories_.resize(accelerators);
  accelerators_.resize(accelerators);
  nics_.resize(accelerators);
  processors_.resize(accelerators);
  if (config_.dpa.cores > 0) dpas_.resize(accelerators);
  if (has_ports()) ports_.resize(accelerators);
  if (config_.remote_memory.exists()) {
    remote_dmas_.resize(accelerators);
    steps.emplace_back([this, stall] {
      const memory::RemoteModel& model = memory::model_of(config_.remote_memory);
      remote_memory_ = made(model.make({.name = "remote_memory",
                                        .config = config_.remote_memory,
                                        .accelerators = config_.accelerators,
                                        .per_node = config_.per_node,
                                        .dispatcher = *dispatcher_,
                                        .data = config_.data,
                                        .stall = stall}),
                            "remote_memory.kind", model.name);
    });
  }
  for (std::size_t i = 0; i < accelerators; ++i) add_rank(steps, i);
  return steps;
}

void Machine::add_rank(std::vector<Step>& steps, std::size_t i) {
  const Stall::Config stall{config_.stall, static_cast<std::uint64_t>(config_.seed)};
  const bool data = config_.data;
  const std::string number = std::to_string(i);
  steps.emplace_back([this, i] { memories_[i] = make_memory(i); });
  steps.emplace_back([this, i, number, data, stall] {
    accelerators_[i] = std::make_unique<accelerator::Accelerator>(
        ("accelerator" + number).c_str(), config_.part_at(static_cast<int>(i)).array, *dispatcher_, data, stall);
  });
  steps.emplace_back([this, i, number, data, stall] {
    const auto end = static_cast<std::uint32_t>(i);
    const nic::NicModel& model = nic::model_of(config_.nic);
    nics_[i] = made(model.make({"nic" + number, config_.nic, network_plan_->end_config(end), end, *dispatcher_,
                                packets_, data, stall}),
                    "nic.implementation", model.name);
  });
  steps.emplace_back([this, i, number, stall] {
    const int devices = config_.remote_memory.exists() ? 4 : 3;
    processors_[i] = std::make_unique<firmware::Processor>(("firmware" + number).c_str(), config_.firmware,
                                                           *dispatcher_, devices, stall);
  });
  if (config_.remote_memory.exists()) {
    steps.emplace_back([this, i, number, data, stall] {
      remote_dmas_[i] = std::make_unique<memory::RemoteDma>(("remote_dma" + number).c_str(), config_.remote_memory.dma,
                                                            config_.remote_memory.chunk, *dispatcher_, data, stall);
    });
  }
  if (config_.dpa.cores > 0) {
    steps.emplace_back([this, i, number, stall] {
      dpas_[i] = std::make_unique<firmware::Processor>(("dpa" + number).c_str(), config_.dpa, *dispatcher_, 1, stall,
                                                       nic::kNear);
    });
  }
  if (!has_ports()) return;
  const auto local = static_cast<std::uint32_t>(i % static_cast<std::size_t>(config_.per_node));
  steps.emplace_back([this, i, local, number, data, stall] {
    const nic::NicConfig& port = config_.scale_up.port;
    const nic::NicModel& model = nic::model_of(port);
    ports_[i] = made(model.make({"port" + number, port, node_plans_.front()->end_config(local), local, *dispatcher_,
                                 packets_, data, stall}),
                     "scale_up.port.implementation", model.name);
  });
}

std::unique_ptr<memory::Memory> Machine::make_memory(std::size_t i) {
  const int place = static_cast<int>(i);
  const memory::HbmConfig& config = config_.part_at(place).hbm;
  const std::string name = "hbm" + std::to_string(i);
  std::vector<std::string> masters = {"compute", "copy", "nic"};
  if (has_ports()) masters.emplace_back("port");
  if (config_.remote_memory.exists()) masters.emplace_back("remote");
  const memory::MemoryModel& model = memory::model_of(config);
  return made(model.make({.name = name,
                          .config = config,
                          .dispatcher = *dispatcher_,
                          .masters = masters,
                          .data = config_.data,
                          .stall = {config_.stall, static_cast<std::uint64_t>(config_.seed)},
                          .stacks = memory_models_[static_cast<std::size_t>(config_.other_at(place) + 1)].get()}),
              "accelerator.hbm.detail", model.name);
}

void Machine::use_phases(std::size_t i) {
  accelerators_[i]->use_phases();
  nics_[i]->use_phases();
  if (has_ports()) ports_[i]->use_phases();
  if (remote_memory_) remote_dmas_[i]->local_master().use_phases();
}

void Machine::bind_rank(std::size_t i) {
  const AcceleratorPart& part = config_.part_at(static_cast<int>(i));
  const memory::MemoryModel& model = memory::model_of(part.hbm);
  if (model.phases) use_phases(i);
  if (!model.uniform) accelerators_[i]->place_kernels(part.hbm.capacity);
  memory::Memory& hbm = *memories_[i];
  accelerator::Accelerator& array = *accelerators_[i];
  nic::AnyNic& nic = *nics_[i];
  firmware::Processor& processor = *processors_[i];
  wire_(*dispatcher_, array.compute, hbm.socket(kCompute));
  wire_(*dispatcher_, array.copy, hbm.socket(kCopy));
  wire_(*dispatcher_, array.completion, processor.mailbox(kAccelerator));
  wire_(*dispatcher_, processor.device(kAccelerator), array.registers);
  const nic::AnyNic::Sockets sockets = nic.sockets();
  wire_(*dispatcher_, sockets.dma, hbm.socket(kNicDma));
  wire_(*dispatcher_, sockets.completion, processor.mailbox(kNic));
  wire_(*dispatcher_, processor.device(kNic), sockets.registers);
  network_->bind_end(static_cast<std::uint32_t>(i), sockets.out, sockets.in);

  firmware::Rank& rank = ranks_[i];
  rank.index = rank.place = static_cast<int>(i);
  rank.node = rank.place / config_.per_node;
  rank.local = rank.place % config_.per_node;
  rank.processor = &processor;
  rank.scale_out = {&processor, &nic, network_.get(), kNic,
                    std::min(config_.nic.dma_rate, config_.fabric.payload_rate())};
  if (!dpas_.empty()) {
    firmware::Processor& dpa = *dpas_[i];
    if (sockets.near_registers == nullptr || sockets.near_completion == nullptr) {
      throw ConfigError("dpa.cores", "expected 0, since nic.implementation is " + config_.nic.implementation.text() +
                                         ", which has no cores of its own, got " + std::to_string(config_.dpa.cores));
    }
    dpa.device(0).bind(*sockets.near_registers);
    sockets.near_completion->bind(dpa.mailbox(0));
    rank.offload = {&dpa, &nic, network_.get(), 0};
  }
  rank.accelerator = firmware::CommandWindow(processor, kAccelerator, array);
  rank.store = config_.data ? &hbm.store() : nullptr;
  rank.copy_engines = part.array.copy_engines;
  rank.dma_engines = part.array.dma.engines;
  rank.dma_start = part.array.dma.start;
  rank.streams = part.array.streams;
  rank.staged = part.array.shared_cores;
  rank.relay = part.array.relay;
  rank.word_relay = part.array.word_relay;
  rank.line_relay = part.array.line_relay;
  rank.line_latency = part.array.line_latency;
  rank.memory = firmware::MemoryMap(part.hbm.capacity, config_.path_at(rank.place) + ".hbm.capacity");
  if (has_remote_memory()) bind_remote_memory(i);

  if (!has_ports()) {
    // Nothing is there, so the processor's socket for it leads back to its own mailbox, which refuses doorbells.
    processor.device(kPort).bind(processor.mailbox(kPort));
    return;
  }
  nic::AnyNic& port = *ports_[i];
  const nic::AnyNic::Sockets of_port = port.sockets();
  wire_(*dispatcher_, of_port.dma, hbm.socket(kPortDma));
  wire_(*dispatcher_, of_port.completion, processor.mailbox(kPort));
  wire_(*dispatcher_, processor.device(kPort), of_port.registers);
  nodes_[static_cast<std::size_t>(rank.node)]->bind_end(static_cast<std::uint32_t>(rank.local), of_port.out,
                                                        of_port.in);
  rank.scale_up = {&processor, &port, nodes_[static_cast<std::size_t>(rank.node)].get(), kPort,
                   std::min(config_.scale_up.port.dma_rate, config_.scale_up.fabric.payload_rate())};
}

void Machine::bind_remote_memory(std::size_t i) {
  memory::RemoteDma& dma = *remote_dmas_[i];
  firmware::Processor& processor = *processors_[i];
  memory::Memory& hbm = *memories_[i];
  wire_(*dispatcher_, dma.local, hbm.socket(hbm.masters() - 1));
  memory::RemoteTarget& target = *remote_memory_;
  wire_(*dispatcher_, dma.remote, target.socket(i));
  wire_(*dispatcher_, dma.completion, processor.mailbox(kRemoteDma));
  wire_(*dispatcher_, processor.device(kRemoteDma), dma.registers);

  const auto end = static_cast<std::uint32_t>(i);
  const std::uint64_t sharers = static_cast<std::uint64_t>(config_.accelerators) / target.spaces();
  const Shares shares = shares_of(config_.remote_memory.chunk, target, sharers);
  firmware::RemoteWindow& window = ranks_[i].remote;
  window = firmware::RemoteWindow(processor, kRemoteDma, target, end);
  window.base = shares.shared + end % sharers * shares.each;
  window.own = firmware::MemoryMap(Bytes(static_cast<std::int64_t>(shares.each)), target.capacity_path(),
                                   sharers == 1 ? "" : ", 1/" + std::to_string(sharers) + " for each accelerator");
  window.shared = shares.shared;
}

std::vector<firmware::Rank*> Machine::ranks() {
  std::vector<firmware::Rank*> all;
  for (firmware::Rank& rank : ranks_) all.push_back(&rank);
  return all;
}

void Machine::record(Probe& probe) {
  for (int i = 0; i < size(); ++i) {
    const std::string process = "accelerator " + std::to_string(i);
    accelerator(i).record(probe, process);
    nic(i).record(probe, process, "NIC");
    if (nic::AnyNic* port = scale_up_port(i)) port->record(probe, process, "scale-up port");
    if (has_remote_memory()) remote_dma(i).record(probe, process);
  }
  network_->record(probe, "network");
  for (std::size_t n = 0; n < nodes_.size(); ++n) nodes_[n]->record(probe, "node " + std::to_string(n));
}

void Machine::record(Waves& waves) {
  network_->record(waves);
  for (const auto& node : nodes_) node->record(waves);
  for (const auto& nic : nics_) nic->record(waves);
  for (const auto& port : ports_) port->record(waves);
  for (const auto& memory : memories_) memory->record(waves);
}

Time Machine::end() const {
  Time end = dispatcher_->last_change();
  for (const auto& processor : processors_) end = std::max(end, processor->last_end());
  return end;
}

void Machine::run() {
  dispatcher_->run_to_end();
  for (const auto& nic : nics_) nic->finish_drawing();
  for (const auto& port : ports_) port->finish_drawing();
  network_->finish_drawing();
  for (const auto& node : nodes_) node->finish_drawing();
  std::vector<std::string> lines;
  for (const auto& processor : processors_) append(lines, processor->left_over());
  for (const auto& dpa : dpas_) append(lines, dpa->left_over());
  for (const auto& array : accelerators_) append(lines, array->left_over());
  for (const auto& nic : nics_) append(lines, nic->left_over());
  for (const auto& port : ports_) append(lines, port->left_over());
  for (const auto& dma : remote_dmas_) append(lines, dma->left_over());
  if (remote_memory_) append(lines, remote_memory_->left_over());
  const bool all_done = lines.empty();
  append(lines, network_->left_over());
  for (const auto& node : nodes_) append(lines, node->left_over());
  if (packets_.outstanding() != 0 || packets_.payloads_outstanding() != 0) {
    lines.push_back(std::to_string(packets_.outstanding()) + " packets with " +
                    std::to_string(packets_.payloads_outstanding()) + " payloads were not given back");
  }
  if (dispatcher_->pending() != 0) lines.push_back(std::to_string(dispatcher_->pending()) + " events are pending");
  check_completion_queues(processors_, "firmware");
  check_completion_queues(dpas_, "dpa");
  if (lines.empty()) return;
  check_starved(processors_, "firmware");
  check_starved(dpas_, "dpa");
  std::vector<std::string> failures;
  for (const auto& nic : nics_) append(failures, nic->failures());
  for (const auto& port : ports_) append(failures, port->failures());
  std::vector<std::string> causes = network_->outages(!failures.empty());
  for (const auto& node : nodes_) append(causes, node->outages(!failures.empty()));
  // Packets before a link that stays down, whose transfers were repeated over other paths, are nobody's concern.
  if (all_done && dispatcher_->pending() == 0 && !causes.empty()) {
    stranded_ = std::move(causes);
    stranded_.push_back("all has come over other paths; " + std::to_string(packets_.outstanding()) +
                        " packets that nobody waits for are left before what is down");
    return;
  }
  if (causes.empty()) {
    check_answered(nics_, *network_plan_, "nic");
    if (has_ports()) check_answered(ports_, *node_plans_.front(), "scale_up.port");
  }
  const std::unordered_set<std::string> failed(failures.begin(), failures.end());
  std::erase_if(lines, [&](const std::string& line) { return failed.contains(line); });
  append(causes, std::move(failures));
  throw DeadlockError(causes, lines);
}

std::vector<std::string> Machine::warnings() const {
  std::vector<std::string> lines = config_.accelerator.hbm.warnings("accelerator.hbm");
  for (const OtherAccelerators& other : config_.others) {
    append(lines, other.accelerator.hbm.warnings(config_.path_at(other.first) + ".hbm"));
  }
  std::uint64_t followed = 0;
  for (const firmware::Rank& rank : ranks_) followed |= rank.followed;
  append(lines, describe_capped(config_.collectives, size(), followed));
  append(lines, collectives::Mesh::left_over(ranks_));
  append(lines, describe_idle_pairs(config_, followed));
  append(lines, stranded_);
  append(lines, network_->partitions());
  for (const auto& node : nodes_) append(lines, node->partitions());
  const auto describe = [&](const std::vector<std::unique_ptr<nic::AnyNic>>& interfaces, const nic::NicConfig& config,
                            const fabric::Plan& plan, const std::string& path) {
    const auto has_sent = [](const auto& nic) { return nic->counters().packets_sent > 0; };
    if (std::none_of(interfaces.begin(), interfaces.end(), has_sent)) return;  // nobody waits for what nothing passes
    append(lines, fabric::describe_starved(plan));
    append(lines, describe_starved_reads(config, plan, config_.accelerator.hbm.read_time(), path));
    append(lines, describe_hasty_repeats(config, plan, path));
    std::int64_t dropped = 0;
    for (const auto& nic : interfaces) dropped += nic->counters().dropped;
    append(lines, describe_short_reorder(config, plan, dropped, path));
    append(lines, describe_late_marks(config, plan));
    append(lines, describe_unsprayed(config, plan, path));
    append(lines, describe_idle_trimming(plan));
  };
  describe(nics_, config_.nic, *network_plan_, "nic");
  if (has_ports()) describe(ports_, config_.scale_up.port, *node_plans_.front(), "scale_up.port");
  return lines;
}

std::vector<std::string> Machine::ring_warnings() const {
  return describe_starved_rings(config_, *network_plan_, has_ports() ? node_plans_.front().get() : nullptr, RingUse{});
}

std::int64_t Machine::hops() {
  std::int64_t sum = 0;
  const auto add = [&sum](fabric::Fabric& network) {
    for (std::size_t s = 0; s < network.switch_count(); ++s) {
      fabric::AnySwitch& sw = network.switch_at(s);
      for (std::size_t p = 0; p < sw.radix(); ++p) sum += sw.transmitter(p).counters().packets;
    }
  };
  add(*network_);
  for (const auto& node : nodes_) add(*node);
  for (const auto& nic : nics_) sum += nic->transmitter().counters().packets;
  for (const auto& port : ports_) sum += port->transmitter().counters().packets;
  return sum;
}

}  // namespace weft::platforms
