// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/probe.h"
#include "platforms/results/pictures/timeline_picture.h"
#include "traces/timeline.h"

namespace weft::platforms {

/// Draws what modules tell a Probe as a Timeline. Of a large machine only the first processes of each kind to declare
/// themselves are drawn, which are the first ranks; "accelerator 3" is of the kind "accelerator", "end 3" of an
/// analytical network of the kind "end". Slices that overlap
/// on one track, such as messages in flight, get rows of their own.
class TimelineProbe final : public Probe {
 public:
  TimelineProbe(const std::filesystem::path& file, int processes) : timeline_(file), limit_(processes) {}

  int add_track(const std::string& process, const std::string& thread) override;
  void slice(int track, std::string_view what, Time from, Time to) override;
  void counter(int track, std::string_view name, Time at, double value) override;
  void leave_out(Time at, Time span) override;

  /// Completes the file; without it, there is none.
  void close() { timeline_.close(); }
  /// Of the first accelerator or end; nothing if none was drawn.
  [[nodiscard]] const std::optional<TimelinePicture>& picture() const { return picture_; }

 private:
  static constexpr int kNotDrawn = -1;

  struct Row {
    traces::TimelineTrack track;
    Time end;
  };
  struct Track {
    std::string process;
    std::string thread;
    std::vector<Row> rows;
    std::optional<std::size_t> pictured;  ///< its row of the picture
  };

  struct Shift {
    Time at;
    Time span;  ///< with those before it
  };

  /// Of what begins then.
  [[nodiscard]] Time shift_of(Time at) const;
  traces::TimelineName intern(std::string_view text);

  traces::Timeline timeline_;
  int limit_;
  std::set<std::string> processes_;
  std::map<std::string, int> drawn_;  ///< processes by kind
  std::vector<Track> tracks_;
  std::vector<Shift> shifts_;
  std::string pictured_;  ///< the process
  std::optional<TimelinePicture> picture_;
  std::map<std::string, traces::TimelineName, std::less<>> names_;
};

}  // namespace weft::platforms
