// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/accelerator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "hw/accelerator/tags.h"
#include "hw/core/annotation.h"
#include "hw/core/cause/causes.h"

namespace weft::accelerator {
namespace {

// Streams of kernels go on at multiples of this.
constexpr std::uint64_t kAlignment = 4096;
constexpr std::int64_t kMostSlices = 1 << 20;

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
      compute_master_(compute, dispatcher, *this, kComputeMemory),
      copy_master_(copy, dispatcher, *this, kCopyMemory),
      copy_time_(config.copy_rate),
      dma_time_(config.dma.local_rate),
      streams_(static_cast<std::size_t>(config.streams)),
      pace_(draw_pace(config.speed_spread, stall.seed, this->name())),
      free_cores_(config.compute.sms),
      engines_(static_cast<std::size_t>(config.copy_engines + config.dma.engines)) {
  dispatcher.attach(*this, this->name());
  register_file_.add_window(kCommandWindow, 1, 1, sizeof(Command), sizeof(Command),
                            [this](std::uint64_t /*address*/, const void* source, std::uint32_t bytes, Time at) {
                              return write_command(source, bytes, at);
                            });
  registers.bind(register_file_);
  compute_master_.bind();
  copy_master_.bind();
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
  if (command.operation == Operation::kReduce && is_dma(command)) return false;
  if (command.cores > config_.compute.sms) return false;
  if (starts_ahead(command, at)) {
    queue_copy(at, command);
    return true;
  }
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
    case kCopied:
      end_copy(now, static_cast<std::uint32_t>(data));
      break;
    case kContents:
      dispatcher_.leave_out();
      finish_copy(copies_[data].command);
      copies_.free(static_cast<std::uint32_t>(data));
      break;
    case kEngineFree:
      start_next(now, engines_[data]);
      break;
    case kComputeMemory:
      if (const auto token = compute_master_.on_event(now, data)) {
        const auto slot = static_cast<std::uint32_t>(*token >> 1);
        Running& kernel = running_[slot];
        kernel.memory_ready[*token & 1] = now;
        if (kernel.computed != kNever && static_cast<std::uint64_t>(kernel.done % 2) == (*token & 1)) {
          expect_slice(slot, kernel.computed);
        }
      }
      break;
    case kCopyMemory:
      if (const auto slot = copy_master_.on_event(now, data)) {
        mark(CauseKind::kCopy, copies_[*slot].moved);
        dispatcher_.post(std::max(now, copies_[*slot].moved), *this, kCopied, *slot);
      }
      break;
    default:
      next_slice(now, static_cast<std::uint32_t>(data));
  }
}

CauseKind Accelerator::cause(std::uint32_t tag) const {
  return tag == kArrive ? CauseKind::kLaunch : CauseKind::kMemory;
}

void Accelerator::mark(CauseKind kind, Time until) const {
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    dispatcher_.causes()->mark(kind, until, Dispatcher::place_of(*this));
}

void Accelerator::accept(Time now, const Command& command) {
  if (command.stream != Command::kImmediate) {
    streams_[command.stream].queue.push_back(command);
    if (probe_ != nullptr) streams_[command.stream].accepted.push_back(now);
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
    case Operation::kKeepCores:
      keep_cores(now, command);
      break;
    case Operation::kReturnCores:
      return_cores(now, command.cores);
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
        take_first(stream);
        signal(now, signal_command.semaphore, signal_command.value);
        continue;
      }
      case Operation::kWait:
        if (semaphore(command.semaphore) < command.value) {
          if (stream.blocked_since == kNever) {
            count_busy(now);
            stream.blocked_since = now;
            stream.busy_before = counters_.busy;
          }
          return;
        }
        if (stream.blocked_since != kNever) {
          count_busy(now);
          if (counters_.waited.size() <= command.semaphore) counters_.waited.resize(command.semaphore + 1);
          counters_.waited[command.semaphore] += now - stream.blocked_since - (counters_.busy - stream.busy_before);
          stream.blocked_since = kNever;
        }
        if (probe_ != nullptr) draw_wait(stream, command);
        break;
      case Operation::kNotify:
        notify(now, command);
        break;
      case Operation::kKeepCores:
        keep_cores(now, command);
        break;
      case Operation::kReturnCores:
        return_cores(now, command.cores);
        break;
    }
    take_first(stream);
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

void Accelerator::place_kernels(Bytes capacity) {
  const std::uint64_t half = static_cast<std::uint64_t>(capacity.count()) / 2 / kAlignment * kAlignment;
  reads_ = {0, half, 0};
  writes_ = {half, half, 0};
}

std::uint64_t Accelerator::Region::take(std::uint64_t bytes) {
  if (bytes > size) return 0;  // a slice that is larger takes what there is
  if (next + bytes > size) next = 0;
  const std::uint64_t at = begin + next;
  next += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return at;
}

/// A kernel that waited for several has the arrow from the last; one for what an earlier kernel had waited for has
/// none.
void Accelerator::draw_wait(Stream& stream, const Command& command) {
  if (waits_drawn_.size() <= command.semaphore) waits_drawn_.resize(command.semaphore + 1);
  if (command.value <= waits_drawn_[command.semaphore]) return;
  waits_drawn_[command.semaphore] = command.value;
  stream.follows = arrow_id(process_, command.semaphore, command.value);
}

void Accelerator::take_first(Stream& stream) {
  stream.queue.pop_front();
  if (!stream.accepted.empty()) stream.accepted.pop_front();
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
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]] {
    const bool was_idle = free_cores_ == config_.compute.sms && idle_since_ < now;
    if (was_idle) causes->add_since(idle_since_, causes->tables().waits[Dispatcher::place_of(*this)]);
  }
  free_cores_ -= cores;
  auto slot = std::find_if(running_.begin(), running_.end(), [](const Running& kernel) { return !kernel.active; });
  if (slot == running_.end()) slot = running_.emplace(slot);
  Running& kernel = *slot;
  kernel = {};
  kernel.active = true;
  kernel.stream = stream;
  kernel.cores = cores;
  if (config_.shared_cores) {
    kernel.blocks = command.blocks;
    kernel.tiles = command.tiles;
  }
  if (kernel.blocks > 0) kernel.late = std::max<std::int64_t>(0, kernel.blocks + kept_cores_ - config_.compute.sms);
  kernel.began = now;
  if (probe_ != nullptr) {
    kernel.asked = streams_[stream].accepted.front();
    kernel.follows = std::exchange(streams_[stream].follows, 0);
  }
  const std::int64_t slice = config_.slice.count();
  const Bytes bytes(static_cast<std::int64_t>(command.read + command.written));
  const Time moving = transfer_time(bytes, config_.compute.planned_memory);
  const std::int64_t length = std::max(command.compute_ps, moving.count());
  kernel.slices = std::clamp<std::int64_t>(length / slice + (length % slice != 0 ? 1 : 0), 1, kMostSlices);
  const Time start = now + Time(command.launch_ps) + stall_.next();
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]] {
    const MemoryShare share(transfer_time(bytes, config_.compute.sustained_memory()),
                            Time(command.compute_ps - command.capped_ps));
    causes->set_context(causes->kernel_context(command.label != nullptr ? command.label : "kernel", share));
  }
  kernel.computing_from = start;
  kernel.wave_from = start;
  kernel.slice_from = start;
  kernel.memory_from = start;
  request_slice(kernel, start);
  if (kernel.slices > 1) request_slice(kernel, start);
  mark(CauseKind::kLaunch, start);
  expect_slice(static_cast<std::uint32_t>(slot - running_.begin()), start + slice_length(kernel, 0));
}

void Accelerator::expect_slice(std::uint32_t slot, Time computed) {
  Running& kernel = running_[slot];
  const Time ready = kernel.memory_ready[kernel.done % 2];
  kernel.computed = ready == kNever ? computed : kNever;
  if (ready == kNever) return;
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    mark_slice(kernel, computed);
  dispatcher_.post(std::max(computed, ready), *this, kSlice, slot);
}

/// What the slice under way is longer by comes last.
void Accelerator::mark_slice(Running& kernel, Time computed) const {
  const Command& command = streams_[kernel.stream].queue.front();
  const Time from = kernel.slice_from;
  const Time length = computed - from;
  const Time alone = part_of_slice(kernel, kernel.done, command.compute_ps);
  const Time lost = std::max(Time(), length - alone);
  if (command.capped_ps == 0) {
    mark(CauseKind::kKernel, computed - lost);
    mark(CauseKind::kLostCores, computed);
    return;
  }
  // At the full clock cores that are lost take as many times as long, and HBM takes what it takes now: from when it was
  // asked and had moved the slice before, until it has moved this one.
  const Time full = std::min(alone, part_of_slice(kernel, kernel.done, command.compute_ps - command.capped_ps));
  const Time beside = lost > Time() ? Time(scaled(full.count(), length.count(), alone.count())) : full;
  const Time ready = kernel.memory_ready[kernel.done % 2];
  const Time moving = ready - std::max(kernel.memory_from, kernel.moved);
  const Time uncapped = std::min(length, std::max(beside, moving));
  mark(CauseKind::kKernel, from + full);
  mark(CauseKind::kLostCores, from + beside);
  mark(CauseKind::kMemory, from + uncapped);
  mark(CauseKind::kCap, computed);
  kernel.capped += length - uncapped;
  kernel.moved = ready;
  // The next slice has been asked for when this one began.
  kernel.memory_from = from;
}

Time Accelerator::part_of_slice(const Running& kernel, std::int64_t slice, std::int64_t computing) const {
  const std::int64_t n = kernel.slices;
  const std::int64_t length = scaled(computing, slice + 1, n) - scaled(computing, slice, n);
  return Time(pace_ == kEvenPace ? length : scaled(length, pace_, kEvenPace));
}

Time Accelerator::slice_length(const Running& kernel, std::int64_t slice) const {
  const Time length = part_of_slice(kernel, slice, streams_[kernel.stream].queue.front().compute_ps);
  if (!config_.shared_cores) return length;
  const std::int64_t sms = config_.compute.sms;
  const std::int64_t working = std::count_if(engines_.begin(), engines_.begin() + config_.copy_engines,
                                             [this](const Engine& engine) { return works(engine); });
  // What is kept costs a persistent kernel late blocks, and the others nothing.
  const std::int64_t taken = kernel.blocks > 0 && kept_cores_ > 0 ? 0 : std::max(working, kept_cores_);
  const std::int64_t left = std::max<std::int64_t>(1, sms - taken);
  if (kernel.tiles == 0) return Time(scaled(length.count(), sms, left));
  return Time(
      scaled(length.count(), waves(kernel.tiles, std::min(kernel.cores, left)), waves(kernel.tiles, kernel.cores)));
}

void Accelerator::request_slice(Running& kernel, Time at) {
  const Command& command = streams_[kernel.stream].queue.front();
  const std::int64_t n = kernel.slices;
  const std::int64_t i = kernel.requested++;
  // Slice i is what lies between i/n and (i+1)/n, so that the parts add up exactly.
  const auto part = [n, i](std::uint64_t whole) {
    const auto w = static_cast<std::int64_t>(whole);
    return static_cast<std::uint64_t>(scaled(w, i + 1, n) - scaled(w, i, n));
  };
  const std::uint64_t read = part(command.read);
  const std::uint64_t written = part(command.written);
  const std::array<MemoryMaster::Part, 2> parts = {{{tlm::TLM_READ_COMMAND, reads_.take(read), read, nullptr},
                                                    {tlm::TLM_WRITE_COMMAND, writes_.take(written), written, nullptr}}};
  const auto slot = static_cast<std::uint64_t>(&kernel - running_.data());
  kernel.memory_ready[i % 2] =
      compute_master_.access(parts, at, slot << 1 | static_cast<std::uint64_t>(i % 2), MemoryMaster::Order::kMixed);
}

void Accelerator::end_wave(Time now, Running& kernel) {
  const std::int64_t all = waves(kernel.tiles, kernel.cores);
  if (scaled(kernel.done, all, kernel.slices) == scaled(kernel.done - 1, all, kernel.slices)) return;
  kernel.wave_from = now;
  grant_cores(now);
}

void Accelerator::next_slice(Time now, std::uint32_t slot) {
  Running& kernel = running_[slot];
  ++kernel.done;
  if (kernel.tiles > 0) end_wave(now, kernel);
  if (kernel.done < kernel.slices) {
    kernel.slice_from = now;
    if (kernel.requested < kernel.slices) request_slice(kernel, now);
    expect_slice(slot, now + slice_length(kernel, kernel.done));
    return;
  }
  if (kernel.blocks > 0 && kernel.done == kernel.slices) {
    if (kernel.late > 0) kernel.late_from = now;
    kernel.late = 0;
    grant_cores(now);
    const Time end = kernel.late_from == kNever ? now : kernel.late_from + (now - kernel.computing_from);
    if (end > now) {
      // Blocks that begin when the others have ended take as long, what the cap adds to them included.
      mark(CauseKind::kLostCores, kernel.late_from == now ? end - kernel.capped : end);
      mark(CauseKind::kCap, end);
      return dispatcher_.post(end, *this, kSlice, slot);
    }
  }
  const Command command = streams_[kernel.stream].queue.front();
  count_busy(now);
  count(now, kernel, command);
  if (probe_ != nullptr) {
    while (kernel_tracks_.size() <= slot) {
      kernel_tracks_.push_back(probe_->add_track(process_, "compute " + std::to_string(kernel_tracks_.size() + 1)));
    }
    probe_->slice(kernel_tracks_[slot], {.what = command.label != nullptr ? command.label : "kernel",
                                         .from = kernel.began,
                                         .to = now,
                                         .kind = command.label != nullptr ? SliceKind::kKernel : SliceKind::kOther,
                                         .asked = kernel.asked,
                                         .follows = kernel.follows});
  }
  const std::uint32_t stream = kernel.stream;
  kernel.active = false;
  free_cores_ += kernel.cores;
  idle_since_ = now;
  streams_[stream].at_array = false;
  take_first(streams_[stream]);
  advance(now, stream);
  start_kernels(now);
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
