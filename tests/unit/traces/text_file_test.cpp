// SPDX-License-Identifier: Apache-2.0
#include "traces/files/text_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/vcd.h"
#include "traces/files/format_error.h"
#include "traces/files/temporary.h"
#include "traces/json/json_text.h"

namespace weft::traces {
namespace {

class TextFiles : public test::VcdTest {
 protected:
  std::string got(const std::string& text) const { return load_text(write("t", text)).got; }
};

TEST_F(TextFiles, AreReadWhole) {
  const std::string text = "one\ntwo, \xc3\xa9\n";
  EXPECT_EQ(load_text(write("t", text)).text, text);
  EXPECT_EQ(load_text(write("t", text)).got, "");
  EXPECT_EQ(load_text(write("t", "\xef\xbb\xbf" + text)).text, text);  // a byte order mark
  EXPECT_EQ(read_text(write("t", ""), "a table"), "");
}

TEST_F(TextFiles, SayWhyThereIsNone) {
  EXPECT_EQ(load_text(folder_ / "absent").got, "no such file");
  EXPECT_EQ(load_text(folder_).got, "a folder");
  EXPECT_EQ(load_text(write("t", "12345"), is_text, 4).got, "more than 4 bytes");
  EXPECT_EQ(load_text("/dev/zero").got, "a zero byte");
  const TextFile latin = load_text(write("t", "one\ncaf\xe9\n"));
  EXPECT_EQ(latin.got, "the byte 0xe9, which is not UTF-8");
  EXPECT_EQ(latin.line, 2);
  try {
    read_text(write("t", std::string("a\n\0b", 4)), "a table");
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(std::string(error.what()), (folder_ / "t").string() + ":2: expected a table, got a zero byte");
  }
}

TEST(Utf8, IsWhatUnicodeSays) {
  const auto is_text = [](const std::string& text) { return find_not_utf8(text) == std::string::npos; };
  for (const char* text : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_text(text)) << printable(text);
  }
  // Begun, continued, overlong, half of a pair, and beyond the last character.
  for (const char* text : {"\xc3", "\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"}) {
    EXPECT_FALSE(is_text(text)) << printable(text);
  }
  EXPECT_EQ(find_not_utf8("ab\xc3\xa9\xff"), 4);
}

TEST(Printable, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(printable("a\tb\n\xc3\xa9"), "a\tb\n\xc3\xa9");
  EXPECT_EQ(printable("\x1b[31m\x07\r"), "\\x1b[31m\\x07\\x0d");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m\x7f\xff"),
            "\\xc2\\x9b31m\\x7f\\xff");
  // What turns the direction of text, and what breaks lines in Unicode alone.
  EXPECT_EQ(printable("a\u202eb\u2066c\u200fd\u061ce\u2028f"),
            "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c\\xe2\\x80\\x8fd\\xd8\\x9ce\\xe2\\x80\\xa8f");
  EXPECT_EQ(printable("\u2010\u2070\u03c0"), "\u2010\u2070\u03c0");
}

TEST(OneLine, IsShortAndWhole) {
  using namespace std::string_literals;
  EXPECT_EQ(one_line("conv1"), "conv1");
  EXPECT_EQ(one_line("a\nb\tc\0d\u202e"s), "a\\nb\\tc\\x00d\\xe2\\x80\\xae");
  EXPECT_EQ(one_line(std::string(200'000, 'x')), std::string(80, 'x') + "...");
  EXPECT_EQ(one_line("abc\u20acd", 3), "abc...");
  // No character is cut.
  for (const std::size_t most : {4U, 5U}) EXPECT_EQ(one_line("abc\u20acd", most), "abc...");
  EXPECT_EQ(one_line("abc\u20acd", 6), "abc\u20ac...");
}

TEST(JsonText, SaysWhatIsWrongAndWhere) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_json(text);
      return "";
    } catch (const JsonError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(parse_json(R"({"a": [1, {"b": -2.5}, null, "x"], "c": {}})").dump(),
            R"({"a":[1,{"b":-2.5},null,"x"],"c":{}})");
  EXPECT_EQ(parse_json("7").dump(), "7");
  EXPECT_EQ(error_of(R"({"a": [{"b": 1}, {"b": {"c": 1, "d": 2, "c": 3}}]})"),
            "a.b.c: expected each key once, got \"c\" twice");
  EXPECT_EQ(error_of(R"({"a": {"b": 1e999}})"), "a.b: expected JSON, got number overflow parsing '1e999'");
  EXPECT_TRUE(error_of("{\n\"a\": }").starts_with("line 2, column 6: expected JSON, got a syntax error"))
      << error_of("{\n\"a\": }");
  EXPECT_TRUE(error_of("{\n\"a\": 1 // one\n}").starts_with("line 2, column 8: expected JSON, got a syntax error"))
      << error_of("{\n\"a\": 1 // one\n}");
  EXPECT_EQ(parse_own_json("{\n\"a\": 1 // one\n}").dump(), R"({"a":1})");
  EXPECT_EQ(parse_own_json(R"({"$schema": "x", "a": "/* no comment */"})").dump(), R"({"a":"/* no comment */"})");
}

class Temporaries : public test::VcdTest {};

TEST_F(Temporaries, AreGoneWithTheirOwner) {
  const auto kept = folder_ / "kept";
  {
    const Temporary folder = Temporary::make_folder(folder_);
    EXPECT_EQ(std::filesystem::status(folder.path()).permissions(), std::filesystem::perms::owner_all);
    std::ofstream(folder.path() / "a") << "a";
    Temporary file(kept, Temporary::Kind::kFile);
    std::ofstream(kept) << "b";
    file.keep();
  }
  EXPECT_TRUE(std::filesystem::exists(kept));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

/// As a signal's handler does.
TEST_F(Temporaries, CanAllBeRemovedAtOnce) {
  const auto outside = folder_ / "outside";
  std::ofstream(outside) << "stays";
  const Temporary outer(folder_ / "outer", Temporary::Kind::kFolderIfEmpty);
  const Temporary inner(folder_ / "outer" / "inner", Temporary::Kind::kFolderIfEmpty);
  std::filesystem::create_directories(inner.path());
  const Temporary folder = Temporary::make_folder(inner.path());
  for (int i = 0; i < 200; ++i) std::ofstream(folder.path() / ("file-" + std::to_string(i))) << i;
  std::filesystem::create_directories(folder.path() / "a" / "b");
  std::ofstream(folder.path() / "a" / "b" / "c") << "c";
  std::filesystem::create_symlink(folder_, folder.path() / "link");
  const Temporary file(folder_ / "file", Temporary::Kind::kFile);
  std::ofstream(file.path()) << "d";
  const Temporary used(folder_ / "used", Temporary::Kind::kFolderIfEmpty);
  std::filesystem::create_directories(used.path() / "by somebody");
  remove_temporaries();
  EXPECT_TRUE(std::filesystem::exists(outside));
  EXPECT_TRUE(std::filesystem::exists(used.path() / "by somebody"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

}  // namespace
}  // namespace weft::traces
