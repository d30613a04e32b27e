// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/timeline_probe.h"

#include <algorithm>

namespace weft::platforms {
namespace {

traces::TimelineKind kind_of(SliceKind kind) {
  switch (kind) {
    case SliceKind::kKernel:
      return traces::TimelineKind::kKernel;
    case SliceKind::kCollective:
      return traces::TimelineKind::kCollective;
    case SliceKind::kSend:
      return traces::TimelineKind::kSend;
    case SliceKind::kReceive:
      return traces::TimelineKind::kReceive;
    case SliceKind::kLoad:
      return traces::TimelineKind::kLoad;
    case SliceKind::kStore:
      return traces::TimelineKind::kStore;
    case SliceKind::kHost:
      return traces::TimelineKind::kHost;
    case SliceKind::kOther:
      break;
  }
  return traces::TimelineKind::kOther;
}

}  // namespace

bool TimelineProbe::is_drawn(const std::string& process) {
  if (processes_.contains(process)) return true;
  const std::string kind = process.substr(0, process.find(' '));
  int& drawn = drawn_[kind];
  if (drawn >= limits_.processes) return false;
  ++drawn;
  processes_.insert(process);
  if (!picture_ && (kind == "accelerator" || kind == "end")) {
    pictured_ = process;
    picture_.emplace(process + "; red: it is not computing");
  }
  return true;
}

int TimelineProbe::add_track(const std::string& process, const std::string& thread) {
  const int track = add_phases(process, thread);
  if (track != kNotDrawn && process == pictured_) tracks_.back().pictured = picture_->add_row(thread);
  return track;
}

int TimelineProbe::add_phases(const std::string& process, const std::string& thread) {
  if (!is_drawn(process)) return kNotDrawn;
  tracks_.push_back({process, thread, {{timeline_->track(process, thread), Time()}}, {}, {}});
  return static_cast<int>(tracks_.size()) - 1;
}

int TimelineProbe::add_rival(const std::string& process, const std::string& thread) {
  if (limits_.rivals == 0) return kNotDrawn;
  rivals_.push_back({process, thread, {}, 0, {}});
  return kFirstRival + static_cast<int>(rivals_.size()) - 1;
}

void TimelineProbe::slice(int track, const ProbeSlice& slice) {
  if (track == kNotDrawn || timeline_ == nullptr) return;
  const Time shift = shift_of(slice.from);
  const Time from = slice.from + shift;
  const Time to = slice.to + shift;
  Track& mine = tracks_[static_cast<std::size_t>(track)];
  auto row = std::find_if(mine.rows.begin(), mine.rows.end(), [from](const Row& r) { return r.end <= from; });
  if (row == mine.rows.end()) {
    const std::string thread = mine.thread + " " + std::to_string(mine.rows.size() + 1);
    mine.rows.push_back({timeline_->track(mine.process, thread), Time()});
    row = mine.rows.end() - 1;
  }
  row->end = to;
  timeline_->slice(row->track, {.name = intern(slice.what),
                                .start = from.count(),
                                .end = to.count(),
                                .kind = kind_of(slice.kind),
                                .operation = slice.operation,
                                .asked = slice.asked == kNever ? -1 : (slice.asked + shift).count(),
                                .bytes = slice.bytes,
                                .ranks = slice.ranks,
                                .peer = slice.peer,
                                .leads = slice.leads,
                                .follows = slice.follows});
  if (mine.pictured) picture_->add_slice(*mine.pictured, from, to);
}

void TimelineProbe::begin(int track, std::string_view what, Time at) {
  if (track == kNotDrawn || timeline_ == nullptr) return;
  const Track& mine = tracks_[static_cast<std::size_t>(track)];
  timeline_->begin(mine.rows.front().track, intern(what), (at + shift_of(at)).count());
}

void TimelineProbe::end(int track, Time at) {
  if (track == kNotDrawn || timeline_ == nullptr) return;
  timeline_->end(tracks_[static_cast<std::size_t>(track)].rows.front().track, (at + shift_of(at)).count());
}

void TimelineProbe::counter(int track, std::string_view name, Time at, double value) {
  if (track == kNotDrawn || timeline_ == nullptr) return;
  const Time then = at + shift_of(at);
  if (track >= kFirstRival) return keep(rivals_[static_cast<std::size_t>(track - kFirstRival)], name, then, value);
  Track& mine = tracks_[static_cast<std::size_t>(track)];
  auto found = mine.counters.find(name);
  if (found == mine.counters.end()) {
    const auto row = timeline_->counter_track(mine.process, mine.thread + " " + std::string(name), name);
    found = mine.counters.emplace(name, row).first;
  }
  timeline_->counter(found->second, then.count(), value);
}

void TimelineProbe::keep(Rival& rival, std::string_view name, Time at, double value) {
  if (rival.name.empty()) rival.name = name;
  rival.highest = std::max(rival.highest, value);
  rival.values.push_back({at, value});
  if (++values_ <= most_values_) return;
  // One that is not high yet may become so: it then begins later.
  constexpr std::size_t kMoreThanDrawn = 4;
  const std::vector<Rival*> stay = highest(kMoreThanDrawn * static_cast<std::size_t>(limits_.rivals));
  for (Rival& each : rivals_) {
    if (std::find(stay.begin(), stay.end(), &each) != stay.end()) continue;
    values_ -= each.values.size();
    each.values = {};
  }
  most_values_ = std::max(kMostValues, 2 * values_);
}

std::vector<TimelineProbe::Rival*> TimelineProbe::highest(std::size_t most) {
  std::vector<Rival*> all;
  for (Rival& rival : rivals_) {
    if (!rival.values.empty()) all.push_back(&rival);
  }
  std::stable_sort(all.begin(), all.end(), [](const Rival* a, const Rival* b) { return a->highest > b->highest; });
  all.resize(std::min(all.size(), most));
  return all;
}

void TimelineProbe::leave_out(Time at, Time span) {
  shifts_.push_back({at, shifts_.empty() ? span : shifts_.back().span + span});
}

void TimelineProbe::close() {
  for (const Rival* rival : highest(static_cast<std::size_t>(limits_.rivals))) {
    const auto row = timeline_->counter_track(rival->process, rival->thread + " " + rival->name, rival->name);
    for (const Value& each : rival->values) timeline_->counter(row, each.at.count(), each.value);
  }
  rivals_.clear();
  timeline_->close();
  timeline_.reset();
}

Time TimelineProbe::shift_of(Time at) const {
  const auto behind = std::find_if(shifts_.rbegin(), shifts_.rend(), [at](const Shift& each) { return each.at <= at; });
  return behind == shifts_.rend() ? Time() : behind->span;
}

traces::TimelineName TimelineProbe::intern(std::string_view text) {
  const auto found = names_.find(text);
  if (found != names_.end()) return found->second;
  return names_.emplace(text, timeline_->name(text)).first->second;
}

}  // namespace weft::platforms
