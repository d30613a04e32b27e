// SPDX-License-Identifier: Apache-2.0
// weft vcd calibrate: the model of a block from a waveform of its RTL.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "platforms/cli/output.h"
#include "platforms/cli/result_files.h"
#include "platforms/commands/command.h"
#include "platforms/commands/vcd/blocks.h"
#include "platforms/config/text.h"
#include "platforms/results/format.h"
#include "platforms/results/write_file.h"
#include "traces/files/format_error.h"
#include "traces/vcd/calibrate.h"

namespace weft::platforms {

namespace fs = std::filesystem;

namespace {

using nlohmann::ordered_json;

struct CalibrateOptions {
  BlockOptions block;
  std::string file;
  std::vector<std::string> checks;
  std::vector<std::string> maps;
  std::string at = "fabric.switch.reduction";
  std::string frequency;
  std::int64_t bytes = 0;
  std::uint64_t tolerance = 2;
  std::string out;
  bool json = false;
};

struct Checked {
  std::string file;
  vcd::Residual residual;
};

std::string stall_text(const vcd::Calibration& found) {
  if (!found.stall_seen) return "not seen: the output was always ready";
  if (found.config.stall == vcd::BlockModel::Stall::kRigid)
    return "inputs stop with the output, what is inside stands still";
  return fmt::format("inputs go on until {}{} beats are inside", found.full_seen ? "" : "at least ",
                     found.config.depth);
}

std::string text_of(const vcd::Calibration& found, const vcd::BlockTrace& trace, Frequency clock, std::int64_t bytes) {
  const auto cycles = [](std::uint64_t count) { return fmt::format("{} {}", count, count == 1 ? "cycle" : "cycles"); };
  std::vector<std::vector<std::string>> lines = {
      {trace.file, fmt::format("{} inputs, {} beats at the output", found.config.inputs, trace.output.size())},
      {"  clock", to_text(clock)},
      {"  latency", cycles(found.config.from_input()) + ", " +
                        to_text(cycle_time(static_cast<std::int64_t>(found.config.from_input()), clock))}};
  for (const auto& [kind, interval] : found.intervals) {
    const std::string name = kind.empty() ? "  a beat" : "  a beat of kind " + kind;
    const char* const bound = found.paces_seen.contains(kind) ? "" : "at most ";
    lines.push_back({name, fmt::format("every {}{}, {} bytes", bound, cycles(interval), bytes)});
  }
  lines.push_back(
      {"  between transactions", (found.pause_seen ? "" : "at most ") + cycles(found.config.pause) + " more"});
  lines.push_back(
      {"  an input's queue", fmt::format("{} beats{}", found.config.queue,
                                         found.config.registered ? ", whose places are free a cycle later" : "")});
  lines.push_back({"  output blocked", stall_text(found)});
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line[0].size());
  std::string text;
  for (const auto& line : lines) text += fmt::format("{:{}}  {}\n", line[0], width, line[1]);
  return text;
}

ordered_json to_json(const Checked& checked) {
  return {{"file", checked.file},
          {"transactions", checked.residual.transactions},
          {"mean", checked.residual.mean},
          {"p99", checked.residual.p99},
          {"worst", checked.residual.worst}};
}

const char* stall_name(vcd::BlockModel::Stall stall) {
  return stall == vcd::BlockModel::Stall::kRigid ? "rigid" : "elastic";
}

ordered_json to_json(const vcd::Calibration& found) {
  ordered_json json = {{"latency", found.config.from_input()},
                       {"intervals", ordered_json::object()},
                       {"pause", found.config.pause},
                       {"queue", found.config.queue},
                       {"registered", found.config.registered},
                       {"fall_through", found.config.passes()},
                       {"stall", stall_name(found.config.stall)}};
  for (const auto& [kind, interval] : found.intervals) json["intervals"][kind] = interval;
  if (found.config.stall == vcd::BlockModel::Stall::kElastic) json["depth"] = found.config.depth;
  json["seen"] = {{"interval", found.paces_seen},
                  {"pause", found.pause_seen},
                  {"stall", found.stall_seen},
                  {"full", found.full_seen}};
  return json;
}

/// The values of a reduction engine that the waveform shows, as a platform has them at `at`.
ordered_json patch_of(const vcd::Calibration& found, const vcd::BlockTrace& trace, Frequency clock, std::int64_t bytes,
                      const std::string& at) {
  ordered_json engine = {{"clock", to_text(clock)}};
  for (const auto& [kind, interval] : found.intervals) {
    if (!found.paces_seen.contains(kind)) continue;
    const std::int64_t a_cycle = std::max<std::int64_t>(1, bytes / static_cast<std::int64_t>(interval));
    for (const auto& [name, type] : enum_names(ElementType{})) {
      if (kind.empty() || type_of(trace, kind) == type) engine[std::string(name)] = a_cycle;
    }
  }
  engine["latency"] = to_text(cycle_time(static_cast<std::int64_t>(found.config.from_input()), clock));
  const auto beats = [bytes](std::uint64_t count) { return to_text(Bytes(static_cast<std::int64_t>(count) * bytes)); };
  ordered_json pipeline = {{"queue", beats(found.config.queue)},
                           {"registered", found.config.registered},
                           {"fall_through", found.config.passes()},
                           {"pause", found.config.pause}};
  if (found.stall_seen) {
    pipeline["stall"] = stall_name(found.config.stall);
    if (found.config.stall == vcd::BlockModel::Stall::kElastic) pipeline["depth"] = beats(found.config.depth);
  }
  engine["pipeline"] = std::move(pipeline);
  ordered_json patch = std::move(engine);
  for (std::size_t end = at.size(); end != std::string::npos;) {
    const std::size_t dot = at.rfind('.', end - 1);
    const std::size_t from = dot == std::string::npos ? 0 : dot + 1;
    patch = ordered_json{{at.substr(from, end - from), std::move(patch)}};
    end = dot;
  }
  return patch;
}

int calibrate(const CalibrateOptions& options) {
  const std::vector<vcd::NameRule> rules = parse_maps(options.maps);
  if (!rules.empty() && options.checks.empty())
    throw UsageError("--map: expected --check too: it gives the names in those files");
  ResultFiles files;
  files.spare(options.file);
  for (const std::string& file : options.checks) files.spare(file);
  const fs::path out = options.out.empty() ? fs::path() : files.file("--out", options.out, ResultKind::kPatch);
  vcd::Reader reader(options.file);
  const BlockOptions::Names names = options.block.names_in(reader);
  const vcd::BlockTrace trace = options.block.read(std::move(reader), names, false);
  print_warnings(trace.remarks);
  print_warnings(vcd::remarks_of_idle(rules, names.all()));
  Frequency clock = clock_of(trace);  // which says where there are no values at all
  const std::int64_t bytes = options.bytes > 0 ? options.bytes : static_cast<std::int64_t>(trace.data_bits / 8);
  if (bytes == 0) {
    throw UsageError("--bytes: expected the bytes of a beat, since " +
                     (trace.data_bits > 0 ? std::to_string(trace.data_bits) + " bits of data are less than one"
                                          : std::string("no beat at the inputs has data")));
  }
  if (!options.frequency.empty()) {
    try {
      clock = parse_frequency(options.frequency);
    } catch (const std::invalid_argument& error) {
      throw UsageError("--frequency: " + std::string(error.what()));
    }
  }
  if (!is_clock_of_engines(clock)) {
    throw UsageError("--frequency: expected the clock that the block will have, 1MHz to 100GHz, such as 1GHz: " +
                     (options.frequency.empty() ? "that of " + options.file + " is " + to_text(clock) +
                                                      ", as of a test bench whose unit of time says nothing"
                                                : "got " + options.frequency));
  }
  const vcd::Calibration found = vcd::calibrate(trace);
  std::vector<Checked> checks = {{options.file, vcd::residual(found, trace)}};
  for (const std::string& file : options.checks) {
    vcd::Reader other(file);
    const BlockOptions::Names theirs = rules.empty() ? options.block.names_in(other) : names.mapped(rules);
    checks.push_back({file, vcd::residual(found, options.block.read(std::move(other), theirs, false))});
  }
  const ordered_json patch = patch_of(found, trace, clock, bytes, options.at);
  const bool good =
      std::all_of(checks.begin(), checks.end(), [&](const Checked& c) { return c.residual.p99 <= options.tolerance; });
  if (!options.out.empty()) write_file(out, patch);
  files.keep();
  if (options.json) {
    ordered_json rows = ordered_json::array();
    for (const Checked& checked : checks) rows.push_back(to_json(checked));
    print_json({{"model", to_json(found)},
                {"clock", to_text(clock)},
                {"bytes", bytes},
                {"residual", std::move(rows)},
                {"good", good},
                {"patch", patch}});
    return good ? kDone : kFailed;
  }
  print(text_of(found, trace, clock, bytes));
  std::vector<std::vector<std::string>> table = {
      {"predicted, off by (cycles)", "transactions", "mean", "p99", "worst"}};
  for (const Checked& checked : checks) {
    table.push_back({"  " + checked.file, std::to_string(checked.residual.transactions),
                     fmt::format("{:.3f}", checked.residual.mean), std::to_string(checked.residual.p99),
                     std::to_string(checked.residual.worst)});
  }
  print(in_columns(table));
  if (!good)
    print(fmt::format("more than {} cycles off: the block does something that the model has not\n", options.tolerance));
  print(options.out.empty() ? "patch " + patch.dump() + "\n" : "wrote " + options.out + ", for --patch\n");
  return good ? kDone : kFailed;
}

}  // namespace

Command calibrate_command(const Arguments& parent) {
  auto options = std::make_shared<CalibrateOptions>();
  const Arguments app = parent.add_subcommand(
      "calibrate", "Writes latency, pace and stalls of a block, from a waveform of its RTL, as a patch of a platform");
  app.add_option("WAVE", options->file, "A VCD file, also in gzip or FST; - is standard input")
      .type_name("FILE")
      .required();
  options->block.add_to(app, true);
  app.add_option("--check", options->checks, "Another waveform of the block, to predict; can be repeated")
      .one_at_a_time()
      .type_name("FILE");
  app.add_option("--map", options->maps,
                 "FROM=TO, with * in both: names of WAVE to those of the --check files; RESET= if these have none")
      .type_name("FROM=TO")
      .one_at_a_time();
  app.add_option("--tolerance", options->tolerance, "Cycles by which 99 of 100 predictions may be off; else exit 1")
      .shows_default();
  app.add_option("--bytes", options->bytes, "Bytes of a beat; those of the data if left out")
      .check(Within(std::int64_t{1}, std::int64_t{1} << 16));
  app.add_option("--frequency", options->frequency,
                 "Clock that the block will have, such as 1.2GHz; the waveform's if left out")
      .type_name("CLOCK");
  app.add_option("--at", options->at, "Where a platform has the engine")
      .shows_default()
      .check(OneOf({"fabric.switch.reduction", "scale_up.fabric.switch.reduction"}));
  app.add_option("--out", options->out, "Where to write the patch").type_name("FILE");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return calibrate(*options); }};
}

}  // namespace weft::platforms
