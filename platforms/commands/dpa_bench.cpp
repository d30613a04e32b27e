// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/dpa_bench.h"

#include <string>
#include <tlm>
#include <vector>

#include "hw/core/register_file.h"
#include "hw/nic/work.h"

namespace weft::platforms {
namespace {

using firmware::CompletionQueue;
using firmware::Processor;
using firmware::ReceiveCost;
using firmware::Task;

constexpr std::uint64_t kDoorbell = 0;
constexpr std::uint64_t kStop = UINT64_MAX;
constexpr int kDepth = 16;
constexpr int kPackets = 4000;
// In times that a thread needs for a packet when it is alone.
constexpr int kWarmUp = 150;
constexpr int kWindow = 3000;

Task receive(Processor& processor, CompletionQueue& queue, std::uint32_t number, ReceiveCost cost) {
  for (std::int64_t received = 1;; ++received) {
    const nic::Completion entry = co_await queue.next();
    if (entry.id == kStop) co_return;
    processor.work(cost.packet);
    // Packets come in order, so every so many complete a chunk.
    if (cost.chunk_packets > 0 && received % cost.chunk_packets == 0) processor.work(cost.chunk);
    nic::WorkRequest request;
    request.queue_pair = number;
    request.verb = nic::Verb::kReceive;
    processor.write(0, kDoorbell, &request, sizeof request);
  }
}

}  // namespace

/// Stands for the interface: writes completions, and counts receives that are posted again.
class DpaBench::Source final : public sc_core::sc_module, public EventTarget {
 public:
  Source(sc_core::sc_module_name name, Dispatcher& dispatcher, Processor& processor)
      : sc_module(name), dispatcher_(dispatcher), doorbells_(dispatcher), out_("out"), in_("in") {
    dispatcher.attach(*this, this->name());
    doorbells_.add_window(kDoorbell, 1, 1, sizeof(nic::WorkRequest), sizeof(nic::WorkRequest),
                          [this](std::uint64_t /*address*/, const void* data, std::uint32_t /*bytes*/, Time at) {
                            dispatcher_.post(at, *this, kPosted,
                                             static_cast<const nic::WorkRequest*>(data)->queue_pair);
                            return true;
                          });
    out_.bind(initiator_);
    in_.bind(doorbells_);
    processor.device(0).bind(in_);
    out_.bind(processor.mailbox(0));
  }

  /// Always one more for each queue; counts what is posted again between two times.
  void saturate(const std::vector<CompletionQueue*>& queues, Time from, Time until) {
    reset(queues);
    from_ = from;
    until_ = until;
    line_ = Rate();
    for (std::size_t q = 0; q < queues.size(); ++q) {
      for (int i = 0; i < kDepth; ++i) write(q, 0);
    }
  }
  /// `packets` packets of a line, for each queue in turn.
  void feed(const std::vector<CompletionQueue*>& queues, Rate line, Bytes packet, std::int64_t packets) {
    reset(queues);
    line_ = line;
    bytes_ = packet;
    packets_ = packets;
    begin_ = dispatcher_.now();
    sent_ = 0;
    dispatcher_.post(begin_, *this, kPacket);
  }
  /// Ends the threads of all queues.
  void stop() {
    stopped_ = true;
    for (std::size_t q = 0; q < queues_.size(); ++q) write(q, kStop);
  }

  [[nodiscard]] std::int64_t counted() const { return counted_; }
  [[nodiscard]] bool dropped() const { return dropped_; }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override {
    if (tag == kStarted) return;
    if (tag == kPosted) {
      ++posted_[data];
      if (now > from_ && now <= until_) ++counted_;
      if (line_ == Rate() && !stopped_) write(data, 0);
      return;
    }
    const std::size_t q = static_cast<std::size_t>(sent_) % queues_.size();
    if (posted_[q] == 0) {
      dropped_ = true;
      return;
    }
    write(q, 0);
    if (++sent_ == packets_) return;
    const auto bits = static_cast<__int128>(sent_) * bytes_.count() * 8 * 1'000'000'000'000;
    dispatcher_.post(begin_ + Time(static_cast<std::int64_t>(bits / line_.count())), *this, kPacket);
  }

 private:
  // Receives posted at a time are there for the packet that comes then.
  static constexpr std::uint32_t kPosted = 0;
  static constexpr std::uint32_t kPacket = 1;
  static constexpr std::uint32_t kStarted = 2;

  /// SystemC warns of a start in which nothing happens.
  void start_of_simulation() override { dispatcher_.post(Time(), *this, kStarted); }

  void reset(const std::vector<CompletionQueue*>& queues) {
    queues_ = queues;
    posted_.assign(queues.size(), kDepth);
    from_ = until_ = kNever;
    counted_ = 0;
    dropped_ = stopped_ = false;
  }
  void write(std::size_t queue, std::uint64_t id) {
    nic::Completion entry;
    entry.id = id;
    --posted_[queue];
    write_through(*out_.operator->(), payload_, queues_[queue]->address(), &entry, sizeof entry, Time());
  }

  Dispatcher& dispatcher_;
  RegisterFile doorbells_;
  BlockingInitiator initiator_;
  tlm::tlm_initiator_socket<64> out_;
  tlm::tlm_target_socket<64> in_;
  tlm::tlm_generic_payload payload_;
  std::vector<CompletionQueue*> queues_;
  std::vector<int> posted_;
  Rate line_;
  Bytes bytes_;
  std::int64_t packets_ = 0;
  std::int64_t sent_ = 0;
  std::int64_t counted_ = 0;
  Time begin_;
  Time from_;
  Time until_;
  bool dropped_ = false;
  bool stopped_ = false;
};

DpaBench::DpaBench(const Processor::Config& config)
    : config_(config),
      dispatcher_("dispatcher"),
      processor_("processor", config, dispatcher_, 1, {}),
      source_(std::make_unique<Source>("source", dispatcher_, processor_)) {
  for (int i = 0; i < config.cores * config.threads; ++i) {
    queues_.push_back(&processor_.create_completion_queue("a packet"));
  }
  dispatcher_.run_until(Time());
}

DpaBench::~DpaBench() = default;

void DpaBench::begin(const ReceiveCost& cost, int threads) {
  for (int i = 0; i < threads; ++i) {
    processor_.spawn("receiver " + std::to_string(i), i,
                     receive(processor_, *queues_[static_cast<std::size_t>(i)], static_cast<std::uint32_t>(i), cost));
  }
}

void DpaBench::drain() {
  Time step(1'000'000'000);
  for (Time until = dispatcher_.now() + step; dispatcher_.pending() > 0; until += step) {
    dispatcher_.run_until(until);
    step += step;
  }
}

void DpaBench::end() {
  source_->stop();
  drain();
}

DpaBench::Cycles DpaBench::per_packet(const ReceiveCost& cost) const {
  const double chunks = cost.chunk_packets > 0 ? 1.0 / cost.chunk_packets : 0;
  const double instructions =
      static_cast<double>(cost.packet.instructions) + chunks * static_cast<double>(cost.chunk.instructions);
  const double accesses = static_cast<double>(cost.packet.accesses) + chunks * static_cast<double>(cost.chunk.accesses);
  const auto charged = static_cast<double>(config_.post_cycles + config_.poll_cycles);
  const double shared = charged + instructions + accesses * static_cast<double>(config_.port_cycles);
  return {.alone = shared + accesses * static_cast<double>(config_.access_cycles), .shared = shared};
}

double DpaBench::saturated_rate(const ReceiveCost& cost, int threads) {
  begin(cost, threads);
  const Time packet = cycle_time(static_cast<std::int64_t>(per_packet(cost).alone), config_.clock);
  const Time from = dispatcher_.now() + Time(kWarmUp * packet.count());
  const Time window = Time(kWindow * packet.count());
  source_->saturate({queues_.begin(), queues_.begin() + threads}, from, from + window);
  dispatcher_.run_until(from + window);
  end();
  return static_cast<double>(source_->counted()) / (static_cast<double>(window.count()) * 1e-12);
}

bool DpaBench::sustains(const ReceiveCost& cost, int threads, Rate line, Bytes packet) {
  begin(cost, threads);
  source_->feed({queues_.begin(), queues_.begin() + threads}, line, packet, std::int64_t{kPackets} * threads);
  drain();
  const bool dropped = source_->dropped();
  end();
  return !dropped;
}

int DpaBench::threads_for(const ReceiveCost& cost, Rate line, Bytes packet) {
  // What one thread needs for a packet when it is alone bounds the number from below, and what it holds of its core
  // says which lines are beyond all of them.
  const double rate = static_cast<double>(line.count()) / (8.0 * static_cast<double>(packet.count()));
  const double clock = static_cast<double>(config_.clock.count());
  const Cycles cycles = per_packet(cost);
  if (rate * cycles.shared / clock > config_.cores) return 0;
  const double least = rate * cycles.alone / clock;
  for (int threads = std::max(1, static_cast<int>(least)); threads <= config_.cores * config_.threads; ++threads) {
    if (sustains(cost, threads, line, packet)) return threads;
  }
  return 0;
}

}  // namespace weft::platforms
