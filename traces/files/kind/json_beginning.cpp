// SPDX-License-Identifier: Apache-2.0
#include "traces/files/kind/json_beginning.h"

#include "traces/files/comment.h"
#include "traces/files/kind/file_kind.h"

namespace weft::traces {
namespace {

constexpr std::size_t kMostMembers = 100;

/// Walks through the text without taking it for right.
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  JsonBeginning run() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '{' || c == '[') {
        open(c);
      } else if (c == '}' || c == ']') {
        if (!brackets_.empty()) brackets_.pop_back();
      } else if (c == '"') {
        string();
      } else if (c == '/') {
        at_ = end_of_comment(text_, at_);
      } else if (brackets_.size() == 1 && brackets_[0] == '{' && c != ',' && c != ':' &&
                 static_cast<unsigned char>(c) > ' ') {
        begun_.has_lists_of_numbers = false;
      }
    }
    begun_.has_lists_of_numbers = begun_.has_lists_of_numbers && !begun_.members.empty();
    return std::move(begun_);
  }

 private:
  void open(char c) {
    if (brackets_.empty()) {
      if (++begun_.documents == 1) begun_.is_list = c == '[';
    } else if (c == '{') {
      begun_.has_lists_of_numbers = false;
    }
    brackets_.push_back(c);
  }

  void string() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return;
    const std::string_view value = text_.substr(begin, at_ - begin);
    const std::string_view behind = without_comments(text_.substr(at_ + 1));
    const bool is_key = behind.starts_with(':') && !brackets_.empty() && brackets_.back() == '{';
    if (!is_key) {
      begun_.has_lists_of_numbers = false;
      return;
    }
    if (begun_.documents != 1) return;
    if (brackets_.size() == (begun_.is_list ? 2U : 1U)) {
      add(begun_.members, value);
    } else {
      begun_.has_objects_within = true;
    }
  }

  static void add(std::vector<std::string>& members, std::string_view name) {
    if (members.size() >= kMostMembers || std::find(members.begin(), members.end(), name) != members.end()) return;
    members.emplace_back(name);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string brackets_;  ///< those that are open
  JsonBeginning begun_;
};

}  // namespace

JsonBeginning json_beginning(std::string_view text) {
  return Scan(text).run();
}

}  // namespace weft::traces
