// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/small_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "platforms/config/field_visitor.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kChunk = "collectives.chunk";
/// Collectives with less of the run are not told of.
constexpr double kLeastOfRun = 0.05;
constexpr double kMost = 0.5;
/// A part of a member's block that is no more chunks than these needs few steps.
constexpr double kFew = 2;
/// The most channels that collectives choose themselves (collectives.channels).
constexpr double kMostChannels = 32;

/// In the least unit of its quantity; nothing if there is no such field.
std::optional<double> amount_of(std::string_view field, const FieldValues& values) {
  const auto found = field_of_machine(std::string(field));
  return found ? amount_in(found->scalar, values.text(field)) : std::nullopt;
}

/// Of the time of a copy of one chunk, the share that it takes whatever its size.
double overhead_of_copies(double chunk, const FieldValues& values) {
  const auto rate = amount_of("accelerator.copy_rate", values);  // in bits per second
  const auto overhead = amount_of("accelerator.copy_overhead", values);
  if (!rate || !overhead || *rate <= 0) return 0;
  return *overhead / (*overhead + 8e12 * chunk / *rate);
}

/// Of a piece's time.
double share_of_steps(const ordered_json& piece, double overhead) {
  constexpr std::array<std::string_view, 4> kSteps = {"software", "firmware", "launch", "network interface"};
  const std::string_view kind = word_of(piece, "kind");
  if (kind == "copy") return overhead;
  return std::find(kSteps.begin(), kSteps.end(), kind) == kSteps.end() ? 0 : 1;
}

bool follows_chunks(const FieldValues& values) {
  constexpr std::array<std::string_view, 4> kAlgorithms = {"nccl", "ring", "tree", "pat"};
  return std::find(kAlgorithms.begin(), kAlgorithms.end(), values.text("collectives.algorithm")) != kAlgorithms.end();
}

}  // namespace

std::string small_chunks_text(const ordered_json& why, const FieldValues& values) {
  const std::optional<double> chunk = amount_of(kChunk, values);
  if (!chunk || *chunk <= 0 || !follows_chunks(values)) return "";
  const double set = amount_of("collectives.channels", values).value_or(0);
  const double channels = set > 0 ? set : kMostChannels;
  const double overhead = overhead_of_copies(*chunk, values);
  double all = 0;
  double steps = 0;
  for (const ordered_json& each : member_of(why, "collectives")) {
    const double members = each["members"];
    if (each["bytes"].get<double>() / members / channels < kFew * *chunk) continue;
    for (const ordered_json& piece : each["transfer"]) {
      const double its = piece["ps"].get<double>() / members;
      all += its;
      steps += share_of_steps(piece, overhead) * its;
    }
  }
  const auto run = static_cast<double>(why["until_ps"].get<std::int64_t>() - why["from_ps"].get<std::int64_t>());
  if (all < kLeastOfRun * run || steps < kMost * all) return "";
  return fmt::format(
      "Of what large collectives take once all have come, {:.0f} % is for what each chunk takes whatever its size: "
      "{} is {}, and larger chunks are fewer.",
      100 * steps / all, kChunk, values.text(kChunk));
}

}  // namespace weft::platforms
