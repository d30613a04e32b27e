// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "hw/core/fifo.h"
#include "hw/core/quantity.h"
#include "hw/nic/work.h"
#include "sw/firmware/processor.h"
#include "sw/firmware/task.h"

namespace weft::nic {
class Verbs;
}

namespace weft::firmware {

class CompletionQueue;

/// Where work requests of one queue pair are written: a device of a processor.
struct Doorbell {
  Processor* processor = nullptr;
  std::size_t device = 0;

  /// One request, `relay` later, charged to the running thread or a part of what has been charged.
  void ring(const nic::WorkRequest& request, Time relay, bool charged) const {
    if (relay > Time() && request.verb != nic::Verb::kReceive) {
      return processor->write_later(device, nic::kDoorbell, request, relay, charged);
    }
    processor->write(device, nic::kDoorbell, &request, sizeof request, charged);
  }
  /// Several in memory, of which the interface is told: at most nic::kLongestBatch.
  void announce(std::span<const nic::WorkRequest> requests) const;
};

/// Keeps a queue pair within the depths of the interface's queues (nic.send_queue_depth, nic.receive_queue_depth): a
/// request that finds no place waits here, in its order, and is posted when the interface has said that places are free
/// (Verbs::report_places). A thread posts what waits, on the core of the thread that posted first; it is no unfinished
/// thread at the end of a run, since receives may wait for messages that never come.
class Backlog {
 public:
  /// Null where both queues hold any number; else the processor's. Completions of receives are `numbered` where each of
  /// several equal ones has an id of its own: datagrams and multicast.
  static Backlog* of(nic::Verbs& nic, Doorbell doorbell, std::uint32_t queue_pair, bool numbered);

  void post(const nic::WorkRequest& request, Time relay, bool charged);
  /// As Verbs::provide(), of as many of these receives as there is room for; the others wait.
  void provide(nic::WorkRequest receives);
  /// As Doorbell::announce(), of any number of requests.
  void post_batch(std::span<const nic::WorkRequest> requests);

  Backlog(nic::Verbs& nic, Doorbell doorbell, std::uint32_t queue_pair, bool numbered);

 private:
  struct Waiting {
    nic::WorkRequest request;
    Time relay;
    bool charged = true;
    bool announced = false;
  };
  struct Queue {
    std::uint64_t depth = 0;  ///< 0: any
    std::uint64_t posted = 0;
    std::uint64_t freed = 0;
    Fifo<Waiting> waiting;

    [[nodiscard]] std::uint64_t room() const { return depth == 0 ? UINT64_MAX : depth - (posted - freed); }
  };

  Queue& queue_of(const nic::WorkRequest& request) { return request.verb == nic::Verb::kReceive ? receives_ : sends_; }
  void add(const Waiting& waiting);
  void post_waiting(Queue& queue);
  void post_receives(Queue& queue);
  /// The first receives that wait, as many as there is room for.
  nic::WorkRequest take_receives(Queue& queue);
  void announce_waiting(Queue& queue);
  void settle();
  void note(const nic::Completion& entry);
  Task serve();

  nic::Verbs& nic_;
  Doorbell doorbell_;
  std::uint32_t queue_pair_;
  bool numbered_;
  bool serving_ = false;
  CompletionQueue* freed_;
  Queue sends_;
  Queue receives_;
};

}  // namespace weft::firmware
