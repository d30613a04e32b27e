// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/accelerator.h"
#include "hw/nic/nic.h"
#include "hw/nic/work.h"
#include "sw/firmware/processor.h"

/// The programming interface of the hardware: everything that firmware does to a device goes through here.
namespace weft::firmware {

/// A network interface or scale-up port as one processor sees it.
struct Interface {
  Processor* processor = nullptr;
  nic::Nic* nic = nullptr;  ///< for the control path only
  std::size_t device = 0;   ///< the processor's socket to its doorbells
};

/// One end of a reliable connection, owned by a firmware thread.
class QueuePair {
 public:
  QueuePair() = default;
  /// Makes a queue pair whose completions, of sends and receives, go to `completions`.
  QueuePair(const Interface& interface, CompletionQueue& completions)
      : interface_(interface), number_(interface.nic->create_queue_pair(completions.address())) {}

  /// Joins two ends; before anything is posted.
  static void connect(QueuePair& a, QueuePair& b) {
    a.interface_.nic->connect(a.number_, b.interface_.nic->end(), b.number_);
    b.interface_.nic->connect(b.number_, a.interface_.nic->end(), a.number_);
  }

  [[nodiscard]] std::uint32_t number() const { return number_; }

  /// RDMA write; with `notify`, the peer's receive completes with `immediate`.
  void write(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes, bool notify, std::uint32_t immediate,
             bool signaled, std::uint64_t id = 0) {
    nic::WorkRequest request;
    request.verb = nic::Verb::kWrite;
    request.local_address = local;
    request.remote_address = remote;
    request.bytes = bytes;
    request.with_immediate = notify;
    request.immediate = immediate;
    request.signaled = signaled;
    request.id = id;
    post(request);
  }
  void read(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes, std::uint64_t id = 0) {
    nic::WorkRequest request;
    request.verb = nic::Verb::kRead;
    request.local_address = local;
    request.remote_address = remote;
    request.bytes = bytes;
    request.id = id;
    post(request);
  }
  void send(std::uint64_t local, std::uint64_t bytes, bool signaled, std::uint64_t id = 0) {
    nic::WorkRequest request;
    request.verb = nic::Verb::kSend;
    request.local_address = local;
    request.bytes = bytes;
    request.signaled = signaled;
    request.id = id;
    post(request);
  }
  /// An empty message that delivers `immediate`.
  void send_immediate(std::uint32_t immediate) {
    nic::WorkRequest request;
    request.verb = nic::Verb::kSend;
    request.with_immediate = true;
    request.immediate = immediate;
    request.signaled = false;
    post(request);
  }
  /// Posts `count` equal receives with one doorbell.
  void receive(std::uint64_t local, std::uint64_t bytes, std::uint32_t count = 1, std::uint64_t id = 0) {
    nic::WorkRequest request;
    request.verb = nic::Verb::kReceive;
    request.local_address = local;
    request.bytes = bytes;
    request.count = count;
    request.id = id;
    post(request);
  }

 private:
  void post(nic::WorkRequest request) {
    request.queue_pair = number_;
    interface_.processor->write(interface_.device, nic::kDoorbell, &request, sizeof request);
  }

  Interface interface_;
  std::uint32_t number_ = 0;
};

/// The command window of an accelerator as one processor sees it.
class CommandWindow {
 public:
  CommandWindow() = default;
  CommandWindow(Processor& processor, std::size_t device, const accelerator::Accelerator& accelerator)
      : processor_(&processor), device_(device), accelerator_(&accelerator) {}

  /// Performance counters, read in no time.
  [[nodiscard]] const accelerator::Accelerator::Counters& counters() const { return accelerator_->counters(); }

  void submit(const accelerator::Command& command) {
    processor_->write(device_, accelerator::kCommandWindow, &command, sizeof command);
  }
  /// Appends to a stream: wait until `semaphore` is at `value`.
  void wait(std::uint32_t stream, std::uint32_t semaphore, std::uint64_t value) {
    accelerator::Command command;
    command.operation = accelerator::Operation::kWait;
    command.stream = stream;
    command.semaphore = semaphore;
    command.value = value;
    submit(command);
  }
  /// Appends to a stream: write `id` to `queue`.
  void notify(std::uint32_t stream, const CompletionQueue& queue, std::uint64_t id) {
    accelerator::Command command;
    command.operation = accelerator::Operation::kNotify;
    command.stream = stream;
    command.completion_address = queue.address();
    command.id = id;
    submit(command);
  }
  /// Raises a semaphore at once.
  void signal(std::uint32_t semaphore, std::uint64_t value) {
    accelerator::Command command;
    command.operation = accelerator::Operation::kSignal;
    command.stream = accelerator::Command::kImmediate;
    command.semaphore = semaphore;
    command.value = value;
    submit(command);
  }
  /// destination = source + other, by a copy engine; `queue` gets `id` when it is done.
  void reduce(std::uint32_t engine, accelerator::ElementType type, std::uint64_t source, std::uint64_t other,
              std::uint64_t destination, std::uint64_t bytes, const CompletionQueue& queue, std::uint64_t id) {
    accelerator::Command command;
    command.operation = accelerator::Operation::kReduce;
    command.type = type;
    command.stream = accelerator::Command::kImmediate;
    command.engine = engine;
    command.source = source;
    command.other = other;
    command.destination = destination;
    command.bytes = bytes;
    command.completion_address = queue.address();
    command.id = id;
    submit(command);
  }

  /// destination = source.
  void copy(std::uint32_t engine, std::uint64_t source, std::uint64_t destination, std::uint64_t bytes,
            const CompletionQueue& queue, std::uint64_t id) {
    accelerator::Command command;
    command.operation = accelerator::Operation::kCopy;
    command.stream = accelerator::Command::kImmediate;
    command.engine = engine;
    command.source = source;
    command.destination = destination;
    command.bytes = bytes;
    command.completion_address = queue.address();
    command.id = id;
    submit(command);
  }

 private:
  Processor* processor_ = nullptr;
  std::size_t device_ = 0;
  const accelerator::Accelerator* accelerator_ = nullptr;
};

}  // namespace weft::firmware
