// SPDX-License-Identifier: Apache-2.0
// weft memory: runs a trace of memory requests through the banks of an HBM.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "hw/memory/dram/replay.h"
#include "platforms/cli/output.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/signals.h"
#include "platforms/commands/command.h"
#include "platforms/config/document.h"
#include "platforms/config/field_visitor.h"
#include "platforms/config/text.h"
#include "platforms/machine/find_accelerator.h"
#include "platforms/results/format.h"
#include "platforms/results/stopwatch.h"
#include "platforms/results/write_file.h"
#include "traces/memory_trace.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string trace;
  std::string device = "hbm3";
  std::string mapping;
  std::vector<std::string> overrides;
  std::int64_t outstanding = 0;
  std::string rate;
  bool json = false;
};

struct Result {
  dram::MemoryConfig config;
  std::string mapping;  ///< in full, as is the next
  std::string hash;
  std::int64_t outstanding = 0;
  std::int64_t reads = 0;
  std::int64_t writes = 0;
  double bytes_per_second = 0;
  Time elapsed;
  dram::Counters counters;
  dram::EnergyUse energy;
  dram::Occupancy occupancy;
  std::unique_ptr<dram::Replay> replay;
  double seconds = 0;
  double cpu_seconds = 0;
  std::optional<Interrupted> interrupted;

  [[nodiscard]] double requests() const { return static_cast<double>(reads + writes); }
  [[nodiscard]] double hit_rate() const {
    const auto all = counters.row_hits + counters.row_closed + counters.row_conflicts;
    return all == 0 ? 0 : static_cast<double>(counters.row_hits) / static_cast<double>(all);
  }
  [[nodiscard]] double pj_per_bit() const {
    return energy.total() / (requests() * 8 * static_cast<double>(config.device.geometry.burst.count()));
  }
  [[nodiscard]] double watts() const { return energy.total() * 1e-12 / to_seconds(elapsed); }
};

/// What the stacks of a memory are, or of an accelerator's; none if it is no such part.
std::optional<dram::MemoryConfig> find_stacks(const std::string& name) {
  Catalogue catalogue;
  const Part* part = catalogue.find(name);
  if (part == nullptr) return std::nullopt;
  memory::HbmConfig hbm;
  if (part->kind == memory::HbmConfig::kPartKind) {
    const ordered_json text = {{"hbm", name}};
    Document document = Document::from_text(text.dump(), "weft memory");
    document.root().read_part("hbm", hbm);
  } else if (const std::optional<AcceleratorPart> accelerator = find_accelerator(name)) {
    hbm = accelerator->hbm;
  } else {
    return std::nullopt;
  }
  if (!hbm.has_stacks()) {
    throw UsageError("--device: expected a memory whose part says what it is made of, " + name +
                     " does not (its stacks.count is 0)");
  }
  return hbm.stacks.memory();
}

std::string devices() {
  Catalogue catalogue;
  std::string text;
  for (const std::string_view kind : {std::string_view(dram::Device::kPartKind), memory::HbmConfig::kPartKind}) {
    text += fmt::format("{}{}, of kind {}", text.empty() ? "" : "; ", join(catalogue.names(kind), ", "), kind);
  }
  return text + "; or an accelerator, for its memory";
}

/// Of a part of kind hbm the fields stand as `device` has them, and not as below `accelerator.hbm.stacks`.
void check_overrides(const std::vector<std::string>& overrides) {
  for (const std::string& text : overrides) {
    if (!text.starts_with("stacks.") && !text.starts_with("hbm.") && !text.starts_with("accelerator.")) continue;
    throw UsageError(
        "--set: expected stacks=NUMBER, stack_interleave, mapping, hash, or a field of device or controller, got \"" +
        text + "\"");
  }
}

dram::MemoryConfig read_config(const Options& options) {
  check_overrides(options.overrides);
  ordered_json text = ordered_json::object();
  std::optional<dram::MemoryConfig> stacks = find_stacks(options.device);
  if (!stacks) {
    Catalogue catalogue;
    const Part* part = catalogue.find(options.device);
    if (part == nullptr || part->kind != dram::Device::kPartKind) {
      throw UsageError("--device: expected one of " + devices() + ", got \"" + options.device + "\"" +
                       (part == nullptr ? "" : ", which is of kind " + part->kind));
    }
    text["device"] = options.device;
  }
  if (!options.mapping.empty()) text["mapping"] = options.mapping;
  static const std::string kOwn = "weft memory";
  try {
    Document document = Document::from_text(text.dump(), kOwn, options.overrides);
    dram::MemoryConfig config = stacks.value_or(dram::MemoryConfig());
    document.root().read(config);
    document.check_unused();
    try {
      config.check();
      [[maybe_unused]] const dram::AddressMap map = config.map();
    } catch (const ConfigError& error) {
      throw document.explain(error);
    }
    return config;
  } catch (const InputError& error) {
    if (error.file() != kOwn) throw;
    // What no --set says, an option does, or the part.
    const bool is_mapping = error.path() == "mapping" && !options.mapping.empty();
    throw InputError(is_mapping ? "--mapping" : "--device " + options.device, is_mapping ? "" : error.path(),
                     error.expected(), error.got());
  }
}

std::optional<Rate> parse_offered(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::string units;
  try {
    const Rate rate = parse_rate(text);
    if (rate.count() >= 1'000'000) return rate;
  } catch (const std::invalid_argument& error) {
    units = units_in_brackets(error);
  }
  throw UsageError("--rate: expected a rate of at least 1Mbps, such as \"10.2GB/s\"" + units + ", got \"" + text +
                   "\"");
}

Result simulate(const Options& options) {
  Result result;
  result.config = read_config(options);
  const dram::Geometry& geometry = result.config.device.geometry;
  result.outstanding = options.outstanding > 0 ? options.outstanding : 128LL * result.config.channels();
  const std::optional<Rate> rate = parse_offered(options.rate);
  const Stopwatch watch;
  dram::MemorySystem memory(result.config);
  result.mapping = memory.map().text();
  result.hash = memory.map().hash_text();
  result.replay = std::make_unique<dram::Replay>(memory, static_cast<int>(result.outstanding));
  traces::MemoryTrace trace(options.trace, memory.map().capacity());
  traces::MemoryTrace::Entry entry;
  // In 2^-32 ps, so that a long trace keeps its rate.
  const auto gap = rate ? (static_cast<__int128>(geometry.burst.count()) * 8'000'000'000'000 << 32) / rate->count() : 0;
  __int128 at = 0;
  // Times count from the first request: what is before it would be refreshed, and is no part of the time it takes.
  Time begin;
  constexpr std::uint64_t kLook = 1 << 16;
  const Interruptible requests;
  StatusLine line;
  for (std::uint64_t read = 1; trace.next(entry); ++read) {
    if (read % kLook == 0) {
      if (interruption() != 0) break;
      if (line.due())
        line.show(fmt::format("{} requests, {:.2f} million a second", read,
                              static_cast<double>(read) / line.seconds() * 1e-6));
    }
    if (entry.timed && result.requests() == 0) begin = Time(entry.time_ps);
    ++(entry.write ? result.writes : result.reads);
    if (rate) {
      result.replay->request(entry.write, entry.address, Time(static_cast<std::int64_t>(at >> 32)), entry.partial);
      at += gap;
    } else if (entry.timed) {
      result.replay->request(entry.write, entry.address, Time(entry.time_ps) - begin, entry.partial);
    } else {
      result.replay->request(entry.write, entry.address, entry.partial);
    }
  }
  if (interruption() != 0) {
    result.interrupted = Interrupted(interruption());
    result.interrupted->kept = fmt::format("the first {:.0f} requests are done", result.requests());
  }
  if (result.requests() == 0) throw UsageError(options.trace + ": expected at least one request");
  result.replay->finish();
  result.seconds = watch.seconds();
  result.cpu_seconds = watch.cpu_seconds();
  result.elapsed = result.replay->elapsed();
  result.bytes_per_second = result.replay->bytes_per_second();
  result.counters = memory.counters();
  result.energy = energy_of(result.counters, result.config.device, result.elapsed, result.config.stacks);
  result.occupancy = occupancy_of(memory, result.elapsed);
  return result;
}

double ns(Time time) {
  return static_cast<double>(time.count()) * 1e-3;
}

/// Null where nothing was read.
ordered_json latency_to_json(const dram::LatencyHistogram& latency) {
  ordered_json json = {{"mean", latency.mean_ps() * 1e-3},      {"p50", ns(latency.percentile(0.5))},
                       {"p90", ns(latency.percentile(0.9))},    {"p99", ns(latency.percentile(0.99))},
                       {"p999", ns(latency.percentile(0.999))}, {"max", ns(latency.max())}};
  if (latency.count() > 0) return json;
  for (ordered_json& value : json) value = nullptr;
  return json;
}

ordered_json to_json(const Options& options, const Result& result) {
  const dram::LatencyHistogram& latency = result.replay->read_latency();
  const dram::Counters& counters = result.counters;
  const dram::EnergyUse& energy = result.energy;
  const dram::Occupancy& busy = result.occupancy;
  return {{"device", options.device},
          {"mapping", result.mapping},
          {"hash", result.hash},
          {"outstanding", result.outstanding},
          {"reads", result.reads},
          {"writes", result.writes},
          {"time_us", to_us(result.elapsed)},
          {"bandwidth_gb_per_s", result.bytes_per_second * 1e-9},
          {"peak_gb_per_s", result.config.peak_bytes_per_second() * 1e-9},
          {"bound_by", busy.bound()},
          {"read_latency_ns", latency_to_json(latency)},
          {"row_hit_rate", result.hit_rate()},
          {"counters",
           {{"reads", counters.reads},
            {"writes", counters.writes},
            {"forwarded", counters.forwarded},
            {"row_hits", counters.row_hits},
            {"row_closed", counters.row_closed},
            {"row_conflicts", counters.row_conflicts},
            {"activates", counters.activates},
            {"precharges", counters.precharges},
            {"auto_precharges", counters.auto_precharges},
            {"refreshes", counters.refreshes},
            {"bank_refreshes", counters.bank_refreshes},
            {"turnarounds", counters.turnarounds},
            {"same_group", counters.same_group},
            {"check_reads", counters.check_reads},
            {"check_writes", counters.check_writes},
            {"modified", counters.modified}}},
          {"capacity_bytes", result.config.capacity().count()},
          {"busy",
           {{"data_bus", busy.data_bus},
            {"ccds", busy.ccds},
            {"ccdl", busy.ccdl},
            {"turnaround", busy.turnaround},
            {"row_bus", busy.row_bus},
            {"column_bus", busy.column_bus},
            {"faw", busy.faw},
            {"rrd", busy.rrd},
            {"rrefd", busy.rrefd},
            {"bank", busy.bank},
            {"refresh", busy.refresh}}},
          {"energy",
           {{"pj_per_bit", result.pj_per_bit()},
            {"watts", result.watts()},
            {"total_uj", energy.total() * 1e-6},
            {"activate_uj", energy.activate * 1e-6},
            {"read_uj", energy.read * 1e-6},
            {"write_uj", energy.write * 1e-6},
            {"io_uj", energy.io * 1e-6},
            {"refresh_uj", energy.refresh * 1e-6},
            {"background_uj", energy.background * 1e-6}}},
          {"partial", partial_json(result.interrupted)},
          {"simulator",
           {{"seconds", result.seconds},
            {"cpu_s", result.cpu_seconds},
            {"requests_per_s", result.requests() / result.seconds},
            {"requests_per_cpu_s", result.requests() / result.cpu_seconds}}},
          {"config", config_to_json(result.config)}};
}

std::string to_text(const Options& options, const Result& result) {
  const dram::LatencyHistogram& latency = result.replay->read_latency();
  const auto percent = [](double value) { return fmt::format("{:.1f} %", value * 100); };
  std::vector<std::vector<std::string>> lines = {
      {options.device, ""},
      {"  requests", fmt::format("{} reads, {} writes", result.reads, result.writes)},
      {"  time", short_time(result.elapsed)},
      {"  bandwidth", fmt::format("{:.2f} GB/s of {:.2f}", result.bytes_per_second * 1e-9,
                                  result.config.peak_bytes_per_second() * 1e-9)},
      {"  bound by", result.occupancy.bound()}};
  if (latency.count() > 0) {
    lines.push_back({"  read latency, mean", fmt::format("{:.1f} ns", latency.mean_ps() * 1e-3)});
    lines.push_back({"  50, 90, 99, 99.9 %", fmt::format("{:.1f}, {:.1f}, {:.1f}, {:.1f} ns",
                                                         ns(latency.percentile(0.5)), ns(latency.percentile(0.9)),
                                                         ns(latency.percentile(0.99)), ns(latency.percentile(0.999)))});
  }
  lines.push_back({"  row hits", percent(result.hit_rate())});
  lines.push_back(
      {"  data bus, turnarounds", percent(result.occupancy.data_bus) + ", " + percent(result.occupancy.turnaround)});
  lines.push_back({"  tCCD short, long", percent(result.occupancy.ccds) + ", " + percent(result.occupancy.ccdl)});
  lines.push_back({"  row bus", percent(result.occupancy.row_bus)});
  lines.push_back({"  tRRD, tRREFD", percent(result.occupancy.rrd) + ", " + percent(result.occupancy.rrefd)});
  lines.push_back({"  tFAW, tRC", percent(result.occupancy.faw) + ", " + percent(result.occupancy.bank)});
  lines.push_back({"  refresh", percent(result.occupancy.refresh)});
  if (const dram::Counters& c = result.counters; result.config.controller.ecc.mode != dram::EccMode::kOff) {
    const double bursts = static_cast<double>(c.reads + c.writes);
    const auto share = [&](std::int64_t part) { return percent(static_cast<double>(part) / bursts); };
    lines.push_back(
        {"  ECC", fmt::format("{}, {} left of {}", name_of(result.config.controller.ecc.mode),
                              weft::to_text(result.config.capacity()),
                              weft::to_text(result.config.device.geometry.capacity() * result.config.stacks))});
    lines.push_back({"  check bits, modified", share(c.check_reads + c.check_writes) + ", " + share(c.modified)});
  }
  lines.push_back({"  energy", fmt::format("{:.2f} pJ/bit, {:.3f} W", result.pj_per_bit(), result.watts())});
  lines.push_back({"  simulated", fmt::format("{:.2f} million requests/s, {:.2f} in a second of processor time",
                                              result.requests() / result.seconds * 1e-6,
                                              result.requests() / result.cpu_seconds * 1e-6)});
  return in_columns(lines);
}

int run(const Options& options) {
  const Result result = simulate(options);
  if (options.json) {
    print_json(to_json(options, result));
  } else {
    print(to_text(options, result));
  }
  if (result.interrupted) throw Interrupted(*result.interrupted);
  return kDone;
}

}  // namespace

Command memory_command(const Arguments& parent) {
  auto options = std::make_shared<Options>();
  const Arguments app = parent.add_subcommand("memory", "Runs a trace of memory requests through the banks of an HBM");
  app.add_option("trace", options->trace,
                 "Lines of R, W or M (a masked write), an address, maybe a time in ns; - is standard input")
      .type_name("FILE")
      .required();
  app.add_option("--device", options->device,
                 "A part of kind dram (one channel), hbm (all stacks of a memory) or accelerator (those of its memory)")
      .type_name("PART");
  app.add_option("--mapping", options->mapping, "burst, 128B, or fields of the address from its lowest bit")
      .type_name("MAPPING");
  app.add_option("--set", options->overrides, "PATH=VALUE changes a field: device.timing.rfc=0, controller.page=closed")
      .type_name("PATH=VALUE");
  app.add_option("--outstanding", options->outstanding, "Reads on their way at once; 128 a channel if left out")
      .check(Within(1, 1 << 20));
  app.add_option("--rate", options->rate, "Offer requests evenly at this rate, instead of at the times of the trace")
      .type_name("RATE");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
