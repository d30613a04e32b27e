// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "hw/accelerator/accelerator.h"
#include "hw/fabric/fabric.h"
#include "hw/nic/any_nic.h"
#include "hw/nic/work.h"
#include "sw/firmware/backlog.h"
#include "sw/firmware/processor.h"

/// The programming interface of the hardware: everything that firmware does to a device goes through here.
namespace weft::firmware {

/// A network interface or scale-up port as one processor sees it.
struct Interface {
  Processor* processor = nullptr;
  nic::Verbs* nic = nullptr;          ///< for the control path only
  fabric::Fabric* network = nullptr;  ///< likewise: where groups are made
  std::size_t device = 0;             ///< the processor's socket to its doorbells
  Rate rate = Rate();                 ///< payload that it can send

  [[nodiscard]] Doorbell doorbell() const { return {processor, device}; }
};

/// A queue pair as a firmware thread sees it: a number that work requests bear, and the doorbell for them. What finds
/// no place in the interface's queues waits for one (sw/firmware/backlog.h).
class WorkQueue {
 public:
  [[nodiscard]] std::uint32_t number() const { return number_; }
  /// From now on posting is a part of work that the firmware is charged for as a whole.
  void prepay() { charged_ = false; }
  /// From now on each request but receives comes to the interface so much later than it is posted: another hands it on.
  void relay(Time delay) { relay_ = delay; }

  /// Posts requests, all of them receives or none, with one doorbell for each nic::kLongestBatch: they are written to
  /// memory and the interface fetches them from there.
  void post_batch(std::span<const nic::WorkRequest> requests) {
    std::array<nic::WorkRequest, nic::kLongestBatch> entries;
    while (!requests.empty()) {
      const std::size_t count = std::min(requests.size(), entries.size());
      for (std::size_t i = 0; i < count; ++i) {
        entries[i] = requests[i];
        entries[i].queue_pair = number_;
      }
      if (backlog_ != nullptr) [[unlikely]] {
        backlog_->post_batch({entries.data(), count});
      } else {
        interface_->doorbell().announce({entries.data(), count});
      }
      requests = requests.subspan(count);
    }
  }

 protected:
  WorkQueue() = default;
  /// The interface outlives it, so that one that is made for the call is refused. `numbered`: see Backlog.
  WorkQueue(Interface&& interface, std::uint32_t number, bool numbered) = delete;
  WorkQueue(const Interface& interface, std::uint32_t number, bool numbered)
      : interface_(&interface),
        number_(number),
        backlog_(interface.nic == nullptr ? nullptr
                                          : Backlog::of(*interface.nic, interface.doorbell(), number, numbered)) {}

  void post(nic::WorkRequest request) {
    request.queue_pair = number_;
    if (backlog_ != nullptr) [[unlikely]]
      return backlog_->post(request, relay_, charged_);
    interface_->doorbell().ring(request, relay_, charged_);
  }

  void provide(nic::WorkRequest receives) {
    receives.queue_pair = number_;
    if (backlog_ != nullptr) [[unlikely]]
      return backlog_->provide(receives);
    interface_->nic->provide(receives);
  }

  const Interface* interface_ = nullptr;
  std::uint32_t number_ = 0;
  bool charged_ = true;
  Time relay_;

 private:
  Backlog* backlog_ = nullptr;  ///< null where the interface's queues hold any number
};

/// One end of a reliable connection, owned by a firmware thread.
class QueuePair : public WorkQueue {
 public:
  QueuePair() = default;
  /// Makes a queue pair whose completions, of sends and receives, go to `completions`.
  QueuePair(Interface&& interface, CompletionQueue& completions) = delete;
  QueuePair(const Interface& interface, CompletionQueue& completions)
      : WorkQueue(interface, interface.nic->create_queue_pair(completions.address()), false) {}

  /// Joins two ends; before anything is posted.
  static void connect(QueuePair& a, QueuePair& b) {
    a.interface_->nic->connect(a.number_, b.interface_->nic->end(), b.number_);
    b.interface_->nic->connect(b.number_, a.interface_->nic->end(), a.number_);
  }

  /// RDMA write; with `notify`, the peer's receive completes with `immediate`.
  void write(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes, bool notify, std::uint32_t immediate,
             bool signaled, std::uint64_t id = 0, bool stored = false) {
    post({.id = id,
          .local_address = local,
          .remote_address = remote,
          .bytes = bytes,
          .immediate = immediate,
          .verb = nic::Verb::kWrite,
          .stored = stored,
          .with_immediate = notify,
          .signaled = signaled});
  }
  void read(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes, std::uint64_t id = 0,
            std::uint32_t remote_key = 0, bool stored = false) {
    post({.id = id,
          .local_address = local,
          .remote_address = remote,
          .bytes = bytes,
          .remote_key = remote_key,
          .verb = nic::Verb::kRead,
          .stored = stored});
  }
  void send(std::uint64_t local, std::uint64_t bytes, bool signaled, std::uint64_t id = 0) {
    post({.id = id, .local_address = local, .bytes = bytes, .verb = nic::Verb::kSend, .signaled = signaled});
  }
  /// An empty message that delivers `immediate`.
  void send_immediate(std::uint32_t immediate, bool signaled = false, std::uint64_t id = 0) {
    post({.id = id, .immediate = immediate, .verb = nic::Verb::kSend, .with_immediate = true, .signaled = signaled});
  }
  /// `count` empty receives that are there as soon as the connection is (Verbs::provide).
  void provide(std::uint32_t count, std::uint64_t id) {
    WorkQueue::provide({.id = id, .count = count, .verb = nic::Verb::kReceive});
  }
  /// Posts `count` equal receives with one doorbell.
  void receive(std::uint64_t local, std::uint64_t bytes, std::uint32_t count = 1, std::uint64_t id = 0) {
    post({.id = id, .local_address = local, .bytes = bytes, .count = count, .verb = nic::Verb::kReceive});
  }
};

/// A member's end of a group of the network: multicast to the others, and reduction on the way. Members post the same
/// reductions in the same order.
class GroupQueuePair : public WorkQueue {
 public:
  GroupQueuePair() = default;
  /// `window` is that of the group's reductions; 0 makes it one for multicast. Completions go to `completions`.
  GroupQueuePair(Interface&& interface, CompletionQueue& completions, std::uint32_t group, int window) = delete;
  GroupQueuePair(const Interface& interface, CompletionQueue& completions, std::uint32_t group, int window)
      : WorkQueue(interface, interface.nic->create_group_queue_pair(completions.address(), group, window), true) {}

  /// One that only multicasts: what others send comes to another queue pair of this member.
  static GroupQueuePair for_sending(const Interface& interface, CompletionQueue& completions, std::uint32_t group) {
    return {interface, interface.nic->create_group_sender(completions.address(), group)};
  }

  /// Sums `bytes` at `operand` over all members that do not abstain. The sum comes to `result` at each, or at the one
  /// with end `taker`.
  void reduce(std::uint64_t operand, std::uint64_t result, std::uint64_t bytes, ElementType type,
              std::uint32_t taker = nic::kEveryTaker, bool signaled = true, bool abstains = false) {
    post({.local_address = operand,
          .remote_address = result,
          .bytes = bytes,
          .taker = taker,
          .verb = nic::Verb::kReduce,
          .type = type,
          .abstains = abstains,
          .signaled = signaled});
  }
  /// Writes to the same address, opened by `remote_key`, at all other members; with `notify`, their receives complete
  /// with `immediate`.
  void multicast(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes, bool notify, std::uint32_t immediate,
                 bool signaled, std::uint32_t remote_key = 0, bool stored = false) {
    nic::WorkRequest request = to_group(local, remote, bytes, notify, immediate, signaled, remote_key);
    request.stored = stored;
    post(request);
  }
  /// The same as a request for post_batch().
  static nic::WorkRequest to_group(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes, bool notify,
                                   std::uint32_t immediate, bool signaled, std::uint32_t remote_key = 0) {
    return {.local_address = local,
            .remote_address = remote,
            .bytes = bytes,
            .immediate = immediate,
            .remote_key = remote_key,
            .verb = nic::Verb::kMulticast,
            .with_immediate = notify,
            .signaled = signaled};
  }
  /// The first of `count` receives completes with `id`, each after it with one more.
  void receive(std::uint32_t count, std::uint64_t id = 0) {
    post({.id = id, .count = count, .verb = nic::Verb::kReceive});
  }

 private:
  GroupQueuePair(const Interface& interface, std::uint32_t number) : WorkQueue(interface, number, true) {}
};

/// A queue pair of datagrams.
class DatagramQueuePair : public WorkQueue {
 public:
  DatagramQueuePair() = default;
  DatagramQueuePair(Interface&& interface, CompletionQueue& completions) = delete;
  DatagramQueuePair(const Interface& interface, CompletionQueue& completions)
      : WorkQueue(interface, interface.nic->create_datagram_queue_pair(completions.address()), true) {}

  /// Lets datagrams for `group` come here.
  void attach(std::uint32_t group) { interface_->nic->attach(number_, group); }

  /// A request for post_batch(): to all of a group but this interface, with `immediate`.
  static nic::WorkRequest to_group(std::uint32_t group, std::uint64_t local, std::uint64_t bytes,
                                   std::uint32_t immediate, bool signaled) {
    return {.local_address = local,
            .bytes = bytes,
            .immediate = immediate,
            .peer = Packet::kFirstGroup + group,
            .verb = nic::Verb::kSend,
            .with_immediate = true,
            .signaled = signaled};
  }
  /// Posts `count` receives of `bytes` with one doorbell, `bytes` apart; the first completes with `id`, each after it
  /// with one more. A datagram lies behind nic::kGlobalRouteHeader bytes of header.
  void receive(std::uint64_t local, std::uint64_t bytes, std::uint32_t count, std::uint64_t id) {
    post({.id = id,
          .local_address = local,
          .bytes = bytes,
          .stride = bytes,
          .count = count,
          .verb = nic::Verb::kReceive});
  }
};

/// The command window of an accelerator as one processor sees it.
class CommandWindow {
 public:
  using Command = accelerator::Command;
  using Operation = accelerator::Operation;

  CommandWindow() = default;
  CommandWindow(Processor& processor, std::size_t device, const accelerator::Accelerator& accelerator)
      : processor_(&processor), device_(device), accelerator_(&accelerator) {}

  /// Performance counters, read in no time.
  [[nodiscard]] const accelerator::Accelerator::Counters& counters() const { return accelerator_->counters(); }
  /// As marks of the critical path name it.
  [[nodiscard]] CausePlace place() const { return Dispatcher::place_of(*accelerator_); }
  /// What its kernels run on.
  [[nodiscard]] const accelerator::ComputeConfig& compute() const { return accelerator_->config().compute; }
  /// How long streams have waited for a semaphore.
  [[nodiscard]] Time waited(std::size_t semaphore) const {
    const std::vector<Time>& times = counters().waited;
    return semaphore < times.size() ? times[semaphore] : Time();
  }

  void submit(const Command& command) {
    processor_->write(device_, accelerator::kCommandWindow, &command, sizeof command);
  }
  /// Appends to a stream: wait until `semaphore` is at `value`.
  void wait(std::uint32_t stream, std::uint32_t semaphore, std::uint64_t value) {
    submit({.operation = Operation::kWait, .stream = stream, .semaphore = semaphore, .value = value});
  }
  /// Appends to a stream: write `id` to `queue`.
  void notify(std::uint32_t stream, const CompletionQueue& queue, std::uint64_t id) {
    submit({.operation = Operation::kNotify, .stream = stream, .id = id, .completion_address = queue.address()});
  }
  /// Appends to a stream: raise a semaphore.
  void signal(std::uint32_t stream, std::uint32_t semaphore, std::uint64_t value) {
    submit({.operation = Operation::kSignal, .stream = stream, .semaphore = semaphore, .value = value});
  }
  /// Raises a semaphore at once.
  void signal(std::uint32_t semaphore, std::uint64_t value) {
    submit({.operation = Operation::kSignal, .stream = Command::kImmediate, .semaphore = semaphore, .value = value});
  }
  /// The kernel of a collective keeps so many cores of the array from when `queue` gets `id` until it returns them.
  void keep_cores(std::uint32_t cores, const CompletionQueue& queue, std::uint64_t id) {
    submit({.operation = Operation::kKeepCores,
            .stream = Command::kImmediate,
            .cores = cores,
            .id = id,
            .completion_address = queue.address()});
  }
  void return_cores(std::uint32_t cores) {
    submit({.operation = Operation::kReturnCores, .stream = Command::kImmediate, .cores = cores});
  }
  /// destination = source + other, by a copy engine; `queue` gets `id` when it is done.
  void reduce(std::uint32_t engine, ElementType type, std::uint64_t source, std::uint64_t other,
              std::uint64_t destination, std::uint64_t bytes, const CompletionQueue& queue, std::uint64_t id) {
    submit({.operation = Operation::kReduce,
            .type = type,
            .stream = Command::kImmediate,
            .engine = engine,
            .source = source,
            .other = other,
            .destination = destination,
            .bytes = bytes,
            .id = id,
            .completion_address = queue.address()});
  }
  /// destination = source.
  void copy(std::uint32_t engine, std::uint64_t source, std::uint64_t destination, std::uint64_t bytes,
            const CompletionQueue& queue, std::uint64_t id) {
    submit({.operation = Operation::kCopy,
            .stream = Command::kImmediate,
            .engine = engine,
            .source = source,
            .destination = destination,
            .bytes = bytes,
            .id = id,
            .completion_address = queue.address()});
  }

 private:
  Processor* processor_ = nullptr;
  std::size_t device_ = 0;
  const accelerator::Accelerator* accelerator_ = nullptr;
};

}  // namespace weft::firmware
