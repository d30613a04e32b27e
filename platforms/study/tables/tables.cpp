// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/machine/platform.h"
#include "platforms/study/points.h"
#include "platforms/study/search/ranks.h"
#include "platforms/study/tables/values.h"

namespace weft::study {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr std::size_t kShortKey = 8;

std::vector<std::string> names_in(const std::vector<Row>& rows, ordered_json Row::*member) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const Row& row : rows) {
    for (const auto& [name, value] : (row.*member).items()) {
      if (known.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

Table points(const std::vector<Row>& rows, const std::vector<std::string>& parameters, std::size_t key) {
  const std::vector<std::string> metrics = metrics_of(rows);
  const bool some_failed = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.is_done; });
  const bool some_unfit = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.is_fit; });
  const bool some_left = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.is_current; });
  Table table;
  table.columns = {"key"};
  table.columns.insert(table.columns.end(), parameters.begin(), parameters.end());
  table.columns.insert(table.columns.end(), metrics.begin(), metrics.end());
  if (some_failed) table.columns.emplace_back("error");
  if (some_unfit) table.columns.emplace_back("require");
  if (some_left) table.columns.emplace_back("current");
  for (const Row& row : rows) {
    std::vector<ordered_json>& cells = table.rows.emplace_back();
    cells.emplace_back(row.key.substr(0, key));
    for (const std::string& name : parameters) cells.push_back(row.values.value(name, ordered_json()));
    for (const std::string& name : metrics) cells.push_back(row.metrics.value(name, ordered_json()));
    if (some_failed) cells.push_back(row.error.empty() ? ordered_json() : ordered_json(row.error));
    if (some_unfit) {
      cells.push_back(row.is_done ? ordered_json(row.is_fit ? "met" : "not met") : ordered_json());
    }
    if (some_left) cells.emplace_back(row.is_current ? "yes" : "no");
  }
  return table;
}

std::string quoted(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-./=:,+") == std::string::npos;
  if (is_plain) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// A platform of the catalogue by its name, which finds the same file.
std::string short_name(const std::string& platform) {
  const std::string name = std::filesystem::path(platform).stem().string();
  try {
    if (platforms::find_platform(name) == platform) return name;
  } catch (const platforms::InputError&) {  // There is none of that name.
  }
  return platform;
}

/// As --set takes it, without quotes where it is no other value without them.
std::string plain(const json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return json::accept(text) ? value.dump() : text;
}

}  // namespace

std::string cell_text(const ordered_json& cell) {
  if (cell.is_null()) return "-";
  if (cell.is_number_float()) return fmt::format("{:.6g}", cell.get<double>());
  if (cell.is_string()) return cell.get<std::string>();
  return cell.dump();
}

std::string to_text(const Table& table, std::size_t most) {
  std::vector<std::vector<std::string>> lines = {table.columns};
  const std::size_t shown = std::min(most, table.rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const ordered_json& cell : table.rows[i]) line.push_back(cell_text(cell));
  }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      std::size_t width = 0;
      for (const auto& each : lines) width = std::max(width, each[c].size());
      const bool is_number =
          std::any_of(table.rows.begin(), table.rows.end(), [c](const auto& row) { return row[c].is_number(); });
      const std::string& cell = lines[i][c];
      const std::string padding(width - cell.size(), ' ');
      line += (c == 0 ? "" : "  ") + (is_number ? padding + cell : cell + padding);
    }
    text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  if (shown < table.rows.size()) text += fmt::format("and {} more\n", table.rows.size() - shown);
  for (const std::string& note : table.notes) text += note + "\n";
  return text;
}

std::string to_csv(const Table& table) {
  const auto csv = [](const std::string& cell) {
    if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
    std::string result = "\"";
    for (const char c : cell) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
  };
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + csv(cells[i]);
    text += "\n";
  };
  add(table.columns);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const ordered_json& cell : row) {
      cells.push_back(cell.is_null() ? "" : cell.is_string() ? cell.get<std::string>() : cell.dump());
    }
    add(cells);
  }
  return text;
}

ordered_json to_json(const Table& table) {
  ordered_json all = ordered_json::array();
  for (const auto& row : table.rows) {
    ordered_json& object = all.emplace_back(ordered_json::object());
    for (std::size_t i = 0; i < table.columns.size(); ++i) object[table.columns[i]] = row[i];
  }
  return all;
}

Goal goal_of(const std::string& text, const std::string& option, const std::vector<std::string>& metrics,
             const About& about) {
  const std::size_t colon = text.rfind(':');
  Goal goal{text.substr(0, colon), is_best_when_largest(about, text.substr(0, colon))};
  if (colon != std::string::npos) {
    const std::string end = text.substr(colon + 1);
    if (end != "min" && end != "max") {
      throw platforms::UsageError(option + ": expected METRIC, METRIC:min or METRIC:max, got " +
                                  platforms::in_quotes(text));
    }
    goal.maximise = end == "max";
  }
  if (const std::string wrong = platforms::not_one_of(metrics, goal.metric); !wrong.empty()) {
    throw platforms::UsageError(option + ": " + wrong);
  }
  return goal;
}

std::vector<std::string> parameters_of(const std::vector<Row>& rows) {
  return names_in(rows, &Row::values);
}

std::vector<std::string> metrics_of(const std::vector<Row>& rows) {
  return names_in(rows, &Row::metrics);
}

std::vector<Row> in_order(std::vector<Row> rows) {
  const std::vector<std::string> parameters = parameters_of(rows);
  std::stable_sort(rows.begin(), rows.end(), [&parameters](const Row& a, const Row& b) {
    for (const std::string& name : parameters) {
      const json one(a.values.value(name, ordered_json()));
      const json other(b.values.value(name, ordered_json()));
      if (one != other) return ValueOrder()(one, other);
    }
    return false;
  });
  return rows;
}

std::vector<std::string> varying_parameters(const std::vector<Row>& rows) {
  std::vector<std::string> varying;
  for (const std::string& name : parameters_of(rows)) {
    const ordered_json first = rows.front().values.value(name, ordered_json());
    const bool varies = std::any_of(rows.begin(), rows.end(),
                                    [&](const Row& row) { return row.values.value(name, ordered_json()) != first; });
    if (varies) varying.push_back(name);
  }
  return varying;
}

std::string constant_text(const std::vector<Row>& rows) {
  const std::vector<std::string> varying = varying_parameters(rows);
  std::vector<std::string> constant;
  for (const std::string& name : parameters_of(rows)) {
    if (std::find(varying.begin(), varying.end(), name) != varying.end()) continue;
    constant.push_back(name + " " + cell_text(rows.front().values.value(name, ordered_json())));
  }
  return platforms::join(constant, ", ");
}

Table all_points(const std::vector<Row>& rows) {
  Table table = points(rows, varying_parameters(rows), kShortKey);
  if (const std::string constant = constant_text(rows); !constant.empty()) {
    table.notes.push_back("the same at all of them: " + constant);
  }
  return table;
}

Table chosen_points(const std::vector<Row>& rows, const std::vector<Row>& chosen, const std::vector<Goal>& goals) {
  Table table = all_points(chosen);
  std::vector<std::string> ends;
  for (const Goal& goal : goals) ends.push_back((goal.maximise ? "largest " : "least ") + goal.metric);
  table.notes.insert(table.notes.begin(), "best: " + platforms::join(ends, ", "));
  const auto unfit = static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.is_done && !row.is_fit; }));
  if (unfit > 0) {
    table.notes.push_back("left out, without what the study requires: " + platforms::counted(unfit, "point"));
  }
  for (const Goal& goal : goals) {
    const auto without = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&goal](const Row& row) {
      return row.is_done && !number_in(row.metrics, goal.metric);
    }));
    if (without == 0) continue;
    table.notes.push_back(
        fmt::format("left out, without a value of {}: {}", goal.metric, platforms::counted(without, "point")));
  }
  return table;
}

Table whole_points(const std::vector<Row>& rows) {
  Table table = points(rows, parameters_of(rows), std::string::npos);
  table.columns.insert(table.columns.end(), {"status", "digest", "version", "wall_s", "user_s", "peak_bytes"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    for (ordered_json cell :
         {ordered_json(row.is_done ? "done" : "failed"), ordered_json(row.digest), ordered_json(row.version),
          ordered_json(row.wall_s), ordered_json(row.user_s), ordered_json(row.peak_bytes)}) {
      table.rows[i].push_back(std::move(cell));
    }
  }
  return table;
}

std::vector<int> steps_of(const std::vector<Row>& rows) {
  std::set<int> steps;
  for (const Row& row : rows) steps.insert(row.values.value(kFidelity, -1));
  return {steps.begin(), steps.end()};
}

std::vector<Row> of_step(const std::vector<Row>& rows, int step) {
  std::vector<Row> found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
               [step](const Row& row) { return row.values.value(kFidelity, -1) == step; });
  return found;
}

std::vector<Row> of_last_step(const std::vector<Row>& rows) {
  const std::vector<int> steps = steps_of(rows);
  return steps.empty() ? rows : of_step(rows, steps.back());
}

std::vector<Row> best_first(const std::vector<Row>& rows, const Goal& goal) {
  std::vector<Row> best;
  for (const Row& row : rows) {
    if (row.is_done && row.is_fit && number_in(row.metrics, goal.metric)) best.push_back(row);
  }
  std::stable_sort(best.begin(), best.end(), [&goal](const Row& a, const Row& b) {
    const double one = *number_in(a.metrics, goal.metric);
    const double other = *number_in(b.metrics, goal.metric);
    return goal.maximise ? one > other : one < other;
  });
  return best;
}

std::vector<Row> pareto_front(const std::vector<Row>& rows, const std::vector<Goal>& goals) {
  std::vector<Row> candidates = rows;
  for (const Goal& goal : goals) candidates = best_first(candidates, goal);
  candidates = best_first(candidates, goals.front());
  // What is to be made small, by candidate.
  std::vector<std::vector<double>> costs;
  for (const Row& row : candidates) {
    std::vector<double>& cost = costs.emplace_back();
    for (const Goal& goal : goals) {
      cost.push_back((goal.maximise ? -1 : 1) * *number_in(row.metrics, goal.metric));
    }
  }
  std::vector<Row> front;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool is_dominated = std::any_of(costs.begin(), costs.end(),
                                          [&](const std::vector<double>& other) { return dominates(other, costs[i]); });
    if (!is_dominated) front.push_back(std::move(candidates[i]));
  }
  return front;
}

std::string command_of(const Row& row) {
  const json task = json(row.task);
  const json& collective = task.at("collective");
  std::string text = collective.is_null() ? "weft run " : "weft collective ";
  text += quoted(short_name(task.at("platform").get<std::string>()));
  for (const json& each : task.at("overrides")) {
    text += " --set " + quoted(each.at(0).get<std::string>() + "=" + plain(each.at(1)));
  }
  if (collective.is_object()) {
    for (const char* const key : {"op", "bytes", "algorithm", "type"}) {
      if (collective.contains(key)) text += std::string(" --") + key + " " + quoted(plain(collective[key]));
    }
    if (!collective.value("warm_up", true)) text += " --no-warmup";
  } else if (task.at("steady")) {
    text += " --steady";
  }
  if (task.at("data")) text += " --data";
  return text + " --why --out point-" + row.key.substr(0, kShortKey);
}

}  // namespace weft::study
