// SPDX-License-Identifier: Apache-2.0
// Golden values in the text of a case, whose comments and layout are the user's.
#include <algorithm>
#include <string_view>

#include "platforms/regress/case_file.h"

namespace weft::regress {
namespace {

/// The members of the outermost object, in text that is known to be JSON with comments.
class Members {
 public:
  explicit Members(std::string_view text) : text_(text) {
    skip_blanks();
    ++at_;  // the brace
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size() || text_[at_] == '}') return;
      const std::size_t key = at_;
      skip_value();
      const bool is_golden = nlohmann::json::parse(text_.substr(key, at_ - key)) == kGolden;
      skip_blanks();
      ++at_;  // the colon
      skip_blanks();
      const std::size_t from = at_;
      skip_value();
      end_ = at_;
      if (is_golden) golden_ = {from, at_};
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
  }

  /// The value of `golden`, from and until; the same twice where there is none.
  [[nodiscard]] std::pair<std::size_t, std::size_t> golden() const { return golden_; }
  /// Behind the last value; 0 where there is no member.
  [[nodiscard]] std::size_t end() const { return end_; }

 private:
  [[nodiscard]] bool begins(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void skip_behind(std::string_view what) {
    at_ = std::min(text_.find(what, at_), text_.size() - what.size()) + what.size();
  }
  bool skip_comment() {
    if (begins("//")) {
      skip_behind("\n");
      return true;
    }
    if (!begins("/*")) return false;
    skip_behind("*/");
    return true;
  }
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (skip_comment()) continue;
      if (std::string_view(" \t\r\n").find(text_[at_]) == std::string_view::npos) return;
      ++at_;
    }
  }
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  void skip_value() {
    int depth = 0;
    while (at_ < text_.size()) {
      if (skip_comment()) continue;
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        if (depth == 0) return;
        continue;
      }
      const bool opens = c == '{' || c == '[';
      const bool closes = c == '}' || c == ']';
      if (depth == 0 && (closes || std::string_view(", \t\r\n:").find(c) != std::string_view::npos)) return;
      depth += opens ? 1 : closes ? -1 : 0;
      ++at_;
      if (closes && depth == 0) return;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::pair<std::size_t, std::size_t> golden_{0, 0};
};

/// How lines of the text end.
std::string line_end_of(const std::string& text) {
  const std::size_t first = text.find('\n');
  return first != std::string::npos && first > 0 && text[first - 1] == '\r' ? "\r\n" : "\n";
}

std::string indented(const nlohmann::ordered_json& golden, const std::string& line_end) {
  std::string text;
  for (const char c : golden.dump(2)) text += c == '\n' ? line_end + "  " : std::string(1, c);
  return text;
}

/// Where a member can follow the last one: behind the comment on its line, if that ends with it.
std::size_t behind_line(const std::string& text, std::size_t at) {
  std::size_t line_end = std::min(text.find('\n', at), text.size());
  if (line_end > at && text[line_end - 1] == '\r') --line_end;
  const std::string_view rest = std::string_view(text).substr(at, line_end - at);
  const std::size_t first = rest.find_first_not_of(" \t");
  return first == std::string_view::npos || rest.substr(first).starts_with("//") ? line_end : at;
}

}  // namespace

std::string with_golden(const std::string& text, const nlohmann::ordered_json& golden) {
  const Members members(text);
  const auto [from, until] = members.golden();
  const std::string line_end = line_end_of(text);
  std::string changed = text;
  if (until > from) return changed.replace(from, until - from, indented(golden, line_end));
  const std::size_t behind = behind_line(text, members.end());
  const bool ends_line = text.compare(behind, line_end.size(), line_end) == 0;
  changed.insert(behind, line_end + "  \"" + std::string(kGolden) + "\": " + indented(golden, line_end) +
                             (ends_line ? "" : line_end));
  changed.insert(members.end(), ",");
  return changed;
}

}  // namespace weft::regress
