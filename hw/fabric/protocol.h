// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>
#include <tlm>

#include "hw/core/annotation.h"
#include "hw/core/packet.h"
#include "hw/core/quantity.h"

/// The fabric's own TLM-2.0 protocol (IEEE 1666, 14.2.2: traits with a payload and a phase type of their own).
///
/// nb_transport_fw hands a Packet over: from then on it belongs to the receiver. The annotated delay is the time from
/// the dispatcher's now() until the first byte reaches the receiver; the last byte follows `Packet::tail_lag_ps` later.
/// nb_transport_bw returns the buffer space that a packet held, as a credit on its lane; the annotated delay is the
/// time until the space is free, to which the sender adds the way back. With priority flow control it stops or resumes
/// a packet's lane instead (phases kPause and kResume); the delay is that until the frame leaves. All return
/// TLM_ACCEPTED. Nothing is ever refused: who sends without credit has a bug.
namespace weft::fabric {

enum class Phase : std::uint8_t { kPacket, kCredit, kPause, kResume };

struct Protocol {
  using tlm_payload_type = Packet;
  using tlm_phase_type = Phase;
};

using Forward = tlm::tlm_fw_transport_if<Protocol>;
using Backward = tlm::tlm_bw_transport_if<Protocol>;
/// What a packet and what a credit call. The transport interfaces inherit these virtually: who keeps a pointer to one
/// of them need not look it up at every call.
using ForwardCall = tlm::tlm_fw_nonblocking_transport_if<Packet, Phase>;
using BackwardCall = tlm::tlm_bw_nonblocking_transport_if<Packet, Phase>;
using InitiatorSocket = tlm::tlm_initiator_socket<64, Protocol>;
using TargetSocket = tlm::tlm_target_socket<64, Protocol>;

/// The forward interface of a receiver, less what a fabric does not use: packets have no blocking form and no memory.
class Receiver : public Forward {
 public:
  void b_transport(Packet& /*packet*/, sc_core::sc_time& /*delay*/) final {
    SC_REPORT_FATAL("weft.fabric", "the fabric protocol has no b_transport");
  }
  bool get_direct_mem_ptr(Packet& /*packet*/, tlm::tlm_dmi& /*dmi*/) final { return false; }
  unsigned int transport_dbg(Packet& /*packet*/) final { return 0; }
};

}  // namespace weft::fabric
