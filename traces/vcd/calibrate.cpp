// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "traces/files/format_error.h"

namespace weft::vcd {
namespace {

constexpr std::uint64_t kUnseen = std::numeric_limits<std::uint64_t>::max();

/// Only inputs that take part.
std::vector<const std::vector<Beat>*> active_inputs(const BlockTrace& trace) {
  std::vector<const std::vector<Beat>*> active;
  for (const std::vector<Beat>& input : trace.inputs) {
    if (!input.empty()) active.push_back(&input);
  }
  return active;
}

[[noreturn]] void refuse(const BlockTrace& trace, const std::string& expected) {
  throw traces::FormatError(trace.file, 0, expected);
}

void check(const BlockTrace& trace, const std::vector<const std::vector<Beat>*>& inputs) {
  if (inputs.empty() || trace.output.empty()) {
    refuse(trace, fmt::format("expected beats at the inputs and at the output, got {} inputs with some and {} at the "
                              "output: are clock, reset, valid and ready those of the block?",
                              inputs.size(), trace.output.size()));
  }
  for (std::size_t b = 0; b < trace.output.size(); ++b) {
    const Beat& out = trace.output[b];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string which = fmt::format("beat {} of the output, taken in cycle {}", b, out.taken);
      if (b >= inputs[i]->size()) refuse(trace, fmt::format("expected a beat of input {} for {}", i, which));
      const Beat& in = (*inputs[i])[b];
      if (in.taken > out.offered) {
        refuse(trace, fmt::format("expected the beat of input {} before {}, got cycle {}", i, which, in.taken));
      }
      if (!in.id.empty() && !out.id.empty() && in.id != out.id) {
        refuse(trace, fmt::format("expected id {} at input {}, as of {}, got {}: a block that keeps the order", out.id,
                                  i, which, in.id));
      }
      if (in.last != out.last) {
        refuse(trace, fmt::format("expected last {} at input {}, as of {}: a beat out for a beat in", out.last ? 1 : 0,
                                  i, which));
      }
    }
  }
}

/// The cycle in which the last input's beat was there, for each beat that all of them have.
std::vector<std::uint64_t> joins(const std::vector<const std::vector<Beat>*>& inputs) {
  std::size_t all = inputs.front()->size();
  for (const auto* input : inputs) all = std::min(all, input->size());
  std::vector<std::uint64_t> joined(all);
  for (std::size_t b = 0; b < all; ++b) {
    for (const auto* input : inputs) joined[b] = std::max(joined[b], (*input)[b].taken);
  }
  return joined;
}

/// The longest run ahead of beats that were taken by one counter over those of another: both are cycles, ascending.
template <typename Taken, typename Left>
std::uint64_t most_between(std::size_t taken, Taken&& taken_at, std::size_t left, Left&& left_at) {
  std::uint64_t most = 0;
  std::size_t gone = 0;
  for (std::size_t b = 0; b < taken; ++b) {
    while (gone < left && left_at(gone) <= taken_at(b)) ++gone;
    most = std::max<std::uint64_t>(most, b + 1 - std::min(gone, b + 1));
  }
  return most;
}

void find_intervals(Calibration& found, const std::vector<const std::vector<Beat>*>& inputs,
                    const std::vector<std::uint64_t>& joined) {
  std::map<std::string, std::uint64_t> loose;
  std::map<std::string, std::uint64_t> tight;
  std::uint64_t between = kUnseen;
  const auto lower = [](std::map<std::string, std::uint64_t>& least, const std::string& kind, std::uint64_t step) {
    const auto [known, fresh] = least.try_emplace(kind, step);
    if (!fresh) known->second = std::min(known->second, step);
  };
  for (std::size_t b = 0; b < joined.size(); ++b) {
    const std::string& kind = inputs.front()->at(b).kind;
    if (b == 0) {
      loose.try_emplace(kind, kUnseen);
      continue;
    }
    const std::uint64_t step = std::max<std::uint64_t>(1, joined[b] - joined[b - 1]);
    // The inputs did not hold it up.
    const bool waited = std::all_of(inputs.begin(), inputs.end(),
                                    [&](const auto* input) { return (*input)[b].offered <= joined[b - 1] + 1; });
    if (inputs.front()->at(b - 1).last && waited) between = std::min(between, step);
    lower(loose, kind, step);
    if (waited && !inputs.front()->at(b - 1).last) lower(tight, kind, step);
  }
  for (const auto& [kind, step] : loose) {
    const auto known = tight.find(kind);
    if (known != tight.end()) found.paces_seen.insert(kind);
    found.intervals[kind] = known != tight.end() ? known->second : step == kUnseen ? 1 : step;
  }
  found.config.interval = found.intervals.begin()->second;
  for (const auto& [kind, step] : found.intervals) found.config.interval = std::min(found.config.interval, step);
  if (between == kUnseen) return;
  found.pause_seen = true;
  found.config.pause = between - std::min(between, found.config.interval);
}

void find_stalls(Calibration& found, const BlockTrace& trace, const std::vector<const std::vector<Beat>*>& inputs,
                 const std::vector<std::uint64_t>& joined) {
  for (const Beat& out : trace.output) {
    if (out.taken == out.offered) continue;
    found.stall_seen = true;
    // A set of beats that was there during the stall and had to wait for its end.
    const auto at = std::upper_bound(joined.begin(), joined.end(), out.offered);
    if (at == joined.end()) continue;
    const auto next = static_cast<std::size_t>(at - joined.begin());
    const bool waited = std::all_of(inputs.begin(), inputs.end(), [&](const auto* input) {
      return (*input)[next].offered < out.taken && (*input)[next].taken >= out.taken;
    });
    found.full_seen = found.full_seen || waited;
  }
}

std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

/// What the first `count` beats of an interface are off in sum; those that the model does not give, by the file's
/// length.
std::uint64_t off_by(const std::vector<Beat>& beats, std::size_t count, const std::vector<std::uint64_t>& times,
                     std::uint64_t length) {
  std::uint64_t sum = 0;
  for (std::size_t b = 0; b < std::min(count, beats.size()); ++b) {
    sum += b < times.size() ? difference(beats[b].taken, times[b]) : length;
  }
  return sum;
}

/// What is at the inputs after the last beat of the output is not predicted.
std::uint64_t total_error(const Calibration& model, const BlockTrace& trace) {
  const Prediction times = predict(model, trace);
  const std::size_t count = trace.output.size();
  std::uint64_t sum = off_by(trace.output, count, times.output, trace.ready.size());
  for (std::size_t i = 0; i < trace.inputs.size(); ++i) {
    sum += off_by(trace.inputs[i], count, times.inputs[i], trace.ready.size());
  }
  return sum;
}

/// The beginning of a long waveform, from which a model is found as well.
BlockTrace beginning(const BlockTrace& trace) {
  constexpr std::size_t kEnough = 2000;
  BlockTrace begin = trace;
  if (begin.output.size() <= kEnough) return begin;
  begin.output.resize(kEnough);
  begin.ready.resize(begin.output.back().taken + 1);
  const auto shorten = [&](std::vector<Beat>& beats) {
    while (!beats.empty() && beats.back().taken >= begin.ready.size()) beats.pop_back();
  };
  for (std::vector<Beat>& input : begin.inputs) shorten(input);
  return begin;
}

/// Improves one value after the other for as long as that makes the predictions better; of equal ones the first stays.
class Search {
 public:
  explicit Search(const BlockTrace& trace) : trace_(beginning(trace)) {}

  void begin_at(const Calibration& start) { starts_.push_back({start, total_error(start, trace_)}); }

  /// The best of what the most promising beginnings lead to.
  [[nodiscard]] Calibration best() {
    constexpr std::size_t kFollowed = 6;
    const auto better = [](const Start& a, const Start& b) { return a.error < b.error; };
    std::stable_sort(starts_.begin(), starts_.end(), better);
    starts_.resize(std::min(starts_.size(), kFollowed));
    for (Start& start : starts_) improve(start);
    return std::min_element(starts_.begin(), starts_.end(), better)->model;
  }

 private:
  struct Start {
    Calibration model;
    std::uint64_t error;
  };

  static std::vector<Calibration> neighbours(const Calibration& of) {
    std::vector<Calibration> all;
    const auto step = [&all, &of](auto&& value_of, std::uint64_t least, int most = 2) {
      for (const int by : {-1, 1, 2}) {
        if (by > most) continue;
        Calibration next = of;
        std::uint64_t& value = value_of(next);
        if (by < 0 && value <= least) continue;
        value = by < 0 ? value - 1 : value + static_cast<std::uint64_t>(by);
        all.push_back(std::move(next));
      }
    };
    // The block was seen to be as fast as the first value.
    step([](Calibration& c) -> std::uint64_t& { return c.config.latency; }, 0, 0);
    for (const auto& [kind, interval] : of.intervals) {
      step([&kind = kind](Calibration& c) -> std::uint64_t& { return c.intervals[kind]; }, 1);
    }
    step([](Calibration& c) -> std::uint64_t& { return c.config.pause; }, 0);
    step([](Calibration& c) -> std::uint64_t& { return c.config.queue; }, 0);
    if (of.config.stall == BlockModel::Stall::kElastic) {
      step([](Calibration& c) -> std::uint64_t& { return c.config.depth; }, 1);
    }
    return all;
  }

  void improve(Start& here) const {
    for (bool better = true; better && here.error > 0;) {
      better = false;
      for (const Calibration& next : neighbours(here.model)) {
        const std::uint64_t error = total_error(next, trace_);
        if (error >= here.error) continue;
        here = {next, error};
        better = true;
      }
    }
  }

  BlockTrace trace_;
  std::vector<Start> starts_;
};

}  // namespace

std::uint64_t Calibration::interval_of(const std::string& kind) const {
  const auto known = intervals.find(kind);
  return known == intervals.end() ? config.interval : known->second;
}

Prediction predict(const Calibration& model, const BlockTrace& trace) {
  std::vector<std::size_t> active;
  for (std::size_t i = 0; i < trace.inputs.size(); ++i) {
    if (!trace.inputs[i].empty()) active.push_back(i);
  }
  BlockModel::Config config = model.config;
  config.inputs = active.size();
  BlockModel block(config);
  Prediction times;
  times.inputs.resize(trace.inputs.size());
  std::vector<BlockModel::Offer> offers(active.size());
  // A model that is slower than the block needs longer; one that stands still must not take for ever.
  const std::uint64_t end = 2 * trace.ready.size() + 10'000;
  for (std::uint64_t cycle = 0; cycle < end && times.output.size() < trace.output.size(); ++cycle) {
    for (std::size_t i = 0; i < active.size(); ++i) {
      const std::vector<Beat>& beats = trace.inputs[active[i]];
      const std::size_t next = times.inputs[active[i]].size();
      offers[i] = BlockModel::Offer::kNothing;
      if (next == beats.size()) continue;
      const bool at_once = next > 0 && beats[next].offered <= beats[next - 1].taken + 1;
      if (!at_once && cycle < beats[next].offered) continue;
      offers[i] = beats[next].last ? BlockModel::Offer::kLastBeat : BlockModel::Offer::kBeat;
      if (i == 0) block.set_interval(model.interval_of(beats[next].kind));
    }
    const bool ready = cycle >= trace.ready.size() || trace.ready[cycle];
    if (block.valid() && ready) times.output.push_back(cycle);
    block.step(offers, ready);
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (block.taken(i)) times.inputs[active[i]].push_back(cycle);
    }
  }
  return times;
}

Residual residual(const Calibration& model, const BlockTrace& trace) {
  check(trace, active_inputs(trace));
  const std::vector<std::uint64_t> times = predict(model, trace).output;
  std::vector<std::uint64_t> errors;
  Residual found;
  bool first = true;
  for (std::size_t b = 0; b < trace.output.size(); ++b) {
    const Beat& beat = trace.output[b];
    if (first || beat.last) {
      // What the model never gave is off by as much as the file is long.
      const std::uint64_t time = b < times.size() ? times[b] : beat.taken + trace.ready.size();
      errors.push_back(difference(time, beat.taken));
    }
    if (beat.last) ++found.transactions;
    first = beat.last;
  }
  std::sort(errors.begin(), errors.end());
  for (const std::uint64_t error : errors) found.mean += static_cast<double>(error);
  found.mean /= static_cast<double>(errors.size());
  found.p99 = errors[(errors.size() * 99 + 99) / 100 - 1];
  found.worst = errors.back();
  return found;
}

Calibration calibrate(const BlockTrace& trace) {
  const std::vector<const std::vector<Beat>*> inputs = active_inputs(trace);
  check(trace, inputs);
  const std::vector<std::uint64_t> joined = joins(inputs);
  Calibration found;
  found.config.inputs = inputs.size();
  found.config.latency = kUnseen;
  for (std::size_t b = 0; b < trace.output.size(); ++b) {
    found.config.latency = std::min(found.config.latency, trace.output[b].offered - joined[b]);
  }
  find_intervals(found, inputs, joined);
  find_stalls(found, trace, inputs, joined);
  for (const auto* input : inputs) {
    const std::uint64_t ahead = most_between(
        input->size(), [&](std::size_t b) { return (*input)[b].taken; }, joined.size(),
        [&](std::size_t b) { return joined[b]; });
    found.config.queue = std::max(found.config.queue, ahead);
  }
  const std::uint64_t inside = most_between(
      joined.size(), [&](std::size_t b) { return joined[b]; }, trace.output.size(),
      [&](std::size_t b) { return trace.output[b].taken; });

  // Which way it stalls, how its places are shared between the queues and the pipeline behind them, and the pace that
  // queues hide cannot be read off: the search begins at several of each.
  Search search(trace);
  const auto begin = [&](BlockModel::Stall stall, std::uint64_t queue, std::uint64_t depth) {
    // With a queue, a place in it may be free a cycle later, and a beat may spend a cycle of the latency there.
    for (const unsigned kind_of_queue : {0U, 1U, 2U, 3U}) {
      Calibration start = found;
      start.config.stall = stall;
      start.config.queue = queue;
      start.config.depth = depth;
      start.config.registered = (kind_of_queue & 1) != 0;
      start.config.falls_through = (kind_of_queue & 2) == 0;
      if (kind_of_queue != 0 && queue == 0) continue;
      if (!start.config.falls_through) {
        if (start.config.latency == 0) continue;
        --start.config.latency;
      }
      for (const std::uint64_t more : {0, 1, 2}) {
        for (auto& [kind, interval] : start.intervals) interval += more;
        search.begin_at(start);
      }
    }
  };
  constexpr std::uint64_t kMostQueued = 16;
  begin(BlockModel::Stall::kRigid, found.config.queue, 0);
  for (std::uint64_t queue = 0; queue < std::clamp<std::uint64_t>(inside, 1, kMostQueued); ++queue) {
    begin(BlockModel::Stall::kElastic, queue, std::max<std::uint64_t>(1, inside - std::min(inside, queue)));
  }
  found = search.best();
  found.config.interval = found.intervals.begin()->second;
  for (const auto& [kind, interval] : found.intervals)
    found.config.interval = std::min(found.config.interval, interval);
  return found;
}

}  // namespace weft::vcd
