// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/collective_details.h"

#include <fmt/format.h>

#include "platforms/results/format.h"

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

std::string compression_text(const std::vector<CollectiveResult>& results) {
  constexpr const char* kLine = "# {:>11} {:>13} {:>8} {:>12} {:>10}\n";
  const auto number = [](std::optional<double> value) {
    return value ? fmt::format("{:.4g}", *value) : std::string("-");
  };
  std::string text;
  for (const CollectiveResult& result : results) {
    if (!result.compressed) continue;
    const CompressedResult& by = *result.compressed;
    if (text.empty()) {
      text = "# compressed, of a rank:\n" + fmt::format(kLine, "size", "sent", "ratio", "kernels", "error") +
             fmt::format(kLine, "(B)", "(B)", "", "(us)", "");
    }
    text += fmt::format(kLine, result.bytes, fmt::format("{:.0f}", by.sent_bytes), number(by.ratio),
                        fmt::format("{:.2f}", to_us(by.kernels)), number(by.error));
  }
  return text;
}

ordered_json to_json(const MulticastTimes& times) {
  ordered_json json = {{"rank", times.rank}};
  MulticastTimes::each([&](const char* name, auto field) { json[std::string(name) + "_us"] = to_us(times.*field); });
  return json;
}

namespace {

/// Whether packets were damaged or found no room where a link leads.
bool links_lost(Machine& machine) {
  fabric::Fabric& network = machine.network();
  for (int r = 0; r < machine.size(); ++r) {
    if (machine.nic(r).transmitter().events().damaged > 0) return true;
  }
  for (std::size_t s = 0; s < network.switch_count(); ++s) {
    fabric::AnySwitch& sw = network.switch_at(s);
    for (std::size_t p = 0; p < sw.radix(); ++p) {
      if (sw.transmitter(p).events().damaged > 0 || sw.port_counters(p).dropped > 0) return true;
    }
  }
  return false;
}

std::string fetched_text(std::int64_t missed, std::int64_t all, Machine& machine) {
  if (missed == 0) return "";
  const std::string chunks = fmt::format("{} of {} multicast chunks ", missed, all);
  std::int64_t refused = 0;
  for (int r = 0; r < machine.size(); ++r) refused += machine.nic(r).counters().no_receive;
  if (refused > 0) {
    return chunks +
           "were lost, most likely where receivers had no receive posted, and were fetched again: a larger "
           "collectives.multicast.queue_depth, more subgroups there, or a pace below 1 avoids it";
  }
  if (links_lost(machine)) return chunks + "were lost on links, and were fetched again";
  return chunks +
         "had not come when the timer ended, which supposes the link's rate, and were fetched: a larger "
         "collectives.multicast.cutoff leaves them time";
}

}  // namespace

std::string fetched_text(const std::vector<CollectiveResult>& results, Machine& machine) {
  collectives::MulticastCounters sum;
  for (const CollectiveResult& result : results) {
    if (result.multicast) sum.add(*result.multicast);
  }
  return fetched_text(sum.missing, sum.missing + sum.chunks, machine);
}

std::string fetched_text(Machine& machine) {
  std::int64_t came = 0;
  std::int64_t missed = 0;
  for (const firmware::Rank* rank : machine.ranks()) {
    came += rank->multicast_came;
    missed += rank->multicast_missed;
  }
  return fetched_text(missed, missed + came, machine);
}

std::string traffic_text(const std::vector<CollectiveResult>& results, bool has_nodes) {
  constexpr const char* kLine = "# {:>11} {:>12} {:>12} {:>12} {:>12}{} {:>9}\n";
  const auto within = [&](const std::string& cell) { return has_nodes ? fmt::format(" {:>12}", cell) : ""; };
  std::string text =
      "# bytes that links carried, headers and acknowledgements too:\n" +
      fmt::format(kLine, "size", "from NICs", "to NICs", "of switches", "all", within("in nodes"), "all/size") +
      fmt::format(kLine, "(B)", "(MB)", "(MB)", "(MB)", "(MB)", within("(MB)"), "(times)");
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
