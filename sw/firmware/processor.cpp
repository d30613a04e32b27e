// SPDX-License-Identifier: Apache-2.0
#include "sw/firmware/processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "hw/core/annotation.h"
#include "hw/core/cause/causes.h"
#include "hw/core/config/blame.h"
#include "sw/firmware/backlog.h"

namespace weft::firmware {
namespace {

// Tags, in the order in which they run at one picosecond.
constexpr std::uint32_t kEntry = 0;
constexpr std::uint32_t kRun = 1;
constexpr std::uint32_t kAlarm = 2;
constexpr std::uint32_t kRepeat = 3;
constexpr std::uint32_t kHanded = 4;

/// Once round a loop that reads the owner bit of a completion.
constexpr Work kPollLoop = {.instructions = 4, .accesses = 1};

/// Of a thread's name, what threads of other ranks have in common with it: the words without digits.
std::string topic(std::string_view name) {
  std::string kept;
  kept.reserve(name.size());
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find(' ', at), name.size());
    const std::string_view word = name.substr(at, end - at);
    if (word.find_first_of("0123456789") == std::string_view::npos) kept.append(kept.empty() ? "" : " ").append(word);
    at = end + 1;
  }
  return kept;
}

std::string owned_by(const std::string& owner, const std::string& what) {
  return owner.empty() ? what : owner + ": " + what;
}

}  // namespace

Processor::Processor(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, int devices,
                     const Stall::Config& stall, std::uint64_t mailbox_base)
    : sc_module(name),
      dispatcher_(dispatcher),
      mailbox_base_(mailbox_base),
      cores_(static_cast<std::size_t>(config.cores), CoreState{Core(config.threads), {}, {}}),
      depth_(static_cast<std::size_t>(config.completion_queue_depth)),
      stall_(stall, this->name()),
      config_(config),
      mailbox_file_(dispatcher),
      devices_(static_cast<std::size_t>(devices)),
      mailboxes_(static_cast<std::size_t>(devices)) {
  const std::int64_t shared = kPollLoop.instructions + kPollLoop.accesses * config.port_cycles;
  spin_share_ = Core::share_of(Time(shared + kPollLoop.accesses * config.access_cycles), Time(shared));
  dispatcher.attach(*this, this->name());
  mailbox_file_.add_window(mailbox_base, UINT32_MAX, 1, 1, sizeof(nic::Completion),
                           [this](std::uint64_t address, const void* data, std::uint32_t bytes, Time at) {
                             return take_entry(address - mailbox_base_, data, bytes, at);
                           });
  for (int i = 0; i < devices; ++i) {
    devices_.emplace_back(("device" + std::to_string(i)).c_str()).bind(initiator_);
    mailboxes_.emplace_back(("mailbox" + std::to_string(i)).c_str()).bind(mailbox_file_);
  }
}

Processor::~Processor() = default;

void Processor::spawn(const std::string& name, int place, Task task, const std::string& about) {
  start(name, core_for(place), std::move(task), about);
}

void Processor::spawn_server(const std::string& name, Task task) {
  start(name, current_ == nullptr ? 0 : current_->core, std::move(task)).serves = true;
}

Thread& Processor::start(const std::string& name, int core, Task task, const std::string& about) {
  if (free_threads_.empty()) free_threads_.push_back(&threads_.emplace_back());
  Thread& thread = *free_threads_.back();
  free_threads_.pop_back();
  thread.id = spawned_++;
  thread.name = owned_by(owner_, name);
  thread.core = core;
  thread.serves = false;
  thread.task = std::move(task);
  thread.resume_at = thread.task.handle();
  thread.waits_for = "its start";
  thread.whose = current_ == nullptr ? std::string_view() : current_->whose;
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) {
    // Threads that start one after the other are mostly about the same.
    std::string its = about.empty() ? topic(name) : about;
    if (its != latest_topic_ || latest_context_ == 0) {
      latest_context_ = causes->context(owned_by(owner_, its));
      latest_topic_ = std::move(its);
    }
    thread.context = latest_context_;
  }
  if (started_) wake(thread, now());
  return thread;
}

std::uint32_t Processor::context_of(std::string_view name) const {
  Causes* const causes = dispatcher_.causes();
  return causes == nullptr ? 0 : causes->context(owned_by(owner_, topic(name)));
}

void Processor::turn_to(std::uint32_t context) {
  current_->context = context;
  dispatcher_.causes()->set_context(context);
}

void Processor::start_of_simulation() {
  started_ = true;
  for (Thread& thread : threads_) wake(thread, Time());
}

Backlog& Processor::keep(std::unique_ptr<Backlog> backlog) {
  return *backlogs_.emplace_back(std::move(backlog));
}

CompletionQueue& Processor::create_completion_queue(std::string what) {
  queue_at_.push_back(&queues_.emplace_back(*this, mailbox_base_ + queues_.size(), std::move(what)));
  return *queue_at_.back();
}

void Processor::write(std::size_t device, std::uint64_t offset, const void* data, std::uint32_t bytes, bool charged) {
  if (charged) charge(config_.post_cycles);
  write_at(device, offset, data, bytes, now());
}

void Processor::write_later(std::size_t device, std::uint64_t offset, const nic::WorkRequest& request, Time delay,
                            bool charged) {
  if (charged) charge(config_.post_cycles);
  slept_ += delay;
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]] {
    // A faster clock does not shorten the delay.
    causes->forget_marks();
    causes->mark(CauseKind::kFirmware, now(), Dispatcher::place_of(*this));
    causes->mark(CauseKind::kSoftware, now() + delay, Dispatcher::place_of(*this));
  }
  const std::uint32_t slot = handed_.take();
  handed_[slot] = {device, offset, request};
  dispatcher_.post(now() + delay, *this, kHanded, slot);
}

void Processor::write_at(std::size_t device, std::uint64_t offset, const void* data, std::uint32_t bytes, Time at) {
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]] {
    causes->forget_marks();
    causes->mark(CauseKind::kFirmware, at, Dispatcher::place_of(*this));
  }
  if (write_through(*devices_[device].operator->(), payload_, offset, data, bytes, at - dispatcher_.now()) !=
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

void Processor::sleep(std::coroutine_handle<> handle, Time until, CauseKind what) {
  if (what == CauseKind::kSoftware) slept_ += until - now();
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]] {
    causes->forget_marks();
    causes->mark(CauseKind::kFirmware, now(), Dispatcher::place_of(*this));
    causes->mark(what, until, Dispatcher::place_of(*this));
  }
  suspend(handle, "a timer", 0, until);
}

Thread& Processor::suspend_for_completion(std::coroutine_handle<> handle, const char* waits_for, std::uint64_t detail) {
  Thread& thread = suspend(handle, waits_for, detail);
  thread.spins = config_.wait == Wait::kPoll;
  return thread;
}

void Processor::wake(Thread& thread, Time at) {
  if (thread.queued) return;
  thread.queued = true;
  const Time free_at = core_of(thread).core.free_at(thread.id);
  post_run(thread, free_at == kNever ? at : std::max(at, free_at));
}

void Processor::wake_now(Time now, Thread& thread) {
  if (thread.queued) return;
  // Of several hardware threads the speeds are settled first.
  const bool is_free = config_.threads == 1 && core_of(thread).core.free_at(thread.id) <= now;
  if (!is_free || !dispatcher_.is_last_of(*this)) return wake(thread, now);
  run(now, thread);
}

void Processor::post_run(Thread& thread, Time at) {
  dispatcher_.post(std::max(at, dispatcher_.now()), *this, kRun, reinterpret_cast<std::uint64_t>(&thread));
}

Time Processor::stretched(Time alone, Time shared) const {
  const std::int64_t stretch = Core::stretch(Core::share_of(alone, shared), running_);
  return Time(alone.count() / Core::kOne * stretch + alone.count() % Core::kOne * stretch / Core::kOne);
}

void Processor::run(Time now, Thread& thread) {
  CoreState& state = core_of(thread);
  state.core.advance(now);
  const Time free_at = state.core.free_at(thread.id);
  if (free_at == kNever) return state.blocked.push_back(&thread);
  if (free_at > now) return post_run(thread, free_at);  // another thread came first
  state.core.stop(thread.id);
  thread.queued = false;
  current_ = &thread;
  running_ = state.core.running() + 1;
  local_ = now;
  alone_ = shared_ = Time();
  if (!thread.spins) charge(config_.wake_cycles);
  thread.spins = false;
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    dispatcher_.causes()->set_context(thread.context);
  spend(stall_.next(), Time());
  blaming([&] { return place_of(thread); }, [&] { thread.resume_at.resume(); });
  current_ = nullptr;
  state.busy += local_ - now;
  state.core.begin(thread.id, alone_, shared_, thread.spins ? spin_share_ : Core::kNoSpin);
  if (!state.blocked.empty() && state.core.free_at(state.blocked.front()->id) != kNever) {
    for (Thread* waiting : state.blocked) post_run(*waiting, state.core.free_at(waiting->id));
    state.blocked.clear();
  }
  if (thread.task.done()) {
    last_end_ = std::max(last_end_, local_);
    if (Causes* const causes = dispatcher_.causes(); causes != nullptr) causes->end_program(local_);
    thread.task = Task();
    free_threads_.push_back(&thread);
  }
}

std::string Processor::place_of(const Thread& thread) const {
  constexpr double kMicrosecond = 1e6;
  return fmt::format("{}{}thread {} of {}, at {:.6g} us", thread.whose, thread.whose.empty() ? "" : ", ", thread.name,
                     name(), static_cast<double>(local_.count()) / kMicrosecond);
}

void Processor::set_alarm(const CompletionQueue& queue, Time at) {
  dispatcher_.post(std::max(at, dispatcher_.now()), *this, kAlarm, queue.address() - mailbox_base_);
}

void Processor::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  if (tag == kRun) {
    run(now, *reinterpret_cast<Thread*>(data));
    return;
  }
  if (tag == kAlarm) {
    CompletionQueue& queue = *queue_at_[data];
    if (queue.waiter_ == nullptr || queue.until_ > now) return dispatcher_.disregard();
    return wake(*std::exchange(queue.waiter_, nullptr), now);
  }
  if (tag == kHanded) {
    const Handed& handed = handed_[data];
    write_at(handed.device, handed.offset, &handed.request, sizeof handed.request, now);
    return handed_.free(static_cast<std::uint32_t>(data));
  }
  // Firmware has no answer to a connection that failed: its thread keeps waiting, and the report at the end says why.
  Arriving& arriving = *reinterpret_cast<Arriving*>(data);
  if (arriving.entry.status != nic::Status::kSuccess) return free_arriving_.push_back(&arriving);
  CompletionQueue& queue = *arriving.queue;
  if (depth_ != 0 && queue.entries_.size() >= std::max(depth_, fullest_.entries)) [[unlikely]] {
    fullest_ = {queue.entries_.size() + 1, queue.what_};
  }
  queue.entries_.push_back(arriving.entry);
  Thread* const waiter = std::exchange(queue.waiter_, nullptr);
  const bool repeats = repeats_ > 0 && tag == kEntry && queue.may_repeat_ && arriving.entry.verb == nic::Verb::kReceive;
  if (repeats && random_.share() < repeats_) {
    constexpr double kLatest = 20'000'000;  // ps
    dispatcher_.post(now + Time(static_cast<std::int64_t>(random_.share() * kLatest)), *this, kRepeat, data);
  } else {
    free_arriving_.push_back(&arriving);
  }
  if (waiter != nullptr) wake_now(now, *waiter);
}

void Processor::prepare(std::uint32_t tag, std::uint64_t data) {
  __builtin_prefetch(&stall_);
  if (tag == kRun) {
    const Thread& thread = *reinterpret_cast<const Thread*>(data);
    __builtin_prefetch(cores_.data() + thread.core);
    __builtin_prefetch(thread.resume_at.address());
  } else if (tag == kEntry) {
    const auto* queue = reinterpret_cast<const std::byte*>(reinterpret_cast<const Arriving*>(data)->queue);
    __builtin_prefetch(queue);
    __builtin_prefetch(queue + 64);
  }
}

void Processor::prepare_more(std::uint32_t tag, std::uint64_t data) {
  if (tag != kEntry) return;
  const CompletionQueue& queue = *reinterpret_cast<const Arriving*>(data)->queue;
  if (queue.waiter_ != nullptr) {
    __builtin_prefetch(&queue.waiter_->core);
    __builtin_prefetch(&queue.waiter_->detail);
  }
  for (const CompletionQueue::Read& read : queue.reads_) {
    for (std::size_t at = 0; at < read.bytes; at += 64) __builtin_prefetch(read.first + at);
  }
}

bool Processor::take_entry(std::uint64_t queue, const void* data, std::uint32_t bytes, Time at) {
  if (queue >= queue_at_.size()) return false;
  if (free_arriving_.empty()) free_arriving_.push_back(&arriving_.emplace_back());
  Arriving& arriving = *free_arriving_.back();
  free_arriving_.pop_back();
  arriving.entry = {};
  std::memcpy(&arriving.entry, data, bytes);
  arriving.queue = queue_at_[queue];
  dispatcher_.post(at, *this, kEntry, reinterpret_cast<std::uint64_t>(&arriving));
  return true;
}

std::size_t Processor::unfinished() const {
  return static_cast<std::size_t>(std::count_if(
      threads_.begin(), threads_.end(), [](const Thread& thread) { return !thread.task.done() && !thread.serves; }));
}

std::size_t Processor::starved() const {
  for (std::size_t core = 0; core < cores_.size(); ++core) {
    if (cores_[core].blocked.empty()) continue;
    return static_cast<std::size_t>(std::count_if(threads_.begin(), threads_.end(), [core](const Thread& thread) {
      return !thread.task.done() && static_cast<std::size_t>(thread.core) == core;
    }));
  }
  return 0;
}

std::vector<std::string> Processor::left_over() const {
  std::vector<std::string> lines;
  for (const Thread& thread : threads_) {
    if (thread.task.done() || thread.serves) continue;
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
