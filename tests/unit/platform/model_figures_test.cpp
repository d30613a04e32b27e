// SPDX-License-Identifier: Apache-2.0
// docs/reference/models: figures in the tables of parameters are the defaults of their fields, or what a part sets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/config/field_visitor.h"
#include "platforms/config/part_sources.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/machine/machine.h"
#include "sw/analytical/config.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

/// Defaults as they would be written, by path; several if kinds of workload differ.
using Defaults = std::multimap<std::string, std::string>;

Defaults all_defaults() {
  Defaults all;
  const auto add = [&all](const std::vector<FieldDoc>& fields) {
    for (const FieldDoc& field : fields)
      all.emplace(field.path, nlohmann::json::parse(field.default_text.empty() ? "\"\"" : field.default_text).dump());
  };
  add(describe(MachineConfig()));
  add(describe(analytical::AnalyticalConfig(), "analytical"));
  for (const JobKind& kind : job_kinds()) add(describe(kind.config, "workload"));
  return all;
}

std::string without_quotes(std::string text) {
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

/// A number in the smallest of its units.
struct Figure {
  double value = 0;
  std::string unit;
};

double scale_of(const std::string& unit) {
  static const std::map<std::string, double> kScales = {
      {"ps", 1},      {"ns", 1e3},   {"us", 1e6},      {"ms", 1e9},         {"s", 1e12},
      {"B", 1},       {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"bps", 1},
      {"Kbps", 1e3},  {"Mbps", 1e6}, {"Gbps", 1e9},    {"Tbps", 1e12},      {"Gb/s", 1e9},
      {"Tb/s", 1e12}, {"GB/s", 8e9}, {"TB/s", 8e12},   {"MHz", 1e6},        {"GHz", 1e9},
      {"mW", 1},      {"W", 1e3},    {"fJ", 1},        {"pJ", 1e3},         {"%", 0.01}};
  const auto found = kScales.find(unit);
  return found == kScales.end() ? 0 : found->second;
}

/// "1,024" and "64 KiB each"; none if the text does not begin with a number.
std::optional<Figure> figure_at(const std::string& text) {
  std::string digits;
  std::size_t at = 0;
  for (; at < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[at])) != 0 || text[at] == '.' || text[at] == ',');
       ++at) {
    if (text[at] != ',') digits += text[at];
  }
  if (digits.empty() || std::isdigit(static_cast<unsigned char>(digits.front())) == 0) return std::nullopt;
  if (at < text.size() && text[at] == ' ') ++at;
  std::string unit;
  for (; at < text.size() &&
         (std::isalpha(static_cast<unsigned char>(text[at])) != 0 || text[at] == '/' || text[at] == '%');
       ++at)
    unit += text[at];
  return Figure{std::stod(digits), scale_of(unit) > 0 ? unit : ""};
}

bool is_same(const std::string& figure, const std::string& value) {
  const std::optional<Figure> a = figure_at(figure);
  const std::optional<Figure> b = figure_at(value);
  if (!a || !b) return false;
  const double left = a->value * (a->unit.empty() ? 1 : scale_of(a->unit));
  const double right = b->value * (b->unit.empty() ? 1 : scale_of(b->unit));
  return std::abs(left - right) <= 1e-9 * std::abs(right);
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string::npos) return parts;
    start = end + separator.size();
  }
}

/// What a cell of names has, `a` and `b` of "`a`, `b`"; none if there is anything else in it.
std::vector<std::string> names_in(const std::string& cell) {
  std::vector<std::string> names = split(cell, ", ");
  for (std::string& name : names) {
    if (name.size() < 3 || name.front() != '`' || name.find('`', 1) != name.size() - 1) return {};
    name = name.substr(1, name.size() - 2);
  }
  return names;
}

class ModelFigures : public testing::Test {
 protected:
  /// The path of a field that a page names in short: within the core array, in the folder of the row's first field, or
  /// by its end. Empty if there is none, or are several.
  [[nodiscard]] std::string path_of(const std::string& name, const std::string& first) const {
    const std::string folder = first.substr(0, first.rfind('.') + 1);
    for (const std::string& path : {name, folder + name, "accelerator.compute." + name}) {
      if (defaults_.contains(path)) return path;
    }
    std::string found;
    for (auto each = defaults_.begin(); each != defaults_.end(); each = defaults_.upper_bound(each->first)) {
      if (!each->first.ends_with("." + name)) continue;
      if (!found.empty()) return "";
      found = each->first;
    }
    return found;
  }

  /// What the part sets at the path, or at its end; empty if it sets nothing there.
  std::string value_in(const std::string& part, const std::string& path) {
    const Part* found = catalogue_.find(part);
    if (found == nullptr) return "";
    std::string value;
    std::size_t longest = 0;
    for (const PartField& field : fields_of(catalogue_, *found)) {
      if (path != field.path && !path.ends_with("." + field.path)) continue;
      if (field.path.size() > longest) value = without_quotes(field.value.dump());
      longest = std::max(longest, field.path.size());
    }
    return value;
  }

  /// `figure` is "700 W (`h100-sxm`)" for a part's; else it is the default.
  void check(const std::string& path, const std::string& figure, const std::string& next) {
    const std::size_t part = figure.find("(`");
    ++checked_;
    if (part != std::string::npos) {
      const std::string name = figure.substr(part + 2, figure.find('`', part + 2) - part - 2);
      const std::string value = value_in(name, path);
      EXPECT_TRUE(is_same(figure, value))
          << path << " of " << name << ": " << figure << ", but the part has '" << value << "'";
      return;
    }
    const auto [from, to] = defaults_.equal_range(path);
    bool agrees = false;
    for (auto each = from; each != to; ++each) {
      const std::string value = without_quotes(each->second);
      // "350, 250 ns" names a unit once.
      const std::optional<Figure> behind = figure_at(next);
      const bool has_unit = behind && !behind->unit.empty() && figure_at(figure)->unit.empty();
      agrees = agrees || is_same(figure, value) || (has_unit && is_same(figure + " " + behind->unit, value));
    }
    EXPECT_TRUE(agrees) << path << ": " << figure << ", but the default is " << from->second;
  }

  void check_row(const std::string& row) {
    const std::vector<std::string> cells = split(row, " | ");
    if (cells.size() < 3 || !cells[0].starts_with("| `")) return;
    const std::vector<std::string> names = names_in(cells[0].substr(2));
    const std::vector<std::string> figures = split(cells[1], ", ");
    std::string first;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string path = path_of(names[i], first);
      if (first.empty()) first = path;
      if (path.empty()) continue;
      // Several figures of one name are those of parts, each with its own; one of several names is that of each.
      for (std::size_t k = 0; k < figures.size(); ++k) {
        const bool is_its = names.size() == 1 ? k == 0 || figures[k].find("(`") != std::string::npos
                                              : k == std::min(i, figures.size() - 1);
        if (is_its && figure_at(figures[k])) check(path, figures[k], k + 1 < figures.size() ? figures[k + 1] : "");
      }
    }
  }

  const Defaults defaults_ = all_defaults();
  Catalogue catalogue_{WEFT_SOURCE_DIR "/platforms/parts"};
  int checked_ = 0;
};

TEST_F(ModelFigures, AreThoseOfTheCode) {
  for (const auto& entry : fs::directory_iterator(WEFT_SOURCE_DIR "/docs/reference/models")) {
    // That page has the figures of its platforms.
    if (entry.path().filename() == "kfac-measured.md") continue;
    SCOPED_TRACE(entry.path().filename());
    std::ifstream page(entry.path());
    bool is_table = false;
    for (std::string line; std::getline(page, line);) {
      if (line.starts_with("## ")) is_table = line == "## Parameters";
      if (is_table) check_row(line);
    }
  }
  EXPECT_GT(checked_, 100);
}

}  // namespace
}  // namespace weft::platforms
