// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "traces/files/text_file.h"

namespace weft::platforms::astra {

/// Words of a line, which blanks separate.
struct WordLine {
  std::size_t number = 0;  ///< from 1
  std::vector<std::string> words;
};

/// The lines of a text that packet simulators read, which may be packed with gzip; empty ones and those that begin with
/// # are left out. Throws FormatError, with `expected`, if it cannot be read or is of no kind that `takes` has.
std::vector<WordLine> word_lines(const std::filesystem::path& file, std::string_view expected,
                                 traces::KindFilter takes);

/// Throws InputError at that line.
[[noreturn]] void fail_at(const std::filesystem::path& file, const WordLine& line, const std::string& expected,
                          const std::string& got);

}  // namespace weft::platforms::astra
