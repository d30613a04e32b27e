// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hw/core/quantity.h"
#include "sw/schedules/pipeline/pipeline_config.h"

/// Which accelerators a pipeline's stages are on, and where its model is cut. Plain arithmetic.
namespace weft::schedules {

/// What joins two accelerators, as far as a message that is alone on its way sees it.
struct StageLink {
  Rate rate;
  Time time;  ///< of a first byte
};
using LinkBetween = std::function<StageLink(int from, int to)>;

/// By stage, the rank that has it: of `ranks` ranks, as many as there are stages.
///
/// `fence` merges groups of ranks, first those with the fastest link between them, and of links that are as fast the
/// quickest. A merged group is a line: the ends that are joined best stand side by side. So each group of like links is
/// one stretch of the pipeline.
[[nodiscard]] std::vector<int> place_stages(StagePlacement placement, int ranks, int stages, std::int64_t seed,
                                            const LinkBetween& link);

/// What a cut is chosen by. Times are seconds of a microbatch, both ways.
struct CutCosts {
  std::size_t units = 0;
  int stages = 0;
  std::function<double(std::size_t unit, int stage)> compute;
  /// From the stage to the next, behind the unit.
  std::function<double(std::size_t unit, int stage)> message;
  std::function<bool(std::size_t first, std::size_t end, int stage)> fits;
  /// What the model needs and there is, for an error.
  std::function<std::string()> memory = {};
};

/// By stage, its first unit; each stage has one at least. `fit`: the longest of all stages and messages is the
/// shortest that there can be, then the longest stage, then the sum of all. Throws ConfigError for more stages than
/// units, and for `fit` where no cut fits the memories.
[[nodiscard]] std::vector<std::size_t> cut_units(StageCut cut, const CutCosts& costs);

/// How many times fewer elements a link carries, whose message takes `seconds`, where the longest takes `longest`:
/// max(1, `factor` x `reduction` x seconds / longest), of all links that of the longest if `how` is kAll.
[[nodiscard]] double reduction_of(CompressedLinks how, double reduction, double factor, double seconds, double longest);

}  // namespace weft::schedules
