// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tlm>
#include <utility>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/fifo.h"
#include "hw/core/fixed_vector.h"
#include "hw/core/random.h"
#include "hw/core/register_file.h"
#include "hw/core/slots.h"
#include "hw/core/stall.h"
#include "hw/nic/work.h"
#include "sw/firmware/core.h"
#include "sw/firmware/task.h"

namespace weft::firmware {

class Backlog;
class CompletionQueue;
class Processor;

/// A firmware thread: a coroutine bound to a core.
struct Thread {
  std::string name;
  int core = 0;
  Task task;
  std::coroutine_handle<> resume_at;
  bool queued = false;         ///< its resumption is scheduled
  bool spins = false;          ///< it polls a completion queue
  bool serves = false;         ///< at the end of a run it may wait for more to do
  std::uint32_t id = 0;        ///< a number that no other thread has had
  std::uint32_t context = 0;   ///< what it is about, for Causes
  const char* waits_for = "";  ///< for the report of a deadlock
  std::uint64_t detail = 0;
  std::string_view whose;  ///< "collective my-ring": code of somebody's that it runs now; empty: of the thread itself
};

/// How a thread waits for a completion: it leaves its hardware thread and an event wakes it, or it keeps it and spins.
enum class Wait : std::uint8_t { kEvent, kPoll };
inline EnumNames<Wait> enum_names(Wait /*tag*/) {
  return {{"event", Wait::kEvent}, {"poll", Wait::kPoll}};
}

/// Which core the next of several threads runs on: the next one, or the same until its hardware threads are taken.
enum class Placement : std::uint8_t { kSpread, kPack };
inline EnumNames<Placement> enum_names(Placement /*tag*/) {
  return {{"spread", Placement::kSpread}, {"pack", Placement::kPack}};
}

/// The modelled cores that firmware runs on, with sockets to the devices that it drives: those of a host, or the
/// data-path accelerator of a SmartNIC.
///
/// A thread runs from one co_await to the next in no simulated time but for what it is charged: `wake_cycles` when it
/// resumes, `post_cycles` for a write to a device, `entry_cycles` for each entry of a queue in memory that such a write
/// announces, `poll_cycles` for a completion, and what it asks for itself, as cycles or as Work. A core runs `threads`
/// of them at a time, each slower for the others (core.h); more that are ready wait, first come first served. TLM calls
/// carry the core's local time as their delay, so that a device sees a write when the core would have got there;
/// siblings that start later in the run slow the thread, but not what it has sent.
///
/// An instruction takes the core's pipeline for a cycle, and so does each bare cycle. An access to shared memory takes
/// the core's port for `port_cycles` and then waits `access_cycles`, while other threads run. A thread that polls loops
/// over four instructions and an access until its completion is there, and pays no `wake_cycles`. It keeps its hardware
/// thread: where all of a core spin, its other threads wait until one leaves.
///
/// Devices write completions (32 bytes at most) to a mailbox socket at the address of a CompletionQueue. One that finds
/// the queue full puts it in error: it and all that follow are lost, which the report at the end says.
class Processor final : public sc_core::sc_module, public EventTarget {
 private:
  /// An entry on its way.
  struct alignas(64) Arriving {
    nic::Completion entry;
    CompletionQueue* queue = nullptr;
  };
  struct CoreState {
    Core core;
    Time busy;
    std::vector<Thread*> blocked;  ///< ready, while all hardware threads spin
  };

  // What every completion touches comes first, behind the table of events.
  Dispatcher& dispatcher_;
  std::uint64_t mailbox_base_;
  std::vector<Arriving*> free_arriving_;
  Thread* current_ = nullptr;
  std::vector<CompletionQueue*> queue_at_;  ///< by address from mailbox_base_ on
  std::vector<CoreState> cores_;
  double repeats_ = 0;
  std::size_t depth_;  ///< of completion queues; 0: any
  Time local_;
  Time last_end_;
  Time alone_;               ///< what the present run would take by itself
  Time shared_;              ///< of that, with the pipeline or the port
  std::size_t running_ = 1;  ///< threads at work on its core when it began, with itself
  std::int64_t spin_share_;  ///< of a loop that polls
  std::int64_t accesses_ = 0;
  Stall stall_;

 public:
  struct Config {
    static constexpr std::string_view kPartKind = "processor";

    int cores = 8;
    int threads = 1;
    Frequency clock = Frequency(2'000'000'000);
    std::int64_t wake_cycles = 100;
    std::int64_t post_cycles = 150;
    std::int64_t entry_cycles = 20;
    std::int64_t poll_cycles = 50;
    std::int64_t access_cycles = 60;
    std::int64_t port_cycles = 4;
    Wait wait = Wait::kEvent;
    Placement placement = Placement::kSpread;
    int completion_queue_depth = 0;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("cores", cores, "Cores that run firmware threads", Range{0, 1024});
      visit("threads", threads, "Hardware threads of each core, which share its pipeline and its port to memory",
            Range{1, 256});
      visit("clock", clock, "Clock of the cores", Range{1'000'000, 100'000'000'000});
      visit("wake_cycles", wake_cycles, "Cycles from a completion's arrival to the thread that awaits it",
            Range{0, 1'000'000});
      visit("post_cycles", post_cycles, "Cycles to write a work request or command to a device", Range{0, 1'000'000});
      visit("entry_cycles", entry_cycles, "Cycles to write a work request into a queue in memory, before its doorbell",
            Range{0, 1'000'000});
      visit("poll_cycles", poll_cycles, "Cycles to take a completion", Range{0, 1'000'000});
      visit("access_cycles", access_cycles, "Cycles that an access to shared memory waits after its turn at the port",
            Range{0, 1'000'000});
      visit("port_cycles", port_cycles, "Cycles that such an access occupies its core's port to memory",
            Range{0, 1'000'000});
      visit("wait", wait, "How a thread waits for completions: until an event wakes it, or by polling");
      visit("placement", placement,
            "Where several threads run: spread over the cores, or packed onto as few cores as hold them");
      visit("completion_queue_depth", completion_queue_depth,
            "Completions that a queue holds until firmware takes them; 0: any number", Range{0, 16'000'000});
    }
  };

  /// `devices` is the number of initiator sockets, and of mailbox sockets. Completion queues have addresses from
  /// `mailbox_base` on.
  Processor(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, int devices,
            const Stall::Config& stall, std::uint64_t mailbox_base = 0);
  ~Processor() override;

  tlm::tlm_initiator_socket<64>& device(std::size_t index) { return devices_[index]; }
  tlm::tlm_target_socket<64>& mailbox(std::size_t index) { return mailboxes_[index]; }

  /// Whose threads it runs, where several share a machine: what stands before their names, and in those of causes.
  void set_owner(std::string owner) { owner_ = std::move(owner); }
  [[nodiscard]] const std::string& owner() const { return owner_; }

  /// Starts a thread when the simulation starts, or now when it runs, on the core for `place`. `about` is what the
  /// critical path says that it is for; empty: its name without the words that have digits, which threads of other
  /// ranks have in common with it.
  void spawn(const std::string& name, int place, Task task, const std::string& about = "");
  /// Starts one that may still wait for something to do at the end of a run, on the core of the thread that runs, or
  /// the first where none does.
  void spawn_server(const std::string& name, Task task);
  /// Accesses to shared memory, without those of threads that poll.
  [[nodiscard]] std::int64_t accesses() const { return accesses_; }
  /// The core for the `place`th of several threads, by the configured placement.
  [[nodiscard]] int core_for(int place) const {
    return (config_.placement == Placement::kSpread ? place : place / config_.threads) % config_.cores;
  }

  /// A new completion queue; its address is what devices write to.
  CompletionQueue& create_completion_queue(std::string what);
  /// Keeps what waits for a place in a queue pair's queues as long as the processor.
  Backlog& keep(std::unique_ptr<Backlog> backlog);

  /// For tests of firmware: each completion of a receive in a queue that allows it comes a second time, somewhat
  /// later, with this probability.
  void repeat_completions(double share, std::uint64_t seed) {
    repeats_ = share;
    random_ = Random(seed, name());
  }

  // For code that runs on a thread of this processor:

  /// Simulated time as the running thread sees it.
  [[nodiscard]] Time now() const { return current_ != nullptr ? local_ : dispatcher_.now(); }
  /// Spends cycles of the running thread's core.
  void charge(std::int64_t cycles) {
    const Time time = cycle_time(cycles, config_.clock);
    spend(time, time);
  }
  /// Spends what `work` takes on the running thread's core.
  void work(const Work& work) {
    accesses_ += work.accesses;
    const std::int64_t shared = work.instructions + work.accesses * config_.port_cycles;
    spend(cycle_time(shared + work.accesses * config_.access_cycles, config_.clock), cycle_time(shared, config_.clock));
  }
  /// A posted write to a device register, charged as `post_cycles` unless it is a part of what has been charged as
  /// work. A refusal is a firmware bug and ends the simulation.
  void write(std::size_t device, std::uint64_t offset, const void* data, std::uint32_t bytes, bool charged = true);

  /// The same of a work request that somebody else writes, `delay` after the running thread has told them to.
  void write_later(std::size_t device, std::uint64_t offset, const nic::WorkRequest& request, Time delay, bool charged);

  struct Delay {
    Processor& processor;
    Time length;
    CauseKind what = CauseKind::kSoftware;
    bool await_ready() const { return length <= Time(); }
    void await_suspend(std::coroutine_handle<> handle) { processor.sleep(handle, processor.now() + length, what); }
    void await_resume() {}
  };
  /// Lets other threads use the core until `length` from now, for which Causes has `what`.
  Delay delay(Time length, CauseKind what = CauseKind::kSoftware) { return {*this, length, what}; }

  /// Whose code the running thread runs until end(), for messages of exceptions. `whose` outlives it. With a context it
  /// is about that meanwhile.
  class Part {
   public:
    Part(Processor& processor, std::string_view whose, std::uint32_t context = 0)
        : processor_(processor),
          thread_(processor.running()),
          before_(std::exchange(thread_.whose, whose)),
          context_(thread_.context) {
      if (context != 0) [[unlikely]]
        processor_.turn_to(context);
    }
    void end() const {
      thread_.whose = before_;
      if (thread_.context != context_) [[unlikely]]
        processor_.turn_to(context_);
    }

   private:
    Processor& processor_;
    Thread& thread_;
    std::string_view before_;
    std::uint32_t context_;
  };
  /// What a thread of this name would be about, for Causes; 0 where no critical path is kept.
  [[nodiscard]] std::uint32_t context_of(std::string_view name) const;

  // For awaitables:
  Thread& running() { return *current_; }
  /// Records that the running thread waits; with a time, schedules its resumption.
  Thread& suspend(std::coroutine_handle<> handle, const char* waits_for, std::uint64_t detail, Time until = kNever);
  /// As suspend(), for a time that the program says.
  void sleep(std::coroutine_handle<> handle, Time until, CauseKind what);
  /// As suspend(), for a completion: the thread spins where threads poll.
  Thread& suspend_for_completion(std::coroutine_handle<> handle, const char* waits_for, std::uint64_t detail);
  /// Resumes a suspended thread at `at` or when its core is free.
  void wake(Thread& thread, Time at);
  /// Resumes the thread that waits for a completion until `at` at the latest.
  void set_alarm(const CompletionQueue& queue, Time at);
  void charge_entries(std::size_t entries) { charge(config_.entry_cycles * static_cast<std::int64_t>(entries)); }
  void charge_poll() { charge(config_.poll_cycles); }

  [[nodiscard]] const Config& config() const { return config_; }
  Dispatcher& dispatcher() { return dispatcher_; }
  [[nodiscard]] std::size_t unfinished() const;
  /// When the thread that ended last had spent its cycles, which may be after the last event. 0 where none ended.
  [[nodiscard]] Time last_end() const { return last_end_; }
  /// Of a core whose hardware threads all poll while other threads are ready, how many threads have not ended there: as
  /// many hardware threads would let all go on. 0 if there is no such core.
  [[nodiscard]] std::size_t starved() const;
  /// The most completions that a queue has held, and what it is for, where it was more than `completion_queue_depth`:
  /// in hardware it would have stood in error. Firmware goes on as if there had been room, so that this is the least
  /// depth with which all goes as it went.
  struct Fullest {
    std::size_t entries = 0;  ///< 0: no queue was too full
    std::string what;
  };
  [[nodiscard]] const Fullest& fullest() const { return fullest_; }
  /// A line for each thread that has not ended: its name and what it waits for.
  [[nodiscard]] std::vector<std::string> left_over() const;
  /// Time that core `index` was running threads, each counted by itself.
  [[nodiscard]] Time busy(std::size_t index) const { return cores_[index].busy; }
  [[nodiscard]] Time busy() const {
    return std::accumulate(cores_.begin(), cores_.end(), Time(),
                           [](Time sum, const CoreState& core) { return sum + core.busy; });
  }
  /// Time that its threads have let pass because their programs say so, each counted by itself: as it has been asked
  /// for so far.
  [[nodiscard]] Time slept() const { return slept_; }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t /*tag*/) const override { return CauseKind::kFirmware; }
  void prepare(std::uint32_t tag, std::uint64_t data) override;
  void prepare_more(std::uint32_t tag, std::uint64_t data) override;

 private:
  /// The running thread is about this from now on.
  void turn_to(std::uint32_t context);
  void start_of_simulation() override;
  Thread& start(const std::string& name, int core, Task task, const std::string& about = "");
  CoreState& core_of(const Thread& thread) { return cores_[static_cast<std::size_t>(thread.core)]; }
  void run(Time now, Thread& thread);
  void post_run(Thread& thread, Time at);
  /// Where it is, for messages.
  [[nodiscard]] std::string place_of(const Thread& thread) const;
  /// As wake(), at the end of an event: where it can run now it does, without an event of its own.
  void wake_now(Time now, Thread& thread);
  void spend(Time alone, Time shared) {
    alone_ += alone;
    shared_ += shared;
    local_ += running_ == 1 ? alone : stretched(alone, shared);
  }
  [[nodiscard]] Time stretched(Time alone, Time shared) const;
  bool take_entry(std::uint64_t queue, const void* data, std::uint32_t bytes, Time at);
  void write_at(std::size_t device, std::uint64_t offset, const void* data, std::uint32_t bytes, Time at);

  /// A write that somebody else makes later.
  struct Handed {
    std::size_t device = 0;
    std::uint64_t offset = 0;
    nic::WorkRequest request;
  };

  Config config_;
  RegisterFile mailbox_file_;
  BlockingInitiator initiator_;
  FixedVector<tlm::tlm_initiator_socket<64>> devices_;
  FixedVector<tlm::tlm_target_socket<64>> mailboxes_;
  std::deque<Thread> threads_;  ///< slots of ended threads are reused
  std::vector<Thread*> free_threads_;
  std::deque<CompletionQueue> queues_;
  std::vector<std::unique_ptr<Backlog>> backlogs_;
  std::deque<Arriving> arriving_;  ///< slots are reused
  Fullest fullest_;
  Slots<Handed> handed_;
  Random random_;      ///< of repeats
  std::string owner_;  ///< empty: it shares the machine with nobody
  std::string latest_topic_;
  std::uint32_t latest_context_ = 0;  ///< of that
  Time slept_;
  std::uint32_t spawned_ = 0;
  bool started_ = false;
  tlm::tlm_generic_payload payload_;
};

/// A queue that a device writes and one thread reads.
class alignas(64) CompletionQueue {
 public:
  /// `what` says what comes here, for the report of a deadlock.
  CompletionQueue(Processor& processor, std::uint64_t address, std::string what)
      : processor_(processor), address_(address), what_(std::move(what)) {}
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  [[nodiscard]] std::uint64_t address() const { return address_; }
  /// Its reader knows a completion that comes a second time.
  void allow_repeats() { may_repeat_ = true; }
  /// Its reader will touch `bytes` bytes from `first` for each completion: they are fetched before it comes.
  void fetch_with(const void* first, std::size_t bytes) {
    reads_.push_back({static_cast<const std::byte*>(first), bytes});
  }

  struct Next {
    CompletionQueue& queue;
    bool await_ready() const { return !queue.entries_.empty(); }
    void await_suspend(std::coroutine_handle<> handle) {
      queue.waiter_ = &queue.processor_.suspend_for_completion(handle, queue.what_.c_str(), queue.address_);
    }
    nic::Completion await_resume() {
      queue.processor_.charge_poll();
      const nic::Completion entry = queue.entries_.front();
      queue.entries_.pop_front();
      return entry;
    }
  };
  /// The next completion, when it has come.
  Next next() { return {*this}; }

  struct NextBefore {
    CompletionQueue& queue;
    Time deadline;
    bool await_ready() const { return !queue.entries_.empty() || queue.processor_.now() >= deadline; }
    void await_suspend(std::coroutine_handle<> handle) {
      queue.waiter_ = &queue.processor_.suspend_for_completion(handle, queue.what_.c_str(), queue.address_);
      queue.until_ = deadline;
      if (queue.alarm_ == deadline) return;  // one event for all waits until then
      queue.alarm_ = deadline;
      queue.processor_.set_alarm(queue, deadline);
    }
    std::optional<nic::Completion> await_resume() {
      queue.waiter_ = nullptr;
      queue.until_ = kNever;
      if (queue.entries_.empty()) return std::nullopt;
      return Next{queue}.await_resume();
    }
  };
  /// The next completion, or nothing at `deadline`.
  NextBefore next_before(Time deadline) { return {*this, deadline}; }
  /// The next completion if it has come.
  std::optional<nic::Completion> try_next() {
    if (entries_.empty()) return std::nullopt;
    return Next{*this}.await_resume();
  }
  /// Another thread of the processor leaves a completion with `id` here.
  void signal(std::uint64_t id) {
    nic::Completion entry;
    entry.id = id;
    entries_.push_back(entry);
    if (waiter_ != nullptr) processor_.wake(*std::exchange(waiter_, nullptr), processor_.now());
  }

 private:
  friend class Processor;

  // What every completion touches comes first.
  Processor& processor_;
  Fifo<nic::Completion> entries_;
  Thread* waiter_ = nullptr;
  Time until_ = kNever;  ///< when the waiter gives up
  Time alarm_ = kNever;  ///< the latest that was set
  struct Read {
    const std::byte* first;
    std::size_t bytes;
  };
  std::vector<Read> reads_;
  std::uint64_t address_;
  std::string what_;
  bool may_repeat_ = false;
};

/// A counter that threads of one processor wait on: set() raises it, `co_await reach(n)` returns when it is at least n.
class Counter {
 public:
  Counter(Processor& processor, const char* what) : processor_(processor), what_(what) {}

  [[nodiscard]] std::uint64_t value() const { return value_; }
  /// Raises the counter, from a running thread; lower values are ignored.
  void set(std::uint64_t value);
  void increment() { set(value_ + 1); }

  struct Reach {
    Counter& counter;
    std::uint64_t value;
    bool await_ready() const { return counter.value_ >= value; }
    void await_suspend(std::coroutine_handle<> handle) {
      counter.waiters_.push_back({value, &counter.processor_.suspend(handle, counter.what_, value)});
    }
    void await_resume() {}
  };
  Reach reach(std::uint64_t value) { return {*this, value}; }

 private:
  struct Waiter {
    std::uint64_t value;
    Thread* thread;
  };
  Processor& processor_;
  const char* what_;
  std::uint64_t value_ = 0;
  std::vector<Waiter> waiters_;
};

}  // namespace weft::firmware
