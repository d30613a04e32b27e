// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/fixed_vector.h"
#include "hw/core/quantity.h"
#include "hw/core/stall.h"
#include "hw/memory/memory.h"
#include "hw/memory/memory_waves.h"
#include "hw/memory/stream_model.h"

#include <tlm>

namespace weft::memory {

/// The memory of an accelerator behind TLM-2.0 base-protocol sockets, one for each master (compute, copy engine, NIC,
/// scale-up port).
///
/// Timing: each master's requests are served one after the other at the memory's sustained rate, which masters that are
/// busy at the same time share equally: a request takes longer by what the others still have to move, up to its own
/// size, and delays them by as much. So two that both have a backlog get half each, while a short request need not wait
/// behind a long one, as it would not with interleaved banks. Latency is added once per request and does not occupy the
/// memory. Masters share an interconnect of `interconnect_rate` in the same way: the slower of both sets the rate. The
/// masters "compute" and "copy", an accelerator's cores, share `core_rate` beside that, which leaves the rest to
/// others. A request returns its annotated delay before later requests of others delay it: those delay the master's
/// next request instead, which counts as its waiting. Banks, refresh and row hits are not modelled; `efficiency` stands
/// for them (STREAM reaches 90 to 93 % of the pin rate), or a StreamModel, which has been derived from them: then the
/// rate is the pin rate times what banks sustain for requests of this size and for the share of writes among the latest
/// 16 to 32 requests, whole bursts are charged, with ECC more for those that a write changes in part, and `latency` is
/// that of the interconnect, to which reads and writes add theirs. A request that begins where the same master's latest
/// one ended counts as part of a sequence, as one of 32 KiB or more does.
///
/// Function: with `data` on, bytes are stored sparsely. With it off, reads return nothing and payloads may have a null
/// data pointer. nb_transport_fw answers BEGIN_REQ with TLM_COMPLETED and the annotated delay; debug transport moves
/// bytes in no time; DMI grants the page that was asked for. Bytes that are not enabled are left alone. An address at
/// or beyond `capacity` gets TLM_ADDRESS_ERROR_RESPONSE; other errors are those of check_attributes.
class Hbm final : public Memory {
 public:
  struct Config {
    Bytes capacity = Bytes(80LL << 30);
    Rate rate = Rate(3350LL * 8'000'000'000);
    double efficiency = 0.92;
    Time latency = Time(500'000);
    Rate interconnect_rate{};
    Rate core_rate{};

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("capacity", capacity, "Size of the memory. If inline ECC leaves less, that counts", Range{1, 1LL << 50});
      visit("rate", rate, "Pin rate of all stacks together", Range{1'000'000'000, 1'000'000'000'000'000});
      visit("efficiency", efficiency, "Share of the pin rate that long transfers sustain", kShareAboveZero);
      visit("latency", latency, "First request to first data of an idle memory", Range{0, 100'000'000});
      visit("interconnect_rate", interconnect_rate,
            "Rate of the on-chip interconnect for all masters together, both ways; 0bps: no limit", Range{0});
      visit("core_rate", core_rate,
            "Highest part of that rate for kernels and copy engines together, both ways; NICs have no such limit; "
            "0bps: no limit",
            Range{0});
    }
    [[nodiscard]] Rate sustained() const {
      return through_interconnect(static_cast<std::int64_t>(static_cast<double>(rate.count()) * efficiency));
    }
    /// What is left of a memory's rate behind the interconnect.
    [[nodiscard]] Rate through_interconnect(std::int64_t memory) const {
      return interconnect_rate == Rate() ? Rate(memory) : std::min(Rate(memory), interconnect_rate);
    }
  };
  using Counters = Traffic;  ///< busy: time at the sustained rate for what this master moved

  /// `masters` names the sockets. `model` may be null; else it outlives this, and `interconnect` takes the place of
  /// `config.latency`.
  Hbm(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher,
      const std::vector<std::string>& masters, bool data, const Stall::Config& stall,
      const StreamModel* model = nullptr, Time interconnect = Time());
  ~Hbm() override;

  Socket& socket(std::size_t master) override { return ports_[master].socket; }
  [[nodiscard]] const Counters& counters(std::size_t master) const { return ports_[master].counters; }
  [[nodiscard]] std::size_t masters() const override { return ports_.size(); }
  [[nodiscard]] const std::string& master_name(std::size_t master) const override { return ports_[master].name; }
  [[nodiscard]] Traffic traffic(std::size_t master) const override { return ports_[master].counters; }
  /// With a StreamModel: what bursts of requests of each size take, read and written.
  [[nodiscard]] std::optional<double> command_energy(std::size_t master) override;
  [[nodiscard]] const Config& config() const { return config_; }
  BackingStore& store() override { return store_; }
  void record(Waves& waves) override;

 private:
  /// Bytes of whole bursts, read and written, by the size of requests as StreamModel has it.
  using BySize = std::array<std::array<std::int64_t, 2>, StreamModel::kSizes.size() + 1>;
  struct Port final : public tlm::tlm_fw_transport_if<> {
    Port(Hbm& owner_hbm, const std::string& master, std::size_t number)
        : name(master), socket(("from_" + master).c_str()), owner(owner_hbm), index(number) {
      socket.bind(*this);
    }
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) override;
    unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override;

    std::string name;
    Socket socket;
    // What every request touches lies together, with the table of b_transport, which comes behind it.
    alignas(64) Hbm& owner;
    std::size_t index;  ///< in `busy_until_`
    Counters counters;
    std::uint64_t next = 0;              ///< where its latest request ended
    std::int64_t pushed = 0;             ///< by what later requests of others have put off when that ends
    std::unique_ptr<MemoryWaves> waves;  ///< null where nobody records
    BySize by_size{};
  };
  /// A StreamModel at this memory's rate.
  struct Derived {
    const StreamModel& model;
    const Config& config;
    std::uint64_t burst = 0;
    std::array<std::array<std::optional<ByteTime>, StreamModel::kShares>, StreamModel::kSizes.size() + 1> times = {};
    std::int64_t read_bytes = 0;  ///< of the latest requests
    std::int64_t written_bytes = 0;
    int requests = 0;
    Time partial{};  ///< what a burst written in part takes beyond a whole one
    [[nodiscard]] Time time(std::size_t size, std::size_t share, std::int64_t bytes);
    /// How many bursts a write leaves bytes of as they are.
    [[nodiscard]] std::int64_t partial_bursts(const tlm::tlm_generic_payload& payload) const;
    /// How long the memory is busy with it, which is counted.
    Time length(const tlm::tlm_generic_payload& payload, bool follows, BySize& by_size);
  };

  /// What `core_rate` lets through, shared in the same way as the memory.
  struct Cores {
    ByteTime byte_time;
    std::vector<std::int64_t> busy_until;  ///< by port
    std::vector<bool> has;                 ///< which ports are of the cores
    /// When a request has passed.
    std::int64_t pass(std::size_t index, std::int64_t asked, std::int64_t bytes);
  };

  [[nodiscard]] bool in_range(const tlm::tlm_generic_payload& payload) const;

  // What every request touches comes first.
  alignas(64) std::uint64_t capacity_;
  Dispatcher& dispatcher_;
  ByteTime byte_time_;
  std::unique_ptr<Derived> derived_;      ///< null without a StreamModel
  std::unique_ptr<Cores> cores_;          ///< null without a `core_rate`
  std::vector<std::int64_t> busy_until_;  // by port, together, since each request looks at all of them
  Time read_latency_;
  Time write_latency_;
  bool data_;
  Stall stall_;
  FixedVector<Port> ports_;
  Config config_;
  BackingStore store_;
};

}  // namespace weft::memory
