// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weft::chakra {

/// The file of one rank: PREFIX.RANK.et.
struct RankFile {
  std::filesystem::path file;
  std::optional<std::uint32_t> rank;  ///< none for a single file whose name does not tell
};

/// What a user means by one argument.
struct TraceFiles {
  bool is_prefix = false;
  std::vector<RankFile> files;         ///< by rank
  std::vector<std::uint32_t> missing;  ///< ranks below the highest one that have no file
};

/// The file if there is one of that name, else the ranks of the prefix. Throws traces::FormatError if there is neither.
/// `ending` is that of the files of a prefix.
TraceFiles find_trace(const std::filesystem::path& prefix_or_file, const std::string& ending = ".et");
/// PREFIX.RANK.et
[[nodiscard]] std::filesystem::path rank_file(const std::filesystem::path& prefix, std::uint64_t rank,
                                              const std::string& ending = ".et");

}  // namespace weft::chakra
