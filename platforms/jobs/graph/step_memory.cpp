// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/graph/step_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platforms/results/format.h"

namespace weft::platforms {

using workloads::RankSums;

std::int64_t memory_of(const RankSums& rank) {
  return rank.state_bytes + rank.gathered_bytes + rank.activation_bytes;
}

std::vector<RankSums> fullest_of_stages(const TransformerStep& step) {
  const workloads::Parallelism& parallel = step.config.parallel;
  std::vector<RankSums> stages(static_cast<std::size_t>(parallel.degree(workloads::Axis::kPipeline)));
  for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
    const auto stage =
        static_cast<std::size_t>(parallel.coordinate(static_cast<std::int64_t>(rank), workloads::Axis::kPipeline));
    if (memory_of(step.ranks[rank]) > memory_of(stages[stage])) stages[stage] = step.ranks[rank];
  }
  return stages;
}

std::string memory_text(const TransformerStep& step) {
  const std::vector<RankSums> stages = fullest_of_stages(step);
  const bool gathers =
      std::any_of(stages.begin(), stages.end(), [](const auto& sums) { return sums.gathered_bytes > 0; });
  std::vector<std::vector<std::string>> lines = {{"stage", "parameters", "gradients", "optimizer", "activations"}};
  if (gathers) lines.front().emplace_back("gathered");
  lines.front().emplace_back("all");
  std::int64_t most = 0;
  std::size_t fullest = 0;
  const auto cell = [](std::int64_t bytes) { return short_bytes(static_cast<double>(bytes)); };
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const RankSums& sums = stages[stage];
    lines.push_back({std::to_string(stage), cell(sums.parameter_bytes), cell(sums.gradient_bytes),
                     cell(sums.optimizer_bytes), cell(sums.activation_bytes)});
    if (gathers) lines.back().push_back(cell(sums.gathered_bytes));
    lines.back().push_back(cell(memory_of(sums)));
    if (memory_of(sums) <= most) continue;
    most = memory_of(sums);
    fullest = stage;
  }
  const std::int64_t has = step.memory.count();
  std::string text = in_columns(lines);
  std::vector<std::vector<std::string>> parts = {{fmt::format("optimizer of stage {}", fullest), ""}};
  for (const auto& [what, bytes] : stages[fullest].optimizer_parts) {
    if (bytes > 0) parts.push_back({"  " + what, cell(bytes)});
  }
  // Its heading, and more than AdamW's moments and copy.
  constexpr std::size_t kOrdinary = 3;
  if (parts.size() > kOrdinary) text += "\n" + in_columns(parts) + "\n";
  text += fmt::format("{} of the {} of an accelerator{}\n", cell(most), cell(has),
                      most > has ? ": the step does not fit" : "");
  return text;
}

nlohmann::ordered_json memory_json(const TransformerStep& step) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const RankSums& sums : fullest_of_stages(step)) {
    nlohmann::ordered_json parts = nlohmann::ordered_json::object();
    for (const auto& [what, bytes] : sums.optimizer_parts) parts[what] = bytes;
    json.push_back({{"parameters", sums.parameter_bytes},
                    {"gradients", sums.gradient_bytes},
                    {"optimizer", sums.optimizer_bytes},
                    {"optimizer_parts", parts},
                    {"activations", sums.activation_bytes},
                    {"gathered", sums.gathered_bytes},
                    {"all", memory_of(sums)}});
  }
  return json;
}

}  // namespace weft::platforms
