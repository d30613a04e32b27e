// SPDX-License-Identifier: Apache-2.0
#include "traces/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "traces/files/text_file.h"

namespace weft::traces {
namespace {

/// More than any table has; columns are looked for one by one.
constexpr std::size_t kMostColumns = 1024;

}  // namespace

/// Splits text into records. Keeps the line number, because a quoted field may span lines.
class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& file) : text_(text), file_(file) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    find_separator();
  }

  /// Reads the next record; false at the end of the text.
  bool next(CsvTable::Record& record) {
    skip_comments();
    if (at_ >= text_.size()) return false;
    record.line = line_;
    record.fields.clear();
    do {
      record.fields.push_back(field());
    } while (take(separator_));
    take_line_end();
    return true;
  }

 private:
  /// Spreadsheets put semicolons between fields where a comma is the decimal point, and tabs into what is copied from
  /// them. The line that names the columns tells: what it has outside of quotes.
  void find_separator() {
    skip_comments();
    std::string_view has;
    bool in_quotes = false;
    const auto found = [&](std::string_view separator) {
      constexpr std::string_view kInOrder = "|\t;,";
      if (has.empty() || kInOrder.find(separator) > kInOrder.find(has)) has = separator;
    };
    for (std::size_t at = at_; at < text_.size() && text_[at] != '\n'; ++at) {
      if (text_[at] == '"') in_quotes = !in_quotes;
      if (!in_quotes && std::string_view("|\t;,").find(text_[at]) != std::string_view::npos) found(text_.substr(at, 1));
    }
    if (has.empty()) return;
    if (has == "|") {
      throw FormatError(file_, line_, "expected columns with commas, semicolons or tabs between them, found |");
    }
    separator_ = has.front();
  }

  [[nodiscard]] bool at_line_end() const {
    return at_ >= text_.size() || text_[at_] == '\n' ||
           (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
  }

  void take_line_end() {
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size()) ++at_, ++line_;
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    return ++at_, true;
  }

  void skip_blanks() {
    while (!at_line_end() && (text_[at_] == ' ' || text_[at_] == '\t') && text_[at_] != separator_) ++at_;
  }

  void skip_comments() {
    while (at_ < text_.size()) {
      const std::size_t start = at_;
      if (text_[at_] != '#') {
        while (!at_line_end() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
        if (!at_line_end()) {
          at_ = start;
          return;
        }
      }
      while (!at_line_end()) ++at_;
      take_line_end();
    }
  }

  std::string field() {
    skip_blanks();
    if (take('"')) return quoted();
    const std::size_t start = at_;
    while (!at_line_end() && text_[at_] != separator_) {
      if (text_[at_] == '"')
        throw FormatError(file_, line_, "expected quotes around the whole field, found one inside it");
      ++at_;
    }
    std::string_view field = text_.substr(start, at_ - start);
    while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
    return std::string(field);
  }

  std::string quoted() {
    const int start = line_;
    std::string field;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) {
        skip_blanks();
        if (!at_line_end() && text_[at_] != separator_) {
          throw FormatError(file_, line_,
                            "expected " + separator_name() + " or the end of the line after a closing quote");
        }
        return field;
      }
      if (c == '\n') ++line_;
      field += c;
    }
    throw FormatError(file_, start, "expected a closing quote for the field that starts here");
  }

  [[nodiscard]] std::string separator_name() const {
    return separator_ == ',' ? "a comma" : separator_ == ';' ? "a semicolon" : "a tab";
  }

  std::string_view text_;
  const std::string& file_;
  char separator_ = ',';
  std::size_t at_ = 0;
  int line_ = 1;
};

CsvTable CsvTable::parse(std::string_view text, std::string file) {
  CsvTable table;
  table.file_ = std::move(file);
  CsvParser parser(text, table.file_);
  if (!parser.next(table.header_)) {
    throw FormatError(table.file_, 0, "expected a line that names the columns, found none");
  }
  const std::vector<std::string>& columns = table.header_.fields;
  if (columns.size() > kMostColumns) {
    throw FormatError(table.file_, table.header_.line,
                      fmt::format("expected at most {} columns, found {}", kMostColumns, columns.size()));
  }
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (column->empty()) {
      throw FormatError(table.file_, table.header_.line,
                        fmt::format("expected a name for column {}, found none", column - columns.begin() + 1));
    }
    if (std::find(columns.begin(), column, *column) != column) {
      throw FormatError(table.file_, table.header_.line,
                        fmt::format("expected each column once, found '{}' twice", *column));
    }
  }
  for (Record record; parser.next(record);) {
    if (record.fields.size() != columns.size()) {
      throw FormatError(table.file_, record.line,
                        fmt::format("expected {} fields ({}), found {}", columns.size(), fmt::join(columns, ", "),
                                    record.fields.size()));
    }
    table.records_.push_back(std::move(record));
  }
  return table;
}

CsvTable CsvTable::read(const std::filesystem::path& file, KindFilter takes) {
  return parse(read_text(file, "a CSV file", takes), file.string());
}

bool CsvTable::has_column(std::string_view column) const {
  return std::find(columns().begin(), columns().end(), column) != columns().end();
}

std::size_t CsvTable::column_index(std::string_view column) const {
  const auto found = std::find(columns().begin(), columns().end(), column);
  if (found == columns().end()) {
    throw FormatError(file_, header_.line,
                      fmt::format("expected a column '{}', found {}", column, fmt::join(columns(), ", ")));
  }
  return static_cast<std::size_t>(found - columns().begin());
}

void CsvTable::expect_rows(std::string_view of) const {
  if (empty())
    throw FormatError(file_, header_.line, fmt::format("expected {} below the names of the columns, found none", of));
}

void CsvTable::expect_columns(std::initializer_list<std::string_view> names,
                              const std::vector<std::string_view>& optional) const {
  for (const std::string_view name : names) static_cast<void>(column_index(name));
  std::vector<std::string_view> known = names;
  known.insert(known.end(), optional.begin(), optional.end());
  for (const std::string& column : columns()) {
    if (std::find(known.begin(), known.end(), column) == known.end()) {
      throw FormatError(file_, header_.line,
                        fmt::format("expected columns {}, found '{}'", fmt::join(known, ", "), column));
    }
  }
}

int CsvTable::Row::line() const {
  return table_->records_[index_].line;
}

const std::string& CsvTable::Row::text(std::string_view column) const {
  return table_->records_[index_].fields[table_->column_index(column)];
}

bool CsvTable::Row::has(std::string_view column) const {
  return table_->has_column(column) && !text(column).empty();
}

const std::string& CsvTable::Row::required(std::string_view column) const {
  const std::string& field = text(column);
  if (field.empty()) fail(column, "a text");
  return field;
}

std::int64_t CsvTable::Row::integer(std::string_view column, std::int64_t min, std::int64_t max) const {
  const std::string& field = text(column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || error != std::errc() || end != field.data() + field.size() || value < min || value > max) {
    if (min == INT64_MIN && max == INT64_MAX) fail(column, "an integer");
    if (max == INT64_MAX) fail(column, fmt::format("an integer of at least {}", min));
    fail(column, fmt::format("an integer from {} to {}", min, max));
  }
  return value;
}

std::int64_t CsvTable::Row::integer_or(std::string_view column, std::int64_t fallback, std::int64_t min,
                                       std::int64_t max) const {
  return text(column).empty() ? fallback : integer(column, min, max);
}

double CsvTable::Row::number(std::string_view column) const {
  const std::string& field = text(column);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) {
    fail(column, "a number");
  }
  return value;
}

bool CsvTable::Row::boolean(std::string_view column) const {
  const std::string& field = text(column);
  if (field == "yes" || field == "true" || field == "1") return true;
  if (field != "no" && field != "false" && field != "0") fail(column, "yes or no");
  return false;
}

void CsvTable::Row::fail(std::string_view column, std::string_view expected) const {
  throw FormatError(table_->file_, line(),
                    fmt::format("column '{}': expected {}, got '{}'", column, expected, text(column)));
}

}  // namespace weft::traces
