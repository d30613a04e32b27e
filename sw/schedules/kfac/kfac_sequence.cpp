// SPDX-License-Identifier: Apache-2.0
// Which steps of a schedule are simulated, one after the other.
#include <algorithm>

#include "sw/schedules/kfac/kfac_member.h"

namespace weft::schedules {

KfacUpdates Kfac::updates(int number) const {
  return plan_.trainer().updates(number);
}

void Kfac::plan_steps() {
  int row = 0;
  for (int number = 0; number < config_.steps; ++number) {
    const auto [entry, fresh] = steps_.try_emplace(updates(number));
    if (fresh) entry->second = plan_.step(decisions_, entry->first);
    for (const KfacMessage& message : entry->second.messages) ++messages_[is_broadcast(message)];
    row = number > 0 && updates(number) == updates(number - 1) ? row + 1 : 1;
    longest_row_ = std::max(longest_row_, row);
  }
  rest_ = plan_.rest(decisions_);
  for (const KfacMessage& message : rest_.messages) ++messages_[is_broadcast(message)];
  message_times_.resize(fullest().messages.size());
}

const KfacStep& Kfac::step(int number) const {
  return number == config_.steps ? rest_ : steps_.at(updates(number));
}

const KfacStep& Kfac::fullest() const {
  return std::max_element(
             steps_.begin(), steps_.end(),
             [](const auto& a, const auto& b) { return a.second.messages.size() < b.second.messages.size(); })
      ->second;
}

void Kfac::set_repeats(Repeats repeats) {
  // What a step sends for a later one may still be under way when it ends.
  if (lag_ == 0) repeats_ = std::move(repeats);
}

std::vector<KfacRow> Kfac::intervals() const {
  return find_intervals(config_.steps, [this](int number) { return updates(number); });
}

std::string Kfac::simulates_all() const {
  if (lag_ > 0) return "steps send for later ones";
  return intervals().empty()
             ? "no steps, nor intervals between updates of factors or inverses, come five times in a row"
             : "";
}

void Kfac::set_steady(const SteadyConfig& steady, LeavingOut::Hooks hooks) {
  const auto begun = [this] { return positions_.empty() ? 0 : positions_.back().last() + 1; };
  steady_ = std::make_unique<KfacSteady>(steady, intervals(), members_.size(), begun, std::move(hooks));
  for (const auto& member : members_) {
    if (member->probe != nullptr) return steady_->record(*member->probe);
  }
}

void Kfac::leave_out_intervals() {
  const auto gap = steady_->gap_at(positions_.back().last() + 1);
  if (!gap) return;
  positions_.back().also = gap->to - gap->from;
  positions_.back().cycle = static_cast<std::size_t>(gap->cycle);
  left_out_ += gap->to - gap->from;
  for (int number = gap->from; number < gap->to; ++number) {
    for (const KfacMessage& message : step(number).messages) --messages_[is_broadcast(message)];
    left_out_stages_ += step(number).stages.size();
  }
}

bool Kfac::has_position(std::size_t position) {
  if (position < positions_.size()) return true;
  int next = 0;
  if (!positions_.empty()) {
    if (steady_) leave_out_intervals();
    leave_out_equal_steps();
    next = positions_.back().last() + 1;
  }
  if (next >= config_.steps + (has_rest() ? 1 : 0)) return false;
  std::array<std::size_t, kKfacTraffics> sent{};
  if (!positions_.empty()) {
    sent = positions_.back().sent;
    for (const KfacMessage& message : step(positions_.back().number).messages) ++sent[index(message.traffic)];
  }
  positions_.push_back({next, 0, 0, sent});
  return true;
}

std::size_t Kfac::sent_before(std::size_t position, KfacTraffic traffic) const {
  const std::size_t lag = traffic == KfacTraffic::kDelayed ? lag_ : 0;
  return positions_[position - std::min(position, lag)].sent[index(traffic)];
}

void Kfac::leave_out_equal_steps() {
  if (!times_) return;
  const int next = positions_.back().last() + 1;
  if (next >= config_.steps) return;
  // What is compared, what is under way behind it, and what would come next are steps of one kind in one row.
  const KfacUpdates kind = updates(next);
  std::size_t row = 0;
  while (row < positions_.size()) {
    const Position& position = positions_[positions_.size() - 1 - row];
    if (position.also > 0 || updates(position.number) != kind) break;
    ++row;
  }
  const std::size_t under_way = positions_.size() - times_->ended();
  const auto cycle = times_->cycle(row - std::min(row, under_way));
  if (!cycle) return;
  int end = next;
  while (end < config_.steps && updates(end) == kind) ++end;
  const auto length = static_cast<int>(cycle->steps);
  const int count = (end - next) / length * length;
  if (count == 0) return;
  positions_.back().also = count;
  positions_.back().cycle = cycle->steps;
  for (const KfacMessage& message : step(next).messages) {
    messages_[is_broadcast(message)] -= static_cast<std::uint64_t>(count);
  }
  left_out_ += count;
  left_out_stages_ += static_cast<std::uint64_t>(count) * step(next).stages.size();
  const std::size_t last = times_->ended() - 1;
  repeats_.left_out(last - cycle->steps, last, count / length);
}

}  // namespace weft::schedules
