// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/sampler.h"

#include <string_view>
#include <unordered_map>

#include "traces/format_error.h"

namespace weft::vcd {

Sampler::Sampler(std::string file, const Sampling& sampling, const std::vector<std::string>& signals)
    : reader_(std::move(file)), watched_of_net_(reader_.header().nets()), reset_low_(sampling.reset_low) {
  // Header::find looks at all of them for each, which is too slow where all of a large file are followed.
  std::unordered_map<std::string_view, const Signal*> by_name;
  for (const Signal& signal : reader_.header().signals) by_name.try_emplace(signal.name, &signal);
  const auto find = [&](const std::string& name) -> const Signal& {
    const auto known = by_name.find(name);
    const Signal* const signal = known != by_name.end() ? known->second : reader_.header().find(name);
    if (signal == nullptr) throw traces::FormatError(reader_.file(), 0, "expected a signal \"" + name + "\"");
    return *signal;
  };
  const Signal& clock = find(sampling.clock);
  if (clock.kind != SignalKind::kBits || clock.width != 1) {
    throw traces::FormatError(reader_.file(), 0, "expected a clock of one bit, not " + clock.name);
  }
  clock_ = watch(clock);
  if (!sampling.reset.empty()) reset_ = watch(find(sampling.reset));
  for (const std::string& name : signals) signals_.push_back(watch(find(name)));
}

std::size_t Sampler::watch(const Signal& signal) {
  std::uint32_t& watched = watched_of_net_[signal.net];
  if (watched == 0) {
    Watched start;
    if (signal.kind == SignalKind::kBits) start.now.assign(static_cast<std::size_t>(signal.width), 'x');
    start.before = start.now;
    watched_.push_back(std::move(start));
    watched = static_cast<std::uint32_t>(watched_.size());
  }
  return watched - 1;
}

const std::string& Sampler::before(std::size_t watched) const {
  const Watched& of = watched_[watched];
  return of.has_changed && of.changed == now_ ? of.before : of.now;
}

const std::string& Sampler::value(std::size_t signal) const {
  return before(signals_[signal]);
}

void Sampler::apply(const Change& change) {
  const std::uint32_t index = watched_of_net_[change.net];
  if (index == 0) return;
  Watched& watched = watched_[index - 1];
  if (!watched.has_changed || watched.changed != change.time) {
    watched.before = watched.now;
    watched.changed = change.time;
    watched.has_changed = true;
  }
  if (change.kind == SignalKind::kBits) {
    extend_bits(change.value, reader_.header().signal_of(change.net).width, watched.now);
  } else {
    watched.now = change.value;
  }
}

/// Takes all changes of one time and then looks for an edge, so that the order within a time does not matter.
bool Sampler::next() {
  for (;;) {
    Change change;
    bool any = false;
    if (pending_) {
      change = *pending_;
      change.value = pending_value_;
      pending_.reset();
      any = true;
    } else {
      any = reader_.next(change);
    }
    if (!any) return false;
    now_ = change.time;
    do {
      if (change.time != now_) {
        if (watched_of_net_[change.net] == 0) {
          // Nothing that is followed, and so no time to stop at by itself.
          continue;
        }
        pending_ = change;
        pending_value_ = change.value;
        break;
      }
      apply(change);
    } while (reader_.next(change));
    const Watched& clock = watched_[clock_];
    const bool changed = clock.has_changed && clock.changed == now_;
    if (clock.now.back() == '0') seen_low_ = true;
    // What a dump says first is no edge.
    if (!changed || !seen_low_ || clock.now.back() != '1' || clock.before.back() == '1') continue;
    if (reset_ && before(*reset_).back() != (reset_low_ ? '1' : '0')) continue;
    ++cycles_;
    edge_time_ = now_;
    return true;
  }
}

}  // namespace weft::vcd
