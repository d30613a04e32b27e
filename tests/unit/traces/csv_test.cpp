// SPDX-License-Identifier: Apache-2.0
#include "traces/csv.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "traces/files/data_path.h"
#include "traces/json/json_path.h"

namespace weft::traces {
namespace {

template <typename Action>
std::string error_from(Action action) {
  try {
    static_cast<void>(action());
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

std::string parse_error(std::string_view text) {
  return error_from([&] { CsvTable::parse(text, "t.csv"); });
}

TEST(Csv, ReadsQuotesCommentsAndBlankLines) {
  const CsvTable table = CsvTable::parse(
      "\xEF\xBB\xBF# source: a paper\r\nname, size ,on\r\n\r\n \t\n\"a, \"\"b\"\"\nc\" , 12,yes\n# more\n  plain text  "
      ",-3,0\n,,\"\"",
      "t.csv");
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"name", "size", "on"}));
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0].text("name"), "a, \"b\"\nc");
  EXPECT_EQ(table[0].integer("size"), 12);
  EXPECT_TRUE(table[0].boolean("on"));
  EXPECT_EQ(table[0].line(), 5);
  EXPECT_EQ(table[1].text("name"), "plain text");
  EXPECT_EQ(table[1].integer("size"), -3);
  EXPECT_EQ(table[1].number("size"), -3.0);
  EXPECT_FALSE(table[1].boolean("on"));
  EXPECT_EQ(table[1].line(), 8);
  EXPECT_EQ(table[2].text("name"), "");
  EXPECT_EQ(table[2].integer_or("size", 7), 7);
  EXPECT_EQ(table[2].line(), 9);
}

/// As spreadsheets write it where a comma is the decimal point.
TEST(Csv, ReadsSemicolons) {
  const CsvTable table = CsvTable::parse("\"name, if any\";size\r\na, b;3\r\n\"c;d\" ;4\r\n", "t.csv");
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"name, if any", "size"}));
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].text("name, if any"), "a, b");
  EXPECT_EQ(table[1].text("name, if any"), "c;d");
  EXPECT_EQ(table[1].integer("size"), 4);
  EXPECT_EQ(parse_error("a;b\n\"1\"2;3\n"),
            "t.csv:2: expected a semicolon or the end of the line after a closing quote");
  // With a comma among the names, semicolons belong to them.
  EXPECT_EQ(CsvTable::parse("a;b,c\n1;2,3\n", "t.csv")[0].text("a;b"), "1;2");
}

/// As they are copied from a spreadsheet.
TEST(Csv, ReadsTabs) {
  const CsvTable table = CsvTable::parse("name\tsize\ton\na b\t3\t\n\t 4 \tyes\n\t\n\"c\td\"\t5\tno\n", "t.csv");
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"name", "size", "on"}));
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0].text("name"), "a b");
  EXPECT_EQ(table[0].text("on"), "");
  EXPECT_EQ(table[1].text("name"), "");
  EXPECT_EQ(table[1].integer("size"), 4);
  EXPECT_EQ(table[2].text("name"), "c\td");
  EXPECT_EQ(parse_error("a\tb\n\"1\"2\t3\n"), "t.csv:2: expected a tab or the end of the line after a closing quote");
  // Blanks, where commas or semicolons are.
  EXPECT_EQ(CsvTable::parse("a\t,\tb\n1\t,\t2\n", "t.csv")[0].text("b"), "2");
  EXPECT_EQ(parse_error("a|b\n1|2\n"),
            "t.csv:1: expected columns with commas, semicolons or tabs between them, found |");
  EXPECT_EQ(CsvTable::parse("a|b,c\n1,2\n", "t.csv")[0].text("a|b"), "1");
}

TEST(Csv, IteratesOverRows) {
  std::int64_t sum = 0;
  for (const CsvTable::Row row : CsvTable::parse("a\n1\n2\n3\n", "t.csv")) sum += row.integer("a");
  EXPECT_EQ(sum, 6);
  EXPECT_TRUE(CsvTable::parse("a,b\n", "t.csv").empty());
}

TEST(Csv, SaysWhatIsMalformed) {
  EXPECT_EQ(parse_error(""), "t.csv: expected a line that names the columns, found none");
  EXPECT_EQ(parse_error("# only\n"), "t.csv: expected a line that names the columns, found none");
  EXPECT_EQ(parse_error("\na,b,a\n"), "t.csv:2: expected each column once, found 'a' twice");
  EXPECT_EQ(parse_error("a,,b\n"), "t.csv:1: expected a name for column 2, found none");
  std::string wide = "c0";
  for (int column = 1; column <= 1024; ++column) wide += ",c" + std::to_string(column);
  EXPECT_EQ(parse_error(wide + "\n"), "t.csv:1: expected at most 1024 columns, found 1025");
  EXPECT_EQ(parse_error("a,b\n1,2\n3\n"), "t.csv:3: expected 2 fields (a, b), found 1");
  EXPECT_EQ(parse_error("a\n\"1\n2\n"), "t.csv:2: expected a closing quote for the field that starts here");
  EXPECT_EQ(parse_error("a\n\"1\"2\n"), "t.csv:2: expected a comma or the end of the line after a closing quote");
  EXPECT_EQ(parse_error("a\n1\"2\"\n"), "t.csv:2: expected quotes around the whole field, found one inside it");
}

TEST(Csv, SaysWhichFieldIsWrong) {
  const CsvTable table = CsvTable::parse("a,b\nx,1.5\n,99999999999999999999\n", "t.csv");
  EXPECT_EQ(error_from([&] { return table[0].integer("a"); }), "t.csv:2: column 'a': expected an integer, got 'x'");
  EXPECT_EQ(error_from([&] { return table[0].integer("b", 1); }),
            "t.csv:2: column 'b': expected an integer of at least 1, got '1.5'");
  EXPECT_EQ(error_from([&] { return table[1].integer("b", 1, 9); }),
            "t.csv:3: column 'b': expected an integer from 1 to 9, got '99999999999999999999'");
  EXPECT_EQ(error_from([&] { return table[0].number("a"); }), "t.csv:2: column 'a': expected a number, got 'x'");
  EXPECT_EQ(error_from([&] { return table[1].number("a"); }), "t.csv:3: column 'a': expected a number, got ''");
  EXPECT_EQ(error_from([&] { return table[0].boolean("a"); }), "t.csv:2: column 'a': expected yes or no, got 'x'");
  EXPECT_EQ(error_from([&] { return table[1].required("a"); }), "t.csv:3: column 'a': expected a text, got ''");
  EXPECT_EQ(error_from([&] { return table[0].text("c"); }), "t.csv:1: expected a column 'c', found a, b");
  EXPECT_EQ(error_from([&] { table.expect_columns({"a", "b", "c"}); }), "t.csv:1: expected a column 'c', found a, b");
  EXPECT_EQ(error_from([&] { table.expect_columns({"b"}); }), "t.csv:1: expected columns b, found 'a'");
  EXPECT_NO_THROW(table.expect_columns({"b", "a"}));
  EXPECT_EQ(error_from([] { return CsvTable::parse("a\nnan\ninf\n", "t.csv")[0].number("a"); }),
            "t.csv:2: column 'a': expected a number, got 'nan'");
}

TEST(Csv, SaysThatAFileCannotBeRead) {
  EXPECT_EQ(error_from([] { CsvTable::read("/nowhere/t.csv"); }),
            "/nowhere/t.csv: expected a CSV file, got no such file");
  EXPECT_EQ(error_from([] { CsvTable::read("/"); }), "/: expected a CSV file, got a folder");
}

TEST(FormatError, KnowsItsPlace) {
  try {
    CsvTable::parse("a\n1,2\n", "t.csv");
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.file(), "t.csv");
    EXPECT_EQ(error.line(), 2);
  }
}

TEST(DataPath, PrefersTheUsersDirectory) {
  namespace fs = std::filesystem;
  const fs::path user = fs::path(testing::TempDir()) / ("weft_data_" + std::to_string(getpid()));
  fs::create_directories(user / "models");
  std::ofstream(user / "models" / "mine.csv") << "name\n";
  setenv("WEFT_DATA", user.c_str(), 1);
  EXPECT_EQ(find_data("models/mine.csv"), user / "models" / "mine.csv");
  // What the user does not replace comes from where it is built.
  EXPECT_TRUE(fs::exists(find_data("models/transformers.csv")));
  const std::string message = error_from([] { static_cast<void>(find_data("no/such.csv")); });
  EXPECT_TRUE(message.starts_with("cannot find no/such.csv, looked in " + user.string() + ", ")) << message;
  EXPECT_TRUE(message.ends_with("; set WEFT_DATA to the directory that holds it")) << message;
  unsetenv("WEFT_DATA");
  EXPECT_ANY_THROW(static_cast<void>(find_data("models/mine.csv")));
  fs::remove_all(user);
}

const nlohmann::json kResult = nlohmann::json::parse(R"({
  "step": {"time_us": 12.5, "name": "x"},
  "rows": [
    {"op": "all_reduce", "bytes": 1024, "time_us": 1.5, "inplace": true},
    {"op": "all_reduce", "bytes": 2048, "time_us": 2.5},
    {"op": "all_gather", "bytes": 1024, "time_us": 3.5, "factor": 0.5}
  ],
  "links": {"leaf0.up[1]": {"utilisation": 0.25}},
  "matrix": [[1, 2], [3, 4]],
  "nothing": null
})");

TEST(JsonPath, FollowsMembersAndElements) {
  EXPECT_EQ(resolve_number(kResult, "step.time_us"), 12.5);
  EXPECT_EQ(resolve_number(kResult, "rows[1].time_us"), 2.5);
  EXPECT_EQ(resolve_number(kResult, "rows[-1].time_us"), 3.5);
  EXPECT_EQ(resolve_number(kResult, "rows[bytes=2048].time_us"), 2.5);
  EXPECT_EQ(resolve_number(kResult, "rows[op=all_gather].bytes"), 1024);
  EXPECT_EQ(resolve_number(kResult, "rows[op=all_reduce,bytes=1024].time_us"), 1.5);
  EXPECT_EQ(resolve_number(kResult, "rows[op=\"all_gather\",bytes=1024].time_us"), 3.5);
  EXPECT_EQ(resolve_number(kResult, "rows[inplace=true].time_us"), 1.5);
  EXPECT_EQ(resolve_number(kResult, "rows[factor=5e-1].time_us"), 3.5);
  EXPECT_EQ(resolve_number(kResult, "links[\"leaf0.up[1]\"].utilisation"), 0.25);
  EXPECT_EQ(resolve_number(kResult, "matrix[1][0]"), 3);
  EXPECT_EQ(resolve(kResult, "step.name"), "x");
}

TEST(JsonPath, SaysWhereItCannotGoOn) {
  const auto path_error = [](const char* path) { return error_from([&] { resolve_number(kResult, path); }); };
  EXPECT_EQ(path_error("step.speed"), "step.speed: no 'speed' in 'step', which has name, time_us");
  EXPECT_EQ(path_error("stop"), "stop: no 'stop' in the result, which has links, matrix, nothing, rows, step");
  EXPECT_EQ(path_error("rows.time_us"), "rows.time_us: expected an object to take 'time_us' from, 'rows' is an array");
  EXPECT_EQ(path_error("nothing.x"), "nothing.x: expected an object to take 'x' from, 'nothing' is null");
  EXPECT_EQ(path_error("step[0]"), "step[0]: expected an array, 'step' is an object");
  EXPECT_EQ(path_error("step.time_us[0]"), "step.time_us[0]: expected an array, 'step.time_us' is a number");
  EXPECT_EQ(path_error("rows[3].bytes"), "rows[3].bytes: no element [3] in 'rows', which has 3 elements");
  EXPECT_EQ(path_error("rows[-4].bytes"), "rows[-4].bytes: no element [-4] in 'rows', which has 3 elements");
  EXPECT_EQ(path_error("rows[bytes=7].time_us"),
            "rows[bytes=7].time_us: no element of 'rows' has bytes=7; bytes is 1024, 2048, 1024");
  EXPECT_EQ(path_error("rows[size=7]"), "rows[size=7]: no element of 'rows' has size=7; size is nothing");
  EXPECT_EQ(path_error("rows[bytes=1024].time_us"),
            "rows[bytes=1024].time_us: several elements of 'rows' have bytes=1024");
  EXPECT_EQ(path_error("step.name"), "step.name: expected a number, got \"x\"");
}

TEST(JsonPath, SaysWhatIsMalformed) {
  const auto path_error = [](const char* path) { return error_from([&] { resolve(kResult, path); }); };
  EXPECT_EQ(path_error(""), ": expected a path such as step.time_us, got none");
  EXPECT_EQ(path_error("step..x"), "step..x: expected a name at character 6");
  EXPECT_EQ(path_error("step."), "step.: expected a name at character 6");
  EXPECT_EQ(path_error("rows[0]x"), "rows[0]x: expected '.' or '[' at character 8");
  EXPECT_EQ(path_error("rows[0"), "rows[0: expected an index, name=value or \"name\" in brackets");
  EXPECT_EQ(path_error("rows[one]"), "rows[one]: expected an index, name=value or \"name\" in brackets, got 'one'");
  EXPECT_EQ(path_error("rows[bytes=1024"), "rows[bytes=1024: expected ']' at character 16");
  EXPECT_EQ(path_error("links[\"leaf"), "links[\"leaf: expected a closing quote");
}

}  // namespace
}  // namespace weft::traces
