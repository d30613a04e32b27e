// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace weft::traces {

/// A row of the display.
struct TimelineTrack {
  std::uint32_t id = 0;
};
/// An interned text. Id 0 is the empty one.
struct TimelineName {
  std::uint32_t id = 0;
};

enum class TimelineKind : std::uint8_t { kOther, kKernel, kCollective, kSend, kReceive, kLoad, kStore, kHost };

/// Something that lasted. Times are picoseconds.
struct TimelineSlice {
  TimelineName name;
  std::int64_t start = 0;
  std::int64_t end = 0;
  TimelineKind kind = TimelineKind::kOther;
  std::string_view operation = {};  ///< of a collective, as NCCL's kernels call it
  std::int64_t asked = -1;          ///< when it was handed over; negative: not known
  std::int64_t bytes = -1;          ///< negative: none
  std::int64_t ranks = 0;           ///< that take part; 0: not told
  std::int64_t peer = -1;           ///< negative: none
  std::uint64_t leads = 0;          ///< the arrow that comes from it; 0: none
  std::uint64_t follows = 0;        ///< the arrow that goes to it
};

/// A file of what happened when. Equal calls give equal bytes, and only names and rows are held in memory. The file
/// appears when it is closed; a run that fails leaves nothing. I/O errors throw std::system_error.
///
///     const auto timeline = perfetto_timeline("out/timeline.pftrace");
///     const auto track = timeline->track("accelerator 0", "compute");
///     timeline->slice(track, {timeline->name("gemm"), start_ps, end_ps, TimelineKind::kKernel});
///     timeline->close();
///
/// Slices come in any order, but those of one row must follow each other, unless they are given as begin() and end(),
/// which nest and come in the order of their times.
class Timeline {
 public:
  using Track = TimelineTrack;
  using Name = TimelineName;

  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  virtual ~Timeline() = default;

  /// The row of that process and name, made at its first mention. Rows are shown in the order of their first mention.
  virtual Track track(std::string_view process, std::string_view name) = 0;
  /// The same for values.
  virtual Track counter_track(std::string_view process, std::string_view name, std::string_view unit) = 0;
  virtual Name name(std::string_view text) = 0;

  virtual void slice(Track track, const TimelineSlice& slice) = 0;
  virtual void begin(Track track, Name name, std::int64_t time) = 0;
  virtual void end(Track track, std::int64_t time) = 0;
  /// Of a counter track: what holds from `time` on.
  virtual void counter(Track track, std::int64_t time, double value) = 0;

  /// Completes the file and gives it its name.
  virtual void close() = 0;

 protected:
  Timeline() = default;
};

/// Perfetto's trace format: protobuf of TrackEvents, for https://ui.perfetto.dev and trace_processor, which also open
/// it in gzip. It counts nanoseconds: a picosecond falls to the one that it is in, so slices keep their order and their
/// nesting.
std::unique_ptr<Timeline> perfetto_timeline(const std::filesystem::path& file);
/// What every file of perfetto_timeline() begins with.
std::string_view perfetto_beginning();

}  // namespace weft::traces
