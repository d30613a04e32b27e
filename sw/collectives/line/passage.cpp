// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/line/passage.h"

#include <algorithm>
#include <utility>

#include "sw/collectives/line/line.h"
#include "sw/collectives/line/line_algorithms.h"

namespace weft::collectives {

namespace {

constexpr std::uint64_t kUnitGranule = 16;

/// The largest block of a phase, rounded up.
std::uint64_t unit_of(const Phase& phase) {
  std::uint64_t largest = 0;
  for (const Pieces& block : phase.block) largest = std::max(largest, bytes_of(block));
  return (largest + kUnitGranule - 1) / kUnitGranule * kUnitGranule;
}

}  // namespace

Passage::Passage(LineMember& line, Phase phase, Name name, std::uint32_t slot)
    : line_(line),
      phase_(std::move(phase)),
      name_(name),
      slot_(slot),
      unit_(unit_of(phase_)),
      peers_(static_cast<std::size_t>(line.members() * kStrands)) {
  line.reserve(slot, staging_units(phase_, line.members()) * unit_);
}

void Passage::start() {
  strands_ = strands_of(*this, phase_, line_.members());
  for (const firmware::Task& strand : strands_) strand.handle().resume();
}

void Passage::proceed() {
  // What is resumed may wait again, and nothing happens meanwhile that others wait for.
  std::vector<Waiter> ready;
  const auto waits = std::stable_partition(waiting_.begin(), waiting_.end(),
                                           [](const Waiter& waiter) { return !waiter.until->condition(); });
  ready.assign(waits, waiting_.end());
  waiting_.erase(waits, waiting_.end());
  for (const Waiter& waiter : ready) waiter.handle.resume();
}

bool Passage::finished() const {
  return written_ == to_write_ &&
         std::all_of(strands_.begin(), strands_.end(), [](const firmware::Task& strand) { return strand.done(); });
}

const Phase& Strand::phase() const {
  return passage_->phase_;
}
int Strand::position() const {
  return passage_->line_.position();
}
int Strand::members() const {
  return passage_->line_.members();
}
int Strand::ahead(int steps) const {
  return ((position() + steps) % members() + members()) % members();
}
std::uint64_t Strand::unit() const {
  return passage_->unit_;
}

Pieces Strand::blocks(int first, int last) const {
  Pieces all;
  for (int i = first; i < last; ++i) append(all, block(i));
  return all;
}

Pieces Strand::staging(int at, std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint32_t slot = at == position() ? passage_->slot_ : passage_->at(at, number_).slot;
  Pieces pieces;
  append(pieces, {passage_->line_.staging(at, slot) + offset, bytes});
  return pieces;
}

void Strand::expect(int peer, int messages) {
  passage_->line_.expect(peer, messages, passage_->name_, number_, passage_->slot_);
}

void Strand::write(int peer, const Pieces& from, const Pieces& to) {
  ++passage_->to_write_;
  passage_->line_.write(peer, from, to, passage_->name_, number_, passage_->slot_);
}

void Strand::reduce(const Pieces& source, const Pieces& other, const Pieces& target) {
  LineMember& line = passage_->line_;
  const auto begin = [&](std::uint32_t index, std::uint64_t bytes, std::uint64_t a, std::uint64_t b,
                         std::uint64_t sum) {
    line.reduce(phase().type, a, b, sum, bytes, index, passage_->slot_, number_);
    ++passage_->computing_[static_cast<std::size_t>(number_)];
  };
  divide(line.engines_for(bytes_of(source)), size_of(phase().type), begin, source, other, target);
}

void Strand::copy(const Pieces& source, const Pieces& target) {
  LineMember& line = passage_->line_;
  const auto begin = [&](std::uint32_t index, std::uint64_t bytes, std::uint64_t from, std::uint64_t to) {
    line.copy(from, to, bytes, index, passage_->slot_, number_);
    ++passage_->computing_[static_cast<std::size_t>(number_)];
  };
  divide(line.engines_for(bytes_of(source)), 1, begin, source, target);
}

void Strand::Until::await_suspend(std::coroutine_handle<> handle) {
  passage.waiting_.push_back({this, handle});
}

Strand::Until Strand::permission(int peer, int times) {
  passage_->line_.listen(peer);
  return {*passage_, [passage = passage_, peer, times, strand = number_] {
            return passage->at(peer, strand).permissions >= times;
          }};
}

Strand::Until Strand::message(int peer, int count) {
  return {*passage_,
          [passage = passage_, peer, count, strand = number_] { return passage->at(peer, strand).messages >= count; }};
}

Strand::Until Strand::computed() {
  return {*passage_, [passage = passage_, strand = static_cast<std::size_t>(number_)] {
            return passage->computing_[strand] == 0;
          }};
}

Strand::Until Strand::acknowledged() {
  return {*passage_, [passage = passage_] { return passage->written_ == passage->to_write_; }};
}

}  // namespace weft::collectives
