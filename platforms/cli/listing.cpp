// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/listing.h"

#include <fmt/format.h>

#include <algorithm>

#include "platforms/cli/output.h"
#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

/// The words of its first line.
std::string first_line(const std::string& text, std::size_t indent) {
  constexpr std::size_t kDots = 3;
  const std::string lines = wrapped(text, indent + kDots);
  const std::size_t end = lines.find('\n');
  return end == std::string::npos ? lines : lines.substr(0, end) + "...";
}

}  // namespace

void ListingOptions::add_name_to(const Arguments& app, const std::string& doc, const std::string& value) {
  app.add_option("NAME", name, doc).type_name(value);
}

void ListingOptions::add_to(const Arguments& app) {
  app.add_flag("--names", names, "Print only names");
  app.add_flag("--json", json, "Print JSON");
}

void print_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) print(name + "\n");
}

std::string listed(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string lines;
  for (const std::vector<std::string>& row : rows) {
    std::string start;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) start += fmt::format("{:<{}}  ", row[i], widths[i]);
    lines += start + first_line(row.back(), start.size()) + "\n";
  }
  return lines;
}

}  // namespace weft::platforms
