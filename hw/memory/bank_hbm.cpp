// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/bank_hbm.h"

#include <algorithm>

#include "hw/core/annotation.h"
#include "hw/memory/payload_bytes.h"

namespace weft::memory {
namespace {

constexpr int kKindShift = 16;
// A burst's tag: its master, its queue (64 stacks of 1024 channels of 4 at the most), its index.
constexpr int kQueueShift = 32;
constexpr int kPortShift = 52;
constexpr std::uint64_t kQueueMask = (1ULL << (kPortShift - kQueueShift)) - 1;

bool reads_or_writes(const tlm::tlm_generic_payload& payload) {
  return payload.is_read() || payload.is_write();
}

}  // namespace

BankHbm::Port::Port(BankHbm& owner_hbm, const std::string& master, std::size_t number)
    : name(master), socket(("from_" + master).c_str()), owner(owner_hbm), index(static_cast<std::uint32_t>(number)) {
  socket.bind(*this);
}

BankHbm::BankHbm(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher,
                 const std::vector<std::string>& masters, bool data, dram::CommandObserver* observer)
    : Memory(name),
      config_(config),
      dispatcher_(dispatcher),
      data_(data),
      link_time_(config.interconnect_rate == Rate() ? ByteTime() : ByteTime(config.interconnect_rate)),
      burst_bytes_(static_cast<std::uint64_t>(config.device.geometry.burst.count())),
      pseudo_channels_(static_cast<std::uint32_t>(config.device.geometry.pseudo_channels)),
      memory_(config, observer),
      capacity_(config.capacity == Bytes(0) ? memory_.map().capacity()
                                            : static_cast<std::uint64_t>(config.capacity.count())),
      ports_(masters.size()),
      turn_(static_cast<std::size_t>(config.channels()) * pseudo_channels_),
      served_(turn_.size()) {
  for (const std::string& master : masters) {
    ports_.emplace_back(*this, master, ports_.size());
    ports_[ports_.size() - 1].waiting.resize(turn_.size());
    ports_[ports_.size() - 1].served.resize(turn_.size());
  }
  dispatcher.attach(*this, this->name());
}

BankHbm::~BankHbm() = default;

void BankHbm::record(Waves& waves) {
  for (Port& port : ports_) {
    if (waves.wants(port.socket.name())) port.waves = std::make_unique<MemoryWaves>(waves, port.socket.name());
  }
}

dram::Counters BankHbm::dram_counters() {
  run_memory(memory_.clock_at(dispatcher_.now()));
  return memory_.counters();
}

dram::EnergyUse BankHbm::energy() {
  return dram::energy_of(dram_counters(), config_.device, dispatcher_.now(), config_.stacks);
}

std::optional<double> BankHbm::command_energy(std::size_t master) {
  std::int64_t bursts = 0;
  for (const Port& port : ports_) bursts += port.counters.bursts;
  if (bursts == 0) return 0;
  const double share = static_cast<double>(ports_[master].counters.bursts) / static_cast<double>(bursts);
  return energy().commands() * 1e-12 * share;
}

Memory::Traffic BankHbm::traffic(std::size_t master) const {
  const Counters& counters = ports_[master].counters;
  const double bytes = static_cast<double>(counters.bursts) * static_cast<double>(burst_bytes_);
  const double busy = bytes / config_.peak_bytes_per_second() * 1e12;
  return {counters.reads,
          counters.writes,
          counters.read_bytes,
          counters.written_bytes,
          Time(static_cast<std::int64_t>(busy)),
          counters.for_others};
}

void BankHbm::post(Time when, std::uint32_t kind, const Port& port, Transaction* transaction) {
  dispatcher_.post(when, *this, kind << kKindShift | port.index, reinterpret_cast<std::uintptr_t>(transaction));
}

void BankHbm::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  Port& port = ports_[tag & ((1U << kKindShift) - 1)];
  auto* transaction = reinterpret_cast<Transaction*>(data);
  switch (tag >> kKindShift) {
    case kArrival:
      port.arrival_at = kNever;
      run_memory(memory_.clock_at(now));
      arrive(port, memory_.clock_at(now));
      expect_memory();
      break;
    case kMemory:
      if (now != memory_at_) break;  // something came before it
      memory_at_ = kNever;
      run_memory(memory_.clock_at(now) + 1);
      expect_memory();
      break;
    case kRequest:
      take(*transaction, now);
      break;
    case kRoom:
      if (now != port.room_at) break;
      port.room_at = kNever;
      enter(port, now);
      break;
    case kAnswer:
      port.answers.push_back(transaction);
      answer(port, now);
      break;
    default:
      answer(port, now);
      break;
  }
}

// From a request to places for its bursts.

bool BankHbm::in_range(const tlm::tlm_generic_payload& payload) const {
  return payload.get_address() < capacity_ && payload.get_data_length() <= capacity_ - payload.get_address();
}

tlm::tlm_response_status BankHbm::check(const tlm::tlm_generic_payload& payload) const {
  if (!reads_or_writes(payload)) return tlm::TLM_OK_RESPONSE;
  if (!in_range(payload)) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  return payload.get_data_length() == 0 ? tlm::TLM_BURST_ERROR_RESPONSE : check_attributes(payload);
}

BankHbm::Transaction* BankHbm::begin(tlm::tlm_generic_payload& payload, Port& port, Time at) {
  if (free_transactions_.empty()) {
    transactions_.push_back(std::make_unique<Transaction>());
    free_transactions_.push_back(transactions_.back().get());
  }
  Transaction* transaction = free_transactions_.back();
  free_transactions_.pop_back();
  *transaction = Transaction();
  transaction->payload = &payload;
  transaction->port = &port;
  transaction->begin = at;
  return transaction;
}

void BankHbm::take(Transaction& transaction, Time now) {
  tlm::tlm_generic_payload& payload = *transaction.payload;
  payload.set_dmi_allowed(false);
  // Bursts that are under way leave it at that; an error is answered without any.
  payload.set_response_status(check(payload));
  transaction.port->entering.push_back(&transaction);
  if (transaction.port->entering.size() != 1) return;
  show_first(*transaction.port, now);
  enter(*transaction.port, now);
}

/// The request whose turn it is.
void BankHbm::show_first(Port& port, Time now) {
  if (port.waves == nullptr || port.entering.empty()) return;
  Transaction& first = *port.entering.front();
  first.shown = port.waves->ask(*first.payload, now);
}

void BankHbm::enter(Port& port, Time now) {
  for (std::deque<Time>& each : port.returns) {
    while (!each.empty() && each.front() <= now) {
      each.pop_front();
      --port.places;
    }
  }
  while (!port.entering.empty()) {
    Transaction& transaction = *port.entering.front();
    if (!enter_bursts(transaction, now)) {
      expect_room(port, now);
      return;
    }
    port.entering.pop_front();
    if (port.waves != nullptr) port.waves->take(now);
    show_first(port, now);
    end_request(transaction, now);
  }
}

Time BankHbm::link_of_others(const Port& port, Time now) {
  while (!crossings_.empty() && crossings_.front().end <= now) {
    ports_[crossings_.front().port].on_link -= crossings_.front().length;
    crossings_.pop_front();
  }
  if (crossings_.empty()) return {};
  const Crossing& first = crossings_.front();
  const Time crossed = std::max(Time(), now - (first.end - first.length));
  const Time own = port.on_link - (first.port == port.index ? crossed : Time());
  return link_free_ - now - own;
}

bool BankHbm::enter_bursts(Transaction& transaction, Time now) {
  const tlm::tlm_generic_payload& payload = *transaction.payload;
  if (!reads_or_writes(payload) || payload.is_response_error()) {
    transaction.done = now + config_.latency;
    return true;
  }
  Port& port = *transaction.port;
  const auto arrival = [this](Time leaves) {
    return memory_.time_of(memory_.clock_at(leaves + config_.latency + config_.controller.latency));
  };
  const bool limited = config_.interconnect_rate > Rate();
  const Time from = std::max(now, link_free_);
  const Time others = limited ? link_of_others(port, now) : Time();
  std::int64_t carried = 0;
  Time arrives = arrival(now);
  const std::uint32_t length = payload.get_data_length();
  while (transaction.entered < length && port.places < config_.outstanding) {
    if (free_burst_ == kNone) {
      bursts_.emplace_back();
      free_burst_ = static_cast<std::uint32_t>(bursts_.size() - 1);
    }
    const std::uint32_t index = free_burst_;
    Burst& burst = bursts_[index];
    free_burst_ = burst.next;
    const std::uint64_t address = payload.get_address() + transaction.entered;
    burst.transaction = &transaction;
    burst.location = memory_.locate(address);
    burst.queue = burst.location.channel * pseudo_channels_ + burst.location.pseudo_channel;
    burst.offset = transaction.entered;
    burst.bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(length - transaction.entered, burst_bytes_ - address % burst_bytes_));
    if (limited) {
      const Time begins = from + link_time_(carried);
      carried += static_cast<std::int64_t>(burst_bytes_);
      port.counters.crossing += begins - now;
      arrives = arrival(begins);
    }
    burst.arrives = arrives;
    burst.others_crossed = others;
    append(port.arriving, index);
    transaction.entered += burst.bytes;
    ++transaction.pending;
    ++port.places;
  }
  if (limited && carried > 0) {
    link_free_ = from + link_time_(carried);
    crossings_.push_back({link_free_, link_free_ - from, port.index});
    port.on_link += link_free_ - from;
  }
  if (port.arrival_at == kNever && port.arriving.head != kNone) {
    port.arrival_at = bursts_[port.arriving.head].arrives;
    post(port.arrival_at, kArrival, port);
  }
  return transaction.entered == length;
}

void BankHbm::end_request(Transaction& transaction, Time now) {
  Port& port = *transaction.port;
  transaction.taken = true;
  port.counters.held += now - transaction.begin;
  if (transaction.waiting == nullptr && !transaction.in_call) {
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay;
    port.socket->nb_transport_bw(*transaction.payload, phase, delay);
  }
  if (transaction.pending == 0) finish(transaction);
}

void BankHbm::expect_room(Port& port, Time now) {
  // If nothing is due to be given back, the next burst that is done says when.
  if (port.entering.empty()) return;
  const Time next = port.next_return();
  if (next == kNever || port.room_at <= next) return;
  port.room_at = std::max(now, next);
  post(port.room_at, kRoom, port);
}

// From places to the controllers.

void BankHbm::append(List& list, std::uint32_t index) {
  bursts_[index].next = kNone;
  (list.head == kNone ? list.head : bursts_[list.tail].next) = index;
  list.tail = index;
}

void BankHbm::arrive(Port& port, dram::Clock now) {
  const Time time = memory_.time_of(now);
  while (port.arriving.head != kNone) {
    const std::uint32_t index = port.arriving.head;
    Burst& burst = bursts_[index];
    if (burst.arrives > time) {
      port.arrival_at = burst.arrives;
      return post(port.arrival_at, kArrival, port);
    }
    port.arriving.head = burst.next;
    burst.served_of_all = served_[burst.queue];
    burst.served_of_own = port.served[burst.queue];
    List& waiting = port.waiting[burst.queue];
    if (waiting.head != kNone || !push(port, index, now)) append(waiting, index);
  }
}

void BankHbm::offer(Port& port, std::uint32_t queue, dram::Clock now) {
  List& waiting = port.waiting[queue];
  while (waiting.head != kNone) {
    const std::uint32_t index = waiting.head;
    const std::uint32_t next = bursts_[index].next;
    if (!push(port, index, now)) return;
    waiting.head = next;
  }
}

bool BankHbm::is_partial(const Burst& burst) const {
  return burst.bytes < burst_bytes_ || !all_enabled(*burst.transaction->payload, burst.offset, burst.bytes);
}

bool BankHbm::push(Port& port, std::uint32_t index, dram::Clock now) {
  Burst& burst = bursts_[index];
  const Time time = memory_.time_of(now);
  const bool write = burst.transaction->payload->is_write();
  const std::uint64_t tag = static_cast<std::uint64_t>(port.index) << kPortShift |
                            static_cast<std::uint64_t>(burst.queue) << kQueueShift | index;
  const bool partial = write && is_partial(burst);
  const dram::Accept accept = memory_.push({burst.location, write, burst.arrives, tag, partial}, now);
  if (accept == dram::Accept::kFull || accept == dram::Accept::kBehindRead) return false;
  turn_[burst.queue] = port.index;
  port.counters.waited += time - burst.arrives;
  if (data_) move_bytes(store_, *burst.transaction->payload, burst.offset, burst.bytes);
  if (accept == dram::Accept::kQueued) ++queued_;
  if (write || accept == dram::Accept::kForwarded) {
    burst_done(index, time, /*at_once=*/true, for_others(burst, time - burst.arrives, /*pending=*/true));
  }
  return true;
}

Time BankHbm::for_others(const Burst& burst, Time waited, bool pending) const {
  const std::uint32_t all = served_[burst.queue] - burst.served_of_all + (pending ? 1 : 0);
  const std::uint32_t own = burst.transaction->port->served[burst.queue] - burst.served_of_own + (pending ? 1 : 0);
  if (all == own || waited <= Time()) return burst.others_crossed;
  const double share = static_cast<double>(all - own) / static_cast<double>(all);
  return burst.others_crossed + Time(static_cast<std::int64_t>(static_cast<double>(waited.count()) * share));
}

void BankHbm::burst_done(std::uint32_t index, Time done, bool at_once, Time for_others) {
  Burst& burst = bursts_[index];
  Transaction& transaction = *burst.transaction;
  if (done >= transaction.done) transaction.for_others = for_others;
  burst.next = free_burst_;
  free_burst_ = index;
  Port& port = *transaction.port;
  transaction.done = std::max(transaction.done, done);
  ++port.counters.bursts;
  const Time back = done + config_.latency;
  std::deque<Time>& returns = port.returns[at_once ? 0 : 1];
  // With ECC a read can be done behind those of later commands.
  auto place = returns.end();
  while (place != returns.begin() && *(place - 1) > back) --place;
  returns.insert(place, back);
  expect_room(port, dispatcher_.now());
  if (--transaction.pending == 0 && transaction.taken) finish(transaction);
}

void BankHbm::run_memory(dram::Clock until) {
  for (dram::Clock at = memory_.next(); at < until; at = memory_.next()) step(at);
}

void BankHbm::step(dram::Clock now) {
  const dram::PseudoChannel::Served served = memory_.step();
  if (!served.any) return;
  const std::uint32_t queue = served.internal ? served.channel * pseudo_channels_ + served.pseudo_channel
                                              : static_cast<std::uint32_t>(served.tag >> kQueueShift & kQueueMask);
  if (!served.internal) {
    --queued_;
    ++served_[queue];
    ++ports_[served.tag >> kPortShift].served[queue];
  }
  if (!served.write && !served.internal) {
    const auto index = static_cast<std::uint32_t>(served.tag);
    const Burst& burst = bursts_[index];
    const Time waited =
        memory_.time_of(now) - burst.arrives - config_.device.timing.clock * config_.device.timing.rcdrd;
    burst_done(index, memory_.time_of(served.done), /*at_once=*/false, for_others(burst, waited, /*pending=*/false));
  }
  // Those that wait for this queue, beginning behind the one that was let in last.
  const std::size_t last = turn_[queue];
  for (std::size_t i = 1; i <= ports_.size(); ++i) {
    Port& port = ports_[(last + i) % ports_.size()];
    offer(port, queue, now);
  }
}

void BankHbm::expect_memory() {
  if (queued_ == 0) return;  // refreshes are made up for when something comes
  const Time next = memory_.time_of(memory_.next());
  if (next >= memory_at_) return;
  memory_at_ = next;
  dispatcher_.post(next, *this, kMemory << kKindShift);
}

// Answers.

void BankHbm::finish(Transaction& transaction) {
  const Time at = transaction.done + config_.latency;
  if (transaction.waiting == nullptr) {
    post(at, kAnswer, *transaction.port, &transaction);
  } else {
    count(transaction, at);
    Port& port = *transaction.port;
    if (port.waves != nullptr) port.waves->answer_at(transaction.shown, *transaction.payload, at);
    dispatcher_.notify(*transaction.waiting, at);
  }
}

void BankHbm::count(const Transaction& transaction, Time at) {
  Counters& counters = transaction.port->counters;
  tlm::tlm_generic_payload& payload = *transaction.payload;
  if (payload.is_response_error()) {
    ++counters.errors;
    return;
  }
  payload.set_dmi_allowed(data_);
  if (payload.is_read()) {
    ++counters.reads;
    counters.for_others += transaction.for_others;
    counters.read_bytes += payload.get_data_length();
    counters.read_latency += at - transaction.begin;
  } else if (payload.is_write()) {
    ++counters.writes;
    counters.for_others += transaction.for_others;
    counters.written_bytes += payload.get_data_length();
    counters.write_latency += at - transaction.begin;
  }
}

void BankHbm::answer(Port& port, Time now) {
  if (port.answers.empty() || port.answered != nullptr || now < port.answer_free) return;
  Transaction& transaction = *port.answers.front();
  port.answers.pop_front();
  port.answered = &transaction;
  count(transaction, now);
  if (port.waves != nullptr) port.waves->answer(transaction.shown, *transaction.payload, now);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay;
  const tlm::tlm_sync_enum sync = port.socket->nb_transport_bw(*transaction.payload, phase, delay);
  if (sync == tlm::TLM_ACCEPTED) return;
  end_response(port, now + from_delay(delay));
}

void BankHbm::end_response(Port& port, Time at) {
  Transaction* transaction = port.answered;
  if (transaction == nullptr) return;
  port.answered = nullptr;
  port.answer_free = at;
  if (port.waves != nullptr) port.waves->end_answer(at);
  tlm::tlm_generic_payload* payload = transaction->payload;
  retire(*transaction);
  if (!port.answers.empty() || at > dispatcher_.now()) post(at, kAnswerFree, port);
  if (payload->has_mm()) payload->release();
}

void BankHbm::retire(Transaction& transaction) {
  free_transactions_.push_back(&transaction);
}

}  // namespace weft::memory
