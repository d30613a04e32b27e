// SPDX-License-Identifier: Apache-2.0
#include "traces/files/kind/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <system_error>
#include <utility>

#include "traces/files/comment.h"
#include "traces/files/input_file.h"
#include "traces/files/kind/kind_of_text.h"

namespace weft::traces {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::size_t at;
  std::string_view bytes;
  FileKind kind;
};

constexpr Magic kMagics[] = {
    {0, "\xff\xfe\0\0"sv, FileKind::kUtf32},
    {0, "\x1f\x8b"sv, FileKind::kGzip},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     FileKind::kXz},
    {0, "BZh"sv, FileKind::kBzip2},
    {0, "\x28\xb5\x2f\xfd"sv, FileKind::kZstd},
    {0, "\x04\x22\x4d\x18"sv, FileKind::kLz4},
    {0, "PK\x03\x04"sv, FileKind::kZip},
    {0, "PK\x05\x06"sv, FileKind::kZip},
    {257, "ustar"sv, FileKind::kTar},
    {0, "SQLite format 3\0"sv, FileKind::kSqlite},
    {0,
     "\x7f"
     "ELF"sv,
     FileKind::kElf},
    {0, "\x89PNG\r\n"sv, FileKind::kPicture},
    {0, "\xff\xd8\xff"sv, FileKind::kPicture},
    {0, "GIF8"sv, FileKind::kPicture},
    {0, "%PDF-"sv, FileKind::kPdf},
    {0, "\x89HDF\r\n"sv, FileKind::kHdf5},
    {0, "GHDLwave"sv, FileKind::kGhw},
    // An FST file begins with a header of 329 bytes, or is gzip with one more byte and two lengths before it.
    {0, "\0\0\0\0\0\0\0\x01\x49"sv, FileKind::kFst},
    // LXT2 and VZT have a version after their magic number; the second half of it is 0 for all that there are.
    {0, "\x13\x80\0"sv, FileKind::kLxt},
    {0, "VZ\0"sv, FileKind::kVzt},
    // 4223 in 64 bits.
    {0, "\x7f\x10\0\0\0\0\0\0"sv, FileKind::kGoalBinary},
};

constexpr unsigned kBeyondUtf8 = 0xF5;  ///< the first of the bytes that UTF-8 never has

/// Without control characters but those of layout, and without bytes that UTF-8 never has. JSON may have DEL as it is.
bool is_text(std::string_view bytes, unsigned beyond = kBeyondUtf8) {
  constexpr std::size_t kLooked = 4096;
  return std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), kLooked)),
                     [beyond](char c) {
                       const auto byte = static_cast<unsigned char>(c);
                       return is_layout(c) || c == '\x1b' || (byte >= ' ' && byte < beyond);
                     });
}

/// Text in UTF-16 that begins with ASCII, of which every other byte is 0.
bool is_utf16(std::string_view bytes) {
  constexpr std::size_t kLooked = 16;
  constexpr std::size_t kLeast = 8;
  const bool has_mark = bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff");
  bytes = bytes.substr(has_mark ? 2 : 0, kLooked);
  if (bytes.size() < (has_mark ? 2 : kLeast)) return false;
  for (const std::size_t zeros : {0U, 1U}) {
    bool fits = true;
    for (std::size_t i = 0; i < bytes.size() && fits; ++i) {
      fits = i % 2 == zeros ? bytes[i] == '\0' : is_layout(bytes[i]) || (bytes[i] >= ' ' && bytes[i] <= '~');
    }
    if (fits) return true;
  }
  return false;
}

/// Protobuf's number of up to `most` groups of seven bits; none if it does not end.
std::optional<std::uint64_t> varint(std::string_view bytes, std::size_t& at, int most = 10) {
  std::uint64_t value = 0;
  for (int group = 0; group < most && at < bytes.size(); ++group) {
    const auto byte = static_cast<std::uint8_t>(bytes[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * group);
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

/// Whether fields follow each other up to the message's end, or to that of what is there of it.
bool is_message(std::string_view message, bool is_whole) {
  std::size_t at = 0;
  while (at < message.size()) {
    const std::optional<std::uint64_t> tag = varint(message, at);
    if (!tag) return !is_whole && at == message.size();
    constexpr std::uint64_t kMostFields = 100;
    const std::uint64_t field = *tag >> 3U;
    if (field == 0 || field > kMostFields) return false;
    std::uint64_t length = 0;
    switch (*tag & 7U) {
      case 0:
        if (!varint(message, at)) return !is_whole && at == message.size();
        break;
      case 1:
        length = 8;
        break;
      case 5:
        length = 4;
        break;
      case 2: {
        const std::optional<std::uint64_t> given = varint(message, at);
        if (!given) return !is_whole && at == message.size();
        length = *given;
        break;
      }
      default:
        return false;
    }
    if (length > message.size() - at) return !is_whole;
    at += length;
  }
  return true;
}

/// Records, each a length and a message, the first of them GlobalMetadata. A file of zeros is none.
bool is_chakra(std::string_view bytes, bool has_more) {
  constexpr int kFew = 3;
  std::size_t at = 0;
  bool says_something = false;
  for (int record = 0; record < kFew && at < bytes.size(); ++record) {
    constexpr int kLongestLength = 5;
    const std::optional<std::uint64_t> length = varint(bytes, at, kLongestLength);
    if (!length) return false;
    const bool is_whole = *length <= bytes.size() - at;
    if (!is_whole && !has_more && record == 0) return false;
    if (!is_message(bytes.substr(at, *length), is_whole)) return false;
    if (!is_whole) return true;
    says_something = says_something || *length > 0;
    at += *length;
  }
  return says_something;
}

/// Versions 2 to 5 begin with their number and end in a point; earlier ones have no mark.
bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

std::string shown(std::string_view bytes, bool is_text) {
  constexpr std::size_t kLine = 40;
  constexpr std::size_t kBytes = 8;
  std::string text;
  if (is_text) {
    const std::string_view line = first_line(without_blanks(bytes));
    for (const char c : line.substr(0, kLine))
      text += static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 0x7F ? c : '?';
    return "\"" + text + (line.size() > kLine ? "...\"" : "\"");
  }
  for (const char c : bytes.substr(0, kBytes))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned char>(c));
  return "bytes " + text;
}

FileKind kind_of(std::string_view bytes, bool has_more, std::string& members) {
  if (bytes.empty()) return FileKind::kEmpty;
  for (const Magic& magic : kMagics) {
    if (bytes.size() >= magic.at && bytes.substr(magic.at).starts_with(magic.bytes)) return magic.kind;
  }
  constexpr std::size_t kWrapped = 17;  // the FST file in gzip
  if (bytes.size() > kWrapped && bytes[0] == '\xfe' && bytes.substr(kWrapped).starts_with("\x1f\x8b"))
    return FileKind::kFst;
  // What was cut short or preallocated may end in zeros, of which the reader of the text says where they begin.
  const std::string_view text = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
  if (!text.empty() && is_text(text)) return kind_of_text(text, members);
  if (is_utf16(bytes)) return FileKind::kUtf16;
  if (is_pickle(bytes)) return FileKind::kPickle;
  if (is_chakra(bytes, has_more)) return FileKind::kChakra;
  // Text that is known by its beginning may have bytes that no text has: its reader says where.
  constexpr unsigned kAnyByte = 0x100;
  if (!is_text(text, kAnyByte)) return FileKind::kBinary;
  const FileKind kind = kind_of_text(text, members);
  if (is_text(kind) && !is_plain_text(kind)) return kind;
  members.clear();
  return FileKind::kBinary;
}

}  // namespace

std::string_view without_blanks(std::string_view text) {
  // Files that were put together have marks in between, which are blanks of no width.
  for (;;) {
    if (text.starts_with(kByteOrderMark)) {
      text.remove_prefix(kByteOrderMark.size());
    } else if (!text.empty() && is_layout(text.front())) {
      text.remove_prefix(1);
    } else {
      return text;
    }
  }
}

std::string_view without_comments(std::string_view text) {
  for (;;) {
    text = without_blanks(text);
    const std::size_t end = text.empty() ? 0 : end_of_comment(text, 0);
    if (end == 0) return text;
    text.remove_prefix(end + 1);
  }
}

bool is_trace_json(FileKind kind) {
  return kind == FileKind::kChakraJson || kind == FileKind::kChakraJsonizer || kind == FileKind::kChakraFeederJson;
}

bool is_json(FileKind kind) {
  return is_trace_json(kind) || kind == FileKind::kPyTorchTrace || kind == FileKind::kKineto ||
         kind == FileKind::kTimeline || kind == FileKind::kPlatform || kind == FileKind::kSystemFile ||
         kind == FileKind::kNetworkJson || kind == FileKind::kMemoryFile || kind == FileKind::kGroups ||
         kind == FileKind::kResult || kind == FileKind::kJson;
}

bool is_text(FileKind kind) {
  return is_json(kind) || is_plain_text(kind) || kind == FileKind::kGoal || kind == FileKind::kTextWorkload ||
         kind == FileKind::kVcd || kind == FileKind::kNetworkFile || kind == FileKind::kNs3Topology ||
         kind == FileKind::kNs3Config || kind == FileKind::kHtsimTree || kind == FileKind::kXml || is_table(kind);
}
bool is_unknown_text(FileKind kind) {
  return kind == FileKind::kEmpty || kind == FileKind::kText || kind == FileKind::kCsv || kind == FileKind::kYaml;
}
bool is_table(FileKind kind) {
  return is_unknown_text(kind) || kind == FileKind::kLayers || kind == FileKind::kTransformer ||
         kind == FileKind::kEdges || kind == FileKind::kLinkTable || kind == FileKind::kMeasurements;
}
bool is_plain_text(FileKind kind) {
  return kind == FileKind::kEmpty || kind == FileKind::kText || kind == FileKind::kCsv || kind == FileKind::kYaml ||
         kind == FileKind::kMemoryTrace || kind == FileKind::kWorkloadSpecification;
}

FileGuess guess(std::string_view beginning, bool has_more) {
  FileGuess guessed;
  guessed.kind = kind_of(beginning, has_more, guessed.members);
  if (!beginning.empty()) guessed.begins = shown(beginning, is_text(beginning));
  return guessed;
}

FileGuess guess(InputFile& file) {
  // Of most files a little tells all; JSON may have much before the member by which it is known.
  constexpr std::size_t kLittle = 4096;
  std::string_view beginning = file.peek(kLittle);
  bool has_more = beginning.size() == kLittle;
  if (has_more && is_text(beginning)) {
    beginning = file.peek(kGuessed);
    has_more = beginning.size() == kGuessed;
  }
  FileGuess guessed = guess(beginning, has_more);
  guessed.is_gzip = file.is_gzip();
  return guessed;
}

FileGuess guess(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    FileGuess folder;
    folder.kind = FileKind::kFolder;
    return folder;
  }
  InputFile input(file);
  return guess(input);
}

}  // namespace weft::traces
