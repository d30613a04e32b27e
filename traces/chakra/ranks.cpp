// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/ranks.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "traces/chakra/groups.h"
#include "traces/files/format_error.h"

namespace weft::chakra {
namespace {

namespace fs = std::filesystem;

/// Of the missing ranks in a list, as many as a trace can have; the highest rank may be anything that a file's name
/// says.
constexpr std::size_t kMostMissing = 1'000'000;

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Not "007" either: that would be another file of the same rank.
  if (error != std::errc() || end != text.data() + text.size() || std::to_string(value) != text) return std::nullopt;
  return value;
}

/// The rank in a name that consists of a stem, the rank and an ending.
std::optional<std::uint32_t> rank_of(std::string_view name, std::string_view stem, std::string_view ending) {
  if (name.size() <= stem.size() + ending.size() || !name.starts_with(stem) || !name.ends_with(ending))
    return std::nullopt;
  return number(name.substr(stem.size(), name.size() - stem.size() - ending.size()));
}

/// A number that is none of a rank as files are named: "01", or beyond what a rank can be.
bool is_other_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         !number(text);
}

/// Throws FormatError for a file that a person would take for one of the prefix, and readers do not.
void refuse_other_number(const fs::path& prefix, const std::string& name, std::string_view ending) {
  const std::string stem = prefix.filename().string() + ".";
  if (name.size() <= stem.size() + ending.size() || !name.starts_with(stem) || !name.ends_with(ending)) return;
  const std::string text = name.substr(stem.size(), name.size() - stem.size() - ending.size());
  if (!is_other_number(text)) return;
  const std::size_t digits = text.find_first_not_of('0');
  const std::string plain = digits == std::string::npos ? "0" : text.substr(digits);
  throw traces::FormatError(prefix.string(), 0,
                            "expected ranks without leading zeros, below 4294967296, got " + name +
                                (number(plain) ? ": rename it to " + stem + plain + std::string(ending) : ""));
}

/// What readers would take, in the order of the folder.
std::vector<RankFile> ranks_of_prefix(const fs::path& prefix, bool expects_no_other = false) {
  std::vector<RankFile> found;
  const std::string stem = prefix.filename().string() + ".";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(prefix.has_parent_path() ? prefix.parent_path() : ".", ignored)) {
    const std::string name = entry.path().filename().string();
    for (const std::string_view ending : kTraceEndings) {
      if (const auto rank = rank_of(name, stem, ending)) found.push_back({rank_file(prefix, *rank, ending), rank});
      if (expects_no_other) refuse_other_number(prefix, name, ending);
    }
  }
  return found;
}

/// Of the traces in a folder, without what is no prefix's; sorted.
std::set<fs::path> prefixes_in(const fs::path& folder) {
  std::set<fs::path> prefixes;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (const auto name = rank_name(entry.path())) prefixes.insert(name->prefix);
  }
  return prefixes;
}

[[noreturn]] void refuse_prefix(const fs::path& prefix) {
  const std::string stem = prefix.filename().string() + ".";
  const std::string expected = "expected a file, or a prefix with files " + stem + "0.et, " + stem + "1.et, ...";
  std::error_code ignored;
  if (fs::is_directory(prefix, ignored)) {
    const std::set<fs::path> prefixes = prefixes_in(prefix);
    std::string text = "is a folder: expected a file, or the prefix of a trace's files";
    if (prefixes.empty()) text += ", of which the folder has none (PREFIX.0.et, ...)";
    constexpr std::size_t kMost = 3;
    std::size_t count = 0;
    for (const fs::path& each : prefixes) {
      if (count == kMost) text += ", and " + std::to_string(prefixes.size() - kMost) + " more";
      if (count < kMost) text += (count == 0 ? ", such as " : ", ") + each.string();
      ++count;
    }
    throw traces::FormatError(prefix.string(), 0, text);
  }
  std::string name = prefix.string();
  while (name.ends_with('.')) name.pop_back();
  if (name != prefix.string() && !ranks_of_prefix(name).empty()) {
    throw traces::FormatError(prefix.string(), 0, expected + "; the prefix is without the dot, " + name);
  }
  throw traces::FormatError(prefix.string(), 0, expected + "; there is neither");
}

}  // namespace

fs::path rank_file(const fs::path& prefix, std::uint64_t rank, std::string_view ending) {
  return prefix.string() + "." + std::to_string(rank) + std::string(ending);
}

fs::path find_rank(const fs::path& prefix, std::uint64_t rank) {
  std::error_code ignored;
  for (const std::string_view ending : kTraceEndings) {
    fs::path file = rank_file(prefix, rank, ending);
    if (fs::exists(file, ignored)) return file;
  }
  return rank_file(prefix, rank);
}

std::optional<RankName> rank_name(const fs::path& file) {
  const std::string name = file.filename().string();
  for (const std::string_view ending : kTraceEndings) {
    if (name.size() <= ending.size() || !name.ends_with(ending)) continue;
    const std::size_t dot = name.rfind('.', name.size() - ending.size() - 1);
    if (dot == std::string::npos || dot == 0) continue;
    if (const auto rank = rank_of(name, name.substr(0, dot + 1), ending)) {
      return RankName{file.parent_path() / name.substr(0, dot), *rank};
    }
  }
  return std::nullopt;
}

TraceFiles find_trace(const fs::path& prefix_or_file) {
  std::error_code ignored;
  TraceFiles found;
  if (fs::exists(prefix_or_file, ignored) && !fs::is_directory(prefix_or_file, ignored)) {
    found.files.push_back({prefix_or_file, {}});
    if (const auto name = rank_name(prefix_or_file)) found.files[0].rank = name->rank;
    return found;
  }
  found.is_prefix = true;
  found.files = ranks_of_prefix(prefix_or_file, true);
  if (found.files.empty()) refuse_prefix(prefix_or_file);
  std::sort(found.files.begin(), found.files.end(),
            [](const RankFile& a, const RankFile& b) { return std::tie(a.rank, a.file) < std::tie(b.rank, b.file); });
  const auto twice = std::adjacent_find(found.files.begin(), found.files.end(),
                                        [](const RankFile& a, const RankFile& b) { return a.rank == b.rank; });
  if (twice != found.files.end()) {
    throw traces::FormatError(prefix_or_file.string(), 0,
                              "expected a file for each rank, got two of rank " + std::to_string(*twice->rank) + ", " +
                                  twice->file.filename().string() + " and " +
                                  std::next(twice)->file.filename().string() +
                                  ": traces of two formats need prefixes of their own");
  }
  std::uint32_t next = 0;
  for (const RankFile& file : found.files) {
    for (; next < *file.rank && found.missing.size() < kMostMissing; ++next) found.missing.push_back(next);
    next = *file.rank + 1;
  }
  return found;
}

std::vector<fs::path> files_of_prefix(const fs::path& prefix) {
  std::vector<fs::path> files;
  for (RankFile& file : ranks_of_prefix(prefix)) files.push_back(std::move(file.file));
  for (const fs::path& file : groups_files(prefix)) {
    std::error_code ignored;
    if (fs::exists(file, ignored)) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace weft::chakra
