// SPDX-License-Identifier: Apache-2.0
#include "sw/firmware/processor.h"

#include <algorithm>
#include <cstring>

#include "hw/core/annotation.h"

namespace weft::firmware {
namespace {

// Tags, in the order in which they run at one picosecond.
constexpr std::uint32_t kEntry = 0;
constexpr std::uint32_t kRun = 1;
constexpr std::uint32_t kTimer = 2;

}  // namespace

Processor::Processor(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, int devices,
                     const Stall::Config& stall)
    : sc_module(name),
      config_(config),
      dispatcher_(dispatcher),
      stall_(stall, this->name()),
      mailbox_file_(dispatcher),
      devices_(static_cast<std::size_t>(devices)),
      mailboxes_(static_cast<std::size_t>(devices)),
      cores_(static_cast<std::size_t>(config.cores)) {
  dispatcher.attach(*this, this->name());
  mailbox_file_.add_window(0, UINT32_MAX, 1, 1, sizeof(nic::Completion),
                           [this](std::uint64_t address, const void* data, std::uint32_t bytes, Time at) {
                             return take_entry(address, data, bytes, at);
                           });
  for (int i = 0; i < devices; ++i) {
    devices_.emplace_back(("device" + std::to_string(i)).c_str()).bind(initiator_);
    mailboxes_.emplace_back(("mailbox" + std::to_string(i)).c_str()).bind(mailbox_file_);
  }
}

Processor::~Processor() = default;

void Processor::spawn(std::string name, int core, Task task) {
  if (free_threads_.empty()) {
    free_threads_.push_back(&threads_.emplace_back());
    free_threads_.back()->index = static_cast<std::uint32_t>(threads_.size() - 1);
  }
  Thread& thread = *free_threads_.back();
  free_threads_.pop_back();
  thread.name = std::move(name);
  thread.core = core % config_.cores;
  thread.task = std::move(task);
  thread.resume_at = thread.task.handle();
  thread.waits_for = "its start";
  if (started_) wake(thread, now());
}

void Processor::start_of_simulation() {
  started_ = true;
  for (Thread& thread : threads_) wake(thread, Time());
}

CompletionQueue& Processor::create_completion_queue(std::string what) {
  return queues_.emplace_back(*this, queues_.size(), std::move(what));
}

void Processor::write(std::size_t device, std::uint64_t offset, const void* data, std::uint32_t bytes) {
  charge(config_.post_cycles);
  if (write_through(*devices_[device].operator->(), payload_, offset, data, bytes, now() - dispatcher_.now()) !=
      tlm::TLM_OK_RESPONSE) {
    SC_REPORT_FATAL(name(), ("device " + std::to_string(device) + " refused a write at " + std::to_string(offset) +
                             ": " + payload_.get_response_string())
                                .c_str());
  }
}

Thread& Processor::suspend(std::coroutine_handle<> handle, const char* waits_for, std::uint64_t detail, Time until) {
  Thread& thread = *current_;
  thread.resume_at = handle;
  thread.waits_for = waits_for;
  thread.detail = detail;
  if (until != kNever) wake(thread, until);
  return thread;
}

void Processor::wake(Thread& thread, Time at) {
  if (thread.queued) return;
  thread.queued = true;
  const Time start = std::max(at, cores_[static_cast<std::size_t>(thread.core)].free_at);
  dispatcher_.post(std::max(start, dispatcher_.now()), *this, kRun, reinterpret_cast<std::uint64_t>(&thread));
}

void Processor::run(Time now, Thread& thread) {
  Core& core = cores_[static_cast<std::size_t>(thread.core)];
  if (core.free_at > now) {  // another thread came first
    dispatcher_.post(core.free_at, *this, kRun, reinterpret_cast<std::uint64_t>(&thread));
    return;
  }
  thread.queued = false;
  ++thread.turn;
  current_ = &thread;
  local_ = now + cycle_time(config_.wake_cycles, config_.clock) + stall_.next();
  thread.resume_at.resume();
  current_ = nullptr;
  core.busy += local_ - now;
  core.free_at = local_;
  if (thread.task.done()) {
    thread.task = Task();
    free_threads_.push_back(&thread);
  }
}

void Processor::set_timer(const Thread& thread, Time at) {
  dispatcher_.post(std::max(at, dispatcher_.now()), *this, kTimer,
                   static_cast<std::uint64_t>(thread.index) << 32 | thread.turn);
}

void Processor::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  if (tag == kRun) {
    run(now, *reinterpret_cast<Thread*>(data));
    return;
  }
  if (tag == kTimer) {
    Thread& thread = threads_[data >> 32];
    if (thread.turn != static_cast<std::uint32_t>(data)) return dispatcher_.disregard();
    return wake(thread, now);
  }
  // Firmware has no answer to a connection that failed: its thread keeps waiting, and the report at the end says why.
  if (arriving_[data].status != nic::Status::kSuccess)
    return free_arriving_.push_back(static_cast<std::uint32_t>(data));
  CompletionQueue& queue = queues_[arriving_queue_[data]];
  const auto depth = static_cast<std::size_t>(config_.completion_queue_depth);
  if (queue.lost_ > 0 || (depth != 0 && queue.entries_.size() >= depth)) [[unlikely]] {
    ++queue.lost_;
    return free_arriving_.push_back(static_cast<std::uint32_t>(data));
  }
  queue.entries_.push_back(arriving_[data]);
  free_arriving_.push_back(static_cast<std::uint32_t>(data));
  if (queue.waiter_ != nullptr) {
    Thread* thread = queue.waiter_;
    queue.waiter_ = nullptr;
    wake(*thread, now);
  }
}

bool Processor::take_entry(std::uint64_t queue, const void* data, std::uint32_t bytes, Time at) {
  if (queue >= queues_.size()) return false;
  if (free_arriving_.empty()) {
    free_arriving_.push_back(static_cast<std::uint32_t>(arriving_.size()));
    arriving_.emplace_back();
    arriving_queue_.emplace_back();
  }
  const std::uint32_t slot = free_arriving_.back();
  free_arriving_.pop_back();
  arriving_[slot] = {};
  std::memcpy(&arriving_[slot], data, bytes);
  arriving_queue_[slot] = static_cast<std::uint32_t>(queue);
  dispatcher_.post(at, *this, kEntry, slot);
  return true;
}

std::size_t Processor::unfinished() const {
  return static_cast<std::size_t>(
      std::count_if(threads_.begin(), threads_.end(), [](const Thread& thread) { return !thread.task.done(); }));
}

std::vector<std::string> Processor::left_over() const {
  std::vector<std::string> lines;
  for (const CompletionQueue& queue : queues_) {
    if (queue.lost_ == 0) continue;
    lines.push_back(std::string(name()) + ": completion queue " + std::to_string(queue.address_) + " (" + queue.what_ +
                    ") was full with " + std::to_string(config_.completion_queue_depth) +
                    " entries, completion_queue_depth, and stands in error; " + std::to_string(queue.lost_) +
                    " completions were lost");
  }
  for (const Thread& thread : threads_) {
    if (thread.task.done()) continue;
    lines.push_back(std::string(name()) + ": thread " + thread.name + " waits for " + thread.waits_for + " (" +
                    std::to_string(thread.detail) + ")");
  }
  return lines;
}

void Counter::set(std::uint64_t value) {
  if (value <= value_) return;
  value_ = value;
  for (std::size_t i = 0; i < waiters_.size();) {
    if (waiters_[i].value > value_) {
      ++i;
      continue;
    }
    Thread* thread = waiters_[i].thread;
    waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(i));
    processor_.wake(*thread, processor_.now());
  }
}

}  // namespace weft::firmware
