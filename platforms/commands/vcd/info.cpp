// SPDX-License-Identifier: Apache-2.0
// weft vcd info: what signals a waveform has, and how often they change.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/commands/vcd/blocks.h"
#include "platforms/config/text.h"
#include "platforms/results/format.h"
#include "platforms/results/stopwatch.h"
#include "traces/files/format_error.h"
#include "traces/vcd/names.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

struct VcdInfoOptions {
  std::string file;
  std::vector<std::string> patterns;
  bool json = false;
};

/// Of each signal: the changes of its net, or the times at which a part of it changed.
class Changes {
 public:
  explicit Changes(const vcd::Header& header)
      : header_(header), of_net_(header.nets()), of_vector_(header.signals.size()), is_part_(header.nets()) {
    for (std::uint32_t i = 0; i < header.signals.size(); ++i) {
      for (const vcd::Signal::Part& part : header.signals[i].parts) {
        vectors_[part.net].push_back(i);
        is_part_[part.net] = true;
      }
    }
  }

  void count(const vcd::Change& change) {
    if (change.section != vcd::Section::kNone) return;
    ++of_net_[change.net];
    if (!is_part_[change.net]) return;
    for (const std::uint32_t i : vectors_[change.net]) {
      Vector& vector = of_vector_[i];
      if (vector.times == 0 || vector.last != change.time) ++vector.times;
      vector.last = change.time;
    }
  }

  [[nodiscard]] std::uint64_t of(const vcd::Signal& signal) const {
    return signal.parts.empty() ? of_net_[signal.net] : of_vector_[index(signal)].times;
  }
  /// Whether an earlier signal has the same values.
  [[nodiscard]] bool is_alias(const vcd::Signal& signal) const { return &header_.signal_of(signal.net) != &signal; }

 private:
  struct Vector {
    std::uint64_t times = 0;
    std::uint64_t last = 0;
  };

  [[nodiscard]] std::size_t index(const vcd::Signal& signal) const {
    return static_cast<std::size_t>(&signal - header_.signals.data());
  }

  const vcd::Header& header_;
  std::vector<std::uint64_t> of_net_;
  std::vector<Vector> of_vector_;
  std::vector<bool> is_part_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> vectors_;
};

/// Those that patterns choose, in the order of the file; all if there are none.
std::vector<const vcd::Signal*> chosen(const VcdInfoOptions& options, const vcd::Header& header) {
  std::vector<const vcd::Signal*> signals;
  for (const vcd::Signal& signal : header.signals) {
    const bool fits = std::any_of(options.patterns.begin(), options.patterns.end(), [&](const std::string& pattern) {
      return vcd::matches(pattern, signal.name) || vcd::matches(pattern, signal.name + signal.range);
    });
    if (fits || options.patterns.empty()) signals.push_back(&signal);
  }
  return signals;
}

std::string shown_name(const vcd::Names& names, const vcd::Signal& signal) {
  const std::string name = names.name_of(signal);
  return name == signal.name ? name + signal.range : name;
}

std::string changes_text(const vcd::Signal& signal, const Changes& changes) {
  const std::uint64_t count = changes.of(signal);
  return vcd::Names::has_values(signal) || signal.kind == vcd::SignalKind::kEvent
             ? fmt::format("{} {}", count, count == 1 ? "change" : "changes")
             : "no values";
}

int show_signals(const VcdInfoOptions& options) {
  const Stopwatch watch;
  vcd::Reader reader(options.file);
  const vcd::Header& header = reader.header();
  std::vector<const vcd::Signal*> signals = chosen(options, header);
  if (signals.empty()) {
    // Bits of a signal, or it says what there is.
    const vcd::Names names(header, options.file);
    for (const std::string& pattern : options.patterns) signals.push_back(names.get(pattern).signal);
  }
  Changes changes(header);
  std::uint64_t all = 0;
  std::uint64_t first = 0;
  for (vcd::Change change; reader.next(change); ++all) {
    if (all == 0) first = change.time;
    changes.count(change);
  }
  const double seconds = watch.seconds();
  const double cpu_seconds = watch.cpu_seconds();
  const std::string timescale = header.timescale().text();
  const double rate = static_cast<double>(reader.bytes()) / seconds;
  const double cpu_rate = static_cast<double>(reader.bytes()) / cpu_seconds;
  print_warnings(reader.remarks());
  if (options.json) {
    ordered_json rows = ordered_json::array();
    for (const vcd::Signal* const signal : signals) {
      rows.push_back({{"name", signal->name},
                      {"type", signal->type},
                      {"width", signal->width},
                      {"range", signal->range},
                      {"changes", changes.of(*signal)}});
    }
    print_json(ordered_json{
        {"file", options.file},
        {"bytes", reader.bytes()},
        {"date", header.date},
        {"version", header.version},
        {"timescale", timescale},
        {"timescale_given", header.given_timescale.has_value()},
        {"first_time", first},
        {"last_time", reader.time()},
        {"nets", header.nets()},
        {"values", all},
        {"remarks", reader.remarks()},
        {"signals", std::move(rows)},
        {"simulator",
         {{"seconds", seconds}, {"cpu_s", cpu_seconds}, {"bytes_per_s", rate}, {"bytes_per_cpu_s", cpu_rate}}}});
    return kDone;
  }
  std::vector<std::vector<std::string>> lines = {
      {options.file, ""},
      {"  size", short_bytes(static_cast<double>(reader.bytes()))},
      {"  timescale", header.given_timescale ? timescale : timescale + ", not said"},
      {"  time", fmt::format("{} to {}", first, reader.time())},
      {"  signals", fmt::format("{} of {} nets", header.signals.size(), header.nets())},
      {"  values", std::to_string(all)}};
  if (!header.version.empty()) lines.insert(lines.begin() + 1, {"  version", header.version});
  if (!header.date.empty()) lines.insert(lines.begin() + 1, {"  date", header.date});
  std::vector<const vcd::Signal*> listed = signals;
  if (options.patterns.empty()) {
    constexpr std::size_t kShown = 10;
    std::erase_if(listed, [&](const vcd::Signal* signal) { return changes.is_alias(*signal); });
    std::stable_sort(listed.begin(), listed.end(),
                     [&](const vcd::Signal* a, const vcd::Signal* b) { return changes.of(*a) > changes.of(*b); });
    listed.resize(std::min(listed.size(), kShown));
  }
  const vcd::Names names(header, options.file);
  for (const vcd::Signal* const signal : listed) {
    lines.push_back({"  " + shown_name(names, *signal), changes_text(*signal, changes)});
  }
  const std::size_t left_out = signals.size() - listed.size();
  lines.push_back(
      {"  read", fmt::format("{:.0f} MB/s, {:.0f} MB in a second of processor time", rate * 1e-6, cpu_rate * 1e-6)});
  print(in_columns(lines));
  if (left_out > 0) {
    print(
        fmt::format("  {} more signals, with fewer changes or of the same nets: --signals '*' lists all\n", left_out));
  }
  return kDone;
}

}  // namespace

Command info_command(const Arguments& parent) {
  auto options = std::make_shared<VcdInfoOptions>();
  const Arguments app = parent.add_subcommand("info", "Lists the signals of a waveform and how often they change");
  app.add_option("FILE", options->file, "A VCD file, also in gzip or FST; - is standard input")
      .type_name("FILE")
      .required();
  app.add_option("--signals", options->patterns,
                 "List only signals whose names match a pattern with *; can be repeated")
      .one_at_a_time()
      .type_name("PATTERN");
  app.add_flag("--json", options->json, "Print JSON, with all signals");
  return {app, [options] { return show_signals(*options); }};
}

}  // namespace weft::platforms
