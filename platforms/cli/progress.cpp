// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

std::string short_seconds(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (seconds < 2 * kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.1f} h", seconds / kHour);
}

double heartbeat() {
  constexpr double kMinute = 60;
  const char* const text = std::getenv("WEFT_HEARTBEAT");
  if (text == nullptr) return kMinute;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end != text && *end == '\0' && seconds >= 0) return seconds;
  throw UsageError("WEFT_HEARTBEAT: expected seconds, 0 or more, got " + in_quotes(text));
}

}  // namespace

void TimeLeft::update(double seconds, double done) {
  if (done <= points_.back().second || seconds <= points_.back().first) return;
  points_.emplace_back(seconds, done);
  while (points_.size() > 2 && points_[1].first <= seconds / 2) points_.pop_front();
  const auto [then, done_then] = points_.front();
  const double left = (1 - std::min(done, 1.0)) * (seconds - then) / (done - done_then);
  is_more_ = left_ >= 0 && left > left_;
  if (!is_more_) left_ = left;
}

std::string TimeLeft::text() const {
  if (left_ < 0) return "";
  return (is_more_ ? "more than " : "") + short_seconds(left_) + " left";
}

void ListProgress::end_one() {
  const std::uint64_t size = std::max<std::uint64_t>(sizes_.at(ended_++), 1);
  events_per_byte_ = static_cast<double>(dispatcher_.handled() - events_) / static_cast<double>(size);
  events_ = dispatcher_.handled();
}

double ListProgress::done() const {
  if (ended_ == 0) return -1;
  double bytes = 0;
  for (std::size_t i = ended_; i < sizes_.size(); ++i)
    bytes += static_cast<double>(std::max<std::uint64_t>(sizes_[i], 1));
  const auto handled = static_cast<double>(dispatcher_.handled());
  const double all = std::max(handled, static_cast<double>(events_) + bytes * events_per_byte_);
  return all > 0 ? handled / all : 1;
}

StatusLine::StatusLine() : on_terminal_(isatty(STDERR_FILENO) != 0), interval_(on_terminal_ ? 0.5 : heartbeat()) {}

StatusLine::~StatusLine() {
  hide();
}

void StatusLine::show(std::string_view text) {
  shown_at_ = watch_.seconds();
  shown_ = true;
  const std::string line = on_terminal_ ? fmt::format("\r\033[K{}", text) : fmt::format("weft: {}\n", text);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

void StatusLine::hide() {
  if (shown_ && on_terminal_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

BuildingLine::BuildingLine(std::string what, double quiet)
    : what_(std::move(what)), quiet_(std::max(quiet, line_.interval())) {
  // Signals are for the thread that builds.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BuildingLine::~BuildingLine() {
  {
    const std::lock_guard lock(mutex_);
    built_ = true;
  }
  end_.notify_one();
  thread_.join();
}

void BuildingLine::run() {
  constexpr double kLeast = 0.1;
  std::unique_lock lock(mutex_);
  for (double wait = quiet_; !end_.wait_for(lock, std::chrono::duration<double>(wait), [this] { return built_; });) {
    line_.show(fmt::format("builds {}, {:.0f} s", what_, line_.seconds()));
    wait = std::max(line_.interval(), kLeast);
  }
}

Progress::Progress(Dispatcher& dispatcher, std::function<double()> done, std::uint64_t events,
                   std::unique_ptr<BuildingLine> building)
    : dispatcher_(dispatcher), done_(std::move(done)), building_(std::move(building)) {
  dispatcher.on_progress(1, [this, events] { begin(events); });
}

Progress::~Progress() {
  dispatcher_.on_progress(0, {});
}

void Progress::begin(std::uint64_t events) {
  building_.reset();
  interruptible_.emplace();
  dispatcher_.on_progress(events, [this] { look(); });
}

void Progress::look() {
  check_interrupted();
  if (watch_) watch_();
  if (!line_.due()) return;
  const double seconds = line_.seconds();
  std::string text = fmt::format("simulated {}, {:.1f} M events/s", short_time(dispatcher_.now()),
                                 static_cast<double>(dispatcher_.handled()) / seconds * 1e-6);
  if (const double done = done_ ? done_() : -1; done > 0) {
    left_.update(seconds, done);
    text += fmt::format(", {:.0f} % done", 100 * std::min(done, 1.0));
    if (const std::string left = left_.text(); !left.empty()) text += ", " + left;
  }
  line_.show(text);
}

}  // namespace weft::platforms
