// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/timeline_probe.h"

#include <algorithm>
#include <cmath>

namespace weft::platforms {

int TimelineProbe::add_track(const std::string& process, const std::string& thread) {
  if (!processes_.contains(process)) {
    const std::string kind = process.substr(0, process.find(' '));
    int& drawn = drawn_[kind];
    if (drawn >= limit_) return kNotDrawn;
    ++drawn;
    processes_.insert(process);
    if (!picture_ && (kind == "accelerator" || kind == "end")) {
      pictured_ = process;
      picture_.emplace(process + "; red: it is not computing");
    }
  }
  tracks_.push_back({process, thread, {{timeline_.track(process, thread), Time()}}, {}});
  if (process == pictured_) tracks_.back().pictured = picture_->add_row(thread);
  return static_cast<int>(tracks_.size()) - 1;
}

void TimelineProbe::slice(int track, std::string_view what, Time from, Time to) {
  if (track == kNotDrawn) return;
  const Time shift = shift_of(from);
  from += shift;
  to += shift;
  Track& mine = tracks_[static_cast<std::size_t>(track)];
  auto row = std::find_if(mine.rows.begin(), mine.rows.end(), [from](const Row& r) { return r.end <= from; });
  if (row == mine.rows.end()) {
    const std::string thread = mine.thread + " " + std::to_string(mine.rows.size() + 1);
    mine.rows.push_back({timeline_.track(mine.process, thread), Time()});
    row = mine.rows.end() - 1;
  }
  row->end = to;
  timeline_.slice(row->track, intern(what), from.count(), to.count());
  if (mine.pictured) picture_->add_slice(*mine.pictured, from, to);
}

void TimelineProbe::counter(int track, std::string_view name, Time at, double value) {
  if (track == kNotDrawn) return;
  const Track& mine = tracks_[static_cast<std::size_t>(track)];
  timeline_.counter(mine.rows.front().track, intern(name), (at + shift_of(at)).count(), std::llround(value));
}

void TimelineProbe::leave_out(Time at, Time span) {
  shifts_.push_back({at, shifts_.empty() ? span : shifts_.back().span + span});
}

Time TimelineProbe::shift_of(Time at) const {
  const auto behind = std::find_if(shifts_.rbegin(), shifts_.rend(), [at](const Shift& each) { return each.at <= at; });
  return behind == shifts_.rend() ? Time() : behind->span;
}

traces::TimelineName TimelineProbe::intern(std::string_view text) {
  const auto found = names_.find(text);
  if (found != names_.end()) return found->second;
  return names_.emplace(text, timeline_.name(text)).first->second;
}

}  // namespace weft::platforms
