// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/analytical/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

using analytical::Activity;
using analytical::EndReport;
using nlohmann::ordered_json;

enum class Unit : std::uint8_t { kNs, kBytes, kShare, kNumber };

struct Column {
  const char* name;
  const char* text;  ///< for people
  Unit unit;
  std::optional<double> (*value)(const EndReport&);
  bool always = true;  ///< told to people also where it is nothing
};

double ns(Time time) {
  return static_cast<double>(time.count() / 1000);
}

template <double analytical::RooflineMeans::*mean>
std::optional<double> roofline(const EndReport& end) {
  if (!end.roofline) return std::nullopt;
  return (*end.roofline).*mean;
}

template <Activity activity>
std::optional<double> busy(const EndReport& end) {
  return ns(end.of(activity));
}

using Means = analytical::RooflineMeans;
const Column kColumns[] = {
    {"finish_ns", "done", Unit::kNs, [](const EndReport& e) -> std::optional<double> { return ns(e.finished); }},
    {"exposed_communication_ns", "  not computing (exposed communication)", Unit::kNs,
     [](const EndReport& e) -> std::optional<double> { return ns(e.exposed_communication()); }},
    {"computing_ns", "  computing", Unit::kNs, busy<Activity::kCompute>},
    {"communicating_ns", "  communicating", Unit::kNs, busy<Activity::kCommunication>},
    {"overlapped_ns", "  both", Unit::kNs,
     [](const EndReport& e) -> std::optional<double> { return ns(e.overlapped); }},
    {"remote_memory_ns", "  remote memory", Unit::kNs, busy<Activity::kRemoteMemory>, false},
    {"cpu_ns", "  CPU", Unit::kNs, busy<Activity::kCpu>, false},
    {"idle_ns", "  idle", Unit::kNs, [](const EndReport& e) -> std::optional<double> { return ns(e.idle); }, false},
    {"communicated_bytes", "communicated", Unit::kBytes,
     [](const EndReport& e) -> std::optional<double> { return static_cast<double>(e.communicated_bytes); }},
    {"compute_bound", "bound by the peak", Unit::kShare, roofline<&Means::compute_bound>},
    {"compute_utilisation", "compute utilisation", Unit::kShare, roofline<&Means::compute_utilisation>},
    {"memory_utilisation", "memory utilisation", Unit::kShare, roofline<&Means::memory_utilisation>},
    {"operation_intensity", "operations for a byte", Unit::kNumber, roofline<&Means::operation_intensity>},
};

/// Times and bytes are whole.
ordered_json to_json(const Column& column, const std::optional<double>& value) {
  if (!value) return nullptr;
  if (column.unit == Unit::kNs || column.unit == Unit::kBytes) return static_cast<std::int64_t>(*value);
  return *value;
}

std::optional<double> mean(const Column& column, const std::vector<EndReport>& ends) {
  double sum = 0;
  for (const EndReport& end : ends) {
    const std::optional<double> value = column.value(end);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum / static_cast<double>(ends.size());
}

std::size_t worst(const std::vector<EndReport>& ends) {
  const auto badness = [](const EndReport& end) { return std::tuple(end.finished, end.exposed_communication()); };
  const auto found = std::max_element(ends.begin(), ends.end(),
                                      [&](const EndReport& a, const EndReport& b) { return badness(a) < badness(b); });
  return static_cast<std::size_t>(found - ends.begin());
}

std::string text_of(const Column& column, double value, double finish_ns) {
  switch (column.unit) {
    case Unit::kNs:
      if (column.text[0] != ' ' || finish_ns <= 0) return fmt::format("{:.0f} ns {:>9}", value, "");
      return fmt::format("{:.0f} ns {:>7.2f} %", value, 100 * value / finish_ns);
    case Unit::kBytes:
      return fmt::format("{} {:>9}", short_bytes(value), "");
    case Unit::kShare:
      return fmt::format("{:.3f} %", 100 * value);
    case Unit::kNumber:
      break;
  }
  return fmt::format("{:.3f} {:>9}", value, "");
}

}  // namespace

ordered_json end_statistics(const std::vector<EndReport>& ends) {
  const std::size_t last = worst(ends);
  ordered_json means;
  ordered_json of_worst = {{"end", last}};
  ordered_json per_end;
  for (const Column& column : kColumns) {
    const std::optional<double> average = mean(column, ends);
    means[column.name] = average ? ordered_json(*average) : ordered_json(nullptr);
    of_worst[column.name] = to_json(column, column.value(ends[last]));
    ordered_json& values = per_end[column.name] = ordered_json::array();
    for (const EndReport& end : ends) values.push_back(to_json(column, column.value(end)));
  }
  return {{"mean", means}, {"worst", of_worst}, {"per_end", per_end}};
}

std::string end_table(const std::vector<EndReport>& ends) {
  std::string text = "end";
  for (const Column& column : kColumns) text += std::string(",") + column.name;
  text += "\n";
  for (std::size_t e = 0; e < ends.size(); ++e) {
    text += std::to_string(e);
    for (const Column& column : kColumns) {
      const ordered_json value = to_json(column, column.value(ends[e]));
      text += "," + (value.is_null() ? std::string() : value.dump());
    }
    text += "\n";
  }
  return text;
}

std::string end_text(const std::vector<EndReport>& ends) {
  const std::size_t last = worst(ends);
  std::vector<std::vector<std::string>> lines = {
      {"", fmt::format("mean {:>9}", ""), fmt::format("worst: end {} {:>9}", last, "")}};
  const double mean_finish = *mean(kColumns[0], ends);
  const double worst_finish = ns(ends[last].finished);
  for (const Column& column : kColumns) {
    const std::optional<double> average = mean(column, ends);
    if (!average || (!column.always && *average == 0)) continue;
    lines.push_back({column.text, text_of(column, *average, mean_finish),
                     text_of(column, *column.value(ends[last]), worst_finish)});
  }
  return in_columns(lines);
}

ordered_json dimension_summary(const analytical::Network& network, Time span) {
  ordered_json dimensions = ordered_json::array();
  for (std::size_t i = 0; i < network.dimensions().size(); ++i) {
    const analytical::Dimension& dimension = network.dimensions()[i];
    const double possible = network.bytes_per_ns(i) * network.ends() * static_cast<double>(span.count()) / 1000;
    dimensions.push_back({{"block", name_of(dimension.block)},
                          {"size", dimension.size},
                          {"carried_bytes", network.carried(i)},
                          {"utilisation", possible > 0 ? static_cast<double>(network.carried(i)) / possible : 0}});
  }
  return dimensions;
}

}  // namespace weft::platforms
