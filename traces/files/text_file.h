// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "traces/files/input_file.h"
#include "traces/files/kind/file_kind.h"

namespace weft::traces {

/// A file of text in UTF-8, or why there is none.
struct TextFile {
  std::string text;
  std::string got;  ///< "no such file", "a folder", ...; empty if it is text
  int line = 0;     ///< where that is; 0: the file as a whole
};

/// Which kinds of file a reader takes.
using KindFilter = bool (*)(FileKind);

/// Reads all of it, unpacked if it is gzip, without a byte order mark. One of another kind than `takes` has, a longer
/// one than `most` bytes, or one with zero bytes, is no text: `got` says what it is and what helps. Throws FormatError
/// for gzip that is damaged.
TextFile load_text(const std::filesystem::path& file, KindFilter takes = is_text,
                   std::uint64_t most = kLongestDocument);

/// The same. Throws FormatError where there is none: `FILE[:LINE]: expected EXPECTED, got GOT`.
std::string read_text(const std::filesystem::path& file, std::string_view expected, KindFilter takes = is_text);

/// The place of the first byte that belongs to no character of UTF-8 as Unicode defines it; npos if all do.
std::size_t find_not_utf8(std::string_view text);

/// As a terminal can show it, whatever it is made of: control characters but tab and line end, those that turn the
/// direction of text or break lines in Unicode, and what is no UTF-8, are written as \x1b, for otherwise a name in a
/// file could do to a terminal what it liked.
std::string printable(std::string_view text);

/// A name of a file's as a message has it: printable, on one line, and shortened to some `most` bytes.
std::string one_line(std::string_view text, std::size_t most = 80);

}  // namespace weft::traces
