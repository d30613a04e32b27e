// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "platforms/config/text.h"
#include "platforms/study/points.h"

namespace weft::study {

using nlohmann::ordered_json;

ordered_json to_json(const Progress& progress) {
  return {{"points", progress.points ? ordered_json(*progress.points) : ordered_json()},
          {"step", progress.step},
          {"steps", progress.steps},
          {"evaluations", progress.evaluations},
          {"is_done", progress.is_done}};
}

std::optional<Progress> progress_of(const ordered_json& stored) {
  if (!stored.is_object()) return std::nullopt;
  Progress progress;
  if (!stored.at("points").is_null()) progress.points = stored.at("points").get<std::size_t>();
  progress.step = stored.at("step").get<std::size_t>();
  progress.steps = stored.at("steps").get<std::size_t>();
  progress.evaluations = stored.at("evaluations").get<std::size_t>();
  progress.is_done = stored.at("is_done").get<bool>();
  return progress;
}

Unfinished unfinished(const ordered_json& stored, const std::vector<Row>& rows) {
  Unfinished found{{}, nullptr};
  const std::optional<Progress> progress = progress_of(stored);
  if (!progress || progress->is_done) return found;
  const int step = progress->steps == 0 ? -1 : static_cast<int>(progress->step);
  const auto has = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [step](const Row& row) {
    return row.is_current && row.values.value(kFidelity, -1) == step;
  }));
  // Of a step without points those of the one before are shown.
  const bool is_last = progress->step + 1 >= progress->steps && (progress->steps == 0 || has > 0);
  if (is_last && progress->points && has >= *progress->points) return found;
  found.known = {{"points", has}};
  if (progress->steps > 0) {
    found.text = fmt::format("step {} of {}: ", progress->step + 1, progress->steps);
    found.known["step"] = progress->step + 1;
    found.known["steps"] = progress->steps;
  }
  if (progress->points) {
    const std::size_t missing = *progress->points - std::min(has, *progress->points);
    found.known["of"] = *progress->points;
    found.known["missing"] = missing;
    found.text +=
        fmt::format("{} of {}; {} not simulated yet", has, platforms::counted(*progress->points, "point"), missing);
  } else {
    found.known["at_most"] = progress->evaluations;
    found.text += fmt::format("{} of a search that has not ended, of at most {}", platforms::counted(has, "point"),
                              progress->evaluations);
  }
  if (!is_last) found.text += "; the last step, whose points count, has not begun";
  return found;
}

}  // namespace weft::study
