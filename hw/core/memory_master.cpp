// SPDX-License-Identifier: Apache-2.0
#include "hw/core/memory_master.h"

#include <algorithm>

namespace weft {
namespace {

// The generic payload counts bytes in 32 bits; a slice of a kernel may move more.
constexpr std::uint64_t kLargestCall = 1ULL << 31;

// What an event says, of the access whose number it carries.
constexpr std::uint64_t kStarts = 0;
constexpr std::uint64_t kDone = 1;
constexpr std::uint64_t kGoOn = 2;  // of none
constexpr int kKindBits = 2;

// A piece's payload carries the number of its access here: the socket gives back the payload alone.
struct AccessNumber final : public tlm::tlm_extension<AccessNumber> {
  std::uint32_t number = 0;
  [[nodiscard]] tlm::tlm_extension_base* clone() const override { return new AccessNumber(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const AccessNumber&>(other); }
};

}  // namespace

MemoryMaster::MemoryMaster(Socket& socket, Dispatcher& dispatcher, const EventTarget& owner, std::uint32_t tag)
    : socket_(socket), dispatcher_(dispatcher), owner_(owner), tag_(tag) {}

MemoryMaster::~MemoryMaster() = default;

void MemoryMaster::fill(tlm::tlm_generic_payload& payload, const Part& part, std::uint64_t from, std::uint64_t bytes) {
  payload.set_command(part.command);
  payload.set_address(part.address + from);
  payload.set_data_ptr(part.data == nullptr ? nullptr : reinterpret_cast<unsigned char*>(part.data + from));
  payload.set_data_length(static_cast<unsigned int>(bytes));
  payload.set_streaming_width(static_cast<unsigned int>(bytes));
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  payload.set_dmi_allowed(false);
}

void MemoryMaster::refuse(const tlm::tlm_generic_payload& payload) const {
  const std::string text = "memory refused " + std::to_string(payload.get_data_length()) + " bytes at " +
                           std::to_string(payload.get_address()) + ": " + payload.get_response_string();
  SC_REPORT_FATAL(socket_.get_parent_object()->name(), text.c_str());
}

Time MemoryMaster::block(std::span<const Part> parts, Time at) {
  const Time now = dispatcher_.now();
  Time done = at;
  for (const Part& part : parts) {
    for (std::uint64_t from = 0; from < part.bytes;) {
      const std::uint64_t bytes = std::min(part.bytes - from, kLargestCall);
      std::byte* data = part.data == nullptr ? nullptr : part.data + from;
      done = std::max(done, access_blocking(*blocking_, now, part.command, part.address + from, data,
                                            static_cast<std::uint32_t>(bytes), at));
      from += bytes;
    }
  }
  return done;
}

Time MemoryMaster::begin(std::span<const Part> parts, Time at, std::uint64_t token, Order order) {
  const std::uint32_t index = accesses_.take();
  Access& access = accesses_[index];
  access = {};
  access.token = token;
  access.order = order;
  for (const Part& part : parts) {
    if (part.bytes != 0) access.parts[access.count++] = part;
  }
  if (access.count == 0) {
    accesses_.free(index);
    return at;
  }
  ++under_way_;
  if (at > dispatcher_.now()) {
    dispatcher_.post(at, owner_, tag_, static_cast<std::uint64_t>(index) << kKindBits | kStarts);
  } else {
    ready_.push_back(index);
    pump(at);
  }
  return kNever;
}

std::optional<std::uint64_t> MemoryMaster::on_event(Time now, std::uint64_t data) {
  const auto index = static_cast<std::uint32_t>(data >> kKindBits);
  const std::uint64_t kind = data & ((1 << kKindBits) - 1);
  if (kind != kDone) {
    if (kind == kStarts) ready_.push_back(index);
    pump(now);
    return std::nullopt;
  }
  accesses_.free(index);
  --under_way_;
  return accesses_[index].token;
}

void MemoryMaster::pump(Time now) {
  while (asking_ == nullptr && !ready_.empty()) send_piece(now, ready_.front());
}

void MemoryMaster::send_piece(Time now, std::uint32_t index) {
  Access& access = accesses_[index];
  // The first that is not sent, or if they are mixed the one that lags behind most, in shares of its length.
  std::size_t next = access.count;
  for (std::size_t i = 0; i < access.count; ++i) {
    if (access.sent[i] == access.parts[i].bytes) continue;
    const auto share = [&](std::size_t a, std::size_t b) {
      return static_cast<unsigned __int128>(access.sent[a]) * access.parts[b].bytes;
    };
    if (next == access.count || (access.order == Order::kMixed && share(i, next) < share(next, i))) next = i;
  }
  const Part part = access.parts[next];
  const std::uint64_t from = access.sent[next];
  const std::uint64_t bytes = std::min(part.bytes - from, kPiece - (part.address + from) % kPiece);
  access.sent[next] += bytes;
  access.sent_all = true;
  for (std::size_t i = 0; i < access.count; ++i) {
    access.sent_all = access.sent_all && access.sent[i] == access.parts[i].bytes;
  }
  ++access.pieces;
  if (access.sent_all) ready_.pop_front();

  tlm::tlm_generic_payload& payload = *payloads_.take();
  fill(payload, part, from, bytes);
  auto* number = payload.get_extension<AccessNumber>();
  if (number == nullptr) {
    number = new AccessNumber;  // the payload keeps it for its next use, and deletes it in the end
    payload.set_extension(number);
  }
  number->number = index;
  asking_ = &payload;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(std::max(free_at_ - now, Time()));
  const tlm::tlm_sync_enum sync = target_->nb_transport_fw(payload, phase, delay);
  if (sync == tlm::TLM_ACCEPTED) return;
  asking_ = nullptr;
  const Time at = now + from_delay(delay);
  if (sync == tlm::TLM_UPDATED && phase == tlm::END_REQ) {
    free_at_ = at;
    return;
  }
  if (sync == tlm::TLM_UPDATED) {
    phase = tlm::END_RESP;
    target_->nb_transport_fw(payload, phase, delay);
  }
  end_piece(payload, at);
}

tlm::tlm_sync_enum MemoryMaster::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                 sc_core::sc_time& delay) {
  const Time now = dispatcher_.now();
  if (phase == tlm::END_REQ) {
    asking_ = nullptr;
    free_at_ = now + from_delay(delay);
    pump(now);
    return tlm::TLM_ACCEPTED;
  }
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  const bool ends_request = asking_ == &payload;
  end_piece(payload, now + from_delay(delay));
  delay = sc_core::SC_ZERO_TIME;
  if (ends_request) {
    asking_ = nullptr;
    dispatcher_.post(now, owner_, tag_, kGoOn);  // not before the response has ended, which this call's return says
  }
  return tlm::TLM_COMPLETED;
}

void MemoryMaster::end_piece(tlm::tlm_generic_payload& payload, Time at) {
  if (payload.is_response_error()) refuse(payload);
  const std::uint32_t index = payload.get_extension<AccessNumber>()->number;
  payload.release();
  Access& access = accesses_[index];
  access.done = std::max(access.done, at);
  if (--access.pieces != 0 || !access.sent_all) return;
  dispatcher_.post(access.done, owner_, tag_, static_cast<std::uint64_t>(index) << kKindBits | kDone);
}

void MemoryMaster::debug(const Part& part) {
  fill(payload_, part, 0, part.bytes);
  target_->transport_dbg(payload_);
}

}  // namespace weft
