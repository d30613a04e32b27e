// SPDX-License-Identifier: Apache-2.0
#include "traces/memory_trace.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "traces/files/format_error.h"
#include "traces/files/kind/file_kind.h"

namespace weft::traces {
namespace {

constexpr std::size_t kBlock = 1U << 18;
constexpr std::size_t kLongestLine = 256;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

/// Takes a word from the front.
std::string_view take_word(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && !is_blank(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  skip_blanks(text);
  return word;
}

bool parse_address(std::string_view word, std::uint64_t& address) {
  int base = 10;
  if (word.starts_with("0x") || word.starts_with("0X")) {
    base = 16;
    word.remove_prefix(2);
  }
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), address, base);
  return error == std::errc() && end == word.data() + word.size();
}

/// Nanoseconds with up to three decimals to picoseconds; what is finer is cut off.
bool parse_time(std::string_view word, std::int64_t& ps) {
  const char* const last = word.data() + word.size();
  std::int64_t ns = 0;
  const auto [end, error] = std::from_chars(word.data(), last, ns);
  constexpr std::int64_t kMost = 1'000'000'000'000;  // 1000 s, for refreshes go on meanwhile
  if (error != std::errc() || ns < 0 || ns > kMost) return false;
  ps = ns * 1'000;
  if (end == last) return true;
  if (*end != '.') return false;
  std::int64_t scale = 100;
  for (const char* digit = end + 1; digit != last; ++digit, scale /= 10) {
    if (*digit < '0' || *digit > '9') return false;
    ps += (*digit - '0') * scale;
  }
  return true;
}

}  // namespace

MemoryTrace::MemoryTrace(std::string file, std::uint64_t capacity)
    : file_(std::move(file)), capacity_(capacity), buffer_(kBlock) {
  std::error_code ignored;
  if (file_ != "-" && !std::filesystem::exists(file_, ignored)) {
    throw FormatError(file_, 0, "expected a trace of memory requests, there is no such file");
  }
  input_ = std::make_unique<InputFile>(file_);
  const FileGuess guess = traces::guess(*input_);
  if (guess.kind != FileKind::kMemoryTrace && !is_plain_text(guess.kind)) {
    refuse(file_, "a trace of memory requests", guess);
  }
}

void MemoryTrace::fail(std::string_view line, const std::string& expected) const {
  std::string shown(line.substr(0, 60));
  for (char& c : shown) c = c >= ' ' && c <= '~' ? c : '?';
  throw FormatError(file_, line_, "expected " + expected + ", got \"" + shown + "\"");
}

bool MemoryTrace::next_line(std::string_view& line) {
  for (;;) {
    const char* const begin = buffer_.data() + from_;
    const auto* end = static_cast<const char*>(std::memchr(begin, '\n', to_ - from_));
    if (end != nullptr) {
      line = std::string_view(begin, static_cast<std::size_t>(end - begin));
      from_ += line.size() + 1;
      ++line_;
      return true;
    }
    std::memmove(buffer_.data(), begin, to_ - from_);
    to_ -= from_;
    from_ = 0;
    if (to_ > kLongestLine) {
      ++line_;
      fail(std::string_view(buffer_.data(), to_), "a line of at most " + std::to_string(kLongestLine) + " characters");
    }
    const std::size_t got = input_->read(buffer_.data() + to_, buffer_.size() - to_);
    if (got == 0) {
      if (to_ == 0) return false;
      line = std::string_view(buffer_.data(), to_);
      from_ = to_;
      ++line_;
      return true;
    }
    to_ += got;
  }
}

bool MemoryTrace::next_plain(Entry& entry) {
  const char* at = buffer_.data() + from_;
  const char* const end = buffer_.data() + to_;
  constexpr std::ptrdiff_t kShortest = 24;
  if (end - at < kShortest || (*at != 'R' && *at != 'W') || at[1] != ' ' || at[2] != '0' || at[3] != 'x') return false;
  const bool write = *at == 'W';
  at += 4;
  std::uint64_t address = 0;
  int digits = 0;
  for (;; ++digits) {
    const auto c = static_cast<unsigned char>(*at++);
    if (c >= '0' && c <= '9') {
      address = address << 4 | (c - '0');
    } else if (c >= 'a' && c <= 'f') {
      address = address << 4 | (c - 'a' + 10U);
    } else if (c == '\n' && digits > 0 && address < capacity_) {
      break;
    } else {
      return false;
    }
    if (digits == 15) return false;
  }
  entry = {write, false, false, address, 0};
  from_ = static_cast<std::size_t>(at - buffer_.data());
  ++line_;
  return true;
}

bool MemoryTrace::next(Entry& entry) {
  if (next_plain(entry)) return true;
  std::string_view line;
  std::string_view rest;
  do {
    if (!next_line(line)) return false;
    if (line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    rest = line;
    skip_blanks(rest);
  } while (rest.empty() || rest.front() == '#');
  const std::string_view kind = take_word(rest);
  if (kind != "R" && kind != "W" && kind != "M") fail(line, "R, W or M, an address and maybe a time in nanoseconds");
  entry.write = kind != "R";
  entry.partial = kind == "M";
  if (!parse_address(take_word(rest), entry.address))
    fail(line, "an address, such as 0x1f40, after " + std::string(kind));
  if (entry.address >= capacity_) {
    fail(line, "an address below " + std::to_string(capacity_) + ", the capacity of the memory");
  }
  entry.timed = !rest.empty();
  if (!entry.timed) return true;
  if (!parse_time(take_word(rest), entry.time_ps))
    fail(line, "a time in nanoseconds after the address, such as 12.5, of at most 1000 s");
  if (!rest.empty()) fail(line, "nothing after the time");
  if (entry.time_ps < last_ps_) fail(line, "a time that is not before that of an earlier line");
  last_ps_ = entry.time_ps;
  return true;
}

}  // namespace weft::traces
