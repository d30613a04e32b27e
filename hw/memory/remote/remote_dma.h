// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <tlm>
#include <type_traits>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/memory_master.h"
#include "hw/core/payload_pool.h"
#include "hw/core/probe.h"
#include "hw/core/register_file.h"
#include "hw/core/slots.h"
#include "hw/core/stall.h"
#include "hw/memory/remote/remote_target.h"

namespace weft::memory {

/// What firmware writes to the DMA engine's window.
struct RemoteCommand {
  static constexpr std::uint32_t kAlone = UINT32_MAX;

  bool stores = false;  ///< from local to remote memory; else a load, the other way
  ElementType type = ElementType::kFp32;
  std::uint32_t group = kAlone;  ///< gathers or reduces in the switches with this group of the remote memory
  std::uint64_t remote = 0;
  std::uint64_t local = 0;
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;
  std::uint64_t completion_address = 0;
  const char* label = nullptr;  ///< for pictures; a literal or kept by the caller for the run
};
static_assert(std::is_trivially_copyable_v<RemoteCommand>);

/// What is written to the completion address.
struct RemoteDone {
  std::uint64_t id = 0;
};

/// The DMA engine that moves data between an accelerator's memory and remote memory, beside its kernels, copy engines
/// and NIC, with which it competes for the accelerator's memory alone.
///
/// It has a channel for loads and one for stores. A channel takes its commands in order and cuts them at multiples of
/// the remote memory's chunk; up to `outstanding` pieces are under way, of as many commands as that takes. A piece of
/// a load is requested, and written to the local memory when it has come; one of a store is read locally, then sent. A
/// command is done, and says so, when all of its pieces are; commands of a channel may end in another order.
/// `overhead` passes before a command's first piece, while the pieces of those before it go on.
///
/// Function: with `data` on, the bytes move; a group's store leaves the sum in remote memory.
///
/// Sockets: `registers` takes RemoteCommand writes at kWindow; `local` and `remote` reach the memories; `completion`
/// writes RemoteDone entries.
class RemoteDma final : public sc_core::sc_module, public EventTarget {
 public:
  struct Config {
    int outstanding = 16;
    Time overhead = Time(500'000);

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("outstanding", outstanding, "Chunks of loads that an accelerator has under way, and as many of stores",
            Range{1, 1 << 16});
      visit("overhead", overhead, "Time from a command to its first chunk", Range{0, 1'000'000'000});
    }
  };
  struct Counters {
    std::int64_t loads = 0;
    std::int64_t stores = 0;
    std::int64_t loaded_bytes = 0;
    std::int64_t stored_bytes = 0;
    Time busy;  ///< something was under way
  };
  static constexpr std::uint64_t kWindow = 0;

  RemoteDma(sc_core::sc_module_name name, const Config& config, Bytes chunk, Dispatcher& dispatcher, bool data,
            const Stall::Config& stall);
  ~RemoteDma() override;

  tlm::tlm_target_socket<64> registers;
  tlm::tlm_initiator_socket<64> local;
  tlm::tlm_initiator_socket<64> remote;
  tlm::tlm_initiator_socket<64> completion;

  /// How it speaks to the local memory.
  MemoryMaster& local_master() { return local_master_; }

  [[nodiscard]] const Counters& counters() const { return counters_; }
  void record(Probe& probe, const std::string& process);

  /// Commands that are not done, one line each.
  [[nodiscard]] std::vector<std::string> left_over() const;

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t /*tag*/) const override { return CauseKind::kRemoteMemory; }

 private:
  void end_of_elaboration() override { local_master_.resolve(); }

  struct Responses final : public tlm::tlm_bw_transport_if<> {
    explicit Responses(RemoteDma& dma) : owner(dma) {}
    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}
    RemoteDma& owner;
  };
  struct Transfer {
    RemoteCommand command;
    std::uint64_t cut = 0;   ///< bytes that pieces have been made of
    std::uint64_t left = 0;  ///< bytes that are not there
    Time began;
    bool ready = false;  ///< its overhead is over
  };
  struct Piece {
    std::uint32_t transfer = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool read = false;  ///< of a store: the local memory has answered
    tlm::tlm_generic_payload* payload = nullptr;
    InSwitch group;
    std::vector<std::byte> data;
  };
  struct Channel {
    std::deque<std::uint32_t> queue;  ///< transfers with bytes to cut, the first one being cut
    int under_way = 0;
    // Pieces of stores leave in order, which matters to collectives.
    std::deque<std::uint32_t> reading;  ///< those that memory has not answered, or that wait for one before them
    Time sends;                         ///< when the latest one leaves
  };

  bool write_command(const void* data, Time at);
  void advance(Time now, Channel& channel);
  void start(Time now, std::uint32_t piece);
  void answered(Time now, std::uint32_t piece);
  void request(Time now, std::uint32_t piece);
  void arrived(Time now, std::uint32_t piece);
  void done(Time now, std::uint32_t piece);
  void finish(Time now, std::uint32_t transfer);
  [[nodiscard]] Channel& channel_of(const RemoteCommand& command) { return channels_[command.stores ? 1 : 0]; }
  Time access_local(Time now, tlm::tlm_command command, std::uint32_t piece);
  void debug_local(tlm::tlm_command command, Piece& piece);
  [[noreturn]] void refused(const Piece& piece, tlm::tlm_response_status status) const;

  Config config_;
  std::uint64_t chunk_;
  Dispatcher& dispatcher_;
  bool data_;
  Stall stall_;
  RegisterFile register_file_;
  MemoryMaster local_master_;
  BlockingInitiator initiator_;
  Responses responses_;
  PayloadPool payloads_;
  tlm::tlm_generic_payload payload_;
  std::array<Channel, 2> channels_;
  Slots<Transfer, std::deque<Transfer>> transfers_;
  Slots<Piece, std::deque<Piece>> pieces_;  ///< payloads know where their extensions are
  std::int64_t active_ = 0;
  Time active_since_;
  Counters counters_;
  Probe* probe_ = nullptr;
  std::array<int, 2> tracks_{};
};

}  // namespace weft::memory
