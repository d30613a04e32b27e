// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/accelerator.h"

#include <algorithm>
#include <cmath>
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

std::int64_t draw_pace(double spread, std::uint64_t seed, const std::string& name) {
  Random random(seed, name + " pace");
  double sum = -6;  // of twelve even ones between 0 and 1: a variance of 1
  for (int i = 0; i < 12; ++i) sum += random.share();
  return std::llround(static_cast<double>(kEvenPace) / std::max(0.5, 1 + spread * sum));
}

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
      pace_(draw_pace(config.speed_spread, stall.seed, this->name())),
      free_cores_(config.compute.sms),
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
  process_ = process;
  kernel_tracks_ = {probe.add_track(process, "compute")};
}

bool Accelerator::write_command(const void* data, std::uint32_t bytes, Time at) {
  Command command;
  std::memcpy(static_cast<void*>(&command), data, bytes);
  if (command.stream != Command::kImmediate && command.stream >= streams_.size()) return false;
  if (command.engine >= engines_.size()) return false;
  if (command.cores > config_.compute.sms) return false;
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
      next_slice(now, static_cast<std::uint32_t>(data));
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
        start_kernels(now);
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

void Accelerator::start_kernels(Time now) {
  while (!array_queue_.empty()) {
    const std::uint32_t stream = array_queue_.front();
    const std::uint32_t asked = streams_[stream].queue.front().cores;
    const std::int64_t cores = asked == 0 ? config_.compute.sms : asked;
    if (cores > free_cores_) return;
    array_queue_.pop_front();
    start_kernel(now, stream, cores);
  }
}

void Accelerator::start_kernel(Time now, std::uint32_t stream, std::int64_t cores) {
  const Command& command = streams_[stream].queue.front();
  count_busy(now);
  free_cores_ -= cores;
  auto slot = std::find_if(running_.begin(), running_.end(), [](const Running& kernel) { return !kernel.active; });
  if (slot == running_.end()) slot = running_.emplace(slot);
  Running& kernel = *slot;
  kernel = {};
  kernel.active = true;
  kernel.stream = stream;
  kernel.cores = cores;
  kernel.began = now;
  const std::int64_t slice = config_.slice.count();
  const Time moving =
      transfer_time(Bytes(static_cast<std::int64_t>(command.read + command.written)), config_.compute.planned_memory);
  const std::int64_t length = std::max(command.compute_ps, moving.count());
  kernel.slices = std::max<std::int64_t>(1, (length + slice - 1) / slice);
  const Time start = now + Time(command.launch_ps) + stall_.next();
  request_slice(kernel, start);
  if (kernel.slices > 1) request_slice(kernel, start);
  const Time computed = start + slice_length(kernel, 0);
  dispatcher_.post(std::max(computed, kernel.memory_ready[0]), *this, kSlice,
                   static_cast<std::uint64_t>(slot - running_.begin()));
}

Time Accelerator::slice_length(const Running& kernel, std::int64_t slice) const {
  const std::int64_t computing = streams_[kernel.stream].queue.front().compute_ps;
  const std::int64_t n = kernel.slices;
  Time length(computing * (slice + 1) / n - computing * slice / n);
  if (pace_ != kEvenPace)
    length = Time(static_cast<std::int64_t>(static_cast<__int128>(length.count()) * pace_ / kEvenPace));
  if (!config_.shared_cores) return length;
  const std::int64_t sms = config_.compute.sms;
  const std::int64_t taken = std::count_if(engines_.begin(), engines_.end(), [](const auto& e) { return !e.empty(); });
  return length * sms / std::max<std::int64_t>(1, sms - taken);
}

void Accelerator::request_slice(Running& kernel, Time at) {
  const Command& command = streams_[kernel.stream].queue.front();
  const std::int64_t n = kernel.slices;
  const std::int64_t i = kernel.requested++;
  // Slice i is what lies between i/n and (i+1)/n, so that the parts add up exactly.
  const auto part = [n, i](std::uint64_t whole) {
    const auto w = static_cast<__int128>(whole);
    return static_cast<std::uint64_t>(w * (i + 1) / n - w * i / n);
  };
  const Time read = access(compute, tlm::TLM_READ_COMMAND, 0, part(command.read), at);
  const Time written = access(compute, tlm::TLM_WRITE_COMMAND, 0, part(command.written), at);
  kernel.memory_ready[i % 2] = std::max(read, written);
}

void Accelerator::next_slice(Time now, std::uint32_t slot) {
  Running& kernel = running_[slot];
  ++kernel.done;
  if (kernel.done < kernel.slices) {
    if (kernel.requested < kernel.slices) request_slice(kernel, now);
    const std::int64_t i = kernel.done;
    dispatcher_.post(std::max(now + slice_length(kernel, i), kernel.memory_ready[i % 2]), *this, kSlice, slot);
    return;
  }
  const Command command = streams_[kernel.stream].queue.front();
  ++counters_.kernels;
  count_busy(now);
  counters_.computing += Time(command.compute_ps);
  counters_.energy += command.energy;
  if (probe_ != nullptr) {
    while (kernel_tracks_.size() <= slot) {
      kernel_tracks_.push_back(probe_->add_track(process_, "compute " + std::to_string(kernel_tracks_.size() + 1)));
    }
    probe_->slice(kernel_tracks_[slot], command.label != nullptr ? command.label : "kernel", kernel.began, now);
  }
  const std::uint32_t stream = kernel.stream;
  kernel.active = false;
  free_cores_ += kernel.cores;
  streams_[stream].at_array = false;
  streams_[stream].queue.pop_front();
  advance(now, stream);
  start_kernels(now);
}

void Accelerator::count_busy(Time now) {
  if (free_cores_ < config_.compute.sms) counters_.busy += now - counted_;
  counted_ = now;
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
