// SPDX-License-Identifier: Apache-2.0
// weft dpa: what receive loops reach on the cores of a SmartNIC, how many threads a line needs, and what its DMA and
// the host's memory carry of it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/commands/dpa_bench.h"
#include "platforms/config/document.h"
#include "platforms/config/sizes.h"
#include "platforms/config/text.h"
#include "platforms/machine/platform.h"
#include "platforms/results/format.h"
#include "platforms/results/write_file.h"

namespace weft::platforms {
namespace {

using firmware::Processor;
using firmware::ReceiveCost;
using nlohmann::ordered_json;

// With these a measurement's times fit.
constexpr Rate kSlowestLine = Rate(1'000'000);
constexpr Bytes kLargestPacket = Bytes(1 << 20);

struct DpaOptions {
  std::string part = "bluefield-3-dpa";
  std::string platform = "bluefield-3-pair";
  std::vector<std::string> overrides;
  std::vector<std::string> paths = {"connection", "datagram"};
  std::string threads;
  std::string lines = "200Gbps,400Gbps,800Gbps,1600Gbps";
  std::string packet = "4KiB";
  int bitmap_chunk = 16;
  bool json = false;
};

struct Path {
  std::string name;
  ReceiveCost cost;
  int writes;   ///< how often a byte that has come is written to memory
  int rereads;  ///< and read again
};

/// What a platform's NIC and memory carry of a path's payload, in Gb/s.
struct Carried {
  double dma;
  double memory;

  [[nodiscard]] double least() const { return std::min(dma, memory); }
  [[nodiscard]] const char* binding() const { return dma < memory ? "DMA" : "host memory"; }
};

class DataWay {
 public:
  explicit DataWay(const std::string& name) : platform_(options_of(name)) {
    platform_.ignore_workload();
    platform_.document().check_unused();
  }
  [[nodiscard]] const std::string& name() const { return platform_.name(); }
  /// Reads and writes pass the DMA and PCI Express side by side, and memory one after the other.
  [[nodiscard]] Carried of(const Path& path) const {
    const Rate memory = platform_.machine().accelerator.hbm.sustained();
    constexpr Bytes kMuch = Bytes(1 << 30);
    const Time passage = nic::HostLink::passage(platform_.machine().nic.host_link(), kMuch);
    const double dma = static_cast<double>(kMuch.count()) * 8e3 / static_cast<double>(passage.count());
    return {.dma = dma / std::max(path.writes, path.rereads),
            .memory = static_cast<double>(memory.count()) * 1e-9 / (path.writes + path.rereads)};
  }

 private:
  static PlatformOptions options_of(const std::string& name) {
    PlatformOptions options;
    options.platform = name;
    return options;
  }

  Platform platform_;
};

Processor::Config read_processor(const DpaOptions& options) {
  const nlohmann::json text = {{"processor", options.part}};
  std::vector<std::string> overrides;
  for (const std::string& assignment : options.overrides) overrides.push_back("processor." + assignment);
  Document document = Document::from_text(text.dump(), options.part, overrides);
  Processor::Config config;
  document.root().read_part("processor", config);
  document.check_unused();
  return config;
}

std::vector<Path> read_paths(const DpaOptions& options) {
  std::vector<Path> paths;
  for (const std::string& name : options.paths) {
    if (name == "connection") paths.push_back({name, firmware::kConnectionReceive, 1, 0});
    // It comes to a ring of receives, from where the interface copies it to its place through itself.
    if (name == "datagram") paths.push_back({name, firmware::kDatagramReceive, 2, 1});
    if (name == "bitmap") paths.push_back({name, firmware::bitmap_receive(options.bitmap_chunk), 1, 0});
  }
  return paths;
}

/// Powers of two up to all hardware threads, or what was asked for.
std::vector<int> thread_counts(const DpaOptions& options, const Processor::Config& config) {
  const int most = config.cores * config.threads;
  std::vector<int> counts;
  if (options.threads.empty()) {
    for (int count = 1; count < most; count *= 2) counts.push_back(count);
    counts.push_back(most);
    return counts;
  }
  for (const std::int64_t count : parse_numbers(options.threads, "--threads", 1, 64)) {
    if (count > most) {
      throw UsageError(
          fmt::format("--threads: expected at most the {} hardware threads of {}, got {}", most, options.part, count));
    }
    counts.push_back(static_cast<int>(count));
  }
  return counts;
}

std::vector<Rate> read_lines(const std::string& text) {
  std::vector<Rate> lines;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string entry = text.substr(start, end - start);
    try {
      lines.push_back(parse_rate(entry));
    } catch (const std::invalid_argument& error) {
      throw UsageError("--lines: expected rates with their units, such as \"200Gbps,400Gbps\"" +
                       units_in_brackets(error) + ", got " + in_quotes(entry));
    }
    if (lines.back() < kSlowestLine) {
      throw UsageError(fmt::format("--lines: expected at least {}, got {}", to_text(kSlowestLine), in_quotes(entry)));
    }
    start = end + 1;
  }
  return lines;
}

Bytes read_packet(const std::string& text) {
  const std::vector<std::uint64_t> sizes = parse_sizes(text, "--packet", 1);
  const Bytes packet(static_cast<std::int64_t>(sizes.front()));
  if (sizes.size() != 1 || packet < Bytes(1) || packet > kLargestPacket) {
    throw UsageError(
        fmt::format("--packet: expected a size from 1B to {}, got {}", to_text(kLargestPacket), in_quotes(text)));
  }
  return packet;
}

int run(const DpaOptions& options) {
  const Processor::Config config = read_processor(options);
  const std::vector<Path> paths = read_paths(options);
  const std::vector<int> counts = thread_counts(options, config);
  const std::vector<Rate> lines = read_lines(options.lines);
  const Bytes packet = read_packet(options.packet);
  const std::optional<DataWay> way = options.platform.empty() ? std::nullopt : std::optional<DataWay>(options.platform);
  const double packet_gbit = static_cast<double>(packet.count()) * 8e-9;
  DpaBench bench(config);

  ordered_json rows = ordered_json::array();
  std::vector<std::vector<std::string>> rates = {{"threads"}};
  for (const Path& path : paths) {
    rates[0].push_back(path.name + " Mpkt/s");
    rates[0].push_back("Gb/s");
  }
  for (const int count : counts) rates.push_back({std::to_string(count)});
  for (const Path& path : paths) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double rate = bench.saturated_rate(path.cost, counts[i]);
      rows.push_back({{"path", path.name},
                      {"threads", counts[i]},
                      {"mpps", rate * 1e-6},
                      {"gbps", rate * packet_gbit},
                      {"cycles_per_packet", counts[i] * static_cast<double>(config.clock.count()) / rate}});
      rates[i + 1].push_back(fmt::format("{:.2f}", rate * 1e-6));
      rates[i + 1].push_back(fmt::format("{:.0f}", rate * packet_gbit));
    }
  }

  ordered_json needs = ordered_json::array();
  std::vector<std::vector<std::string>> needed = {{"line"}};
  for (const Path& path : paths) needed[0].push_back(path.name + " threads");
  for (const Rate line : lines) {
    ordered_json& need = needs.emplace_back(ordered_json{{"gbps", static_cast<double>(line.count()) * 1e-9}});
    ordered_json bound = ordered_json::object();
    std::vector<std::string>& row = needed.emplace_back(std::vector<std::string>{to_text(line)});
    for (const Path& path : paths) {
      const int threads = bench.threads_for(path.cost, line, packet);
      need[path.name] = threads > 0 ? ordered_json(threads) : ordered_json();
      const char* binds = threads > 0 ? nullptr : "cores";
      // Where the cores keep up, what carries least may not.
      if (way && threads > 0 && way->of(path).least() < static_cast<double>(line.count()) * 1e-9) {
        binds = way->of(path).binding();
      }
      bound[path.name] = binds == nullptr ? ordered_json() : ordered_json(binds);
      row.push_back(threads == 0       ? "out of reach"
                    : binds == nullptr ? std::to_string(threads)
                                       : fmt::format("{}, but {} {:.0f} Gb/s", threads, binds, way->of(path).least()));
    }
    need["binds"] = bound;
  }

  ordered_json carries = ordered_json::object();
  for (const Path& path : paths) {
    if (way) carries[path.name] = {{"dma_gbps", way->of(path).dma}, {"memory_gbps", way->of(path).memory}};
  }

  if (options.json) {
    print_json(ordered_json{{"processor", options.part},
                            {"packet_bytes", packet.count()},
                            {"platform", way ? ordered_json(way->name()) : ordered_json()},
                            {"rows", rows},
                            {"threads_for", needs},
                            {"carries", carries}});
  } else {
    print(fmt::format("{}: {} cores of {} threads at {}; Gb/s with packets of {}\n\n", options.part, config.cores,
                      config.threads, to_text(config.clock), to_text(packet)));
    print(in_columns(rates));
    print("\n" + in_columns(needed));
    if (!way) {
      print("\nOnly cores; --platform NAME adds the DMA and the memory that payload passes.\n");
      return kDone;
    }
    for (const Path& path : paths) {
      const Carried carried = way->of(path);
      print(
          fmt::format("{}{}: each byte is written {} and read {} in {}: its DMA carries {:.0f} Gb/s of what comes, its "
                      "memory {:.0f}\n",
                      &path == paths.data() ? "\n" : "", path.name, path.writes == 1 ? "once" : "twice",
                      path.rereads == 0 ? "not at all" : "once", way->name(), carried.dma, carried.memory));
    }
  }
  return kDone;
}

}  // namespace

Command dpa_command(const Arguments& parent) {
  auto options = std::make_shared<DpaOptions>();
  const Arguments app = parent.add_subcommand("dpa", "Packet rates of receive loops on a SmartNIC's cores, by threads");
  app.add_option("part", options->part, "A part of kind processor").shows_default().type_name("PART");
  app.add_option("--platform", options->platform,
                 "A platform; payload passes the DMA of its NIC and its memory; empty: only cores")
      .shows_default()
      .type_name("PLATFORM");
  app.add_option("--set", options->overrides, "path=value: overrides a field; can be repeated")
      .one_at_a_time()
      .type_name("PATH=VALUE");
  app.add_option("--path", options->paths, "Receive loop: connection, datagram or bitmap; can be repeated")
      .one_at_a_time()
      .check(OneOf({"connection", "datagram", "bitmap"}));
  app.add_option("--bitmap-chunk", options->bitmap_chunk, "Packets in a chunk of the coarser bitmap of path bitmap")
      .shows_default()
      .check(Within(1, 1 << 20));
  app.add_option("--threads", options->threads, "Numbers of threads, separated by commas").type_name("N,N,...");
  app.add_option("--lines", options->lines, "Line rates to sustain").type_name("RATES").shows_default();
  app.add_option("--packet", options->packet, "Payload of a packet").type_name("SIZE").shows_default();
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
