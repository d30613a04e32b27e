// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>

#include "traces/format_error.h"

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

Reader::Reader(std::string file)
    : file_(std::move(file)), stream_(file_ == "-" ? stdin : std::fopen(file_.c_str(), "rb")), buffer_(kBlock) {
  if (stream_ == nullptr)
    throw traces::FormatError(file_, 0, "expected a VCD file: " + std::string(std::strerror(errno)));
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
  const std::size_t got = std::fread(buffer_.data() + to_, 1, buffer_.size() - to_, stream_.get());
  if (got == 0) {
    if (std::ferror(stream_.get()) != 0) {
      throw traces::FormatError(file_, 0, "expected a VCD file: " + std::string(std::strerror(errno)));
    }
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
      if (got.size() == 1) fail("an identifier code right after the value", got);
      const std::uint32_t net = net_of(got.substr(1));
      read_bits(change, got.substr(0, 1), net);
      return true;
    }
    switch (first) {
      case '#':
        read_time(got.substr(1));
        break;
      case '$':
        read_keyword(got);
        break;
      case 'b':
      case 'B':
      case 'r':
      case 'R':
      case 's':
      case 'S': {
        // The code may lie beyond the block.
        const std::size_t length = got.size();
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
        const std::string_view value = got.substr(1, length - 1);
        if (first == 'b' || first == 'B') {
          read_bits(change, value, net);
        } else if (first == 'r' || first == 'R') {
          read_real(change, value, net);
        } else {
          if (header_.signal_of(net).kind != SignalKind::kString) {
            fail("bits for " + header_.signal_of(net).name + ", which is no string", got);
          }
          change = {time_, net, SignalKind::kString, section_, value, 0};
        }
        return true;
      }
      default:
        fail("a time such as #10, a value such as 1! or b101 !, or a keyword", got);
    }
  }
}

void Reader::read_time(std::string_view digits) {
  std::uint64_t time = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), time);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail("a time of 64 bits after #", digits.empty() ? "#" : digits);
  }
  if (timed_ && time < time_) fail("a time that is not before " + std::to_string(time_), digits);
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
  const Signal& signal = header_.signal_of(net);
  if (signal.kind == SignalKind::kReal || signal.kind == SignalKind::kString) {
    fail(std::string(signal.kind == SignalKind::kReal ? "a real number" : "a string") + " for " + signal.name, bits);
  }
  if (bits.empty()) fail("bits after b for " + signal.name, "b");
  // In place, for the words lie in buffers of our own.
  char* const at = const_cast<char*>(bits.data());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const char bit = bit_of(at[i]);
    if (bit == 0) fail("bits of 0, 1, x and z for " + signal.name, bits);
    at[i] = bit;
  }
  if (signal.kind == SignalKind::kBits && bits.size() > static_cast<std::size_t>(signal.width)) {
    const std::size_t more = bits.size() - static_cast<std::size_t>(signal.width);
    // Some simulators pad to bytes or words.
    extend_bits(bits.substr(more), static_cast<int>(bits.size()), shown_bits_);
    if (shown_bits_ != bits) fail("at most " + std::to_string(signal.width) + " bits for " + signal.name, bits);
    bits.remove_prefix(more);
  }
  change = {time_, net, signal.kind, section_, bits, 0};
}

void Reader::read_real(Change& change, std::string_view digits, std::uint32_t net) const {
  const Signal& signal = header_.signal_of(net);
  // Icarus writes real parameters as "parameter", like the others.
  if (signal.kind != SignalKind::kReal && signal.type != "parameter")
    fail("a value for " + signal.name + ", which is no real", digits);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail("a number after r for " + signal.name, digits.empty() ? "r" : digits);
  }
  change = {time_, net, SignalKind::kReal, section_, digits, value};
}

}  // namespace weft::vcd
