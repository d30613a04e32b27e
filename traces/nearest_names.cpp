// SPDX-License-Identifier: Apache-2.0
#include "traces/nearest_names.h"

#include <algorithm>
#include <cctype>

namespace weft::traces {
namespace {

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

/// As people ask for it: in small letters, without the backslash of an escaped name, and without indices at its end.
std::string plain_name(std::string_view text) {
  std::string plain = small_letters(text);
  plain.erase(std::remove(plain.begin(), plain.end(), '\\'), plain.end());
  plain.erase(plain.find_last_not_of(' ') + 1);
  while (plain.ends_with(']') || plain.ends_with(')')) {
    const std::size_t open = plain.rfind(plain.back() == ']' ? '[' : '(');
    if (open == std::string::npos || open == 0) break;
    plain.resize(open);
  }
  return plain;
}

std::string_view leaf_of(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

/// Whether one is the other with letters left out, as "clk" of "clock".
bool abbreviates(std::string_view a, std::string_view b) {
  constexpr std::size_t kShortest = 3;
  if (a.size() > b.size()) std::swap(a, b);
  if (a.size() < kShortest || b.size() > 2 * a.size() || a.front() != b.front()) return false;
  std::size_t found = 0;
  for (const char letter : b) found += found < a.size() && a[found] == letter ? 1 : 0;
  return found == a.size();
}

/// Whether it begins as `word` does, but for a slip: "llama3-8b" as "lama3".
bool begins_like(std::string_view name, std::string_view word) {
  constexpr std::size_t kShortest = 5;
  if (word.size() < kShortest || name.size() <= word.size() + 1) return false;
  for (std::size_t size = word.size() - 1; size <= word.size() + 1; ++size) {
    if (edit_distance(name.substr(0, size), word, 1) <= 1) return true;
  }
  return false;
}

}  // namespace

std::string without_numbers(std::string_view text) {
  std::string kind;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      kind += c;
    } else if (kind.empty() || kind.back() != '*') {
      kind += '*';
    }
  }
  return kind;
}

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<std::size_t> row(a.size() + 1);
  for (std::size_t i = 0; i <= a.size(); ++i) row[i] = i;
  for (std::size_t j = 1; j <= b.size(); ++j) {
    std::size_t diagonal = row[0];
    row[0] = j;
    std::size_t least = row[0];
    for (std::size_t i = 1; i <= a.size(); ++i) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({row[i] + 1, row[i - 1] + 1, replaced});
      least = std::min(least, row[i]);
    }
    if (least > limit) return limit + 1;
  }
  return std::min(row.back(), limit + 1);
}

NearestNames::NearestNames(std::string_view wanted, std::size_t most)
    : wanted_(small_letters(wanted)), plain_(plain_name(wanted)), leaf_(leaf_of(plain_)), most_(most) {}

void NearestNames::look_at(std::string_view name) {
  constexpr std::size_t kFarthestScope = 40;
  constexpr std::size_t kIndices = 16;  // by which names differ that are alike otherwise
  const std::string plain = plain_name(name);
  const bool same_leaf = leaf_of(plain) == leaf_;
  // Half of a short word changed is another word.
  const std::size_t slips = std::min(std::max<std::size_t>(1, leaf_.size() / 3), leaf_.size() / 2);
  const bool is_short = !same_leaf && abbreviates(leaf_of(plain), leaf_);
  const bool like_leaf = !same_leaf && (is_short || edit_distance(leaf_of(plain), leaf_, slips) <= slips);
  std::size_t limit = same_leaf ? kFarthestScope : like_leaf ? std::max<std::size_t>(slips, plain_.size() / 3) : slips;
  if (is_short) limit = std::max(limit, std::max(plain.size(), plain_.size()) - std::min(plain.size(), plain_.size()));
  if (found_.size() == most_) limit = std::min(limit, distances_.back() / kIndices);
  std::size_t distance = edit_distance(plain, plain_, limit);
  if (distance > limit) {
    if (found_.size() == most_ || !(same_leaf || begins_like(leaf_of(plain), leaf_))) return;
    distance = kFarthestScope;
  }
  if (std::find(found_.begin(), found_.end(), name) != found_.end()) return;
  distance = distance * kIndices + edit_distance(small_letters(name), wanted_, kIndices - 2);
  const auto at = std::upper_bound(distances_.begin(), distances_.end(), distance) - distances_.begin();
  if (static_cast<std::size_t>(at) == most_) return;
  distances_.insert(distances_.begin() + at, distance);
  found_.insert(found_.begin() + at, std::string(name));
  if (found_.size() <= most_) return;
  found_.pop_back();
  distances_.pop_back();
}

std::string NearestNames::question() const {
  if (found_.empty()) return "";
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (i > 0) text += i + 1 == found_.size() ? " or " : ", ";
    text += '"' + found_[i] + '"';
  }
  return text + "?";
}

}  // namespace weft::traces
