// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/remote/remote_dma.h"

#include <algorithm>
#include <cstring>

#include "hw/core/annotation.h"

namespace weft::memory {
namespace {

// Tags, in the order in which they run at one picosecond.
constexpr std::uint32_t kCommand = 0;
constexpr std::uint32_t kSend = 1;
constexpr std::uint32_t kArrived = 2;
constexpr std::uint32_t kDone = 3;
constexpr std::uint32_t kLocal = 4;

// A piece's payload carries its number here: the socket gives back the payload alone.
struct PieceNumber final : public tlm::tlm_extension<PieceNumber> {
  std::uint32_t number = 0;
  [[nodiscard]] tlm::tlm_extension_base* clone() const override { return new PieceNumber(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const PieceNumber&>(other); }
};

}  // namespace

RemoteDma::RemoteDma(sc_core::sc_module_name name, const Config& config, Bytes chunk, Dispatcher& dispatcher, bool data,
                     const Stall::Config& stall)
    : sc_module(name),
      registers("registers"),
      local("local"),
      remote("remote"),
      completion("completion"),
      config_(config),
      chunk_(static_cast<std::uint64_t>(chunk.count())),
      dispatcher_(dispatcher),
      data_(data),
      stall_(stall, this->name()),
      register_file_(dispatcher),
      local_master_(local, dispatcher, *this, kLocal),
      responses_(*this) {
  dispatcher.attach(*this, this->name());
  register_file_.add_window(kWindow, 1, 1, sizeof(RemoteCommand), sizeof(RemoteCommand),
                            [this](std::uint64_t /*address*/, const void* source, std::uint32_t /*bytes*/, Time at) {
                              return write_command(source, at);
                            });
  registers.bind(register_file_);
  local_master_.bind();
  remote.bind(responses_);
  completion.bind(initiator_);
}

/// Payloads delete what they carry: pieces that were left over must not go with them.
RemoteDma::~RemoteDma() {
  for (Piece& piece : pieces_.all()) {
    if (piece.payload != nullptr) piece.payload->clear_extension(&piece.group);
  }
}

void RemoteDma::record(Probe& probe, const std::string& process) {
  probe_ = &probe;
  tracks_ = {probe.add_track(process, "remote loads"), probe.add_track(process, "remote stores")};
}

bool RemoteDma::write_command(const void* data, Time at) {
  const std::uint32_t slot = transfers_.take();
  Transfer& transfer = transfers_[slot];
  transfer = {};
  std::memcpy(static_cast<void*>(&transfer.command), data, sizeof transfer.command);
  transfer.left = transfer.command.bytes;
  transfer.began = at;
  if (active_++ == 0) active_since_ = at;
  channel_of(transfer.command).queue.push_back(slot);
  dispatcher_.post(at + config_.overhead + stall_.next(), *this, kCommand, slot);
  return true;
}

void RemoteDma::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  const auto index = static_cast<std::uint32_t>(data);
  switch (tag) {
    case kCommand:
      transfers_[index].ready = true;
      advance(now, channel_of(transfers_[index].command));
      break;
    case kSend:
      request(now, index);
      break;
    case kArrived:
      arrived(now, index);
      break;
    case kLocal:
      if (const auto piece = local_master_.on_event(now, data)) answered(now, static_cast<std::uint32_t>(*piece));
      break;
    default:
      done(now, index);
  }
}

void RemoteDma::advance(Time now, Channel& channel) {
  while (!channel.queue.empty() && channel.under_way < config_.outstanding) {
    const std::uint32_t index = channel.queue.front();
    Transfer& transfer = transfers_[index];
    if (!transfer.ready) return;
    if (transfer.cut == transfer.command.bytes) {  // of nothing
      channel.queue.pop_front();
      finish(now, index);
      continue;
    }
    const std::uint32_t slot = pieces_.take();
    Piece& piece = pieces_[slot];
    const std::uint64_t at = transfer.command.remote + transfer.cut;
    piece.transfer = index;
    piece.offset = transfer.cut;
    piece.bytes = std::min(chunk_ - at % chunk_, transfer.command.bytes - transfer.cut);
    transfer.cut += piece.bytes;
    if (transfer.cut == transfer.command.bytes) channel.queue.pop_front();
    ++channel.under_way;
    start(now, slot);
  }
}

void RemoteDma::start(Time now, std::uint32_t index) {
  Piece& piece = pieces_[index];
  const RemoteCommand& command = transfers_[piece.transfer].command;
  if (!command.stores) return request(now, index);
  Channel& channel = channel_of(command);
  piece.read = false;
  const Time read = access_local(now, tlm::TLM_READ_COMMAND, index);
  if (read == kNever) {
    channel.reading.push_back(index);
    return;
  }
  channel.sends = std::max(channel.sends, read + stall_.next());
  dispatcher_.post(channel.sends, *this, kSend, index);
}

void RemoteDma::answered(Time now, std::uint32_t index) {
  const RemoteCommand& command = transfers_[pieces_[index].transfer].command;
  if (!command.stores) {
    dispatcher_.post(now + stall_.next(), *this, kDone, index);
    return;
  }
  pieces_[index].read = true;
  Channel& channel = channel_of(command);
  while (!channel.reading.empty() && pieces_[channel.reading.front()].read) {
    channel.sends = std::max(channel.sends, now + stall_.next());
    dispatcher_.post(channel.sends, *this, kSend, channel.reading.front());
    channel.reading.pop_front();
  }
}

void RemoteDma::request(Time now, std::uint32_t index) {
  Piece& piece = pieces_[index];
  const RemoteCommand& command = transfers_[piece.transfer].command;
  piece.payload = payloads_.take();
  tlm::tlm_generic_payload& payload = *piece.payload;
  if (data_) {
    piece.data.resize(piece.bytes);
    if (command.stores) debug_local(tlm::TLM_READ_COMMAND, piece);
  }
  payload.set_command(command.stores ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(command.remote + piece.offset);
  payload.set_data_ptr(data_ ? reinterpret_cast<unsigned char*>(piece.data.data()) : nullptr);
  payload.set_data_length(static_cast<unsigned int>(piece.bytes));
  payload.set_streaming_width(static_cast<unsigned int>(piece.bytes));
  auto* number = payload.get_extension<PieceNumber>();
  if (number == nullptr) {
    number = new PieceNumber;  // the payload keeps it for its next use, and deletes it in the end
    payload.set_extension(number);
  }
  number->number = index;
  if (command.group != RemoteCommand::kAlone) {
    piece.group.group = command.group;
    piece.group.type = command.type;
    payload.set_extension(&piece.group);
  }
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  if (remote->nb_transport_fw(payload, phase, delay) != tlm::TLM_COMPLETED) return;
  if (payload.is_response_error()) refused(piece, payload.get_response_status());
  dispatcher_.post(now + from_delay(delay), *this, kArrived, index);
}

tlm::tlm_sync_enum RemoteDma::Responses::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                         sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  const std::uint32_t index = payload.get_extension<PieceNumber>()->number;
  owner.dispatcher_.post(owner.dispatcher_.now() + from_delay(delay), owner, kArrived, index);
  delay = sc_core::SC_ZERO_TIME;
  return tlm::TLM_COMPLETED;
}

void RemoteDma::arrived(Time now, std::uint32_t index) {
  Piece& piece = pieces_[index];
  if (piece.payload->is_response_error()) refused(piece, piece.payload->get_response_status());
  piece.payload->clear_extension(&piece.group);
  piece.payload->release();
  piece.payload = nullptr;
  if (transfers_[piece.transfer].command.stores) return done(now, index);
  const Time written = access_local(now, tlm::TLM_WRITE_COMMAND, index);
  if (written != kNever) dispatcher_.post(written + stall_.next(), *this, kDone, index);
}

void RemoteDma::done(Time now, std::uint32_t index) {
  Piece& piece = pieces_[index];
  const std::uint32_t of_transfer = piece.transfer;
  Transfer& transfer = transfers_[of_transfer];
  Channel& channel = channel_of(transfer.command);
  if (data_ && !transfer.command.stores) debug_local(tlm::TLM_WRITE_COMMAND, piece);
  transfer.left -= piece.bytes;
  pieces_.free(index);
  --channel.under_way;
  if (transfer.left == 0) finish(now, of_transfer);
  advance(now, channel);
}

void RemoteDma::finish(Time now, std::uint32_t index) {
  const Transfer transfer = transfers_[index];
  const RemoteCommand& command = transfer.command;
  transfers_.free(index);
  if (command.stores) {
    ++counters_.stores;
    counters_.stored_bytes += static_cast<std::int64_t>(command.bytes);
  } else {
    ++counters_.loads;
    counters_.loaded_bytes += static_cast<std::int64_t>(command.bytes);
  }
  if (--active_ == 0) counters_.busy += now - active_since_;
  if (probe_ != nullptr) {
    const char* what = command.stores ? "store" : "load";
    probe_->slice(tracks_[command.stores ? 1 : 0], {.what = command.label != nullptr ? command.label : what,
                                                    .from = transfer.began,
                                                    .to = now,
                                                    .kind = command.stores ? SliceKind::kStore : SliceKind::kLoad,
                                                    .bytes = static_cast<std::int64_t>(command.bytes)});
  }
  const RemoteDone entry{command.id};
  write_through(*completion.operator->(), payload_, command.completion_address, &entry, sizeof entry,
                now + stall_.next() - dispatcher_.now());
}

Time RemoteDma::access_local(Time now, tlm::tlm_command command, std::uint32_t index) {
  // The time of the traffic alone; bytes move when it is over.
  const Piece& piece = pieces_[index];
  const MemoryMaster::Part part{command, transfers_[piece.transfer].command.local + piece.offset, piece.bytes, nullptr};
  return local_master_.access({&part, 1}, now, index);
}

void RemoteDma::debug_local(tlm::tlm_command command, Piece& piece) {
  local_master_.debug(
      {command, transfers_[piece.transfer].command.local + piece.offset, piece.bytes, piece.data.data()});
}

void RemoteDma::refused(const Piece& piece, tlm::tlm_response_status status) const {
  const RemoteCommand& command = transfers_[piece.transfer].command;
  std::string text = "remote memory refused to " + std::string(command.stores ? "store " : "load ") +
                     std::to_string(piece.bytes) + " bytes at " + std::to_string(command.remote + piece.offset);
  if (status == tlm::TLM_ADDRESS_ERROR_RESPONSE) text += ": it ends before (remote_memory.capacity)";
  if (status == tlm::TLM_GENERIC_ERROR_RESPONSE) text += ": other members of the group ask for something else";
  SC_REPORT_FATAL(name(), text.c_str());
  throw std::runtime_error(text);
}

std::vector<std::string> RemoteDma::left_over() const {
  std::vector<std::string> lines;
  if (active_ != 0) {
    lines.push_back(std::string(name()) + ": " + std::to_string(active_) + " transfers of remote memory are under way");
  }
  return lines;
}

}  // namespace weft::memory
