// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/fixed_vector.h"
#include "hw/core/quantity.h"
#include "hw/memory/dram/memory_system.h"
#include "hw/memory/memory.h"
#include "hw/memory/memory_waves.h"

namespace weft::memory {

/// High-bandwidth memory to the bank (hw/memory/dram) behind TLM-2.0 base-protocol sockets, one for each master.
///
/// Timing: a transaction is cut into bursts of the device; one that a transaction covers in part costs a whole burst
/// and, with ECC, a write of it a read before (dram::EccStage). Each master has a place for `outstanding` bursts at its
/// end of the link: a transaction is taken in, and END_REQ comes, when the last of its bursts has a place. A burst
/// crosses the link in `latency`, is delayed by the controller's own latency, and then waits for room in its pseudo
/// channel's queue: in order with the others of its master that are for the same one, while those for other ones pass,
/// and masters that wait for one take turns, burst by burst. With `interconnect_rate` the link carries so many bytes
/// of all masters together, reads and writes alike: bursts pass it one after the other, in the order in which they got
/// their places. A burst of a read is done at the end of its data. Writes are posted: a burst of a write is
/// done when the controller has queued it. A transaction is answered when its last burst is done, plus `latency`, in
/// the order in which transactions become done and not in that of the requests. A burst's place is free again when it
/// is done, plus `latency`.
///
/// Protocol: nb_transport with four phases, of which a payload must have a memory manager; END_REQ comes as the return
/// of BEGIN_REQ if there are places at once. b_transport waits, honours its delay before it begins, returns without
/// one, and must be called from an SC_THREAD. Calls happen at the dispatcher's now(), which the kernel's time may lag:
/// an initiator that turns a phase into an sc_event does so through Dispatcher::notify.
///
/// Function: with `data` on, a burst's bytes are moved when a controller queues it, which is the order that the
/// controllers keep for each address; bytes that are not enabled are left alone. With it off, or for a null data
/// pointer, nothing is moved. Debug transport moves bytes in no time and sees what was queued. DMI grants the page that
/// was asked for, as a way to the bytes: its latencies are those of an idle row hit, and what is done through it takes
/// no part in the timing. Errors, which cost the way there and back: TLM_ADDRESS_ERROR_RESPONSE beyond the capacity,
/// TLM_BURST_ERROR_RESPONSE for no data, and those of check_attributes. TLM_IGNORE_COMMAND is answered with
/// TLM_OK_RESPONSE.
class BankHbm final : public Memory, public EventTarget {
 public:
  struct Config : dram::MemoryConfig {
    Time latency = Time(50'000);
    Rate interconnect_rate{};
    int outstanding = 1024;
    Bytes capacity = Bytes(0);  ///< that is used of it; 0: all

    template <typename Visitor>
    void fields(Visitor&& visit) {
      dram::MemoryConfig::fields(visit);
      visit("latency", latency, "From a master to the controllers, and the same back", Range{0, 100'000'000});
      visit("interconnect_rate", interconnect_rate, "Of the link, for all masters together; 0bps: no limit", Range{0});
      visit("outstanding", outstanding, "Bursts of a master on their way", Range{1, 1 << 20});
      visit("capacity", capacity, "What is used of it; 0: all", Range{0, 1LL << 50});
    }
  };
  /// Transactions that were answered with TLM_OK_RESPONSE, and their bursts.
  struct Counters {
    std::int64_t reads = 0;
    std::int64_t writes = 0;
    std::int64_t read_bytes = 0;
    std::int64_t written_bytes = 0;
    std::int64_t bursts = 0;
    std::int64_t errors = 0;  ///< answered with an error
    Time held;                ///< of transactions, from BEGIN_REQ to END_REQ: no place
    Time crossing;            ///< of bursts, for those before them on the link, whosever they are
    Time waited;              ///< of bursts, for room in the controllers: the queue was full, or it was others' turn
    Time for_others;          ///< of transactions (see traffic())
    Time read_latency;        ///< sums over transactions, from BEGIN_REQ to BEGIN_RESP
    Time write_latency;
    [[nodiscard]] Time mean_read_latency() const { return reads == 0 ? Time() : read_latency / reads; }
    [[nodiscard]] Time mean_write_latency() const { return writes == 0 ? Time() : write_latency / writes; }
  };

  /// `masters` names the sockets. `observer` sees each DRAM command and may be null. Throws ConfigError.
  BankHbm(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher,
          const std::vector<std::string>& masters, bool data, dram::CommandObserver* observer = nullptr);
  ~BankHbm() override;

  Socket& socket(std::size_t master) override { return ports_[master].socket; }
  [[nodiscard]] const Counters& counters(std::size_t master) const { return ports_[master].counters; }
  [[nodiscard]] std::size_t masters() const override { return ports_.size(); }
  [[nodiscard]] const std::string& master_name(std::size_t master) const override { return ports_[master].name; }
  /// Busy: its bursts at the peak rate. Waited, of a transaction: what the burst of it that is done last waited for
  /// bursts of others. On the link, all of theirs that were before it. In the controllers, of its time there until its
  /// command, without the tRCD that it takes alone, or of a write until it is queued: the share of others among all
  /// bursts that its pseudo channel served meanwhile, itself among them. It counts while the burst stands behind its
  /// own master's, too: these waited as well.
  [[nodiscard]] Traffic traffic(std::size_t master) const override;
  /// Of all commands, by its share of the bursts.
  [[nodiscard]] std::optional<double> command_energy(std::size_t master) override;
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] Bytes capacity() const { return Bytes(static_cast<std::int64_t>(capacity_)); }
  BackingStore& store() override { return store_; }
  void record(Waves& waves) override;

  /// Of all channels up to the dispatcher's now(), with the refreshes of pauses.
  [[nodiscard]] dram::Counters dram_counters();
  /// Up to the dispatcher's now(), in picojoules.
  [[nodiscard]] dram::EnergyUse energy();
  /// For dram::occupancy_of. Refreshes of a pause that has not ended are not in it before dram_counters().
  [[nodiscard]] const dram::MemorySystem& memory() const { return memory_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // Kinds of events, in their order at one time: what arrives is queued before commands are chosen.
  static constexpr std::uint32_t kArrival = 0;
  static constexpr std::uint32_t kMemory = 1;
  static constexpr std::uint32_t kRequest = 2;
  static constexpr std::uint32_t kRoom = 3;
  static constexpr std::uint32_t kAnswer = 4;
  static constexpr std::uint32_t kAnswerFree = 5;
  struct Port;
  struct Transaction {
    tlm::tlm_generic_payload* payload = nullptr;
    Port* port = nullptr;
    sc_core::sc_event* waiting = nullptr;  ///< of b_transport; null for nb_transport
    Time begin;                            ///< BEGIN_REQ, with its delay
    Time done;                             ///< of its latest burst
    Time for_others;                       ///< what that one waited for other masters
    std::uint32_t entered = 0;             ///< bytes whose bursts have places
    std::uint32_t pending = 0;             ///< bursts with places that are not done
    bool in_call = false;                  ///< within the call of its BEGIN_REQ
    bool taken = false;                    ///< all has entered
    std::uint32_t shown = 0;               ///< its id in a waveform
  };
  struct Burst {
    Transaction* transaction = nullptr;
    dram::Location location;
    std::uint32_t queue = 0;   ///< its pseudo channel, counted through
    std::uint32_t offset = 0;  ///< in the payload
    std::uint32_t bytes = 0;
    std::uint32_t next = kNone;  ///< of its master, or among the free
    Time arrives;                ///< at its controller
    Time others_crossed;         ///< before it, on the link
    // What its pseudo channel had served when it came, of all masters and of its own; they may wrap.
    std::uint32_t served_of_all = 0;
    std::uint32_t served_of_own = 0;
  };
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  struct Port final : public tlm::tlm_fw_transport_if<> {
    Port(BankHbm& owner_hbm, const std::string& master, std::size_t number);
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) override;
    unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override;

    std::string name;
    Socket socket;
    BankHbm& owner;
    std::uint32_t index;
    Counters counters;
    std::deque<Transaction*> entering;  ///< not all of their bursts have places
    /// When bursts that are done give their places back: those that are done when they are queued, and reads of the
    /// DRAM, which are done later. Each in order.
    std::array<std::deque<Time>, 2> returns;
    int places = 0;         ///< taken, with those of `returns`
    Time room_at = kNever;  ///< an event for `returns`
    [[nodiscard]] Time next_return() const {
      Time first = kNever;
      for (const auto& each : returns) first = each.empty() ? first : std::min(first, each.front());
      return first;
    }
    List arriving;                      ///< bursts on the link, oldest first
    std::vector<List> waiting;          ///< bursts that are at a controller without room, by its queue
    std::vector<std::uint32_t> served;  ///< bursts, by queue
    Time on_link;                       ///< that the link takes for what waits for it or crosses it
    Time arrival_at = kNever;           ///< an event for the first that arrives
    std::deque<Transaction*> answers;   ///< those ready for BEGIN_RESP
    Transaction* answered = nullptr;    ///< between BEGIN_RESP and END_RESP
    Time answer_free;                   ///< the response channel, after an END_RESP in the future
    std::vector<std::unique_ptr<sc_core::sc_event>> idle_events;
    std::unique_ptr<MemoryWaves> waves;  ///< null where nobody records
  };

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t /*tag*/) const override { return CauseKind::kMemory; }
  void post(Time when, std::uint32_t kind, const Port& port, Transaction* transaction = nullptr);

  Transaction* begin(tlm::tlm_generic_payload& payload, Port& port, Time at);
  /// The error that the standard asks for, or TLM_OK_RESPONSE.
  [[nodiscard]] tlm::tlm_response_status check(const tlm::tlm_generic_payload& payload) const;
  [[nodiscard]] bool in_range(const tlm::tlm_generic_payload& payload) const;
  void take(Transaction& transaction, Time now);
  void enter(Port& port, Time now);
  static void show_first(Port& port, Time now);
  [[nodiscard]] bool enter_bursts(Transaction& transaction, Time now);
  void end_request(Transaction& transaction, Time now);
  void expect_room(Port& port, Time now);

  void append(List& list, std::uint32_t index);
  void arrive(Port& port, dram::Clock now);
  void offer(Port& port, std::uint32_t queue, dram::Clock now);
  /// Whether a write leaves bytes of the burst as they are.
  [[nodiscard]] bool is_partial(const Burst& burst) const;
  [[nodiscard]] bool push(Port& port, std::uint32_t index, dram::Clock now);
  [[nodiscard]] Time link_of_others(const Port& port, Time now);
  /// Of the time `waited` in the controllers. The burst itself has been served or, if not, is `pending`.
  [[nodiscard]] Time for_others(const Burst& burst, Time waited, bool pending) const;
  void burst_done(std::uint32_t index, Time done, bool at_once, Time for_others);
  void finish(Transaction& transaction);
  void count(const Transaction& transaction, Time at);
  void answer(Port& port, Time now);
  void end_response(Port& port, Time at);
  void retire(Transaction& transaction);

  void run_memory(dram::Clock until);
  void step(dram::Clock now);
  void expect_memory();

  Config config_;
  Dispatcher& dispatcher_;
  bool data_;
  ByteTime link_time_;
  Time link_free_;
  struct Crossing {
    Time end;
    Time length;
    std::uint32_t port = 0;
  };
  std::deque<Crossing> crossings_;  ///< of the link, that have not ended
  std::uint64_t burst_bytes_;
  std::uint32_t pseudo_channels_;
  dram::MemorySystem memory_;
  std::uint64_t capacity_;
  FixedVector<Port> ports_;
  BackingStore store_;
  Time memory_at_ = kNever;            ///< the event for the memory's next command; others are stale
  std::int64_t queued_ = 0;            ///< bursts in the controllers
  std::vector<std::uint32_t> turn_;    ///< by queue: the master that was let in last
  std::vector<std::uint32_t> served_;  ///< by queue: bursts, of all masters
  std::vector<Burst> bursts_;
  std::uint32_t free_burst_ = kNone;
  std::vector<std::unique_ptr<Transaction>> transactions_;
  std::vector<Transaction*> free_transactions_;
};

}  // namespace weft::memory
