// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/json/stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "traces/files/kind/file_kind.h"
#include "traces/json/json_text.h"

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

bool JsonStream::has(std::size_t index) {
  while (index >= buffer_.size()) {
    const std::size_t held = buffer_.size();
    buffer_.resize(held + kChunk);
    buffer_.resize(held + file_.read(buffer_.data() + held, kChunk));
    if (buffer_.size() == held) return false;
  }
  return true;
}

void JsonStream::skip(std::size_t count) {
  advance(std::string_view(buffer_).substr(at_, count), line_, column_);
  at_ += count;
}

bool JsonStream::at_end() {
  skip_blanks();
  return !has(at_);
}

char JsonStream::peek() {
  return at_end() ? '\0' : buffer_[at_];
}

void JsonStream::skip_blanks() {
  // What is taken makes room, unless little is.
  if (at_ >= kChunk) {
    buffer_.erase(0, at_);
    before_ += at_;
    at_ = 0;
  }
  constexpr std::size_t kMark = traces::kByteOrderMark.size();
  const bool begins = before_ == 0 && at_ == 0 && has(kMark - 1);
  if (begins && std::string_view(buffer_).starts_with(traces::kByteOrderMark)) at_ = kMark;
  std::size_t next = at_;
  while (has(next) && is_layout(buffer_[next])) ++next;
  skip(next - at_);
}

bool JsonStream::take(char c) {
  if (at_end() || buffer_[at_] != c) return false;
  skip(1);
  return true;
}

void JsonStream::expect(char c, const std::string& what) {
  if (!take(c)) fail("expected " + what);
}

void JsonStream::expect_end() {
  if (!at_end()) fail("expected the end of the file");
}

std::string JsonStream::key() {
  if (peek() != '"') fail("expected the name of a member in quotes");
  value();
  std::string name = parse().get<std::string>();
  expect(':', "':' after the name of a member");
  return name;
}

std::size_t JsonStream::end_of_string(std::size_t begin) {
  std::size_t at = begin + 1;
  while (has(at) && buffer_[at] != '"') {
    if (at - begin > kLongest) fail("expected a string of at most 256 MiB");
    at += buffer_[at] == '\\' ? 2 : 1;
  }
  return at + 1;
}

std::size_t JsonStream::end_of_value() {
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
      ++depth;
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

std::string_view JsonStream::value() {
  if (at_end()) fail("expected a value, got the end of the file");
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

nlohmann::json JsonStream::parse() const {
  try {
    return traces::parse_json(value_, {value_line_, value_column_});
  } catch (const traces::JsonError& error) {
    throw traces::FormatError(file_.name(), error.is_syntax() ? 0 : static_cast<int>(value_line_), error.what());
  }
}

void JsonStream::fail(const std::string& message) const {
  std::string text = "line " + std::to_string(line_) + ", column " + std::to_string(column_) + ": " + message;
  if (message.find(", got ") == std::string::npos) {
    const bool is_end = at_ >= buffer_.size();
    const char next = is_end ? '\0' : buffer_[at_];
    text += is_end                       ? ", got the end of the file"
            : next >= ' ' && next <= '~' ? std::string(", got '") + next + "'"
                                         : ", got the byte " + std::to_string(static_cast<unsigned char>(next));
  }
  throw traces::FormatError(file_.name(), 0, text);
}

}  // namespace weft::chakra
