// SPDX-License-Identifier: Apache-2.0
// Declarations and identifier codes.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "traces/vcd/reader.h"

namespace weft::vcd {
namespace {

constexpr std::size_t kMostShortCodes = 1U << 22;
constexpr int kWidest = 1 << 26;

/// Codes are of the characters ! to ~. As a number of base 94 without a zero, which keeps !, !! and !!! apart; nothing
/// for those that are long or have other characters.
std::optional<std::size_t> code_number(std::string_view code) {
  std::size_t number = 0;
  for (const char c : code) {
    if (c < '!' || c > '~') return std::nullopt;
    number = number * 94 + static_cast<std::size_t>(c - '!') + 1;
    if (number >= kMostShortCodes) return std::nullopt;
  }
  return number;
}

bool parse_int(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// Bits of "[7:0]"; nothing if it is no range of two.
std::optional<std::int64_t> bits_of_range(std::string_view range) {
  if (!range.starts_with('[') || !range.ends_with(']')) return std::nullopt;
  const std::size_t colon = range.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  int left = 0;
  int right = 0;
  if (!parse_int(range.substr(1, colon - 1), left)) return std::nullopt;
  if (!parse_int(range.substr(colon + 1, range.size() - colon - 2), right)) return std::nullopt;
  return std::abs(std::int64_t{left} - right) + 1;
}

SignalKind kind_of(std::string_view type) {
  if (type == "event") return SignalKind::kEvent;
  if (type == "string") return SignalKind::kString;
  if (type == "real" || type == "realtime" || type == "shortreal" || type == "real_parameter") return SignalKind::kReal;
  return SignalKind::kBits;
}

}  // namespace

std::uint32_t Reader::net_of(std::string_view code) const {
  const auto number = code_number(code);
  if (number) {
    if (*number < short_codes_.size() && short_codes_[*number] != 0) return short_codes_[*number] - 1;
  } else if (const auto known = long_codes_.find(std::string(code)); known != long_codes_.end()) {
    return known->second;
  }
  fail("an identifier code that a $var declares", code);
}

std::uint32_t Reader::declare(std::string_view code) {
  const auto next = static_cast<std::uint32_t>(header_.nets());
  const auto number = code_number(code);
  if (!number) return long_codes_.try_emplace(std::string(code), next).first->second;
  if (*number >= short_codes_.size()) short_codes_.resize(std::max(*number + 1, 2 * short_codes_.size()));
  std::uint32_t& known = short_codes_[*number];
  if (known == 0) known = next + 1;
  return known - 1;
}

std::string Reader::section(std::string_view keyword) {
  const std::string missing = "$end of " + std::string(keyword);
  std::string text;
  for (;;) {
    const std::string_view got = expect_word(missing.c_str());
    if (got == "$end") return text;
    if (!text.empty()) text += ' ';
    text += got;
  }
}

void Reader::skip_section(std::string_view keyword) {
  const std::string missing = "$end of " + std::string(keyword);
  while (expect_word(missing.c_str()) != "$end") {
  }
}

void Reader::read_header() {
  for (;;) {
    const std::string keyword(expect_word("$enddefinitions"));
    if (keyword == "$enddefinitions") {
      skip_section(keyword);
      break;
    }
    if (!keyword.starts_with('$') || keyword == "$end") fail("a keyword such as $var or $enddefinitions", keyword);
    if (keyword == "$date") {
      header_.date = section(keyword);
    } else if (keyword == "$version") {
      header_.version = section(keyword);
    } else if (keyword == "$timescale") {
      read_timescale();
    } else if (keyword == "$scope") {
      read_scope();
    } else if (keyword == "$upscope") {
      if (scopes_.empty()) fail("a $scope before $upscope", keyword);
      scopes_.pop_back();
      skip_section(keyword);
    } else if (keyword == "$var") {
      read_variable();
    } else if (keyword.starts_with("$dump")) {
      fail("$enddefinitions before values", keyword);
    } else {
      skip_section(keyword);
    }
  }
}

void Reader::read_timescale() {
  const std::string text = section("$timescale");
  header_.given_timescale = parse_timescale(text);
  if (!header_.given_timescale)
    fail("a timescale of 1, 10 or 100 and s, ms, us, ns, ps or fs", text.empty() ? "$end" : text);
}

void Reader::read_scope() {
  // A kind and a name; what has no name gives no level to names, but is closed by its $upscope.
  std::string text = section("$scope");
  const std::size_t blank = text.find(' ');
  if (text.empty()) fail("a kind and a name after $scope", "$end");
  std::string name = blank == std::string::npos ? "" : text.substr(blank + 1);
  if (name.starts_with('\\')) name.erase(0, 1);
  scopes_.push_back(std::move(name));
}

void Reader::read_variable() {
  Signal signal;
  signal.type = expect_word("the type of a $var");
  signal.kind = kind_of(signal.type);
  const std::string width(expect_word("the width of a $var"));
  const bool has_bits = signal.kind == SignalKind::kBits;
  if (!parse_int(width, signal.width) || signal.width < (has_bits ? 1 : 0) || signal.width > kWidest) {
    fail("a width of 1 to " + std::to_string(kWidest) + " bits", width);
  }
  const std::string code(expect_word("the identifier code of a $var"));
  std::vector<std::string> words;
  for (;;) {
    const std::string_view got = expect_word("$end of $var");
    if (got == "$end") break;
    words.emplace_back(got);
  }
  if (code == "$end" || words.empty()) fail("a type, a width, an identifier code and a name in $var", "$end");
  set_name(signal, std::move(words));
  signal.net = declare(code);
  if (signal.net == header_.nets()) {
    header_.net_first.push_back(static_cast<std::uint32_t>(header_.signals.size()));
  } else {
    const Signal& first = header_.signal_of(signal.net);
    if (first.kind != signal.kind || (has_bits && first.width != signal.width)) {
      fail(std::to_string(first.width) + " bits as " + first.name + " has, by the same identifier code", width);
    }
  }
  header_.signals.push_back(std::move(signal));
}

/// A range may follow the name with or without a blank; one bit of a vector, [3], belongs to the name, which it tells
/// apart. Escaped names keep what looks like a range.
void Reader::set_name(Signal& signal, std::vector<std::string> words) const {
  const bool escaped = words.front().starts_with('\\');
  if (words.size() > 1 && bits_of_range(words.back())) {
    signal.range = std::move(words.back());
    words.pop_back();
  }
  std::string name;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && !words[i].starts_with('[')) name += ' ';
    name += words[i];
  }
  if (escaped && name.size() > 1) name.erase(0, 1);
  if (signal.range.empty() && !escaped && name.ends_with(']')) {
    const std::size_t open = name.rfind('[');
    if (open != std::string::npos && open > 0 && bits_of_range(std::string_view(name).substr(open)) == signal.width) {
      signal.range = name.substr(open);
      name.resize(open);
    }
  }
  for (const std::string& scope : scopes_) {
    if (!scope.empty()) signal.name += scope + '.';
  }
  signal.name += name;
}

}  // namespace weft::vcd
