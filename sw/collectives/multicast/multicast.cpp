// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/multicast/multicast.h"

#include <algorithm>
#include <bit>

#include "sw/collectives/followed.h"

namespace weft::collectives {

using firmware::Interface;
using firmware::QueuePair;

namespace {

constexpr std::uint32_t kValue = (1U << 29) - 1;  // of an immediate
constexpr std::uint32_t kSpareReceives = 8;       // of a connection, so that hardly a message has to be repeated
constexpr std::uint32_t kMostChunks = 1U << 24;
constexpr std::uint32_t kKeys = 8;  // of a group: what is late of a task is refused in the next ones

/// Rounds of a dissemination barrier (Hensgen, Finkel and Manber 1988).
int rounds_of(int size) {
  return std::bit_width(static_cast<unsigned>(size - 1));
}

}  // namespace

MulticastMember::MulticastMember(firmware::Rank& rank, const Interface& place, int position, int size,
                                 const MulticastConfig& config, std::string name)
    : config_(config),
      place_(place),
      chunk_(static_cast<std::uint64_t>(config.chunk.count())),
      cost_(copies() ? firmware::kDatagramReceive : firmware::kConnectionReceive),
      rank_(rank),
      position_(position),
      size_(size),
      name_(std::move(name)),
      trees_(groups(config, size) / config.subgroups),
      rounds_(static_cast<std::size_t>(rounds_of(size))),
      turns_(*place.processor, "its turn to multicast"),
      open_(*place.processor, "the fast path") {
  if (chunk_ == 0) chunk_ = static_cast<std::uint64_t>(place.network->config().mtu.count());
  firmware::Processor& processor = *place.processor;
  messages_ = &processor.create_completion_queue("a message or a read in " + name_ + ", queue");
  sent_ = &processor.create_completion_queue("chunks to leave in " + name_ + ", queue");
  for (int k = 0; k < rounds_of(size); ++k) {
    right_.emplace_back(place_, *messages_);
    left_.emplace_back(place_, *messages_);
  }
  first_queue_pair_ = right_.front().number();
  receivers_.resize(static_cast<std::size_t>(config.subgroups));
  if (place_.processor != rank.processor) {
    reports_ = &rank.processor->create_completion_queue("the offload of " + name_ + ", queue");
    orders_ = &processor.create_completion_queue("the host of " + name_ + ", queue");
    host_end_ = QueuePair(rank.scale_out, *reports_);
    place_end_ = QueuePair(place_, *orders_);
    QueuePair::connect(host_end_, place_end_);
    place_end_.provide(1, 0);
  }
  if (copies()) sends_ = firmware::DatagramQueuePair(place_, *sent_);
}

void MulticastMember::join(const std::vector<std::unique_ptr<MulticastMember>>& members,
                           const std::vector<std::uint32_t>& groups) {
  const std::size_t size = members.size();
  std::vector<nic::MemoryRegions*> interfaces;
  for (const auto& member : members) interfaces.push_back(&member->place_.nic->regions());
  const std::uint32_t first_key = nic::MemoryRegions::reserve(interfaces, kKeys);
  for (std::size_t i = 0; i < size; ++i) {
    MulticastMember& member = *members[i];
    member.first_key_ = first_key;
    for (std::size_t k = 0; k < member.right_.size(); ++k) {
      QueuePair& left = members[(i + (std::size_t{1} << k)) % size]->left_[k];
      QueuePair::connect(member.right_[k], left);
      for (QueuePair* end : {&member.right_[k], &left}) end->provide(kSpareReceives, 0);
    }
    const auto subgroups = static_cast<std::size_t>(member.config_.subgroups);
    const std::size_t own_tree = i % static_cast<std::size_t>(member.trees_);
    for (std::size_t s = 0; s < subgroups; ++s) {
      const std::uint32_t own = groups[own_tree * subgroups + s];
      member.groups_.push_back(own);
      if (!member.copies()) {
        member.group_sends_.push_back(firmware::GroupQueuePair::for_sending(member.place_, *member.sent_, own));
      }
      std::vector<std::uint32_t> received;
      for (std::size_t t = 0; t < static_cast<std::size_t>(member.trees_); ++t) {
        received.push_back(groups[t * subgroups + s]);
      }
      member.open_receiver(member.receivers_[s], received, s);
    }
  }
}

void MulticastMember::begin(std::uint64_t buffer, const BlockMap& blocks) {
  task_ = {};
  task_.number = ++tasks_;
  task_.buffer = buffer;
  std::vector<std::uint32_t> counts;
  std::uint64_t chunks = 0;
  std::uint64_t end = 0;
  int sources = 0;
  for (int i = 0; i < size_; ++i) {
    const Extent block = blocks(i);
    task_.blocks.push_back(block);
    const std::uint64_t count = Chunks{block, chunk_}.count();
    counts.push_back(static_cast<std::uint32_t>(count));
    chunks += count;
    end = std::max(end, block.offset + block.bytes);
    if (block.bytes > 0) ++sources;
  }
  if (chunks > kMostChunks) {
    throw ConfigError("collectives.multicast.chunk",
                      "expected a larger one for " + name_ + ": " + std::to_string(chunks) + " chunks of " +
                          to_text(Bytes(static_cast<std::int64_t>(chunk_))) + " make up " +
                          to_text(Bytes(static_cast<std::int64_t>(end))) + ", and 24 bits of an immediate tell " +
                          std::to_string(kMostChunks) + " apart");
  }
  task_.bytes = end;
  map_.begin(counts, position_);
  for (Receiver& receiver : receivers_) {
    receiver.missing = 0;
    receiver.over = false;
  }
  for (int i = 0; i < size_; ++i) {
    if (i == position_) continue;
    const std::uint32_t count = counts[static_cast<std::size_t>(i)];
    const auto subgroups = static_cast<std::uint32_t>(receivers_.size());
    for (std::uint32_t s = 0; s < subgroups; ++s) {
      receivers_[s].missing += count / subgroups + (s < count % subgroups ? 1 : 0);
    }
  }
  // Chains take their turns one after the other, each as many as there are sources in it.
  const int chains = config_.chains == 0 ? size_ : config_.chains;
  if (sources > 1) task_.turns = size_ % chains == 0 ? size_ / chains : size_;
  const Rate rate = place_.network->end_link(place_.nic->end()).rate;
  const Time least = transfer_time(Bytes(static_cast<std::int64_t>(end)), rate) + config_.activation * task_.turns;
  task_.cutoff = Time(rounded(static_cast<double>(least.count()) * config_.cutoff, "the cut-off of a multicast in ps"));
  ready_ = received_ = fetching_ = 0;
  has_sent_ = has_asked_ = has_answer_ = false;
  phases_ = {.tasks = tasks_, .barrier = {}, .fast_path = {}, .cutoff = {}, .recovery = {}};
  last_chunk_ = all_sent_ = {};
}

firmware::Task MulticastMember::distribute(std::uint64_t buffer, BlockMap blocks) {
  return perform([this, buffer, blocks = std::move(blocks)] { return distribute_here(buffer, blocks); });
}

firmware::Task MulticastMember::perform(Step step) {
  follow(rank_.followed, Followed::kMulticast);
  if (host_end_.number() == place_end_.number()) {  // no offload
    co_await step();
    co_return;
  }
  host_end_.receive(0, 0);
  place_.processor->spawn(name_ + " of member " + std::to_string(position_), 0, obey(std::move(step)));
  host_end_.send_immediate(0);
  co_await reports_->next();
}

firmware::Task MulticastMember::obey(Step step) {
  co_await orders_->next();
  place_end_.receive(0, 0);
  co_await step();
  place_end_.send_immediate(0);
}

firmware::Task MulticastMember::distribute_here(std::uint64_t buffer, BlockMap blocks) {
  begin(buffer, blocks);
  co_await meet();
  firmware::Processor& processor = *place_.processor;
  nic::MemoryRegions& regions = place_.nic->regions();
  task_.key = first_key_ + static_cast<std::uint32_t>(task_.number % kKeys);
  regions.open(task_.key, buffer, task_.bytes);
  const auto count = static_cast<int>(receivers_.size());
  for (int i = 0; i < count; ++i) {
    processor.spawn(name_ + " receiver " + std::to_string(i) + " of member " + std::to_string(position_), 1 + i,
                    receive(receivers_[static_cast<std::size_t>(i)]));
  }
  co_await until([this, count] { return ready_ == count; });
  co_await meet();
  phases_.barrier = processor.now();
  const std::int64_t cutoffs = counters_.cutoffs;
  open_.set(task_.number);
  processor.spawn(name_ + " sender of member " + std::to_string(position_), 1 + count, send());
  co_await until([this, count] { return received_ == count; });
  end_fast_path(counters_.cutoffs > cutoffs);
  co_await recover();
  co_await until([this] { return has_sent_; });
  // What it multicasts may leave later than the last chunk comes: then it ends its fast path.
  phases_.fast_path = std::max(phases_.fast_path, all_sent_);
  phases_.cutoff = std::max(phases_.cutoff, phases_.fast_path);
  phases_.recovery = std::max(phases_.recovery, phases_.cutoff);
  regions.remove(task_.key, processor.now());
}

void MulticastMember::end_fast_path(bool cut) {
  phases_.cutoff = place_.processor->now();
  phases_.fast_path = cut ? std::clamp(last_chunk_, phases_.barrier, phases_.cutoff) : phases_.cutoff;
}

void MulticastMember::take(const nic::Completion& entry) {
  if (entry.verb == nic::Verb::kRead) {
    ++reads_;
    return;
  }
  if (entry.verb == nic::Verb::kReceive) {
    const std::uint32_t pair = entry.queue_pair - first_queue_pair_;
    (pair % 2 == 0 ? right_ : left_)[pair / 2].receive(0, 0);
    hear(entry.immediate >> 29, entry.immediate & kValue);
    return answer();
  }
  switch (entry.id) {
    case kReady:
      ++ready_;
      break;
    case kReceived:
      ++received_;
      answer();
      break;
    case kSent:
      has_sent_ = true;
      all_sent_ = place_.processor->now();
      break;
    default:
      ++told_;
  }
}

void MulticastMember::hear(std::uint32_t what, std::uint32_t value) {
  switch (static_cast<Say>(what)) {
    case Say::kMeet:
      ++rounds_[value];
      break;
    case Say::kTurn:
      turns_.increment();
      break;
    case Say::kFetch:
      has_asked_ = true;
      asked_for_ = static_cast<int>(value);
      break;
    case Say::kKey:
      has_answer_ = true;
      answer_ = value;
      break;
    case Say::kDone:
      ++right_done_;
      break;
  }
}

firmware::Task MulticastMember::meet() {
  ++meetings_;
  for (std::uint32_t k = 0; k < rounds_.size(); ++k) {
    right_[k].send_immediate(say(Say::kMeet, k));
    co_await until([this, k] { return rounds_[k] >= meetings_; });
  }
}

Time MulticastMember::gap() const {
  if (config_.pace == 0) return {};
  const std::uint32_t end = place_.nic->end();
  const std::uint32_t wire = place_.network->end_config(end).wire_bytes(static_cast<std::uint32_t>(chunk_));
  const Time least = transfer_time(Bytes(wire), place_.network->end_link(end).rate);
  int members = 0;  // that send in the same turn: of a Broadcast the root alone
  for (int i = position_ % task_.turns; i < size_; i += task_.turns) {
    if (task_.blocks[static_cast<std::size_t>(i)].bytes > 0) ++members;
  }
  return Time(
      rounded(static_cast<double>(least.count()) * members / config_.pace, "the gap of a paced multicast in ps"));
}

firmware::Task MulticastMember::send() {
  const int turn = position_ % task_.turns;
  if (turn != 0) co_await turns_.reach(++turns_taken_);
  const Chunks chunks{task_.blocks[static_cast<std::size_t>(position_)], chunk_};
  const auto batch = static_cast<std::uint64_t>(config_.batch);
  firmware::Processor& processor = *place_.processor;
  const Time began = processor.now();
  const Time between = gap();
  std::uint64_t under_way = 0;
  const std::uint64_t step = between > Time() ? 1 : batch;
  for (std::uint64_t from = 0; from < chunks.count(); from += step) {
    const Time due = began + between * static_cast<std::int64_t>(from);
    if (due > processor.now()) co_await processor.delay(due - processor.now());
    const std::uint64_t to = std::min(from + step, chunks.count());
    const bool completes = to % batch == 0 || to == chunks.count();
    const std::uint64_t latest = post(chunks, from, to, completes);
    if (!completes) continue;
    for (; under_way > 0; --under_way) co_await sent_->next();
    under_way = latest;
  }
  for (; under_way > 0; --under_way) co_await sent_->next();
  if (turn + 1 != task_.turns) right_[0].send_immediate(say(Say::kTurn, 0));
  messages_->signal(kSent);
}

std::uint64_t MulticastMember::post(const Chunks& chunks, std::uint64_t from, std::uint64_t to, bool completes) {
  const std::uint32_t first = static_cast<std::uint32_t>(task_.number % 256) << 24 | map_.first(position_);
  const auto subgroups = static_cast<std::uint64_t>(config_.subgroups);
  // Datagrams leave by one queue pair; else each subgroup has its own.
  const std::uint64_t queues = copies() ? 1 : subgroups;
  std::vector<nic::WorkRequest> requests;
  std::uint64_t signaled = 0;
  for (std::uint64_t queue = 0; queue < queues; ++queue) {
    requests.clear();
    for (std::uint64_t i = from + (queue + subgroups - from % subgroups) % queues; i < to; i += queues) {
      const Extent chunk = chunks[i];
      const std::uint64_t address = task_.buffer + chunk.offset;
      const std::uint32_t immediate = first + static_cast<std::uint32_t>(i);
      requests.push_back(
          copies()
              ? firmware::DatagramQueuePair::to_group(groups_[i % subgroups], address, chunk.bytes, immediate, false)
              : firmware::GroupQueuePair::to_group(address, address, chunk.bytes, true, immediate, false, task_.key));
    }
    if (requests.empty()) continue;
    requests.back().signaled = completes;
    signaled += completes ? 1 : 0;
    if (copies()) {
      sends_.post_batch(requests);
    } else {
      group_sends_[queue].post_batch(requests);
    }
  }
  return signaled;
}

}  // namespace weft::collectives
