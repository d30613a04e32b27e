// SPDX-License-Identifier: Apache-2.0
// weft vcd: looks at waveforms and compares them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/commands/vcd/blocks.h"
#include "traces/vcd/compare.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

struct VcdOptions {
  vcd::CompareOptions compare;
  vcd::Interface input;
  std::vector<std::string> maps;
  std::string unknowns = "reference";
  std::int64_t tolerance = -1;
  bool json = false;
};

const std::map<std::string, vcd::Unknowns>& unknowns_by_name() {
  static const std::map<std::string, vcd::Unknowns> names = {
      {"reference", vcd::Unknowns::kReference}, {"either", vcd::Unknowns::kEither}, {"exact", vcd::Unknowns::kExact}};
  return names;
}

int compare_waveforms(VcdOptions& options) {
  vcd::CompareOptions& chosen = options.compare;
  chosen.rules = parse_maps(options.maps);
  chosen.unknowns = unknowns_by_name().at(options.unknowns);
  if (options.tolerance >= 0) chosen.tolerance = static_cast<std::uint64_t>(options.tolerance);
  if (!options.input.valid.empty()) {
    chosen.input = options.input;
  } else if (!options.input.ready.empty() || !options.input.id.empty()) {
    throw UsageError("--input-ready and --input-id: expected --input-valid too");
  }
  if (!chosen.signals.empty() && (chosen.input || !chosen.interface.ready.empty() || !chosen.interface.data.empty() ||
                                  !chosen.interface.last.empty() || !chosen.interface.id.empty())) {
    throw UsageError("--signals: expected no signals of an interface beside it");
  }
  if (chosen.common_edges && chosen.signals.empty()) throw UsageError("--common-edges: expected --signals too");
  try {
    const vcd::Comparison result = vcd::compare(chosen);
    print_warnings(result.remarks);
    if (options.json) {
      print_json(result.json());
    } else {
      print(result.text());
    }
    return result.same() ? kDone : kFailed;
  } catch (const std::invalid_argument& error) {
    throw UsageError("vcd " + std::string(error.what()));
  }
}

}  // namespace

Command vcd_command(const Arguments& parent) {
  auto options = std::make_shared<VcdOptions>();
  const Arguments app = parent.add_subcommand("vcd", "Inspects, compares and replays waveforms of RTL and models");
  app.require_subcommand(1, 1);

  const Command info = info_command(app);
  const Arguments compare_app = app.add_subcommand(
      "compare", "Compares two waveforms as transactions, or as signals at clock edges; exits with 1 if they differ");
  vcd::CompareOptions& chosen = options->compare;
  compare_app
      .add_option("REFERENCE", chosen.reference,
                  "A VCD file, also in gzip or FST, - is standard input; signals have its names")
      .type_name("FILE")
      .required();
  compare_app.add_option("SUBJECT", chosen.subject, "The VCD file that is compared with it")
      .type_name("FILE")
      .required();
  compare_app.add_option("--clock", chosen.sampling.clock, "Values count at its rising edges")
      .type_name("SIGNAL")
      .required();
  compare_app.add_option("--reset", chosen.sampling.reset, "Edges while it is active do not count").type_name("SIGNAL");
  compare_app.add_flag("--reset-low", chosen.sampling.reset_low, "Reset is active when 0");
  compare_app.add_option("--valid", chosen.interface.valid, "An item is handed over when this signal is 1 ...")
      .type_name("SIGNAL");
  compare_app.add_option("--ready", chosen.interface.ready, "... and this too").type_name("SIGNAL");
  compare_app.add_option("--data", chosen.interface.data, "What must agree; may be given several times")
      .type_name("SIGNAL");
  compare_app.add_option("--last", chosen.interface.last, "The last item of a packet; must agree").type_name("SIGNAL");
  compare_app.add_option("--id", chosen.interface.id, "Identifier of an item: must agree, and finds the item's input")
      .type_name("SIGNAL");
  compare_app
      .add_option("--input-valid", options->input.valid,
                  "Latency counts from items handed over when this signal is 1 ...")
      .type_name("SIGNAL");
  compare_app.add_option("--input-ready", options->input.ready, "... and this too").type_name("SIGNAL");
  compare_app.add_option("--input-id", options->input.id, "Finds the input by this identifier, not in order")
      .type_name("SIGNAL");
  compare_app.add_option("--signals", chosen.signals, "Compare these at every edge instead, by patterns with *")
      .type_name("PATTERN");
  compare_app.add_flag("--common-edges", chosen.common_edges,
                       "With --signals: one file may end earlier than the other");
  compare_app
      .add_option("--map", options->maps,
                  "FROM=TO, with * in both: names of the reference to the subject's; RESET= if that has none")
      .type_name("FROM=TO");
  compare_app.add_option("--offset", chosen.offset, "Cycles that the subject comes later")
      .check(Within(-(std::int64_t{1} << 40), std::int64_t{1} << 40));
  compare_app
      .add_option("--tolerance", options->tolerance,
                  "Cycles by which an item and its latency may be off; times do not matter without it")
      .check(Within(std::int64_t{0}, std::int64_t{1} << 40));
  compare_app.add_flag("--packet-times", chosen.packet_times,
                       "With --tolerance and --last: of a packet only the first and the last item must be in time");
  compare_app
      .add_option("--unknowns", options->unknowns, "Where x and z agree with anything: reference, either, or exact")
      .shows_default()
      .check(OneOf({"reference", "either", "exact"}));
  compare_app.add_option("--context", chosen.context, "Items shown before and after the first that differs")
      .shows_default()
      .check(Within(std::uint64_t{0}, std::uint64_t{1000}));
  compare_app
      .add_option("--context-signals", chosen.context_signals,
                  "Signals shown of each item; if there are more, those that differ")
      .shows_default()
      .check(Within(std::uint64_t{1}, std::uint64_t{1} << 20));
  compare_app.add_flag("--json", options->json, "Print JSON");
  const Command calibrate = calibrate_command(app);
  const Command replay = replay_command(app);
  return {app, [options, info, calibrate, replay] {
            if (info.app.given()) return info.run();
            if (calibrate.app.given()) return calibrate.run();
            return replay.app.given() ? replay.run() : compare_waveforms(*options);
          }};
}

}  // namespace weft::platforms
