// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/sampler.h"

#include <charconv>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "traces/format_error.h"

namespace weft::vcd {

namespace {

/// "[7:4]" or "[7]" at the end of a name: its numbers.
struct Selection {
  std::string_view base;
  int left = 0;
  int right = 0;
};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What the text within brackets says: both ends, equal where there is one number.
std::optional<std::pair<int, int>> ends_of(std::string_view range) {
  if (range.size() < 3 || range.front() != '[' || range.back() != ']') return std::nullopt;
  range = range.substr(1, range.size() - 2);
  const std::size_t colon = range.find(':');
  const auto left = number(range.substr(0, colon));
  const auto right = colon == std::string_view::npos ? left : number(range.substr(colon + 1));
  if (!left || !right) return std::nullopt;
  return std::pair(*left, *right);
}

std::optional<Selection> selection_of(std::string_view name) {
  const std::size_t bracket = name.rfind('[');
  if (bracket == std::string_view::npos || bracket == 0) return std::nullopt;
  const auto ends = ends_of(name.substr(bracket));
  if (!ends) return std::nullopt;
  return Selection{name.substr(0, bracket), ends->first, ends->second};
}

}  // namespace

Sampler::Sampler(std::string file, const Sampling& sampling, const std::vector<std::string>& signals)
    : reader_(std::move(file)), watched_of_net_(reader_.header().nets()), reset_low_(sampling.reset_low) {
  // Header::find looks at all of them for each, which is too slow where all of a large file are followed.
  std::unordered_map<std::string_view, const Signal*> by_name;
  for (const Signal& signal : reader_.header().signals) by_name.try_emplace(signal.name, &signal);
  const auto find = [&](std::string_view name) -> const Signal* {
    const auto known = by_name.find(name);
    return known != by_name.end() ? known->second : reader_.header().find(name);
  };
  const auto place = [&](const std::string& name) {
    if (const Signal* const whole = find(name)) return watch(*whole);
    const std::optional<Selection> selection = selection_of(name);
    const Signal* const signal = selection ? find(selection->base) : nullptr;
    if (signal == nullptr) throw traces::FormatError(reader_.file(), 0, "expected a signal \"" + name + "\"");
    // Where the file does not say the range it is that of most tools.
    const auto [left, right] = ends_of(signal->range).value_or(std::pair(signal->width - 1, 0));
    const bool falls = left >= right;
    const int from = falls ? left - selection->left : selection->left - left;
    const int to = falls ? left - selection->right : selection->right - left;
    if (signal->kind != SignalKind::kBits || from < 0 || to < from || to >= signal->width) {
      const std::string has = signal->kind != SignalKind::kBits ? "no bits"
                              : signal->width == 1              ? "one bit"
                                                   : "[" + std::to_string(left) + ":" + std::to_string(right) + "]";
      throw traces::FormatError(reader_.file(), 0,
                                "expected bits of " + signal->name + ", which has " + has + ", not \"" + name + "\"");
    }
    Place bits = watch(*signal);
    bits.from = static_cast<std::size_t>(from);
    bits.length = static_cast<std::size_t>(to - from + 1);
    return bits;
  };
  clock_ = place(sampling.clock);
  if (now(clock_).size() != 1) {
    throw traces::FormatError(reader_.file(), 0, "expected a clock of one bit, not " + sampling.clock);
  }
  if (!sampling.reset.empty()) reset_ = place(sampling.reset);
  for (const std::string& name : signals) signals_.push_back(place(name));
}

Sampler::Place Sampler::watch(const Signal& signal) {
  std::uint32_t& watched = watched_of_net_[signal.net];
  if (watched == 0) {
    Watched start;
    if (signal.kind == SignalKind::kBits) start.now.assign(static_cast<std::size_t>(signal.width), 'x');
    start.before = start.now;
    watched_.push_back(std::move(start));
    watched = static_cast<std::uint32_t>(watched_.size());
  }
  return {watched - 1};
}

std::string_view Sampler::before(const Place& place) const {
  const Watched& of = watched_[place.watched];
  const std::string& all = of.has_changed && of.changed == now_ ? of.before : of.now;
  return std::string_view(all).substr(place.from, place.length);
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
    const Watched& clock = watched_[clock_.watched];
    const bool changed = clock.has_changed && clock.changed == now_;
    const char level = now(clock_).back();
    if (level == '0') seen_low_ = true;
    // What a dump says first is no edge.
    if (!changed || !seen_low_ || level != '1' || before(clock_).back() == '1') continue;
    if (reset_ && before(*reset_).back() != (reset_low_ ? '1' : '0')) continue;
    ++cycles_;
    edge_time_ = now_;
    return true;
  }
}

}  // namespace weft::vcd
