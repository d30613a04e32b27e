// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace weft::traces {

/// A line of the display: one thread of a process. Id 0 is the track of nobody.
struct TimelineTrack {
  std::uint32_t id = 0;
};
/// An interned text. Id 0 is the empty one.
struct TimelineName {
  std::uint32_t id = 0;
};
/// An integer to show with a slice or an instant, such as its bytes; none without a name.
struct TimelineArgument {
  TimelineName name;
  std::int64_t value = 0;
};
/// An arrow under construction.
struct TimelineFlow {
  std::uint64_t id = 0;
};

/// Writes what happened when as Chrome trace events, JSON compressed by gzip as it is written: a file for
/// https://ui.perfetto.dev and chrome://tracing. Only names and tracks are held in memory, and equal calls give equal
/// bytes.
///
/// A default-constructed timeline does not record: every call then is one comparison, so that models call it without
/// asking. Text is handed over once, at elaboration, as a track or a name; recording passes small ids and integers.
///
///     Timeline timeline("out/timeline.json.gz");
///     const auto track = timeline.track("gpu0", "compute");
///     const auto gemm = timeline.name("gemm");
///     timeline.slice(track, gemm, start_ps, end_ps);
///     timeline.close();
///
/// Times are picoseconds. They are written without loss, as microseconds with up to six decimals; Perfetto itself shows
/// nanoseconds. Events may come in any order, but slices of one track must nest or follow each other, as a stack of
/// calls would. I/O errors throw std::system_error.
class Timeline {
 public:
  using Track = TimelineTrack;
  using Name = TimelineName;
  using Argument = TimelineArgument;
  using Flow = TimelineFlow;

  Timeline();
  /// Writes to a temporary file beside `file`, which appears only when the timeline is closed.
  explicit Timeline(const std::filesystem::path& file);
  /// Discards what was not closed: a failed run leaves nothing.
  ~Timeline();
  Timeline(Timeline&&) noexcept;
  Timeline& operator=(Timeline&&) noexcept;

  [[nodiscard]] bool recording() const { return writer_ != nullptr; }

  /// The track of that process and thread, made at its first mention. Processes, and threads within a process, are
  /// shown in the order of their first mention.
  Track track(std::string_view process, std::string_view thread);
  Name name(std::string_view text);

  /// Something that lasted from `start` to `end`.
  void slice(Track track, Name name, std::int64_t start, std::int64_t end, Name category = {}, Argument argument = {}) {
    if (writer_ != nullptr) write_slice(track, name, start, end, category, argument);
  }
  /// Something that happened at `time`.
  void instant(Track track, Name name, std::int64_t time, Name category = {}, Argument argument = {}) {
    if (writer_ != nullptr) write_instant(track, name, time, category, argument);
  }
  /// A quantity that has `value` from `time` on. Drawn as a track of its own, titled by the track's thread and `name`.
  void counter(Track track, Name name, std::int64_t time, std::int64_t value) {
    if (writer_ != nullptr) write_counter(track, name, time, value);
  }
  /// An arrow from the slice that encloses `time` on `track` to the slice that encloses the point given to `flow_end`.
  Flow flow_begin(Track track, Name name, std::int64_t time) {
    return writer_ != nullptr ? write_flow_begin(track, name, time) : Flow{};
  }
  void flow_end(Flow flow, Track track, Name name, std::int64_t time) {
    if (writer_ != nullptr) write_flow_end(flow, track, name, time);
  }

  /// Completes the file and gives it its name; the timeline no longer records. Nothing to do if it did not.
  void close();

 private:
  class Writer;

  void write_slice(Track track, Name name, std::int64_t start, std::int64_t end, Name category, Argument argument);
  void write_instant(Track track, Name name, std::int64_t time, Name category, Argument argument);
  void write_counter(Track track, Name name, std::int64_t time, std::int64_t value);
  Flow write_flow_begin(Track track, Name name, std::int64_t time);
  void write_flow_end(Flow flow, Track track, Name name, std::int64_t time);

  std::unique_ptr<Writer> writer_;
};

}  // namespace weft::traces
