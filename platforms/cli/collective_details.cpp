// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/collective_details.h"

#include <fmt/format.h>

#include "platforms/cli/output.h"

namespace weft::platforms {
using nlohmann::ordered_json;

std::string phases_text(const std::vector<CollectiveResult>& results) {
  constexpr const char* kLine = "# {:>11} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10}\n";
  std::string text;
  for (const CollectiveResult& result : results) {
    if (!result.phases) continue;
    if (text.empty()) {
      text = "# phases of the rank that ended last:\n" +
             fmt::format(kLine, "size", "rank", "barrier", "fast path", "cut-off", "recovery", "handshake") +
             fmt::format(kLine, "(B)", "", "(us)", "(us)", "(us)", "(us)", "(us)");
    }
    const auto us = [&](Time time) { return fmt::format("{:.2f}", to_us(time)); };
    const MulticastTimes& times = *result.phases;
    text += fmt::format(kLine, result.bytes, times.rank, us(times.barrier), us(times.fast_path), us(times.cutoff),
                        us(times.recovery), us(times.handshake));
  }
  return text;
}

ordered_json to_json(const MulticastTimes& times) {
  ordered_json json = {{"rank", times.rank}};
  MulticastTimes::each([&](const char* name, auto field) { json[std::string(name) + "_us"] = to_us(times.*field); });
  return json;
}

std::string traffic_text(const std::vector<CollectiveResult>& results, bool has_nodes) {
  constexpr const char* kLine = "# {:>11} {:>12} {:>12} {:>12} {:>12}{} {:>9}\n";
  const auto within = [&](const std::string& cell) { return has_nodes ? fmt::format(" {:>12}", cell) : ""; };
  std::string text =
      "# bytes that links carried, headers and acknowledgements too:\n" +
      fmt::format(kLine, "size", "from NICs", "to NICs", "of switches", "all", within("in nodes"), "all/size") +
      fmt::format(kLine, "(B)", "(MB)", "(MB)", "(MB)", "(MB)", within("(MB)"), "");
  for (const CollectiveResult& result : results) {
    const auto mb = [](std::int64_t bytes) { return fmt::format("{:.3f}", static_cast<double>(bytes) * 1e-6); };
    const NetworkTraffic& fabric = result.traffic.fabric;
    const double times = static_cast<double>(fabric.all()) / static_cast<double>(result.bytes);
    text += fmt::format(kLine, result.bytes, mb(fabric.from_ends), mb(fabric.to_ends), mb(fabric.between_switches),
                        mb(fabric.all()), within(mb(result.traffic.scale_up.all())), fmt::format("{:.2f}", times));
  }
  return text;
}

ordered_json to_json(const MachineTraffic& traffic, bool has_nodes) {
  const auto of = [](const NetworkTraffic& network) {
    return ordered_json{
        {"from_ends", network.from_ends}, {"to_ends", network.to_ends}, {"between_switches", network.between_switches}};
  };
  ordered_json json = {{"fabric", of(traffic.fabric)}};
  if (has_nodes) json["scale_up"] = of(traffic.scale_up);
  return json;
}

}  // namespace weft::platforms
