// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/pictures/timeline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "platforms/results/format.h"
#include "platforms/results/pictures/svg.h"

namespace weft::platforms {
namespace {

constexpr double kLeft = 120;
constexpr double kWidth = 1200;  // of the time axis
constexpr double kTop = 34;
constexpr double kPitch = 26;
constexpr double kBar = 18;
constexpr double kIdle = 5;
constexpr std::size_t kMostBars = 1 << 16;  // of a row, before those that touch are joined
constexpr std::array<const char*, 6> kColours{"#4a78b5", "#8a94a0", "#e39a33", "#4aa577", "#8f6bb3", "#b0803a"};

/// A round step of the axis that makes about eight of them.
Time tick_of(Time span) {
  const double rough = static_cast<double>(span.count()) / 8;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = rough / power < 1.5 ? 1 : (rough / power < 3.5 ? 2 : (rough / power < 7.5 ? 5 : 10));
  return Time(std::llround(step * power));
}

}  // namespace

std::size_t TimelinePicture::add_row(std::string name) {
  rows_.push_back({std::move(name), {}});
  return rows_.size() - 1;
}

void TimelinePicture::add_slice(std::size_t row, Time from, Time to) {
  Bars& bars = rows_[row].bars;
  end_ = std::max(end_, to);
  if (bars.size() == bars.capacity() && bars.size() >= kMostBars) bars = join(std::move(bars));
  bars.push_back({from, to});
}

TimelinePicture::Bars TimelinePicture::in_order(Bars bars) {
  std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.from < b.from; });
  return bars;
}

TimelinePicture::Bars TimelinePicture::join(Bars unordered) {
  const Bars bars = in_order(std::move(unordered));
  Bars joined;
  for (const Bar& bar : bars) {
    if (!joined.empty() && bar.from <= joined.back().to) {
      joined.back().to = std::max(joined.back().to, bar.to);
    } else {
      joined.push_back(bar);
    }
  }
  return joined;
}

Time TimelinePicture::busy(std::size_t row) const {
  Time sum;
  for (const Bar& bar : join(rows_[row].bars)) sum += bar.to - bar.from;
  return sum;
}

std::string TimelinePicture::svg() const {
  const double height = kTop + kPitch * static_cast<double>(rows_.size()) + 24;
  const double scale = end_ > Time() ? kWidth / static_cast<double>(end_.count()) : 0;
  const auto x = [scale](Time at) { return kLeft + static_cast<double>(at.count()) * scale; };
  std::string text = svg_beginning(0, 0, kLeft + kWidth + 30, height, "font-size=\"11\"") +
                     fmt::format("<text x=\"12\" y=\"18\" font-size=\"12\">{}</text>\n", svg_text(title_));

  const auto draw = [&](const Bars& bars, double top, double thick, const char* colour) {
    text += fmt::format("<path fill=\"{}\" d=\"", colour);
    const auto wide = [&](const Bar& bar) { return x(bar.to) - x(bar.from) > 4; };
    for (std::size_t i = 0; i < bars.size();) {
      const double from = x(bars[i].from);
      double to = x(bars[i].to);
      bool apart = wide(bars[i]);
      // What one could not tell apart is one bar.
      for (++i; i < bars.size() && x(bars[i].from) < to + 0.5 && !(apart && wide(bars[i])); ++i) {
        to = std::max(to, x(bars[i].to));
        apart = false;
      }
      const double width = std::max(to - from - (apart ? 0.8 : 0), 0.3);
      text += fmt::format("M{:.1f} {:.0f}h{:.1f}v{:.0f}h-{:.1f}z", from, top, width, thick, width);
    }
    text += "\"/>\n";
  };
  const double bottom = height - 24;
  if (end_ > Time()) {
    const Time tick = tick_of(end_);
    for (Time at; at <= end_; at += tick) {
      text += fmt::format(
          "<path stroke=\"#ddd\" d=\"M{0:.1f} {1:.0f}V{2:.0f}\"/><text x=\"{0:.1f}\" y=\"{3:.0f}\" "
          "text-anchor=\"middle\" fill=\"#555\">{4}</text>\n",
          x(at), kTop - 4, bottom + 2, bottom + 15, at == Time() ? "0" : short_time(at));
    }
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double top = kTop + kPitch * static_cast<double>(i);
    text += fmt::format("<text x=\"12\" y=\"{:.0f}\">{}</text>\n", top + 13, svg_text(rows_[i].name));
    draw(in_order(rows_[i].bars), top, kBar, kColours[i % kColours.size()]);
    if (i != 0) continue;
    Bars idle;
    Time since;
    for (const Bar& bar : join(rows_[i].bars)) {
      if (bar.from > since) idle.push_back({since, bar.from});
      since = bar.to;
    }
    if (since < end_) idle.push_back({since, end_});
    draw(idle, top + kBar - kIdle, kIdle, "#d02020");
  }
  return text + "</svg>\n";
}

}  // namespace weft::platforms
