// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <system_error>

#include "traces/files/format_error.h"

namespace weft::vcd {
namespace {

constexpr std::size_t kBlock = 1U << 20;
constexpr std::size_t kLongestWord = 1U << 26;

/// Of each character what a bit written so means; 0 for what is none.
constexpr std::array<char, 256> bit_values() {
  std::array<char, 256> values{};
  for (const char c : {'x', 'X', 'u', 'U', 'w', 'W', '-'}) values[static_cast<unsigned char>(c)] = 'x';
  for (const char c : {'z', 'Z'}) values[static_cast<unsigned char>(c)] = 'z';
  for (const char c : {'0', 'l', 'L'}) values[static_cast<unsigned char>(c)] = '0';
  for (const char c : {'1', 'h', 'H'}) values[static_cast<unsigned char>(c)] = '1';
  return values;
}
constexpr std::array<char, 256> kBits = bit_values();

char bit_of(char c) {
  return kBits[static_cast<unsigned char>(c)];
}

bool is_blank(char c) {
  return static_cast<unsigned char>(c) <= ' ';
}

}  // namespace

Reader::Reader(std::string file) : file_(std::move(file)), input_(file_), buffer_(kBlock) {
  read_header();
}

int Reader::line() const {
  return static_cast<int>(std::min<std::uint64_t>(line_, std::numeric_limits<int>::max()));
}

void Reader::fail(const std::string& expected, std::string_view got) const {
  std::string shown(got.substr(0, 60));
  for (char& c : shown) c = c >= ' ' && c <= '~' ? c : '?';
  throw traces::FormatError(
      file_, line(), "expected " + expected + ", got " + (got.empty() ? "the end of the file" : '"' + shown + '"'));
}

/// Keeps what is not consumed, at the buffer's start; false if the file has no more.
bool Reader::fill() {
  if (at_end_) return false;
  std::memmove(buffer_.data(), buffer_.data() + from_, to_ - from_);
  before_ += from_;
  to_ -= from_;
  from_ = 0;
  if (to_ == buffer_.size()) {
    if (to_ >= kLongestWord) {
      fail("a word of at most " + std::to_string(kLongestWord) + " characters", {buffer_.data(), to_});
    }
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t got = input_.read(buffer_.data() + to_, buffer_.size() - to_);
  if (got == 0) {
    at_end_ = true;
    return false;
  }
  to_ += got;
  return true;
}

std::string_view Reader::word() {
  for (;;) {
    const char* const data = buffer_.data();
    while (from_ < to_ && is_blank(data[from_])) {
      if (data[from_] == '\n') ++line_;
      ++from_;
    }
    if (from_ < to_) break;
    if (!fill()) return {};
  }
  std::size_t end = from_ + 1;
  for (;;) {
    const char* const data = buffer_.data();
    while (end < to_ && !is_blank(data[end])) ++end;
    if (end < to_) break;
    const std::size_t length = end - from_;
    const bool more = fill();
    end = from_ + length;
    if (!more) break;
  }
  const std::string_view word(buffer_.data() + from_, end - from_);
  from_ = end;
  return word;
}

std::string_view Reader::expect_word(const char* expected) {
  const std::string_view got = word();
  if (got.empty()) fail(expected, got);
  return got;
}

bool Reader::next(Change& change) {
  for (;;) {
    std::string_view got = word();
    if (got.empty()) return false;
    const char first = got.front();
    if (bit_of(first) != 0) {
      std::string_view code = got.substr(1);
      if (code.empty()) {
        code = word();  // some writers have a blank before it
        if (code.empty()) fail(std::string("an identifier code after the value ") + first, code);
      }
      const std::uint32_t net = net_of(code);
      if (net == kNoNet) [[unlikely]]
        continue;
      const SignalKind kind = header_.all_nets[net].kind == SignalKind::kEvent ? SignalKind::kEvent : SignalKind::kBits;
      change = {time_, net, kind, section_, false, {&kBits[static_cast<unsigned char>(first)], 1}, 0};
      if (!behind_) return true;
      continue;
    }
    switch (first) {
      case '#':
        read_time(got.size() > 1 ? got.substr(1) : expect_word("a time of 64 bits after #"));
        break;
      case '$':
        read_keyword(got);
        break;
      case 'b':
      case 'B':
      case 'r':
      case 'R':
      case 's':
      case 'S':
        if (read_value(change, got) && !behind_) return true;
        break;
      case 'p':
        fail("a VCD file of four states, as $dumpvars writes it; extended VCD ($dumpports) is not read", got);
      default:
        fail("a time such as #10, a value such as 1! or b101 !, or a keyword", got);
    }
  }
}

bool Reader::read_value(Change& change, std::string_view got) {
  const char first = got.front();
  // The code may lie beyond the block.
  while (from_ < to_ && (buffer_[from_] == ' ' || buffer_[from_] == '\t')) ++from_;
  std::string_view code;
  std::size_t end = from_;
  while (end < to_ && !is_blank(buffer_[end])) ++end;
  if (end < to_ && end > from_) {
    code = std::string_view(buffer_.data() + from_, end - from_);
    from_ = end;
  } else {
    held_.assign(got);
    code = word();
    got = held_;
  }
  if (code.empty()) fail("an identifier code after the value " + std::string(got.substr(0, 60)), code);
  const std::uint32_t net = net_of(code);
  if (net == kNoNet) return false;
  const std::string_view value = got.substr(1);
  if (first == 'b' || first == 'B') {
    read_bits(change, value, net);
  } else if (first == 'r' || first == 'R') {
    read_real(change, value, net);
  } else {
    change = {time_, net, SignalKind::kString, section_, false, value, 0};
  }
  return true;
}

void Reader::count(Count& what, const std::string& text) const {
  if (what.times++ > 0) return;
  what.line = line();
  what.first = text;
}

std::vector<std::string> Reader::remarks() const {
  std::vector<std::string> lines;
  const auto add = [&](const Count& of, const char* one, const char* several, const char* what) {
    if (of.times == 0) return;
    lines.push_back(file_ + ": " + std::to_string(of.times) + " " + (of.times == 1 ? one : several) +
                    ", the first in line " + std::to_string(of.line) + " (" + of.first + "): " + what);
  };
  add(back_, "time runs back", "times run back", "values there are left out");
  add(undeclared_, "value has a code that no $var declares", "values have codes that no $var declares",
      "they are left out");
  add(upscopes_, "$upscope has no $scope", "$upscopes have no $scope", "names stay as they are");
  add(fractions_, "time has a fraction", "times have a fraction", "it is cut off");
  return lines;
}

/// Some writers have a point and zeros, or a fraction, which the file's unit cannot show.
void Reader::read_time(std::string_view digits) {
  std::uint64_t time = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, time);
  const std::string_view rest(end, static_cast<std::size_t>(last - end));
  const bool is_number =
      error == std::errc() &&
      (rest.empty() || (rest.front() == '.' && rest.find_first_not_of("0123456789", 1) == std::string_view::npos));
  if (!is_number) fail("a time of 64 bits after #", digits);
  if (rest.find_first_not_of(".0") != std::string_view::npos) count(fractions_, "#" + std::string(digits));
  // A dump of values happens at one time, and some writers leave out its end.
  section_ = Section::kNone;
  if (timed_ && time < time_) {
    behind_ = true;
    count(back_, std::to_string(time) + " after " + std::to_string(time_));
    return;
  }
  behind_ = false;
  timed_ = true;
  time_ = time;
}

void Reader::read_keyword(std::string_view keyword) {
  if (keyword == "$end") {
    section_ = Section::kNone;
  } else if (keyword == "$dumpvars") {
    section_ = Section::kDumpvars;
  } else if (keyword == "$dumpall") {
    section_ = Section::kDumpall;
  } else if (keyword == "$dumpoff") {
    section_ = Section::kDumpoff;
  } else if (keyword == "$dumpon") {
    section_ = Section::kDumpon;
  } else if (keyword.starts_with("$dumpports")) {
    fail("a VCD file of four states; extended VCD is not read", keyword);
  } else if (keyword == "$var" || keyword == "$scope" || keyword == "$enddefinitions") {
    fail("values, as $enddefinitions was before", keyword);
  } else {
    skip_section(keyword);
  }
}

void Reader::read_bits(Change& change, std::string_view bits, std::uint32_t net) {
  const Net& of = header_.all_nets[net];
  if (of.kind == SignalKind::kReal || of.kind == SignalKind::kString || of.width == 0) {
    change = {time_, net, SignalKind::kBits, section_, false, of.width == 0 ? std::string_view() : bits, 0};
    return;
  }
  // As Python writes binary numbers.
  if (bits.size() > 2 && bits[0] == '0' && (bits[1] == 'b' || bits[1] == 'B')) bits.remove_prefix(2);
  if (bits.empty()) fail("bits after b for " + header_.name_of(net), "b");
  // In place, for the words lie in buffers of our own.
  char* const at = const_cast<char*>(bits.data());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const char bit = bit_of(at[i]);
    if (bit == 0) fail("bits of 0, 1, x and z for " + header_.name_of(net), bits);
    at[i] = bit;
  }
  bool cut = false;
  if (of.kind == SignalKind::kBits && bits.size() > static_cast<std::size_t>(of.width)) {
    const std::size_t more = bits.size() - static_cast<std::size_t>(of.width);
    // Some simulators pad to bytes or words, with the sign of a negative number.
    const std::string_view padding = bits.substr(0, more);
    bits.remove_prefix(more);
    const char sign = padding.front();
    cut = padding.find_first_not_of(sign) != std::string_view::npos || (sign != '0' && bits.front() != sign);
  }
  change = {time_, net, of.kind, section_, cut, bits, 0};
}

void Reader::read_real(Change& change, std::string_view digits, std::uint32_t net) const {
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = error == std::errc() || error == std::errc::result_out_of_range;
  if (!is_number || end != digits.data() + digits.size()) {
    fail("a number after r for " + header_.name_of(net), digits.empty() ? "r" : digits);
  }
  // What no double holds is infinite, or nothing.
  if (error != std::errc()) value = std::strtod(std::string(digits).c_str(), nullptr);
  change = {time_, net, SignalKind::kReal, section_, false, digits, value};
}

}  // namespace weft::vcd
