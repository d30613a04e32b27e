// SPDX-License-Identifier: Apache-2.0
// The checker of the base protocol finds violations made by hand, and none in the HBM of a platform.
#include "tests/support/benches/tlm_checker.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hw/core/payload_pool.h"
#include "hw/memory/hbm.h"
#include "tests/support/benches/nb_master.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

namespace weft::test {
namespace {

using namespace weft::literals;

/// A target that does nothing by itself.
class ProtocolPuppet final : public sc_core::sc_module, public tlm::tlm_fw_transport_if<> {
 public:
  explicit ProtocolPuppet(sc_core::sc_module_name name) : sc_module(name), socket("socket") { socket.bind(*this); }
  tlm::tlm_target_socket<64> socket;
  std::function<tlm::tlm_sync_enum(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&)> does;

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    return does ? does(payload, phase, delay) : tlm::TLM_ACCEPTED;
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    nb_transport_fw(payload, phase, delay);
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_dmi& /*dmi*/) override { return false; }
  unsigned int transport_dbg(tlm::tlm_generic_payload& /*payload*/) override { return 0; }
};

/// Two payloads, an initiator and a target, moved by hand.
struct ProtocolBench {
  ProtocolBench() : dispatcher("dispatcher"), initiator("initiator"), checker("checker", dispatcher), target("target") {
    initiator.socket.bind(checker.from_initiator);
    checker.to_target.bind(target.socket);
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_PS));
    for (tlm::tlm_generic_payload* payload : {a, b}) {
      payload->set_command(tlm::TLM_WRITE_COMMAND);
      payload->set_data_ptr(bytes);
      payload->set_data_length(8);
      payload->set_streaming_width(8);
    }
  }
  tlm::tlm_sync_enum fw(tlm::tlm_generic_payload* payload, const tlm::tlm_phase& phase, Time delay = Time()) {
    tlm::tlm_phase changes = phase;
    sc_core::sc_time annotated = to_delay(delay);
    return initiator.socket->nb_transport_fw(*payload, changes, annotated);
  }
  tlm::tlm_sync_enum bw(tlm::tlm_generic_payload* payload, const tlm::tlm_phase& phase, Time delay = Time()) {
    tlm::tlm_phase changes = phase;
    sc_core::sc_time annotated = to_delay(delay);
    if (phase == tlm::BEGIN_RESP && answers) payload->set_response_status(tlm::TLM_OK_RESPONSE);
    return target.socket->nb_transport_bw(*payload, changes, annotated);
  }
  Dispatcher dispatcher;
  Initiator initiator;
  TlmChecker checker;
  ProtocolPuppet target;
  PayloadPool pool;
  unsigned char bytes[8] = {};
  bool answers = true;
  tlm::tlm_generic_payload* a = pool.take();
  tlm::tlm_generic_payload* b = pool.take();
};

TEST(TlmChecker, FindsNothingInWhatIsRight) {
  ProtocolBench bench;
  bench.fw(bench.a, tlm::BEGIN_REQ, 1_ns);
  bench.bw(bench.a, tlm::END_REQ, 1_ns);
  bench.fw(bench.b, tlm::BEGIN_REQ);
  bench.bw(bench.b, tlm::BEGIN_RESP);  // implies END_REQ, and overtakes
  EXPECT_EQ(bench.checker.unfinished(), 2u);
  bench.fw(bench.b, tlm::END_RESP);
  bench.bw(bench.a, tlm::BEGIN_RESP, 2_ns);
  bench.fw(bench.a, tlm::END_RESP, 2_ns);
  bench.a->set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  bench.target.does = [](auto& payload, auto& phase, auto&) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    phase = tlm::BEGIN_RESP;
    return tlm::TLM_COMPLETED;
  };
  bench.fw(bench.a, tlm::BEGIN_REQ);
  bench.a->set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  sc_core::sc_time delay;
  bench.initiator.socket->b_transport(*bench.a, delay);
  EXPECT_TRUE(bench.checker.violations().empty()) << bench.checker.text();
  EXPECT_EQ(bench.checker.unfinished(), 0u);
  EXPECT_EQ(bench.checker.finished(), 4);
}

struct BrokenRule {
  std::string rule;
  std::function<void(ProtocolBench&)> action;
};

TEST(TlmChecker, FindsEachViolation) {
  const auto returns = [](tlm::tlm_sync_enum sync, tlm::tlm_phase next) {
    return [sync, next](tlm::tlm_generic_payload&, tlm::tlm_phase& phase, sc_core::sc_time&) {
      phase = next;
      return sync;
    };
  };
  const std::vector<BrokenRule> cases = {
      {"BEGIN_REQ before END_REQ",
       [](auto& t) {
         t.fw(t.a, tlm::BEGIN_REQ);
         t.fw(t.b, tlm::BEGIN_REQ);
       }},
      {"BEGIN_REQ of a payload under way",
       [](auto& t) {
         t.fw(t.a, tlm::BEGIN_REQ);
         t.bw(t.a, tlm::END_REQ);
         t.fw(t.a, tlm::BEGIN_REQ);
       }},
      {"END_REQ without BEGIN_REQ", [](auto& t) { t.bw(t.a, tlm::END_REQ); }},
      {"END_REQ without BEGIN_REQ",
       [](auto& t) {
         t.fw(t.a, tlm::BEGIN_REQ);
         t.bw(t.a, tlm::BEGIN_RESP);
         t.bw(t.a, tlm::END_REQ);
       }},
      {"BEGIN_RESP without a request", [](auto& t) { t.bw(t.a, tlm::BEGIN_RESP); }},
      {"BEGIN_RESP before END_RESP",
       [](auto& t) {
         for (auto* payload : {t.a, t.b}) {
           t.fw(payload, tlm::BEGIN_REQ);
           t.bw(payload, tlm::END_REQ);
         }
         t.bw(t.a, tlm::BEGIN_RESP);
         t.bw(t.b, tlm::BEGIN_RESP);
       }},
      {"END_RESP without BEGIN_RESP",
       [](auto& t) {
         t.fw(t.a, tlm::BEGIN_REQ);
         t.fw(t.a, tlm::END_RESP);
       }},
      {"phase of the target on the forward path", [](auto& t) { t.fw(t.a, tlm::BEGIN_RESP); }},
      {"phase of the initiator on the backward path", [](auto& t) { t.bw(t.a, tlm::END_RESP); }},
      {"payload changed",
       [](auto& t) {
         t.fw(t.a, tlm::BEGIN_REQ);
         t.a->set_address(64);
         t.bw(t.a, tlm::END_REQ);
       }},
      {"data changed",
       [](auto& t) {
         t.fw(t.a, tlm::BEGIN_REQ);
         t.bytes[3] = 1;
         t.bw(t.a, tlm::BEGIN_RESP);
       }},
      {"time goes back",
       [](auto& t) {
         t.fw(t.a, tlm::BEGIN_REQ, 5_ns);
         t.bw(t.a, tlm::END_REQ, 4_ns);
       }},
      {"negative delay", [](auto& t) { t.fw(t.a, tlm::BEGIN_REQ, Time(-1)); }},
      {"request with a response status",
       [](auto& t) {
         t.a->set_response_status(tlm::TLM_OK_RESPONSE);
         t.fw(t.a, tlm::BEGIN_REQ);
       }},
      {"request with the DMI hint",
       [](auto& t) {
         t.a->set_dmi_allowed(true);
         t.fw(t.a, tlm::BEGIN_REQ);
       }},
      {"response without a status",
       [](auto& t) {
         t.answers = false;
         t.fw(t.a, tlm::BEGIN_REQ);
         t.bw(t.a, tlm::BEGIN_RESP);
       }},
      {"response without a status",
       [](auto& t) {
         sc_core::sc_time delay;
         t.initiator.socket->b_transport(*t.a, delay);
       }},
      {"no memory manager",
       [](auto& t) {
         tlm::tlm_generic_payload own;
         t.fw(&own, tlm::BEGIN_REQ);
       }},
      {"BEGIN_REQ answered with a phase that does not follow it",
       [&](auto& t) {
         t.target.does = returns(tlm::TLM_UPDATED, tlm::END_RESP);
         t.fw(t.a, tlm::BEGIN_REQ);
       }},
      {"END_RESP answered with TLM_UPDATED",
       [&](auto& t) {
         t.fw(t.a, tlm::BEGIN_REQ);
         t.bw(t.a, tlm::BEGIN_RESP);
         t.target.does = returns(tlm::TLM_UPDATED, tlm::END_RESP);
         t.fw(t.a, tlm::END_RESP);
       }},
  };
  for (const BrokenRule& each : cases) {
    fresh_kernel();
    ProtocolBench bench;
    each.action(bench);
    EXPECT_TRUE(bench.checker.saw(each.rule)) << each.rule << ": " << bench.checker.text();
    EXPECT_EQ(bench.checker.violations().size(), 1u) << bench.checker.text();
  }
}

TEST(TlmChecker, FindsNothingOnTheHbm) {
  Dispatcher dispatcher("dispatcher");
  Script script("script", dispatcher);
  memory::Hbm hbm("hbm", {}, dispatcher, {"a", "b"}, true, Stall::Config());
  TlmChecker rules_a("rules_a", dispatcher);
  TlmChecker rules_b("rules_b", dispatcher);
  NbMaster a("a", dispatcher);
  Initiator b("b");
  a.socket.bind(rules_a.from_initiator);
  rules_a.to_target.bind(hbm.socket(0));
  b.socket.bind(rules_b.from_initiator);
  rules_b.to_target.bind(hbm.socket(1));
  auto bytes = pattern_bytes(3000, 1);
  std::vector<std::byte> back(3000);
  script.at(1_us, [&] {
    a.send(tlm::TLM_WRITE_COMMAND, 100, bytes.data(), 3000);
    a.send(tlm::TLM_READ_COMMAND, 1ULL << 60, back.data(), 3000);
    b.read(100, back.data(), 3000, 10_us);
  });
  sc_core::sc_start();
  EXPECT_TRUE(back == bytes);
  ASSERT_EQ(a.answers.size(), 2u);
  EXPECT_EQ(a.answers[1].status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_TRUE(rules_a.violations().empty()) << rules_a.text();
  EXPECT_TRUE(rules_b.violations().empty()) << rules_b.text();
  EXPECT_EQ(rules_a.finished(), 2);
  EXPECT_EQ(rules_b.finished(), 1);
}

}  // namespace
}  // namespace weft::test
