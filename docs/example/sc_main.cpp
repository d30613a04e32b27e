// SPDX-License-Identifier: Apache-2.0
// Two network interfaces on one switch. The first has an HBM of Weft's; the second has a memory of our own, bound to
// its DMA socket. Firmware sends four RDMA writes; we look at what arrived when, and fail if contents or times are
// wrong.
#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "hw/core/annotation.h"
#include "hw/core/dispatcher.h"
#include "hw/fabric/fabric.h"
#include "hw/memory/hbm.h"
#include "hw/nic/nic.h"
#include "sw/firmware/processor.h"
#include "sw/firmware/verbs.h"

using namespace weft;
using namespace weft::literals;

constexpr std::uint32_t kMessages = 4;
constexpr std::uint64_t kSize = 64 << 10;
constexpr Rate kMemoryRate = 40_GBps;  // slower than the 400 Gb/s link, so that it sets the pace

// Our own module: any target of the TLM-2.0 base protocol fits a DMA socket. It serves one request after the other.
// It must not wait(): it adds what a request costs to the delay, which counts from the dispatcher's now().
class Scratchpad final : public sc_core::sc_module {
 public:
  Scratchpad(sc_core::sc_module_name name, Dispatcher& dispatcher)
      : sc_module(name), contents(kMessages * kSize), dispatcher_(dispatcher) {
    socket.register_b_transport(this, &Scratchpad::b_transport);
  }

  tlm_utils::simple_target_socket<Scratchpad, 64> socket{"socket"};
  std::vector<unsigned char> contents;

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    const std::size_t address = payload.get_address();
    const std::size_t length = payload.get_data_length();
    if (address > contents.size() || length > contents.size() - address) {
      payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    if (payload.is_write()) std::memcpy(&contents[address], payload.get_data_ptr(), length);
    if (payload.is_read()) std::memcpy(payload.get_data_ptr(), &contents[address], length);
    const Time asked = dispatcher_.now() + from_delay(delay);
    busy_until_ = std::max(busy_until_, asked) + transfer_time(Bytes(static_cast<std::int64_t>(length)), kMemoryRate);
    delay = to_delay(busy_until_ + 100_ns - dispatcher_.now());
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  Dispatcher& dispatcher_;
  Time busy_until_;
};

// Firmware is a coroutine on a modelled core. This thread posts a write for each message, which tells its number.
firmware::Task send(firmware::QueuePair& pair) {
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    pair.write(i * kSize, i * kSize, kSize, /*notify=*/true, /*immediate=*/i, /*signaled=*/false);
  }
  co_return;
}

// And this one awaits their arrival at the other end.
firmware::Task receive(firmware::Processor& processor, firmware::QueuePair& pair, firmware::CompletionQueue& arrivals,
                       std::vector<Time>& times) {
  pair.receive(0, 0, kMessages);  // a write that notifies consumes a receive
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const nic::Completion entry = co_await arrivals.next();
    times.push_back(processor.now());
    std::printf("message %u arrived at %.3f us\n", entry.immediate, static_cast<double>(times.back().count()) * 1e-6);
  }
}

int sc_main(int /*argc*/, char** /*argv*/) {
  const Stall::Config no_stall;
  PacketPool packets;
  Dispatcher dispatcher("dispatcher");
  fabric::FabricConfig network;
  network.topology = fabric::Shape::kSwitch;
  fabric::Fabric fabric("fabric", network, /*ends=*/2, dispatcher, packets, no_stall, "fabric");
  nic::Nic near("near", {}, fabric.config(), /*end=*/0, dispatcher, packets, /*data=*/true, no_stall);
  nic::Nic far("far", {}, fabric.config(), /*end=*/1, dispatcher, packets, /*data=*/true, no_stall);
  memory::Hbm hbm("hbm", {}, dispatcher, {"nic"}, /*data=*/true, no_stall);
  Scratchpad scratchpad("scratchpad", dispatcher);
  firmware::Processor processor("processor", {}, dispatcher, /*devices=*/2, no_stall);
  near.dma.bind(hbm.socket(0));
  far.dma.bind(scratchpad.socket);
  std::uint32_t end = 0;
  for (nic::Nic* nic : {&near, &far}) {
    processor.device(end).bind(nic->registers);    // doorbells
    nic->completion.bind(processor.mailbox(end));  // completions
    fabric.bind_end(end++, nic->out, nic->in);
  }

  std::vector<std::byte> sent(kMessages * kSize);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 251);
  hbm.store().write(0, sent.data(), sent.size());
  firmware::CompletionQueue& arrivals = processor.create_completion_queue("an arrival");
  const firmware::Interface near_interface{&processor, &near, &fabric, 0};
  const firmware::Interface far_interface{&processor, &far, &fabric, 1};
  firmware::QueuePair near_pair(near_interface, processor.create_completion_queue("nothing"));
  firmware::QueuePair far_pair(far_interface, arrivals);
  firmware::QueuePair::connect(near_pair, far_pair);
  std::vector<Time> times;
  processor.spawn("send", /*place=*/0, send(near_pair));
  processor.spawn("receive", /*place=*/1, receive(processor, far_pair, arrivals, times));
  sc_core::sc_start();  // until nothing is left to do

  const Time expected = transfer_time(Bytes(kSize), kMemoryRate);
  bool right = times.size() == kMessages && processor.unfinished() == 0 && packets.outstanding() == 0;
  for (std::size_t i = 1; i < times.size(); ++i) right = right && times[i] - times[i - 1] == expected;
  const bool same = std::memcmp(scratchpad.contents.data(), sent.data(), sent.size()) == 0;
  std::printf("contents %s, times %s: one each %.3f us\n", same ? "right" : "WRONG", right ? "right" : "WRONG",
              static_cast<double>(expected.count()) * 1e-6);
  return same && right ? 0 : 1;
}
