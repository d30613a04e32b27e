// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/hbm.h"

#include <algorithm>
#include <cmath>

#include "hw/core/annotation.h"
#include "hw/memory/payload_bytes.h"

namespace weft::memory {
namespace {

/// Fluid sharing of something whose ports are busy until these times: what others still have to move, up to as much as
/// a request moves, goes in between, and the other way round. Returns when a request of port `index` is done that
/// begins at `start` and takes `length` alone; `put_off(port, by)` hears of the others.
template <typename PutOff>
inline std::int64_t share(std::vector<std::int64_t>& busy_until, std::size_t index, std::int64_t start,
                          std::int64_t length, const PutOff& put_off) {
  std::int64_t end = start + length;
  for (std::size_t i = 0; i < busy_until.size(); ++i) {
    if (i == index || busy_until[i] <= start) continue;
    const std::int64_t shared = std::min(length, busy_until[i] - start);
    end += shared;
    busy_until[i] += shared;
    put_off(i, shared);
  }
  return busy_until[index] = end;
}

}  // namespace

Hbm::Hbm(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher,
         const std::vector<std::string>& masters, bool data, const Stall::Config& stall, const StreamModel* model,
         Time interconnect)
    : Memory(name),
      capacity_(static_cast<std::uint64_t>(config.capacity.count())),
      dispatcher_(dispatcher),
      byte_time_(config.sustained()),
      busy_until_(masters.size()),
      read_latency_(config.latency),
      write_latency_(config.latency),
      data_(data),
      stall_(stall, this->name()),
      ports_(masters.size()),
      config_(config) {
  for (const std::string& master : masters) ports_.emplace_back(*this, master, ports_.size());
  if (config.core_rate > Rate()) {
    cores_ = std::make_unique<Cores>(
        Cores{ByteTime(config.core_rate), std::vector<std::int64_t>(masters.size()), std::vector<bool>()});
    for (const std::string& master : masters) cores_->has.push_back(master == "compute" || master == "copy");
  }
  if (model == nullptr) return;
  derived_ = std::make_unique<Derived>(
      Derived{.model = *model, .config = config_, .burst = static_cast<std::uint64_t>(model->burst().count())});
  if (const double partial = model->partial_writes(); partial > 0) {
    const auto time = [&](double share) {
      return ByteTime(Rate(std::llround(static_cast<double>(config.rate.count()) * share)))(model->burst().count());
    };
    derived_->partial = std::max(Time(), time(partial) - time(model->sustained(0, StreamModel::kShares - 1)));
  }
  read_latency_ = interconnect + model->read();
  write_latency_ = interconnect + model->write();
}

Hbm::~Hbm() = default;

std::optional<double> Hbm::command_energy(std::size_t master) {
  if (derived_ == nullptr) return std::nullopt;
  double energy = 0;
  for (std::size_t size = 0; size < StreamModel::kSizes.size() + 1; ++size) {
    for (const bool write : {false, true}) {
      const std::int64_t bytes = ports_[master].by_size[size][write ? 1 : 0];
      if (bytes > 0) energy += static_cast<double>(bytes) * derived_->model.byte_energy(size, write);
    }
  }
  return energy;
}

void Hbm::record(Waves& waves) {
  for (Port& port : ports_) {
    if (waves.wants(port.socket.name())) port.waves = std::make_unique<MemoryWaves>(waves, port.socket.name());
  }
}

inline bool Hbm::in_range(const tlm::tlm_generic_payload& payload) const {
  return payload.get_address() < capacity_ && payload.get_data_length() <= capacity_ - payload.get_address();
}

inline Time Hbm::Derived::time(std::size_t size, std::size_t share, std::int64_t bytes) {
  std::optional<ByteTime>& one = times[size][share];
  if (!one) [[unlikely]]
    one.emplace(config.through_interconnect(
        std::llround(static_cast<double>(config.rate.count()) * model.sustained(size, share))));
  return (*one)(bytes);
}

std::int64_t Hbm::Derived::partial_bursts(const tlm::tlm_generic_payload& payload) const {
  const std::uint64_t begin = payload.get_address();
  const std::uint64_t end = begin + payload.get_data_length();
  const std::uint64_t within = burst - 1;
  if (payload.get_byte_enable_ptr() == nullptr) {
    const int parts = ((begin & within) != 0 ? 1 : 0) + ((end & within) != 0 ? 1 : 0);
    return (begin & ~within) == ((end - 1) & ~within) ? std::min(parts, 1) : parts;
  }
  std::int64_t parts = 0;
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t next = std::min(end, (at & ~within) + burst);
    const auto bytes = static_cast<std::uint32_t>(next - at);
    if (bytes < burst || !all_enabled(payload, static_cast<std::uint32_t>(at - begin), bytes)) ++parts;
    at = next;
  }
  return parts;
}

Time Hbm::Derived::length(const tlm::tlm_generic_payload& payload, bool follows, BySize& by_size) {
  constexpr int kWindow = 16;
  const std::uint64_t within = burst - 1;
  const std::uint64_t first = payload.get_address() & ~within;
  const std::uint64_t end = payload.get_address() + payload.get_data_length();
  const auto bytes = static_cast<std::int64_t>(((end + within) & ~within) - first);
  Time modify;
  if (partial > Time() && payload.is_write()) [[unlikely]] {
    modify = partial * partial_bursts(payload);
  }
  std::size_t size = StreamModel::kSequence;
  if (!follows && bytes < 8 * StreamModel::kSizes.back()) {
    --size;
    while (size > 0 && bytes < StreamModel::kSizes[size]) --size;
  }
  (payload.is_read() ? read_bytes : written_bytes) += bytes;
  by_size[size][payload.is_read() ? 0 : 1] += bytes;
  if (++requests == kWindow) {
    requests = 0;
    read_bytes /= 2;
    written_bytes /= 2;
  }
  // Between two shares that have been measured, in 64ths.
  constexpr std::int64_t kParts = 64;
  constexpr auto kSteps = static_cast<std::int64_t>(StreamModel::kShares - 1) * kParts;
  const std::int64_t share = written_bytes * kSteps / std::max<std::int64_t>(1, read_bytes + written_bytes);
  const auto below = static_cast<std::size_t>(share / kParts);
  const Time low = time(size, below, bytes);
  if (share % kParts == 0) return modify + low;
  return modify + low + (time(size, below + 1, bytes) - low) * (share % kParts) / kParts;
}

std::int64_t Hbm::Cores::pass(std::size_t index, std::int64_t asked, std::int64_t bytes) {
  const std::int64_t start = std::max(asked, busy_until[index]);
  return share(busy_until, index, start, byte_time(bytes).count(), [](std::size_t, std::int64_t) {});
}

void Hbm::Port::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (!owner.in_range(payload)) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  if (const tlm::tlm_response_status status = check_attributes(payload); status != tlm::TLM_OK_RESPONSE) [[unlikely]] {
    payload.set_response_status(status);
    return;
  }
  const std::int64_t bytes = payload.get_data_length();
  if (owner.data_ && bytes != 0) move_bytes(owner.store_, payload);
  const std::int64_t now = owner.dispatcher_.now().count();
  const std::int64_t asked = now + static_cast<std::int64_t>(delay.value());
  std::int64_t length = 0;
  if (owner.derived_ == nullptr) {
    length = owner.byte_time_(bytes).count();
  } else if (bytes != 0) {
    length = owner.derived_->length(payload, payload.get_address() == next, by_size).count();
    next = payload.get_address() + payload.get_data_length();
  }
  const std::int64_t start = std::max(asked, owner.busy_until_[index]);
  std::int64_t busy_until = share(owner.busy_until_, index, start, length,
                                  [this](std::size_t other, std::int64_t by) { owner.ports_[other].pushed += by; });
  // Others that came since this master's latest request put its end off: what is left of that held this one up.
  counters.waited += Time(std::min(pushed, start - asked) + busy_until - start - length);
  pushed = 0;
  if (payload.is_read()) {
    ++counters.reads;
    counters.read_bytes += bytes;
  } else {
    ++counters.writes;
    counters.written_bytes += bytes;
  }
  counters.busy += Time(length);
  const Time latency = payload.is_read() ? owner.read_latency_ : owner.write_latency_;
  if (owner.cores_ != nullptr && owner.cores_->has[index]) [[unlikely]]
    busy_until = std::max(busy_until, owner.cores_->pass(index, asked, bytes));
  const Time done = Time(busy_until) + latency + owner.stall_.next();
  delay = to_delay(Time(done.count() - now));
  payload.set_dmi_allowed(owner.data_);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  if (waves != nullptr) [[unlikely]]
    waves->transaction(payload, Time(asked), Time(start), done);
}

tlm::tlm_sync_enum Hbm::Port::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                              sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  b_transport(payload, delay);
  phase = tlm::BEGIN_RESP;
  return tlm::TLM_COMPLETED;
}

bool Hbm::Port::get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  if (!owner.data_ || payload.get_address() >= owner.capacity_) return false;
  const std::uint64_t start = payload.get_address() / BackingStore::kPage * BackingStore::kPage;
  dmi.allow_read_write();
  dmi.set_start_address(start);
  dmi.set_end_address(std::min(start + BackingStore::kPage, owner.capacity_) - 1);
  dmi.set_dmi_ptr(reinterpret_cast<unsigned char*>(owner.store_.page(start)));
  dmi.set_read_latency(to_delay(owner.read_latency_));
  dmi.set_write_latency(to_delay(owner.write_latency_));
  return true;
}

unsigned int Hbm::Port::transport_dbg(tlm::tlm_generic_payload& payload) {
  return owner.data_ && owner.in_range(payload) ? debug_bytes(owner.store_, payload) : 0;
}

}  // namespace weft::memory
