// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/line/line.h"

#include <algorithm>
#include <utility>

#include "sw/collectives/line/line_algorithms.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

namespace {

// Whose a completion is: a passage's, by its slot, if it is neither of these.
constexpr std::uint64_t kEngineBit = 1ULL << 63;  // and the strand and the slot
constexpr int kStrandBit = 32;
constexpr std::uint64_t kReceive = 1ULL << 62;  // and the peer
constexpr std::uint64_t kWake = UINT64_MAX;

constexpr std::uint64_t kLeastPart = 64 << 10;  // of a reduction that is divided among engines
constexpr std::size_t kSlots = 256;

/// What an immediate says.
struct Immediate {
  bool permission;
  int strand;          ///< 1 bit
  std::uint32_t slot;  ///< 8
  Passage::Name name;  ///< 4 bits of the step, 18 of the stream

  static constexpr std::uint32_t kStreams = 1 << 18;

  [[nodiscard]] std::uint32_t pack() const {
    return static_cast<std::uint32_t>(permission) << 31 | static_cast<std::uint32_t>(strand) << 30 | slot << 22 |
           name.step << 18 | name.stream % kStreams;
  }
  static Immediate unpack(std::uint32_t bits) {
    return {bits >> 31 != 0, static_cast<int>(bits >> 30 & 1), bits >> 22 & 0xff, {bits % kStreams, bits >> 18 & 0xf}};
  }
};

}  // namespace

std::vector<std::unique_ptr<LineMember>> LineMember::join(const std::vector<Rank*>& ranks, const Options& options,
                                                          int core, const std::string& name) {
  const int members = static_cast<int>(ranks.size());
  std::vector<std::unique_ptr<LineMember>> all;
  auto line = std::make_shared<std::vector<LineMember*>>();
  for (int i = 0; i < members; ++i) {
    all.push_back(std::make_unique<LineMember>(*ranks[static_cast<std::size_t>(i)], i, members, options, core, name));
    line->push_back(all.back().get());
  }
  for (const auto& member : all) member->line_ = line;
  return all;
}

LineMember::LineMember(Rank& rank, int position, int members, const Options& options, int core, std::string name)
    : rank_(rank),
      position_(position),
      members_(members),
      options_(options),
      core_(core),
      name_(std::move(name)),
      completions_(&rank.processor->create_completion_queue("a peer's permission or message, or an engine, in " +
                                                            name_ + ", queue")),
      connections_(static_cast<std::size_t>(members)),
      slots_(kSlots) {}

void LineMember::enqueue(std::function<Phase()> phase, Passage::Name name, Precedence precedence,
                         std::function<void()> done) {
  name.stream %= Immediate::kStreams;
  const auto place =
      std::upper_bound(waiting_.begin(), waiting_.end(), precedence,
                       [](const Precedence& mine, const Waiting& other) { return mine.before(other.precedence); });
  waiting_.insert(place, {std::move(phase), name, precedence, std::move(done)});
  if (!running_) {
    running_ = true;
    rank_.processor->spawn(name_, core_, run(), options_.about);
  } else if (!awake_) {
    completions_->signal(kWake);
  }
}

Task LineMember::run() {
  awake_ = true;
  for (;;) {
    start_waiting();
    if (active_.empty()) break;
    awake_ = false;
    const nic::Completion entry = co_await completions_->next();
    awake_ = true;
    take(entry);
  }
  awake_ = running_ = false;
}

void LineMember::start_waiting() {
  // What a peer waits for comes first.
  for (std::size_t i = 0; i < early_.size(); ++i) {
    const auto wanted = std::find_if(waiting_.begin(), waiting_.end(),
                                     [&](const Waiting& waiting) { return waiting.name == early_[i].name; });
    if (wanted == waiting_.end()) continue;
    start(static_cast<std::size_t>(wanted - waiting_.begin()));
    i = static_cast<std::size_t>(-1);  // permissions have been taken
  }
  while (!waiting_.empty() && active_.size() < static_cast<std::size_t>(options_.active)) start(0);
}

void LineMember::start(std::size_t index) {
  const auto free = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.taken; });
  const auto slot = static_cast<std::uint32_t>(free - slots_.begin());
  if (free == slots_.end()) throw std::length_error(name_ + " has more chunks under way than it can tell apart");
  Waiting waiting = std::move(waiting_[index]);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
  slots_[slot].taken = true;
  active_.push_back({std::make_unique<Passage>(*this, waiting.phase(), waiting.name, slot), std::move(waiting.done)});
  Passage& passage = *active_.back().passage;
  std::erase_if(early_, [&](const Permission& permission) {
    if (permission.name != waiting.name) return false;
    passage.permitted(permission.peer, permission.strand, permission.slot);
    return true;
  });
  passage.start();
  if (passage.finished()) finish(active_.size() - 1);
}

LineMember::Active* LineMember::find(Passage::Name name) {
  const auto found =
      std::find_if(active_.begin(), active_.end(), [&](const Active& each) { return each.passage->name() == name; });
  return found == active_.end() ? nullptr : &*found;
}

void LineMember::take(const nic::Completion& entry) {
  if (entry.id == kWake) return;
  Active* active = nullptr;
  if ((entry.id & kReceive) != 0) {
    active = take_message(entry);
  } else {
    const auto slot = static_cast<std::uint32_t>(entry.id);
    active = &*std::find_if(active_.begin(), active_.end(),
                            [slot](const Active& each) { return each.passage->slot() == slot; });
    if ((entry.id & kEngineBit) != 0) {
      active->passage->computed(static_cast<int>(entry.id >> kStrandBit & 1));
    } else {
      active->passage->written();
    }
  }
  if (active == nullptr) return;
  active->passage->proceed();
  if (active->passage->finished()) finish(static_cast<std::size_t>(active - active_.data()));
}

LineMember::Active* LineMember::take_message(const nic::Completion& entry) {
  const int peer = static_cast<int>(entry.id & ~kReceive);
  const Immediate said = Immediate::unpack(entry.immediate);
  Active* active = find(said.name);
  if (!said.permission) {
    active->passage->came(peer, said.strand);  // nobody writes without having been permitted to
    return active;
  }
  connection(peer).used();
  if (active == nullptr) {
    early_.push_back({said.name, peer, said.strand, said.slot});
  } else {
    active->passage->permitted(peer, said.strand, said.slot);
  }
  return active;
}

void LineMember::finish(std::size_t index) {
  slots_[active_[index].passage->slot()].taken = false;
  const std::function<void()> done = std::move(active_[index].done);
  active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
  done();
}

firmware::StockedPair& LineMember::connection(int peer) {
  const auto at = static_cast<std::size_t>(peer);
  if (connections_[at] != nullptr) return *connections_[at];
  LineMember& theirs = *(*line_)[at];
  const auto make = [](LineMember& here, LineMember& there) -> firmware::StockedPair& {
    auto& made = here.connections_[static_cast<std::size_t>(there.position_)];
    made = std::make_unique<firmware::StockedPair>(here.rank_.towards(there.rank_), *here.completions_,
                                                   kReceive | static_cast<std::uint64_t>(there.position_));
    return *made;
  };
  firmware::StockedPair& here = make(*this, theirs);
  firmware::StockedPair::join(here, make(theirs, *this));
  return *connections_[at];
}

void LineMember::reserve(std::uint32_t slot, std::uint64_t bytes) {
  if (slots_[slot].bytes >= bytes) return;
  slots_[slot].address = rank_.memory.allocate("staging memory of " + name_, bytes);
  slots_[slot].bytes = bytes;
}

void LineMember::expect(int peer, int messages, Passage::Name name, int strand, std::uint32_t slot) {
  firmware::StockedPair& to = connection(peer);
  to.expect(messages);
  to.pair().send_immediate(Immediate{true, strand, slot, name}.pack());
}

void LineMember::write(int peer, const Pieces& from, const Pieces& to, Passage::Name name, int strand,
                       std::uint32_t slot) {
  firmware::QueuePair& pair = connection(peer).pair();
  const std::uint32_t immediate = Immediate{false, strand, slot, name}.pack();
  std::uint64_t left = bytes_of(from);
  if (left == 0) pair.write(0, 0, 0, true, immediate, true, slot);
  zip(
      [&](std::uint64_t bytes, std::uint64_t local, std::uint64_t remote) {
        left -= bytes;
        pair.write(local, remote, bytes, left == 0, immediate, left == 0, slot);
      },
      from, to);
}

std::uint64_t LineMember::engines_for(std::uint64_t bytes) const {
  const auto own = static_cast<std::uint64_t>(std::max(rank_.copy_engines / options_.dimensions, 1));
  return std::clamp<std::uint64_t>(bytes / kLeastPart, 1, own);
}

/// Slots begin at different ones of the dimension's engines, or small reductions would all be the first one's.
std::uint32_t LineMember::engine(std::uint32_t slot, std::uint32_t part) const {
  const int own = std::max(rank_.copy_engines / options_.dimensions, 1);
  const int at = (static_cast<int>(slot) + static_cast<int>(part)) % own;
  return static_cast<std::uint32_t>((options_.dimension * own + at) % rank_.copy_engines);
}

void LineMember::reduce(ElementType type, std::uint64_t source, std::uint64_t other, std::uint64_t target,
                        std::uint64_t bytes, std::uint32_t part, std::uint32_t slot, int strand) {
  rank_.accelerator.reduce(engine(slot, part), type, source, other, target, bytes, *completions_,
                           kEngineBit | static_cast<std::uint64_t>(strand) << kStrandBit | slot);
}

void LineMember::copy(std::uint64_t source, std::uint64_t target, std::uint64_t bytes, std::uint32_t part,
                      std::uint32_t slot, int strand) {
  rank_.accelerator.copy(engine(slot, part), source, target, bytes, *completions_,
                         kEngineBit | static_cast<std::uint64_t>(strand) << kStrandBit | slot);
}

}  // namespace weft::collectives
