// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/idle_fields.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "hw/memory/memory_model.h"
#include "hw/memory/remote/cxl_pool.h"
#include "hw/memory/remote/remote_model.h"
#include "platforms/config/other_values.h"
#include "platforms/machine/idle_collector.h"
#include "sw/collectives/algorithm.h"
#include "sw/collectives/in_network/in_network.h"
#include "sw/collectives/line/dimensional.h"
#include "sw/collectives/multicast/multicast.h"
#include "sw/collectives/nccl/nccl_collectives.h"
#include "sw/collectives/pat/pat.h"
#include "sw/compression/blocks.h"
#include "sw/compression/compressor.h"

namespace weft::platforms {
namespace {

using accelerator::ComputeConfig;
using collectives::CommunicatorConfig;
using collectives::DimensionsConfig;
using collectives::MulticastConfig;
using collectives::NcclConfig;
using InNetworkConfig = collectives::InNetworkMember::Config;

void add_memory(IdleCollector& idle, const memory::HbmConfig& hbm) {
  const std::string path = "accelerator.hbm";
  const bool stacks = hbm.has_stacks();
  const std::string detail_is = path + ".detail is " + hbm.detail.text();
  // First, since a field has the first reason that is given for it: what a model ignores no other value brings back.
  for (const std::string& field : memory::model_of(hbm).ignores) idle.add(true, path + "." + field, detail_is);
  for (const char* field : {".efficiency", ".latency"}) {
    idle.add(stacks, path + field, path + ".stacks say it");
  }
  idle.add(!stacks, path + ".stacks", path + ".stacks.count is 0", {"count"});
  idle.add(!stacks, path + ".interconnect", path + ".stacks.count is 0");
  for (const Section& section : hbm.sections) {
    idle.add(section.name != hbm.detail.text(), path + "." + section.key, detail_is);
  }
  const dram::ControllerConfig& controller = hbm.stacks.controller;
  idle.add(controller.ecc.mode == dram::EccMode::kOff, path + ".stacks.controller.ecc",
           path + ".stacks.controller.ecc.mode is off", {"mode"});
  const auto refresh = controller.refresh;
  const std::string refresh_is = path + ".stacks.controller.refresh is " + std::string(name_of(refresh));
  const std::string timing = path + ".stacks.device.timing.";
  idle.add(refresh != dram::RefreshPolicy::kPerBank, timing + "rfcpb", refresh_is);
  idle.add(refresh != dram::RefreshPolicy::kAllBank, timing + "rfc", refresh_is);
  idle.add(refresh == dram::RefreshPolicy::kOff, timing + "refi", refresh_is);
  idle.add(refresh != dram::RefreshPolicy::kPerBank, timing + "rrefd", refresh_is);
  idle.add(refresh != dram::RefreshPolicy::kAllBank, path + ".stacks.controller.refresh_postpone", refresh_is);
  idle.add(stacks, path + ".stacks.device.geometry.channels", path + ".stacks.channels stands in its place");
}

void add_remote(IdleCollector& idle, const memory::RemoteConfig& remote, const MachineUse& use) {
  const std::string path = "remote_memory";
  idle.add(!remote.exists(), path, path + ".kind is none", {"kind"});
  if (!remote.exists()) return;
  const std::string& kind = remote.kind.text();
  const std::string kind_is = path + ".kind is " + kind;
  for (const std::string& field : memory::model_of(remote).ignores) idle.add(true, path + "." + field, kind_is);
  for (const Section& section : remote.sections) idle.add(section.name != kind, path + "." + section.key, kind_is);
  // A pool draws what its devices draw idle, whoever uses it.
  const auto& pool = remote.sections.of<memory::CxlPool::Config>();
  const bool draws = use.energy && kind == memory::CxlPool::Config::kKind &&
                     (pool.device.idle > Power() || pool.switch_config.idle > Power());
  idle.add(!use.moves, path, "nothing was loaded or stored in this run",
           draws ? std::vector<std::string>{"kind", "cxl"} : std::vector<std::string>());
}

/// What kernels_on() does not see: who else reads the array's fields. `tensor_16bit` is also what utilisation is of.
constexpr std::string_view kReadByOthers[] = {"sms", "planned_memory", "tensor_16bit", "power.idle",
                                              "power.memory_byte"};

void add_kernels(IdleCollector& idle, const ComputeConfig& compute, const MachineUse& use) {
  const std::string path = "accelerator.compute";
  if (!use.kernels) {
    for (const char* field : {"accelerator.speed_spread", "accelerator.slice"}) idle.add(true, field, "no kernel runs");
    idle.add(true, path, "no kernel runs",
             use.energy ? std::vector<std::string>{"tensor_16bit", "power"} : std::vector<std::string>());
  } else if (use.kernels_on) {
    auto tried = std::make_shared<ComputeConfig>(compute);
    idle.add_tried(path, "no kernel of this run follows it", [tried, &use](std::string_view field) {
      if (field == "lacks") {
        ComputeConfig none = *tried;
        none.lacks.clear();
        return use.kernels_on(none) == use.kernels_on(*tried);
      }
      return std::find(std::begin(kReadByOthers), std::end(kReadByOthers), field) == std::end(kReadByOthers) &&
             is_indifferent([&](FieldVisitor& visitor) { tried->fields(visitor); }, field,
                            [&] { return use.kernels_on(*tried); }, Extremes::kTried);
    });
  }
  if (use.energy) return;
  for (const char* field :
       {"accelerator.hbm.stacks.device.energy", "nic.power", "fabric.link.power", "fabric.switch.power",
        "scale_up.port.power", "scale_up.fabric.link.power", "scale_up.fabric.switch.power",
        "remote_memory.cxl.device.byte", "remote_memory.cxl.device.idle", "remote_memory.cxl.link.bit",
        "remote_memory.cxl.switch.idle"}) {
    idle.add(true, field, "energy is counted by weft run");
  }
}

/// Whether switches are to add up. Where they have no room for it, their fields are why.
bool asks_switches(const CommunicatorConfig& config) {
  const collectives::Algorithm* other = in_place_of(collectives::algorithm_of(config.algorithm), config);
  return config.algorithm == InNetworkConfig::kAlgorithm ||
         (other != nullptr && other->name == InNetworkConfig::kAlgorithm);
}

/// Whether some collective ran by the algorithm.
bool has_run(const MachineUse& use, std::string_view algorithm) {
  return !use.algorithms ||
         std::find(use.algorithms->begin(), use.algorithms->end(), algorithm) != use.algorithms->end();
}

/// Whether switches were to add up or nccl chose that they did.
bool uses_switches(const CommunicatorConfig& config, const MachineUse& use) {
  using collectives::Followed;
  if (!use.by_algorithm) return collectives::has_followed_switches(use.followed);
  return asks_switches(config) ||
         (config.algorithm == NcclConfig::kAlgorithm &&
          (has_followed(use.followed, Followed::kNvlsSteps) || has_followed(use.followed, Followed::kFull) ||
           has_followed(use.followed, Followed::kCollnet)));
}

/// Whether some message went by rings of compressed blocks.
bool has_compressed_rings(const compression::MessageCompression& config, const MachineUse& use) {
  for (const auto& [name, traffic] : enum_names(compression::Traffic())) {
    const bool compressed = (use.compressed & 1U << static_cast<unsigned>(traffic)) != 0;
    if (compressed && compression::Blocks::has(config.of(traffic))) return true;
  }
  return false;
}

/// Scopes that the run has no traffic of, and compressors that none of it could have.
void add_compression(IdleCollector& idle, const compression::MessageCompression& config, const MachineUse& use,
                     bool real) {
  using compression::Traffic;
  const std::string path = "collectives.compression";
  for (const auto& [name, traffic] : enum_names(Traffic())) {
    const compression::ScopeConfig* const scope = config.scope(traffic);
    if (scope == nullptr) continue;
    const std::string own = path + "." + std::string(name);
    const std::uint32_t bit = 1U << static_cast<unsigned>(traffic);
    idle.add((use.traffic & bit) == 0, own, "no send and no communicator of this run has messages of that");
    idle.add(config.of(traffic).on() && config.has_own(traffic) && (use.compressed & bit) == 0, own,
             "no message of that travelled compressed in this run");
  }
  std::uint32_t of_all = 0;
  for (const auto& [name, traffic] : enum_names(Traffic())) {
    if (!config.has_own(traffic)) of_all |= 1U << static_cast<unsigned>(traffic);
  }
  if (config.on() && (use.compressed & of_all) == 0) {
    std::vector<std::string> scopes;
    for (const auto& [name, traffic] : enum_names(Traffic())) scopes.emplace_back(name);
    idle.add(true, path, "no message of this run travels compressed by " + config.method.text(), scopes);
  }
  for (const compression::Unfollowed& each : compression::unfollowed(config, real, path)) {
    idle.add(true, each.field, each.why);
  }
  for (const auto& [name, traffic] : enum_names(Traffic())) {
    idle.add(config.of(traffic).on(), config.path(traffic, path) + ".by_tensor",
             "a collective does not know the tensors of a message");
  }
}

/// By what collectives of the run have followed, whatever chose them.
void add_followed(IdleCollector& idle, const MachineConfig& config, const MachineUse& use) {
  using collectives::Followed;
  const auto add = [&](Followed what, std::initializer_list<const char*> fields, const char* why) {
    for (const char* field : fields) idle.add(!has_followed(use.followed, what), field, why);
  };
  if (config.collectives.broadcast.algorithm != collectives::BroadcastAlgorithm::kAutomatic) {
    add(Followed::kBroadcastTree, {"collectives.broadcast"}, "this run has no Broadcast");
  }
  // Staging that nobody uses still moves what lies behind it, which some memories tell apart.
  if (memory::model_of(config.accelerator.hbm).uniform) {
    const bool crosses = config.accelerators > config.per_node && config.per_node > 1;
    const bool compressed = has_compressed_rings(config.collectives.compression, use);
    const char* const none = compressed ? "rings of compressed blocks alone carried something"
                                        : "no ring or tree carried anything in this run";
    if (!crosses || !compressed) {
      add(Followed::kRings, {"collectives.channels"},
          compressed ? "compressed blocks go round one ring, within a node or between nodes of one accelerator" : none);
    }
    add(Followed::kRings,
        {"collectives.chunk", "collectives.slots", "collectives.queue_pairs", "accelerator.relay",
         "accelerator.word_relay", "accelerator.line_relay", "accelerator.line_latency"},
        none);
    add(Followed::kChunk, {"collectives.chunk"},
        "all that rings of this run carried has flags, and chunks of a length of their own");
    add(Followed::kSlots, {"collectives.slice"}, "no ring without flags carried anything in this run");
    // What nccl may take depends on it.
    if (config.collectives.algorithm != NcclConfig::kAlgorithm) {
      add(Followed::kRings, {"collectives.protocol"}, none);
    }
  }
  // By the rate of all channels' interfaces nccl chooses across nodes.
  const bool chooses = config.collectives.algorithm == NcclConfig::kAlgorithm && config.accelerators > config.per_node;
  idle.add(has_followed(use.followed, Followed::kRings) && !has_followed(use.followed, Followed::kSlots) &&
               !has_followed(use.followed, Followed::kChannels) && !chooses,
           "collectives.channels", "what this run carries is too short for a second channel");
  idle.add(has_followed(use.followed, Followed::kRings) && !has_followed(use.followed, Followed::kSlots) &&
               !has_followed(use.followed, Followed::kLaneSlots) &&
               config.collectives.slots >= collectives::PatMember::kMostSlots,
           "collectives.slots", "a connection of PAT uses " + std::to_string(collectives::PatMember::kMostSlots));
  if (config.collectives.algorithm == NcclConfig::kAlgorithm) {
    add(Followed::kVersion, {"collectives.nccl.version"}, "no collective of this run goes another way by another");
    add(Followed::kCopyEngines, {"collectives.nccl.cta_policy"},
        "no Allgather and no AllToAll of equal parts of this run is of a group within one node");
    add(Followed::kSymmetric, {"collectives.nccl.symmetric"}, "no collective of this run has a kernel for windows");
    add(Followed::kNvls, {"collectives.nccl.nvls"}, "no collective of this run goes another way with it");
    add(Followed::kCollnet, {"collectives.nccl.collnet"}, "no collective of this run goes another way with it");
    add(Followed::kPat, {"collectives.nccl.pat"}, "no Allgather or ReduceScatter of this run goes another way with it");
    add(Followed::kNvlsSteps, {"collectives.nccl.nvls_channels"}, "no AllReduce of this run goes by NVLS");
    idle.add(use.by_algorithm, "collectives.in_network.all_reduce", "collectives.algorithm is nccl");
    idle.add(use.by_algorithm, "collectives.in_network.when_full", "collectives.algorithm is nccl");
    idle.add(use.by_algorithm, "collectives.in_network.staging.channels",
             "collectives.algorithm is nccl, whose channels are collectives.nccl.nvls_channels");
  }
  if (has_followed(use.followed, Followed::kDimensions)) {
    add(Followed::kOrder, {"collectives.dimensions.inter_dimension", "collectives.dimensions.optimization"},
        "this run has AllToAlls and collectives with a root alone, whose phases have one order");
    add(Followed::kSeveral, {"collectives.dimensions.scheduling"},
        "no collective of this run began before the one before it had ended");
  }
  add_compression(idle, config.collectives.compression, use, config.data);
  // Where switches had no room, what asks for it is why.
  if (!uses_switches(config.collectives, use) || has_followed(use.followed, Followed::kFull)) return;
  add(Followed::kPieces, {"collectives.piece", "collectives.pieces"},
      "no collective of this run is in the switches of both networks");
  add(Followed::kSums, {"collectives.in_network.low_latency_limit"}, "switches summed up nothing in this run");
  if (has_followed(use.followed, Followed::kNvlsSteps) && !config.collectives.of<collectives::NcclConfig>().collnet) {
    idle.add(true, "collectives.in_network.low_latency_limit", "NVLS has no way of its own for short buffers");
  }
  add(Followed::kAllReduce, {"collectives.in_network.all_reduce"},
      "no AllReduce of this run is longer than collectives.in_network.low_latency_limit");
  add(Followed::kStreaming, {"collectives.in_network.window"}, "nothing went up a streaming tree in this run");
  add(Followed::kLock, {"collectives.in_network.lock"}, "no sum of this run waits until a streaming tree is locked");
  add(Followed::kScatter, {"collectives.in_network.own_block"}, "this run has no ReduceScatter by switches");
  add(Followed::kMessages, {"collectives.in_network.chunk"}, "no collective of this run is cut into chunks");
  if (has_followed(use.followed, Followed::kStaging)) return;
  idle.add(true, "collectives.in_network.staging",
           "nothing was staged in this run: that is for an AllReduce by reduce-multicast, longer than "
           "collectives.in_network.low_latency_limit",
           has_followed(use.followed, Followed::kCouldStage) ? std::vector<std::string>{"channels"}
                                                             : std::vector<std::string>());
}

/// Of collectives of which each may have an algorithm of its own: libraries that none of the run had.
void add_libraries(IdleCollector& idle, const MachineConfig& config, const MachineUse& use) {
  using collectives::Followed;
  const bool switches = uses_switches(config.collectives, use);
  for (const char* field : {"collectives.in_network", "collectives.piece", "collectives.pieces"}) {
    idle.add(!switches, field, "no collective of this run is in switches");
  }
  idle.add(!has_followed(use.followed, Followed::kMulticast), "collectives.multicast",
           "no collective of this run is by multicast");
  idle.add(!has_followed(use.followed, Followed::kDimensions), "collectives.dimensions",
           "no collective of this run is by dimensions");
  constexpr std::string_view kAbove[] = {InNetworkConfig::kAlgorithm, MulticastConfig::kAlgorithm,
                                         DimensionsConfig::kAlgorithm};
  for (const Section& section : config.collectives.sections) {
    if (std::find(std::begin(kAbove), std::end(kAbove), section.name) != std::end(kAbove)) continue;
    idle.add(!has_run(use, section.name), "collectives." + section.key,
             "no collective of this run is by " + section.name);
  }
}

/// Adders of switches, of which a run has used those of its types.
void add_adders(IdleCollector& idle, const fabric::ReductionEngine::Config& config, const MachineUse& use,
                const std::string& path) {
  using collectives::Followed;
  if (config.implementation != fabric::ReductionEngine::Config().implementation) return;
  for (const auto& [name, type] : enum_names(ElementType())) {
    idle.add(!has_followed(use.followed, collectives::followed_of(type)), path + "." + std::string(name),
             "no sum of " + std::string(name) + " in this run went up a streaming tree");
  }
  idle.add(!has_followed(use.followed, Followed::kLowLatency), path + ".low_latency",
           "nothing in this run went up a low-latency tree");
  idle.add(!has_followed(use.followed, Followed::kLowLatencyBytes), path + ".low_latency_bytes",
           "no data in this run went up a low-latency tree");
}

void add_processor(IdleCollector& idle, const firmware::Processor::Config& config, bool accesses, bool fetches,
                   const std::string& path) {
  idle.add(config.threads == 1, path + ".placement", path + ".threads is 1: either way fills a core with one thread");
  const bool polls = config.wait == firmware::Wait::kPoll;
  for (const char* field : {".access_cycles", ".port_cycles"}) {
    idle.add(!polls && !accesses, path + field, "its threads accessed no shared memory in this run");
  }
  idle.add(!fetches, path + ".entry_cycles", "no work request was written to a queue in memory");
}

/// Of each algorithm's own fields, where collectives run by collectives.algorithm alone.
void add_sections(IdleCollector& idle, const CommunicatorConfig& config, const MachineUse& use, bool in_network) {
  const std::string path = "collectives.";
  const collectives::Algorithm& algorithm = collectives::algorithm_of(config.algorithm);
  for (const Section& section : config.sections) {
    const bool counts = section.name == InNetworkConfig::kAlgorithm ? in_network : section.name == algorithm.name;
    idle.add(!counts, path + section.key, path + "algorithm is " + algorithm.name);
    // Others may have done all in its place. Where its fields say which ones, they count.
    idle.add(counts && !algorithm.is_whole() && !algorithm.in_place && !has_run(use, algorithm.name),
             path + section.key, "no collective of this run is by " + algorithm.name);
  }
}

void add_collectives(IdleCollector& idle, const CommunicatorConfig& config, const MachineUse& use) {
  const std::string path = "collectives";
  const std::string why = path + ".algorithm is " + config.algorithm.text();
  const collectives::AlgorithmName& algorithm = config.algorithm;
  const bool in_network = uses_switches(config, use);
  add_sections(idle, config, use, in_network);
  idle.add(asks_switches(config) && config.of<InNetworkConfig>().staging.channels == 0, path + ".in_network.staging",
           path + ".in_network.staging.channels is 0", {"channels"});
  const auto& rooted = config.of<DimensionsConfig>().rooted;
  const bool knomial = std::find(rooted.begin(), rooted.end(), collectives::RootedAlgorithm::kKNomial) != rooted.end();
  idle.add(!knomial, path + ".dimensions.radix", path + ".dimensions.rooted has no k-nomial");
  using collectives::BroadcastAlgorithm;
  const BroadcastAlgorithm broadcast = config.broadcast.algorithm;
  const std::string by = path + ".broadcast.algorithm is " + std::string(name_of(broadcast));
  idle.add(broadcast == BroadcastAlgorithm::kAutomatic, path + ".broadcast", by, {"algorithm"});
  idle.add(broadcast != BroadcastAlgorithm::kKNomial, path + ".broadcast.radix", by);
  for (const char* field : {".piece", ".pieces"}) idle.add(!in_network, path + field, why);
  // The others run in rings, or fall back to them.
  for (const char* field : {".channels", ".chunk", ".slots", ".slice", ".queue_pairs", ".order", ".protocol"}) {
    idle.add(algorithm == DimensionsConfig::kAlgorithm, path + field, why);
  }
  const bool rings =
      algorithm == collectives::kRingAlgorithm || (use.algorithms && has_run(use, collectives::kRingAlgorithm));
  idle.add(!rings && !has_compressed_rings(config.compression, use), path + ".order", why);
  const bool chosen = config.protocol == collectives::Protocol::kAutomatic && algorithm == NcclConfig::kAlgorithm;
  const std::string protocol = path + ".protocol is " + std::string(name_of(config.protocol)) + ", and " + why;
  const bool words = chosen || config.protocol == collectives::Protocol::kLl;
  idle.add(!words, "accelerator.word_relay", protocol);
  const bool lines = chosen || config.protocol == collectives::Protocol::kLl128;
  for (const char* field : {"accelerator.line_relay", "accelerator.line_latency"}) idle.add(!lines, field, protocol);
}

bool is_within(const std::string& field, const std::string& path) {
  return field.starts_with(path) && (field.size() == path.size() || field[path.size()] == '.');
}

/// Whether a field is a scalar of the list at `path`.
bool is_element(const std::string& field, const std::string& path) {
  return is_within(field, path) && field.size() > path.size() &&
         field.find_first_not_of("0123456789", path.size() + 1) == std::string::npos;
}

}  // namespace

MachineUse use_of(Machine& machine) {
  MachineUse use;
  use.kernels = use.copies = use.moves = use.accesses = use.offloaded = false;
  use.followed = use.traffic = use.compressed = 0;
  use.algorithms.emplace();
  use.nic = use.port = {.sends = false,
                        .refuses = false,
                        .fetches = false,
                        .ahead = false,
                        .notified = false,
                        .groups = machine.network().had_groups(),
                        .sums = false,
                        .until = machine.dispatcher().last_change(),
                        .gives = {}};
  const auto count = [](InterfaceUse& all, const nic::NicCounters& counters) {
    all.sends = all.sends || counters.packets_sent > 0;
    all.refuses = all.refuses || counters.not_ready > 0;
    all.fetches = all.fetches || counters.entry_reads > 0;
    all.ahead = all.ahead || counters.held > 0 || counters.dropped > 0;
    all.notified = all.notified || counters.notifications > 0 || counters.rate_cuts > 0;
  };
  const auto sums = [](fabric::Fabric& network) {
    for (std::size_t s = 0; s < network.switch_count(); ++s) {
      const fabric::ReductionEngine* engine = network.switch_at(s).engine();
      if (engine != nullptr && engine->counters().operands > 0) return true;
    }
    return false;
  };
  for (int i = 0; i < machine.size(); ++i) {
    const accelerator::Accelerator::Counters& array = machine.accelerator(i).counters();
    use.kernels = use.kernels || array.kernels > 0;
    use.copies = use.copies || array.copies > 0;
    const firmware::Rank& rank = machine.rank(i);
    use.followed |= rank.followed;
    use.traffic |= rank.traffic;
    use.compressed |= rank.compressed;
    use.algorithms->insert(use.algorithms->end(), rank.algorithms.begin(), rank.algorithms.end());
    use.accesses = use.accesses || rank.processor->accesses() > 0;
    use.offloaded = use.offloaded || (rank.offload.processor != nullptr && rank.offload.processor->accesses() > 0);
    count(use.nic, machine.nic(i).counters());
    if (nic::AnyNic* port = machine.scale_up_port(i)) count(use.port, port->counters());
    if (!machine.has_remote_memory()) continue;
    const memory::RemoteDma::Counters& remote = machine.remote_dma(i).counters();
    use.moves = use.moves || remote.loads > 0 || remote.stores > 0;
  }
  use.nic.read_ahead = machine.config().nic.read_ahead;
  use.port.read_ahead = machine.config().scale_up.port.read_ahead;
  const bool asked = uses_switches(machine.config().collectives, use);
  use.nic.sums = asked || sums(machine.network());
  use.port.groups = false;
  use.port.sums = asked;
  for (std::size_t n = 0; n < machine.node_count(); ++n) {
    use.port.groups = use.port.groups || machine.node_network(n).had_groups();
    use.port.sums = use.port.sums || sums(machine.node_network(n));
  }
  return use;
}

std::vector<IdleFields> idle_fields(const MachineConfig& config, const MachineUse& use) {
  IdleCollector idle;
  const bool alone = config.per_node == 1;
  idle.add(alone, "scale_up", "per_node is 1");
  add_remote(idle, config.remote_memory, use);
  idle.add(config.dpa.cores == 0, "dpa", "dpa.cores is 0", {"cores"});
  add_memory(idle, config.accelerator.hbm);
  add_interface(idle, config.nic, config.fabric, use.nic, "nic", "fabric");
  add_network(idle, config.fabric, config.accelerators, use.nic, "fabric");
  if (!alone) {
    add_interface(idle, config.scale_up.port, config.scale_up.fabric, use.port, "scale_up.port", "scale_up.fabric");
    add_network(idle, config.scale_up.fabric, config.per_node, use.port, "scale_up.fabric");
  }
  add_adders(idle, config.fabric.switch_config.reduction, use, "fabric.switch.reduction");
  add_adders(idle, config.scale_up.fabric.switch_config.reduction, use, "scale_up.fabric.switch.reduction");
  add_kernels(idle, config.accelerator.array.compute, use);
  for (const char* field : {"accelerator.copy_rate", "accelerator.copy_overhead"}) {
    idle.add(!use.copies, field, "copy engines did nothing in this run");
  }
  idle.add(!has_followed(use.followed, collectives::Followed::kCopyEngines), "accelerator.dma",
           "no collective of this run goes by DMA engines");
  if (!use.nic.sends) {
    // What is drawn without sending, and what links there are, counts.
    const std::string why = "nothing passed the network in this run";
    for (const char* field :
         {"accelerator.relay", "accelerator.word_relay", "accelerator.line_relay", "collectives.queue_pairs"}) {
      idle.add(true, field, why);
    }
    const auto drawn = [&](std::vector<std::string> fields, const char* power) {
      if (use.energy) fields.emplace_back(power);
      return fields;
    };
    std::vector<std::string> shape = {
        "topology",          "radix",        "hosts_per_leaf", "uplinks", "levels",           "leaves_per_pod",
        "pod_uplinks",       "spines",       "rails",          "sizes",   "hosts_per_router", "groups",
        "routers_per_group", "global_links", "dimensions",     "edges"};
    shape = drawn(std::move(shape), "link.power");
    idle.add_together("fabric", why, drawn(std::move(shape), "switch.power"));
    idle.add_together("nic", why, drawn({}, "power"));
  }
  const bool fetches = use.nic.fetches || use.port.fetches;
  add_processor(idle, config.firmware, use.accesses, fetches, "firmware");
  if (config.dpa.cores > 0) add_processor(idle, config.dpa, use.offloaded, fetches || use.offloaded, "dpa");
  if (!use.by_algorithm) {
    add_libraries(idle, config, use);
    add_followed(idle, config, use);
    return idle.take();
  }
  idle.add(config.dpa.cores > 0 && !collectives::is_offloaded(config.collectives), "dpa",
           "collectives run on the host: collectives.algorithm is not multicast with multicast.placement dpa",
           {"cores"});
  add_collectives(idle, config.collectives, use);
  add_followed(idle, config, use);
  return idle.take();
}

std::vector<std::pair<std::string, std::string>> idle_among(const std::vector<std::string>& set,
                                                            const std::vector<IdleFields>& idle) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& field : set) {
    const auto by = std::find_if(idle.begin(), idle.end(), [&](const IdleFields& fields) {
      if (fields.decides_nothing) {
        return field.starts_with(fields.path + ".") && fields.decides_nothing(field.substr(fields.path.size() + 1));
      }
      return is_within(field, fields.path) &&
             std::none_of(fields.except.begin(), fields.except.end(),
                          [&](const std::string& counts) { return is_within(field, counts); });
    });
    if (by == idle.end()) continue;
    found.emplace_back(by->together || is_element(field, by->path) ? by->path : field, by->why);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  // What is set as a whole is named as a whole.
  std::vector<std::pair<std::string, std::string>> whole;
  for (auto& each : found) {
    if (whole.empty() || !is_within(each.first, whole.back().first)) whole.push_back(std::move(each));
  }
  return whole;
}

}  // namespace weft::platforms
