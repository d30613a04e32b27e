// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weft::chakra {

/// Ranks that communicate with each other, by the name that nodes give in pg_name: a number from 1.
struct RankGroup {
  std::string name;
  std::vector<std::uint64_t> ranks;
};

/// PREFIX.groups.json
[[nodiscard]] std::filesystem::path groups_file(const std::filesystem::path& prefix);
/// Where groups may be: the same, and in gzip.
[[nodiscard]] std::array<std::filesystem::path, 2> groups_files(const std::filesystem::path& prefix);
/// The one of them that there is, if there is any. Throws traces::FormatError if both are there.
[[nodiscard]] std::optional<std::filesystem::path> find_groups(const std::filesystem::path& prefix);
/// The prefix whose groups readers look for in a file of that name; none if they look for none there.
[[nodiscard]] std::optional<std::filesystem::path> prefix_of_groups(const std::filesystem::path& file);
/// Maps a group's name to its ranks, as ASTRA-sim's communicator files do. The file appears when it is complete. Throws
/// std::system_error.
void write_groups(const std::filesystem::path& file, const std::vector<RankGroup>& groups);

}  // namespace weft::chakra
