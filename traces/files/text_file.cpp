// SPDX-License-Identifier: Apache-2.0
#include "traces/files/text_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "traces/files/format_error.h"

namespace weft::traces {
namespace {

std::string system_text(int error) {
  return error == ENOENT ? "no such file" : std::strerror(error);
}

/// Bytes of the character of UTF-8 at the start of the text; 0 if there is none. Overlong forms, halves of surrogate
/// pairs and what is beyond U+10FFFF are none.
std::size_t character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
  return wrong ? 0 : bytes;
}

/// The first 32 control characters and DEL, those of U+0080 to U+009F, which some terminals obey as well, and those
/// that turn the direction of what follows or begin a new line: U+061C, U+200E and U+200F, U+2028 to U+202E, U+2066 to
/// U+2069.
bool is_control(std::string_view character) {
  const auto byte = [character](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return (byte(0) < 0x20 && byte(0) != '\n' && byte(0) != '\t') || byte(0) == 0x7F;
  if (character.size() == 2) return (byte(0) == 0xC2 && byte(1) < 0xA0) || character == "\xD8\x9C";
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x80) return byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE);
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
}

}  // namespace

TextFile load_text(const std::filesystem::path& file, KindFilter takes, std::uint64_t most) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) return {"", "a folder", 0};
  if (file != "-" && access(file.c_str(), R_OK) != 0) return {"", system_text(errno), 0};
  TextFile read;
  const auto refuse = [&read](std::string got, std::size_t at) {
    read.line =
        1 + static_cast<int>(std::count(read.text.begin(), read.text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    read.got = std::move(got);
  };
  InputFile input(file);
  const FileGuess guessed = guess(input);
  // Of what is of no known kind the first byte that is wrong says more.
  if (guessed.kind != FileKind::kBinary && !takes(guessed.kind)) {
    const std::string helps = advice(guessed, file);
    return {"", describe(guessed) + (helps.empty() ? "" : "; " + helps), 0};
  }
  // Most files are small.
  constexpr std::size_t kFirst = 1U << 14;
  for (std::size_t held = 0; read.got.empty();) {
    const std::size_t block = std::max(kFirst, held);
    read.text.resize(held + block);
    const std::size_t got = input.read(read.text.data() + held, block);
    read.text.resize(held + got);
    if (got == 0) break;
    // An endless device is told by its first block, not by its billionth byte.
    if (const std::size_t zero = read.text.find('\0', held); zero != std::string::npos) refuse("a zero byte", zero);
    held = read.text.size();
    if (held > most) read.got = fmt::format("more than {} bytes", most);
  }
  if (!read.got.empty()) return read;
  if (read.text.starts_with(kByteOrderMark)) read.text.erase(0, kByteOrderMark.size());
  if (const std::size_t at = find_not_utf8(read.text); at != std::string::npos) {
    refuse(fmt::format("the byte 0x{:02x}, which is not UTF-8", static_cast<unsigned char>(read.text[at])), at);
  }
  return read;
}

std::string read_text(const std::filesystem::path& file, std::string_view expected, KindFilter takes) {
  TextFile read = load_text(file, takes);
  if (read.got.empty()) return std::move(read.text);
  throw FormatError(file.string(), read.line, fmt::format("expected {}, got {}", expected, read.got));
}

std::size_t find_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    // Most text is ASCII.
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const std::size_t bytes = character(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    std::size_t bytes = character(text);
    const bool hides = bytes == 0 || is_control(text.substr(0, bytes));
    bytes = std::max<std::size_t>(bytes, 1);
    if (hides) {
      for (const char c : text.substr(0, bytes)) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      shown += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

std::string one_line(std::string_view text, std::size_t most) {
  std::size_t end = std::min(text.size(), most);
  // Not within a character, whose other bytes have 10 as their first bits.
  if (end < text.size()) {
    while (end > 0 && most - end < 3 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
  }
  std::string line;
  for (const char c : printable(text.substr(0, end))) {
    if (c == '\n' || c == '\t') {
      line += c == '\n' ? "\\n" : "\\t";
    } else {
      line += c;
    }
  }
  return end < text.size() ? line + "..." : line;
}

}  // namespace weft::traces
