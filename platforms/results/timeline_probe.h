// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/core/probe.h"
#include "platforms/results/pictures/timeline_picture.h"
#include "traces/timeline/timeline.h"

namespace weft::platforms {

/// Draws what modules tell a Probe as a Timeline. Of a large machine only the first processes of each kind to declare
/// themselves are drawn, which are the first ranks; "accelerator 3" is of the kind "accelerator", "end 3" of an
/// analytical network of the kind "end". Slices that overlap on one track, such as messages in flight, get rows of
/// their own. Of rivals (Probe::add_rival), whatever their process, the highest are drawn, at the end.
class TimelineProbe final : public Probe {
 public:
  struct Limits {
    int processes = 0;
    int rivals = 0;
  };

  TimelineProbe(std::unique_ptr<traces::Timeline> timeline, const Limits& limits)
      : timeline_(std::move(timeline)), limits_(limits) {}

  int add_track(const std::string& process, const std::string& thread) override;
  int add_rival(const std::string& process, const std::string& thread) override;
  int add_phases(const std::string& process, const std::string& thread) override;
  void slice(int track, const ProbeSlice& slice) override;
  void begin(int track, std::string_view what, Time at) override;
  void end(int track, Time at) override;
  void counter(int track, std::string_view name, Time at, double value) override;
  void leave_out(Time at, Time span) override;

  /// Completes the file; without it, there is none. What is told afterwards is not drawn.
  void close();
  /// Of the first accelerator or end; nothing if none was drawn.
  [[nodiscard]] const std::optional<TimelinePicture>& picture() const { return picture_; }

 private:
  static constexpr int kNotDrawn = -1;
  /// Rivals are numbered from here on.
  static constexpr int kFirstRival = 1 << 30;
  /// Values of rivals that are kept before those that are not among the highest lose theirs.
  static constexpr std::size_t kMostValues = 1 << 20;

  struct Row {
    traces::TimelineTrack track;
    Time end;
  };
  struct Track {
    std::string process;
    std::string thread;
    std::vector<Row> rows;
    std::map<std::string, traces::TimelineTrack, std::less<>> counters;
    std::optional<std::size_t> pictured;  ///< its row of the picture
  };
  struct Value {
    Time at;
    double value;
  };
  struct Rival {
    std::string process;
    std::string thread;
    std::string name;
    double highest = 0;
    std::vector<Value> values;
  };
  struct Shift {
    Time at;
    Time span;  ///< with those before it
  };

  /// Whether it is one of the first of its kind.
  bool is_drawn(const std::string& process);
  void keep(Rival& rival, std::string_view name, Time at, double value);
  /// The highest first, as many as may stay.
  std::vector<Rival*> highest(std::size_t most);
  /// Of what begins then.
  [[nodiscard]] Time shift_of(Time at) const;
  traces::TimelineName intern(std::string_view text);

  std::unique_ptr<traces::Timeline> timeline_;  ///< null when it is closed
  Limits limits_;
  std::set<std::string> processes_;
  std::map<std::string, int> drawn_;  ///< processes by kind
  std::vector<Track> tracks_;
  std::vector<Rival> rivals_;
  std::size_t values_ = 0;
  std::size_t most_values_ = kMostValues;
  std::vector<Shift> shifts_;
  std::string pictured_;  ///< the process
  std::optional<TimelinePicture> picture_;
  std::map<std::string, traces::TimelineName, std::less<>> names_;
};

}  // namespace weft::platforms
