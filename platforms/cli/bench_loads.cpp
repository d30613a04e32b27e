// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/bench_loads.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "hw/fabric/fabric.h"
#include "hw/memory/hbm.h"
#include "hw/nic/nic.h"
#include "platforms/cli/command.h"
#include "platforms/cli/output.h"
#include "platforms/cli/platform.h"
#include "platforms/machine/machine.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Events that each post the next one up to 2 us later.
class Churn final : public sc_core::sc_module, public EventTarget {
 public:
  Churn(sc_core::sc_module_name name, Dispatcher& dispatcher, std::uint64_t pending, std::uint64_t events)
      : sc_module(name), dispatcher_(dispatcher), pending_(pending), left_(events) {
    dispatcher.attach(*this, this->name());
  }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override {
    if (left_ == 0) return;
    --left_;
    data = data * 6364136223846793005ULL + 1442695040888963407ULL;
    dispatcher_.post(now + Time(static_cast<std::int64_t>(data >> 43)), *this, tag, data);
  }

 private:
  void start_of_simulation() override {
    for (std::uint64_t i = 0; i < pending_; ++i) dispatcher_.post(Time(), *this, static_cast<std::uint32_t>(i), i);
  }

  Dispatcher& dispatcher_;
  std::uint64_t pending_;
  std::uint64_t left_;
};

ordered_json dispatcher_load(std::uint64_t events) {
  constexpr std::uint64_t kPending = 10'000;
  Dispatcher dispatcher("dispatcher");
  const Churn churn("churn", dispatcher, kPending, events);
  // Not in two steps: the dispatcher runs ahead, and would be done with the first.
  const Stopwatch watch;
  sc_core::sc_start();
  const double seconds = watch.seconds();
  return {{"what", "dispatcher events, 10,000 pending"},
          {"unit", "events/s"},
          {"value", static_cast<double>(dispatcher.handled()) / seconds},
          {"events", dispatcher.handled()},
          {"wall_s", seconds},
          {"digest", to_hex(dispatcher.digest())}};
}

/// Takes completions and forgets them.
class Sink final : public sc_core::sc_module, public tlm::tlm_fw_transport_if<> {
 public:
  explicit Sink(sc_core::sc_module_name name) : sc_module(name), socket("socket") { socket.bind(*this); }

  tlm::tlm_target_socket<64> socket;

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& /*delay*/) override {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& /*phase*/,
                                     sc_core::sc_time& /*delay*/) override {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_dmi& /*dmi*/) override { return false; }
  unsigned int transport_dbg(tlm::tlm_generic_payload& /*payload*/) override { return 0; }
};

/// Rings the doorbell of a network interface.
class Driver final : public sc_core::sc_module, public tlm::tlm_bw_transport_if<> {
 public:
  explicit Driver(sc_core::sc_module_name name) : sc_module(name), socket("socket") { socket.bind(*this); }

  tlm::tlm_initiator_socket<64> socket;

  void write(std::uint64_t bytes) {
    nic::WorkRequest request;
    request.verb = nic::Verb::kWrite;
    request.bytes = bytes;
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_address(nic::kDoorbell);
    payload.set_data_ptr(reinterpret_cast<unsigned char*>(&request));
    payload.set_data_length(sizeof request);
    payload.set_streaming_width(sizeof request);
    sc_core::sc_time delay;
    socket->b_transport(payload, delay);
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_phase& /*phase*/,
                                     sc_core::sc_time& /*delay*/) override {
    return tlm::TLM_ACCEPTED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}
};

struct Host {
  Host(std::uint32_t index, fabric::Fabric& network, Dispatcher& dispatcher, PacketPool& packets)
      : name(std::to_string(index)),
        nic(("nic" + name).c_str(), nic::Nic::Config(), network.config(), index, dispatcher, packets, false, {}),
        memory(("memory" + name).c_str(), memory::Hbm::Config(), dispatcher, {"nic"}, false, {}),
        sink(("sink" + name).c_str()),
        driver(("driver" + name).c_str()) {
    network.bind_end(index, nic.out, nic.in);
    nic.dma.bind(memory.socket(0));
    nic.completion.bind(sink.socket);
    driver.socket.bind(nic.registers);
  }

  std::string name;
  nic::Nic nic;
  memory::Hbm memory;
  Sink sink;
  Driver driver;
};

/// Every host sends to one other, and no two to the same.
std::vector<std::uint32_t> permutation(std::uint32_t hosts) {
  std::vector<std::uint32_t> order(hosts);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 random(7);
  bool meets_itself = true;
  while (meets_itself) {
    for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    meets_itself = false;
    for (std::uint32_t i = 0; i < hosts; ++i) meets_itself = meets_itself || order[i] == i;
  }
  return order;
}

ordered_json packet_load(std::uint32_t hosts, int radix, int messages) {
  Dispatcher dispatcher("dispatcher");
  PacketPool packets;
  fabric::FabricConfig config;
  config.radix = radix;
  config.hosts_per_leaf = radix / 2;
  config.spines = radix / 2;
  config.link.lanes = 1;
  config.link.buffer = Bytes(64 << 10);
  fabric::Fabric network("network", config, static_cast<int>(hosts), dispatcher, packets, {}, "fabric");
  std::vector<std::unique_ptr<Host>> all;
  for (std::uint32_t i = 0; i < hosts; ++i) all.push_back(std::make_unique<Host>(i, network, dispatcher, packets));

  // Queue pair 0 sends, queue pair 1 receives.
  const std::vector<std::uint32_t> to = permutation(hosts);
  for (auto& host : all) host->nic.create_queue_pair(0);
  for (auto& host : all) host->nic.create_queue_pair(0);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    all[i]->nic.connect(0, to[i], 1);
    all[to[i]]->nic.connect(1, i, 0);
  }
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  constexpr std::uint64_t kMessage = 1 << 20;
  for (auto& host : all) {
    for (int m = 0; m < messages; ++m) host->driver.write(kMessage);
  }
  const Stopwatch watch;
  sc_core::sc_start();
  const double seconds = watch.seconds();

  std::int64_t hops = 0;
  for (std::size_t s = 0; s < network.switch_count(); ++s) {
    fabric::Switch& sw = network.switch_at(s);
    for (std::size_t p = 0; p < sw.radix(); ++p) hops += sw.transmitter(p).counters().packets;
  }
  for (auto& host : all) hops += host->nic.transmitter().counters().packets;
  return {{"what", "packet hops, fat tree of " + std::to_string(hosts) + " hosts"},
          {"unit", "hops/s"},
          {"value", static_cast<double>(hops) / seconds},
          {"hops", hops},
          {"events", dispatcher.handled()},
          {"simulated_us", to_us(dispatcher.now())},
          {"wall_s", seconds},
          {"digest", to_hex(dispatcher.digest())}};
}

/// The smallest two-level tree of leaves as wide as it is deep.
fabric::FabricConfig smallest_tree(int ends) {
  fabric::FabricConfig config;
  while (config.radix / 2 * config.radix < ends) config.radix *= 2;
  config.hosts_per_leaf = config.radix / 2;
  return config;
}

fabric::FabricConfig three_levels() {
  fabric::FabricConfig config;
  config.levels = 3;
  return config;
}

fabric::FabricConfig torus(std::vector<int> sizes) {
  fabric::FabricConfig config;
  config.topology = fabric::Shape::kTorus;
  config.sizes = std::move(sizes);
  return config;
}

ordered_json machine_load(int accelerators, const fabric::FabricConfig& network, const std::string& of = "") {
  MachineConfig config;
  config.accelerators = accelerators;
  config.fabric = network;

  const double before = resident_bytes();
  const Stopwatch watch;
  build_machine(config);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const double seconds = watch.seconds();
  const double bytes = resident_bytes() - before;
  return {{"what", "machine of " + std::to_string(accelerators) + " accelerators" + of},
          {"unit", "bytes/accelerator"},
          {"value", bytes / accelerators},
          {"resident_bytes", bytes},
          {"elaboration_s", seconds}};
}

struct Load {
  std::string_view name;
  ordered_json (*run)(bool quick);
};

constexpr std::array kLoads = {
    Load{"dispatcher", [](bool quick) { return dispatcher_load(quick ? 2'000'000 : 40'000'000); }},
    Load{"packets-128", [](bool quick) { return packet_load(128, 16, quick ? 4 : 80); }},
    Load{"packets-1024", [](bool quick) { return packet_load(1024, 64, quick ? 1 : 10); }},
    Load{"machine-64", [](bool /*quick*/) { return machine_load(64, smallest_tree(64)); }},
    Load{"machine-1024", [](bool /*quick*/) { return machine_load(1024, smallest_tree(1024)); }},
    Load{"machine-16384", [](bool /*quick*/) { return machine_load(16384, smallest_tree(16384)); }},
    Load{"tree-16384",
         [](bool /*quick*/) { return machine_load(16384, three_levels(), " on a tree of three levels"); }},
    Load{"torus-16384",
         [](bool /*quick*/) {
           return machine_load(16384, torus({32, 32, 16}), " on a torus of 32 x 32 x 16");
         }},
};

}  // namespace

std::vector<std::string> bench_loads() {
  std::vector<std::string> names;
  names.reserve(kLoads.size());
  for (const Load& load : kLoads) names.emplace_back(load.name);
  return names;
}

ordered_json run_bench_load(const std::string& name, bool quick) {
  for (const Load& load : kLoads) {
    if (load.name != name) continue;
    ordered_json result = {{"name", name}};
    result.update(load.run(quick));
    return result;
  }
  throw UsageError("--measure: expected a measurement's name, got \"" + name + "\"");
}

}  // namespace weft::platforms
