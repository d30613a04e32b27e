// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::chakra {

/// The file of one rank: PREFIX.RANK.et, .et.gz, .json or .json.gz.
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

/// The file if there is one of that name, else the ranks of the prefix, each with any of kTraceEndings. Throws
/// traces::FormatError if there is neither, and where a rank has two files: one of them would be an older trace's.
TraceFiles find_trace(const std::filesystem::path& prefix_or_file);
/// "w.0.et": rank 0 of the prefix w.
struct RankName {
  std::filesystem::path prefix;
  std::uint32_t rank = 0;
};
/// None where a file of the name is of no rank.
std::optional<RankName> rank_name(const std::filesystem::path& file);
/// All files that readers of the prefix would take for the trace's: of any rank, and groups files. Sorted.
std::vector<std::filesystem::path> files_of_prefix(const std::filesystem::path& prefix);

/// Of files that TraceReader takes; what a file is, is told by its first bytes all the same.
inline constexpr std::array<std::string_view, 4> kTraceEndings = {".et", ".et.gz", ".json", ".json.gz"};

/// PREFIX.RANK.et
[[nodiscard]] std::filesystem::path rank_file(const std::filesystem::path& prefix, std::uint64_t rank,
                                              std::string_view ending = ".et");
/// The file of the rank, with the first of the endings that there is; PREFIX.RANK.et if there is none.
[[nodiscard]] std::filesystem::path find_rank(const std::filesystem::path& prefix, std::uint64_t rank);

}  // namespace weft::chakra
