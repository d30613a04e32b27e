// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "traces/files/format_error.h"

namespace weft::vcd {
namespace {

/// The shortest text of the same number: simulators write 5, 5.0 and 5.000000 for one.
void set_real(std::string_view text, std::string& to) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    to = text;
  } else {
    to = fmt::format("{}", number);
  }
}

}  // namespace

Sampler::Sampler(Reader reader, const Sampling& sampling, const std::vector<std::string>& signals)
    : reader_(std::move(reader)), target_of_net_(reader_.header().nets()), reset_low_(sampling.reset_low) {
  const Names names(reader_.header(), reader_.file());
  const auto place = [&](const std::string& name) { return watch(names.get(name)); };
  clock_ = place(sampling.clock);
  require_bit(clock_, "clock");
  if (!sampling.reset.empty()) {
    reset_ = place(sampling.reset);
    require_bit(*reset_, "reset");
  }
  for (const std::string& name : signals) signals_.push_back(place(name));
}

void Sampler::require_bit(const Place& place, std::string_view what) const {
  const std::size_t bits = now(place).size();
  if (bits == 1) return;
  const std::string& name = watched_[place.watched].signal->name;
  throw traces::FormatError(reader_.file(), 0,
                            fmt::format("expected a {} of one bit, and {} has {}{}", what, name, bits,
                                        bits > 1 ? ": one of them can be named, as " + name + "[0]" : ""));
}

Sampler::Place Sampler::watch(const Selection& selection) {
  if (!selection.signal->parts.empty()) return {watch_parts(selection)};
  const std::size_t watched = watch_net(*selection.signal);
  return selection.all ? Place{watched} : Place{watched, selection.from, selection.length};
}

std::size_t Sampler::watch_net(const Signal& signal) {
  for (std::size_t t = target_of_net_[signal.net]; t != 0; t = targets_[t - 1].next) {
    if (targets_[t - 1].at == kAll) return targets_[t - 1].watched;
  }
  Watched start;
  start.signal = &signal;
  if (signal.kind == SignalKind::kBits) start.now.assign(static_cast<std::size_t>(signal.width), 'x');
  start.before = start.now;
  watched_.push_back(std::move(start));
  add_target(signal.net, {watched_.size() - 1});
  return watched_.size() - 1;
}

std::size_t Sampler::watch_parts(const Selection& selection) {
  const std::size_t watched = watched_.size();
  Watched start;
  start.signal = selection.signal;
  start.now.assign(selection.length, 'x');
  start.before = start.now;
  watched_.push_back(std::move(start));
  const std::size_t end = selection.from + selection.length;
  std::size_t left = 0;  // of the part, among all bits of the signal
  for (const Signal::Part& part : selection.signal->parts) {
    const auto width = static_cast<std::size_t>(part.width);
    const std::size_t from = std::max(left, selection.from);
    const std::size_t to = std::min(left + width, end);
    if (from < to) {
      const std::size_t at = selection.reversed ? end - to : from - selection.from;
      add_target(part.net, {watched, at, from - left, to - from});
    }
    left += width;
  }
  return watched;
}

void Sampler::add_target(std::uint32_t net, const Target& target) {
  targets_.push_back(target);
  targets_.back().next = target_of_net_[net];
  target_of_net_[net] = static_cast<std::uint32_t>(targets_.size());
}

std::string_view Sampler::before(const Place& place) const {
  const Watched& of = watched_[place.watched];
  const std::string& all = of.has_changed && of.changed == now_ ? of.before : of.now;
  return std::string_view(all).substr(place.from, place.length);
}

void Sampler::apply(const Change& change) {
  for (std::size_t t = target_of_net_[change.net]; t != 0; t = targets_[t - 1].next) put(change, targets_[t - 1]);
}

void Sampler::put(const Change& change, const Target& target) {
  Watched& watched = watched_[target.watched];
  if (!watched.has_changed || watched.changed != change.time) {
    watched.before = watched.now;
    watched.changed = change.time;
    watched.has_changed = true;
  }
  if (change.kind != watched.signal->kind || change.cut) check(change, *watched.signal);
  if (change.kind == SignalKind::kReal) {
    set_real(change.value, watched.now);
  } else if (change.kind != SignalKind::kBits) {
    watched.now = change.value;
  } else if (target.at == kAll) {
    extend_bits(change.value, watched.signal->width, watched.now);
  } else {
    extend_bits(change.value, reader_.header().all_nets[change.net].width, part_);
    part_.copy(&watched.now[target.at], target.part_length, target.part_from);
  }
  if (change.section == Section::kDumpon) watched.before = watched.now;
}

/// A parameter may turn out to be real, and a real a string, as of MyHDL's enumerations.
void Sampler::check(const Change& change, const Signal& signal) const {
  const bool fits = signal.kind == SignalKind::kBits
                        ? change.kind == SignalKind::kBits ||
                              (change.kind == SignalKind::kReal && signal.parts.empty() && signal.type == "parameter")
                        : change.kind != SignalKind::kBits;
  if (fits && !change.cut) return;
  const std::string expected = change.cut
                                   ? "at most " + std::to_string(reader_.header().all_nets[change.net].width) + " bits"
                               : signal.kind == SignalKind::kBits ? "bits"
                               : signal.kind == SignalKind::kReal ? "a real number"
                                                                  : "a string";
  throw traces::FormatError(reader_.file(), reader_.line(),
                            "expected " + expected + " for " + signal.name +
                                (change.cut ? ", got more, of which the last are \"" : ", got \"") +
                                std::string(change.value.substr(0, 60)) + '"');
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
        if (target_of_net_[change.net] == 0) {
          // Nothing that is followed, and so no time to stop at by itself.
          continue;
        }
        pending_ = change;
        pending_value_ = change.value;
        break;
      }
      apply(change);
    } while (reader_.next(change));
    const Watched& clock = watched_[clock_.watched];
    const bool changed = clock.has_changed && clock.changed == now_;
    const char level = last_of(now(clock_));
    if (level == '0') seen_low_ = true;
    // What a dump says first is no edge.
    if (!changed || !seen_low_ || level != '1' || last_of(before(clock_)) == '1') continue;
    if (reset_ && last_of(before(*reset_)) != (reset_low_ ? '1' : '0')) continue;
    ++cycles_;
    edge_time_ = now_;
    return true;
  }
}

}  // namespace weft::vcd
