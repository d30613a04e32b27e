// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/left_out_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using schedules::LeftOutPieces;

/// Of all that was left out, or would have been.
struct LeftOutSum {
  Time time;
  Time bound;
  Time off;
};

LeftOutSum sum_of(const std::vector<LeftOutPieces>& left_out) {
  LeftOutSum sum;
  for (const LeftOutPieces& each : left_out) {
    sum.time += each.time;
    sum.bound += each.bound;
    sum.off += each.off;
  }
  return sum;
}

/// Of the last step in which something is left out: "51 of 62 forward blocks and 50 of 62 backward blocks".
std::string counts_of(const std::vector<LeftOutPieces>& left_out) {
  struct Count {
    std::string_view what;
    std::size_t pieces = 0;
    std::size_t of = 0;
  };
  std::vector<Count> counts;
  for (const LeftOutPieces& each : left_out) {
    if (each.step != left_out.back().step) continue;
    auto same = std::find_if(counts.begin(), counts.end(), [&](const Count& count) { return count.what == each.what; });
    if (same == counts.end()) same = counts.insert(counts.end(), {each.what});
    same->pieces += each.pieces;
    same->of += each.of;
  }
  std::string text;
  for (const Count& count : counts)
    text += fmt::format("{}{} of {} {}", text.empty() ? "" : " and ", count.pieces, count.of, count.what);
  return text;
}

}  // namespace

ordered_json steady_json(const std::vector<LeftOutPieces>& left_out, const schedules::SteadyConfig& steady) {
  if (!steady.is_on()) return nullptr;
  const LeftOutSum sum = sum_of(left_out);
  ordered_json json = {{"tolerance", steady.tolerance},
                       {"verified", steady.verify},
                       {"time_us", to_us(sum.time)},
                       {"bound_us", to_us(sum.bound)}};
  json["off_us"] = nullptr;
  if (steady.verify) json["off_us"] = to_us(sum.off);
  ordered_json& rows = json["left_out"] = ordered_json::array();
  for (const LeftOutPieces& each : left_out) {
    rows.push_back({{"what", each.what},
                    {"step", each.step + 1},
                    {"pieces", each.pieces},
                    {"of", each.of},
                    {"time_us", to_us(each.time)},
                    {"bound_us", to_us(each.bound)}});
    if (steady.verify) rows.back()["off_us"] = to_us(each.off);
  }
  return json;
}

std::string steady_text(const std::vector<LeftOutPieces>& left_out, const schedules::SteadyConfig& steady) {
  if (left_out.empty()) return "nothing is left out: no part that repeats has settled within steady.tolerance\n";
  const LeftOutSum sum = sum_of(left_out);
  if (!steady.verify) {
    return fmt::format("left out                {:>10}  {}, as those before, within {}\n", short_time(sum.time),
                       counts_of(left_out), short_time(sum.bound));
  }
  const std::string off = sum.off < Time() ? "-" + short_time(Time() - sum.off) : short_time(sum.off);
  return fmt::format("would be left out       {:>10}  {}, off by {}, within {}\n", short_time(sum.time),
                     counts_of(left_out), off, short_time(sum.bound));
}

}  // namespace weft::platforms
