// SPDX-License-Identifier: Apache-2.0
// Copy engines: what they move, and who is told of it.
#include <algorithm>
#include <array>

#include "hw/accelerator/accelerator.h"
#include "hw/accelerator/tags.h"

namespace weft::accelerator {

bool Accelerator::starts_ahead(const Command& command, Time at) const {
  if (command.stream != Command::kImmediate || !arriving_.empty()) return false;
  if (command.operation != Operation::kCopy && command.operation != Operation::kReduce) return false;
  const Engine& engine = engines_[command.engine];
  return engine.copies.empty() && engine.free_at <= at;
}

void Accelerator::queue_copy(Time now, const Command& command) {
  const std::uint32_t slot = copies_.take();
  copies_[slot] = {command, Time()};
  Engine& engine = engines_[command.engine];
  engine.copies.push_back(slot);
  if (engine.copies.size() > 1) return;
  if (engine.free_at > now) return dispatcher_.post(engine.free_at, *this, kEngineFree, command.engine);
  start_copy(now, slot);
}

void Accelerator::start_copy(Time now, std::uint32_t slot) {
  Copy& under_way = copies_[slot];
  const Command& command = under_way.command;
  ++counters_.copies;
  counters_.copied_bytes += static_cast<std::int64_t>(std::max(command.operands, 1U) * command.bytes);
  const Time overhead = is_dma(command) ? config_.dma.start : config_.copy_overhead;
  const bool begins = command.flags == Flags::kNone && command.operands == 0;
  const Time start = now + (begins ? overhead : Time()) + stall_.next();
  const ByteTime& time = is_dma(command) ? dma_time_ : copy_time_;
  const std::uint64_t sources = std::max(command.operands, 1U);
  under_way.moved = start + time(static_cast<std::int64_t>(sources * with_flags(command.bytes, command.flags)));
  counters_.copying.resize(std::max(counters_.copying.size(), command.engine + std::size_t{1}));
  counters_.copying[command.engine] += under_way.moved - now;
  mark(CauseKind::kCopy, under_way.moved);
  Time done = start;
  if (command.flags != Flags::kWords) {
    // The time of the traffic; what it carries, if anything, moves when it is done. What is written comes behind what
    // is read, of which it may take the place.
    const std::uint64_t other = command.operation == Operation::kReduce ? command.bytes : 0;
    const std::array<MemoryMaster::Part, 3> parts = {
        {{tlm::TLM_READ_COMMAND, command.source, command.operands == 0 ? command.bytes : 0, nullptr},
         {tlm::TLM_READ_COMMAND, command.other, other, nullptr},
         {tlm::TLM_WRITE_COMMAND, command.destination, command.bytes, nullptr}}};
    done = copy_master_.access(parts, start, slot);
    if (done == kNever) return;
  }
  const Time end = std::max(under_way.moved, done);
  Engine& engine = engines_[command.engine];
  const bool is_seen = command.stream != Command::kImmediate || engine.copies.size() > 1;
  if (is_seen) return dispatcher_.post(end, *this, kCopied, slot);
  // Nothing but the completion comes of its end.
  mark(CauseKind::kMemory, end);
  engine.free_at = end;
  engine.copies.pop_front();
  notify(end, command);
  if (data_) return dispatcher_.post(end, *this, kContents, slot);
  copies_.free(slot);
}

void Accelerator::start_next(Time now, Engine& engine) {
  if (!engine.copies.empty()) start_copy(now, engine.copies.front());
}

void Accelerator::end_copy(Time now, std::uint32_t slot) {
  const Command command = copies_[slot].command;
  copies_.free(slot);
  Engine& engine = engines_[command.engine];
  engine.copies.pop_front();
  start_next(now, engine);
  finish_copy(command);
  if (command.stream == Command::kImmediate) return notify(now, command);
  streams_[command.stream].at_engine = false;
  take_first(streams_[command.stream]);
  advance(now, command.stream);
}

void Accelerator::finish_copy(const Command& command) {
  if (!data_ || command.bytes == 0) return;
  std::vector<std::byte> first(command.bytes);
  std::vector<std::byte> second;
  const auto debug = [this](tlm::tlm_command what, std::uint64_t address, std::vector<std::byte>& bytes) {
    copy_master_.debug({what, address, bytes.size(), bytes.data()});
  };
  debug(tlm::TLM_READ_COMMAND, command.source, first);
  if (command.operation == Operation::kReduce) {
    second.resize(command.bytes);
    debug(tlm::TLM_READ_COMMAND, command.other, second);
    add(command.type, first.data(), second.data(), first.data(), command.bytes);
    for (std::uint32_t i = 1; i < command.operands; ++i) {
      debug(tlm::TLM_READ_COMMAND, command.source + i * command.stride, second);
      add(command.type, first.data(), second.data(), first.data(), command.bytes);
    }
  }
  debug(tlm::TLM_WRITE_COMMAND, command.destination, first);
}

void Accelerator::notify(Time at, const Command& command) {
  const Done done{command.id};
  write_through(*completion.operator->(), payload_, command.completion_address, &done, sizeof done,
                at + stall_.next() - dispatcher_.now());
}

}  // namespace weft::accelerator
