// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/accelerator.h"

#include <algorithm>
#include <cstring>

#include "hw/core/annotation.h"

namespace weft::accelerator {
namespace {

// Tags, in the order in which they run at one picosecond.
constexpr std::uint32_t kArrive = 0;
constexpr std::uint32_t kCopied = 1;
constexpr std::uint32_t kSlice = 2;

// The generic payload counts bytes in 32 bits; a slice of a kernel may move more.
constexpr std::uint64_t kLargestAccess = 1ULL << 31;

}  // namespace

Accelerator::Accelerator(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, bool data,
                         const Stall::Config& stall)
    : sc_module(name),
      registers("registers"),
      compute("compute"),
      copy("copy"),
      completion("completion"),
      config_(config),
      dispatcher_(dispatcher),
      data_(data),
      stall_(stall, this->name()),
      register_file_(dispatcher),
      copy_time_(config.copy_rate),
      streams_(static_cast<std::size_t>(config.streams)),
      engines_(static_cast<std::size_t>(config.copy_engines)) {
  dispatcher.attach(*this, this->name());
  register_file_.add_window(kCommandWindow, 1, 1, sizeof(Command), sizeof(Command),
                            [this](std::uint64_t /*address*/, const void* source, std::uint32_t bytes, Time at) {
                              return write_command(source, bytes, at);
                            });
  registers.bind(register_file_);
  compute.bind(initiator_);
  copy.bind(initiator_);
  completion.bind(initiator_);
}

Accelerator::~Accelerator() = default;

void Accelerator::record(Probe& probe, const std::string& process) {
  probe_ = &probe;
  kernel_track_ = probe.add_track(process, "compute");
}

bool Accelerator::write_command(const void* data, std::uint32_t bytes, Time at) {
  Command command;
  std::memcpy(static_cast<void*>(&command), data, bytes);
  if (command.stream != Command::kImmediate && command.stream >= streams_.size()) return false;
  if (command.engine >= engines_.size()) return false;
  arriving_.emplace_back(next_key_, command);
  dispatcher_.post(at, *this, kArrive, next_key_++);
  return true;
}

void Accelerator::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  switch (tag) {
    case kArrive: {
      // Writes mostly come in order of their delays: the one that is meant is at or near the front.
      const auto found =
          std::find_if(arriving_.begin(), arriving_.end(), [data](const auto& c) { return c.first == data; });
      const Command command = found->second;
      arriving_.erase(found);
      accept(now, command);
      break;
    }
    case kCopied: {
      const Command command = copies_[data];
      free_copies_.push_back(static_cast<std::uint32_t>(data));
      auto& engine = engines_[command.engine];
      engine.pop_front();
      if (!engine.empty()) start_copy(now, engine.front());
      finish_copy(command);
      if (command.stream != Command::kImmediate) {
        streams_[command.stream].at_engine = false;
        streams_[command.stream].queue.pop_front();
        advance(now, command.stream);
      } else {
        notify(now, command);
      }
      break;
    }
    default:
      next_slice(now);
  }
}

void Accelerator::accept(Time now, const Command& command) {
  if (command.stream != Command::kImmediate) {
    streams_[command.stream].queue.push_back(command);
    if (streams_[command.stream].queue.size() == 1) advance(now, command.stream);
    return;
  }
  switch (command.operation) {
    case Operation::kSignal:
      signal(now, command.semaphore, command.value);
      break;
    case Operation::kCopy:
    case Operation::kReduce:
      queue_copy(now, command);
      break;
    case Operation::kNotify:
      notify(now, command);
      break;
    case Operation::kKernel:
    case Operation::kWait:
      SC_REPORT_FATAL(name(), "kernels and waits belong to a stream");
  }
}

void Accelerator::advance(Time now, std::uint32_t index) {
  Stream& stream = streams_[index];
  while (!stream.queue.empty() && !stream.at_array && !stream.at_engine) {
    const Command& command = stream.queue.front();
    switch (command.operation) {
      case Operation::kKernel:
        stream.at_array = true;
        array_queue_.push_back(index);
        if (!running_.active) start_kernel(now);
        return;
      case Operation::kCopy:
      case Operation::kReduce:
        stream.at_engine = true;
        queue_copy(now, command);
        return;
      case Operation::kSignal: {
        const Command signal_command = command;
        stream.queue.pop_front();
        signal(now, signal_command.semaphore, signal_command.value);
        continue;
      }
      case Operation::kWait:
        if (semaphore(command.semaphore) < command.value) {
          if (stream.blocked_since == kNever) stream.blocked_since = now;
          return;
        }
        if (stream.blocked_since != kNever) {
          if (counters_.waited.size() <= command.semaphore) counters_.waited.resize(command.semaphore + 1);
          counters_.waited[command.semaphore] += now - stream.blocked_since;
          stream.blocked_since = kNever;
        }
        break;
      case Operation::kNotify:
        notify(now, command);
        break;
    }
    stream.queue.pop_front();
  }
}

void Accelerator::signal(Time now, std::uint32_t index, std::uint64_t value) {
  if (index >= semaphores_.size()) semaphores_.resize(index + 1, 0);
  if (semaphores_[index] >= value) return;
  semaphores_[index] = value;
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    const Stream& stream = streams_[s];
    if (!stream.queue.empty() && stream.queue.front().operation == Operation::kWait &&
        stream.queue.front().semaphore == index) {
      advance(now, s);
    }
  }
}

Time Accelerator::access(tlm::tlm_initiator_socket<64>& socket, tlm::tlm_command command, std::uint64_t address,
                         std::uint64_t bytes, Time at) {
  const Time now = dispatcher_.now();
  Time done = at;
  while (bytes != 0) {
    const std::uint64_t part = std::min(bytes, kLargestAccess);
    payload_.set_command(command);
    payload_.set_address(address);
    payload_.set_data_ptr(nullptr);  // the time of the traffic; what it carries, if anything, moves when it is done
    payload_.set_data_length(static_cast<unsigned int>(part));
    payload_.set_streaming_width(static_cast<unsigned int>(part));
    payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    sc_core::sc_time delay = to_delay(at - now);
    socket->b_transport(payload_, delay);
    if (payload_.is_response_error()) {
      SC_REPORT_FATAL(name(),
                      ("memory refused " + std::to_string(part) + " bytes at " + std::to_string(address)).c_str());
    }
    done = std::max(done, now + from_delay(delay));
    bytes -= part;
  }
  return done;
}

void Accelerator::start_kernel(Time now) {
  const std::uint32_t index = array_queue_.front();
  array_queue_.pop_front();
  const Command& command = streams_[index].queue.front();
  running_ = {};
  running_.active = true;
  running_.stream = index;
  running_.began = now;
  const std::int64_t slice = config_.slice.count();
  const Time moving =
      transfer_time(Bytes(static_cast<std::int64_t>(command.read + command.written)), config_.compute.planned_memory);
  const std::int64_t length = std::max(command.compute_ps, moving.count());
  running_.slices = std::max<std::int64_t>(1, (length + slice - 1) / slice);
  const Time start = now + Time(command.launch_ps) + stall_.next();
  request_slice(start);
  if (running_.slices > 1) request_slice(start);
  const Time computed = start + Time(command.compute_ps / running_.slices);
  dispatcher_.post(std::max(computed, running_.memory_ready[0]), *this, kSlice);
}

void Accelerator::request_slice(Time at) {
  const Command& command = streams_[running_.stream].queue.front();
  const std::int64_t n = running_.slices;
  const std::int64_t i = running_.requested++;
  // Slice i is what lies between i/n and (i+1)/n, so that the parts add up exactly.
  const auto part = [n, i](std::uint64_t whole) {
    const auto w = static_cast<__int128>(whole);
    return static_cast<std::uint64_t>(w * (i + 1) / n - w * i / n);
  };
  const Time read = access(compute, tlm::TLM_READ_COMMAND, 0, part(command.read), at);
  const Time written = access(compute, tlm::TLM_WRITE_COMMAND, 0, part(command.written), at);
  running_.memory_ready[i % 2] = std::max(read, written);
}

void Accelerator::next_slice(Time now) {
  const Command command = streams_[running_.stream].queue.front();
  ++running_.done;
  if (running_.done < running_.slices) {
    if (running_.requested < running_.slices) request_slice(now);
    const std::int64_t n = running_.slices;
    const std::int64_t i = running_.done;
    const Time length = Time(command.compute_ps * (i + 1) / n - command.compute_ps * i / n);
    dispatcher_.post(std::max(now + length, running_.memory_ready[i % 2]), *this, kSlice);
    return;
  }
  ++counters_.kernels;
  counters_.busy += now - running_.began;
  counters_.computing += Time(command.compute_ps);
  if (probe_ != nullptr) {
    probe_->slice(kernel_track_, command.label != nullptr ? command.label : "kernel", running_.began, now);
  }
  const std::uint32_t index = running_.stream;
  running_.active = false;
  streams_[index].at_array = false;
  streams_[index].queue.pop_front();
  advance(now, index);
  if (!running_.active && !array_queue_.empty()) start_kernel(now);
}

void Accelerator::queue_copy(Time now, const Command& command) {
  if (free_copies_.empty()) {
    free_copies_.push_back(static_cast<std::uint32_t>(copies_.size()));
    copies_.emplace_back();
  }
  const std::uint32_t slot = free_copies_.back();
  free_copies_.pop_back();
  copies_[slot] = command;
  engines_[command.engine].push_back(slot);
  if (engines_[command.engine].size() == 1) start_copy(now, slot);
}

void Accelerator::start_copy(Time now, std::uint32_t slot) {
  const Command& command = copies_[slot];
  const Time start = now + config_.copy_overhead + stall_.next();
  Time done = start + copy_time_(static_cast<std::int64_t>(command.bytes));
  if (command.bytes != 0) {
    done = std::max(done, access(copy, tlm::TLM_READ_COMMAND, command.source, command.bytes, start));
    if (command.operation == Operation::kReduce) {
      done = std::max(done, access(copy, tlm::TLM_READ_COMMAND, command.other, command.bytes, start));
    }
    done = std::max(done, access(copy, tlm::TLM_WRITE_COMMAND, command.destination, command.bytes, start));
  }
  ++counters_.copies;
  counters_.copied_bytes += static_cast<std::int64_t>(command.bytes);
  dispatcher_.post(done, *this, kCopied, slot);
}

void Accelerator::finish_copy(const Command& command) {
  if (!data_ || command.bytes == 0) return;
  std::vector<std::byte> first(command.bytes);
  std::vector<std::byte> second;
  const auto debug = [this](tlm::tlm_command what, std::uint64_t address, std::vector<std::byte>& bytes) {
    payload_.set_command(what);
    payload_.set_address(address);
    payload_.set_data_ptr(reinterpret_cast<unsigned char*>(bytes.data()));
    payload_.set_data_length(static_cast<unsigned int>(bytes.size()));
    copy->transport_dbg(payload_);
  };
  debug(tlm::TLM_READ_COMMAND, command.source, first);
  if (command.operation == Operation::kReduce) {
    second.resize(command.bytes);
    debug(tlm::TLM_READ_COMMAND, command.other, second);
    add(command.type, first.data(), second.data(), first.data(), command.bytes);
  }
  debug(tlm::TLM_WRITE_COMMAND, command.destination, first);
}

void Accelerator::notify(Time now, const Command& command) {
  const Done done{command.id};
  write_through(*completion.operator->(), payload_, command.completion_address, &done, sizeof done,
                now + stall_.next() - dispatcher_.now());
}

std::vector<std::string> Accelerator::left_over() const {
  std::vector<std::string> lines;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].queue.empty()) continue;
    const Command& command = streams_[s].queue.front();
    std::string line = std::string(name()) + ": stream " + std::to_string(s) + " holds " +
                       std::to_string(streams_[s].queue.size()) + " commands";
    if (command.operation == Operation::kWait) {
      line += ", the first waits for semaphore " + std::to_string(command.semaphore) + " to reach " +
              std::to_string(command.value) + ", which is at " + std::to_string(semaphore(command.semaphore));
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace weft::accelerator
