// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "hw/core/annotation.h"
#include "hw/core/dispatcher.h"
#include "hw/core/packet.h"
#include "hw/fabric/protocol.h"

namespace weft::test {

/// A piece of wire between two fabric sockets, in both directions, that loses packets, holds some back so that others
/// overtake them, or is slower than its link and marks what has to wait. What it loses returns its credit.
class LossyWire final : public sc_core::sc_module {
 public:
  struct Config {
    double loss = 0;  ///< probability for each packet and direction
    Time delay;       ///< each packet is late by up to this
    std::uint64_t seed = 1;
    Rate rate;                                ///< towards the interface; 0: as fast as the link
    Bytes mark_above;                         ///< with a rate: of what waits
    std::function<bool(const Packet&)> lose;  ///< loses these as well
    std::function<bool(const Packet&)> mark;  ///< marks these as well
  };

  /// One direction.
  class Way final : public fabric::Receiver, public fabric::Backward {
   public:
    Way(const char* from, const char* to, LossyWire& wire, std::uint64_t seed, bool slow)
        : in(from), out(to), wire_(wire), state_(seed), slow_(slow) {
      in.bind(*this);
      out.bind(*this);
    }
    fabric::TargetSocket in;
    fabric::InitiatorSocket out;
    std::int64_t lost = 0;

    tlm::tlm_sync_enum nb_transport_fw(Packet& packet, fabric::Phase& phase, sc_core::sc_time& delay) override {
      const Config& config = wire_.config_;
      Time late;
      if (random() < config.loss || (config.lose && config.lose(packet))) {
        ++lost;
        fabric::Phase credit = fabric::Phase::kCredit;
        sc_core::sc_time gone = to_delay(from_delay(delay) + Time(packet.tail_lag_ps));
        in->nb_transport_bw(packet, credit, gone);
        wire_.packets_.give_back(&packet);
        return tlm::TLM_ACCEPTED;
      }
      if (config.delay > Time())
        late += Time(static_cast<std::int64_t>(random() * 1e6)) * (config.delay.count() / 1000'000);
      if (slow_ && config.rate > Rate()) {
        const Time head = wire_.dispatcher_.now() + from_delay(delay);
        const Time wait = std::max(free_at_, head) - head;
        if (wait > transfer_time(config.mark_above, config.rate)) packet.flags |= Packet::kMarked;
        free_at_ = head + wait + transfer_time(Bytes(packet.wire_bytes), config.rate);
        late += wait;
      }
      if (config.mark && config.mark(packet)) packet.flags |= Packet::kMarked;
      sc_core::sc_time later = to_delay(from_delay(delay) + late);
      return out->nb_transport_fw(packet, phase, later);
    }
    tlm::tlm_sync_enum nb_transport_bw(Packet& packet, fabric::Phase& phase, sc_core::sc_time& delay) override {
      return in->nb_transport_bw(packet, phase, delay);
    }
    void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}

   private:
    double random() {
      state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
      std::uint64_t mixed = state_ ^ state_ >> 33;
      mixed *= 0xff51afd7ed558ccdULL;
      return static_cast<double>((mixed ^ mixed >> 33) >> 11) * 0x1p-53;
    }

    LossyWire& wire_;
    std::uint64_t state_;
    bool slow_;
    Time free_at_;
  };

  LossyWire(sc_core::sc_module_name name, const Config& config, std::uint64_t number, Dispatcher& dispatcher,
            PacketPool& packets)
      : sc_module(name),
        out("out_from", "out_to", *this, 4 * (config.seed * 1000 + number), false),
        in("in_from", "in_to", *this, 4 * (config.seed * 1000 + number) + 2, true),
        config_(config),
        dispatcher_(dispatcher),
        packets_(packets) {}

  Way out;  ///< away from the interface
  Way in;

  [[nodiscard]] std::int64_t lost() const { return out.lost + in.lost; }

 private:
  Config config_;
  Dispatcher& dispatcher_;
  PacketPool& packets_;
};

}  // namespace weft::test
