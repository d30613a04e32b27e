// SPDX-License-Identifier: Apache-2.0
// What parameters do to metrics.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "platforms/config/text.h"
#include "platforms/study/tables/tables.h"
#include "platforms/study/tables/values.h"

namespace weft::study {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

struct Group {
  std::string name;
  std::vector<const Row*> rows;
};

std::vector<Group> groups_of(const std::vector<Row>& rows, const std::string& parameter) {
  constexpr std::size_t kMostValues = 12;
  constexpr std::size_t kMostParts = 4;
  std::map<json, std::vector<const Row*>, ValueOrder> by_value;
  for (const Row& row : rows) {
    if (row.is_done) by_value[json(row.values.value(parameter, ordered_json()))].push_back(&row);
  }
  std::vector<Group> groups;
  const bool all_numbers =
      std::all_of(by_value.begin(), by_value.end(), [](const auto& each) { return number_of(each.first).has_value(); });
  if (by_value.size() <= kMostValues || !all_numbers) {
    for (auto& [value, members] : by_value) groups.push_back({cell_text(value), std::move(members)});
    return groups;
  }
  std::size_t all = 0;
  for (const auto& [value, members] : by_value) all += members.size();
  // A value goes whole into the part in which the middle one of its points is.
  std::map<std::size_t, std::vector<const std::pair<const json, std::vector<const Row*>>*>> parts;
  std::size_t before = 0;
  for (const auto& each : by_value) {
    parts[(2 * before + each.second.size()) * kMostParts / (2 * all)].push_back(&each);
    before += each.second.size();
  }
  for (const auto& [part, values] : parts) {
    const std::string first = cell_text(values.front()->first);
    Group group{values.size() == 1 ? first : first + " to " + cell_text(values.back()->first), {}};
    for (const auto* const each : values) group.rows.insert(group.rows.end(), each->second.begin(), each->second.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<double> numbers(const std::vector<const Row*>& rows, const std::string& metric) {
  std::vector<double> all;
  for (const Row* const row : rows) {
    if (const std::optional<double> number = number_in(row->metrics, metric)) all.push_back(*number);
  }
  return all;
}

double mean(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

bool is_numeric(const std::vector<Row>& rows, const std::string& metric) {
  return std::any_of(rows.begin(), rows.end(),
                     [&metric](const Row& row) { return number_in(row.metrics, metric).has_value(); });
}

/// Parameters that go together, and how points are told apart by them.
struct Factor {
  std::vector<std::string> names;
  std::vector<std::string> levels;           ///< "400Gbps"
  std::map<const Row*, std::size_t> level;   ///< of each point
  std::map<const Row*, std::string> values;  ///< of each point, exactly
};

std::string values_text(const Row& row, const std::vector<std::string>& names) {
  json values = json::array();
  for (const std::string& name : names) values.push_back(json(row.values.value(name, ordered_json())));
  return values.dump();
}

Factor factor_of(const std::vector<Row>& rows, std::vector<std::string> names) {
  Factor factor{std::move(names), {}, {}, {}};
  for (const Row& row : rows) factor.values.emplace(&row, values_text(row, factor.names));
  if (factor.names.size() == 1) {
    for (const Group& group : groups_of(rows, factor.names.front())) {
      for (const Row* const row : group.rows) factor.level.emplace(row, factor.levels.size());
      factor.levels.push_back(group.name);
    }
    return factor;
  }
  std::map<std::string, std::size_t> known;
  for (const Row& row : rows) {
    const auto [at, is_new] = known.emplace(factor.values.at(&row), factor.levels.size());
    factor.level.emplace(&row, at->second);
    if (!is_new) continue;
    std::vector<std::string> cells;
    for (const std::string& name : factor.names) cells.push_back(cell_text(row.values.value(name, ordered_json())));
    factor.levels.push_back(platforms::join(cells, ", "));
  }
  return factor;
}

/// Those of a study that differ between these points, and parameters that no study of now has.
std::vector<Factor> factors_of(const std::vector<Row>& rows, const About& about) {
  const std::vector<std::string> all = varying_parameters(rows);
  std::set<std::string> left(all.begin(), all.end());
  for (const std::string& name : about.derived) left.erase(name);
  std::vector<Factor> factors;
  for (const std::vector<std::string>& together : about.factors) {
    std::vector<std::string> names;
    for (const std::string& name : together) {
      if (left.erase(name) > 0) names.push_back(name);
    }
    if (!names.empty()) factors.push_back(factor_of(rows, std::move(names)));
  }
  for (const std::string& name : all) {
    if (left.contains(name)) factors.push_back(factor_of(rows, {name}));
  }
  return factors;
}

/// Ranks from 0, those that are equal with the mean of theirs.
std::vector<double> mean_ranks(const std::vector<double>& all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&all](std::size_t a, std::size_t b) { return all[a] < all[b]; });
  std::vector<double> rank(all.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t until = from;
    while (until < order.size() && all[order[until]] == all[order[from]]) ++until;
    for (std::size_t i = from; i < until; ++i) rank[order[i]] = static_cast<double>(from + until - 1) / 2;
    from = until;
  }
  return rank;
}

/// Spearman's: of a parameter's numbers and a metric, over all points; none where either does not vary.
std::optional<double> rank_correlation(const std::vector<Row>& rows, const Factor& factor, const std::string& metric) {
  std::vector<double> values;
  std::vector<double> results;
  for (const Row& row : rows) {
    const std::optional<double> value = number_in(row.values, factor.names.front());
    if (factor.names.size() > 1 || !value) return std::nullopt;
    values.push_back(*value);
    results.push_back(*number_in(row.metrics, metric));
  }
  const std::vector<double> one = mean_ranks(values);
  const std::vector<double> other = mean_ranks(results);
  const double middle = static_cast<double>(rows.size() - 1) / 2;
  double product = 0;
  double of_one = 0;
  double of_other = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    product += (one[i] - middle) * (other[i] - middle);
    of_one += (one[i] - middle) * (one[i] - middle);
    of_other += (other[i] - middle) * (other[i] - middle);
  }
  if (of_one == 0 || of_other == 0) return std::nullopt;
  return product / std::sqrt(of_one * of_other);
}

/// Two levels of a factor over all sets of points that are alike but for it.
struct Pairs {
  std::size_t count = 0;
  double one = 0;
  double other = 0;
};

}  // namespace

Table grouped(const std::vector<Row>& rows, const std::string& parameter) {
  Table table;
  table.columns = {parameter, "points"};
  std::vector<std::string> metrics;
  for (const std::string& metric : metrics_of(rows)) {
    if (!is_numeric(rows, metric)) continue;
    metrics.push_back(metric);
    for (const char* const what : {" mean", " min", " max"}) table.columns.push_back(metric + what);
  }
  for (const Group& group : groups_of(rows, parameter)) {
    std::vector<ordered_json>& cells = table.rows.emplace_back();
    cells = {group.name, group.rows.size()};
    for (const std::string& metric : metrics) {
      const std::vector<double> all = numbers(group.rows, metric);
      if (all.empty()) {
        cells.insert(cells.end(), 3, ordered_json());
        continue;
      }
      const auto [least, most] = std::minmax_element(all.begin(), all.end());
      for (const double value : {mean(all), *least, *most}) cells.emplace_back(value);
    }
  }
  return table;
}

Table sensitivity(const std::vector<Row>& rows, const std::string& metric, const About& about) {
  std::vector<Row> known;
  for (const Row& row : rows) {
    if (row.is_done && number_in(row.metrics, metric)) known.push_back(row);
  }
  struct Line {
    double change;
    std::vector<ordered_json> cells;
  };
  std::vector<Line> lines;
  std::vector<std::string> unpaired;
  const std::vector<Factor> factors = factors_of(known, about);
  for (const Factor& factor : factors) {
    std::map<std::string, std::vector<const Row*>> alike;
    for (const Row& row : known) {
      std::string others;
      for (const Factor& each : factors) {
        if (&each != &factor) others += each.values.at(&row);
      }
      alike[others].push_back(&row);
    }
    std::map<std::pair<std::size_t, std::size_t>, Pairs> pairs;
    std::vector<double> compared;
    for (const auto& [others, members] : alike) {
      std::map<std::size_t, std::vector<double>> by_level;
      for (const Row* const row : members) by_level[factor.level.at(row)].push_back(*number_in(row->metrics, metric));
      if (by_level.size() < 2) continue;
      for (auto one = by_level.begin(); one != by_level.end(); ++one) {
        compared.insert(compared.end(), one->second.begin(), one->second.end());
        for (auto other = std::next(one); other != by_level.end(); ++other) {
          Pairs& both = pairs[{one->first, other->first}];
          ++both.count;
          both.one += mean(one->second);
          both.other += mean(other->second);
        }
      }
    }
    const std::string name = platforms::join(factor.names, ", ");
    const std::optional<double> correlation = rank_correlation(known, factor, metric);
    const ordered_json told_correlation = correlation ? ordered_json(*correlation) : ordered_json();
    if (pairs.empty()) {
      unpaired.push_back(name);
      // Behind those with pairs, the strongest first.
      lines.push_back({(correlation ? std::abs(*correlation) : 0) - 2,
                       {name, nullptr, nullptr, nullptr, nullptr, nullptr, 0, told_correlation}});
      continue;
    }
    const auto change_of = [](const Pairs& both) {
      return std::abs(both.other - both.one) / static_cast<double>(both.count);
    };
    const auto largest = std::max_element(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
      return change_of(a.second) < change_of(b.second);
    });
    const Pairs& both = largest->second;
    const auto count = static_cast<double>(both.count);
    auto least = std::pair(factor.levels[largest->first.first], both.one / count);
    auto most = std::pair(factor.levels[largest->first.second], both.other / count);
    if (least.second > most.second) std::swap(least, most);
    const double overall = std::abs(mean(compared));
    const double change = overall > 0 ? 100 * (most.second - least.second) / overall : 0;
    lines.push_back(
        {change, {name, change, least.first, least.second, most.first, most.second, both.count, told_correlation}});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.change > b.change; });
  Table table;
  table.columns = {"parameter", metric + " changes by %", "least at", "mean there", "most at", "mean at most", "pairs"};
  for (Line& line : lines) table.rows.push_back(std::move(line.cells));
  if (unpaired.empty()) {
    for (std::vector<ordered_json>& cells : table.rows) cells.pop_back();
  } else {
    table.columns.emplace_back("rank correlation");
    table.notes.push_back("no two points differ in this parameter alone, so only its rank correlation is known: " +
                          platforms::join(unpaired, "; "));
  }
  return table;
}

}  // namespace weft::study
