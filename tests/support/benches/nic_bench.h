// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/fabric/fabric.h"
#include "hw/memory/hbm.h"
#include "hw/nic/nic.h"
#include "tests/support/benches/lossy_wire.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

/// Network interfaces on one switch, each with a memory, a doorbell and a completion queue that the test holds.
namespace weft::nic::test_bench {

using namespace weft::literals;
using test::pattern_bytes;

struct BenchConfig {
  int ends = 2;
  Nic::Config nic;
  fabric::FabricConfig network;
  memory::Hbm::Config memory;
  Stall::Config stall;
  bool data = true;
  std::array<std::uint32_t, 2> first_psn = {0, 0};  ///< of what the first and the second end of a connection send
  std::optional<test::LossyWire::Config> wire;      ///< between each interface and its link

  BenchConfig() { network.topology = fabric::Shape::kSwitch; }
};

/// A queue pair at each of two ends, joined.
struct Connection {
  std::uint32_t a;
  std::uint32_t b;
};

class Bench {
 public:
  using Entries = std::vector<test::Sink<Completion>::Written>;

  explicit Bench(const BenchConfig& config = {})
      : config_(config),
        dispatcher("dispatcher"),
        network("network", config.network, config.ends, dispatcher, packets, config.stall, "fabric"),
        script("script", dispatcher) {
    for (int i = 0; i < config.ends; ++i) {
      const std::string number = std::to_string(i);
      memories.push_back(std::make_unique<memory::Hbm>(("hbm" + number).c_str(), config.memory, dispatcher,
                                                       std::vector<std::string>{"nic"}, config.data, config.stall));
      nics.push_back(
          std::make_unique<Nic>(("nic" + number).c_str(), config.nic, network.end_config(static_cast<std::uint32_t>(i)),
                                static_cast<std::uint32_t>(i), dispatcher, packets, config.data, config.stall));
      doorbells.push_back(std::make_unique<test::Initiator>(("doorbell" + number).c_str()));
      queues.push_back(std::make_unique<test::Sink<Completion>>(("completions" + number).c_str(), dispatcher));
      Nic& nic = *nics.back();
      nic.dma.bind(memories.back()->socket(0));
      nic.completion.bind(queues.back()->socket);
      doorbells.back()->socket.bind(nic.registers);
      const auto end = static_cast<std::uint32_t>(i);
      if (!config.wire) {
        network.bind_end(end, nic.out, nic.in);
        continue;
      }
      wires.push_back(std::make_unique<test::LossyWire>(("wire" + number).c_str(), *config.wire,
                                                        static_cast<std::uint64_t>(i), dispatcher, packets));
      test::LossyWire& wire = *wires.back();
      nic.out.bind(wire.out.in);
      wire.in.out.bind(nic.in);
      network.bind_end(end, wire.out.out, wire.in.in);
    }
  }

  Connection connect(std::size_t a, std::size_t b) {
    const Connection pair{nics[a]->create_queue_pair(100 + nics[a]->end()),
                          nics[b]->create_queue_pair(200 + nics[b]->end())};
    nics[a]->connect(pair.a, nics[b]->end(), pair.b);
    nics[b]->connect(pair.b, nics[a]->end(), pair.a);
    nics[a]->start_at(pair.a, config_.first_psn[0], config_.first_psn[1]);
    nics[b]->start_at(pair.b, config_.first_psn[1], config_.first_psn[0]);
    return pair;
  }

  void ring(std::size_t end, const WorkRequest& request, Time delay = Time()) {
    doorbells[end]->write(kDoorbell, &request, sizeof request, delay);
    ASSERT_EQ(doorbells[end]->status(), tlm::TLM_OK_RESPONSE);
  }
  void ring_at(Time when, std::size_t end, const WorkRequest& request) {
    script.at(when, [this, end, request] { ring(end, request); });
  }

  void store(std::size_t end, std::uint64_t address, const std::vector<std::byte>& bytes) {
    memories[end]->store().write(address, bytes.data(), bytes.size());
  }
  std::vector<std::byte> load(std::size_t end, std::uint64_t address, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    memories[end]->store().read(address, data.data(), bytes);
    return data;
  }

  /// Runs to the end and checks that nothing is left anywhere.
  void run() {
    sc_core::sc_start();
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (const auto& nic : nics) {
      EXPECT_EQ(nic->left_over(), std::vector<std::string>());
      sent += nic->counters().packets_sent;
      received += nic->counters().packets_received;
    }
    EXPECT_EQ(network.left_over(), std::vector<std::string>());
    EXPECT_EQ(packets.outstanding(), 0);
    EXPECT_EQ(packets.payloads_outstanding(), 0);
    EXPECT_EQ(dispatcher.pending(), 0u);
    std::int64_t lost = 0;
    for (const auto& wire : wires) lost += wire->lost();
    EXPECT_EQ(sent, received + lost);
  }

  /// Completions of one end by the time at which they are written, calls at one time in order.
  [[nodiscard]] Entries completions(std::size_t end) const {
    Entries entries = queues[end]->written;
    std::stable_sort(entries.begin(), entries.end(), [](const auto& x, const auto& y) { return x.at < y.at; });
    return entries;
  }

  BenchConfig config_;
  PacketPool packets;
  Dispatcher dispatcher;
  fabric::Fabric network;
  test::Script script;
  std::vector<std::unique_ptr<memory::Hbm>> memories;
  std::vector<std::unique_ptr<Nic>> nics;
  std::vector<std::unique_ptr<test::LossyWire>> wires;
  std::vector<std::unique_ptr<test::Initiator>> doorbells;
  std::vector<std::unique_ptr<test::Sink<Completion>>> queues;
};

inline WorkRequest request(Verb verb, std::uint32_t pair, std::uint64_t local, std::uint64_t remote,
                           std::uint64_t bytes, std::uint64_t id = 0) {
  WorkRequest request;
  request.verb = verb;
  request.queue_pair = pair;
  request.local_address = local;
  request.remote_address = remote;
  request.bytes = bytes;
  request.id = id;
  return request;
}

inline WorkRequest write(std::uint32_t pair, std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                         std::uint64_t id = 0) {
  return request(Verb::kWrite, pair, local, remote, bytes, id);
}
inline WorkRequest send(std::uint32_t pair, std::uint64_t local, std::uint64_t bytes, std::uint64_t id = 0) {
  return request(Verb::kSend, pair, local, 0, bytes, id);
}
inline WorkRequest read(std::uint32_t pair, std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                        std::uint64_t id = 0) {
  return request(Verb::kRead, pair, local, remote, bytes, id);
}
inline WorkRequest receive(std::uint32_t pair, std::uint64_t local, std::uint64_t bytes, std::uint64_t id = 0,
                           std::uint32_t count = 1) {
  WorkRequest posted = request(Verb::kReceive, pair, local, 0, bytes, id);
  posted.count = count;
  return posted;
}
inline WorkRequest immediate(WorkRequest request, std::uint32_t value) {
  request.with_immediate = true;
  request.immediate = value;
  return request;
}

}  // namespace weft::nic::test_bench
