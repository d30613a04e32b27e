// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/payload_pool.h"
#include "hw/memory/remote/remote_memory.h"
#include "tests/support/benches/sockets.h"

/// Remote memory with an initiator at each of its sockets.
namespace weft::memory::test_remote {

using namespace weft::literals;

/// An initiator that has any number of requests out.
class Requester final : public sc_core::sc_module, public tlm::tlm_bw_transport_if<> {
 public:
  using Done = std::function<void(Time, tlm::tlm_response_status)>;

  Requester(sc_core::sc_module_name name, Dispatcher& dispatcher, test::Script& script)
      : sc_module(name), socket("socket"), dispatcher_(dispatcher), script_(script) {
    socket.bind(*this);
  }

  tlm::tlm_initiator_socket<64> socket;
  Time hesitates;                      ///< from a response to its end
  std::vector<unsigned char> enables;  ///< of all bytes, in turn; empty: none are given

  void ask(tlm::tlm_command command, std::uint64_t address, std::byte* data, std::uint32_t bytes, Done done,
           InSwitch* group = nullptr) {
    tlm::tlm_generic_payload& payload = *payloads_.take();
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(reinterpret_cast<unsigned char*>(data));
    payload.set_data_length(bytes);
    payload.set_streaming_width(bytes);
    payload.set_byte_enable_ptr(enables.empty() ? nullptr : enables.data());
    payload.set_byte_enable_length(static_cast<unsigned int>(enables.size()));
    if (group != nullptr) payload.set_extension(group);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    waiting_[&payload] = {std::move(done), group};
    const tlm::tlm_sync_enum answer = socket->nb_transport_fw(payload, phase, delay);
    if (answer == tlm::TLM_COMPLETED) return end(payload);
    EXPECT_EQ(answer, tlm::TLM_UPDATED);
    EXPECT_EQ(phase, tlm::END_REQ);
  }
  [[nodiscard]] std::int64_t outstanding() const { return payloads_.outstanding(); }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    EXPECT_EQ(phase, tlm::BEGIN_RESP);
    EXPECT_EQ(from_delay(delay), Time());
    EXPECT_FALSE(in_response_) << "a second response before the end of the first one";
    if (hesitates == Time()) {
      end(payload);
      return tlm::TLM_COMPLETED;
    }
    in_response_ = true;
    script_.at(dispatcher_.now() + hesitates, [this, &payload] {
      in_response_ = false;
      tlm::tlm_phase last = tlm::END_RESP;
      sc_core::sc_time none;
      EXPECT_EQ(socket->nb_transport_fw(payload, last, none), tlm::TLM_COMPLETED);
      end(payload);
    });
    return tlm::TLM_ACCEPTED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}

 private:
  struct Waiting {
    Done done;
    InSwitch* group = nullptr;
  };
  void end(tlm::tlm_generic_payload& payload) {
    const Waiting waiting = waiting_.at(&payload);
    waiting_.erase(&payload);
    const tlm::tlm_response_status status = payload.get_response_status();
    if (waiting.group != nullptr) payload.clear_extension(waiting.group);
    payload.release();
    if (waiting.done) waiting.done(dispatcher_.now(), status);
  }

  Dispatcher& dispatcher_;
  test::Script& script_;
  PayloadPool payloads_;
  std::map<tlm::tlm_generic_payload*, Waiting> waiting_;
  bool in_response_ = false;
};

class Bench {
 public:
  Bench(const RemoteMemory::Config& config, int accelerators, int per_node, bool data = false, Time stall = Time())
      : dispatcher("dispatcher"), script("script", dispatcher) {
    memory = std::make_unique<RemoteMemory>("remote", config, accelerators, per_node, dispatcher, data,
                                            Stall::Config{stall, 1});
    for (int i = 0; i < accelerators; ++i) {
      ends.push_back(std::make_unique<Requester>(("end" + std::to_string(i)).c_str(), dispatcher, script));
      ends.back()->socket.bind(memory->socket(static_cast<std::size_t>(i)));
    }
  }
  void run(std::function<void()> action) {
    script.at(1_us, std::move(action));
    sc_core::sc_start();
    for (const auto& end : ends) EXPECT_EQ(end->outstanding(), 0);
  }
  /// Moves `bytes` at `address` with `window` chunks under way; `ended` gets the time it took.
  void stream(int end, tlm::tlm_command command, std::uint64_t address, std::uint64_t bytes, int window, Time& ended,
              InSwitch* group = nullptr) {
    struct State {
      std::uint64_t next = 0;
      std::uint64_t left = 0;
    };
    auto state = std::make_shared<State>(State{0, bytes});
    auto more = std::make_shared<std::function<void()>>();
    *more = [this, end, command, address, bytes, group, state, more, &ended] {
      if (state->next == bytes) return;
      const auto chunk = static_cast<std::uint64_t>(memory->config().chunk.count());
      const auto part =
          static_cast<std::uint32_t>(std::min(bytes - state->next, chunk - (address + state->next) % chunk));
      const std::uint64_t at = address + state->next;
      state->next += part;
      ends[static_cast<std::size_t>(end)]->ask(
          command, at, nullptr, part,
          [this, part, state, more, &ended](Time now, tlm::tlm_response_status status) {
            EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
            ended = now - 1_us;
            if ((state->left -= part) == 0) {
              script.at(now, [more] { *more = nullptr; });
            } else {
              (*more)();
            }
          },
          group);
    };
    for (int i = 0; i < window; ++i) {
      if (*more) (*more)();
    }
  }

  Dispatcher dispatcher;
  test::Script script;
  std::unique_ptr<RemoteMemory> memory;
  std::vector<std::unique_ptr<Requester>> ends;
};

/// One byte a picosecond, latency 1 us, chunks of 1000 bytes.
inline RemoteMemory::Config flat(RemoteKind kind) {
  RemoteMemory::Config config;
  config.kind = kind;
  config.capacity = Bytes(1'000'000'000);
  config.rate = 1000_GBps;
  config.latency = 1_us;
  config.chunk = Bytes(1000);
  return config;
}

/// Without latencies.
inline RemoteMemory::Config pool(int groups, int switches, Rate memory, Rate out, Rate in) {
  RemoteMemory::Config config = flat(RemoteKind::kHierarchical);
  config.rate = memory;
  config.latency = Time();
  config.hierarchy.groups = groups;
  config.hierarchy.switches = switches;
  config.hierarchy.out_node = out;
  config.hierarchy.in_node = in;
  config.hierarchy.out_node_latency = Time();
  config.hierarchy.in_node_latency = Time();
  return config;
}

inline constexpr tlm::tlm_command kRead = tlm::TLM_READ_COMMAND;
inline constexpr tlm::tlm_command kWrite = tlm::TLM_WRITE_COMMAND;

}  // namespace weft::memory::test_remote
