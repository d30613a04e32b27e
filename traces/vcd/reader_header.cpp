// SPDX-License-Identifier: Apache-2.0
// Declarations and identifier codes.
#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "traces/files/kind/file_kind.h"
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

constexpr std::string_view kEnd = "$end";

/// A word with the $end that ends its section, without a blank between them.
bool has_end(std::string_view word) {
  return word.size() > kEnd.size() && word.ends_with(kEnd);
}

/// Codes that have a place whether they are declared or not, and how many more for each that is.
constexpr std::size_t kDenseCodes = 1 << 18;
constexpr std::size_t kSparse = 16;

std::string_view without_end(std::string_view word) {
  return word.substr(0, word.size() - kEnd.size());
}

SignalKind kind_of(std::string_view type) {
  if (type == "event") return SignalKind::kEvent;
  if (type == "string") return SignalKind::kString;
  if (type == "real" || type == "realtime" || type == "shortreal" || type == "real_parameter") return SignalKind::kReal;
  return SignalKind::kBits;
}

/// A range behind the name in one word and in brackets, whether it stands there with blanks, or as VHDL writes it.
std::vector<std::string> with_plain_range(const std::vector<std::string>& words, int width) {
  if (words.empty() || (words.back().ends_with(']') && words.back().find('[') != std::string::npos)) return words;
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  const std::optional<PlainRange> plain = plain_range(text);
  if (!plain || plain->begin == 0) return words;
  // In parentheses a single number is an index of anything; the only bit is one.
  const bool is_index = text.back() == ')' && plain->range.find(':') == std::string::npos;
  if (is_index && width != 1) return words;
  text.resize(plain->begin);
  text.erase(text.find_last_not_of(' ') + 1);
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t blank = std::min(text.find(' ', at), text.size());
    all.push_back(text.substr(at, blank - at));
    at = blank + 1;
  }
  all.push_back(plain->range);
  return all;
}

}  // namespace

std::uint32_t Reader::find_net(std::string_view code) const {
  const auto number = code_number(code);
  if (number && *number < short_codes_.size() && short_codes_[*number] != 0) return short_codes_[*number] - 1;
  if (long_codes_.empty()) return kNoNet;
  const auto known = long_codes_.find(std::string(code));
  return known != long_codes_.end() ? known->second : kNoNet;
}

std::uint32_t Reader::net_of(std::string_view code) {
  const std::uint32_t net = find_net(code);
  if (net == kNoNet) count(undeclared_, std::string(code.substr(0, 20)));
  return net;
}

std::uint32_t Reader::declare(std::string_view code) {
  if (const std::uint32_t known = find_net(code); known != kNoNet) return known;
  const auto next = static_cast<std::uint32_t>(header_.nets());
  const auto number = code_number(code);
  // Where codes are words, their numbers lie far apart.
  const std::size_t dense = kDenseCodes + kSparse * std::size_t{next};
  if (!number || *number >= dense) return long_codes_.emplace(code, next).first->second;
  if (*number >= short_codes_.size()) {
    short_codes_.resize(std::max<std::size_t>(*number + 1, std::min(dense, 2 * short_codes_.size())));
  }
  short_codes_[*number] = next + 1;
  return next;
}

std::string Reader::section(std::string_view keyword) {
  const std::string missing = "$end of " + std::string(keyword);
  std::string text;
  for (;;) {
    const std::string_view got = expect_word(missing.c_str());
    if (got == kEnd) return text;
    if (!text.empty()) text += ' ';
    text += has_end(got) ? without_end(got) : got;
    if (has_end(got)) return text;
  }
}

void Reader::skip_section(std::string_view keyword) {
  const std::string missing = "$end of " + std::string(keyword);
  for (;;) {
    const std::string_view got = expect_word(missing.c_str());
    if (got == kEnd || has_end(got)) return;
  }
}

void Reader::read_header() {
  fill();
  if (std::string_view(buffer_.data(), to_).starts_with(traces::kByteOrderMark)) {
    from_ = traces::kByteOrderMark.size();
  }
  for (;;) {
    const std::string_view got = expect_word("$enddefinitions");
    // Some writers go on with values at once.
    if (!header_.signals.empty() && (got.starts_with('#') || got.starts_with("$dump"))) {
      put_back(got);
      break;
    }
    // GTKWave's converter ends a scope without a name twice.
    if (got == kEnd && !scopes_.empty()) continue;
    if (!got.starts_with('$') || got == kEnd) fail("a keyword such as $var or $enddefinitions", got);
    const bool ended = has_end(got);
    const std::string keyword(ended ? without_end(got) : got);
    if (keyword == "$enddefinitions") {
      if (ended) break;
      const std::string_view end = word();
      if (end != kEnd) put_back(end);
      break;
    }
    if (keyword == "$upscope") {
      if (scopes_.empty()) {
        count(upscopes_, keyword);
      } else {
        scopes_.pop_back();
      }
    }
    if (ended) continue;
    if (keyword == "$date") {
      header_.date = section(keyword);
    } else if (keyword == "$version") {
      header_.version = section(keyword);
    } else if (keyword == "$timescale") {
      read_timescale();
    } else if (keyword == "$scope") {
      read_scope();
    } else if (keyword == "$var") {
      read_variable();
    } else if (keyword.starts_with("$dump")) {
      fail("$var and $enddefinitions before values", keyword);
    } else {
      skip_section(keyword);
    }
  }
  join_parts(header_, pieces_);
  pieces_ = {};
}

void Reader::read_timescale() {
  const std::string text = section("$timescale");
  if (text.empty()) return;
  header_.given_timescale = parse_timescale(text);
  if (!header_.given_timescale) fail("a timescale such as 1ns, 10 ps or 244 ns, in s, ms, us, ns, ps or fs", text);
}

void Reader::read_scope() {
  // A kind and a name; what has no name gives no level to names, but is closed by its $upscope.
  std::string text = section("$scope");
  const std::size_t blank = text.find(' ');
  if (text.empty()) fail("a kind and a name after $scope", kEnd);
  std::string name = blank == std::string::npos ? "" : text.substr(blank + 1);
  if (name.starts_with('\\')) name.erase(0, 1);
  Scope scope = scopes_.empty() ? Scope{} : scopes_.back();
  if (name.empty()) {
    scope.id = ++last_scope_;
  } else {
    const auto [known, is_new] = scope_ids_.try_emplace(std::to_string(scope.id) + ' ' + name, last_scope_ + 1);
    if (is_new) ++last_scope_;
    scope.id = known->second;
    scope.path += name + '.';
  }
  scopes_.push_back(std::move(scope));
}

void Reader::read_variable() {
  Signal signal;
  signal.type = expect_word("the type of a $var");
  signal.kind = kind_of(signal.type);
  const std::string width(expect_word("the width of a $var"));
  const bool has_bits = signal.kind == SignalKind::kBits;
  if (!parse_int(width, signal.width) || signal.width < 0 || signal.width > kWidest) {
    signal.width = 0;
    if (has_bits) signal.fault = SignalFault::kWidth;
  }
  const std::string code(expect_word("the identifier code of a $var"));
  if (code == kEnd) fail("a type, a width, an identifier code and a name in $var", kEnd);
  pieces_.push_back(set_name(signal, name_words()));
  signal.net = declare(code);
  if (signal.net == header_.nets()) {
    header_.all_nets.push_back(
        {signal.kind, signal.width, static_cast<std::uint32_t>(header_.signals.size()), std::string()});
  } else {
    const Net& first = header_.all_nets[signal.net];
    const bool is_same = first.kind == signal.kind && (!has_bits || first.width == signal.width);
    if (!is_same && signal.fault == SignalFault::kNone) signal.fault = SignalFault::kShared;
  }
  header_.signals.push_back(std::move(signal));
}

std::vector<std::string> Reader::name_words() {
  std::vector<std::string> words;
  for (;;) {
    const std::string_view got = expect_word("$end of $var");
    if (got == kEnd) return words;
    const bool begins = got == "$var" || got == "$scope" || got == "$upscope" || got.starts_with("$enddefinitions");
    // Identifiers may have a dollar sign, so that an $end behind one is only seen by what follows.
    if (begins && !words.empty() && has_end(words.back())) {
      words.back() = without_end(words.back());
      put_back(got);
      return words;
    }
    words.emplace_back(got);
  }
}

/// A range may follow the name with or without a blank; one bit of a vector, [3], belongs to the name, which it tells
/// apart. Escaped names keep what looks like a range.
Piece Reader::set_name(Signal& signal, std::vector<std::string> words) const {
  const bool escaped = !words.empty() && words.front().starts_with('\\');
  if (!escaped) words = with_plain_range(words, signal.width);
  std::optional<BitRange> bits;
  std::string bit;
  if (words.size() > 1) {
    bits = parse_range(words.back());
    if (bits && words.back().find(':') != std::string::npos) {
      signal.range = std::move(words.back());
      words.pop_back();
    } else if (bits) {
      bit = std::move(words.back());
      words.pop_back();
    }
  }
  std::string name;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && !words[i].starts_with('[')) name += ' ';
    name += words[i];
  }
  if (escaped && name.size() > 1) name.erase(0, 1);
  const std::size_t open = name.ends_with(']') ? name.rfind('[') : std::string::npos;
  if (!bits && !escaped && open != std::string::npos && open > 0) {
    bits = parse_range(std::string_view(name).substr(open));
    if (bits && bits->width() != signal.width) bits.reset();
    if (bits && name.find(':', open) != std::string::npos) {
      signal.range = name.substr(open);
      name.resize(open);
    } else if (bits) {
      bit = name.substr(open);
      name.resize(open);
    }
  }
  const std::string scope = scopes_.empty() ? std::string() : scopes_.back().path;
  Piece piece;
  piece.scope = scopes_.empty() ? 0 : scopes_.back().id;
  piece.base = static_cast<std::uint32_t>(scope.size() + name.size());
  if (bits && bits->width() == signal.width && signal.kind == SignalKind::kBits) piece.bits = bits;
  signal.name = scope + name + bit;
  return piece;
}

}  // namespace weft::vcd
