// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/json/text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::chakra {
namespace {

bool is_layout(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Where a text goes on after what it begins with.
void advance(std::string_view text, std::uint64_t& line, std::uint64_t& column) {
  line += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  const std::size_t last = text.rfind('\n');
  column = last == std::string_view::npos ? column + text.size() : text.size() - last;
}

}  // namespace

bool JsonText::has(std::size_t index) {
  while (index >= buffer_.size()) {
    const std::size_t held = buffer_.size();
    buffer_.resize(held + kChunk);
    buffer_.resize(held + file_.read(buffer_.data() + held, kChunk));
    if (buffer_.size() == held) return false;
  }
  return true;
}

void JsonText::skip(std::size_t count) {
  advance(std::string_view(buffer_).substr(at_, count), line_, column_);
  at_ += count;
}

char JsonText::peek() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  // What is taken makes room, unless little is.
  if (at_ >= kChunk) {
    buffer_.erase(0, at_);
    before_ += at_;
    at_ = 0;
  }
  if (before_ == 0 && at_ == 0 && has(2) && std::string_view(buffer_).starts_with(kByteOrderMark)) at_ = 3;
  std::size_t next = at_;
  while (has(next) && is_layout(buffer_[next])) ++next;
  skip(next - at_);
  return has(at_) ? buffer_[at_] : '\0';
}

bool JsonText::take(char c) {
  if (peek() != c) return false;
  skip(1);
  return true;
}

void JsonText::expect(char c, const std::string& what) {
  if (!take(c)) fail("expected " + what);
}

std::string JsonText::key() {
  if (peek() != '"') fail("expected the name of a member in quotes");
  value();
  std::string name = parse().get<std::string>();
  expect(':', "':' after the name of a member");
  return name;
}

std::size_t JsonText::end_of_string(std::size_t begin) {
  std::size_t at = begin + 1;
  while (has(at) && buffer_[at] != '"') {
    if (at - begin > kLongest) fail("expected a string of at most 256 MiB");
    at += buffer_[at] == '\\' ? 2 : 1;
  }
  return at + 1;
}

std::size_t JsonText::end_of_value() {
  std::size_t at = at_;
  std::size_t depth = 0;
  do {
    if (!has(at)) return buffer_.size();
    const char c = buffer_[at];
    if (c == '"') {
      at = end_of_string(at);
      continue;
    }
    if (c == '{' || c == '[') {
      if (++depth > kDeepest) fail("expected at most " + std::to_string(kDeepest) + " brackets within each other");
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      --depth;
    } else if (depth == 0) {
      // A number or a word ends where something else begins.
      while (has(at) && !is_layout(buffer_[at]) &&
             std::string_view(",:{}[]\"").find(buffer_[at]) == std::string_view::npos)
        ++at;
      return std::max(at, at_ + 1);
    }
    ++at;
    if (at - at_ > kLongest) fail("expected a value of at most 256 MiB");
  } while (depth > 0);
  return at;
}

std::string_view JsonText::value() {
  if (peek() == '\0') fail("expected a value, got the end of the file");
  value_at_ = before_ + at_;
  value_line_ = line_;
  value_column_ = column_;
  const std::size_t wanted = end_of_value();
  const std::size_t end = std::min(wanted, buffer_.size());
  if (end == at_) fail("expected a value");
  const std::size_t begin = at_;
  skip(end - at_);
  value_ = std::string_view(buffer_).substr(begin, end - begin);
  return value_;
}

nlohmann::json JsonText::parse() const {
  try {
    return nlohmann::json::parse(value_);
  } catch (const nlohmann::json::parse_error& error) {
    std::uint64_t line = value_line_;
    std::uint64_t column = value_column_;
    advance(value_.substr(0, error.byte == 0 ? 0 : error.byte - 1), line, column);
    // nlohmann's texts begin with the error's id and a place within the value.
    const std::string text = error.what();
    const std::size_t place = text.find("column ");
    const std::size_t begin = place == std::string::npos ? std::string::npos : text.find(": ", place);
    fail_at(line, column, begin == std::string::npos ? text : text.substr(begin + 2));
  }
}

void JsonText::fail(const std::string& message) const {
  const char next = at_ < buffer_.size() ? buffer_[at_] : '\0';
  fail_at(line_, column_,
          message.find(", got ") != std::string::npos ? message
          : next == '\0'                              ? message + ", got the end of the file"
          : next >= ' ' && next <= '~'                ? message + ", got '" + next + "'"
                                                      : message);
}

void JsonText::fail_at(std::uint64_t line, std::uint64_t column, const std::string& message) const {
  throw traces::FormatError(
      file_.name(), 0,
      "parse error at line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + message);
}

}  // namespace weft::chakra
