// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/accuracy/accuracy_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>

#include "platforms/results/pictures/svg.h"

namespace weft::platforms {
namespace {

using traces::PublishedResult;
using traces::Verdict;

constexpr double kBand = 0.1;
constexpr std::size_t kFewestPoints = 6;
constexpr std::size_t kMostRowsWithBars = 12;  // where points would say nothing
constexpr const char* kGood = "#3568a8";
constexpr const char* kBad = "#d02020";

std::string beginning(double width, double height, const std::string& title) {
  return svg_beginning(0, 0, width, height, "font-size=\"12\"") +
         fmt::format("<text x=\"14\" y=\"20\" font-size=\"13\">{}</text>\n", svg_text(title));
}

const char* verdict_colour(const PublishedResult& result) {
  return result.verdict == Verdict::kFail ? kBad : kGood;
}

std::string axis_number(double value) {
  constexpr double kWithoutExponent = 1e10;
  return value < kWithoutExponent && value == std::floor(value) ? fmt::format("{:.0f}", value)
                                                                : fmt::format("{:.4g}", value);
}

/// A round step that divides the span into about so many.
double step_of(double span, double parts) {
  const double power = std::pow(10, std::floor(std::log10(span / parts)));
  const double rough = span / parts / power;
  return power * (rough < 1.5 ? 1 : rough < 3.5 ? 2 : rough < 7.5 ? 5 : 10);
}

/// Of a logarithmic axis between two powers of ten: powers, with 2 and 5 between where these are few; round steps where
/// even those are.
std::vector<double> ticks(double low, double high) {
  std::vector<double> at;
  constexpr double kSteps = 0.7;
  constexpr double kDigits = 3;
  if (high - low < kSteps) {
    const double from = std::pow(10, low);
    const double step = step_of(std::pow(10, high) - from, 5);
    for (double value = std::ceil(from / step) * step; std::log10(value) <= high; value += step) at.push_back(value);
    return at;
  }
  const int every = std::max(1, static_cast<int>((high - low) / 8));
  for (int power = static_cast<int>(std::floor(low)); power <= high; power += every) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit > 1 && high - low > kDigits) continue;
      const double value = digit * std::pow(10, power);
      if (std::log10(value) >= low && std::log10(value) <= high) at.push_back(value);
    }
  }
  return at;
}

std::string units_of(const std::vector<PublishedResult>& rows) {
  std::set<std::string> units;
  std::string text;
  for (const PublishedResult& result : rows) {
    if (result.row.unit.empty() || !units.insert(result.row.unit).second) continue;
    text += (text.empty() ? ", " : " or ") + result.row.unit;
  }
  return svg_text(text);
}

bool is_on_axes(const PublishedResult& result) {
  return result.simulated && *result.simulated > 0 && result.row.published > 0;
}

/// Where it can be drawn: none if a value is missing, or the published one as good as 0.
std::optional<double> error_of(const PublishedResult& result) {
  constexpr double kLargest = 1e9;
  if (!result.relative_error || !(std::abs(*result.relative_error) < kLargest)) return std::nullopt;
  return result.relative_error;
}

/// Of a setting the last part of its name: "model=gpt2" of "workload.model=gpt2".
std::vector<std::string> words_of(const PublishedResult& result) {
  std::istringstream text(result.row.platform + " " + result.row.arguments + " " + result.row.metric);
  std::vector<std::string> words;
  for (std::string word; text >> word;) {
    if (word == "--set") continue;
    if (const std::size_t value = word.find('='); value != std::string::npos) {
      const std::size_t dot = word.rfind('.', value);
      if (dot != std::string::npos) word.erase(0, dot + 1);
    }
    words.push_back(word);
  }
  return words;
}

/// What a row has and not every other one.
std::vector<std::string> labels(const std::vector<PublishedResult>& rows) {
  std::vector<std::vector<std::string>> words;
  words.reserve(rows.size());
  for (const PublishedResult& result : rows) words.push_back(words_of(result));
  std::vector<std::string> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string label = fmt::format("#{}", i + 1);
    for (const std::string& word : words[i]) {
      const bool is_common = std::all_of(words.begin(), words.end(), [&word](const auto& other) {
        return std::find(other.begin(), other.end(), word) != other.end();
      });
      if (!is_common) label += " " + word;
    }
    constexpr std::size_t kLongest = 56;
    if (label.size() > kLongest) label = label.substr(0, kLongest - 3) + "...";
    all.push_back(svg_text(label));
  }
  return all;
}

std::string bar_chart(const std::vector<PublishedResult>& rows, const std::string& title) {
  constexpr double kBarsLeft = 400;
  constexpr double kBarsWidth = 420;
  constexpr double kBarsTop = 40;
  constexpr double kBarPitch = 24;
  double low = -2 * kBand;
  double high = 2 * kBand;
  for (const PublishedResult& result : rows) {
    low = std::min(low, error_of(result).value_or(0));
    high = std::max(high, error_of(result).value_or(0));
  }
  const double scale = kBarsWidth / (high - low);
  const auto x = [&](double error) { return kBarsLeft + (error - low) * scale; };
  const double bottom = kBarsTop + kBarPitch * static_cast<double>(rows.size());
  std::string text = beginning(kBarsLeft + kBarsWidth + 80, bottom + 50, title);
  text += fmt::format("<path fill=\"#e3efe3\" d=\"M{:.1f} {:.0f}H{:.1f}V{:.0f}H{:.1f}z\"/>\n", x(-kBand), kBarsTop,
                      x(kBand), bottom, x(-kBand));
  const double step = step_of(high - low, 6);
  for (double at = std::ceil(low / step) * step; at <= high * 1.0001; at += step) {
    text += fmt::format(
        "<path stroke=\"#ccc\" d=\"M{0:.1f} {1:.0f}V{2:.0f}\"/><text x=\"{0:.1f}\" y=\"{3:.0f}\" "
        "text-anchor=\"middle\" "
        "fill=\"#555\">{4}</text>\n",
        x(at), kBarsTop, bottom, bottom + 16, std::abs(at) < step / 2 ? "0%" : fmt::format("{:+.0f}%", at * 100));
  }
  const std::vector<std::string> names = labels(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double top = kBarsTop + kBarPitch * static_cast<double>(i);
    text += fmt::format("<text x=\"14\" y=\"{:.0f}\">{}</text>\n", top + 16, names[i]);
    if (!error_of(rows[i])) continue;
    const double error = *error_of(rows[i]);
    text += fmt::format("<path fill=\"{}\" d=\"M{:.1f} {:.0f}H{:.1f}V{:.0f}H{:.1f}z\"/>", verdict_colour(rows[i]), x(0),
                        top + 5, x(error), top + 19, x(0));
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{:+.1f}%</text>\n", std::max(x(error), x(0)) + 5, top + 16,
                        error * 100);
  }
  text += fmt::format("<path stroke=\"#333\" d=\"M{0:.1f} {1:.0f}V{2:.0f}\"/>\n", x(0), kBarsTop, bottom);
  text += fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">simulated less published, of the published value"
      "</text>\n</svg>\n",
      kBarsLeft + kBarsWidth / 2, bottom + 38);
  return text;
}

/// Numbers of the rows that are worth a label.
std::set<std::size_t> worst_of(const std::vector<PublishedResult>& rows) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_on_axes(rows[i]) && std::abs(*rows[i].relative_error) > kBand) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&rows](std::size_t a, std::size_t b) {
    return std::abs(*rows[a].relative_error) > std::abs(*rows[b].relative_error);
  });
  order.resize(std::min<std::size_t>(order.size(), 5));
  return {order.begin(), order.end()};
}

std::string scatter(const std::vector<PublishedResult>& rows, const std::string& title) {
  constexpr double kPlotLeft = 84;
  constexpr double kPlotTop = 36;
  constexpr double kPlotSide = 460;
  double low = INFINITY;
  double high = -INFINITY;
  std::size_t shown = 0;
  for (const PublishedResult& result : rows) {
    if (!is_on_axes(result)) continue;
    ++shown;
    const double simulated = std::log10(*result.simulated);
    const double published = std::log10(result.row.published);
    low = std::min({low, published, simulated});
    high = std::max({high, published, simulated});
  }
  const double room = std::max((high - low) * 0.04, 0.03);
  low -= room;
  high += room;
  const double scale = kPlotSide / (high - low);
  const auto x = [&](double value) { return kPlotLeft + (std::log10(value) - low) * scale; };
  const auto y = [&](double value) { return kPlotTop + kPlotSide - (std::log10(value) - low) * scale; };
  std::string text = beginning(kPlotLeft + kPlotSide + 30, kPlotTop + kPlotSide + 62, title);
  text += fmt::format("<clipPath id=\"axes\"><path d=\"M{0:.0f} {1:.0f}h{2:.0f}v{2:.0f}h-{2:.0f}z\"/></clipPath>\n",
                      kPlotLeft, kPlotTop, kPlotSide);
  // The band is parallel to the diagonal.
  const double above = -std::log10(1 + kBand) * scale;
  const double below = -std::log10(1 - kBand) * scale;
  const double right = kPlotLeft + kPlotSide;
  const double bottom = kPlotTop + kPlotSide;
  text += fmt::format(
      "<g clip-path=\"url(#axes)\"><path fill=\"#e3efe3\" d=\"M{0:.1f} {2:.1f}L{1:.1f} {3:.1f}L{1:.1f} {5:.1f}L{0:.1f} "
      "{4:.1f}z\"/>"
      "<path stroke=\"#6a9a6a\" d=\"M{0:.1f} {6:.1f}L{1:.1f} {7:.1f}\"/></g>\n",
      kPlotLeft, right, bottom + above, kPlotTop + above, bottom + below, kPlotTop + below, bottom, kPlotTop);
  for (const double at : ticks(low, high)) {
    text += fmt::format(
        "<path stroke=\"#ddd\" fill=\"none\" d=\"M{0:.1f} {1:.0f}V{2:.0f}M{3:.0f} {4:.1f}H{5:.0f}\"/><text "
        "x=\"{0:.1f}\" y=\"{6:.0f}\" "
        "text-anchor=\"middle\" fill=\"#555\">{8}</text><text x=\"{7:.0f}\" y=\"{9:.1f}\" text-anchor=\"end\" "
        "fill=\"#555\">{8}</text>\n",
        x(at), kPlotTop, kPlotTop + kPlotSide, kPlotLeft, y(at), kPlotLeft + kPlotSide, kPlotTop + kPlotSide + 18,
        kPlotLeft - 6, axis_number(at), y(at) + 4);
  }
  text += fmt::format("<path stroke=\"#333\" fill=\"none\" d=\"M{0:.0f} {1:.0f}v{2:.0f}h{2:.0f}\"/>\n", kPlotLeft,
                      kPlotTop, kPlotSide);
  const std::set<std::size_t> worst = worst_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_on_axes(rows[i])) continue;
    const double px = x(rows[i].row.published);
    const double py = y(*rows[i].simulated);
    text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.7\"/>", px, py,
                        verdict_colour(rows[i]));
    if (worst.contains(i)) text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">#{}</text>", px + 6, py - 5, i + 1);
    text += "\n";
  }
  const std::string units = units_of(rows);
  text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">published{}</text>\n",
                      kPlotLeft + kPlotSide / 2, kPlotTop + kPlotSide + 38, units);
  text +=
      fmt::format("<text transform=\"translate(20 {:.0f}) rotate(-90)\" text-anchor=\"middle\">simulated{}</text>\n",
                  kPlotTop + kPlotSide / 2, units);
  if (shown < rows.size()) {
    text += fmt::format("<text x=\"14\" y=\"{:.0f}\" fill=\"#555\">{} of {} rows have no place on these axes.</text>\n",
                        kPlotTop + kPlotSide + 56, rows.size() - shown, rows.size());
  }
  return text + "</svg>\n";
}

}  // namespace

std::string accuracy_plot(const std::vector<PublishedResult>& rows, const std::string& title) {
  std::set<std::string> units;
  std::set<double> published;
  std::size_t on_axes = 0;
  for (const PublishedResult& result : rows) {
    if (!is_on_axes(result)) continue;
    ++on_axes;
    units.insert(result.row.unit);
    published.insert(result.row.published);
  }
  const bool says_nothing = units.size() > 1 || published.size() == 1;
  const bool are_few = on_axes < kFewestPoints || (rows.size() <= kMostRowsWithBars && says_nothing);
  const bool has_failed = std::any_of(rows.begin(), rows.end(),
                                      [](const PublishedResult& result) { return result.verdict == Verdict::kFail; });
  const std::string legend = title + ", with a band of 10 %" + (has_failed ? "; red: outside its tolerance" : "");
  return are_few ? bar_chart(rows, legend) : scatter(rows, legend);
}

}  // namespace weft::platforms
