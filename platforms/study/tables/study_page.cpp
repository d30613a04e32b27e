// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/tables/study_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "platforms/config/text.h"
#include "platforms/results/pictures/svg.h"
#include "platforms/results/report/page.h"
#include "platforms/results/version.h"
#include "platforms/study/expression/quantity_value.h"
#include "platforms/study/tables/page_parts.h"
#include "platforms/study/tables/tables.h"

namespace weft::study {

using nlohmann::json;
using nlohmann::ordered_json;

std::string study_page(const std::string& name, const std::string& database, const std::vector<Row>& rows,
                       const About& about, const std::string& missing) {
  const std::vector<std::string> parameters = varying_parameters(rows);
  const std::vector<std::string> metrics = metrics_of(rows);
  ordered_json points = ordered_json::array();
  for (const Row& row : rows) {
    ordered_json values = ordered_json::object();
    ordered_json numbers = ordered_json::object();
    for (const std::string& parameter : parameters) {
      values[parameter] = row.values.value(parameter, ordered_json());
      const std::optional<double> number = number_of(json(values[parameter]));
      numbers[parameter] = number ? ordered_json(*number) : ordered_json();
    }
    points.push_back({{"key", row.key},
                      {"done", row.is_done},
                      {"fit", row.is_fit},
                      {"values", values},
                      {"numbers", numbers},
                      {"metrics", row.metrics},
                      {"error", row.error}});
  }
  ordered_json sensitivities = ordered_json::array();
  ordered_json largest = ordered_json::array();
  for (const std::string& metric : metrics) {
    const Table table = sensitivity(of_last_step(rows), metric, about);
    sensitivities.push_back(
        {{"metric", metric}, {"columns", table.columns}, {"rows", table.rows}, {"notes", table.notes}});
    if (is_best_when_largest(about, metric)) largest.push_back(metric);
  }
  const auto failed = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.is_done; });
  std::string description =
      fmt::format("A study of {}, {} of which failed.", platforms::counted(rows.size(), "point"), failed);
  const auto unfit = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.is_done && !row.is_fit; });
  if (unfit > 0)
    description += fmt::format(" {} of them do not meet what the study requires, and are on no front.", unfit);
  if (!missing.empty()) description += " Unfinished: " + missing + ".";
  const ordered_json results = {{"database", database},         {"version", platforms::version_text()},
                                {"parameters", parameters},     {"metrics", metrics},
                                {"sensitivity", sensitivities}, {"largest", largest},
                                {"same", constant_text(rows)},  {"points", points}};
  return platforms::fill_page(page::kPage, {{"title", platforms::svg_text(name) + " - Weft"},
                                            {"name", platforms::svg_text(name)},
                                            {"description", platforms::svg_text(description)},
                                            {"style", platforms::page_style() + std::string(page::kStyle)},
                                            {"library", platforms::page_library()},
                                            {"script", std::string(page::kScript)},
                                            {"results", platforms::json_for_html(results)}});
}

}  // namespace weft::study
