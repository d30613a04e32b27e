// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/remote/memory_expander.h"

#include <algorithm>

#include "hw/core/annotation.h"
#include "hw/core/config/number_limits.h"
#include "hw/memory/payload_bytes.h"

namespace weft::memory {
namespace {

// Tags, in the order in which they run at one picosecond.
constexpr std::uint32_t kAtDram = 0;
constexpr std::uint32_t kExpanderDone = 1;

constexpr Rate kLeastRate = Rate(1'000'000);

Rate sustained(const MemoryExpander::Config& config, const std::string& path) {
  check_numbers(config, path);
  const auto left = Rate(static_cast<std::int64_t>(static_cast<double>(config.rate.count()) * config.efficiency));
  if (left < kLeastRate) {
    throw ConfigError(path + ".efficiency", "expected a share that leaves at least " + to_text(kLeastRate) + " of " +
                                                path + ".rate, got " + to_text(left));
  }
  return left;
}

}  // namespace

MemoryExpander::MemoryExpander(sc_core::sc_module_name name, const Config& config, std::size_t heads,
                               const Interleaving& interleaving, Dispatcher& dispatcher, BackingStore* contents,
                               const Stall::Config& stall, const std::string& path)
    : sc_module(name),
      config_(config),
      interleaving_(interleaving),
      dispatcher_(dispatcher),
      contents_(contents),
      stall_(stall, this->name()),
      byte_time_(sustained(config, path)),
      heads_(heads) {
  dispatcher.attach(*this, this->name());
  for (std::size_t h = 0; h < heads; ++h) heads_.emplace_back(*this, h);
}

MemoryExpander::~MemoryExpander() = default;

bool MemoryExpander::holds(const tlm::tlm_generic_payload& payload) const {
  const auto& [granule, ways, way] = interleaving_;
  const auto capacity = static_cast<std::uint64_t>(config_.capacity.count());
  const std::uint64_t begin = payload.get_address();
  const std::uint64_t bytes = payload.get_data_length();
  if (ways > 1 && begin % granule + bytes > granule) return false;
  const std::uint64_t local = begin / (granule * ways) * granule + begin % granule;
  if (ways == 1) return begin < capacity && bytes <= capacity - begin;
  return begin / granule % ways == way && local < capacity && bytes <= capacity - local;
}

tlm::tlm_response_status MemoryExpander::check(const tlm::tlm_generic_payload& payload) const {
  return holds(payload) ? check_attributes(payload) : tlm::TLM_ADDRESS_ERROR_RESPONSE;
}

Time MemoryExpander::book(const tlm::tlm_generic_payload& payload, Time at) {
  const auto bytes = static_cast<std::int64_t>(payload.get_data_length());
  const Time length = byte_time_(bytes);
  free_ = std::max(free_, at) + length;
  counters_.busy += length;
  if (payload.is_read()) {
    ++counters_.reads;
    counters_.read_bytes += bytes;
  } else {
    ++counters_.writes;
    counters_.written_bytes += bytes;
  }
  return free_ + config_.latency;
}

void MemoryExpander::Head::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const tlm::tlm_response_status status = owner.check(payload);
  payload.set_response_status(status);
  if (status != tlm::TLM_OK_RESPONSE) return;
  const Time now = owner.dispatcher_.now();
  delay = to_delay(owner.book(payload, now + from_delay(delay) + owner.config_.controller) + owner.stall_.next() - now);
  if (owner.contents_ != nullptr) move_bytes(*owner.contents_, payload);
}

tlm::tlm_sync_enum MemoryExpander::Head::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                         sc_core::sc_time& delay) {
  if (phase == tlm::END_RESP) {
    responses.ended();
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  if (const tlm::tlm_response_status status = owner.check(payload); status != tlm::TLM_OK_RESPONSE) {
    payload.set_response_status(status);
    phase = tlm::BEGIN_RESP;
    return tlm::TLM_COMPLETED;
  }
  payload.acquire();
  const std::uint32_t slot = owner.requests_.take();
  owner.requests_[slot] = {&payload, this};
  const Time there = owner.dispatcher_.now() + from_delay(delay) + owner.config_.controller;
  owner.dispatcher_.post(there, owner, kAtDram, slot);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

unsigned int MemoryExpander::Head::transport_dbg(tlm::tlm_generic_payload& payload) {
  return owner.contents_ != nullptr && owner.holds(payload) ? debug_bytes(*owner.contents_, payload) : 0;
}

void MemoryExpander::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  const Request request = requests_[data];
  if (tag == kAtDram) {
    dispatcher_.post(book(*request.payload, now) + stall_.next(), *this, kExpanderDone, data);
    return;
  }
  requests_.free(static_cast<std::uint32_t>(data));
  if (contents_ != nullptr) move_bytes(*contents_, *request.payload);
  request.payload->set_response_status(tlm::TLM_OK_RESPONSE);
  request.head->responses.add(*request.payload);
}

}  // namespace weft::memory
