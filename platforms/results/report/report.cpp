// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/report/report.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/results/compare/changed.h"
#include "platforms/results/compare/compare.h"
#include "platforms/results/pictures/svg.h"
#include "platforms/results/report/page.h"
#include "platforms/results/report/page_parts.h"
#include "platforms/results/run_results.h"
#include "platforms/results/why/path_parts.h"
#include "platforms/results/why/resources.h"
#include "platforms/results/why/why_text.h"
#include "platforms/results/write_file.h"
#include "traces/files/text_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kMostLinks = 5000;  ///< rows that a page shows without delay
constexpr const char* kPictures[] = {"machine.svg", "path.svg", "network.svg", "timeline.svg"};

/// Cells of Weft's own tables have no quotes.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t to = std::min(line.find(',', from), line.size());
    cells.emplace_back(line.substr(from, to - from));
    from = to + 1;
  }
  return cells;
}

/// `columns` and `rows`; of too many rows those whose first cell is `kept`, and those with the highest second cell.
ordered_json table_of(const fs::path& file, const std::set<std::string>& kept = {}) {
  const std::string text = traces::read_text(file, "a table of weft run");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    if (to > from) rows.push_back(cells_of(std::string_view(text).substr(from, to - from)));
    from = to + 1;
  }
  if (rows.empty()) throw InputError(file.string(), "", "a table of weft run", "an empty file");
  const std::vector<std::string> columns = std::move(rows.front());
  rows.erase(rows.begin());
  for (const std::vector<std::string>& row : rows) {
    if (row.size() != columns.size() || row.size() < 2) {
      throw InputError(file.string(), "", "as many cells in each row as in the first", "a row that differs");
    }
  }
  std::size_t left_out = 0;
  if (rows.size() > kMostLinks) {
    std::stable_sort(rows.begin(), rows.end(), [&kept](const auto& a, const auto& b) {
      const auto rank = [&kept](const std::vector<std::string>& row) {
        return std::pair(kept.contains(row[0]), std::strtod(row[1].c_str(), nullptr));
      };
      return rank(a) > rank(b);
    });
    left_out = rows.size() - kMostLinks;
    rows.resize(kMostLinks);
  }
  return {{"columns", columns}, {"rows", rows}, {"left_out", left_out}};
}

/// The first paragraph, on one line.
std::string first_words(const std::string& text) {
  std::string words = text.substr(0, text.find("\n\n"));
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

/// What weft why calls the kinds of pieces: {NETWORK: {KIND: WORDS}}.
ordered_json words_of(const ordered_json& why) {
  ordered_json words = ordered_json::object();
  for (const ordered_json& piece : why["pieces"]) {
    words[piece.value("network", std::string())][piece["kind"].get<std::string>()] = resource_of(piece).words;
  }
  return words;
}

/// How much of the path is on each link, the most first.
ordered_json on_path(const ordered_json& why) {
  const PathParts parts(why);
  ordered_json links = ordered_json::object();
  for (const auto& [name, link] : parts.links.worst_first()) links[name] = link->ps;
  return links;
}

std::string text_of(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

ordered_json read_results(const fs::path& folder) {
  RunResults run = read_run(folder);
  ordered_json results = {{"summary", std::move(run.summary)}};
  std::set<std::string> links_on_path;
  const auto has = [&folder](const char* name) {
    std::error_code ignored;
    return fs::is_regular_file(folder / name, ignored);
  };
  if (!run.why.is_null()) {
    results["why_words"] = first_words(why_text(run.why, run.values(), WhyText::kBrief));
    results["words"] = words_of(run.why);
    results["on_path"] = on_path(run.why);
    for (const auto& [name, ps] : results["on_path"].items()) links_on_path.insert(name);
    results["why"] = std::move(run.why);
  }
  if (!run.config.is_null()) results["config"] = std::move(run.config);
  if (has("links.csv")) results["links"] = table_of(folder / "links.csv", links_on_path);
  if (has("ends.csv")) results["ends"] = table_of(folder / "ends.csv");
  if (has("over_time.csv")) results["over_time"] = table_of(folder / "over_time.csv");
  ordered_json pictures = ordered_json::object();
  for (const char* name : kPictures) {
    if (has(name)) pictures[name] = traces::read_text(folder / name, "a picture of weft run");
  }
  results["pictures"] = std::move(pictures);
  return results;
}

void put_beside(ordered_json& results, const fs::path& folder, ordered_json other, const fs::path& other_folder) {
  const auto run_of = [](const fs::path& name, const ordered_json& its) {
    const auto part = [&its](const char* key) { return its.contains(key) ? its[key] : ordered_json(); };
    return RunResults{name.string(), its["summary"], part("config"), part("why")};
  };
  ordered_json comparison = compare_runs(run_of(folder, results), run_of(other_folder, other));
  comparison["lines"] = changed_lines(comparison["work"], comparison["changed"], comparison["changed"].size());
  results["comparison"] = std::move(comparison);
  results["other"] = {{"folder", other_folder.string()}, {"summary", std::move(other["summary"])}};
  if (other.contains("over_time")) results["other"]["over_time"] = std::move(other["over_time"]);
}

std::string report_page(const ordered_json& results) {
  const ordered_json& summary = results["summary"];
  const std::string name = text_of(summary, "platform");
  return fill_page(report::kPage, {{"title", svg_text(name.empty() ? "Weft" : name + " - Weft")},
                                   {"name", svg_text(name.empty() ? "A run of Weft" : name)},
                                   {"description", svg_text(text_of(summary, "description"))},
                                   {"style", page_style()},
                                   {"library", page_library()},
                                   {"script", std::string(report::kScript)},
                                   {"results", json_for_html(results)}});
}

}  // namespace weft::platforms
