// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tlm>
#include <vector>

#include "hw/core/annotation.h"
#include "hw/core/dispatcher.h"
#include "hw/core/fifo.h"
#include "hw/core/payload_pool.h"
#include "hw/core/quantity.h"
#include "hw/core/slots.h"

namespace weft {

/// A device's way to memory: what stands behind its base-protocol initiator socket. The device asks for accesses of one
/// or several parts, and is told when all of an access is done: at once, or later by an event. It has one of two ways:
///
/// - `use_blocking`, the default: b_transport with annotated delay. The memory says at once when it will be done; there
///   are no events, and any target fits that adds its time to the delay and does not wait().
/// - `use_phases`: nb_transport with four phases. Accesses begin in the order of their times and are cut at multiples
/// of
///   `kPiece`. Parts of one access take turns, each as often as its length asks for, so that a kernel's reads and
///   writes come to memory mixed; accesses follow each other. A piece goes when the memory has ended the request before
///   it. An access that the memory ends at once, with TLM_COMPLETED, is told by an event as well.
///
/// A memory that answers with an error ends the simulation: the device's firmware gave it an address that there is not.
class alignas(64) MemoryMaster final : public tlm::tlm_bw_transport_if<> {
 public:
  using Socket = tlm::tlm_initiator_socket<64>;
  struct Part {
    tlm::tlm_command command = tlm::TLM_IGNORE_COMMAND;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::byte* data = nullptr;  ///< may be null: the time of the traffic alone
  };
  /// Of the parts of an access.
  enum class Order : std::uint8_t { kInTurn, kMixed };
  static constexpr std::size_t kMostParts = 3;
  static constexpr std::uint64_t kPiece = 4096;

  /// `socket` is a member of the device. Events go to `owner` under `tag`, who hands each one to on_event().
  MemoryMaster(Socket& socket, Dispatcher& dispatcher, const EventTarget& owner, std::uint32_t tag);
  ~MemoryMaster() override;

  /// In the device's constructor, when the socket is there.
  void bind() { socket_.bind(*this); }
  /// At the end of elaboration.
  tlm::tlm_blocking_transport_if<>* resolve() {
    target_ = socket_.operator->();
    return blocking_ = target_;
  }
  /// Before the simulation.
  void use_phases() { phases_ = true; }
  [[nodiscard]] bool uses_phases() const { return phases_; }

  /// Asks for `parts` at `at`, which is not before now. Returns when all of them are done, or kNever: then an event
  /// with `token` says so. An access of nothing is done at `at`. What `data` points to stays until it is done.
  Time access(std::span<const Part> parts, Time at, std::uint64_t token, Order order = Order::kInTurn) {
    return phases_ ? begin(parts, at, token, order) : block(parts, at);
  }
  /// The same for one part and b_transport, for a device that knows that this is the way, and `target` from resolve():
  /// what every packet takes. `now` is the dispatcher's.
  Time access_blocking(tlm::tlm_blocking_transport_if<>& target, Time now, tlm::tlm_command command,
                       std::uint64_t address, std::byte* data, std::uint32_t bytes, Time at) {
    payload_.set_command(command);
    payload_.set_address(address);
    payload_.set_data_ptr(reinterpret_cast<unsigned char*>(data));
    payload_.set_data_length(bytes);
    payload_.set_streaming_width(bytes);
    payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    payload_.set_dmi_allowed(false);
    sc_core::sc_time delay = to_delay(at - now);
    target.b_transport(payload_, delay);
    if (payload_.is_response_error()) [[unlikely]]
      refuse(payload_);
    return now + from_delay(delay);
  }
  /// Takes an event of this master; the token of an access that is done at this time, if it says so.
  std::optional<std::uint64_t> on_event(Time now, std::uint64_t data);

  /// In no time, through the debug transport.
  void debug(const Part& part);

  /// Accesses that are not done.
  [[nodiscard]] std::int64_t under_way() const { return under_way_; }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  /// For a device's other blocking calls, so that it touches one payload and not two.
  tlm::tlm_generic_payload& payload() { return payload_; }
  void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}

  /// For a device that is about to ask: what a call says, behind the payload's table.
  void prefetch() const { __builtin_prefetch(reinterpret_cast<const std::byte*>(&payload_) + 8); }

 private:
  struct Access {
    std::array<Part, kMostParts> parts;
    std::array<std::uint64_t, kMostParts> sent{};  ///< bytes, by part
    std::size_t count = 0;                         ///< of parts
    std::uint64_t token = 0;
    Order order = Order::kInTurn;
    std::uint32_t pieces = 0;  ///< under way
    bool sent_all = false;
    Time done;  ///< of its latest piece
  };

  Time block(std::span<const Part> parts, Time at);
  Time begin(std::span<const Part> parts, Time at, std::uint64_t token, Order order);
  void pump(Time now);
  void send_piece(Time now, std::uint32_t index);
  void end_piece(tlm::tlm_generic_payload& payload, Time at);
  static void fill(tlm::tlm_generic_payload& payload, const Part& part, std::uint64_t from, std::uint64_t bytes);
  void refuse(const tlm::tlm_generic_payload& payload) const;

  // So that what a call writes, which is all of the payload but its table, lies in one cache line.
  tlm::tlm_fw_transport_if<>* target_ = nullptr;
  tlm::tlm_blocking_transport_if<>* blocking_ = nullptr;  ///< the same, without the way over its virtual bases
  Socket& socket_;
  Dispatcher& dispatcher_;
  const EventTarget& owner_;
  std::uint32_t tag_;
  bool phases_ = false;
  tlm::tlm_generic_payload payload_;

  PayloadPool payloads_;
  const tlm::tlm_generic_payload* asking_ = nullptr;  ///< between BEGIN_REQ and END_REQ
  Time free_at_;                                      ///< when the latest END_REQ is, if it was told before
  Slots<Access> accesses_;
  Fifo<std::uint32_t> ready_;  ///< those with pieces to send, the first one being sent
  std::int64_t under_way_ = 0;
};

}  // namespace weft
