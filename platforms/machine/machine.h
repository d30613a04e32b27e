// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/accelerator/accelerator.h"
#include "hw/core/dispatcher.h"
#include "hw/core/packet.h"
#include "hw/core/probe.h"
#include "hw/fabric/fabric.h"
#include "hw/memory/hbm_config.h"
#include "hw/memory/memory.h"
#include "hw/memory/remote/remote_config.h"
#include "hw/memory/remote/remote_dma.h"
#include "hw/memory/remote/remote_target.h"
#include "hw/nic/any_nic.h"
#include "platforms/machine/deadlock.h"
#include "sw/collectives/communicator.h"
#include "sw/firmware/rank.h"
#include "sw/schedules/steady.h"

namespace weft::platforms {

/// An accelerator as a part of the catalogue: core array, copy engines and memory.
struct AcceleratorPart {
  static constexpr std::string_view kPartKind = "accelerator";

  accelerator::Accelerator::Config array;
  memory::HbmConfig hbm;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    array.fields(visit);
    visit("hbm", hbm, "Its memory");
  }
  /// The core array, which knows what its memory sustains. Throws ConfigError.
  [[nodiscard]] accelerator::ComputeConfig compute() const {
    accelerator::ComputeConfig all = array.compute;
    all.memory = hbm.sustained();
    return all;
  }
};

/// Accelerators that are another part than the machine's `accelerator`.
struct OtherAccelerators {
  int first = 0;
  int count = 1;
  AcceleratorPart accelerator;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("first", first, "The first of them", Range{0, (1 << 20) - 1});
    visit("count", count, "How many they are", Range{1, 1 << 20});
    visit("accelerator", accelerator, "What they are");
  }
};

/// The network among the accelerators of a node.
struct ScaleUp {
  static constexpr std::string_view kPartKind = "scale_up";

  nic::NicConfig port;
  fabric::FabricConfig fabric;

  ScaleUp();

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("port", port, "The accelerator's port: an engine like a NIC's, without a host link");
    visit("fabric", fabric, "Links and switches of a node");
  }
};

/// A whole machine: `accelerators` of them in nodes of `per_node`, each with memory, a NIC on `fabric`, cores that run
/// firmware, and a port on its node's scale-up network.
struct MachineConfig {
  int accelerators = 8;
  int per_node = 8;
  AcceleratorPart accelerator;
  std::vector<OtherAccelerators> others;
  nic::NicConfig nic;
  fabric::FabricConfig fabric;
  ScaleUp scale_up;
  memory::RemoteConfig remote_memory;
  firmware::Processor::Config firmware;
  firmware::Processor::Config dpa;
  collectives::Communicator::Config collectives;
  std::int64_t seed = 1;
  Time stall;
  schedules::SteadyConfig steady;
  bool data = false;
  bool why = false;  ///< the critical path is kept

  MachineConfig() { dpa.cores = 0; }

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("accelerators", accelerators, "Accelerators in the machine", Range{1, 1 << 20});
    visit("per_node", per_node, "Accelerators in each node", Range{1, 1024});
    visit("accelerator", accelerator, "The accelerator");
    visit("others", others, "Accelerators of another part; later entries go before earlier ones",
          OtherAccelerators{0, 1, accelerator});
    visit("nic", nic, "The network interface of each accelerator");
    visit("fabric", fabric, "The network that joins the NICs");
    visit("scale_up", scale_up, "The network within a node");
    visit("remote_memory", remote_memory, "Memory beyond the accelerators' own");
    visit("firmware", firmware, "The cores that run an accelerator's firmware");
    visit("dpa", dpa, "Cores of each NIC's data-path accelerator; cores 0: there is none");
    visit("collectives", collectives, "How collectives run");
    visit("seed", seed, "Seed of everything random");
    visit("stall", stall, "Every handshake waits at random up to this long: a test of protocols",
          Range{0, 1'000'000'000});
    visit("steady", steady, "Leaves out steps, microbatches and blocks that repeat");
  }

  /// What the accelerator at `place` is.
  [[nodiscard]] const AcceleratorPart& part_at(int place) const {
    const int other = other_at(place);
    return other < 0 ? accelerator : others[static_cast<std::size_t>(other)].accelerator;
  }
  /// Where that stands in the platform.
  [[nodiscard]] std::string path_at(int place) const {
    const int other = other_at(place);
    return other < 0 ? "accelerator" : "others." + std::to_string(other) + ".accelerator";
  }
  /// Which of `others` it is of; -1: of none.
  [[nodiscard]] int other_at(int place) const {
    for (std::size_t i = others.size(); i-- > 0;) {
      if (place >= others[i].first && place - others[i].first < others[i].count) return static_cast<int>(i);
    }
    return -1;
  }
  /// Whether links are at fault at times of their own, or not for all packets alike.
  [[nodiscard]] bool has_changing_faults() const {
    const auto changes = [](const fabric::Fault& fault) { return !fault.is_constant(); };
    return std::any_of(fabric.faults.begin(), fabric.faults.end(), changes) ||
           std::any_of(scale_up.fabric.faults.begin(), scale_up.fabric.faults.end(), changes);
  }
};

/// The modules of a machine, bound to each other, and its ranks for firmware to use.
class Machine {
 public:
  /// Joins a master to its socket of a memory.
  using Wire = std::function<void(Dispatcher&, tlm::tlm_initiator_socket<64>&, tlm::tlm_target_socket<64>&)>;

  /// With `wire`, something can stand between initiators and targets, such as a checker: at memories, registers,
  /// mailboxes and remote memory, but not at a NIC's `near` sockets. With `shuffle`, modules are built in an order
  /// drawn from it, which must not change anything: a test of order.
  explicit Machine(const MachineConfig& config, std::optional<std::uint32_t> shuffle = std::nullopt, Wire wire = {});
  ~Machine();

  [[nodiscard]] const MachineConfig& config() const { return config_; }
  [[nodiscard]] int size() const { return config_.accelerators; }
  firmware::Rank& rank(int index) { return ranks_[static_cast<std::size_t>(index)]; }
  std::vector<firmware::Rank*> ranks();

  Dispatcher& dispatcher() { return *dispatcher_; }
  /// Null unless `why` is set.
  [[nodiscard]] const Causes* causes() const { return dispatcher_->causes(); }
  accelerator::Accelerator& accelerator(int index) { return *accelerators_[static_cast<std::size_t>(index)]; }
  memory::Memory& memory(int index) { return *memories_[static_cast<std::size_t>(index)]; }
  /// Null where there is none.
  memory::RemoteTarget* remote_memory() { return remote_memory_.get(); }
  [[nodiscard]] bool has_remote_memory() const { return config_.remote_memory.exists(); }
  memory::RemoteDma& remote_dma(int index) { return *remote_dmas_[static_cast<std::size_t>(index)]; }
  nic::AnyNic& nic(int index) { return *nics_[static_cast<std::size_t>(index)]; }
  /// Null where a node has one accelerator.
  nic::AnyNic* scale_up_port(int index) {
    return ports_.empty() ? nullptr : ports_[static_cast<std::size_t>(index)].get();
  }
  fabric::Fabric& network() { return *network_; }
  std::size_t node_count() const { return nodes_.size(); }
  fabric::Fabric& node_network(std::size_t node) { return *nodes_[node]; }

  /// Tells every module to record; before the run.
  void record(Probe& probe);

  /// Tells what pins would show, of everything that has some; before the run.
  void record(Waves& waves);

  /// Runs until nothing is left to do. Throws DeadlockError when a thread, packet, credit, payload or command is left
  /// over, but for packets before links that are down when all else is done, and what is thrown on the way: OutOfMemory
  /// where what is allocated then finds no room.
  void run();

  /// The end of a run: when the last event was handled, or the last thread had spent its cycles.
  [[nodiscard]] Time end() const;

  /// What people should know of a run that ended well, one line each: a memory whose stacks are not what it moves and
  /// holds, ends that were cut off, links that the buffers that were set for them cannot fill, and interfaces that read
  /// too little ahead.
  [[nodiscard]] std::vector<std::string> warnings() const;
  /// The same of rings through all ranks, where collectives.algorithm sums by them: staging that cannot fill links.
  [[nodiscard]] std::vector<std::string> ring_warnings() const;

  /// Transactions that links of all networks carried: the hops of packets.
  [[nodiscard]] std::int64_t hops();

 private:
  using Step = std::function<void()>;

  [[nodiscard]] bool has_ports() const { return config_.per_node > 1; }
  [[nodiscard]] std::vector<Step> steps();
  void fit_interface(nic::NicConfig& interface, fabric::Plan& plan, Bytes least) const;
  void add_rank(std::vector<Step>& steps, std::size_t index);
  void plan_nodes(std::uint64_t seed);
  std::unique_ptr<memory::Memory> make_memory(std::size_t index);
  void bind_rank(std::size_t index);
  void use_phases(std::size_t index);
  void bind_remote_memory(std::size_t index);

  MachineConfig config_;
  Wire wire_;
  PacketPool packets_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::shared_ptr<const fabric::Plan> network_plan_;
  std::vector<std::shared_ptr<const fabric::Plan>> node_plans_;  ///< of each node; empty if it has one accelerator
  std::unique_ptr<fabric::Fabric> network_;
  std::vector<std::unique_ptr<fabric::Fabric>> nodes_;
  std::vector<std::shared_ptr<const memory::StreamModel>>
      memory_models_;  ///< of `accelerator`, then `others`; null: none
  std::vector<std::unique_ptr<memory::Memory>> memories_;
  std::unique_ptr<memory::RemoteTarget> remote_memory_;          ///< null where there is none
  std::vector<std::unique_ptr<memory::RemoteDma>> remote_dmas_;  ///< likewise empty
  std::vector<std::unique_ptr<accelerator::Accelerator>> accelerators_;
  std::vector<std::unique_ptr<nic::AnyNic>> nics_;
  std::vector<std::unique_ptr<nic::AnyNic>> ports_;
  std::vector<std::unique_ptr<firmware::Processor>> processors_;
  std::vector<std::unique_ptr<firmware::Processor>> dpas_;  ///< empty if NICs have none
  std::vector<firmware::Rank> ranks_;
  std::vector<std::string> stranded_;  ///< what is left in networks of a run that ended well
};

}  // namespace weft::platforms
