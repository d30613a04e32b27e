// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "traces/files/format_error.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/text_file.h"

namespace weft::traces {

/// A table read from a CSV file, kept as text and converted when a typed getter asks.
///
/// The first record names the columns. A line that starts with `#` is a comment, blank lines are skipped, fields are
/// separated by commas and trimmed unless quoted; a quoted field may hold commas, line breaks and doubled quotes. Where
/// the first record has no comma but semicolons, or neither but tabs, these separate fields. Anything else is a
/// FormatError that names file, line, column and what was expected.
///
///     for (const CsvTable::Row row : CsvTable::read("models.csv")) {
///       layers.push_back(row.integer("layers", 1));
///     }
class CsvTable {
 public:
  /// One record; valid as long as its table.
  class Row {
   public:
    /// The line of the file on which the record starts.
    [[nodiscard]] int line() const;
    /// The field as it stands, possibly empty.
    [[nodiscard]] const std::string& text(std::string_view column) const;
    /// Whether there is such a column, and the field is not empty.
    [[nodiscard]] bool has(std::string_view column) const;
    /// The field, which must not be empty.
    [[nodiscard]] const std::string& required(std::string_view column) const;
    [[nodiscard]] std::int64_t integer(std::string_view column, std::int64_t min = INT64_MIN,
                                       std::int64_t max = INT64_MAX) const;
    /// As `integer`, but an empty field stands for `fallback`.
    [[nodiscard]] std::int64_t integer_or(std::string_view column, std::int64_t fallback, std::int64_t min = INT64_MIN,
                                          std::int64_t max = INT64_MAX) const;
    /// A finite decimal number.
    [[nodiscard]] double number(std::string_view column) const;
    /// `yes`, `true` or `1`; `no`, `false` or `0`.
    [[nodiscard]] bool boolean(std::string_view column) const;
    /// Throws `FILE:LINE: column 'C': expected EXPECTED, got 'TEXT'`: for readers that check more than the getters do.
    [[noreturn]] void fail(std::string_view column, std::string_view expected) const;

   private:
    friend class CsvTable;
    Row(const CsvTable& table, std::size_t index) : table_(&table), index_(index) {}

    const CsvTable* table_;
    std::size_t index_;
  };

  class Iterator {
   public:
    Iterator(const CsvTable& table, std::size_t index) : table_(&table), index_(index) {}
    Row operator*() const { return (*table_)[index_]; }
    Iterator& operator++() { return ++index_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    const CsvTable* table_;
    std::size_t index_;
  };

  static CsvTable read(const std::filesystem::path& file, KindFilter takes = is_table);
  /// Reads `text` as the content of `file`, a name used in messages only.
  static CsvTable parse(std::string_view text, std::string file);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return header_.fields; }
  [[nodiscard]] bool has_column(std::string_view column) const;
  /// Throws unless there is a record: for tables without which nothing can be done. `of` is a noun, such as "a row".
  void expect_rows(std::string_view of) const;
  /// Throws unless the columns are exactly these, in any order, some of which may be absent: a misspelt column must not
  /// pass for one of those.
  void expect_columns(std::initializer_list<std::string_view> names,
                      const std::vector<std::string_view>& optional = {}) const;

  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] bool empty() const { return records_.empty(); }
  [[nodiscard]] Row operator[](std::size_t index) const { return {*this, index}; }
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, records_.size()}; }

 private:
  struct Record {
    int line = 0;
    std::vector<std::string> fields;
  };
  friend class CsvParser;

  [[nodiscard]] std::size_t column_index(std::string_view column) const;

  std::string file_;
  Record header_;
  std::vector<Record> records_;
};

}  // namespace weft::traces
