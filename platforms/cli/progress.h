// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "hw/core/dispatcher.h"
#include "platforms/cli/signals.h"
#include "platforms/results/stopwatch.h"

/// How far a long command has come.
namespace weft::platforms {

/// How long something still takes, from the part of it that is done and the pace of the latter half of the time so far.
/// What it says does not grow: where the work turns out slower than it was, it says that more is left than was said.
class TimeLeft {
 public:
  /// `done` is a part in 0 to 1; `seconds` are those since the beginning. Neither becomes less from call to call.
  void update(double seconds, double done);
  /// "34 s left", "more than 34 s left"; empty as long as nothing is known.
  [[nodiscard]] std::string text() const;

 private:
  std::deque<std::pair<double, double>> points_ = {{0, 0}};  ///< of the latter half
  double left_ = -1;
  bool is_more_ = false;
};

/// What part of a list of works is done, in events of a dispatcher. How many a work takes for each byte of its size is
/// known from the last that has ended.
class ListProgress {
 public:
  ListProgress(const Dispatcher& dispatcher, std::vector<std::uint64_t> sizes)
      : dispatcher_(dispatcher), sizes_(std::move(sizes)) {}

  /// The next of the list has ended.
  void end_one();
  /// In 0 to 1; less than 0 before one has ended.
  [[nodiscard]] double done() const;

 private:
  const Dispatcher& dispatcher_;
  std::vector<std::uint64_t> sizes_;
  std::size_t ended_ = 0;
  std::uint64_t events_ = 0;  ///< until the last that has ended
  double events_per_byte_ = 0;
};

/// A line on stderr: on a terminal twice a second in its place, else a line of its own once a minute, or as often as
/// the environment variable WEFT_HEARTBEAT says in seconds. One that cannot be written is no error.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  [[nodiscard]] bool due() const { return watch_.seconds() - shown_at_ >= interval_; }
  [[nodiscard]] double seconds() const { return watch_.seconds(); }
  [[nodiscard]] double interval() const { return interval_; }
  void show(std::string_view text);
  /// Removes it from a terminal, where another line is to be printed.
  void hide();

 private:
  bool on_terminal_;
  double interval_;
  bool shown_ = false;
  double shown_at_ = 0;
  Stopwatch watch_;
};

/// Says that something large is being built, and for how long, as long as it lives: in a thread of its own, since what
/// builds it looks at no clock. A signal ends the program meanwhile, as nothing is there to be kept.
class BuildingLine {
 public:
  /// `what` is a noun phrase, such as "1048576 accelerators". What takes no longer than `quiet` goes without saying.
  explicit BuildingLine(std::string what, double quiet = 2);
  ~BuildingLine();
  BuildingLine(const BuildingLine&) = delete;
  BuildingLine& operator=(const BuildingLine&) = delete;

 private:
  void run();

  std::string what_;
  StatusLine line_;
  double quiet_;  ///< which the line's interval is known for
  bool built_ = false;
  std::mutex mutex_;
  std::condition_variable end_;
  std::thread thread_;
};

/// Shows how far the events of a dispatcher have come, and from the first of them on is Interruptible: what runs them
/// throws Interrupted where a signal came.
class Progress {
 public:
  /// Few enough that one at which a thread of many ranks begins, which may take milliseconds, is not noticed.
  static constexpr std::uint64_t kEvents = 1 << 12;
  /// Of an analytical network, where one has all that happens at a time.
  static constexpr std::uint64_t kTimes = 1 << 6;

  /// `done` tells what part of the run is done, in 0 to 1, or less than 0 where that is not known. Looks every so many
  /// events.
  /// What is `building` ends when the first event has run, since SystemC elaborates until then.
  explicit Progress(Dispatcher& dispatcher, std::function<double()> done = {}, std::uint64_t events = kEvents,
                    std::unique_ptr<BuildingLine> building = nullptr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Called as well, every so many events.
  void watch(std::function<void()> look) { watch_ = std::move(look); }
  /// Before something else is printed.
  void hide() { line_.hide(); }

 private:
  void begin(std::uint64_t events);
  void look();

  Dispatcher& dispatcher_;
  std::function<double()> done_;
  std::function<void()> watch_;
  std::unique_ptr<BuildingLine> building_;
  std::optional<Interruptible> interruptible_;
  StatusLine line_;
  TimeLeft left_;
};

}  // namespace weft::platforms
