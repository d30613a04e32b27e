// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/bench/traffic_load.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "hw/core/register_file.h"
#include "hw/fabric/fabric.h"
#include "hw/memory/hbm.h"
#include "hw/nic/nic.h"
#include "platforms/commands/command.h"
#include "platforms/results/format.h"
#include "platforms/results/stopwatch.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

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
class Driver final : public sc_core::sc_module {
 public:
  explicit Driver(sc_core::sc_module_name name) : sc_module(name), socket("socket") { socket.bind(initiator_); }

  tlm::tlm_initiator_socket<64> socket;

  void write(std::uint32_t queue_pair, std::uint64_t bytes) {
    nic::WorkRequest request;
    request.verb = nic::Verb::kWrite;
    request.queue_pair = queue_pair;
    request.bytes = bytes;
    write_through(*socket.operator->(), payload_, nic::kDoorbell, &request, sizeof request, Time());
  }

 private:
  BlockingInitiator initiator_;
  tlm::tlm_generic_payload payload_;
};

struct Host {
  Host(std::uint32_t index, const nic::NicConfig& config, fabric::Fabric& network, Dispatcher& dispatcher,
       PacketPool& packets)
      : name(std::to_string(index)),
        nic(("nic" + name).c_str(), config, network.config(), index, dispatcher, packets, false, {}),
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

struct Flow {
  std::uint32_t from;
  std::uint32_t to;
};

/// Every host sends to one other, and no two to the same.
std::vector<Flow> permutation(std::uint32_t hosts) {
  std::vector<std::uint32_t> order(hosts);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 random(7);
  bool meets_itself = true;
  while (meets_itself) {
    for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    meets_itself = false;
    for (std::uint32_t i = 0; i < hosts; ++i) meets_itself = meets_itself || order[i] == i;
  }
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < hosts; ++i) flows.push_back({i, order[i]});
  return flows;
}

/// Every host sends to every other one, in an order of its own.
std::vector<Flow> all_to_all(std::uint32_t hosts) {
  std::mt19937 random(7);
  std::vector<Flow> flows;
  for (std::uint32_t from = 0; from < hosts; ++from) {
    std::vector<Flow> own;
    for (std::uint32_t to = 0; to < hosts; ++to) {
      if (to != from) own.push_back({from, to});
    }
    for (std::uint32_t i = hosts - 2; i > 0; --i) std::swap(own[i], own[random() % (i + 1)]);
    flows.insert(flows.end(), own.begin(), own.end());
  }
  return flows;
}

/// All send to host 0.
std::vector<Flow> incast(std::uint32_t hosts) {
  std::vector<Flow> flows;
  for (std::uint32_t from = 1; from < hosts; ++from) flows.push_back({from, 0});
  return flows;
}

std::vector<Flow> flows_of(const Traffic& traffic) {
  switch (traffic.pattern) {
    case Pattern::kIncast:
      return incast(traffic.hosts);
    case Pattern::kAllToAll:
      return all_to_all(traffic.hosts);
    case Pattern::kPermutation:
      break;
  }
  return permutation(traffic.hosts);
}

}  // namespace

ordered_json traffic_load(const std::string& what, const Traffic& traffic, const fabric::FabricConfig& config) {
  Dispatcher dispatcher("dispatcher");
  PacketPool packets;
  fabric::Fabric network("network", config, static_cast<int>(traffic.hosts), dispatcher, packets, {}, "fabric");
  std::vector<std::unique_ptr<Host>> all;
  for (std::uint32_t i = 0; i < traffic.hosts; ++i) {
    all.push_back(std::make_unique<Host>(i, traffic.interface, network, dispatcher, packets));
  }

  // A host's queue pairs that send come before those that receive.
  const std::vector<Flow> flows = flows_of(traffic);
  std::vector<std::uint32_t> senders;
  senders.reserve(flows.size());
  for (const Flow& flow : flows) senders.push_back(all[flow.from]->nic.create_queue_pair(0));
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const auto [from, to] = flows[i];
    const std::uint32_t receiver = all[to]->nic.create_queue_pair(0);
    all[from]->nic.connect(senders[i], to, receiver);
    all[to]->nic.connect(receiver, from, senders[i]);
  }
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    for (int m = 0; m < traffic.messages; ++m) all[flows[i].from]->driver.write(senders[i], traffic.message_bytes);
  }
  const Stopwatch watch;
  dispatcher.run_to_end();
  const double seconds = watch.seconds();
  const double cpu_seconds = watch.cpu_seconds();

  std::int64_t hops = 0;
  std::int64_t marked = 0;
  std::int64_t pauses = 0;
  for (std::size_t s = 0; s < network.switch_count(); ++s) {
    fabric::AnySwitch& sw = network.switch_at(s);
    for (std::size_t p = 0; p < sw.radix(); ++p) {
      hops += sw.transmitter(p).counters().packets;
      marked += sw.port_counters(p).marked;
      pauses += sw.port_counters(p).pauses;
    }
  }
  for (auto& host : all) hops += host->nic.transmitter().counters().packets;
  return {{"what", what},
          {"unit", "hops/s"},
          {"value", static_cast<double>(hops) / seconds},
          {"value_by_cpu", static_cast<double>(hops) / cpu_seconds},
          {"hops", hops},
          {"events", dispatcher.handled()},
          {"marked", marked},
          {"pauses", pauses},
          {"simulated_us", to_us(dispatcher.now())},
          {"wall_s", seconds},
          {"cpu_s", cpu_seconds},
          {"digest", to_hex(dispatcher.digest())}};
}

}  // namespace weft::platforms
